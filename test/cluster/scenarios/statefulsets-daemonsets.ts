import { containerDied, podsRun, secondsAfterStart, setComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { daemonSet, imageName, slowStart, statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'statefulset/web' }, kubectl: 'statefulset/web' }
const isReady = { outcome: 'ready', reason: '' }

/** Behaviour of StatefulSets and DaemonSets that Deployments do not have. */
export const statefulSetsAndDaemonSets: Scenario[] = [
  {
    ...web,
    name: 'statefulset',
    setup: (fixture) => fixture.apply(statefulSet('web', { script: slowStart(2) })),
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 2),
    takesSeconds: 9,
  },
  {
    ...web,
    name: 'statefulset-partition',
    setup: async (fixture) => {
      await fixture.apply(statefulSet('web'))
      await fixture.until('both pods are ready', setComplete('StatefulSet', 'web', 2))
      const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
      await fixture.apply(statefulSet('web', { image: 'v2', script: slowStart(2) }, { updateStrategy }))
    },
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 1),
    takesSeconds: 12,
  },
  {
    ...web,
    name: 'statefulset-on-delete',
    kubectl: '',
    setup: async (fixture) => {
      const updateStrategy = { type: 'OnDelete' }
      await fixture.apply(statefulSet('web', {}, { updateStrategy }))
      await fixture.until('both pods are ready', setComplete('StatefulSet', 'web', 2))
      await fixture.apply(statefulSet('web', { image: 'v2' }, { updateStrategy }))
    },
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 0),
    takesSeconds: 8,
    contains: { summary: ['OnDelete'] },
  },
  {
    name: 'daemonset',
    inputs: { resources: 'daemonset/web' },
    kubectl: 'daemonset/web',
    setup: (fixture) => fixture.apply(daemonSet('web', { script: slowStart(2) })),
    expect: isReady,
    decidedBy: setComplete('DaemonSet', 'web', 1),
    takesSeconds: 6,
  },
  {
    name: 'daemonset-on-delete',
    inputs: { resources: 'daemonset/web' },
    setup: async (fixture) => {
      const updateStrategy = { type: 'OnDelete' }
      await fixture.apply(daemonSet('web', {}, { updateStrategy }))
      await fixture.until('its pod is ready', setComplete('DaemonSet', 'web', 1))
      await fixture.apply(daemonSet('web', { image: 'v2' }, { updateStrategy }))
    },
    expect: isReady,
    decidedBy: setComplete('DaemonSet', 'web', 0),
    takesSeconds: 6,
    contains: { summary: ['OnDelete'] },
  },
  {
    ...web,
    name: 'statefulset-canary-crashes',
    setup: async (fixture) => {
      await fixture.apply(statefulSet('web'))
      await fixture.until('both pods are ready', setComplete('StatefulSet', 'web', 2))
      const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
      await fixture.apply(statefulSet('web', { image: 'v2', script: 'exit 3' }, { updateStrategy }))
    },
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 40,
  },
  {
    // The pods below the partition already have the restored revision, so they are no progress.
    name: 'statefulset-canary-undone',
    inputs: { ...web.inputs, 'await-change': '30s' },
    setup: async (fixture) => {
      await fixture.apply(canaryOf('v1'))
      await fixture.until('all pods are ready', setComplete('StatefulSet', 'web', 2))
      await fixture.apply(canaryOf('v2'))
      await fixture.until('the canary is ready', setComplete('StatefulSet', 'web', 1))
    },
    during: async (fixture) => {
      await fixture.wait(2)
      await fixture.apply(canaryOf('v1'))
    },
    expect: isReady,
    decidedBy: podsRun(imageName('v1'), 'web-0', 'web-1'),
    takesSeconds: 22,
  },
  {
    // Until the controller removes the old ordinals, the counts include them.
    name: 'statefulset-ordinals-moved',
    inputs: { ...web.inputs, 'await-change': '30s' },
    setup: async (fixture) => {
      await fixture.apply(statefulSet('web', { script: slowStart(3) }))
      await fixture.until('both pods are ready', setComplete('StatefulSet', 'web', 2))
    },
    during: async (fixture) => {
      await fixture.wait(2)
      await fixture.apply(statefulSet('web', { script: slowStart(3) }, { ordinals: { start: 1 } }))
    },
    expect: isReady,
    decidedBy: podsRun(imageName('v1'), 'web-1', 'web-2'),
    takesSeconds: 18,
  },
  {
    name: 'statefulset-one-of-parallel-crashes',
    inputs: { resources: 'statefulset/web', 'stall-timeout': '20s' },
    kubectl: 'statefulset/web',
    setup: (fixture) => {
      const script = 'case $HOSTNAME in *-1) echo no peer; exit 3; esac; exec serve'
      return fixture.apply(statefulSet('web', { script }, { podManagementPolicy: 'Parallel' }))
    },
    // A healthy pod of the new revision prevents the failure.
    expect: { outcome: 'stalled', reason: 'crash-loop' },
    decidedBy: secondsAfterStart(20),
    takesSeconds: 24,
  },
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

/** A StatefulSet that updates only its second pod. */
function canaryOf(image: string) {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
  return statefulSet('web', { image, script: slowStart(3) }, { updateStrategy })
}

/** Applies a StatefulSet whose first pod requests an image that does not exist. */
async function applyBroken(fixture: Fixture): Promise<void> {
  await fixture.apply(statefulSet('web', { image: 'v9' }))
  await fixture.until('the pull of the image fails', (informer) =>
    informer.all('Pod').some(({ status }) => status.containerStatuses?.[0].state.waiting?.reason === 'ErrImagePull'),
  )
}
