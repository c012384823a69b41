import type { Condition, ContainerStatus, EventObject, KubeObject, Pod, PodStatus } from '../../src/cluster/objects.ts'
import { presentAt } from '../../src/lifecycle/proof.ts'
import { examinePod } from '../../src/lifecycle/workloads/pod-state.ts'
import { condition, is, iso, make, minute, moment, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { context, counted, found, reported, seenPod, sightings } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** The histories of a pod that the gate first saw at this second. */
const seenAt = (pod: Pod, seconds: number) => new Map([[pod.metadata.uid ?? '', seenPod([seconds, pod])]])

/** A pod of two containers, `app` and `b`, and an init container `i`. */
function createTrio(statuses: Partial<Record<'i' | 'app' | 'b', Partial<ContainerStatus>>>, rest: object = {}): Pod {
  const status = (name: 'i' | 'app' | 'b') =>
    statuses[name] === undefined ? [] : [make.containerStatus({ name, ...statuses[name] })]
  return make.pod({
    spec: {
      initContainers: [make.container({ name: 'i' })],
      containers: [make.container(), make.container({ name: 'b' })],
      ...rest,
    },
    status: {
      phase: 'Pending',
      startTime: iso(1),
      initContainerStatuses: status('i'),
      containerStatuses: [...status('app'), ...status('b')],
    },
  })
}

function examine(pod: Pod, ...events: readonly EventObject[]) {
  return found({ now: 60, objects: [pod, ...events] }, (given) => examinePod(pod, given))
}

const ended = { state: is.terminated(0, 5) }
const runs = { state: is.running(6), started: true }

describe('a pod that waits for its claims', () => {
  const unbound = '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.'
  const volumes = [
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'cache', ephemeral: {} },
  ]
  const pod = make.pod({
    metadata: { name: 'web-1-a' },
    spec: { volumes } as object,
    status: { phase: 'Pending', conditions: [condition('PodScheduled', 'False', { message: unbound })] },
  })
  const about = (name: string, reason: string, message: string, at = 5) => ({
    ...make.event(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'shop', uid: `${name}-uid` } },
      { reason, message, lastTimestamp: iso(at), type: 'Normal' },
    ),
  })
  const noClass = 'no persistent volumes available for this claim and no storage class is set'

  it.each([
    ['named by it', about('data', 'FailedBinding', noClass), 'data', noClass],
    ['made for it', about('web-1-a-cache', 'ProvisioningFailed', 'no such class'), 'web-1-a-cache', 'no such class'],
  ])('contains the event of a claim that is %s, although claims are not watched', (_, event, name, words) => {
    expect(examine(pod, event).problems).toMatchObject([
      {
        reason: 'unschedulable',
        message: `cannot be scheduled: pod has unbound immediate PersistentVolumeClaims: persistentvolumeclaim/${name} is not bound: ${words}`,
        cause: {
          reason: 'claim-pending',
          subject: toSubject(`persistentvolumeclaim/${name}`),
          message: `is not bound: ${words}`,
        },
      },
    ])
  })

  it('contains no event of a claim that was provisioned since, nor of another claim', () => {
    const events = [
      about('data', 'ProvisioningFailed', 'no room', 3),
      about('data', 'ProvisioningSucceeded', 'Successfully provisioned volume', 4),
      about('other', 'FailedBinding', noClass),
    ]
    expect(examine(pod, ...events).problems).toEqual([
      expect.objectContaining({ message: 'cannot be scheduled: pod has unbound immediate PersistentVolumeClaims' }),
    ])
  })
})

