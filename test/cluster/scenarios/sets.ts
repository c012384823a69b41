import { setComplete } from '../facts.ts'
import { daemonSet, slowStart, statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'statefulset/web' }, kubectl: 'statefulset/web' }
const isReady = { outcome: 'ready', reason: '' }

/** StatefulSets and DaemonSets that become ready in their own ways. */
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
]
