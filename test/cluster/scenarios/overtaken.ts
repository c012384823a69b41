import type { KubeObject } from '../api.ts'
import { secondsAfterStart, setComplete } from '../facts.ts'
import { daemonSet, deployment, imageName, slowStart, statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import type { View } from '../view.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', takesSeconds: 6 }

async function slowUpdate(stage: Stage): Promise<void> {
  await stage.rollOut(deployment('web'))
  await stage.apply(deployment('web', { image: 'v2', script: slowStart(8) }))
}

/** Rollouts that end because somebody wanted something else meanwhile, and changes that come late or not at all. */
export const overtaken: Scenario[] = [
  {
    ...web,
    name: 'second-apply',
    setup: slowUpdate,
    during: async (stage) => {
      await stage.runningPod(imageName('v2'))
      await stage.apply(deployment('web', { image: 'v3' }))
      stage.decide()
    },
    expect: { outcome: 'superseded', reason: 'superseded' },
  },
  {
    ...web,
    name: 'rollout-undo',
    setup: slowUpdate,
    during: async (stage) => {
      await stage.runningPod(imageName('v2'))
      await undo(stage, 'web', '1')
      stage.decide()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
  },
  {
    ...web,
    name: 'annotation-undone',
    setup: async (stage) => {
      await stage.rollOut(withChecksum(deployment('web'), 'a'))
      await stage.apply(withChecksum(deployment('web', { script: slowStart(12) }), 'a'))
      await stage.apply(withChecksum(deployment('web', { script: slowStart(12) }), 'b'))
    },
    during: async (stage) => {
      await stage.until('the changed template has a pod that runs', (view) => runsWithChecksum(view, 'b'))
      await undo(stage, 'web', '2')
      stage.decide()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    takesSeconds: 9,
  },
  {
    name: 'statefulset-annotation-undone',
    inputs: { resources: 'statefulset/web' },
    setup: async (stage) => {
      await stage.apply(withChecksum(statefulSet('web', { script: slowStart(5) }), 'a'))
      await stage.until('both pods are ready', (view) => setComplete('StatefulSet', 'web', 2)(view))
      await stage.apply(withChecksum(statefulSet('web', { script: slowStart(5) }), 'b'))
    },
    during: async (stage) => {
      await undoSet(stage, 'StatefulSet', 'web')
      stage.decide()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    takesSeconds: 9,
  },
  {
    name: 'daemonset-variable-undone',
    inputs: { resources: 'daemonset/web' },
    setup: async (stage) => {
      await stage.apply(daemonSet('web', { script: slowStart(10) }))
      await stage.until('its pod is ready', (view) => setComplete('DaemonSet', 'web', 1)(view))
      await stage.apply(daemonSet('web', { script: slowStart(10), env: [{ name: 'HASH', value: '1' }] }))
    },
    during: async (stage) => {
      await undoSet(stage, 'DaemonSet', 'web')
      stage.decide()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    takesSeconds: 12,
  },
  {
    ...web,
    name: 'change-awaited',
    inputs: { ...web.inputs, 'await-change': '30s' },
    setup: (stage) => stage.rollOut(deployment('web')),
    during: async (stage) => {
      await stage.rollOut(deployment('web', { image: 'v2', script: slowStart(2) }))
      stage.decide()
    },
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 10,
  },
  {
    ...web,
    name: 'change-not-seen',
    inputs: { ...web.inputs, 'await-change': '6s' },
    setup: (stage) => stage.rollOut(deployment('web')),
    expect: { outcome: 'stalled', reason: 'change-not-seen' },
    decidedBy: secondsAfterStart(6),
    takesSeconds: 9,
  },
  {
    ...web,
    name: 'namespace-terminating',
    // The namespace's controller begins 5 s after the deletion, and takes the pods first.
    inputs: { ...web.inputs, 'stall-timeout': '10s' },
    setup: async (stage) => {
      const { metadata, ...rest } = deployment('web', { readiness: 'never' })
      await stage.apply({ ...rest, metadata: { ...metadata, finalizers: ['tests/hold'] } })
    },
    during: async (stage) => {
      await stage.runningPod(imageName('v1'))
      await stage.api.delete(`/api/v1/namespaces/${stage.namespace}`)
    },
    after: async (stage) => {
      await stage.patch('Deployment', 'web', { metadata: { finalizers: null } })
    },
    expect: { outcome: 'stalled', reason: 'terminating' },
    decidedBy: secondsAfterStart(10),
    takesSeconds: 13,
  },
]

/** What `kubectl rollout undo` sends: the template of the revision's ReplicaSet without its hash. */
async function undo(stage: Stage, name: string, revision: string): Promise<void> {
  const annotation = 'deployment.kubernetes.io/revision'
  const replicaSet = stage.view
    .all('ReplicaSet')
    .find(({ metadata }) => metadata.annotations?.[annotation] === revision)
  const template = structuredClone(replicaSet?.['spec'].template)
  delete template.metadata.labels['pod-template-hash']
  await stage.patch('Deployment', name, [{ op: 'replace', path: '/spec/template', value: template }])
}

/** The same workload with the checksum of its configuration in its template, as charts write it. */
function withChecksum(object: KubeObject, checksum: string): KubeObject {
  const { template, ...spec } = object['spec']
  const annotations = { 'checksum/config': checksum }
  return { ...object, spec: { ...spec, template: { ...template, metadata: { ...template.metadata, annotations } } } }
}

function runsWithChecksum(view: View, checksum: string): boolean {
  return view
    .all('Pod')
    .some(
      ({ metadata, status }) => metadata.annotations?.['checksum/config'] === checksum && status.phase === 'Running',
    )
}

/** What `kubectl rollout undo` does to a StatefulSet or DaemonSet: its oldest ControllerRevision is what it goes back to. */
async function undoSet(stage: Stage, kind: 'StatefulSet' | 'DaemonSet', name: string): Promise<void> {
  const revisions = await stage.api.list(`/apis/apps/v1/namespaces/${stage.namespace}/controllerrevisions`)
  const [oldest] = revisions.toSorted((a, b) => a['revision'] - b['revision'])
  if (oldest === undefined) throw new Error(`${kind} ${name} has no ControllerRevision`)
  const { $patch: _directive, ...value } = oldest['data'].spec.template
  await stage.patch(kind, name, [{ op: 'replace', path: '/spec/template', value }])
}
