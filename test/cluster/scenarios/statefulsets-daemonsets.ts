import { secondsAfterStart, setComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const web = { inputs: { resources: 'statefulset/web' }, kubectl: 'statefulset/web' }
const isReady = { outcome: 'ready', reason: '' }

/** Behaviour of StatefulSets and DaemonSets that Deployments do not have. */
export const statefulSetsAndDaemonSets: Scenario[] = [
  ...readScenarios('statefulsets-daemonsets'),
  {
    name: 'statefulset-pod-held-by-a-finalizer',
    inputs: { resources: 'statefulset/web', 'stall-timeout': '16s' },
    kubectl: 'statefulset/web',
    setup: async (fixture) => {
      await fixture.apply(statefulSet('web'))
      await fixture.until('both pods are ready', setComplete('StatefulSet', 'web', 2))
      await fixture.patch('Pod', 'web-1', { metadata: { finalizers: ['tests/hold'] } })
      await fixture.apply(statefulSet('web', { image: 'v2' }))
    },
    after: async (fixture) => {
      await fixture.patch('Pod', 'web-1', { metadata: { finalizers: null } })
    },
    expect: { outcome: 'stalled', reason: 'pod-stuck' },
    decidedBy: secondsAfterStart(16),
    takesSeconds: 24,
  },
  {
    name: 'statefulset-blocked-by-an-old-pod',
    inputs: { resources: 'statefulset/web', 'stall-timeout': '6s' },
    kubectl: 'statefulset/web',
    setup: async (fixture) => {
      await applyBroken(fixture)
      await fixture.apply(statefulSet('web', { image: 'v2' }))
    },
    expect: { outcome: 'stalled', reason: 'image-not-found' },
    decidedBy: secondsAfterStart(6),
    takesSeconds: 10,
    contains: { message: ['pod/web-0 blocks the update'], summary: ['kubectl delete pod/web-0'] },
  },
  {
    ...web,
    name: 'statefulset-old-pod-deleted',
    setup: async (fixture) => {
      await applyBroken(fixture)
      await fixture.apply(statefulSet('web', { image: 'v2' }))
    },
    during: async (fixture) => {
      await fixture.wait(3)
      await fixture.delete('Pod', 'web-0')
    },
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 2),
    takesSeconds: 12,
  },
]

/** Applies a StatefulSet whose first pod requests an image that does not exist. */
async function applyBroken(fixture: Fixture): Promise<void> {
  await fixture.apply(statefulSet('web', { image: 'v9' }))
  await fixture.until('the pull of the image fails', (informer) =>
    informer.all('Pod').some(({ status }) => status.containerStatuses?.[0].state.waiting?.reason === 'ErrImagePull'),
  )
}
