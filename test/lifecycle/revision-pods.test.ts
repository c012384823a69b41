import type { Pod, PodStatus } from '../../src/cluster/objects.ts'
import { byImportance, examinePods, stuckPods } from '../../src/lifecycle/workloads/revision-pods.ts'
import { haveSettled } from '../../src/lifecycle/workloads/workload.ts'
import { type Problem, type ProblemWith, problemOf, type ReasonCode } from '../../src/reasons/reasons.ts'
import { complete, condition, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { found, type ReaderOptions, reader, seenTarget } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function podNamed(name: string, status: PodStatus = {}, metadata: object = {}): Pod {
  return make.pod({ metadata: { name, ...metadata }, status })
}

function examine(pods: readonly Pod[], options: ReaderOptions = {}) {
  return found({ now: 60, ...options, objects: pods }, (given) => examinePods(pods, given))
}

const neverPull = podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })
const pending: PodStatus = { phase: 'Pending', containerStatuses: [make.containerStatus()] }
const leaving = { deletionTimestamp: iso(90) }

describe('a problem of a pod fails its workload', () => {
  it.each<[string, readonly Pod[], Problem['reason'] | undefined]>([
    ['when it is proven and the pod is alone', [podNamed('a', podIs.looping(3, 5))], 'crash-loop'],
    ['not when it is not proven', [podNamed('a', podIs.looping(2, 5))], undefined],
    [
      'not when another pod is ready and settled',
      [podNamed('a', podIs.looping(3, 5)), podNamed('b', podIs.ready(1))],
      undefined,
    ],
    [
      'not when another pod is ready and settled although it has died before',
      [podNamed('a', podIs.looping(3, 5)), podNamed('b', podIs.ready(40, { restartCount: 2 }))],
      undefined,
    ],
    [
      'not when all containers of another pod run and none has died',
      [podNamed('a', podIs.looping(3, 5)), podNamed('b', podIs.unready({ state: is.running(55), started: true }))],
      undefined,
    ],
    [
      'but does when the other pod runs only until it dies again',
      [
        podNamed('a', podIs.looping(3, 5)),
        podNamed('b', podIs.unready({ state: is.running(55), started: true, restartCount: 2 })),
      ],
      'crash-loop',
    ],
    [
      'but does when the other pods are pending',
      [podNamed('a', neverPull), podNamed('b', pending)],
      'image-never-pull',
    ],
    ['not of a terminal class either', [podNamed('a', neverPull), podNamed('b', podIs.ready(1))], undefined],
    [
      'but does when the better pod is being deleted',
      [podNamed('a', neverPull), podNamed('b', podIs.ready(1), leaving)],
      'image-never-pull',
    ],
    ['not when the pod is being deleted', [podNamed('a', podIs.looping(3, 5), leaving)], undefined],
    [
      'not when it was killed by its deletion',
      [
        podNamed(
          'a',
          { phase: 'Failed', containerStatuses: [make.containerStatus({ state: is.terminated(137, 50) })] },
          leaving,
        ),
        podNamed('b', pending),
      ],
      undefined,
    ],
    [
      'not when the pod was evicted',
      [podNamed('a', { ...podIs.looping(3, 5), phase: 'Failed', reason: 'Evicted' })],
      undefined,
    ],
    ['not when there are no pods', [], undefined],
  ])('%s', (_, pods, reason) => {
    expect(examine(pods).failure?.reason).toBe(reason)
  })

  it('also when another pod has only some of its containers running', () => {
    const containers = [make.container(), make.container({ name: 'late' })]
    const half: PodStatus = {
      phase: 'Running',
      containerStatuses: [
        make.containerStatus({ state: is.running(55), started: true }),
        make.containerStatus({ name: 'late' }),
      ],
    }
    const other = make.pod({ metadata: { name: 'b' }, spec: { containers }, status: half })
    expect(examine([podNamed('a', podIs.looping(3, 5)), other]).failure?.reason).toBe('crash-loop')
  })
})

