import type { KubeObject } from '../../src/cluster/objects.ts'
import { progressCounters, progressStates } from '../../src/lifecycle/custom/status.ts'
import { observeTarget } from '../../src/lifecycle/target-history.ts'
import { condition, moment } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function rollout(status: object, spec: object = {}): KubeObject {
  const metadata = { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 1 }
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec, status }
}

/** When a state was last new, in seconds. */
function movedAt(...versions: readonly (readonly [seconds: number, object: KubeObject])[]): number {
  const observe = (
    before: ReturnType<typeof observeTarget> | undefined,
    [seconds, object]: (typeof versions)[number],
  ) => observeTarget(before, object, moment(seconds), progressStates(object))
  const history = versions.reduce<ReturnType<typeof observeTarget> | undefined>(observe, undefined)
  return ((history?.statesMovedAt ?? 0) - moment(0)) / 1_000
}

describe('a change of a status', () => {
  it.each<[string, object, object]>([
    ['is progress if the phase is new', { phase: 'Creating' }, { phase: 'Starting' }],
    [
      'is progress if the reason of a condition is new',
      { conditions: [condition('Ready', 'False', { reason: 'Creating' })] },
      { conditions: [condition('Ready', 'False', { reason: 'Starting' })] },
    ],
    ['is progress if the state of a part is new', { cluster: { state: 'Joining' } }, { cluster: { state: 'Syncing' } }],
  ])('%s', (_, before, after) => {
    expect(movedAt([0, rollout(before)], [7, rollout(after)])).toBe(7)
  })

  it.each<[string, object, object]>([
    ['the new phase is a failure', { phase: 'Creating' }, { phase: 'Failed' }],
    ['only a text is new', { message: 'attempt 1' }, { message: 'attempt 2' }],
    [
      'the new reason of a condition is an error',
      { conditions: [condition('Ready', 'False')] },
      { conditions: [condition('Ready', 'False', { reason: 'SyncError' })] },
    ],
  ])('is no progress if %s', (_, before, after) => {
    expect(movedAt([0, rollout(before)], [7, rollout(after)])).toBe(0)
  })

  it('is no progress if an earlier state returns', () => {
    const [waiting, trying] = [rollout({ phase: 'Waiting' }), rollout({ phase: 'Trying' })]
    expect(movedAt([0, waiting], [5, trying], [10, waiting], [15, trying])).toBe(5)
  })

  it('is progress if an earlier state returns under a new spec', () => {
    const [waiting, trying] = [rollout({ phase: 'Waiting' }), rollout({ phase: 'Trying' })]
    const changed = (object: KubeObject) => ({ ...object, spec: { image: 'v2' } })
    expect(movedAt([0, waiting], [5, trying], [10, changed(trying)], [15, changed(waiting)])).toBe(15)
  })
})

describe('a growing number in a status', () => {
  it.each(rows<[string, unknown, Record<string, number>]>(data, 'a growing number of a status'))(
    '%s',
    (_, status, counters) => {
      expect(Object.fromEntries(progressCounters(rollout(status as object)))).toEqual(counters)
    },
  )

  it('is read only from a limited part of a large status', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`ready${index}`, { ready: 1 }]))
    expect(progressCounters(rollout(many)).size).toBe(100)
    let deep: object = { ready: 1 }
    for (let depth = 0; depth < 50; depth += 1) deep = { deep }
    expect(progressCounters(rollout(deep)).size).toBe(0)
  })
})
