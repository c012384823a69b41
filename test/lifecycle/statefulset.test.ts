import type { KubeObject, PodStatus, StatefulSet } from '../../src/cluster/objects.ts'
import { statefulSetRule } from '../../src/lifecycle/workloads/statefulset.ts'
import { condition, is, iso, make, moment, type Overrides, podIs } from '../kit/objects.ts'
import { type ContextOptions, read, seenPod, seenTarget } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function createSet({
  metadata,
  spec,
  status,
}: Overrides<StatefulSet['spec'], StatefulSet['status']> = {}): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'shop', uid: 'db-uid', generation: 1, ...metadata },
    spec: { replicas: 2, selector: { matchLabels: { app: 'db' } }, template: make.template(), ...spec },
    ...(status === undefined ? {} : { status }),
  }
}

function done(rest: StatefulSet['status'] = {}): NonNullable<StatefulSet['status']> {
  const revisions = { currentRevision: 'db-new', updateRevision: 'db-new' }
  return { observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 2, ...revisions, ...rest }
}

function dbPod(name: string, status: PodStatus, revision = 'db-new') {
  const labels = { app: 'db', 'controller-revision-hash': revision }
  return make.pod({ metadata: { name, labels }, status }, createSet())
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

describe('a StatefulSet is ready', () => {
  it('when all replicas are updated, ready and settled', () => {
    expect(judge(createSet({ status: done() }), pods)).toMatchObject({ status: 'ready', message: '2 of 2 pods ready' })
  })

  it.each<[string, StatefulSet]>([
    ['before its status is written', createSet()],
    ['by an older generation', createSet({ metadata: { generation: 2 }, status: done() })],
    ['while replicas are not ready', createSet({ status: done({ readyReplicas: 1 }) })],
    ['while replicas are left to be removed', createSet({ status: done({ replicas: 3, readyReplicas: 3 }) })],
    ['while replicas are not updated', createSet({ status: done({ updatedReplicas: 1, currentRevision: 'db-old' }) })],
    [
      'while they have to stay ready for longer',
      createSet({ spec: { minReadySeconds: 30 }, status: done({ availableReplicas: 1 }) }),
    ],
  ])('not %s', (_, set) => {
    expect(judge(set, pods).status).toBe('progressing')
  })

  it('with a warning if its governing Service does not exist: its pods have no names in DNS', () => {
    const set = createSet({ spec: { serviceName: 'db' }, status: done() })
    const service: KubeObject = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'db', namespace: 'shop' } }
    const warnings = ['its governing Service db does not exist: its pods have no names in DNS']
    expect(judge(set, pods)).toMatchObject({ status: 'ready', warnings })
    expect(judge(set, [...pods, service])).toMatchObject({ status: 'ready', warnings: [] })
    expect(judge(set, pods, { unseen: ['Service'] }).warnings).toEqual([])
    expect(judge(createSet({ spec: { serviceName: '' }, status: done() }), pods).warnings).toEqual([])
  })

  it('not before its pods have settled', () => {
    const young = [dbPod('db-0', podIs.ready(1)), dbPod('db-1', podIs.ready(55))]
    expect(judge(createSet({ status: done() }), young)).toMatchObject({ status: 'progressing', recheckAt: moment(65) })
  })

  it('when its controller counts the updated replicas as current ones', () => {
    const { updatedReplicas: _, ...status } = done({ currentReplicas: 2 })
    expect(judge(createSet({ status }), pods).status).toBe('ready')
    expect(judge(createSet({ status: { ...status, currentRevision: 'db-old' } }), pods).status).toBe('progressing')
  })

  it('when its pods from the partition on are updated, and reports the other pods', () => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }
    const status = done({ updatedReplicas: 1, currentReplicas: 1, currentRevision: 'db-old' })
    const mixed = [dbPod('db-0', podIs.ready(-90), 'db-old'), dbPod('db-1', podIs.ready(-90))]
    expect(judge(createSet({ spec, status }), mixed, { now: 1 })).toMatchObject({
      status: 'ready',
      notes: ['1 pod below the partition stays on the older revision'],
    })
  })

  it.each([
    ['counts ordinals from zero', 0, ['db-0']],
    ['counts them from where the set begins', 1, ['db-1']],
  ])('keeps the old pods below the partition, and %s', (_, start, kept) => {
    const rollingUpdate = { partition: 1 }
    const spec = { ordinals: { start }, updateStrategy: { type: 'RollingUpdate', rollingUpdate } }
    const status = done({ updatedReplicas: 0, currentReplicas: 2, currentRevision: 'db-old' })
    const old = [0, 1].map((index) => dbPod(`db-${start + index}`, podIs.ready(-90), 'db-old'))
    const { keptPods } = judge(createSet({ spec, status }), old)
    expect([...(keptPods ?? [])]).toEqual(kept.map((name) => `${name}-uid`))
  })

  it('with OnDelete when all existing pods are ready, and reports old ones', () => {
    const spec = { updateStrategy: { type: 'OnDelete' } }
    const status = done({ updatedReplicas: 0, currentRevision: 'db-old' })
    const old = [dbPod('db-0', podIs.ready(1), 'db-old'), dbPod('db-1', podIs.ready(2), 'db-old')]
    const assessment = judge(createSet({ spec, status }), old)
    expect(assessment).toMatchObject({ status: 'ready', notes: [expect.stringContaining('OnDelete')] })
    expect(assessment.milestones.at(-1)).toMatchObject({
      state: 'done',
      message: '0 of 2 pods updated, the others when they are deleted (OnDelete)',
    })
    const updated = createSet({ spec, status: done({ updatedReplicas: 2 }) })
    const news = [dbPod('db-0', podIs.ready(1)), dbPod('db-1', podIs.ready(2))]
    expect(judge(updated, news).milestones.at(-1)).toMatchObject({ state: 'done', message: '2 pods updated' })
  })
})