describe('a pod with readiness gates', () => {
  const open = 'example.com/open'
  const closed = 'example.com/closed'
  const gated = (reason: string, ...others: readonly Condition[]) =>
    make.pod({
      spec: { readinessGates: [{ conditionType: open }, { conditionType: closed }] },
      status: {
        phase: 'Running',
        conditions: [
          condition(open, 'True'),
          ...others,
          condition('ContainersReady', 'True', { lastTransitionTime: iso(7) }),
          condition('Ready', 'False', { reason }),
        ],
        containerStatuses: [make.containerStatus({ ready: true, ...runs })],
      },
    })

  it('reports the gate that is not True', () => {
    expect(examine(gated('ReadinessGatesNotReady')).problems).toEqual([
      {
        reason: 'readiness-gate-pending',
        class: 'slow',
        subject: toSubject('pod/web-1-a'),
        message: `runs, but its readiness gate ${closed} is not True yet`,
        detail: { gates: [{ type: closed, reason: '', message: '' }] },
        count: 1,
        firstSeenAt: moment(7),
        proven: false,
      },
    ])
  })

  it('does not wait for them before its containers are ready', () => {
    expect(examine(gated('ContainersNotReady')).problems).toEqual([])
  })

  it('has no problem once all of them are True, although the kubelet still reports the pod as not ready', () => {
    expect(examine(gated('ReadinessGatesNotReady', condition(closed, 'True'))).problems).toEqual([])
  })
})

describe('a pod whose scheduler reports nothing', () => {
  const pod = (schedulerName?: string) =>
    make.pod({
      metadata: { creationTimestamp: iso(2) },
      spec: { nodeName: '', schedulerName },
      status: { phase: 'Pending' },
    })
  const examineAt = (at: Pod, now: number, ...objects: readonly KubeObject[]) =>
    found({ now, podHistories: seenAt(at, 0), objects: [at, ...objects] }, (given) => examinePod(at, given))

  it('has a problem after ten seconds, and names the scheduler', () => {
    expect(examineAt(pod('volcano'), 11)).toMatchObject({ problems: [], recheckAt: moment(12) })
    expect(examineAt(pod('volcano'), 12).problems).toEqual([
      {
        reason: 'unschedulable',
        class: 'slow',
        subject: toSubject('pod/web-1-a'),
        message: 'has no node, and its scheduler volcano does not report why',
        detail: { scheduler: 'volcano' },
        count: 1,
        firstSeenAt: moment(2),
        proven: false,
      },
    ])
  })

  it('has its claim as the cause while a provisioner creates the volume', () => {
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
    const waits = make.pod({
      metadata: { creationTimestamp: iso(2) },
      spec: { nodeName: '', volumes },
      status: { phase: 'Pending' },
    })
    const event = make.event(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data', namespace: 'shop', uid: 'data' } },
      {
        reason: 'ExternalProvisioning',
        message: "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually",
        type: 'Normal',
      },
    )
    expect(examineAt(waits, 12, event).problems).toMatchObject([
      {
        message:
          'cannot be scheduled: the scheduler waits for its volumes: persistentvolumeclaim/data is not bound: provisioner ebs.csi.aws.com has not created a volume yet',
        cause: { reason: 'claim-pending' },
      },
    ])
  })

  it.each<[string, readonly string[], string]>([
    ['its ResourceClaim, which may not exist', [], 'its ResourceClaim gpu may not exist'],
    [
      'its ResourceClaim, whose controller reports why it is missing',
      ['PodResourceClaim gpu: resource claim template "nope": not found'],
      'PodResourceClaim gpu: resource claim template "nope": not found',
    ],
  ])('may wait for %s', (_, messages, why) => {
    const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 'nope' }]
    const waits = make.pod({
      metadata: { creationTimestamp: iso(2) },
      spec: { nodeName: '', resourceClaims },
      status: { phase: 'Pending' },
    })
    const events = messages.map((message) => make.event(waits, { reason: 'FailedResourceClaimCreation', message }))
    expect(examineAt(waits, 12, ...events).problems).toMatchObject([
      { reason: 'unschedulable', message: `cannot be scheduled: ${why}` },
    ])
  })

  it('waits for the default scheduler if it names none', () => {
    expect(examineAt(pod(), 12).problems[0]?.detail).toEqual({ scheduler: 'default-scheduler' })
  })
})

