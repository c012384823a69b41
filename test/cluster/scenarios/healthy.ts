import { deploymentComplete, deploymentSettled, podsReady } from '../cluster-states.ts'
import { deployment, imageName, pod, replicaSet, slowStart, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = {
  inputs: { resources: 'deployment/web' },
  kubectl: 'deployment/web',
  expect: { outcome: 'ready', reason: '' },
}

const graceful = { terminationGracePeriodSeconds: 10 }

/** Rollouts that become ready, some after a disturbance that the controllers repair. */
export const healthy: Scenario[] = [
  {
    ...web,
    name: 'first-create',
    setup: (fixture) => fixture.apply(deployment('web')),
    decidedBy: deploymentComplete('web'),
    takesSeconds: 4,
  },
  {
    ...web,
    name: 'update',
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web'))
      await fixture.apply(deployment('web', { image: 'v2' }))
    },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 10,
  },
  {
    ...web,
    name: 'recreate',
    setup: async (fixture) => {
      const strategy = { type: 'Recreate' }
      const ends = 'trap "sleep 2; exit 0" TERM; serve & wait; wait'
      await fixture.rollOut(deployment('web', {}, { strategy, ...template('web', { script: ends }, graceful) }))
      await fixture.apply(deployment('web', {}, { strategy, ...template('web', { image: 'v2' }, graceful) }))
    },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 12,
  },
  {
    ...web,
    name: 'min-ready-seconds',
    setup: (fixture) => fixture.apply(deployment('web', {}, { minReadySeconds: 5 })),
    decidedBy: deploymentComplete('web'),
    takesSeconds: 9,
  },
  {
    ...web,
    name: 'slow-start',
    setup: (fixture) => fixture.apply(deployment('web', { script: slowStart(8) })),
    decidedBy: deploymentComplete('web'),
    takesSeconds: 11,
  },
  {
    ...web,
    name: 'already-finished',
    setup: (fixture) => fixture.rollOut(deployment('web')),
    decidedBy: deploymentComplete('web'),
    withinSeconds: 10,
    takesSeconds: 5,
  },
  {
    ...web,
    name: 'no-readiness-probe',
    setup: (fixture) => fixture.apply(deployment('web', { readiness: 'none' })),
    decidedBy: deploymentSettled('web'),
    takesSeconds: 13,
  },
  {
    ...web,
    name: 'slow-pull',
    setup: (fixture) =>
      fixture.apply(deployment('web', { image: '127.0.0.1:5995/slow-6s/app:v1', imagePullPolicy: 'Always' })),
    decidedBy: deploymentComplete('web'),
    takesSeconds: 10,
  },
  {
    ...web,
    name: 'pod-killed',
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web'))
      await fixture.apply(deployment('web', { image: 'v2', script: slowStart(6) }))
    },
    during: async (fixture) => {
      const victim = await fixture.runningPod(imageName('v2'))
      await fixture.delete('Pod', victim.metadata.name, { gracePeriodSeconds: 0 })
    },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 20,
  },
  {
    ...web,
    name: 'pod-relabelled',
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web'))
      await fixture.apply(deployment('web', { image: 'v2', script: slowStart(3) }))
    },
    during: async (fixture) => {
      const stray = await fixture.runningPod(imageName('v2'))
      await fixture.patch('Pod', stray.metadata.name, { metadata: { labels: { app: 'stray' } } })
    },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 17,
  },
  {
    ...web,
    name: 'scaled',
    setup: (fixture) => fixture.apply(deployment('web', { script: slowStart(4) })),
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      await fixture.patch('Deployment', 'web', { spec: { replicas: 3 } })
    },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 12,
  },
  {
    ...web,
    // An autoscaler scales by the subresource too.
    name: 'scaled-by-its-subresource',
    setup: (fixture) => fixture.apply(deployment('web', { script: slowStart(8) })),
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      await fixture.api.patch(`${fixture.path('Deployment', 'web')}/scale`, { spec: { replicas: 4 } })
    },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 16,
  },
  {
    name: 'bare-pod',
    inputs: { resources: 'pod/web' },
    setup: (fixture) => fixture.apply(pod('web', { script: slowStart(2) })),
    expect: { outcome: 'ready', reason: '' },
    decidedBy: podsReady(1),
    takesSeconds: 5,
  },
  {
    name: 'replicaset',
    inputs: { resources: 'replicaset/web' },
    setup: (fixture) => fixture.apply(replicaSet('web', { script: slowStart(2) })),
    expect: { outcome: 'ready', reason: '' },
    decidedBy: podsReady(2),
    takesSeconds: 5,
  },
]