it('a StatefulSet reports a terminating pod that it waits for beyond its grace period', () => {
  const { metadata, ...rest } = dbPod('db-1', podIs.ready(2), 'db-old')
  const stuck = { ...rest, metadata: { ...metadata, deletionTimestamp: iso(30) } }
  const set = createSet({ status: done({ readyReplicas: 1, updatedReplicas: 0, currentRevision: 'db-old' }) })
  const assessment = judge(set, [dbPod('db-0', podIs.ready(1), 'db-old'), stuck])
  expect(assessment).toMatchObject({
    status: 'progressing',
    problems: [{ reason: 'pod-stuck', class: 'slow', subject: toSubject('pod/db-1') }],
  })
  expect(assessment.stallHold).toBeUndefined()
})

describe('a StatefulSet whose pods were denied', () => {
  const denied = (at: number) =>
    make.event(createSet(), {
      reason: 'FailedCreate',
      message: 'create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: violates PodSecurity "x"',
      count: 12,
      lastTimestamp: iso(at),
    })
  const revision = (name: string, number: number, at: number) =>
    make.revision(createSet(), name, number, { creationTimestamp: iso(at) })
  const revisions = [revision('db-old', 1, -600), revision('db-new', 2, -5)]
  const none = done({ replicas: 0, readyReplicas: 0, updatedReplicas: 0 })

  it('does not fail because its previous template was denied', () => {
    const assessment = judge(createSet({ status: none }), [...revisions, denied(-60)])
    expect(assessment).toMatchObject({ status: 'progressing', problems: [] })
  })

  it('does not fail because of that denial before its new template is observed', () => {
    const set = createSet({ metadata: { generation: 2 }, status: none })
    const [old] = revisions
    expect(judge(set, [...(old ? [old] : []), denied(-60)])).toMatchObject({ status: 'progressing', problems: [] })
  })

  it('does not fail because of that denial while the observed revision is not listed', () => {
    const [old] = revisions
    expect(judge(createSet({ status: none }), [...(old ? [old] : []), denied(1)]).problems).toEqual([])
  })

  it('fails when its present template is denied', () => {
    expect(judge(createSet({ status: none }), [...revisions, denied(5)])).toMatchObject({
      status: 'failed',
      failure: { reason: 'admission-denied' },
    })
  })

  it('fails because of a denial since the gate began if its revisions cannot be read', () => {
    const unseen = { unseen: ['ControllerRevision'] }
    expect(judge(createSet({ status: none }), [denied(-4)], unseen).problems).toEqual([])
    expect(judge(createSet({ status: none }), [denied(5)], unseen).status).toBe('failed')
  })
})

describe('the milestone "ready" of a StatefulSet', () => {
  it('is not reached because old pods are ready, however long they have been ready', () => {
    const half = done({ updatedReplicas: 1, currentRevision: 'db-old' })
    const mixed = [dbPod('db-0', podIs.ready(1), 'db-old'), dbPod('db-1', podIs.ready(2))]
    const { milestones } = judge(createSet({ status: half }), mixed)
    expect(milestones.find(({ name }) => name === 'ready')).toMatchObject({
      state: 'open',
      message: '1 of 2 pods ready',
    })
  })
})