describe('a pod whose node does not respond', () => {
  const scheduled = condition('PodScheduled', 'True', { lastTransitionTime: iso(2) })
  const sentences = {
    silent: 'was assigned to node node-1, but its kubelet has not acknowledged the pod',
    missing: 'cannot start because its node node-1 does not exist',
    lost: 'is not ready because its node node-1 is not ready',
  }
  const problem = (state: keyof typeof sentences, firstSeenAt: number) => ({
    reason: 'node-unresponsive',
    class: 'slow',
    subject: toSubject('pod/web-1-a'),
    message: sentences[state],
    detail: { node: 'node-1', state },
    count: 1,
    firstSeenAt,
    proven: false,
  })
  const node: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } }
  const examineAt = (pod: Pod, now: number, ...others: readonly KubeObject[]) =>
    found({ now, podHistories: seenAt(pod, 0), objects: [pod, node, ...others] }, (given) => examinePod(pod, given))
  const pod = (status: PodStatus) => make.pod({ status: { conditions: [scheduled], ...status } })
  const lost = (rest: Partial<Condition>, containersReady = 'True') =>
    pod({
      phase: 'Running',
      startTime: iso(3),
      conditions: [
        scheduled,
        condition('ContainersReady', containersReady),
        condition('Ready', 'False', { lastTransitionTime: iso(50), ...rest }),
      ],
      containerStatuses: [make.containerStatus({ ready: containersReady === 'True', ...runs })],
    })

  it.each<[string, Pod, number, unknown]>([
    ['is no problem during the first seconds', pod({}), 11.9, []],
    ['is one 10 s after its assignment', pod({}), 12, [problem('silent', moment(2))]],
    ['is none once the kubelet has acknowledged the pod', pod({ startTime: iso(3) }), 60, []],
    [
      'is one 10 s after its creation if its manifest names the node',
      pod({ conditions: [] }),
      12,
      [problem('silent', moment(0))],
    ],
    ['is one if only the node controller can have made it not ready', lost({}), 60, [problem('lost', moment(50))]],
    ['is none if the kubelet gives a reason', lost({ reason: 'ContainersNotReady' }), 60, []],
    ['is none if its containers are not ready either', lost({}, 'False'), 60, []],
  ])('%s', (_, given, seconds, problems) => {
    expect(examineAt(given, seconds).problems).toEqual(problems)
  })

  it('has another problem if that node does not exist', () => {
    const objects = [pod({}), { ...node, metadata: { name: 'node-2' } }]
    const given = context({ now: 12, podHistories: seenAt(pod({}), 0), objects })
    expect(reported(examinePod(pod({}), given)).problems).toEqual([problem('missing', moment(2))])
  })

  // After an outage, a watch first returns the old versions.
  it('has no problem before the gate has seen that for 10 s', () => {
    const podHistories = seenAt(pod({}), 60)
    expect(found({ now: 60, podHistories }, (given) => examinePod(pod({}), given))).toMatchObject({
      problems: [],
      recheckAt: moment(70),
    })
  })

  it('is examined again at the moment of the problem', () => {
    expect(examineAt(pod({}), 5).recheckAt).toBe(moment(12))
  })

  it('has an event of the kubelet: then the status is only late', () => {
    const assigned = pod({})
    expect(examineAt(assigned, 60, make.event(assigned, { reason: 'Pulling', container: 'app' })).problems).toEqual([])
  })
})

describe('a pod with a running init container', () => {
  const initContainers = [make.container({ name: 'wait-for-db' })]
  const status: PodStatus = {
    phase: 'Pending',
    startTime: iso(1),
    initContainerStatuses: [make.containerStatus({ name: 'wait-for-db', ...runs })],
    containerStatuses: [make.containerStatus({ state: is.waiting('PodInitializing') })],
  }
  const examineAt = (now: number) => {
    const pod = make.pod({ spec: { initContainers }, status })
    return found({ now, objects: [pod] }, (given) => examinePod(pod, given))
  }

  it('has a problem once it has run for 30 s', () => {
    const startedAt = Date.parse(runs.state?.running?.startedAt ?? '')
    const early = examineAt(2)
    expect(early).toMatchObject({ problems: [], recheckAt: startedAt + 30_000 })
    expect(examineAt(60).problems).toMatchObject([
      {
        reason: 'init-container-running',
        class: 'slow',
        container: 'wait-for-db',
        message: 'is still running, and the next containers wait for its end',
        firstSeenAt: startedAt,
        proven: false,
      },
    ])
  })
})

