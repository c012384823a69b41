import type { Deployment, KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import { deploymentRule } from '../../src/lifecycle/workloads/deployment.ts'
import { complete, condition, is, iso, make, minute, moment, podIs } from '../kit/objects.ts'
import { type ContextOptions, found, seenPod, seenTarget } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function assess(deployment: Deployment, objects: readonly KubeObject[], options: ContextOptions = {}) {
  const history = seenTarget([0, deployment])
  return found({ now: 60, history, ...options, objects: [deployment, ...objects] }, (given) =>
    deploymentRule.assess(deployment, given),
  )
}

const replicaSet = make.replicaSet()
const oldSet = make.replicaSet(
  { metadata: { name: 'web-0', creationTimestamp: iso(-3600) } },
  make.deployment({ spec: { template: make.template({ serviceAccountName: 'old' }) } }),
)

function newPod(name: string, status: PodStatus, metadata: object = {}) {
  return make.pod({ metadata: { name, ...metadata }, status }, replicaSet)
}

function oldPod(name: string, status: PodStatus, metadata: object = {}) {
  return make.pod({ metadata: { name, ...metadata }, status }, oldSet)
}

const settled = newPod('a', podIs.ready(1))
const deadline = condition('Progressing', 'False', {
  reason: 'ProgressDeadlineExceeded',
  message: 'ReplicaSet "web-1" has timed out progressing.',
  lastTransitionTime: iso(30),
})

describe('a Deployment is ready', () => {
  it('when its new revision is complete and has settled', () => {
    const assessment = assess(make.deployment({ status: complete() }), [replicaSet, settled])
    expect(assessment).toMatchObject({ status: 'ready', message: 'revision 1, 1 of 1 pod available' })
  })

  it('at first sight when it was complete long ago', () => {
    const pod = newPod('a', podIs.ready(-60))
    expect(assess(make.deployment({ status: complete() }), [replicaSet, pod], { now: 0 }).status).toBe('ready')
  })

  it('when it has zero replicas and no pods', () => {
    const deployment = make.deployment({ spec: { replicas: 0 }, status: { observedGeneration: 1 } })
    expect(assess(deployment, [replicaSet]).status).toBe('ready')
  })

  it.each([
    ['Recreate', ['pod-stuck']],
    ['RollingUpdate', []],
  ])(
    'not while an old pod still exists, which is a problem where the controller waits for it (%s)',
    (type, reasons) => {
      const stuck = oldPod('o1', podIs.ready(-60), { deletionTimestamp: iso(30) })
      const deployment = make.deployment({ spec: { strategy: { type } }, status: complete(1, { updatedReplicas: 0 }) })
      const { status, problems } = assess(deployment, [oldSet, replicaSet, stuck])
      expect([status, ...problems.map(({ reason }) => reason)]).toEqual(['progressing', ...reasons])
    },
  )

  it('while old pods still terminate, which a note reports', () => {
    const leaving = { deletionTimestamp: iso(90) }
    const olds = [oldPod('o1', podIs.ready(-60), leaving), oldPod('o2', { phase: 'Failed' }, leaving)]
    const assessment = assess(make.deployment({ status: complete() }), [oldSet, replicaSet, settled, ...olds])
    expect(assessment).toMatchObject({ status: 'ready', notes: ['2 old pods still draining'] })
  })

  it('although the condition still reports a deadline that was exceeded before', () => {
    const deployment = make.deployment({ status: complete(1, { conditions: [deadline] }) })
    expect(assess(deployment, [replicaSet, settled]).status).toBe('ready')
  })

  it.each<[string, Deployment]>([
    ['without a status', make.deployment()],
    ['while its status has no observed generation', make.deployment({ status: { replicas: 1, availableReplicas: 1 } })],
    ['while an older generation was observed', make.deployment({ metadata: { generation: 2 }, status: complete() })],
    [
      'while the counts of the new revision are those of none',
      make.deployment({ status: complete(1, { updatedReplicas: 0 }) }),
    ],
    [
      'while some replicas are not updated',
      make.deployment({ spec: { replicas: 2 }, status: complete(2, { updatedReplicas: 1 }) }),
    ],
    ['while old replicas are left', make.deployment({ status: complete(1, { replicas: 2 }) })],
    ['while replicas are not available', make.deployment({ status: complete(1, { availableReplicas: 0 }) })],
    ['while it is being deleted', make.deployment({ metadata: { deletionTimestamp: iso(10) }, status: complete() })],
  ])('not %s', (_, deployment) => {
    expect(assess(deployment, [replicaSet, settled, newPod('b', podIs.ready(1))]).status).toBe('progressing')
  })

  it('not before its pods have settled', () => {
    const deployment = make.deployment({ status: complete() })
    const objects = [replicaSet, newPod('a', podIs.ready(51))]
    expect(assess(deployment, objects)).toMatchObject({
      status: 'progressing',
      message: '1 pod ready, settling',
      recheckAt: moment(61),
    })
    expect(assess(deployment, objects, { now: 61 }).status).toBe('ready')
  })

  it('not while pods that its status counts are missing, for the settle time at most', () => {
    const deployment = make.deployment({ status: complete() })
    expect(assess(deployment, [replicaSet], { now: 9 })).toMatchObject({ status: 'progressing', recheckAt: moment(10) })
    expect(assess(deployment, [replicaSet], { now: 10 }).status).toBe('ready')
  })
})

describe('a Deployment whose pods cannot be read', () => {
  const unseen = ['Pod']
  const available = (at: number) => [
    condition('Available', 'True', { lastUpdateTime: iso(at), lastTransitionTime: iso(at) }),
  ]

  it('is decided by the counts, and the milestones of pods are skipped', () => {
    const deployment = make.deployment({ status: complete(1, { conditions: available(-600) }) })
    const assessment = assess(deployment, [replicaSet], { now: 0, unseen })
    expect(assessment.status).toBe('ready')
    expect(assessment.milestones).toContainEqual({ name: 'started', state: 'skipped', message: 'pods cannot be read' })
  })

  it('has settled the settle time after its numbers moved last', () => {
    const before = make.deployment({ status: complete(1, { availableReplicas: 0 }) })
    const after = make.deployment({ status: complete(1, { conditions: available(58) }) })
    const history = seenTarget([0, before], [58, after])
    expect(assess(after, [replicaSet], { now: 67.999, unseen, history }).status).toBe('progressing')
    expect(assess(after, [replicaSet], { now: 68, unseen, history }).status).toBe('ready')
  })

  it('has settled at the latest the settle time after first sight, also by a wrong clock of the server', () => {
    const deployment = make.deployment({ status: complete(1, { conditions: available(300) }) })
    expect(assess(deployment, [replicaSet], { now: 9.999, unseen }).status).toBe('progressing')
    expect(assess(deployment, [replicaSet], { now: 10, unseen }).status).toBe('ready')
  })

  it('is not judged by pods that it no longer owns', () => {
    const deployment = make.deployment({ status: complete(1, { availableReplicas: 0 }) })
    expect(assess(deployment, [replicaSet, newPod('a', podIs.looping(4, 5))], { unseen }).status).toBe('progressing')
  })

  it('still names the new ReplicaSet, unless ReplicaSets cannot be read', () => {
    const deployment = make.deployment({ status: complete(1, { updatedReplicas: 0 }) })
    const state = (options: ContextOptions, objects: KubeObject[]) =>
      assess(deployment, objects, options).milestones.find(({ name }) => name === 'replicaset')
    expect(state({ unseen }, [replicaSet])).toMatchObject({ state: 'done', message: 'revision 1 → ReplicaSet web-1' })
    expect(state({ unseen: ['ReplicaSet', 'Pod'] }, [])).toMatchObject({ state: 'skipped' })
  })
})

describe('a Deployment whose ReplicaSets cannot be read any more', () => {
  it('is judged by the pods of the ReplicaSet that was read before: they must settle, and may fail', () => {
    const deployment = make.deployment({ status: complete(1) })
    const judged = (now: number, pod: KubeObject) =>
      assess(deployment, [replicaSet, pod], { now, unseen: ['ReplicaSet'] })
    expect(judged(12, newPod('a', podIs.ready(10))).status).toBe('progressing')
    expect(judged(20, newPod('a', podIs.ready(10))).status).toBe('ready')
    expect(judged(40, newPod('a', podIs.looping(3, 5))).status).toBe('failed')
  })
})

describe('a Deployment fails', () => {
  const deployment = make.deployment({ status: complete(1, { availableReplicas: 0, readyReplicas: 0 }) })
  const crashing = newPod('a', podIs.looping(3, 5))

  it('because of a proven problem of a new pod', () => {
    expect(assess(deployment, [replicaSet, crashing])).toMatchObject({
      status: 'failed',
      failure: { reason: 'crash-loop', subject: toSubject('pod/a') },
    })
  })

  it('never because of pods of an older revision', () => {
    const objects = [oldSet, replicaSet, oldPod('o', podIs.looping(9, 5)), newPod('a', { phase: 'Pending' })]
    expect(assess(deployment, objects)).toMatchObject({ status: 'progressing', problems: [] })
  })

  it('not before its own revision is known', () => {
    const next = make.deployment({
      metadata: { generation: 2 },
      spec: { template: make.template({ serviceAccountName: 'x' }) },
      status: complete(),
    })
    expect(assess(next, [replicaSet, crashing])).toMatchObject({ status: 'progressing', problems: [] })
  })

  it('not when it is ready at the same time', () => {
    const ready = make.deployment({ status: complete(1) })
    const objects = [
      replicaSet,
      settled,
      newPod('b', { phase: 'Pending', containerStatuses: [] }, { deletionTimestamp: iso(90) }),
    ]
    expect(assess(ready, objects).failure).toBeUndefined()
  })

  it('when a policy denies its pods twice, 3 s apart, and not when it denies them once', () => {
    const denial = 'admission webhook "policy" denied the request: no'
    const refused = make.replicaSet({
      status: { conditions: [condition('ReplicaFailure', 'True', { message: denial })] },
    })
    const event = (count: number, at: number) =>
      make.event(refused, { reason: 'FailedCreate', message: denial, count, lastTimestamp: iso(at) })
    expect(assess(deployment, [refused, event(1, 5)]).status).toBe('progressing')
    expect(assess(deployment, [refused, event(2, 1)]).status).toBe('progressing')
    expect(assess(deployment, [refused, event(2, 5)])).toMatchObject({
      status: 'failed',
      failure: { reason: 'admission-denied' },
    })
  })
})

describe('a progress deadline that was exceeded before the gate', () => {
  const standing = make.deployment({
    status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, conditions: [deadline] },
  })
  const refused = newPod('a', podIs.unready({ state: is.waiting('ImagePullBackOff') }, { phase: 'Pending' }))
  const pull = (second: number, count = 3) =>
    make.event(refused, {
      container: 'app',
      reason: 'Failed',
      message: 'Failed to pull image "acme/web:v1": failed to resolve reference "acme/web:v1": not found',
      count,
      firstTimestamp: iso(-900),
      lastTimestamp: iso(second),
    })
  const look = (...objects: KubeObject[]) => assess(standing, [replicaSet, refused, ...objects], { now: 60 })

  it('gives way to the next attempt of its pod', () => {
    expect(look(pull(40, 4))).toMatchObject({ status: 'failed', failure: { reason: 'image-not-found' } })
  })

  describe('does not count while a pod of its revision gets on:', () => {
    const made = (status: PodStatus, spec: object = {}) =>
      make.pod({ metadata: { name: 'a', creationTimestamp: iso(-900) }, spec, status }, replicaSet)
    const probed = (initialDelaySeconds: number) => ({
      containers: [make.container({ readinessProbe: { initialDelaySeconds } })],
    })
    const scheduled = (second: number) => ({
      phase: 'Pending',
      startTime: iso(second),
      conditions: [condition('PodScheduled', 'True', { lastTransitionTime: iso(second) })],
    })
    const unscheduled = made({ phase: 'Pending', conditions: [condition('PodScheduled', 'False')] })
    const initializing = podIs.unready(
      {},
      { phase: 'Pending', initContainerStatuses: [make.containerStatus({ name: 'setup', state: is.running(55) })] },
    )
    const adding = make.event(unscheduled, { reason: 'TriggeredScaleUp' })

    it.each<[string, 'progressing' | 'failed', readonly KubeObject[]]>([
      [
        'its probes have time',
        'progressing',
        [made(podIs.unready({ state: is.running(55), restartCount: 9 }), probed(20))],
      ],
      [
        'but not after that time',
        'failed',
        [made(podIs.unready({ state: is.running(5), restartCount: 9 }), probed(1))],
      ],
      ['its init container runs', 'progressing', [made(initializing, { initContainers: [{ name: 'setup' }] })]],
      ['an autoscaler adds a node for it', 'progressing', [unscheduled, adding]],
      ['but not while it has no node', 'failed', [unscheduled]],
      ['it has had a node since the gate began', 'progressing', [made(scheduled(30))]],
      ['but not if it had one before', 'failed', [made(scheduled(-800))]],
      ['it has been ready since the gate began', 'progressing', [made(podIs.ready(50))]],
      ['but not if it was ready before', 'failed', [made(podIs.ready(-800))]],
    ])('%s: %s', (_, status, objects) => {
      expect(assess(standing, [replicaSet, ...objects], { now: 60 }).status).toBe(status)
    })
  })
})

