import type { DaemonSet, KubeObject, Node, PodStatus, PodTemplate } from '../../src/cluster/objects.ts'
import { daemonSetRule } from '../../src/lifecycle/workloads/daemonset.ts'
import { condition, iso, make, type Overrides, podIs } from '../kit/objects.ts'
import { type ContextOptions, read, seenPod, seenTarget } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function createSet({ metadata, spec, status }: Overrides<DaemonSet['spec'], DaemonSet['status']> = {}): DaemonSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'shop', uid: 'agent-uid', generation: 1, ...metadata },
    spec: { selector: { matchLabels: { app: 'agent' } }, template: make.template(), ...spec },
    ...(status === undefined ? {} : { status }),
  }
}

function done(nodes: number, rest: DaemonSet['status'] = {}): DaemonSet['status'] {
  return {
    observedGeneration: 1,
    desiredNumberScheduled: nodes,
    currentNumberScheduled: nodes,
    updatedNumberScheduled: nodes,
    numberReady: nodes,
    numberAvailable: nodes,
    ...rest,
  }
}

function revision(hash: string, number: number, template?: PodTemplate): KubeObject {
  const labels = { app: 'agent', 'controller-revision-hash': hash }
  return make.revision(createSet(), `agent-${hash}`, number, { uid: `${hash}-uid`, labels }, template)
}

function agent(node: string, status: PodStatus, hash = 'new') {
  const labels = { app: 'agent', 'controller-revision-hash': hash }
  return make.pod({ metadata: { name: `agent-${node}`, labels }, spec: { nodeName: node }, status }, createSet())
}

function createNode(name: string, { ready = true, cordoned = false, createdAt = -1000 } = {}): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `${name}-uid`, creationTimestamp: iso(createdAt) },
    spec: { unschedulable: cordoned },
    status: { conditions: [condition('Ready', ready ? 'True' : 'Unknown')] },
  }
}

function judge(set: DaemonSet, objects: readonly KubeObject[], options: ContextOptions = {}) {
  const all = [revision('old', 1), revision('new', 2), ...objects]
  return read({ ...options, objects: all }, daemonSetRule, set)
}

const nodes = [createNode('n1'), createNode('n2')]
const pods = [agent('n1', podIs.ready(1)), agent('n2', podIs.ready(2))]
const pending = podIs.unready({}, { phase: 'Pending' })

describe('a DaemonSet is ready', () => {
  it('when the pods of all its nodes are updated, available and settled', () => {
    expect(judge(createSet({ status: done(2) }), [...nodes, ...pods])).toMatchObject({
      status: 'ready',
      message: '2 of 2 pods available',
    })
  })

  it('when no node takes its pods', () => {
    expect(judge(createSet({ status: done(0) }), nodes)).toMatchObject({
      status: 'ready',
      message: 'no node takes its pods',
    })
  })

  it.each<[string, DaemonSet]>([
    ['before its status is written', createSet()],
    ['by an older generation', createSet({ metadata: { generation: 2 }, status: done(2) })],
    ['while pods are not updated', createSet({ status: done(2, { updatedNumberScheduled: 1 }) })],
    ['while pods are not available', createSet({ status: done(2, { numberAvailable: 1 }) })],
  ])('not %s', (_, set) => {
    expect(judge(set, [...nodes, ...pods]).status).toBe('progressing')
  })

  it('not before its pods have settled', () => {
    const young = [agent('n1', podIs.ready(1)), agent('n2', podIs.ready(55))]
    expect(judge(createSet({ status: done(2) }), [...nodes, ...young]).status).toBe('progressing')
  })

  it('with OnDelete when all existing pods are ready, and reports old ones', () => {
    const set = createSet({
      spec: { updateStrategy: { type: 'OnDelete' } },
      status: done(2, { updatedNumberScheduled: 0 }),
    })
    const old = [agent('n1', podIs.ready(1), 'old'), agent('n2', podIs.ready(2), 'old')]
    const assessment = judge(set, [...nodes, ...old])
    expect(assessment).toMatchObject({ status: 'ready', notes: [expect.stringContaining('OnDelete')] })
    expect(assessment.milestones.at(-1)).toMatchObject({
      state: 'done',
      message: '0 of 2 pods updated, the others when they are deleted (OnDelete)',
    })
  })
})

