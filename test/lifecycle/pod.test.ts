import type { EventObject, KubeObject, Pod } from '../../src/cluster/objects.ts'
import { podRule } from '../../src/lifecycle/workloads/pod.ts'
import { condition, is, iso, make, moment, ownedBy, podIs } from '../kit/objects.ts'
import { type ContextOptions, context, found, seenPod } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function assess(pod: Pod, { events = [], objects = [], ...options }: ContextOptions & { events?: EventObject[] } = {}) {
  return found({ ...options, objects: [pod, ...objects, ...events] }, (given) => podRule.assess(pod, given))
}

const going = { deletionTimestamp: iso(30) }

describe('a bare pod', () => {
  it.each<[string, Pod, string]>([
    [
      'runs as it was before its image was changed in place: not ready',
      make.barePod({ metadata: { generation: 2 }, status: { ...podIs.ready(1), observedGeneration: 1 } }),
      'progressing',
    ],
    [
      'runs as it was changed in place: ready',
      make.barePod({ metadata: { generation: 2 }, status: { ...podIs.ready(1), observedGeneration: 2 } }),
      'ready',
    ],
    [
      'is ready by its condition while its phase is not Running: not ready',
      make.barePod({ status: { ...podIs.ready(1), phase: 'Unknown' } }),
      'progressing',
    ],
  ])('%s', (_, pod, status) => {
    expect(assess(pod, { now: 20 }).status).toBe(status)
  })

  it('that completed stays ready, unless it ended because it was deleted', () => {
    expect(assess(make.barePod({ status: { phase: 'Succeeded' } })).completed).toBe(true)
    expect(assess(make.barePod({ metadata: going, status: { phase: 'Succeeded' } })).completed).toBeUndefined()
    expect(assess(make.barePod({ status: podIs.ready(-60) })).completed).toBeUndefined()
  })

  it('that failed names its container and its exit code', () => {
    const status = { phase: 'Failed', containerStatuses: [make.containerStatus({ state: is.terminated(3, 5) })] }
    const detail = { exit: { exitCode: 3 } }
    expect(assess(make.barePod({ status })).failure).toMatchObject({ container: 'app', detail })
  })

  it.each([
    ['exec: "/app": stat /app: no such file or directory', 'bad-command'],
    ['exec /app: exec format error', 'exec-format'],
    ['error mounting "/var/x" to rootfs at "/etc/x": not a directory', 'container-create-failed'],
  ])('whose container never started has its start error, not an exit code: %s', (message, reason) => {
    const never = is.terminated(128, 5, { reason: 'StartError', message, startedAt: '1970-01-01T00:00:00Z' })
    const status = { phase: 'Failed', containerStatuses: [make.containerStatus({ state: never })] }
    expect(assess(make.barePod({ status })).failure).toMatchObject({ reason, class: 'strike', container: 'app' })
  })

  it('that waits for a node which does not respond is explained by that node', () => {
    const pod = make.barePod()
    const podHistories = new Map([['once-uid', seenPod([1, pod])]])
    expect(assess(pod, { now: 5, podHistories }).explainedBy).toBeUndefined()
    expect(assess(pod, { now: 90, podHistories }).explainedBy).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'node-1' },
    ])
  })

  describe('that has two containers', () => {
    const assessTwo = (restartPolicy: string, exitCode: number, second = make.container({ name: 'second' })) => {
      const containers = [make.container(), second]
      const ended = make.containerStatus({ name: 'second', state: is.terminated(exitCode, 5) })
      const { containerStatuses = [], ...rest } = podIs.ready(1)
      const conditions = [condition('Ready', 'False')]
      const status = { ...rest, conditions, containerStatuses: [...containerStatuses, ended] }
      return assess(make.barePod({ spec: { restartPolicy, containers }, status }))
    }

    it('has failed when one container has failed, and nothing restarts it', () => {
      const { failure, problems } = assessTwo('Never', 3)
      expect(failure).toMatchObject({
        reason: 'pod-failed',
        container: 'second',
        message: 'exited with code 3, and nothing restarts it',
      })
      expect(problems).toHaveLength(1)
    })

    it.each([
      ['is restarted', 'OnFailure', undefined],
      ['is restarted by its own policy', 'Never', make.container({ name: 'second', restartPolicy: 'OnFailure' })],
      ['may be restarted by its rules', 'Never', { ...make.container({ name: 'second' }), restartPolicyRules: [] }],
    ])('has not failed when one container has failed and %s', (_, restartPolicy, second) => {
      expect(assessTwo(restartPolicy, 3, second).status).toBe('progressing')
    })

    it('is not ready when one has completed', () => {
      expect(assessTwo('OnFailure', 0)).toMatchObject({
        status: 'progressing',
        message: 'running, not ready because container second has completed',
      })
    })
  })

  it('that failed is not explained by a sidecar that the kubelet ended afterwards', () => {
    const initContainers = [make.container({ name: 'proxy', restartPolicy: 'Always' })]
    const status = {
      phase: 'Failed',
      initContainerStatuses: [make.containerStatus({ name: 'proxy', state: is.terminated(137, 9) })],
      containerStatuses: [make.containerStatus({ state: is.terminated(3, 5) })],
    }
    const pod = make.barePod({ spec: { restartPolicy: 'Never', initContainers }, status })
    expect(assess(pod).failure).toMatchObject({ container: 'app', detail: { exit: { exitCode: 3 } } })
  })

  // The controller deletes it and creates another of the same name (processReplica, pkg/controller/statefulset).
  it('that was evicted has not failed if a StatefulSet owns it', () => {
    const set = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db', uid: 'db' } }
    const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }
    expect(assess(make.barePod({ metadata: { ownerReferences: ownedBy(set) }, status }))).toMatchObject({
      status: 'progressing',
      problems: [{ class: 'slow', message: 'was evicted and is replaced: The node was low on resource: memory.' }],
    })
  })

  it('that exceeded its activeDeadlineSeconds has the deadline as its reason, not the exit code of a container that the kubelet killed', () => {
    const status = {
      phase: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
      containerStatuses: [make.containerStatus({ state: is.terminated(137, 9) })],
    }
    const { failure } = assess(make.barePod({ spec: { restartPolicy: 'Never' }, status }))
    expect(failure).toMatchObject({
      reason: 'pod-failed',
      message: 'failed: DeadlineExceeded: Pod was active on the node longer than the specified deadline',
    })
    expect(failure).not.toHaveProperty('container')
  })
})