describe('the progress deadline', () => {
  const numbers = complete(1, { availableReplicas: 0, readyReplicas: 0 })
  const fine = make.deployment({ status: { ...numbers, conditions: [condition('Progressing', 'True')] } })
  const exceeded = make.deployment({ status: { ...numbers, conditions: [deadline] } })
  const creating = newPod('a', { phase: 'Pending', containerStatuses: [make.containerStatus()] })

  it('fails at once when it is exceeded while the gate watches', () => {
    const history = seenTarget([0, fine], [60, exceeded])
    expect(assess(exceeded, [replicaSet, creating], { history })).toMatchObject({
      status: 'failed',
      failure: { reason: 'progress-deadline-exceeded', class: 'terminal', subject: toSubject('deployment/web') },
    })
  })

  it('is not blamed on a probe that passes by now', () => {
    const spec = { containers: [make.container({ readinessProbe: {} })] }
    const blamed = (ready: boolean) => {
      const status = podIs.unready({ ready, started: true, state: is.running(5) })
      const pod = make.pod({ metadata: { name: 'a' }, spec, status }, replicaSet)
      const event = make.event(pod, { container: 'app', reason: 'Unhealthy', message: 'Readiness probe failed: 503' })
      return assess(exceeded, [replicaSet, pod, event], { history: seenTarget([0, fine], [60, exceeded]) }).failure
        ?.cause
    }
    expect([blamed(false)?.reason, blamed(true)]).toEqual(['readiness-failing', undefined])
  })

  it('that existed at first sight fails after 10 s in which no count moved', () => {
    const history = seenTarget([0, exceeded])
    const look = (now: number) => assess(exceeded, [replicaSet, creating], { history, now })
    expect(look(9.999)).toMatchObject({ status: 'progressing', recheckAt: moment(10) })
    expect(look(10).status).toBe('failed')
  })

  it('that existed at first sight does not fail while counts move', () => {
    const moved = make.deployment({ status: { ...numbers, readyReplicas: 1, conditions: [deadline] } })
    const history = seenTarget([0, exceeded], [8, moved])
    expect(assess(moved, [replicaSet, creating], { history, now: 17.999 }).status).toBe('progressing')
    expect(assess(moved, [replicaSet, creating], { history, now: 18 }).status).toBe('failed')
  })

  it('of an older generation does not count', () => {
    const next = make.deployment({ metadata: { generation: 2 }, status: { ...numbers, conditions: [deadline] } })
    const history = seenTarget([0, fine], [5, next])
    expect(assess(next, [replicaSet, creating], { history })).toMatchObject({ status: 'progressing', problems: [] })
  })

  it.each<[string, PodStatus, string]>([
    ['gives way to a strike of a pod that explains it', podIs.looping(2, 5), 'crash-loop'],
    [
      'gives way to a terminal problem of a pod',
      podIs.unready({ state: is.waiting('InvalidImageName') }),
      'image-name-invalid',
    ],
    [
      'does not give way to what is only slow',
      podIs.unready({ state: is.waiting('ErrImagePull', 'connection refused') }),
      'progress-deadline-exceeded',
    ],
  ])('%s', (_, status, reason) => {
    const history = seenTarget([0, fine], [60, exceeded])
    expect(assess(exceeded, [replicaSet, newPod('a', status)], { history }).failure?.reason).toBe(reason)
  })

  it('has the failing probe of a pod as its cause, also while the probe may still fail by its own numbers', () => {
    const spec = { containers: [make.container({ readinessProbe: { failureThreshold: 100 } })] }
    const starting = make.pod({ spec, status: podIs.unready({ state: is.running(5), started: true }) })
    const failing = make.event(starting, {
      container: 'app',
      reason: 'Unhealthy',
      message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
    })
    const history = seenTarget([0, fine], [60, exceeded])
    expect(assess(exceeded, [replicaSet, starting, failing], { history }).failure).toMatchObject({
      reason: 'progress-deadline-exceeded',
      cause: { reason: 'readiness-failing', container: 'app' },
    })
  })

  it('is replaced by a problem that a better pod holds back', () => {
    const history = seenTarget([0, fine], [60, exceeded])
    const objects = [replicaSet, newPod('a', podIs.looping(4, 5)), newPod('b', podIs.ready(1))]
    expect(assess(exceeded, objects, { history }).failure?.reason).toBe('crash-loop')
  })

  it('is reported with how long the controller waited', () => {
    const history = seenTarget([0, fine], [60, exceeded])
    expect(assess(exceeded, [replicaSet], { history }).failure?.message).toBe(
      'made no progress within its progressDeadlineSeconds of 600 s: ReplicaSet "web-1" has timed out progressing.',
    )
  })
})