describe('pods that are replaced', () => {
  it('do not count, whether they are being deleted or have failed', () => {
    const pods = [
      podNamed('a', podIs.ready(1)),
      podNamed('b', podIs.ready(1), leaving),
      podNamed('c', { phase: 'Failed', reason: 'Evicted' }),
    ]
    expect(examine(pods).pods.map((state) => state.pod.metadata.name)).toEqual(['a'])
  })
})

it('a lost pod without a reason has the reason of its disruption, such as a node that is gone', () => {
  const gone = condition('DisruptionTarget', 'True', {
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
    lastTransitionTime: iso(1),
  })
  const lost = podNamed('a', { phase: 'Failed', conditions: [gone] })
  expect(examinePods([], reader({ objects: [lost] }), [lost]).problems).toMatchObject([
    { reason: 'pod-failed', detail: { message: 'PodGC: node no longer exists' } },
  ])
})

describe('all pods have settled', () => {
  it.each([
    ['when each has and they are enough', [podIs.ready(1), podIs.ready(2)], 2, true],
    ['not when one has not', [podIs.ready(1), podIs.ready(55)], 2, false],
    ['not when one is missing', [podIs.ready(1)], 2, false],
    ['when none is wanted and none is there', [], 0, true],
  ])('%s', (_, statuses, replicas, done) => {
    const state = examine(statuses.map((status, index) => podNamed(`p${index}`, status)))
    expect(haveSettled({ state }, replicas, reader({ now: 60 }))).toBe(done)
  })

  it('although a counted pod is missing, when nothing has changed for the settle time', () => {
    const history = seenTarget([50, make.deployment({ status: complete(2) })])
    const state = examine([podNamed('a', podIs.ready(1))])
    const settled = (now: number) => found({ now, history }, (given) => ({ done: haveSettled({ state }, 2, given) }))
    expect(settled(59)).toEqual({ done: false, recheckAt: moment(60) })
    expect(settled(60)).toEqual({ done: true })
  })

  it('not after a pod was removed, before the controllers had time to report that', () => {
    const history = seenTarget([0, make.deployment({ status: complete(2) })])
    const state = examine([podNamed('a', podIs.ready(1))])
    const settled = (now: number, removedAt: number) =>
      found({ now, history }, (given) => ({
        done: haveSettled({ state }, 2, given, { removedAt: moment(removedAt) }),
      }))
    expect(settled(60, 59)).toEqual({ done: false, recheckAt: moment(89) })
    expect(settled(89, 59)).toEqual({ done: true })
    // The counts have changed since.
    expect(settled(60, -1)).toEqual({ done: true })
  })

  it('not while two of them settle: they are examined again when the first of the two has settled', () => {
    const state = examine([podNamed('a', podIs.ready(58)), podNamed('b', podIs.ready(55))])
    expect(haveSettled({ state }, 2, reader({ now: 60 }))).toBe(false)
    expect(state.recheckAt).toBe(moment(65))
  })
})

