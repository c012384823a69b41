import { imageName } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Rollouts that become ready, some after a disturbance that the controllers repair. */
export const healthy: Scenario[] = readScenarios('healthy', {
  'pod-killed': {
    during: async (fixture) => {
      const victim = await fixture.runningPod(imageName('v2'))
      await fixture.delete('Pod', victim.metadata.name, { gracePeriodSeconds: 0 })
    },
  },
  'pod-relabelled': {
    during: async (fixture) => {
      const stray = await fixture.runningPod(imageName('v2'))
      await fixture.patch('Pod', stray.metadata.name, { metadata: { labels: { app: 'stray' } } })
    },
  },
  'scaled-by-its-subresource': {
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      await fixture.api.patch(`${fixture.path('Deployment', 'web')}/scale`, { spec: { replicas: 4 } })
    },
  },
})