describe('the new ReplicaSet', () => {
  const message = (deployment: Deployment, ...sets: KubeObject[]) =>
    assess(deployment, sets).milestones.find(({ name }) => name === 'replicaset')?.message

  it('is the oldest that carries the template', () => {
    const twin = make.replicaSet({ metadata: { name: 'web-9', creationTimestamp: iso(30) } })
    expect(message(make.deployment(), twin, replicaSet)).toBe('revision 1 → ReplicaSet web-1')
  })

  it('is found by its revision where the templates cannot be compared', () => {
    const deployment = make.deployment({
      metadata: { annotations: { 'deployment.kubernetes.io/revision': '1' } },
      spec: { template: make.template({ serviceAccountName: 'defaulted' }) },
      status: { observedGeneration: 1, updatedReplicas: 1 },
    })
    expect(message(deployment, replicaSet)).toBe('revision 1 → ReplicaSet web-1')
  })

  it('is the ReplicaSet that the controller chose, if several have the template', () => {
    const twin = make.replicaSet({
      metadata: {
        name: 'web-9',
        creationTimestamp: iso(30),
        annotations: { 'deployment.kubernetes.io/revision': '2' },
      },
    })
    expect(message(make.deployment(), replicaSet, twin)).toBe('revision 2 → ReplicaSet web-9')
  })

  it('is not found by a revision that belongs to the generation before', () => {
    const deployment = make.deployment({
      metadata: { generation: 2, annotations: { 'deployment.kubernetes.io/revision': '1' } },
      spec: { template: make.template({ serviceAccountName: 'next' }) },
      status: { observedGeneration: 1 },
    })
    expect(message(deployment, replicaSet)).toBe('waiting for the new ReplicaSet')
  })

  it('of another owner is not taken', () => {
    const other = make.deployment({ metadata: { name: 'other', uid: 'other-uid' } })
    expect(message(make.deployment(), make.replicaSet({}, other))).toBe('waiting for the new ReplicaSet')
  })
})

