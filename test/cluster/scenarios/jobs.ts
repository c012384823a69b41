import { conditionTrue, deploymentComplete, eventSeen, secondsAfterStart } from '../cluster-states.ts'
import { coreObject, deployment, diesFirst, job, slowStart, stateVolume } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

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
  {
    ...migrate,
    name: 'job-fails',
    setup: (fixture) => fixture.apply(job('migrate', 'echo no such table; exit 3', { backoffLimit: 0 })),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 6,
    contains: { summary: ['no such table'] },
  },
  {
    ...migrate,
    name: 'job-deadline',
    setup: (fixture) => fixture.apply(job('migrate', 'sleep 60', { activeDeadlineSeconds: 4 })),
    expect: { outcome: 'failed', reason: 'job-deadline-exceeded' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 8,
  },
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
    ...migrate,
    name: 'job-retries-for-longer-than-the-stall-timeout',
    setup: (fixture) => fixture.apply(waitsForDatabase(6)),
    during: async (fixture) => {
      // The first four waits last 10, 20, 40 and 80 s, the fifth 160 s.
      await fixture.wait(200)
      await fixture.apply(databaseUp)
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 325,
  },
  {
    ...migrate,
    name: 'job-restarts-its-container',
    setup: async (fixture) => {
      const { script, volumeMounts } = diesFirst(2, 'echo done')
      const { spec, ...rest } = job('migrate', script, {}, { restartPolicy: 'OnFailure', ...stateVolume })
      spec.template.spec.containers[0].volumeMounts = volumeMounts
      await fixture.apply({ ...rest, spec })
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 20,
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
    ...migrate,
    name: 'job-removed-at-once',
    setup: (fixture) => fixture.apply(job('migrate', 'sleep 8', { ttlSecondsAfterFinished: 0 })),
    expect: isReady,
    decidedBy: eventSeen('Completed'),
    takesSeconds: 13,
  },
  {
    ...migrate,
    name: 'job-removed-at-once-after-failure',
    setup: (fixture) =>
      fixture.apply(job('migrate', 'sleep 8; exit 3', { ttlSecondsAfterFinished: 0, backoffLimit: 0 })),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: eventSeen('BackoffLimitExceeded'),
    takesSeconds: 13,
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
  {
    name: 'job-longer-than-a-literal-stall-timeout',
    inputs: { resources: 'job/migrate', 'stall-timeout': '6s' },
    setup: (fixture) => fixture.apply(job('migrate', 'sleep 20')),
    expect: { outcome: 'stalled', reason: 'no-progress' },
    decidedBy: secondsAfterStart(6),
    takesSeconds: 9,
  },
  {
    name: 'job-of-many',
    inputs: { resources: 'job/migrate' },
    setup: (fixture) => fixture.apply(job('migrate', 'sleep 1', { completions: 4, parallelism: 2 })),
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 10,
  },
  {
    ...migrate,
    name: 'job-longer-than-the-stall-timeout',
    setup: (fixture) => fixture.apply(job('migrate', 'sleep 320')),
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 325,
  },
  {
    ...migrate,
    name: 'job-index-fails',
    setup: (fixture) => {
      const script = '[ $JOB_COMPLETION_INDEX != 1 ] || { echo shard 1 is locked; exit 5; }'
      const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 3, backoffLimitPerIndex: 0 }
      return fixture.apply(job('migrate', script, indexed))
    },
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 6,
    contains: { message: ['FailedIndexes'], summary: ['shard 1 is locked'] },
  },
  {
    ...migrate,
    name: 'job-fails-by-policy',
    setup: (fixture) => {
      const onExitCodes = { containerName: 'app', operator: 'In', values: [42] }
      const podFailurePolicy = { rules: [{ action: 'FailJob', onExitCodes }] }
      return fixture.apply(job('migrate', 'echo schema is newer than I am; exit 42', { podFailurePolicy }))
    },
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 6,
  },
  {
    ...migrate,
    name: 'job-succeeds-by-policy',
    setup: (fixture) => {
      const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 3 }
      const successPolicy = { rules: [{ succeededIndexes: '0' }] }
      const script = '[ $JOB_COMPLETION_INDEX = 0 ] || exec sleep 60; sleep 2'
      return fixture.apply(job('migrate', script, { ...indexed, successPolicy }))
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 8,
  },
  {
    ...migrate,
    name: 'job-suspended',
    inputs: { ...migrate.inputs, 'stall-timeout': '5s' },
    setup: (fixture) => fixture.apply(job('migrate', 'echo done', { suspend: true })),
    expect: { outcome: 'stalled', reason: 'suspended' },
    decidedBy: secondsAfterStart(5),
    takesSeconds: 8,
  },
  {
    ...migrate,
    name: 'job-resumed',
    setup: (fixture) => fixture.apply(job('migrate', 'sleep 1', { suspend: true })),
    during: async (fixture) => {
      await fixture.wait(3)
      await fixture.patch('Job', 'migrate', { spec: { suspend: false } })
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 9,
  },
]