describe('a pod with a running postStart hook', () => {
  const hooked = make.container({ lifecycle: { postStart: {} } })
  const pod = (second: Partial<ContainerStatus>, container = hooked) =>
    make.pod({
      spec: { containers: [container, make.container({ name: 'second' })] },
      status: {
        phase: 'Pending',
        startTime: iso(1),
        containerStatuses: [make.containerStatus(), make.containerStatus({ name: 'second', ...second })],
      },
    })
  const examineAt = (now: number, given: Pod, ...reasons: readonly string[]) => {
    const events = reasons.map((reason, nth) => {
      const metadata = { name: reason, resourceVersion: String(nth) }
      return make.event(given, { container: 'app', reason, lastTimestamp: iso(3), metadata })
    })
    return found({ now, objects: [given, ...events] }, (looked) => examinePod(given, looked))
  }
  const started = ['Pulled', 'Created', 'Started']

  it('has pulled the image of this container, and waits to start the next ones', () => {
    const waiting = { pulled: false, started: false, runningStep: 'the postStart hook of app is running', problems: [] }
    expect(examineAt(32, pod({}), ...started)).toMatchObject({ ...waiting, recheckAt: moment(33) })
    expect(examineAt(32, pod({ imageID: 'x' }), ...started)).toMatchObject({ ...waiting, pulled: true })
  })

  it('has a problem once it has run for 30 s', () => {
    expect(examineAt(33, pod({}), ...started).problems).toMatchObject([
      {
        reason: 'post-start-hook-running',
        class: 'slow',
        container: 'app',
        message: 'waits for its postStart hook, which is still running',
        firstSeenAt: moment(3),
        proven: false,
      },
    ])
  })

  it.each<[string, ReturnType<typeof examineAt>]>([
    ['before the container is started', examineAt(60, pod({}), 'Pulled', 'Created')],
    ['after the hook has failed', examineAt(60, pod({}), ...started, 'FailedPostStartHook')],
    ['without a hook', examineAt(60, pod({}, make.container()), ...started)],
  ])('is none %s', (_, { pulled, runningStep, problems }) => {
    expect([pulled, runningStep, problems]).toEqual([false, undefined, []])
  })
})

// A container cannot start before its pod is created: the clock of the node is late.
test('a pod settles from its first sight if its node reports a start before the creation of the pod', () => {
  const pod = make.pod({ metadata: { creationTimestamp: iso(20) }, status: podIs.ready(-30) })
  const podHistories = seenAt(pod, 22)
  const at = (now: number) => found({ now, podHistories, objects: [pod] }, (given) => examinePod(pod, given))
  expect(at(22)).toMatchObject({ ready: true, settled: false, recheckAt: moment(32) })
  expect(at(32).settled).toBe(true)
})

describe('a ready pod whose container has a readiness probe', () => {
  const old = { creationTimestamp: iso(-11 * minute) }
  const died = (at: number) => ({ restartCount: 4, lastState: is.terminated(3, at) })
  const probed = (startedAt: number, rest: object = {}, metadata: object = {}) => {
    const containers = [make.container({ readinessProbe: {} })]
    return make.pod({ spec: { containers }, status: podIs.ready(startedAt, rest), metadata })
  }
  const sidecar = (pod: Pod): Pod => {
    const { spec, status } = pod
    const [container] = spec?.containers ?? []
    const initContainers = container && [{ ...container, restartPolicy: 'Always' }]
    const { containerStatuses, ...rest } = status ?? {}
    return {
      ...pod,
      spec: { ...spec, containers: [], initContainers },
      status: { ...rest, initContainerStatuses: containerStatuses },
    }
  }
  const settled = (pod: Pod, now: number, seen = 60) => {
    const podHistories = seenAt(pod, seen)
    return examinePod(pod, context({ now, podHistories, objects: [pod] })).settled
  }

  it.each<[string, boolean, Pod, number]>([
    ['is settled at once if none of its containers has died', true, probed(59), 60],
    [
      'is not settled while its container has died and is ready for less than the settle time',
      false,
      probed(59, died(58)),
      68,
    ],
    ['is settled when its container has died and is ready for the settle time', true, probed(59, died(58)), 69],
    ['is not settled in the middle of an old crash loop either', false, probed(59, died(-200), old), 60],
    ['is settled at once after a restart long before', true, probed(59, died(-10 * minute), old), 60],
    [
      'is not settled while its sidecar has died and is ready for less than the settle time',
      false,
      sidecar(probed(59, died(58))),
      68,
    ],
  ])('%s', (_, expected, pod, now) => expect(settled(pod, now)).toBe(expected))

  it('settles from its first sight if the clock of its node is ahead', () => {
    const pod = probed(500, died(490))
    expect(settled(pod, 69, 60)).toBe(false)
    expect(settled(pod, 70, 60)).toBe(true)
  })
})