describe('settling', () => {
  const settle = (pod: Pod, options: ContextOptions) => assess(pod, options).status === 'ready'

  it('does not apply to a container with a readiness probe', () => {
    const spec = { containers: [make.container({ readinessProbe: {} })] }
    expect(settle(make.barePod({ spec, status: podIs.ready(1) }), { now: 1 })).toBe(true)
  })

  it('applies to a sidecar without one', () => {
    const spec = {
      initContainers: [make.container({ name: 'proxy', restartPolicy: 'Always' })],
      containers: [make.container({ readinessProbe: {} })],
    }
    const proxy = make.containerStatus({ name: 'proxy', ready: true, started: true, state: is.running(5) })
    const pod = make.barePod({ spec, status: { ...podIs.ready(6), initContainerStatuses: [proxy] } })
    expect(settle(pod, { now: 14.999 })).toBe(false)
    expect(settle(pod, { now: 15 })).toBe(true)
  })

  it('applies to every container', () => {
    const spec = { containers: [make.container(), make.container({ name: 'late' })] }
    const status = podIs.ready(1)
    const late = make.containerStatus({ name: 'late', ready: true, started: true, state: is.running(8) })
    const pod = make.barePod({
      spec,
      status: { ...status, containerStatuses: [...(status.containerStatuses ?? []), late] },
    })
    expect(settle(pod, { now: 17.999 })).toBe(false)
    expect(settle(pod, { now: 18 })).toBe(true)
  })

  it('takes the time that the user set', () => {
    expect(settle(make.barePod({ status: podIs.ready(1) }), { now: 1, settings: { settleTimeMs: 0 } })).toBe(true)
  })

  it("runs on the server's clock", () => {
    const pod = make.barePod({ status: podIs.ready(61) })
    expect(settle(pod, { now: 10.999, serverOffsetMs: 60_000 })).toBe(false)
    expect(settle(pod, { now: 11, serverOffsetMs: 60_000 })).toBe(true)
  })

  describe('of a start in the future', () => {
    const before = make.barePod()
    const future = make.barePod({ status: podIs.ready(100) })
    const podHistories = new Map([['once-uid', seenPod([0, before], [40, future])]])

    it('counts from the first sight of that start, not of the pod', () => {
      expect(settle(future, { now: 49.999, podHistories })).toBe(false)
      expect(settle(future, { now: 50, podHistories })).toBe(true)
    })

    it('does not restart at that moment', () => {
      expect(settle(future, { now: 101, podHistories })).toBe(true)
    })

    it('restarts with the next instance', () => {
      const next = make.barePod({ status: podIs.ready(120, { restartCount: 1 }) })
      const histories = new Map([['once-uid', seenPod([0, before], [40, future], [55, next])]])
      expect(settle(next, { now: 60, podHistories: histories })).toBe(false)
      expect(settle(next, { now: 65, podHistories: histories })).toBe(true)
    })
  })
})

