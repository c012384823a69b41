import type { KubeObject } from '../api.ts'
import { deploymentComplete, secondsAfterStart, setComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import type { Informer } from '../informer.ts'
import { daemonSet, deployment, imageName, slowStart, statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', takesSeconds: 6 }

async function slowUpdate(fixture: Fixture): Promise<void> {
  await fixture.rollOut(deployment('web'))
  await fixture.apply(deployment('web', slow))
}

/** A template whose containers need a few seconds to become ready. */
const slow = { image: 'v2', script: slowStart(8) }

/** Somebody restarts the workload, and an operator that owns the template removes the annotation of the restart. */
function restartUndone(kind: 'Deployment' | 'StatefulSet' | 'DaemonSet', workload: KubeObject): Scenario {
  const resource = `${kind.toLowerCase()}/web`
  const restartedAt = '/spec/template/metadata/annotations'
  return {
    name: `${kind.toLowerCase()}-restart-undone`,
    inputs: { resources: resource },
    kubectl: resource,
    setup: (fixture) => fixture.apply(workload),
    during: async (fixture) => {
      await fixture.runningPod(imageName('v2'))
      const annotations = { 'kubectl.kubernetes.io/restartedAt': '2025-01-15T12:00:00Z' }
      await fixture.patch(kind, 'web', [{ op: 'add', path: restartedAt, value: annotations }])
      await fixture.until('a pod of the restart exists', (informer) =>
        informer.all('Pod').some(({ metadata }) => metadata.annotations?.['kubectl.kubernetes.io/restartedAt']),
      )
      await fixture.patch(kind, 'web', [{ op: 'remove', path: restartedAt }])
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy:
      kind === 'Deployment' ? deploymentComplete('web') : setComplete(kind, 'web', kind === 'DaemonSet' ? 1 : 2),
    takesSeconds: 30,
  }
}

/** Rollouts that another change replaces, and changes that arrive late or never (`await-change`). */
export const superseded: Scenario[] = [
  ...readScenarios('superseded'),
  {
    ...web,
    name: 'rollout-undo',
    setup: slowUpdate,
    during: async (fixture) => {
      await fixture.runningPod(imageName('v2'))
      await undo(fixture, 'web', '1')
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
  },
  {
    ...web,
    name: 'recreated-with-another-template',
    setup: (fixture) => fixture.apply(deployment('web', slow)),
    during: async (fixture) => {
      await fixture.runningPod(imageName('v2'))
      await fixture.delete('Deployment', 'web')
      await fixture.until('the Deployment is deleted', (informer) => !informer.get('Deployment', 'web'))
      await fixture.apply(deployment('web'))
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'superseded' },
  },
  restartUndone('Deployment', deployment('web', slow)),
  restartUndone('StatefulSet', statefulSet('web', slow)),
  restartUndone('DaemonSet', daemonSet('web', slow)),
  {
    ...web,
    name: 'annotation-undone',
    setup: async (fixture) => {
      await fixture.rollOut(withChecksum(deployment('web'), 'a'))
      await fixture.apply(withChecksum(deployment('web', { script: slowStart(12) }), 'a'))
      // The controller makes no revision of a template that is replaced before it works.
      await fixture.until('the second revision exists', (informer) => informer.all('ReplicaSet').length === 2)
      await fixture.apply(withChecksum(deployment('web', { script: slowStart(12) }), 'b'))
    },
    during: async (fixture) => {
      await fixture.until('a pod of the changed template runs', (informer) => runsWithChecksum(informer, 'b'))
      await undo(fixture, 'web', '2')
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    takesSeconds: 9,
  },
  {
    name: 'statefulset-annotation-undone',
    inputs: { resources: 'statefulset/web' },
    setup: async (fixture) => {
      await fixture.apply(withChecksum(statefulSet('web', { script: slowStart(5) }), 'a'))
      await fixture.until('both pods are ready', setComplete('StatefulSet', 'web', 2))
      await fixture.apply(withChecksum(statefulSet('web', { script: slowStart(5) }), 'b'))
    },
    during: async (fixture) => {
      await undoSet(fixture, 'StatefulSet', 'web')
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    takesSeconds: 9,
  },
  {
    name: 'daemonset-variable-undone',
    inputs: { resources: 'daemonset/web' },
    setup: async (fixture) => {
      await fixture.apply(daemonSet('web', { script: slowStart(10) }))
      await fixture.until('its pod is ready', setComplete('DaemonSet', 'web', 1))
      await fixture.apply(daemonSet('web', { script: slowStart(10), env: [{ name: 'HASH', value: '1' }] }))
    },
    during: async (fixture) => {
      await undoSet(fixture, 'DaemonSet', 'web')
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    takesSeconds: 12,
  },
  {
    ...web,
    // A scale and a restart of the old version come first.
    name: 'change-awaited-among-others',
    inputs: { manifests: 'web.yaml', 'await-change': '60s' },
    setup: async (fixture) => {
      fixture.write('web.yaml', JSON.stringify(deployment('web', { image: 'v2' })))
      await fixture.rollOut(deployment('web'))
    },
    during: async (fixture) => {
      await fixture.patch('Deployment', 'web', { spec: { replicas: 3 } })
      const annotations = { 'reloader.stakater.com/last-reloaded-from': 'settings' }
      await fixture.patch('Deployment', 'web', { spec: { template: { metadata: { annotations } } } })
      await fixture.until('the restart is complete', deploymentComplete('web'))
      await fixture.wait(5)
      await fixture.rollOut(deployment('web', { image: 'v2' }))
      fixture.markDecided()
    },
    expect: { outcome: 'ready', reason: '' },
    contains: { log: ['its change has arrived'] },
    takesSeconds: 25,
  },
  {
    ...web,
    name: 'namespace-terminating',
    // The namespace controller starts 5 s after the deletion and deletes the pods first.
    inputs: { ...web.inputs, 'stall-timeout': '10s' },
    setup: async (fixture) => {
      const { metadata, ...rest } = deployment('web', { readiness: 'never' })
      await fixture.apply({ ...rest, metadata: { ...metadata, finalizers: ['tests/hold'] } })
    },
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      await fixture.api.delete(`/api/v1/namespaces/${fixture.namespace}`)
    },
    after: async (fixture) => {
      await fixture.patch('Deployment', 'web', { metadata: { finalizers: null } })
    },
    expect: { outcome: 'stalled', reason: 'terminating' },
    decidedBy: secondsAfterStart(10),
    takesSeconds: 13,
  },
]

/** Rolls back as `kubectl rollout undo` does: with the template of the revision's ReplicaSet, without its hash. */
async function undo(fixture: Fixture, name: string, revision: string): Promise<void> {
  const annotation = 'deployment.kubernetes.io/revision'
  const replicaSet = fixture.informer
    .all('ReplicaSet')
    .find(({ metadata }) => metadata.annotations?.[annotation] === revision)
  const template = structuredClone(replicaSet?.['spec'].template)
  delete template.metadata.labels['pod-template-hash']
  await fixture.patch('Deployment', name, [{ op: 'replace', path: '/spec/template', value: template }])
}

/** The workload with a checksum of its configuration as a template annotation, as Helm charts write it. */
function withChecksum(object: KubeObject, checksum: string): KubeObject {
  const { template, ...spec } = object['spec']
  const annotations = { 'checksum/config': checksum }
  return { ...object, spec: { ...spec, template: { ...template, metadata: { ...template.metadata, annotations } } } }
}

function runsWithChecksum(informer: Informer, checksum: string): boolean {
  return informer
    .all('Pod')
    .some(
      ({ metadata, status }) => metadata.annotations?.['checksum/config'] === checksum && status.phase === 'Running',
    )
}

/** Rolls a StatefulSet or DaemonSet back to its oldest ControllerRevision, as `kubectl rollout undo` does. */
async function undoSet(fixture: Fixture, kind: 'StatefulSet' | 'DaemonSet', name: string): Promise<void> {
  const revisions = await fixture.api.list(`/apis/apps/v1/namespaces/${fixture.namespace}/controllerrevisions`)
  const [oldest] = revisions.toSorted((a, b) => a['revision'] - b['revision'])
  if (oldest === undefined) throw new Error(`${kind} ${name} has no ControllerRevision`)
  const { $patch: _directive, ...value } = oldest['data'].spec.template
  await fixture.patch(kind, name, [{ op: 'replace', path: '/spec/template', value }])
}