describe('a Deployment whose new ReplicaSet does not exist yet', () => {
  const crashing = (nth: number, at: number) => newPod('a', podIs.looping(nth, at))
  const podHistories = new Map([['a-uid', seenPod([5, crashing(1, 5)], [20, crashing(2, 20)], [45, crashing(3, 45)])]])
  const later = (spec: object) =>
    make.deployment({
      metadata: { generation: 2, annotations: { 'deployment.kubernetes.io/revision': '1' } },
      spec: { template: make.template({ serviceAccountName: 'next' }), ...spec },
      status: { observedGeneration: 2, replicas: 1 },
    })

  it.each<[string, object, string[]]>([
    ['because it is paused', { paused: true }, ['paused']],
    ['because old pods have to go first', { strategy: { type: 'Recreate' } }, []],
  ])('%s is never judged by pods of the older one', (_, spec, reasons) => {
    const assessment = assess(later(spec), [replicaSet, crashing(3, 45)], { podHistories })
    expect(assessment).toMatchObject({ status: 'progressing', message: 'waiting for the new ReplicaSet' })
    expect(assessment.problems.map(({ reason }) => reason)).toEqual(reasons)
    expect(assessment.pods).toEqual(new Set())
    expect(assessment.milestones.find(({ name }) => name === 'scheduled')?.count).toEqual({ done: 0, total: 1 })
  })

  it('because old pods terminate first: it reports their number', () => {
    const leaving = newPod('a', podIs.ready(-60), { deletionTimestamp: iso(90) })
    expect(assess(later({ strategy: { type: 'Recreate' } }), [replicaSet, leaving]).message).toBe(
      'waiting for 1 pod of older revisions to end (strategy Recreate)',
    )
  })
})