describe('problems', () => {
  it('of several pods are one, with the number of the pods', () => {
    const state = examine([podNamed('a', podIs.dead(1, 40)), podNamed('b', podIs.looping(2, 30))])
    expect(state.problems).toMatchObject([
      { reason: 'crash-loop', subject: toSubject('pod/b'), count: 2, pods: 2, firstSeenAt: moment(30) },
    ])
  })

  it('are separated by container and reason', () => {
    const state = examine([podNamed('a', podIs.dead(1, 40)), podNamed('b', podIs.dead(1, 40, { reason: 'OOMKilled' }))])
    expect(state.problems.map(({ reason }) => reason).toSorted()).toEqual(['crash-loop', 'out-of-memory'])
  })

  it('are reported although a better pod keeps them from failing the workload', () => {
    expect(examine([podNamed('a', neverPull), podNamed('b', podIs.ready(1))]).problems).toHaveLength(1)
  })

  const problem = (overrides: Partial<ProblemWith<ReasonCode>>) =>
    problemOf({
      reason: 'crash-loop',
      subject: toSubject('pod/a'),
      container: 'app',
      detail: {},
      count: 1,
      firstSeenAt: 0,
      proven: false,
      ...overrides,
    })
  const { container: _, ...ofPod } = problem({})

  it.each<[string, Problem, Problem]>([
    ['terminal before strike', problem({ reason: 'image-not-found' }), problem({ pods: 9 })],
    ['strike before slow', problem({}), problem({ reason: 'unschedulable' })],
    ['what is proven before what is not', problem({ proven: true }), problem({})],
    ['the container before its pod', problem({}), ofPod],
    ['the pod before its controller', ofPod, { ...ofPod, subject: toSubject('deployment/web') }],
    ['that of more pods', problem({ pods: 3 }), problem({ pods: 2 })],
    ['the earlier one', problem({ firstSeenAt: 1 }), problem({ firstSeenAt: 2 })],
  ])('are ordered: %s', (_, first, second) => {
    expect([second, first].sort(byImportance)).toEqual([first, second])
    expect([first, second].sort(byImportance)).toEqual([first, second])
  })
})

test('pods have a stall hold while one of them has one', () => {
  const probed = { containers: [make.container({ readinessProbe: {} })] }
  const slow = make.pod({
    metadata: { name: 'b' },
    spec: probed,
    status: podIs.unready({ state: is.running(50), started: true }),
  })
  expect(examine([podNamed('a', podIs.ready(1)), slow]).stallHold).toBeDefined()
  expect(examine([podNamed('a', podIs.ready(1))]).stallHold).toBeUndefined()
})

test('an unschedulable pod has passed no milestone', () => {
  const conditions = [condition('PodScheduled', 'False', { reason: 'Unschedulable' })]
  const [state] = examine([make.pod({ spec: { nodeName: '' }, status: { phase: 'Pending', conditions } })]).pods
  expect(state).toMatchObject({ scheduled: false, pulled: false, started: false, ready: false, settled: false })
})

const deleted = (name: string, endsAt: number, finalizers?: string[]) =>
  make.pod({ metadata: { name, deletionTimestamp: iso(endsAt), ...(finalizers && { finalizers }) } })

const stuckAt = (now: number, ...pods: readonly Pod[]) =>
  found({ now }, (given) => ({ problems: stuckPods(pods, given) }))

describe('a pod that is being deleted', () => {
  it('may exist for 10 s after its grace period, and is assessed again then', () => {
    expect(stuckAt(39.999, deleted('web-0', 30))).toEqual({ problems: [], recheckAt: moment(40) })
  })

  it('is stuck from then on: the problem names the node that has not stopped it, and proves nothing', () => {
    expect(stuckAt(40, deleted('web-0', 30))).toEqual({
      problems: [
        {
          reason: 'pod-stuck',
          class: 'slow',
          subject: toSubject('pod/web-0'),
          message: 'still exists after its grace period, and blocks the others: its node node-1 has not stopped it',
          detail: { finalizers: [], node: 'node-1' },
          count: 1,
          pods: 1,
          firstSeenAt: moment(30),
          proven: false,
        },
      ],
    })
  })

  it('may wait for finalizers', () => {
    const [problem] = stuckAt(60, deleted('web-0', 30, ['acme/backup'])).problems
    expect(problem?.message).toMatch(/: its finalizers hold it: acme\/backup$/)
  })

  it('is reported once for all stuck pods, with the pod that was due first', () => {
    const pods = [deleted('web-2', 35), deleted('web-1', 30), deleted('web-0', 90), make.pod()]
    expect(stuckAt(60, ...pods)).toMatchObject({
      problems: [{ subject: toSubject('pod/web-1'), pods: 2 }],
      recheckAt: moment(100),
    })
  })

  it('is not reported while no pod is being deleted', () => {
    expect(stuckAt(60, make.pod())).toEqual({ problems: [] })
  })
})