describe('a pod of several containers', () => {
  const statuses: Readonly<Record<string, Partial<ContainerStatus>>> = {
    created: {},
    pulled: { imageID: 'x' },
    runs,
    'runs again': { ...runs, restartCount: 1 },
    ended,
    died: { state: is.terminated(1, 5) },
    loops: { state: is.waiting('CrashLoopBackOff'), lastState: is.terminated(1, 5) },
    refused: { state: is.terminated(128, 5, { reason: 'StartError' }) },
  }
  const toStatus = (words: string): Partial<ContainerStatus> => {
    const [, reason = '', message] = /^waits (\w+)(?:: (.*))?$/.exec(words) ?? []
    return statuses[words] ?? { state: is.waiting(reason, message) }
  }

  type Trio = Readonly<Record<'i' | 'app' | 'b', string>> & { restartPolicy?: string }

  it.each(rows<[string, Trio, object]>(data, 'a pod of several containers'))(
    '%s',
    (_, { i, app, b, ...rest }, state) => {
      const pod = createTrio({ i: toStatus(i), app: toStatus(app), b: toStatus(b) }, rest)
      expect(examine(pod)).toMatchObject(state)
    },
  )

  it('has a stall hold while one of its images is being pulled', () => {
    const pod = createTrio({ i: ended, app: runs, b: {} })
    const pulling = make.event(pod, { container: 'b', reason: 'Pulling' })
    expect(examine(pod, pulling).stallHold).toBe('an image is being pulled')
    expect(
      examine(createTrio({ i: ended, app: runs, b: { state: is.waiting('ImagePullBackOff') } }), pulling).stallHold,
    ).toBeUndefined()
    expect(
      examine(createTrio({ i: ended, app: runs, b: { state: is.terminated(1, 5) } }), pulling).stallHold,
    ).toBeUndefined()
  })

  it('has a stall hold while one of its probes has time left', () => {
    const containers = [make.container(), make.container({ name: 'b', readinessProbe: { initialDelaySeconds: 60 } })]
    expect(examine(createTrio({ i: ended, app: { ...runs, ready: true }, b: runs }, { containers })).stallHold).toBe(
      'probes are within the time they ask for',
    )
  })

  it('is initialised when its condition is True or it runs', () => {
    const pending = createTrio({ i: ended })
    const initialized = { ...pending, status: { ...pending.status, conditions: [condition('Initialized', 'True')] } }
    expect(examine(pending).initialized).toBe(false)
    expect(examine(initialized).initialized).toBe(true)
    expect(examine({ ...pending, status: { ...pending.status, phase: 'Running' } }).initialized).toBe(true)
  })

  it('is not assessed again for a past moment, nor for settling before it is ready, but when its node may be lost', () => {
    const pod = createTrio({ i: ended, app: { state: is.running(59), started: true }, b: runs })
    expect(examine(pod).recheckAt).toBe(moment(60 + 120))
  })

  it('is assessed again when the last of its containers settles', () => {
    const pod = createTrio({ i: ended, app: { state: is.running(58), started: true }, b: runs })
    const ready = { ...pod, status: { ...pod.status, phase: 'Running', conditions: [condition('Ready', 'True')] } }
    expect(examine(ready).recheckAt).toBe(moment(68))
  })

  it('has the duration of its slowest pull', () => {
    const pod = createTrio({ i: ended, app: runs, b: runs })
    const pulled = (container: string, took: string) =>
      make.event(pod, {
        container,
        reason: 'Pulled',
        message: `Successfully pulled image "acme/${container}" in ${took} (${took} including waiting).`,
      })
    expect(examine(pod, pulled('app', '340ms'), pulled('b', '12.5s')).pullMs).toBe(12_500)
  })
})