describe('available pods of older revisions', () => {
  const rolling = (spec: object = {}) =>
    make.deployment({
      spec: { replicas: 2, ...spec },
      status: { observedGeneration: 1, replicas: 4, updatedReplicas: 2, readyReplicas: 4, availableReplicas: 3 },
    })
  const newSet = make.replicaSet({
    spec: { replicas: 2 },
    status: { replicas: 2, readyReplicas: 2, availableReplicas: 1 },
  })
  const pods = [settled, newPod('b', podIs.ready(40)), oldPod('o', podIs.ready(-60)), oldPod('p', podIs.ready(-60))]

  it('do not count as those of the new ReplicaSet', () => {
    const { milestones } = assess(rolling(), [oldSet, newSet, ...pods])
    expect(milestones.find(({ name }) => name === 'available')).toMatchObject({
      state: 'open',
      count: { done: 1, total: 2 },
      message: '1 of 2 pods available',
    })
  })

  it('do not hide that a new one waits out minReadySeconds', () => {
    const look = (now: number) => assess(rolling({ minReadySeconds: 30 }), [oldSet, newSet, ...pods], { now })
    expect(look(60)).toMatchObject({ stallHold: 'pods are ready and wait out minReadySeconds', recheckAt: moment(70) })
    expect(look(70).stallHold).toBeUndefined()
  })
})

describe('the milestones of a Deployment', () => {
  it('name the init container that runs, before the images of the next containers are pulled', () => {
    const initContainers = [make.container({ name: 'wait-for-db' })]
    const initContainerStatuses = [make.containerStatus({ name: 'wait-for-db', state: is.running(1) })]
    const pod = make.pod(
      {
        spec: { initContainers },
        status: { phase: 'Pending', initContainerStatuses, containerStatuses: [make.containerStatus()] },
      },
      replicaSet,
    )
    const starting = make.deployment({ status: complete(1, { readyReplicas: 0, availableReplicas: 0 }) })
    expect(assess(starting, [replicaSet, pod]).message).toBe(
      '0 of 1 pod has pulled its image, init container wait-for-db is running',
    )
  })

  it('name the postStart hook that runs', () => {
    const containers = [make.container({ lifecycle: { postStart: {} } })]
    const pod = make.pod({ spec: { containers }, status: podIs.unready({}, { phase: 'Pending' }) }, replicaSet)
    const event = make.event(pod, { container: 'app', reason: 'Started', firstTimestamp: iso(3) })
    const starting = make.deployment({ status: complete(1, { readyReplicas: 0, availableReplicas: 0 }) })
    expect(assess(starting, [replicaSet, pod, event]).message).toBe(
      '0 of 1 pod started, the postStart hook of app is running',
    )
  })

  const state = (deployment: Deployment, objects: KubeObject[]) =>
    Object.fromEntries(
      assess(deployment, objects).milestones.map(({ name, state, count }) => [
        name,
        count ? `${count.done}/${count.total}` : state,
      ]),
    )

  it('are all that the contract names, in its order', () => {
    expect(assess(make.deployment(), []).milestones.map(({ name }) => name)).toEqual([...deploymentRule.milestones])
  })

  it('count the pods of the new revision alone', () => {
    const deployment = make.deployment({
      spec: { replicas: 2 },
      status: { observedGeneration: 1, replicas: 3, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 },
    })
    const set = make.replicaSet({ spec: { replicas: 2 } }, deployment)
    const objects = [
      oldSet,
      set,
      oldPod('o', podIs.ready(-60)),
      newPod('a', podIs.ready(1)),
      newPod('b', podIs.unready({ state: is.waiting('ErrImagePull', 'x') }, { phase: 'Pending' })),
    ]
    expect(state(deployment, objects)).toEqual({
      created: 'done',
      observed: 'done',
      replicaset: 'done',
      scheduled: '2/2',
      pulled: '1/2',
      started: '1/2',
      ready: '1/2',
      available: '1/2',
      drained: 'open',
    })
  })

  it('contain the slowest pull', () => {
    const event = make.event(settled, {
      container: 'app',
      reason: 'Pulled',
      message: 'Successfully pulled image "acme/web:v1" in 1m2.5s (1m2.5s including waiting).',
    })
    const { milestones } = assess(make.deployment({ status: complete() }), [replicaSet, settled, event])
    expect(milestones.find(({ name }) => name === 'started')?.message).toBe('1 pod started (slowest pull 62.5 s)')
  })
})

