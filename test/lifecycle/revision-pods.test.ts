import type { Pod, PodStatus } from '../../src/cluster/objects.ts'
import { compareByImportance, examinePods } from '../../src/lifecycle/workloads/revision-pods.ts'
import { haveSettled } from '../../src/lifecycle/workloads/workload.ts'
import { buildProblem, type Problem, type ProblemWith, type ReasonCode } from '../../src/reasons/reasons.ts'
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
  it('do not count if they are being deleted or have failed', () => {
    const pods = [
      podNamed('a', podIs.ready(1)),
      podNamed('b', podIs.ready(1), { deletionTimestamp: iso(90) }),
      podNamed('c', { phase: 'Failed', reason: 'Evicted' }),
    ]
    expect(examine(pods).pods.map((state) => state.pod.metadata.name)).toEqual(['a'])
  })
})

describe('the pods of a workload', () => {
  it.each([
    ['have settled if each has settled and none is missing', [podIs.ready(1), podIs.ready(2)], 2, true],
    ['have not settled if one has just become ready', [podIs.ready(1), podIs.ready(55)], 2, false],
    ['have not settled if one is missing', [podIs.ready(1)], 2, false],
    ['have settled if none is wanted and none exists', [], 0, true],
  ])('%s', (_, statuses, replicas, done) => {
    const state = examine(statuses.map((status, index) => podNamed(`p${index}`, status)))
    expect(haveSettled({ state }, replicas, reader({ now: 60 }))).toBe(done)
  })

  it('have settled although a counted pod is missing if nothing changed for the settle time', () => {
    const history = seenTarget([50, make.deployment({ status: complete(2) })])
    const state = examine([podNamed('a', podIs.ready(1))])
    const settled = (now: number) => found({ now, history }, (given) => ({ done: haveSettled({ state }, 2, given) }))
    expect(settled(59)).toEqual({ done: false, recheckAt: moment(60) })
    expect(settled(60)).toEqual({ done: true })
  })

  it('have not settled before the controllers have had time to report a removed pod', () => {
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

describe('the order of problems', () => {
  const problem = (overrides: Partial<ProblemWith<ReasonCode>>) =>
    buildProblem({
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
    ['puts a terminal problem before a strike', problem({ reason: 'image-not-found' }), problem({ pods: 9 })],
    ['puts a strike before a slow problem', problem({}), problem({ reason: 'unschedulable' })],
    ['puts a proven problem before an unproven one', problem({ proven: true }), problem({})],
    ['puts the problem of a container before that of its pod', problem({}), ofPod],
    [
      'puts the problem of a pod before that of its controller',
      ofPod,
      { ...ofPod, subject: toSubject('deployment/web') },
    ],
    ['puts the problem of more pods first', problem({ pods: 3 }), problem({ pods: 2 })],
    ['puts the earlier problem first', problem({ firstSeenAt: 1 }), problem({ firstSeenAt: 2 })],
  ])('%s', (_, first, second) => {
    expect([second, first].sort(compareByImportance)).toEqual([first, second])
    expect([first, second].sort(compareByImportance)).toEqual([first, second])
  })
})

test('an unschedulable pod has reached no milestone', () => {
  const conditions = [condition('PodScheduled', 'False', { reason: 'Unschedulable' })]
  const { pods, settled } = examine([make.pod({ spec: { nodeName: '' }, status: { phase: 'Pending', conditions } })])
  expect(pods).toMatchObject([{ scheduled: false, pulled: false, started: false, ready: false }])
  expect(settled).toEqual([])
})
