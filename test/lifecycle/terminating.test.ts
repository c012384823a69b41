import type { KubeObject } from '../../src/cluster/objects.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { complete, condition, iso, make, podIs } from '../kit/objects.ts'
import { found, seenPod, seenTarget } from '../kit/rule.ts'

const leaving = { deletionTimestamp: iso(20), finalizers: ['example.com/hold'] }

function create(apiVersion: string, kind: string, status: object, spec: object = {}): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: { name: 'w', namespace: 'shop', uid: 'w', generation: 2, ...leaving },
    spec,
    status,
  }
}

function assess(object: KubeObject, related: readonly KubeObject[] = [], podHistories = new Map()) {
  const history = seenTarget([0, object])
  return found({ now: 60, history, objects: [object, ...related], podHistories }, (given) =>
    ruleOf(object).assess(object, given),
  )
}

const rejected = condition('Accepted', 'False', {
  reason: 'UnsupportedValue',
  observedGeneration: 2,
  lastTransitionTime: iso(0),
})

describe('an object that is being deleted does not fail by its status', () => {
  it.each<[string, KubeObject]>([
    ['a condition', create('example.com/v1', 'Widget', { conditions: [condition('Stalled', 'True')] })],
    ['a phase', create('example.com/v1', 'Widget', { phase: 'Failed' })],
    ['a Gateway', create('gateway.networking.k8s.io/v1', 'Gateway', { conditions: [rejected] })],
    [
      'a definition',
      create('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
        conditions: [condition('NamesAccepted', 'False')],
      }),
    ],
    ['a claim', create('v1', 'PersistentVolumeClaim', { phase: 'Lost' })],
    ['a bare pod', { ...make.barePod({ status: { phase: 'Failed' } }), metadata: { name: 'w', uid: 'w', ...leaving } }],
    [
      'a progress deadline',
      make.deployment({
        metadata: leaving,
        status: complete(1, {
          availableReplicas: 0,
          conditions: [condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })],
        }),
      }),
    ],
  ])('%s', (_, object) => {
    expect(assess(object)).toMatchObject({
      status: 'progressing',
      message: expect.stringContaining('is being deleted'),
    })
    expect(assess(object).problems[0]?.reason).toBe('terminating')
    expect(assess(object).failure).toBeUndefined()
  })

  it('nor by its pods', () => {
    const replicaSet = make.replicaSet()
    const pod = (nth: number) => make.pod({ status: podIs.looping(nth, nth * 15) }, replicaSet)
    const seen = seenPod([15, pod(1)], [30, pod(2)], [45, pod(3)])
    const judge = (metadata: object) =>
      assess(
        make.deployment({ metadata, status: complete(1, { availableReplicas: 0 }) }),
        [replicaSet, pod(3)],
        new Map([[pod(3).metadata.uid, seen]]),
      )
    expect(judge({})).toMatchObject({ status: 'failed', failure: { reason: 'crash-loop' } })
    expect(judge(leaving)).toMatchObject({ status: 'progressing' })
  })

  it('but a Job that has failed stays so while it is removed', () => {
    const failed = condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })
    expect(assess(create('batch/v1', 'Job', { conditions: [failed] }))).toMatchObject({
      status: 'failed',
      failure: { reason: 'job-failed' },
    })
  })
})
