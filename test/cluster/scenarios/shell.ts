import { secondsAfterStart } from '../cluster-states.ts'
import { withToken } from '../kubeconfig.ts'
import { deployment, imageName } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

/** How the action ends for reasons outside of the rollout. */
export const shell: Scenario[] = [
  {
    name: 'cancelled',
    inputs: { resources: 'deployment/web' },
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
  {
    name: 'wrong-token',
    inputs: { resources: 'deployment/web' },
    kubeconfig: (content) => withToken(content, 'not-the-one'),
    setup: (fixture) => fixture.apply(deployment('web')),
    expect: { outcome: 'misconfigured' },
    decidedBy: secondsAfterStart(0),
    takesSeconds: 3,
  },
]
