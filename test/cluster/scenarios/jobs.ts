import { coreObject, scriptJob } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const databaseUp = coreObject('ConfigMap', 'database', { data: { DATABASE: 'up' } })

/** Jobs: backoffLimit, deadlines and policies of the Job decide, not the gate's restart limit. */
export const jobs: Scenario[] = readScenarios('jobs', {
  'job-retries': {
    during: async (fixture) => {
      await fixture.until('the first pod failed', (informer) => informer.get('Job', 'migrate')?.['status']?.failed)
      await fixture.apply(databaseUp)
    },
  },
  'job-removed-after-success': {
    check: (_, fixture) =>
      fixture.informer.get('Job', 'migrate') ? ['the Job was not deleted while the gate waited'] : [],
  },
  'job-replaced-after-success': {
    during: async (fixture) => {
      await fixture.wait(2)
      await fixture.delete('Job', 'migrate', { propagationPolicy: 'Background' })
      await fixture.until('the Job is deleted', (informer) => informer.get('Job', 'migrate') === undefined)
      await fixture.apply(scriptJob('migrate', 'echo no such table; exit 3', { backoffLimit: 0 }))
    },
  },
})