describe('a node with a taint that the pods do not tolerate', () => {
  const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }
  const tainted = (taint: object): Node => ({ ...createNode('n2'), spec: { taints: [taint as { key: string }] } })
  const tolerating = (...tolerations: object[]) => ({ template: make.template({ tolerations }) })
  const running = agent('n1', podIs.ready(1))

  // The controller neither counts the node nor deletes its pod: NodeShouldRunDaemonPod, pkg/controller/daemon.
  it.each([
    ['an old pod', agent('n2', podIs.ready(1), 'old')],
    ['an old pod that is not ready', agent('n2', pending, 'old')],
    ['a new pod that is not ready', agent('n2', pending)],
    ['a new pod that is ready', agent('n2', podIs.ready(1))],
  ])('is not awaited with %s: the controller does not count it', (_, pod) => {
    expect(judge(createSet({ status: done(1) }), [createNode('n1'), tainted(disrupted), running, pod]).status).toBe(
      'ready',
    )
  })

  it('is named while its pod is not finished', () => {
    const assessment = judge(createSet({ status: done(1) }), [
      createNode('n1'),
      tainted(disrupted),
      running,
      agent('n2', pending),
    ])
    expect(assessment.notes).toEqual(['not waiting for n2 (it has the taint karpenter.sh/disrupted)'])
  })

  it.each([
    ['that the pods tolerate by key', disrupted, tolerating({ key: disrupted.key, operator: 'Exists' })],
    ['that the pods tolerate like all taints', disrupted, tolerating({ operator: 'Exists' })],
    ['that the pods tolerate by value', { ...disrupted, value: 'a' }, tolerating({ key: disrupted.key, value: 'a' })],
    ['that only prefers other nodes', { ...disrupted, effect: 'PreferNoSchedule' }, {}],
    [
      'that the controller tolerates for its pods',
      { key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' },
      {},
    ],
  ])('is awaited if it has a taint %s', (_, taint, spec) => {
    const set = createSet({ spec, status: done(2, { updatedNumberScheduled: 1, numberAvailable: 1 }) })
    const objects = [createNode('n1'), tainted(taint), running, agent('n2', pending)]
    expect(judge(set, objects).status).toBe('progressing')
  })

  it.each([
    ['another value', { key: disrupted.key, value: 'b' }],
    ['another effect', { key: disrupted.key, operator: 'Exists', effect: 'NoExecute' }],
    ['another key', { key: 'dedicated', operator: 'Exists' }],
  ])('is not awaited if the pods tolerate %s', (_, toleration) => {
    const set = createSet({ spec: tolerating(toleration), status: done(1) })
    const objects = [createNode('n1'), tainted({ ...disrupted, value: 'a' }), running, agent('n2', pending, 'old')]
    expect(judge(set, objects).status).toBe('ready')
  })
})

