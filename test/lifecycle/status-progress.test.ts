import type { KubeObject } from '../../src/cluster/objects.ts'
import { genericRule } from '../../src/lifecycle/custom/generic.ts'
import { isTimedPause, progressStates } from '../../src/lifecycle/custom/status-progress.ts'
import { observeTarget } from '../../src/lifecycle/target-history.ts'
import { condition, context, moment, reported, seenTarget } from './builders.ts'

function rollout(status: object, spec: object = {}): KubeObject {
  const metadata = { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 1 }
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec, status }
}

/** When a state was last new, in seconds. */
function movedAt(...versions: readonly (readonly [seconds: number, object: KubeObject])[]): number {
  const observe = (
    before: ReturnType<typeof observeTarget> | undefined,
    [seconds, object]: (typeof versions)[number],
  ) => observeTarget(before, object, moment(seconds), [], progressStates(object))
  const history = versions.reduce<ReturnType<typeof observeTarget> | undefined>(observe, undefined)
  return ((history?.statesMovedAt ?? 0) - moment(0)) / 1_000
}

describe('a new state in a status is progress', () => {
  it.each<[string, object, object]>([
    ['a phase', { phase: 'Creating' }, { phase: 'Starting' }],
    [
      'the reason of a condition',
      { conditions: [condition('Ready', 'False', { reason: 'Creating' })] },
      { conditions: [condition('Ready', 'False', { reason: 'Starting' })] },
    ],
    ['the state of a part', { cluster: { state: 'Joining' } }, { cluster: { state: 'Syncing' } }],
  ])('%s', (_, before, after) => {
    expect(movedAt([0, rollout(before)], [7, rollout(after)])).toBe(7)
  })

  it.each<[string, object, object]>([
    ['a failure', { phase: 'Creating' }, { phase: 'Failed' }],
    ['a text', { message: 'attempt 1' }, { message: 'attempt 2' }],
    [
      'an error as the reason of a condition',
      { conditions: [condition('Ready', 'False')] },
      { conditions: [condition('Ready', 'False', { reason: 'SyncError' })] },
    ],
  ])('but not %s', (_, before, after) => {
    expect(movedAt([0, rollout(before)], [7, rollout(after)])).toBe(0)
  })

  it('but not when a state returns', () => {
    const [waiting, trying] = [rollout({ phase: 'Waiting' }), rollout({ phase: 'Trying' })]
    expect(movedAt([0, waiting], [5, trying], [10, waiting], [15, trying])).toBe(5)
  })

  it('when a state returns under a new spec', () => {
    const [waiting, trying] = [rollout({ phase: 'Waiting' }), rollout({ phase: 'Trying' })]
    const changed = (object: KubeObject) => ({ ...object, spec: { image: 'v2' } })
    expect(movedAt([0, waiting], [5, trying], [10, changed(trying)], [15, changed(waiting)])).toBe(15)
  })
})

describe('a rollout that is paused', () => {
  const paused = { phase: 'Paused' }
  const canary = (...pauses: object[]) => ({
    strategy: { canary: { steps: pauses.flatMap((pause) => [{ setWeight: 20 }, { pause }]) } },
  })

  it.each<[string, KubeObject, boolean]>([
    ['for a fixed time', rollout(paused, canary({ duration: 30 })), true],
    ['until a person resumes it', rollout(paused, canary({})), false],
    ['at a step with a duration', rollout({ ...paused, currentStepIndex: 1 }, canary({ duration: '1m' }, {})), true],
    [
      'at a step without a duration',
      rollout({ ...paused, currentStepIndex: 3 }, canary({ duration: '1m' }, {})),
      false,
    ],
    ['at an unknown step of which one has no duration', rollout(paused, canary({ duration: '1m' }, {})), false],
    ['without steps', rollout(paused), false],
  ])('%s', (_, object, isTimed) => {
    expect(isTimedPause(object)).toBe(isTimed)
    const assessment = reported(genericRule.assess(object, context({ now: 60, history: seenTarget([0, object]) })))
    expect(assessment.stallHold !== undefined).toBe(isTimed)
    expect(assessment.problems[0]?.reason).toBe(isTimed ? 'condition-false' : 'paused')
  })

  it('by its spec waits for a user, whatever its steps are', () => {
    const object = rollout({ phase: 'Paused' }, { ...canary({ duration: 30 }), paused: true })
    const assessment = reported(genericRule.assess(object, context({ now: 60, history: seenTarget([0, object]) })))
    expect(assessment).toMatchObject({ problems: [{ reason: 'paused' }] })
    expect(assessment.stallHold).toBeUndefined()
  })
})