describe('a StatefulSet fails', () => {
  it('because of the pod that blocks its update, although an earlier pod is ready', () => {
    const { pod, podHistories } = crashing('db-1')
    const set = createSet({ status: done({ readyReplicas: 1 }) })
    expect(judge(set, [dbPod('db-0', podIs.ready(1)), pod], { podHistories }).failure).toMatchObject({
      reason: 'crash-loop',
      subject: toSubject('pod/db-1'),
    })
  })

  it('not while another pod has come further, if its pods are created in parallel', () => {
    const { pod, podHistories } = crashing('db-1')
    const set = createSet({ spec: { podManagementPolicy: 'Parallel' }, status: done({ readyReplicas: 1 }) })
    expect(judge(set, [dbPod('db-0', podIs.ready(1)), pod], { podHistories }).status).toBe('progressing')
  })

  it.each([
    ['RollingUpdate', 'blocks the update until the pod is ready or deleted'],
    ['OnDelete', 'stays on the older revision until the pod is deleted'],
  ])('not because of a broken pod of the old revision (%s), which is reported with what to do', (type, words) => {
    const { pod, podHistories } = crashing('db-1', 'db-old')
    const status = done({ readyReplicas: 1, updatedReplicas: 0, currentRevision: 'db-old' })
    const set = createSet({ spec: { updateStrategy: { type } }, status })
    expect(judge(set, [dbPod('db-0', podIs.ready(1), 'db-old'), pod], { podHistories })).toMatchObject({
      status: 'progressing',
      problems: [
        {
          class: 'slow',
          proven: false,
          message: expect.stringContaining(`${words}: exited`),
          oldRevision: type === 'OnDelete' ? 'stays' : 'blocks-update',
        },
      ],
    })
  })
})

describe('a StatefulSet has a stall hold', () => {
  const updating = createSet({
    status: done({ readyReplicas: 1, updatedReplicas: 1, currentReplicas: 1, currentRevision: 'db-old' }),
  })
  const pending = (reason: string) => ({
    phase: 'Pending',
    conditions: [condition('PodScheduled', 'False', { reason })],
  })
  const evicted = dbPod('db-0', pending('Unschedulable'), 'db-old')
  const added = make.event(evicted, { reason: 'TriggeredScaleUp' })

  it('of an old pod that the update waits for: a drained one that an autoscaler adds a node for', () => {
    const objects = [evicted, dbPod('db-1', podIs.ready(1))]
    expect(judge(updating, [...objects, added]).stallHold).toBe('an autoscaler is adding a node')
    expect(judge(updating, objects).stallHold).toBeUndefined()
  })

  it('of an old pod below the partition, which must be ready too', () => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }
    const set = createSet({ spec, ...(updating.status && { status: updating.status }) })
    expect(judge(set, [evicted, dbPod('db-1', podIs.ready(1)), added]).stallHold).toBe('an autoscaler is adding a node')
  })

  it('of an old pod until the time of its probes ends', () => {
    const probed = make.pod(
      {
        metadata: { name: 'db-0', labels: { app: 'db', 'controller-revision-hash': 'db-old' } },
        spec: { containers: [make.container({ readinessProbe: { initialDelaySeconds: 400 } })] },
        status: podIs.unready({ state: is.running(0), started: true }),
      },
      createSet(),
    )
    expect(judge(updating, [probed, dbPod('db-1', podIs.ready(1))])).toMatchObject({
      stallHold: 'probes are within the time they ask for',
      recheckAt: moment(431),
    })
  })

  it('while the pods that an autoscaler adds to its complete rollout have no room, and not while it is created', () => {
    const objects = [dbPod('db-0', podIs.ready(1)), dbPod('db-1', pending('Unschedulable'))]
    const status = done({ readyReplicas: 1, observedGeneration: 2 })
    const look = (generation: number) => judge(createSet({ metadata: { generation }, status }), objects).stallHold
    expect(look(2)).toBe('its rollout is complete, and the pods of a scale wait for room')
    expect(look(1)).toBeUndefined()
  })
})

