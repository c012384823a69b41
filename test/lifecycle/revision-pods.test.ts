import type { Pod, PodStatus } from '../../src/cluster/objects.ts'
import { byImportance, examinePods } from '../../src/lifecycle/workloads/revision-pods.ts'
import { haveSettled } from '../../src/lifecycle/workloads/workload.ts'
import { type Problem, type ProblemWith, problemOf, type ReasonCode } from '../../src/reasons/reasons.ts'
import { complete, condition, iso, make, moment, podIs } from '../kit/objects.ts'
import { found, type ReaderOptions, reader, seenTarget } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function podNamed(name: string, status: PodStatus = {}, metadata: object = {}): Pod {
  return make.pod({ metadata: { name, ...metadata }, status })
}

function examine(pods: readonly Pod[], options: ReaderOptions = {}) {
  return found({ now: 60, ...options, objects: pods }, (given) => examinePods(pods, given))
}

describe('pods that are replaced', () => {
  it('do not count, whether they are being deleted or have failed', () => {
    const pods = [
      podNamed('a', podIs.ready(1)),
      podNamed('b', podIs.ready(1), { deletionTimestamp: iso(90) }),
      podNamed('c', { phase: 'Failed', reason: 'Evicted' }),
    ]
    expect(examine(pods).pods.map((state) => state.pod.metadata.name)).toEqual(['a'])
  })
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
})

describe('problems', () => {
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

test('an unschedulable pod has passed no milestone', () => {
  const conditions = [condition('PodScheduled', 'False', { reason: 'Unschedulable' })]
  const { pods, settled } = examine([make.pod({ spec: { nodeName: '' }, status: { phase: 'Pending', conditions } })])
  expect(pods).toMatchObject([{ scheduled: false, pulled: false, started: false, ready: false }])
  expect(settled).toEqual([])
})
