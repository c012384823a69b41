import { deploymentComplete } from '../cluster-states.ts'
import { deployment, imageName, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const web = {
  inputs: { resources: 'deployment/web' },
  kubectl: 'deployment/web',
  expect: { outcome: 'ready', reason: '' },
}

/** Rollouts that become ready, some after a disturbance that the controllers repair. */
export const healthy: Scenario[] = [
  ...readScenarios('healthy'),
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
]