describe('the milestones of a pod', () => {
  const done = (pod: Pod, now = 20) =>
    assess(pod, { now })
      .milestones.filter(({ state }) => state === 'done')
      .map(({ name }) => name)

  it.each<[string, Pod, string[]]>([
    ['nothing but created', make.barePod({ spec: { nodeName: '' } }), ['created']],
    ['a node', make.barePod(), ['created', 'scheduled']],
    [
      'images',
      make.barePod({ status: podIs.unready({ imageID: 'sha256:1' }, { phase: 'Pending' }) }),
      ['created', 'scheduled', 'pulled'],
    ],
    [
      'running containers',
      make.barePod({ status: podIs.unready({ state: is.running(15), started: true }) }),
      ['created', 'scheduled', 'pulled', 'started', 'running'],
    ],
    [
      'readiness',
      make.barePod({ status: podIs.ready(1) }),
      ['created', 'scheduled', 'pulled', 'started', 'running', 'ready'],
    ],
  ])('with %s', (_, pod, milestones) => {
    expect(done(pod)).toEqual(milestones)
  })

  it('skip the initialisation of a pod without init containers', () => {
    expect(assess(make.barePod()).milestones).toContainEqual(
      expect.objectContaining({ name: 'initialized', state: 'skipped' }),
    )
  })

  it('count the finished init containers', () => {
    const spec = { initContainers: [make.container({ name: 'a' }), make.container({ name: 'b' })] }
    const status = { initContainerStatuses: [make.containerStatus({ name: 'a', state: is.terminated(0, 3) })] }
    expect(assess(make.barePod({ spec, status })).milestones).toContainEqual({
      name: 'initialized',
      state: 'open',
      message: 'init containers: 1 of 2 done, b is next',
    })
  })

  it('are all done when it succeeded', () => {
    expect(done(make.barePod({ status: { phase: 'Succeeded' } }))).toContain('ready')
  })
})