// The kubelet's events about image volumes are about the pod (getImageVolumes, pkg/kubelet/kuberuntime).
describe('a pod with an image volume', () => {
  const volumes = [{ name: 'model', image: { reference: 'acme/model:v1' } }]
  const pod = make.pod({ spec: { volumes } as object, status: podIs.unready({}, { phase: 'Pending' }) })
  const event = (reason: string, at: number) =>
    make.event(pod, { reason, firstTimestamp: iso(at), lastTimestamp: iso(at) })

  it('has a stall hold only while the volume is being pulled', () => {
    expect(found({ objects: [event('Pulling', 1)] }, (given) => examinePod(pod, given)).stallHold).toBe(
      'an image is being pulled',
    )
    const pulled = [event('Pulling', 1), event('Pulled', 9)]
    expect(found({ objects: pulled }, (given) => examinePod(pod, given)).stallHold).toBeUndefined()
  })
})

describe('a pod that is examined again and again', () => {
  const probes = { startupProbe: { periodSeconds: 5, failureThreshold: 4 }, readinessProbe: { failureThreshold: 2 } }
  const probed = { containers: [make.container(probes)] }
  const isReady = { containers: [make.container({ readinessProbe: {} })] }
  it.each<[name: string, states: number, pod: Pod, minReadySeconds: number]>([
    ['is read once while it is pending', 1, make.pod({ status: { startTime: iso(1) } }), 0],
    ['is read again when it is settled', 2, make.pod({ status: podIs.ready(5) }), 0],
    [
      'is read once if it has a readiness probe and is ready',
      1,
      make.pod({ spec: isReady, status: podIs.ready(5) }),
      0,
    ],
    ['is read again after minReadySeconds', 2, make.pod({ spec: isReady, status: podIs.ready(5) }), 30],
  ])('%s', (_, states, pod, minReadySeconds) => {
    const history = counted(sightings([5, pod]), pod, undefined, minReadySeconds)
    const base = { ...context(), podHistory: () => history }
    const found = new Set()
    for (let seconds = 5; seconds < 100; seconds += 1) {
      const state = examinePod(pod, { ...base, ...presentAt(moment(seconds)) })
      found.add(state)
      const copy = structuredClone(pod)
      expect({ ...state, pod: copy }).toEqual(examinePod(copy, { ...base, ...presentAt(moment(seconds)) }))
    }
    expect(found.size).toBe(states)
  })

  it('is read again when its probes are due, and at each moment while it has a problem', () => {
    const pod = make.pod({ spec: probed, status: podIs.unready({ state: is.running(5), started: true }) })
    const history = counted(sightings([5, pod]), pod)
    const base = { ...context(), podHistory: () => history }
    const at = (seconds: number) => examinePod(pod, { ...base, ...presentAt(moment(seconds)) })
    const first = presentAt(moment(10))
    const early = examinePod(pod, { ...base, ...first })
    expect(early.stallHold).toBeDefined()
    expect(at(20)).toBe(early)
    const present = presentAt(moment(20))
    examinePod(pod, { ...base, ...present })
    expect(present.nextMoment()).toBe(first.nextMoment())
    expect(at(60).stallHold).toBeUndefined()
    expect(at(60).problems).toHaveLength(1)
    expect(at(61)).not.toBe(at(60))
    expect(at(6).problems).toEqual([])
  })

  it('is read again after another observation, another event, or with other settings', () => {
    const pod = make.pod({ status: podIs.ready(5) })
    const history = counted(sightings([5, pod]), pod)
    const base = { ...context({ now: 10 }), podHistory: () => history }
    const state = examinePod(pod, base)
    expect(state.settled).toBe(false)
    expect(examinePod(pod, base)).toBe(state)
    expect(examinePod(pod, { ...base, podHistory: () => ({ ...history }) })).not.toBe(state)
    expect(examinePod(pod, { ...base, settings: { settleTimeMs: 0, maxRestarts: 2 } }).settled).toBe(true)
    const pulled = make.event(pod, { reason: 'Pulled', message: 'Successfully pulled image "a" in 2s' })
    expect(examinePod(pod, { ...base, events: () => [pulled] }).pullMs).toBe(2_000)
  })
})