describe('a StatefulSet whose status has no revisions', () => {
  const { currentRevision: _current, updateRevision: _update, updatedReplicas: _updated, ...silent } = done()
  const counted = { ...silent, currentReplicas: 2 }
  const changed = (status: StatefulSet['status'], generation = 2) =>
    createSet({ metadata: { generation }, status: { ...status, observedGeneration: generation } })
  const olds = [dbPod('db-0', podIs.ready(-60), 'db-old'), dbPod('db-1', podIs.ready(-60), 'db-old')]
  const revision = (name: string, number: number, serviceAccountName: string) =>
    make.revision(createSet(), name, number, {}, make.template({ serviceAccountName }))
  const revisions = [revision('db-old', 1, 'old'), revision('db-new', 2, 'new')]
  const withRevisions = {
    ...changed(counted),
    spec: { ...createSet().spec, template: make.template({ serviceAccountName: 'new' }) },
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

describe('a StatefulSet counts for its update', () => {
  const partitioned = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }

  // After an undo the pods below the partition are of the present revision (computeReplicaStatus, pkg/controller/statefulset).
  it('no pods below the partition', () => {
    const set = createSet({ spec: partitioned, status: done({ updatedReplicas: 1, currentReplicas: 1 }) })
    const canary = [dbPod('db-0', podIs.ready(-90)), dbPod('db-1', podIs.ready(-90), 'db-canary')]
    expect(judge(set, canary)).toMatchObject({ status: 'progressing', message: '0 of 1 pod updated' })
  })

  // A scale creates pods below the partition with the older revision (newVersionedStatefulSetPod).
  describe('a new pod below the partition, which', () => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 5 } } }
    const counts = (readyReplicas: number) =>
      createSet({
        spec,
        status: done({ readyReplicas, updatedReplicas: 0, currentReplicas: 2, currentRevision: 'db-old' }),
      })
    const first = dbPod('db-0', podIs.ready(-90), 'db-old')

    it('must settle', () => {
      const young = [first, dbPod('db-1', podIs.ready(55), 'db-old')]
      expect(judge(counts(2), young)).toMatchObject({ status: 'progressing', recheckAt: moment(65) })
      expect(judge(counts(2), young, { now: 65 })).toMatchObject({ status: 'ready' })
    })

    it('is reported when it crashes, and does not fail the set', () => {
      const { pod, podHistories } = crashing('db-1', 'db-old')
      expect(judge(counts(1), [first, pod], { podHistories })).toMatchObject({
        status: 'progressing',
        problems: [{ reason: 'crash-loop', class: 'slow', message: 'exited with code 3, 3 times' }],
      })
    })
  })

  it('all pods of a revision that was the current one, where its pods cannot be read', () => {
    const set = createSet({ spec: partitioned, status: done({ updatedReplicas: 1, currentReplicas: 1 }) })
    const options = { now: 90, unseen: ['Pod'], history: seenTarget([-60, set]) }
    expect(judge(set, [], options).status).toBe('progressing')
    const complete = createSet({ spec: partitioned, status: done() })
    expect(judge(complete, [], options).status).toBe('ready')
  })

  // Its controller counts the condemned pods until it removes them (updateStatefulSet, pkg/controller/statefulset).
  it.each([
    [1, 2, '1 of 2 pods ready'],
    [2, 1, '0 of 1 pod scheduled'],
  ])('no pods outside its ordinals (from %i, %i replicas)', (start, replicas, message) => {
    const counts = { replicas, readyReplicas: replicas, updatedReplicas: replicas }
    const set = createSet({ spec: { replicas, ordinals: { start } }, status: done(counts) })
    expect(judge(set, pods)).toMatchObject({ status: 'progressing', message })
  })
})

test('a StatefulSet is not failed by a pod that a scale removes', () => {
  const { pod, podHistories } = crashing('db-1')
  const set = createSet({ spec: { replicas: 1 }, status: done({ readyReplicas: 1 }) })
  expect(judge(set, [dbPod('db-0', podIs.ready(1)), pod], { podHistories }).status).toBe('progressing')
})

// readyReplicas counts them (computeReplicaStatus, pkg/controller/statefulset), and OnDelete is rolled out by deleting pods.
test('a StatefulSet with OnDelete is not ready by a pod that is being deleted', () => {
  const { metadata, ...rest } = dbPod('db-1', podIs.ready(-90), 'db-old')
  const leaving = { ...rest, metadata: { ...metadata, deletionTimestamp: iso(90) } }
  const spec = { updateStrategy: { type: 'OnDelete' } }
  const status = done({ updatedReplicas: 1, currentRevision: 'db-old' })
  expect(judge(createSet({ spec, status }), [dbPod('db-0', podIs.ready(-90)), leaving])).toMatchObject({
    status: 'progressing',
    message: '1 of 2 pods scheduled',
  })
})