describe('the problem of a pod before its containers exist', () => {
  const pending = (rest: object = {}) => make.barePod({ status: { phase: 'Pending', startTime: iso(1), ...rest } })
  const problems = (pod: Pod, now: number, ...events: EventObject[]) => assess(pod, { now, events }).problems
  const noNode = condition('PodScheduled', 'False', {
    reason: 'Unschedulable',
    message: '0/1 nodes are available',
    lastTransitionTime: iso(1),
  })
  const mount = (message: string, rest: object = {}) =>
    make.event(pending(), { reason: 'FailedMount', message, firstTimestamp: iso(1), lastTimestamp: iso(40), ...rest })
  const missing = 'MountVolume.SetUp failed for volume "v" : secret "nope" not found'

  it('is slow when no node fits', () => {
    expect(problems(pending({ conditions: [noNode] }), 500)).toEqual([
      {
        reason: 'unschedulable',
        class: 'slow',
        subject: toSubject('pod/once'),
        message: 'cannot be scheduled: 0/1 nodes are available',
        detail: { causes: [{ type: 'other', message: '0/1 nodes are available' }] },
        count: 1,
        firstSeenAt: moment(1),
        proven: false,
      },
    ])
  })

  // https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/
  it('is slow while it has scheduling gates, which are named', () => {
    const reason = { reason: 'SchedulingGated', message: 'Scheduling is blocked due to non-empty scheduling gates' }
    const gated = make.barePod({
      spec: { nodeName: '', schedulingGates: [{ name: 'example.com/quota' }] } as object,
      status: { phase: 'Pending', conditions: [condition('PodScheduled', 'False', reason)] },
    })
    expect(problems(gated, 500)).toMatchObject([
      {
        reason: 'unschedulable',
        class: 'slow',
        message: 'cannot be scheduled before its scheduling gate example.com/quota is removed',
        proven: false,
      },
    ])
  })

  it('is not a problem after the last scheduling gate was removed and before the scheduler has updated its condition', () => {
    const gated = make.barePod({
      spec: { nodeName: '' } as object,
      status: {
        phase: 'Pending',
        conditions: [condition('PodScheduled', 'False', { reason: 'SchedulingGated' })],
      },
    })
    expect(problems(gated, 500)).toEqual([])
  })

  it('names the object without the key that a volume needs, by the spec of the pod', () => {
    const volumes = [{ name: 'v', configMap: { name: 'settings' } }]
    const key = 'MountVolume.SetUp failed for volume "v" : configmap references non-existent config key: web.conf'
    const pod = pending()
    expect(problems({ ...pod, spec: { ...pod.spec, ...{ volumes } } }, 5, mount(key))).toMatchObject([
      {
        reason: 'config-missing',
        message: 'volume "v" cannot be mounted: configmap/settings has no key web.conf',
        detail: { missing: { kind: 'configmap', name: 'settings', key: 'web.conf' }, volume: 'v' },
      },
    ])
  })

  it('marks a volume that is attached to the node of another pod', () => {
    const message = 'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) web-0-a'
    const event = make.event(pending(), { reason: 'FailedAttachVolume', message })
    expect(assess(pending(), { now: 60, events: [event] }).problems).toMatchObject([
      { reason: 'volume-not-mounted', detail: { isInUse: true } },
    ])
  })

  it.each([
    ['containerd', 'failed to get sandbox runtime: no runtime for "gvisor" is configured'],
    ['CRI-O', 'failed to find runtime handler gvisor from runtime list map[]'],
  ])('names the missing handler of its RuntimeClass, in the words of %s', (_, error) => {
    const message = `Failed to create pod sandbox: rpc error: code = Unknown desc = ${error}`
    const sandbox = make.event(pending(), { reason: 'FailedCreatePodSandBox', message })
    expect(problems(pending(), 500, sandbox)).toMatchObject([
      { message: `no sandbox: ${error}`, detail: { handler: 'gvisor' } },
    ])
  })

  it('is over when a container has started', () => {
    const pod = make.barePod({ status: podIs.unready({ state: is.running(15) }, { phase: 'Pending' }) })
    expect(problems(pod, 16, mount(missing))).toEqual([])
  })
})

describe('a pod has a stall hold', () => {
  const stallHold = (pod: Pod, now: number, ...events: EventObject[]) => assess(pod, { now, events }).stallHold

  describe('while the node of a pod does not respond', () => {
    const tolerating = (tolerationSeconds?: number) => ({
      tolerations: ['not-ready', 'unreachable'].map((name) => ({
        key: `node.kubernetes.io/${name}`,
        operator: 'Exists',
        effect: 'NoExecute',
        ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
      })),
    })
    const lost = (spec: object) => {
      const { conditions: _, ...status } = podIs.ready(1)
      const conditions = [
        condition('ContainersReady', 'True'),
        { type: 'Ready', status: 'False', lastTransitionTime: iso(50) },
      ]
      return make.barePod({ spec, status: { ...status, conditions } })
    }
    const text = 'its node does not respond, and it tolerates that for a time'

    it('for as long as the pod tolerates it, and 10 s for its replacement', () => {
      expect(stallHold(lost(tolerating(300)), 359)).toBe(text)
      expect(stallHold(lost(tolerating(300)), 360)).toBeUndefined()
    })

    it('but not if it tolerates that without end, as a pod of a DaemonSet', () => {
      expect(stallHold(lost(tolerating()), 100)).toBeUndefined()
    })

    it('also if the node was lost while the pod was created', () => {
      const node = {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'n1', uid: 'n1' },
        status: { conditions: [condition('Ready', 'Unknown', { lastTransitionTime: iso(50) })] },
      }
      const pod = make.barePod({ spec: { ...tolerating(300), nodeName: 'n1' }, status: { phase: 'Pending' } })
      expect(stallHold(pod, 300, node)).toBe(text)
      expect(stallHold(pod, 360, node)).toBeUndefined()
    })
  })
})

