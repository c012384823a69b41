import type { KubeObject, PodStatus, StatefulSet } from '../../src/cluster/objects.ts'
import { statefulSetRule } from '../../src/lifecycle/workloads/statefulset.ts'
import { iso, make, podIs } from '../kit/objects.ts'
import { type ContextOptions, read, seenPod, seenTarget } from '../kit/rule.ts'

function done(rest: StatefulSet['status'] = {}): NonNullable<StatefulSet['status']> {
  const revisions = { currentRevision: 'db-new', updateRevision: 'db-new' }
  return { observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 2, ...revisions, ...rest }
}

function dbPod(name: string, status: PodStatus, revision = 'db-new') {
  const labels = { app: 'db', 'controller-revision-hash': revision }
  return make.pod({ metadata: { name, labels }, status }, make.statefulSet())
}

function judge(set: StatefulSet, objects: readonly KubeObject[], options: ContextOptions = {}) {
  return read({ ...options, objects }, statefulSetRule, set)
}

const pods = [dbPod('db-0', podIs.ready(1)), dbPod('db-1', podIs.ready(2))]

/** A pod that has died for the third time, 40 s after the first. */
function crashing(name: string, revision?: string) {
  const broken = (nth: number, at: number) => dbPod(name, podIs.looping(nth, at), revision)
  const history = seenPod([5, broken(1, 5)], [20, broken(2, 20)], [45, broken(3, 45)])
  return { pod: broken(3, 45), podHistories: new Map([[`${name}-uid`, history]]) }
}

it.each([
  ['counts ordinals from zero', 0, ['db-0']],
  ['counts them from where the set begins', 1, ['db-1']],
])('a StatefulSet keeps the old pods below the partition, and %s', (_, start, kept) => {
  const rollingUpdate = { partition: 1 }
  const spec = { ordinals: { start }, updateStrategy: { type: 'RollingUpdate', rollingUpdate } }
  const status = done({ updatedReplicas: 0, currentReplicas: 2, currentRevision: 'db-old' })
  const old = [0, 1].map((index) => dbPod(`db-${start + index}`, podIs.ready(-90), 'db-old'))
  const { keptPods } = judge(make.statefulSet({ spec, status }), old)
  expect([...(keptPods ?? [])]).toEqual(kept.map((name) => `${name}-uid`))
})

describe('a StatefulSet whose pods were denied', () => {
  const denied = (at: number) =>
    make.event(make.statefulSet(), {
      reason: 'FailedCreate',
      message: 'create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: violates PodSecurity "x"',
      count: 12,
      lastTimestamp: iso(at),
    })
  const revision = (name: string, number: number, at: number) =>
    make.revision(make.statefulSet(), name, number, { creationTimestamp: iso(at) })
  const revisions = [revision('db-old', 1, -600), revision('db-new', 2, -5)]
  const none = done({ replicas: 0, readyReplicas: 0, updatedReplicas: 0 })

  it('does not fail because its previous template was denied', () => {
    const assessment = judge(make.statefulSet({ status: none }), [...revisions, denied(-60)])
    expect(assessment).toMatchObject({ status: 'progressing', problems: [] })
  })

  it('does not fail because of that denial before its new template is observed', () => {
    const set = make.statefulSet({ metadata: { generation: 2 }, status: none })
    const [old] = revisions
    expect(judge(set, [...(old ? [old] : []), denied(-60)])).toMatchObject({ status: 'progressing', problems: [] })
  })

  it('does not fail because of that denial while the observed revision is not listed', () => {
    const [old] = revisions
    expect(judge(make.statefulSet({ status: none }), [...(old ? [old] : []), denied(1)]).problems).toEqual([])
  })

  it('fails when its present template is denied', () => {
    expect(judge(make.statefulSet({ status: none }), [...revisions, denied(5)])).toMatchObject({
      status: 'failed',
      failure: { reason: 'admission-denied' },
    })
  })

  it('fails because of a denial since the gate began if its revisions cannot be read', () => {
    const unseen = { unseen: ['ControllerRevision'] }
    expect(judge(make.statefulSet({ status: none }), [denied(-4)], unseen).problems).toEqual([])
    expect(judge(make.statefulSet({ status: none }), [denied(5)], unseen).status).toBe('failed')
  })
})

describe('a StatefulSet whose status has no revisions', () => {
  const { currentRevision: _current, updateRevision: _update, updatedReplicas: _updated, ...silent } = done()
  const counted = { ...silent, currentReplicas: 2 }
  const changed = (status: StatefulSet['status'], generation = 2) =>
    make.statefulSet({ metadata: { generation }, status: { ...status, observedGeneration: generation } })
  const olds = [dbPod('db-0', podIs.ready(-60), 'db-old'), dbPod('db-1', podIs.ready(-60), 'db-old')]
  const revision = (name: string, number: number, serviceAccountName: string) =>
    make.revision(make.statefulSet(), name, number, {}, make.template({ serviceAccountName }))
  const revisions = [revision('db-old', 1, 'old'), revision('db-new', 2, 'new')]
  const withRevisions = {
    ...changed(counted),
    spec: { ...make.statefulSet().spec, template: make.template({ serviceAccountName: 'new' }) },
  }

  it('is ready when it was never changed', () => {
    expect(judge(changed(counted, 1), pods).status).toBe('ready')
    expect(judge(changed(counted, 1), [], { unseen: ['Pod'] }).status).toBe('ready')
  })

  it.each<[string, StatefulSet, KubeObject[], ContextOptions]>([
    ['whose pods are not known to be updated', changed(counted), olds, {}],
    ['of whose pods nothing can be seen', changed(counted), [], { unseen: ['Pod', 'ControllerRevision'] }],
    ['whose ControllerRevisions show that its pods are old', withRevisions, [...olds, ...revisions], {}],
    [
      'whose only ControllerRevision is not that of its template',
      changed(counted),
      [...olds, ...revisions.slice(0, 1)],
      {},
    ],
    [
      'that was never changed, and whose pods have not the hash of its ControllerRevision',
      { ...withRevisions, metadata: { ...withRevisions.metadata, generation: 1 } },
      [...olds, ...revisions],
      {},
    ],
  ])('is not ready %s', (_, set, objects, options) => {
    expect(judge(set, objects, { now: 3600, ...options }).status).toBe('progressing')
  })

  it('is ready when its ControllerRevisions show that its pods are new', () => {
    expect(judge(withRevisions, [...pods, ...revisions]).status).toBe('ready')
  })

  it('is ready when it counts its replicas as updated', () => {
    expect(judge(changed({ ...silent, updatedReplicas: 2 }), pods).status).toBe('ready')
  })

  it('is not failed by pods that it does not count as updated', () => {
    const { pod, podHistories } = crashing('db-0', 'db-old')
    const set = changed({ ...silent, readyReplicas: 1 })
    expect(judge(set, [pod, ...olds.slice(1)], { podHistories })).toMatchObject({ status: 'progressing' })
  })
})

const partitioned = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }

test('a StatefulSet counts for its update all pods of a revision that was the current one, where its pods cannot be read', () => {
  const set = make.statefulSet({ spec: partitioned, status: done({ updatedReplicas: 1, currentReplicas: 1 }) })
  const options = { now: 90, unseen: ['Pod'], history: seenTarget([-60, set]) }
  expect(judge(set, [], options).status).toBe('progressing')
  const complete = make.statefulSet({ spec: partitioned, status: done() })
  expect(judge(complete, [], options).status).toBe('ready')
})
