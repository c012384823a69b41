import { secondsAfterStart } from '../cluster-states.ts'
import { deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const resources = 'deployment/web'
const kubectl = 'deployment/web'

/** Rollouts that only a deadline or the cancelled job ends. */
export const deadlines: Scenario[] = [
  ...readScenarios('deadlines'),
  {
    name: 'post-start-hook-hangs',
    inputs: { resources, 'stall-timeout': '35s' },
    setup: (fixture) => {
      const postStart = { exec: { command: ['sleep', '300'] } }
      return fixture.apply(deployment('web', { lifecycle: { postStart } }))
    },
    expect: { outcome: 'stalled', reason: 'post-start-hook-running' },
    decidedBy: secondsAfterStart(35),
    kubectl,
    takesSeconds: 40,
    check: ({ log }) =>
      log.includes('2 pods have pulled their images') ? [] : ['the log does not show that the images are pulled'],
  },
  {
    name: 'paused-over-broken-pods',
    inputs: { resources, 'stall-timeout': '5s' },
    setup: async (fixture) => {
      await fixture.apply(deployment('web', { script: 'exit 3' }))
      await fixture.until('its pods crash', (informer) =>
        informer.all('Pod').some(({ status }) => status.containerStatuses?.[0].restartCount > 1),
      )
      await fixture.apply(deployment('web', { image: 'v2' }, { paused: true }))
    },
    expect: { outcome: 'stalled', reason: 'paused' },
    decidedBy: secondsAfterStart(5),
    takesSeconds: 28,
    check: ({ log }) => (/crash|exited/.test(log) ? ['the log names the old pods as the cause'] : []),
  },
]
