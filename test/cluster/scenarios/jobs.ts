import { conditionTrue, deploymentComplete } from '../cluster-states.ts'
import { coreObject, deployment, job, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const migrate = { inputs: { resources: 'job/migrate' } }
const isReady = { outcome: 'ready', reason: '' }

/** A Job that fails until `databaseUp` is applied. */
function waitsForDatabase(backoffLimit: number) {
  const { spec, ...rest } = job('migrate', '[ "$DATABASE" = up ]', { backoffLimit })
  spec.template.spec.containers[0].envFrom = [{ configMapRef: { name: 'database', optional: true } }]
  return { ...rest, spec }
}

const databaseUp = coreObject('ConfigMap', 'database', { data: { DATABASE: 'up' } })

/** Jobs: backoffLimit, deadlines and policies of the Job decide, not the gate's restart limit. */
export const jobs: Scenario[] = [
  ...readScenarios('jobs'),
  {
    ...migrate,
    name: 'job-retries',
    setup: (fixture) => fixture.apply(waitsForDatabase(2)),
    during: async (fixture) => {
      await fixture.until('the first pod failed', (informer) => informer.get('Job', 'migrate')?.['status']?.failed)
      await fixture.apply(databaseUp)
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 17,
  },
  {
    name: 'job-removed-after-success',
    inputs: { resources: 'job/migrate\ndeployment/web' },
    setup: (fixture) =>
      fixture.apply(
        job('migrate', 'echo done', { ttlSecondsAfterFinished: 1 }),
        deployment('web', { script: slowStart(8) }),
      ),
    kubectl: 'deployment/web',
    expect: isReady,
    decidedBy: deploymentComplete('web'),
    takesSeconds: 11,
    check: (_, fixture) =>
      fixture.informer.get('Job', 'migrate') ? ['the Job was not deleted while the gate waited'] : [],
  },
  {
    name: 'job-replaced-after-success',
    inputs: { resources: 'job/migrate\ndeployment/web' },
    setup: async (fixture) => {
      await fixture.apply(job('migrate', 'echo done'))
      await fixture.until('the Job is complete', conditionTrue('Job', 'migrate', 'Complete'))
      await fixture.apply(deployment('web', { script: slowStart(20) }))
    },
    during: async (fixture) => {
      await fixture.wait(2)
      await fixture.delete('Job', 'migrate', { propagationPolicy: 'Background' })
      await fixture.until('the Job is deleted', (informer) => informer.get('Job', 'migrate') === undefined)
      await fixture.apply(job('migrate', 'echo no such table; exit 3', { backoffLimit: 0 }))
    },
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 16,
  },
]