describe('the taints that the controller tolerates for its pods', () => {
  const running = agent('n1', podIs.ready(1))
  const unready = agent('n2', podIs.unready({ state: { running: { startedAt: iso(5) } } }))
  const tainted = (taint: object, ready = true): Node => ({
    ...createNode('n2', { ready }),
    spec: { taints: [taint as { key: string }] },
  })
  const network = { key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }

  it('do not include the NoSchedule taint of a lost node: the other node decides', () => {
    const lost = tainted({ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' }, false)
    expect(judge(createSet({ status: done(1) }), [createNode('n1'), lost, running, unready])).toMatchObject({
      status: 'ready',
      notes: ['not waiting for n2 (not ready)'],
    })
  })

  it('include an unavailable network only with the network of the node', () => {
    const objects = [createNode('n1'), tainted(network), running, unready]
    expect(judge(createSet({ status: done(1) }), objects).status).toBe('ready')
    const set = createSet({
      spec: { template: make.template({ hostNetwork: true }) },
      status: done(2, { updatedNumberScheduled: 1, numberAvailable: 1 }),
    })
    expect(judge(set, objects).status).toBe('progressing')
  })
})

describe('a DaemonSet does not wait for a node', () => {
  const status = done(2, { updatedNumberScheduled: 1, numberReady: 1, numberAvailable: 1 })
  const set = createSet({ status })
  const ready = agent('n1', podIs.ready(1))

  it.each([
    ['not ready', [createNode('n1'), createNode('n2', { ready: false })]],
    ['cordoned', [createNode('n1'), createNode('n2', { cordoned: true })]],
    ['joined since the gate began', [createNode('n1'), createNode('n2', { createdAt: 5 })]],
    ['gone', [createNode('n1')]],
  ])('that is %s, once a new pod is ready elsewhere, and reports it', (why, present) => {
    expect(judge(set, [...present, ready, agent('n2', pending)])).toMatchObject({
      status: 'ready',
      notes: [`not waiting for n2 (${why})`],
    })
  })

  it('with OnDelete, while all existing pods elsewhere are ready and old', () => {
    const onDelete = createSet({
      spec: { updateStrategy: { type: 'OnDelete' } },
      status: done(2, { updatedNumberScheduled: 0, numberReady: 1, numberAvailable: 1 }),
    })
    const old = [agent('n1', podIs.ready(-90), 'old'), agent('n2', pending, 'old')]
    expect(judge(onDelete, [createNode('n1'), createNode('n2', { ready: false }), ...old])).toMatchObject({
      status: 'ready',
      notes: [expect.stringContaining('OnDelete'), 'not waiting for n2 (not ready)'],
    })
  })

  it('that is not ready while another node is cordoned and has its new pod', () => {
    const present = [...nodes, createNode('n3', { cordoned: true }), createNode('n4', { ready: false })]
    const updated = [ready, agent('n2', podIs.ready(2)), agent('n3', podIs.ready(3)), agent('n4', pending)]
    const status = done(4, { numberReady: 3, numberAvailable: 3 })
    expect(judge(createSet({ status }), [...present, ...updated])).toMatchObject({
      status: 'ready',
      notes: ['not waiting for n4 (not ready)'],
    })
  })

  it('but waits while no new pod is ready anywhere', () => {
    const none = createSet({ status: done(2, { updatedNumberScheduled: 1, numberReady: 0, numberAvailable: 0 }) })
    const present = [createNode('n1'), createNode('n2', { ready: false })]
    expect(judge(none, [...present, agent('n1', pending), agent('n2', pending)]).status).toBe('progressing')
  })

  it('and ignores a node without a pod: the DaemonSet may exclude that node', () => {
    const present = [...nodes, createNode('n3', { cordoned: true })]
    expect(judge(set, [...present, ready, agent('n2', pending)]).status).toBe('progressing')
  })

  it('that the affinity of a pending pod names', () => {
    const spec = {
      nodeName: '',
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }] }],
          },
        },
      },
    }
    const labels = { app: 'agent', 'controller-revision-hash': 'new' }
    const waiting = make.pod(
      { metadata: { name: 'agent-n2', labels }, spec, status: { phase: 'Pending' } },
      createSet(),
    )
    const present = [createNode('n1'), createNode('n2', { ready: false })]
    expect(judge(set, [...present, ready, waiting]).status).toBe('ready')
  })
})

it('the milestones of a DaemonSet do not count old pods', () => {
  const set = createSet({ status: done(2, { updatedNumberScheduled: 1, numberAvailable: 1 }) })
  const { milestones } = judge(set, [...nodes, agent('n1', pending), agent('n2', podIs.ready(-90), 'old')])
  expect(milestones.map(({ message }) => message)).toContain('0 of 1 pod has pulled its image')
})

it('a DaemonSet reports a terminating pod that blocks its other pods beyond its grace period', () => {
  const { metadata, ...rest } = agent('n2', podIs.ready(-90), 'old')
  const stuck = { ...rest, metadata: { ...metadata, deletionTimestamp: iso(30) } }
  const present = [createNode('n1'), createNode('n2', { ready: false }), agent('n1', podIs.ready(-90), 'old'), stuck]
  expect(
    judge(createSet({ status: done(2, { updatedNumberScheduled: 0, numberAvailable: 1 }) }), present),
  ).toMatchObject({
    status: 'progressing',
    problems: [
      { reason: 'pod-stuck', subject: toSubject('pod/agent-n2'), message: expect.stringContaining('its node n2') },
    ],
  })
})

