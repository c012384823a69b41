import type { KubeObject, ReplicaSet } from '../../src/cluster/objects.ts'
import { replicaSetRule } from '../../src/lifecycle/workloads/replicaset.ts'
import { condition, iso, make, moment, podIs } from '../kit/objects.ts'
import { type ContextOptions, read, requested, seenTarget } from '../kit/rule.ts'

const numbers = { observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1 }
const own = make.replicaSet({ status: numbers }, undefined)
const settled = make.pod({ status: podIs.ready(1) }, own)

function assess(set: ReplicaSet, objects: readonly KubeObject[] = [settled], options: ContextOptions = {}) {
  return read({ ...options, objects: [set, ...objects] }, replicaSetRule, set)
}

function withStatus(status: object, metadata: object = {}) {
  return make.replicaSet({ metadata, status: { ...numbers, ...status } }, undefined)
}

describe('a ReplicaSet without a Deployment is ready', () => {
  it('when all replicas are available and have settled', () => {
    expect(assess(own)).toMatchObject({ status: 'ready', message: '1 of 1 pod available' })
  })

  it('when it has zero replicas and no pods', () => {
    const none = make.replicaSet({ spec: { replicas: 0 }, status: { observedGeneration: 1, replicas: 0 } }, undefined)
    expect(assess(none, []).status).toBe('ready')
  })

  it.each<[string, ReplicaSet]>([
    ['without a status', make.replicaSet({}, undefined)],
    ['while an older generation was observed', withStatus({}, { generation: 2 })],
    ['while replicas are missing', withStatus({ availableReplicas: 0 })],
    ['while there are more than are wanted', withStatus({ replicas: 2 })],
    [
      'while pods cannot be created',
      withStatus({ conditions: [condition('ReplicaFailure', 'True', { message: 'no' })] }),
    ],
    ['while it is being deleted', withStatus({}, { deletionTimestamp: iso(10) })],
  ])('not %s', (_, set) => {
    expect(assess(set).status).toBe('progressing')
  })

  it('not before its pods have settled', () => {
    const pod = make.pod({ status: podIs.ready(51) }, own)
    expect(assess(own, [pod])).toMatchObject({ status: 'progressing', recheckAt: moment(61) })
  })

  it('not while a crash loop changes its counts and its pods cannot be read', () => {
    const flicker = seenTarget([0, withStatus({ availableReplicas: 0 })], [55, own])
    expect(assess(own, [], { unseen: ['Pod'], history: flicker, now: 64.999 }).status).toBe('progressing')
    expect(assess(own, [], { unseen: ['Pod'], history: flicker, now: 65 }).status).toBe('ready')
  })

  it('at first sight when its pods cannot be read and its counts have not changed', () => {
    expect(assess(own, [], { unseen: ['Pod'], now: 10 }).status).toBe('ready')
  })
})

describe('a ReplicaSet without a Deployment fails', () => {
  it('because of a proven problem of its pod', () => {
    const crashing = make.pod({ status: podIs.looping(3, 5) }, own)
    const assessment = assess(withStatus({ availableReplicas: 0 }), [crashing])
    expect(assessment).toMatchObject({ status: 'failed', failure: { reason: 'crash-loop' } })
  })

  it('not because of pods of other owners that its selector matches', () => {
    const other = make.pod({ metadata: { ownerReferences: [] }, status: podIs.looping(3, 5) })
    expect(assess(withStatus({ availableReplicas: 0 }), [other]).status).toBe('progressing')
  })
})

test('a ReplicationController is judged alike, by its bare selector', () => {
  const controller: KubeObject = {
    ...own,
    apiVersion: 'v1',
    kind: 'ReplicationController',
    spec: { ...own.spec, selector: { app: 'web', tier: 'front' } },
  }
  expect(requested(replicaSetRule, controller as ReplicaSet).needed).toEqual([
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', labelSelector: 'app=web,tier=front' },
  ])
  expect(assess(controller as ReplicaSet).status).toBe('ready')
})

test('the milestones of a ReplicaSet are all that the contract names, in its order', () => {
  expect(assess(own).milestones.map(({ name }) => name)).toEqual([...replicaSetRule.milestones])
})

describe('a ReplicaSet without a Deployment has a stall hold', () => {
  it('while its pods wait out minReadySeconds', () => {
    const slow = make.replicaSet(
      { spec: { minReadySeconds: 600 }, status: { ...numbers, availableReplicas: 0 } },
      undefined,
    )
    expect(assess(slow)).toMatchObject({
      stallHold: 'pods are ready and wait out minReadySeconds',
      recheckAt: moment(601),
    })
  })

  it('while a pod is within its grace period', () => {
    const { metadata, ...rest } = settled
    const leaving = { ...rest, metadata: { ...metadata, name: 'l', uid: 'l-uid', deletionTimestamp: iso(90) } }
    const short = withStatus({ replicas: 0, readyReplicas: 0, availableReplicas: 0 })
    expect(assess(short, [leaving])).toMatchObject({
      stallHold: 'a pod is within its grace period',
      recheckAt: moment(90),
    })
  })
})

describe('a ReplicaSet does not replace its pods', () => {
  const spec = (image: string) => ({ containers: [make.container({ image, env: [{ name: 'A', value: '1' }] })] })
  const template = { metadata: { labels: { app: 'web' } }, spec: spec('acme/web:v2') }
  const changed = make.replicaSet(
    { metadata: { managedFields: [{ manager: 'kubectl', time: iso(30) }] }, spec: { template }, status: numbers },
    undefined,
  )
  const webPod = (image: string, created: number) =>
    make.pod(
      { metadata: { creationTimestamp: iso(created) }, spec: spec(image), status: podIs.ready(created) },
      changed,
    )

  it('so it warns of pods that are older than its template and differ from it', () => {
    expect(assess(changed, [webPod('acme/web:v1', 1)])).toMatchObject({
      status: 'ready',
      warnings: ['1 pod is older than the template and differs from it: a ReplicaSet replaces no existing pod'],
    })
  })

  it.each([
    ['run the present template', webPod('acme/web:v2', 1)],
    ['were made of it, and changed by an admission webhook', webPod('mirror.example/acme/web:v2', 31)],
  ])('but not of pods that %s', (_, pod) => {
    expect(assess(changed, [pod])).toMatchObject({ status: 'ready', warnings: [] })
  })
})
