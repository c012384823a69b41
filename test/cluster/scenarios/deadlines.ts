import { secondsAfterLastStart, secondsAfterStart } from '../cluster-states.ts'
import { deployment, imageName } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const resources = 'deployment/web'
const kubectl = 'deployment/web'

/** Rollouts that only a deadline or the cancelled job ends. */
export const deadlines: Scenario[] = [
  {
    name: 'timeout',
    inputs: { resources, timeout: '8s' },
    setup: (fixture) => fixture.apply(deployment('web', { readiness: 'never' })),
    expect: { outcome: 'timed-out', reason: 'readiness-failing' },
    decidedBy: secondsAfterStart(8),
    kubectl,
    takesSeconds: 10,
  },
  {
    name: 'stalled',
    inputs: { resources, 'stall-timeout': '6s' },
    setup: (fixture) => fixture.apply(deployment('web', { readiness: 'never' })),
    expect: { outcome: 'stalled', reason: 'readiness-failing' },
    decidedBy: secondsAfterLastStart(6, 2),
    kubectl,
    takesSeconds: 10,
  },
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
    name: 'paused',
    inputs: { resources, 'stall-timeout': '5s' },
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web'))
      await fixture.apply(deployment('web', { image: 'v2' }, { paused: true }))
    },
    expect: { outcome: 'stalled', reason: 'paused' },
    decidedBy: secondsAfterStart(5),
    kubectl,
    takesSeconds: 10,
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
  {
    name: 'cancelled',
    inputs: { resources },
    setup: (fixture) => fixture.apply(deployment('web', { readiness: 'never' })),
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      fixture.signal('SIGINT')
      fixture.markDecided()
    },
    expect: { outcome: 'cancelled', reason: 'cancelled' },
    withinSeconds: 5,
    takesSeconds: 4,
  },
]
