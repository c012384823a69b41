import { deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Containers that die repeatedly, each for another reason. */
export const crashes: Scenario[] = readScenarios('crashes', {
  'crash-loop-behind-a-passing-probe': {
    setup: async (fixture) => {
      const readinessProbe = { exec: { command: ['test', '-f', '/up'] }, periodSeconds: 1 }
      const script = 'sleep 1; touch /up; sleep 5; exit 3'
      await fixture.apply(deployment('web', { script, readiness: 'none', readinessProbe }, { replicas: 1 }))
      await fixture.until('a restarted container is ready', (informer) =>
        informer.all('Pod').some(({ status }) => status.containerStatuses?.[0]?.restartCount === 1 && isReady(status)),
      )
    },
  },
})

function isReady(status: { containerStatuses: { ready: boolean }[] }): boolean {
  return status.containerStatuses.every(({ ready }) => ready)
}