describe('a Deployment is slow and not failed', () => {
  it('while it is paused before its change', () => {
    const deployment = make.deployment({ spec: { paused: true }, status: complete(1, { updatedReplicas: 0 }) })
    expect(assess(deployment, [])).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'paused', class: 'slow', proven: false }],
    })
  })

  it('but ready when it was paused after its change', () => {
    const deployment = make.deployment({ spec: { paused: true }, status: complete() })
    expect(assess(deployment, [replicaSet, settled]).status).toBe('ready')
  })

  it('while it is being deleted, and reports its finalizers', () => {
    const metadata = { deletionTimestamp: iso(10), finalizers: ['foregroundDeletion'] }
    expect(assess(make.deployment({ metadata, status: complete() }), [replicaSet, settled])).toMatchObject({
      status: 'progressing',
      message: 'is being deleted and waits for its finalizers: foregroundDeletion',
      problems: [{ reason: 'terminating', class: 'slow' }],
    })
  })
})

describe('a Deployment has a stall hold', () => {
  const deployment = (spec: object = {}) =>
    make.deployment({ spec, status: complete(1, { availableReplicas: 0, replicas: 2 }) })

  it('while its pods wait out minReadySeconds', () => {
    expect(assess(deployment({ minReadySeconds: 120 }), [replicaSet, settled]).stallHold).toMatch('minReadySeconds')
    expect(assess(deployment(), [replicaSet, settled]).stallHold).toBeUndefined()
  })

  it('while the pods that an autoscaler adds to its complete rollout have no room, and not while the rollout itself lacks room', () => {
    const unscheduled = newPod('n', {
      phase: 'Pending',
      conditions: [condition('PodScheduled', 'False', { reason: 'Unschedulable' })],
    })
    const scaled = (reason: string) => {
      const conditions = [condition('Progressing', 'True', { reason })]
      return make.deployment({ spec: { replicas: 2 }, status: { ...complete(2), availableReplicas: 1, conditions } })
    }
    const look = (reason: string) => assess(scaled(reason), [replicaSet, settled, unscheduled]).stallHold
    expect(look('NewReplicaSetAvailable')).toBe('its rollout is complete, and the pods of a scale wait for room')
    expect(look('ReplicaSetUpdated')).toBeUndefined()
  })

  describe('until its ReplicaSet tries again to create a pod that the quota refused,', () => {
    const message = 'pods "web-1-x" is forbidden: exceeded quota: small'
    const failed = [
      condition('ReplicaFailure', 'True', { reason: 'FailedCreate', message, lastTransitionTime: iso(0) }),
    ]
    const refused = make.replicaSet({ status: { conditions: failed } })
    const deployment = make.deployment({ status: { observedGeneration: 1, conditions: failed } })
    const attempts = (count: number, lastAt: number) =>
      make.event(refused, {
        reason: 'FailedCreate',
        message,
        count,
        firstTimestamp: iso(0),
        lastTimestamp: iso(lastAt),
      })

    it.each([
      ['after twice the time so far', 16, 163, 337],
      ['also if its first refusals have expired', 3, 163, 336],
      // Each event of one of its pods starts an attempt, and each refusal doubles the next wait.
      ['and later if events of its other pods have started attempts too', 18, 23, 689],
      ['and at most 1000 s after the last refusal', 21, 23, 1033],
    ])('%s', (_, count, lastAt, until) => {
      const look = (now: number) => assess(deployment, [refused, attempts(count, lastAt)], { now })
      expect(look(until - 1)).toMatchObject({ stallHold: 'its controller tries again later' })
      expect(look(until).stallHold).toBeUndefined()
    })
  })

  describe('while old pods drain,', () => {
    const draining = oldPod('o', podIs.ready(-60), { deletionTimestamp: iso(90) })
    const hold = { stallHold: 'a pod is within its grace period', recheckAt: moment(90) }
    const withoutRoom = newPod('n', {
      phase: 'Pending',
      conditions: [
        condition('PodScheduled', 'False', {
          reason: 'Unschedulable',
          message: '0/1 nodes are available: 1 Insufficient cpu.',
        }),
      ],
    })

    it('if the strategy Recreate waits for their end, and not beyond their grace period', () => {
      const recreated = deployment({ strategy: { type: 'Recreate' } })
      const look = (now: number) =>
        assess({ ...recreated, status: complete(1, { updatedReplicas: 0 }) }, [oldSet, draining], { now })
      expect(look(60)).toMatchObject(hold)
      expect(look(90).stallHold).toBeUndefined()
    })

    it('if a new pod has no room beside them', () => {
      expect(assess(deployment(), [oldSet, replicaSet, withoutRoom, draining], { now: 60 })).toMatchObject(hold)
    })

    it('but not if a rolling update goes on without their end', () => {
      expect(assess(deployment(), [oldSet, replicaSet, settled, draining], { now: 60 }).stallHold).toBeUndefined()
    })
  })
})

