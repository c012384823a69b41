import type { Fixture } from '../fixture.ts'
import { statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Behaviour of StatefulSets and DaemonSets that Deployments do not have. */
export const statefulSetsAndDaemonSets: Scenario[] = readScenarios('statefulsets-daemonsets', {
  'statefulset-pod-held-by-a-finalizer': {
    after: async (fixture) => {
      await fixture.patch('Pod', 'web-1', { metadata: { finalizers: null } })
    },
  },
  'statefulset-blocked-by-an-old-pod': {
    setup: async (fixture) => {
      await applyBroken(fixture)
      await fixture.apply(statefulSet('web', { image: 'v2' }))
    },
  },
  'statefulset-old-pod-deleted': {
    setup: async (fixture) => {
      await applyBroken(fixture)
      await fixture.apply(statefulSet('web', { image: 'v2' }))
    },
  },
})

/** Applies a StatefulSet whose first pod requests an image that does not exist. */
async function applyBroken(fixture: Fixture): Promise<void> {
  await fixture.apply(statefulSet('web', { image: 'v9' }))
  await fixture.until('the pull of the image fails', (informer) =>
    informer.all('Pod').some(({ status }) => status.containerStatuses?.[0].state.waiting?.reason === 'ErrImagePull'),
  )
}
