import { containerDied } from '../cluster-states.ts'
import { container, daemonSet, deployment, statefulSet, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', takesSeconds: 35 }
const dies = { script: 'echo cannot reach the database; exit 3' }

/** Containers that die repeatedly, each for another reason. */
export const crashes: Scenario[] = [
  {
    ...web,
    name: 'crash-loop-with-probe',
    setup: (fixture) => fixture.apply(deployment('web', dies)),
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
  },
  {
    ...web,
    // Each instance is Ready for four seconds. The gate begins while the second one runs.
    name: 'crash-loop-behind-a-passing-probe',
    setup: async (fixture) => {
      const readinessProbe = { exec: { command: ['test', '-f', '/up'] }, periodSeconds: 1 }
      const script = 'sleep 1; touch /up; sleep 5; exit 3'
      await fixture.apply(deployment('web', { script, readiness: 'none', readinessProbe }, { replicas: 1 }))
      await fixture.until('a restarted container is ready', (informer) =>
        informer.all('Pod').some(({ status }) => status.containerStatuses?.[0]?.restartCount === 1 && isReady(status)),
      )
    },
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
  },
  {
    ...web,
    name: 'out-of-memory',
    setup: (fixture) =>
      fixture.apply(
        deployment('web', {
          script: 'sleep 1; tail /dev/zero',
          readiness: 'none',
          resources: { limits: { memory: '20Mi' } },
        }),
      ),
    expect: { outcome: 'failed', reason: 'out-of-memory' },
    decidedBy: containerDied(3),
  },
  {
    ...web,
    name: 'command-missing',
    setup: (fixture) => fixture.apply(deployment('web', { command: ['/no/such/program'] })),
    expect: { outcome: 'failed', reason: 'bad-command' },
    decidedBy: containerDied(3),
  },
  {
    ...web,
    name: 'command-missing-in-shell',
    setup: (fixture) => fixture.apply(deployment('web', { script: 'no-such-program', readiness: 'none' })),
    expect: { outcome: 'failed', reason: 'bad-command' },
    decidedBy: containerDied(3),
  },
  {
    ...web,
    name: 'init-container-crash',
    setup: (fixture) => {
      const init = { ...container({ script: 'exit 4', readiness: 'none' }), name: 'migrate' }
      return fixture.apply(deployment('web', {}, template('web', {}, { initContainers: [init] })))
    },
    expect: { outcome: 'failed', reason: 'init-container-failed' },
    decidedBy: containerDied(3),
  },
  {
    ...web,
    name: 'liveness-kills',
    setup: (fixture) => {
      const livenessProbe = { exec: { command: ['false'] }, periodSeconds: 2, failureThreshold: 2 }
      return fixture.apply(deployment('web', { readiness: 'none', livenessProbe }))
    },
    expect: { outcome: 'failed', reason: 'liveness-failing' },
    decidedBy: containerDied(3),
  },
  {
    ...web,
    // Each instance outlives the settle time, but none is ready for minReadySeconds.
    name: 'crash-within-min-ready-seconds',
    setup: (fixture) =>
      fixture.apply(deployment('web', { script: 'sleep 13; exit 3', readiness: 'none' }, { minReadySeconds: 40 })),
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 60,
  },
  {
    ...web,
    name: 'startup-probe-kills',
    setup: (fixture) => {
      const startupProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 2 }
      return fixture.apply(deployment('web', { startupProbe }))
    },
    expect: { outcome: 'failed', reason: 'startup-failing' },
    decidedBy: containerDied(3),
  },
  {
    name: 'statefulset-crash',
    inputs: { resources: 'statefulset/web' },
    kubectl: 'statefulset/web',
    setup: (fixture) => fixture.apply(statefulSet('web', dies)),
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 35,
  },
  {
    name: 'daemonset-crash',
    inputs: { resources: 'daemonset/web' },
    kubectl: 'daemonset/web',
    setup: (fixture) => fixture.apply(daemonSet('web', dies)),
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 35,
  },
]

function isReady(status: { containerStatuses: { ready: boolean }[] }): boolean {
  return status.containerStatuses.every(({ ready }) => ready)
}
