import { deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Rollouts that only a deadline or the cancelled job ends. */
export const deadlines: Scenario[] = readScenarios('deadlines', {
  'post-start-hook-hangs': {
    check: ({ log }) =>
      log.includes('2 pods have pulled their images') ? [] : ['the log does not show that the images are pulled'],
  },
  'paused-over-broken-pods': {
    setup: async (fixture) => {
      await fixture.apply(deployment('web', { script: 'exit 3' }))
      await fixture.until('its pods crash', (informer) =>
        informer.all('Pod').some(({ status }) => status.containerStatuses?.[0].restartCount > 1),
      )
      await fixture.apply(deployment('web', { image: 'v2' }, { paused: true }))
    },
    check: ({ log }) => (/crash|exited/.test(log) ? ['the log names the old pods as the cause'] : []),
  },
})
