import { secondsAfterStart } from '../cluster-states.ts'
import { kubeletLost } from '../component-faults.ts'
import { deployment, slowStart, template } from '../objects.ts'
import { release, schedulingGate } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'

const log = [/its node localhost is not ready/]

/** The kubelet is gone for so long that the node controller marks its node as not ready. */
export const lostKubelet: Scenario[] = [
  {
    // The last event reports a pull, which stops the stall clock.
    name: 'kubelet-lost-during-a-pull',
    inputs: { resources: 'deployment/web', timeout: '70s' },
    fault: kubeletLost,
    setup: (fixture) =>
      fixture.apply(
        deployment(
          'web',
          {},
          template('web', { image: '127.0.0.1:5995/slow-20s/app:v1', imagePullPolicy: 'Always' }, schedulingGate),
        ),
      ),
    during: async (fixture) => {
      await release(fixture)
      await fixture.until('the pull begins', (informer) =>
        informer.all('Event').some(({ reason }) => reason === 'Pulling'),
      )
      await fixture.fault.ends()
    },
    expect: { outcome: 'timed-out', reason: 'still-running' },
    decidedBy: secondsAfterStart(70),
    contains: { log },
    takesSeconds: 80,
  },
  {
    name: 'kubelet-lost-after-the-start',
    inputs: { resources: 'deployment/web', 'stall-timeout': '70s' },
    fault: kubeletLost,
    setup: (fixture) =>
      fixture.apply(
        deployment('web', {}, { minReadySeconds: 300, ...template('web', { script: slowStart(1) }, schedulingGate) }),
      ),
    during: async (fixture) => {
      await release(fixture)
      await fixture.until(
        'both pods are ready',
        (informer) => informer.get('Deployment', 'web')?.['status']?.readyReplicas === 2,
      )
      fixture.markDecided(70)
      await fixture.fault.ends()
    },
    expect: { outcome: 'stalled', reason: 'node-unresponsive' },
    contains: { log },
    takesSeconds: 90,
  },
]