test('a Deployment reports pods of its revision that were lost and are replaced', () => {
  const evicted = newPod('b', { phase: 'Failed', reason: 'Evicted' })
  const assessment = assess(make.deployment({ status: complete() }), [replicaSet, settled, evicted])
  expect(assessment).toMatchObject({ status: 'ready', notes: ['1 pod failed and is replaced (Evicted)'] })
})

test('a Deployment whose terminating pods look failed progresses', () => {
  const killed = newPod(
    'b',
    { phase: 'Failed', containerStatuses: [make.containerStatus({ restartCount: 5, state: is.terminated(137, 50) })] },
    { deletionTimestamp: iso(50) },
  )
  const deployment = make.deployment({ status: complete(1, { availableReplicas: 0 }) })
  expect(assess(deployment, [replicaSet, killed, newPod('a', { phase: 'Pending' })])).toMatchObject({
    status: 'progressing',
    problems: [],
  })
})

test('a Deployment names the pods of the revision that is gated', () => {
  const objects = [oldSet, replicaSet, oldPod('o', podIs.ready(-60)), settled]
  expect(assess(make.deployment({ status: complete() }), objects).pods).toEqual(new Set(['a-uid']))
})

test('a Deployment asks for its ReplicaSets and pods by its selector', () => {
  expect(deploymentRule.relatives(make.deployment())).toEqual([
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop', labelSelector: 'app=web' },
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', labelSelector: 'app=web' },
  ])
})

test('restarts from before the gate do not count for the pods of a rollout that began eleven minutes ago', () => {
  const old = newPod('a', { ...podIs.looping(5, -30) }, { creationTimestamp: iso(-11 * minute) })
  const deployment = make.deployment({ status: complete(1, { availableReplicas: 0 }) })
  expect(assess(deployment, [replicaSet, old]).problems).toMatchObject([
    { reason: 'crash-loop', count: 1, proven: false },
  ])
})

describe('what keeps a Deployment from having pods at all', () => {
  const quota = [condition('ReplicaFailure', 'True', { message: 'exceeded quota: small' })]

  it('is reported by the Deployment where its ReplicaSet cannot be read', () => {
    const deployment = make.deployment({ status: { observedGeneration: 1, conditions: quota } })
    expect(assess(deployment, []).problems).toMatchObject([
      { reason: 'quota-exceeded', subject: toSubject('deployment/web') },
    ])
  })

  it('is reported by the Deployment before its ReplicaSet reports it', () => {
    const deployment = make.deployment({ status: { observedGeneration: 1, conditions: quota } })
    expect(assess(deployment, [replicaSet]).problems).toMatchObject([
      {
        reason: 'quota-exceeded',
        subject: toSubject('deployment/web'),
        message: 'cannot create pods: exceeded quota: small',
      },
    ])
  })

  it('is proven by the refusals of its ReplicaSet, whichever of the two has the condition', () => {
    const denial = 'admission webhook "policy" denied the request: no'
    const conditions = [condition('ReplicaFailure', 'True', { message: denial })]
    const deployment = make.deployment({ status: { observedGeneration: 1, conditions } })
    const lastTimestamp = iso(5)
    const refusals = make.event(replicaSet, { reason: 'FailedCreate', message: denial, count: 2, lastTimestamp })
    expect(assess(deployment, [replicaSet, refusals])).toMatchObject({ failure: { reason: 'admission-denied' } })
  })

  it('is no failure of the change when it is an older ReplicaSet that cannot replace its pods', () => {
    const denial = 'admission webhook "policy" denied the request: no'
    const conditions = [condition('ReplicaFailure', 'True', { message: denial })]
    const deployment = make.deployment({ status: { observedGeneration: 1, conditions } })
    const older = { ...oldSet, status: { conditions } }
    const refusals = make.event(oldSet, { reason: 'FailedCreate', message: denial, count: 5 })
    const { status, problems } = assess(deployment, [replicaSet, older, refusals])
    expect(status).toBe('progressing')
    expect(problems).toMatchObject([{ subject: toSubject('replicaset/web-0'), class: 'slow', proven: false }])
  })

  describe('while its ReplicaSet cannot be created', () => {
    const refused = (message: string) => {
      const words = `Failed to create new replica set "web-1": ${message}`
      const progressing = condition('Progressing', 'False', { reason: 'ReplicaSetCreateError', message: words })
      // The controller writes this condition without the generation that it has observed.
      const deployment = make.deployment({
        metadata: { generation: 2 },
        status: { observedGeneration: 1, conditions: [progressing] },
      })
      const event = (count: number, at = 5) =>
        make.event(deployment, { reason: 'ReplicaSetCreateError', message: words, count, lastTimestamp: iso(at) })
      return { deployment, event }
    }
    const denial = 'admission webhook "policy.example.com" denied the request: no'

    it.each([
      [
        'replicasets.apps "web-1" is forbidden: exceeded quota: small, requested: count/replicasets.apps=1',
        'quota-exceeded',
      ],
      [
        'Internal error occurred: failed calling webhook "policy.example.com": connection refused',
        'webhook-unavailable',
      ],
      [denial, 'admission-denied'],
    ])('%s is %s', (message, reason) => {
      const { deployment, event } = refused(message)
      expect(assess(deployment, [oldSet, event(1)]).problems).toMatchObject([
        {
          reason,
          subject: toSubject('deployment/web'),
          message: expect.stringMatching(/^cannot create its ReplicaSet: /),
        },
      ])
    })

    it('a denial is proven by another denial 3 s later, both since the gate began', () => {
      const { deployment, event } = refused(denial)
      expect(assess(deployment, [oldSet, event(1)]).status).toBe('progressing')
      expect(assess(deployment, [oldSet, event(9, -60)]).status).toBe('progressing')
      expect(assess(deployment, [oldSet, event(2)])).toMatchObject({ failure: { reason: 'admission-denied' } })
    })

    it('and is no problem once it exists', () => {
      const { deployment, event } = refused(denial)
      expect(assess(deployment, [replicaSet, event(2)]).problems).toEqual([])
    })
  })

  it('is not reported for an older generation', () => {
    const deployment = make.deployment({
      metadata: { generation: 2 },
      status: { observedGeneration: 1, conditions: quota },
    })
    expect(assess(deployment, []).problems).toEqual([])
  })
})