// The kubelet reports the new generation before it ends the old container (SyncPod, pkg/kubelet).
describe('a bare pod whose image was changed in place', () => {
  const changedAt = 50
  const managedFields = [
    { manager: 'kubectl', time: iso(changedAt) },
    { manager: 'kubelet', subresource: 'status', time: iso(changedAt + 1) },
  ]
  const changed = (image: string, startedAt = 1, generation = 2) =>
    make.barePod({
      metadata: { generation, managedFields },
      status: { ...podIs.ready(startedAt, { image }), observedGeneration: generation },
    })

  it('is not ready while its container is the old one, for its grace period at most', () => {
    expect(assess(changed('acme/web:v0'), { now: 60 })).toMatchObject({
      status: 'progressing',
      message: 'waiting for the kubelet to take its change',
      recheckAt: moment(changedAt + 30 + 10),
    })
    expect(assess(changed('sha256:0f1e'), { now: 90 }).status).toBe('ready')
  })

  it.each<[string, Pod]>([
    ['once its container runs the image, by its whole name', changed('docker.io/acme/web:v1')],
    ['once another container was started', changed('sha256:0f1e', changedAt)],
    ['at once where only its labels were changed', changed('sha256:0f1e', 1, 1)],
  ])('is ready %s', (_, pod) => {
    expect(assess(pod, { now: 60 }).status).toBe('ready')
  })
})

describe('a bare pod whose resources are changed in place', () => {
  const resized = (type: string, rest: object) => {
    const { conditions = [], ...status } = podIs.ready(1)
    return make.barePod({ status: { ...status, conditions: [...conditions, condition(type, 'True', rest)] } })
  }

  it.each([
    [
      'has not been given them',
      resized('PodResizePending', { reason: 'Infeasible', message: 'Node has too little cpu' }),
      'waiting for the kubelet to change its resources: Infeasible: Node has too little cpu',
    ],
    ['is being given them', resized('PodResizeInProgress', {}), 'waiting for the kubelet to change its resources'],
  ])('is not ready while it %s', (_, pod, message) => {
    expect(assess(pod, { now: 60 })).toMatchObject({ status: 'progressing', message })
  })
})

describe('a pod of a workload that the selector matched', () => {
  const revised = (name: string, revision: number) => {
    const set = make.replicaSet({ metadata: { name } })
    const annotations = { 'deployment.kubernetes.io/revision': `${revision}` }
    return { ...set, metadata: { ...set.metadata, annotations } }
  }
  const [before, present] = [revised('web-1', 1), revised('web-2', 2)]
  const assessWith = (pod: Pod, objects: readonly KubeObject[], options: ContextOptions = {}) =>
    podRule.assess(pod, context({ now: 60, ...options, objects: [pod, ...objects] }))
  const old = make.pod({ status: podIs.ready(1) }, before)

  it('warns if its ReplicaSet is not the newest of its Deployment', () => {
    expect(assessWith(old, [before, present])).toMatchObject({
      status: 'ready',
      warnings: ['runs an older version of deployment/web: gate deployment/web to prove its new version'],
    })
  })

  it('warns of nothing if it is of the newest, is a bare pod, or if ReplicaSets may not be read', () => {
    expect(assessWith(make.pod({ status: podIs.ready(1) }, present), [before, present]).warnings).toEqual([])
    expect(assessWith(make.barePod({ status: podIs.ready(1) }), [before, present]).warnings).toEqual([])
    expect(assessWith(old, [before, present], { unseen: ['ReplicaSet'] }).warnings).toEqual([])
  })

  it('reads the ReplicaSets only of such pods', () => {
    expect(podRule.optionalRelatives?.(old)).toEqual([{ apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop' }])
    expect(podRule.optionalRelatives?.(make.barePod())).toEqual([])
  })
})
