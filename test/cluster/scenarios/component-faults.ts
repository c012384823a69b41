import { secondsAfterStart } from '../cluster-states.ts'
import { apiServerKilled, type ComponentFault, etcdSuspended, kubeletKilled } from '../component-faults.ts'
import { deployment, slowStart, template } from '../objects.ts'
import { type Rollout, release, rollouts, schedulingGate } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'

const web = { resources: 'deployment/web' }

/** A component of the cluster fails in the middle of a rollout, and works again before the end. */
function during(fault: ComponentFault, rollout: Rollout): Scenario {
  return {
    name: `${fault.name}-${rollout.name}`,
    documented: { fault: fault.title, rollout: rollout.name },
    inputs: web,
    fault,
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await release(fixture)
      await fixture.until('the rollout is under way', rollout.isUnderWay)
      await fixture.fault.ends()
    },
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    // Half of it may pass before the component has reported what happened during the fault.
    withinSeconds: 30,
    takesSeconds: rollout.takesSeconds + 40,
  }
}

/** Faults of components that all rollouts of the cluster need. */
export const componentFaults: Scenario[] = [
  ...[apiServerKilled, etcdSuspended, kubeletKilled].flatMap((fault) =>
    rollouts.map((rollout) => during(fault, rollout)),
  ),
  {
    name: 'api-server-killed-in-the-hold',
    documented: { fault: 'The API server is killed in the `hold`, and restarted after 12 s.', rollout: 'healthy' },
    inputs: { ...web, 'http-checks': 'deployment/web:8080 GET /', hold: '30s' },
    fault: apiServerKilled,
    setup: (fixture) => fixture.rollOut(deployment('web')),
    during: async (fixture) => {
      // Time for the answer and the start of the hold.
      await fixture.wait(5)
      await fixture.fault.ends()
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: secondsAfterStart(30),
    withinSeconds: 45,
    takesSeconds: 60,
  },
  {
    // The pods never report that they have started, so the rollout is neither ready nor failed.
    name: 'kubelet-killed-before-the-start',
    documented: {
      fault: 'The kubelet is killed before the pods start, for longer than the stall timeout.',
      rollout: 'healthy',
    },
    inputs: { ...web, 'stall-timeout': '15s' },
    fault: kubeletKilled,
    setup: async (fixture) => {
      await fixture.apply(deployment('web', {}, template('web', { script: slowStart(15) }, schedulingGate)))
      await fixture.fault.begins()
    },
    during: async (fixture) => {
      await release(fixture)
      fixture.markDecided(15)
      await fixture.fault.ends()
    },
    expect: { outcome: 'stalled', reason: 'node-unresponsive' },
    takesSeconds: 40,
  },
]