test.each([
  [2, '1 pod of older revisions still running'],
  [3, '2 pods of older revisions still running'],
])('a Deployment with %d replicas, one of them new, reports that %s', (replicas, message) => {
  const { milestones } = assess(make.deployment({ status: complete(1, { replicas }) }), [replicaSet, settled])
  expect(milestones.at(-1)).toMatchObject({ name: 'drained', state: 'open', message })
})

test('a Deployment whose ready pods are all available does not wait for minReadySeconds', () => {
  const deployment = make.deployment({ spec: { minReadySeconds: 59 }, status: complete(1, { replicas: 2 }) })
  expect(assess(deployment, [replicaSet, settled]).stallHold).toBeUndefined()
})

test('a Deployment that is being deleted is never failed by that', () => {
  const metadata = { deletionTimestamp: iso(10) }
  expect(assess(make.deployment({ metadata }), [], { now: 500 }).problems).toMatchObject([
    { reason: 'terminating', proven: false },
  ])
})

describe('a Deployment that is scaled', () => {
  const scaledTo = (replicas: number, spec: object = {}) =>
    make.deployment({
      metadata: { generation: 2 },
      spec: { replicas, ...spec },
      status: complete(2, { observedGeneration: 2 }),
    })
  const two = [newPod('a', podIs.ready(1)), newPod('b', podIs.ready(1))]

  // The controller writes the new generation together with the previous counts (sync,
  // pkg/controller/deployment/sync.go).
  it.each([0, 1])('down to %i is not ready while it has more pods', (replicas) => {
    const assessment = assess(scaledTo(replicas), [replicaSet, ...two])
    const more = `${2 - replicas} ${replicas === 1 ? 'pod' : 'pods'} more than wanted still running`
    expect(assessment).toMatchObject({ status: 'progressing', message: more })
  })

  it('while it is paused is still ready', () => {
    const { status, problems } = assess(scaledTo(3, { paused: true }), [replicaSet, ...two])
    expect({ status, problems }).toEqual({ status: 'progressing', problems: [] })
  })
})

test('a paused Deployment has no progress deadline: the controller keeps an earlier report', () => {
  const status = complete(1, { updatedReplicas: 0, conditions: [deadline] })
  const deployment = make.deployment({ spec: { paused: true }, status })
  const { problems, failure } = assess(deployment, [oldSet], { history: seenTarget([0, make.deployment()]) })
  expect([failure, problems.map(({ reason }) => reason)]).toEqual([undefined, ['paused']])
})

// A kubelet can end a pod whose restartPolicy is Always; the ReplicaSet controller makes another (FilterActivePods).
test('a Deployment does not wait for a pod in phase Succeeded, which its controller has replaced', () => {
  const ended = newPod('e', podIs.unready({ state: is.terminated(0, 5) }, { phase: 'Succeeded' }))
  const assessment = assess(make.deployment({ status: complete() }), [replicaSet, settled, ended])
  expect(assessment.status).toBe('ready')
})