describe('a DaemonSet still waits for its other nodes', () => {
  const third = createNode('n3', { cordoned: true })
  const ready = agent('n1', podIs.ready(1))
  const old = agent('n2', podIs.ready(2), 'old')

  it.each<[string, DaemonSet['status'], readonly KubeObject[]]>([
    [
      'when a node is gone that it no longer counts',
      done(2, { updatedNumberScheduled: 1 }),
      [...nodes, ready, old, agent('n3', pending)],
    ],
    [
      'when a cordoned node still has a pod that should not be there',
      done(2, { updatedNumberScheduled: 1, numberMisscheduled: 1 }),
      [...nodes, third, ready, old, agent('n3', pending, 'old')],
    ],
    [
      'when its new pod on a cordoned node blocks the update of another',
      done(3, { updatedNumberScheduled: 2, numberReady: 2, numberAvailable: 2 }),
      [...nodes, third, ready, old, agent('n3', pending)],
    ],
    [
      'when the old pod of another is just leaving',
      done(3, { updatedNumberScheduled: 2, numberReady: 2, numberAvailable: 2 }),
      [
        ...nodes,
        third,
        ready,
        { ...old, metadata: { ...old.metadata, deletionTimestamp: iso(90) } },
        agent('n3', pending),
      ],
    ],
  ])('%s', (_, status, objects) => {
    const set = createSet({ status })
    expect(judge(set, objects, { history: seenTarget([0, set]), now: 60 }).status).toBe('progressing')
  })
})

describe('while no new pod is ready elsewhere, the new pod of a node that joined', () => {
  const present = [createNode('n1'), createNode('n2', { createdAt: 5 }), agent('n1', podIs.ready(-90), 'old')]
  const judgeJoined = (status: PodStatus, history = seenPod([5, agent('n2', status)])) => {
    const set = createSet({ status: done(2, { updatedNumberScheduled: 1, numberReady: 1, numberAvailable: 1 }) })
    const podHistories = new Map([['agent-n2-uid', history]])
    return judge(set, [...present, agent('n2', status)], { podHistories })
  }

  it('shows why the controller updates no other node, and fails nothing', () => {
    const dead = (nth: number, at: number) => agent('n2', podIs.looping(nth, at))
    const assessment = judgeJoined(podIs.looping(3, 45), seenPod([5, dead(1, 5)], [20, dead(2, 20)], [45, dead(3, 45)]))
    expect(assessment).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'crash-loop', class: 'slow', subject: toSubject('pod/agent-n2'), proven: false }],
    })
    expect(assessment.failure).toBeUndefined()
  })

  it('counts in the milestones', () => {
    const { milestones } = judgeJoined(pending)
    expect(milestones.find(({ name }) => name === 'scheduled')).toMatchObject({ state: 'done' })
  })
})

describe('a DaemonSet fails', () => {
  const broken = (nth: number, at: number, hash?: string) => agent('n1', podIs.looping(nth, at), hash)
  const judgeBroken = (hash: string, generation = 1, type = 'RollingUpdate') => {
    const history = seenPod([5, broken(1, 5, hash)], [20, broken(2, 20, hash)], [45, broken(3, 45, hash)])
    const podHistories = new Map([['agent-n1-uid', history]])
    const status = done(1, { numberReady: 0, numberAvailable: 0 })
    const set = createSet({ metadata: { generation }, spec: { updateStrategy: { type } }, status })
    return judge(set, [...nodes, broken(3, 45, hash)], { podHistories })
  }

  it.each([
    ['cordoned', createNode('n1', { cordoned: true })],
    ['not ready', createNode('n1', { ready: false })],
    ['new', createNode('n1', { createdAt: 1 })],
  ])('because a new pod crashes on its only node, which is %s', (_, node) => {
    const podHistories = new Map([
      ['agent-n1-uid', seenPod([5, broken(1, 5)], [20, broken(2, 20)], [45, broken(3, 45)])],
    ])
    const set = createSet({ status: done(1, { numberReady: 0, numberAvailable: 0 }) })
    const { failure } = judge(set, [node, createNode('n2'), broken(3, 45)], { podHistories })
    expect(failure).toMatchObject({ reason: 'crash-loop', subject: toSubject('pod/agent-n1') })
  })

  // With maxUnavailable 1 the controller updates no other node.
  it.each<[string, PodStatus | undefined, string | undefined]>([
    ['while no new pod runs elsewhere', undefined, 'crash-loop'],
    ['while a new pod elsewhere is not ready', pending, 'crash-loop'],
    ['but not while one is ready elsewhere', podIs.ready(1), undefined],
  ])('because a new pod crashes on a cordoned node %s', (_, elsewhere, reason) => {
    const podHistories = new Map([
      ['agent-n1-uid', seenPod([5, broken(1, 5)], [20, broken(2, 20)], [45, broken(3, 45)])],
    ])
    const other = elsewhere === undefined ? agent('n2', podIs.ready(-90), 'old') : agent('n2', elsewhere)
    const set = createSet({ status: done(2, { updatedNumberScheduled: 1, numberReady: 1, numberAvailable: 1 }) })
    const objects = [createNode('n1', { cordoned: true }), createNode('n2'), broken(3, 45), other]
    expect(judge(set, objects, { podHistories }).failure?.reason).toBe(reason)
  })

  it('because a new pod crashes', () => {
    expect(judgeBroken('new').failure).toMatchObject({ reason: 'crash-loop', subject: toSubject('pod/agent-n1') })
  })

  it.each(['RollingUpdate', 'OnDelete'])('not because an old pod crashes (%s)', (type) => {
    expect(judgeBroken('old', 1, type).failure).toBeUndefined()
  })

  it('not before it is known which pods are new', () => {
    expect(judgeBroken('new', 2).failure).toBeUndefined()
  })
})

