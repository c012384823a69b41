import { containerDied, podsRun, secondsAfterStart, setComplete } from '../facts.ts'
import { daemonSet, imageName, slowStart, statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const web = { inputs: { resources: 'statefulset/web' }, kubectl: 'statefulset/web' }
const isReady = { outcome: 'ready', reason: '' }

/** What StatefulSets and DaemonSets do in their own ways. */
export const sets: Scenario[] = [
  {
    ...web,
    name: 'statefulset',
    setup: (stage) => stage.apply(statefulSet('web', { script: slowStart(2) })),
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 2),
    takesSeconds: 9,
  },
  {
    ...web,
    name: 'statefulset-partition',
    setup: async (stage) => {
      await stage.apply(statefulSet('web'))
      await stage.until('both pods are ready', (view) => setComplete('StatefulSet', 'web', 2)(view))
      const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
      await stage.apply(statefulSet('web', { image: 'v2', script: slowStart(2) }, { updateStrategy }))
    },
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 1),
    takesSeconds: 12,
  },
  {
    ...web,
    name: 'statefulset-on-delete',
    kubectl: '',
    setup: async (stage) => {
      const updateStrategy = { type: 'OnDelete' }
      await stage.apply(statefulSet('web', {}, { updateStrategy }))
      await stage.until('both pods are ready', (view) => setComplete('StatefulSet', 'web', 2)(view))
      await stage.apply(statefulSet('web', { image: 'v2' }, { updateStrategy }))
    },
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 0),
    takesSeconds: 8,
    check: ({ summary }) => (summary.includes('OnDelete') ? [] : ['the summary does not tell of the old pods']),
  },
  {
    name: 'daemonset',
    inputs: { resources: 'daemonset/web' },
    kubectl: 'daemonset/web',
    setup: (stage) => stage.apply(daemonSet('web', { script: slowStart(2) })),
    expect: isReady,
    decidedBy: setComplete('DaemonSet', 'web', 1),
    takesSeconds: 6,
  },
  {
    name: 'daemonset-on-delete',
    inputs: { resources: 'daemonset/web' },
    setup: async (stage) => {
      const updateStrategy = { type: 'OnDelete' }
      await stage.apply(daemonSet('web', {}, { updateStrategy }))
      await stage.until('its pod is ready', (view) => setComplete('DaemonSet', 'web', 1)(view))
      await stage.apply(daemonSet('web', { image: 'v2' }, { updateStrategy }))
    },
    expect: isReady,
    decidedBy: setComplete('DaemonSet', 'web', 0),
    takesSeconds: 6,
    check: ({ summary }) => (summary.includes('OnDelete') ? [] : ['the summary does not tell of the old pod']),
  },
  {
    ...web,
    name: 'statefulset-canary-crashes',
    setup: async (stage) => {
      await stage.apply(statefulSet('web'))
      await stage.until('both pods are ready', (view) => setComplete('StatefulSet', 'web', 2)(view))
      const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
      await stage.apply(statefulSet('web', { image: 'v2', script: 'exit 3' }, { updateStrategy }))
    },
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 40,
  },
  {
    // The pods below the partition are of the revision that is gone back to: they are no progress of the undo.
    name: 'statefulset-canary-undone',
    inputs: { ...web.inputs, 'await-change': '30s' },
    setup: async (stage) => {
      await stage.apply(canaryOf('v1'))
      await stage.until('all pods are ready', (view) => setComplete('StatefulSet', 'web', 2)(view))
      await stage.apply(canaryOf('v2'))
      await stage.until('the canary is ready', (view) => setComplete('StatefulSet', 'web', 1)(view))
    },
    during: async (stage) => {
      await stage.pass(2)
      await stage.apply(canaryOf('v1'))
    },
    expect: isReady,
    decidedBy: podsRun(imageName('v1'), 'web-0', 'web-1'),
    takesSeconds: 22,
  },
  {
    // Its controller counts the pods that it is to remove, until it does.
    name: 'statefulset-ordinals-moved',
    inputs: { ...web.inputs, 'await-change': '30s' },
    setup: async (stage) => {
      await stage.apply(statefulSet('web', { script: slowStart(3) }))
      await stage.until('both pods are ready', (view) => setComplete('StatefulSet', 'web', 2)(view))
    },
    during: async (stage) => {
      await stage.pass(2)
      await stage.apply(statefulSet('web', { script: slowStart(3) }, { ordinals: { start: 1 } }))
    },
    expect: isReady,
    decidedBy: podsRun(imageName('v1'), 'web-1', 'web-2'),
    takesSeconds: 18,
  },
  {
    name: 'statefulset-one-of-parallel-crashes',
    inputs: { resources: 'statefulset/web', 'stall-timeout': '20s' },
    kubectl: 'statefulset/web',
    setup: (stage) => {
      const script = 'case $HOSTNAME in *-1) echo no peer; exit 3; esac; exec serve'
      return stage.apply(statefulSet('web', { script }, { podManagementPolicy: 'Parallel' }))
    },
    // A pod of the new revision is well, so the other's crashes do not fail it.
    expect: { outcome: 'stalled', reason: 'crash-loop' },
    decidedBy: secondsAfterStart(20),
    takesSeconds: 24,
  },
  {
    name: 'statefulset-pod-held-by-a-finalizer',
    inputs: { resources: 'statefulset/web', 'stall-timeout': '16s' },
    kubectl: 'statefulset/web',
    setup: async (stage) => {
      await stage.apply(statefulSet('web'))
      await stage.until('both pods are ready', (view) => setComplete('StatefulSet', 'web', 2)(view))
      await stage.patch('Pod', 'web-1', { metadata: { finalizers: ['tests/hold'] } })
      await stage.apply(statefulSet('web', { image: 'v2' }))
    },
    after: async (stage) => {
      await stage.patch('Pod', 'web-1', { metadata: { finalizers: null } })
    },
    expect: { outcome: 'stalled', reason: 'pod-stuck' },
    decidedBy: secondsAfterStart(16),
    takesSeconds: 24,
  },
  {
    name: 'statefulset-blocked-by-an-old-pod',
    inputs: { resources: 'statefulset/web', 'stall-timeout': '6s' },
    kubectl: 'statefulset/web',
    setup: async (stage) => {
      await applyBroken(stage)
      await stage.apply(statefulSet('web', { image: 'v2' }))
    },
    expect: { outcome: 'stalled', reason: 'image-not-found' },
    decidedBy: secondsAfterStart(6),
    takesSeconds: 10,
    check: ({ outputs, summary }) => [
      ...(outputs['message']?.includes('pod/web-0 holds up the update')
        ? []
        : [`no word of it: ${outputs['message']}`]),
      ...(summary.includes('kubectl delete pod/web-0') ? [] : ['the summary does not say how to go on']),
    ],
  },
  {
    ...web,
    name: 'statefulset-old-pod-deleted',
    setup: async (stage) => {
      await applyBroken(stage)
      await stage.apply(statefulSet('web', { image: 'v2' }))
    },
    during: async (stage) => {
      await stage.pass(3)
      await stage.delete('Pod', 'web-0')
    },
    expect: isReady,
    decidedBy: setComplete('StatefulSet', 'web', 2),
    takesSeconds: 12,
  },
]

/** A StatefulSet whose second pod gets an image before the others do. */
function canaryOf(image: string) {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
  return statefulSet('web', { image, script: slowStart(3) }, { updateStrategy })
}

/** A StatefulSet whose first pod asks for an image that does not exist. */
async function applyBroken(stage: Stage): Promise<void> {
  await stage.apply(statefulSet('web', { image: 'v9' }))
  await stage.until('its image is refused', (view) =>
    view.all('Pod').some(({ status }) => status.containerStatuses?.[0].state.waiting?.reason === 'ErrImagePull'),
  )
}