describe('the present revision of a DaemonSet', () => {
  const broken = (nth: number, at: number) => agent('n1', podIs.looping(nth, at), 'old')
  const podHistories = new Map([['agent-n1-uid', seenPod([5, broken(1, 5)], [20, broken(2, 20)], [45, broken(3, 45)])]])
  const next = make.template({ serviceAccountName: 'next' })
  const look = (template: PodTemplate, status: DaemonSet['status'], ...objects: KubeObject[]) => {
    const set = createSet({ spec: { template }, status })
    return read({ podHistories, objects: [broken(3, 45), ...nodes, ...objects] }, daemonSetRule, set)
  }
  const waiting = done(2, { updatedNumberScheduled: 0, numberReady: 0, numberAvailable: 0 })

  it('is none until its ControllerRevision is seen, so that pods of the older one are not judged', () => {
    expect(look(next, waiting, revision('old', 1, make.template()))).toMatchObject({
      status: 'progressing',
      problems: [],
    })
  })

  it('is not judged by the refused pods of the older one while it is not seen', () => {
    const denied = make.event(createSet(), {
      reason: 'FailedCreate',
      message: 'Error creating: pods "x" is forbidden: violates PodSecurity "x"',
      count: 12,
      lastTimestamp: iso(5),
    })
    const none = { ...waiting, currentNumberScheduled: 0 }
    const old = revision('old', 1, make.template())
    expect(look(next, none, old, denied).problems).toEqual([])
    expect(look(next, none, old, revision('new', 2, next), denied).status).toBe('failed')
  })

  it('is the one with the present template, also with a lower number', () => {
    const revisions = [revision('old', 1, make.template()), revision('new', 2, next)]
    expect(look(make.template(), waiting, ...revisions)).toMatchObject({
      status: 'failed',
      failure: { reason: 'crash-loop' },
    })
    expect(look(next, waiting, ...revisions).problems).toEqual([])
  })

  it('is not known without revisions, so that its pods are those that the controller counts as updated', () => {
    expect(look(next, waiting).problems).toEqual([])
    expect(look(next, { ...waiting, updatedNumberScheduled: 1 })).toMatchObject({ failure: { reason: 'crash-loop' } })
  })
})

// Of several pods of a node the controller counts the oldest, also when it is terminating (updateDaemonSetStatus).
test('a DaemonSet with OnDelete is not ready by a pod that is being deleted', () => {
  const { metadata, ...rest } = agent('n2', podIs.ready(-90), 'old')
  const leaving = { ...rest, metadata: { ...metadata, deletionTimestamp: iso(90) } }
  const set = createSet({ spec: { updateStrategy: { type: 'OnDelete' } }, status: done(2) })
  const nodes = [createNode('n1'), createNode('n2')]
  const objects = [...nodes, revision('new', 2, make.template()), agent('n1', podIs.ready(-90)), leaving]
  expect(judge(set, objects).status).toBe('progressing')
})

// The controller no longer counts a node that was tainted NoSchedule, but its pod keeps running
// (NodeShouldRunDaemonPod).
test('a DaemonSet is not ready while an old pod runs on a node that is not counted', () => {
  const nodes = [createNode('n1'), createNode('tainted')]
  const old = agent('tainted', podIs.ready(-90), 'old')
  const objects = [...nodes, revision('new', 2, make.template()), agent('n1', podIs.ready(-90)), old]
  const set = createSet({ status: done(1, { numberMisscheduled: 1 } as DaemonSet['status']) })
  expect(judge(set, objects)).toMatchObject({ status: 'progressing' })
  expect(
    judge(
      set,
      objects.filter((object) => object !== old),
    ).status,
  ).toBe('ready')
})
