import fc from 'fast-check'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { nextEnd } from '../../src/gate/deadlines.ts'
import {
  firstRequests,
  initialState,
  isTargetReady,
  isUndecided,
  restartStallClock,
  type StepContext,
  setStallHold,
  type TargetState,
} from '../../src/gate/target-state.ts'
import { step, type TargetEvent } from '../../src/gate/target-step.ts'
import type { Assessment, assessedStatus } from '../../src/lifecycle/assessment.ts'
import { createGateTime } from '../../src/lifecycle/proof.ts'
import type { Problem } from '../../src/reasons/reasons.ts'
import { createSettings, createTarget } from '../kit/gate.ts'
import { make, moment } from '../kit/objects.ts'
import { reader } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'
import { parameters } from '../support/thorough.ts'

function createContext(rule: Partial<StepContext['rule']> = {}, settings = createSettings()): StepContext {
  return {
    target: createTarget(),
    index: 0,
    name: 'deployment/web',
    rule: {
      milestones: ['created', 'observed', 'ready'],
      judge() {
        throw new Error('step judges nothing')
      },
      ...rule,
    },
    settings,
    gateTime: createGateTime(settings),
    store: new Store(() => false),
    readerOf: () => reader(),
    haveImagesArrived: () => undefined,
  }
}

const gated = createContext()
const hook = createTarget({ hook: { annotation: 'helm.sh/hook=post-upgrade', removal: 'x=hook-succeeded' } })
const deletionAwaited = { ...gated, target: createTarget({ waitFor: { type: 'delete' } }) }
const changeAwaited = createContext({}, createSettings({ awaitChangeMs: 60_000 }))

function createObject(uid: string, image = 'acme/web:v1', generation = 1, replicas = 1): KubeObject {
  const template = make.template({ containers: [make.container({ image })] })
  return make.deployment({ metadata: { uid, generation }, spec: { template, replicas } })
}

const problem: Problem = {
  reason: 'suspended',
  subject: toSubject('deployment/web'),
  detail: {},
  count: 1,
  firstSeenAt: moment(0),
  proven: true,
}

type Status = ReturnType<typeof assessedStatus>

function createAssessment(status: Status, overrides: Partial<Assessment> = {}): Assessment {
  const state = status === 'ready' ? 'done' : 'open'
  return {
    ready: status === 'ready',
    ...(status === 'failed' && { failure: problem }),
    message: `it is ${status}`,
    milestones: ['created', 'observed', 'ready'].map((name) => ({
      name,
      message: name,
      state: name === 'ready' ? state : 'done',
    })),
    problems: status === 'failed' ? [problem] : [],
    notes: [],
    ...overrides,
  }
}

function found(uid: string, isFirstSight = false): TargetEvent {
  return { type: 'found', object: createObject(uid), isFirstSight }
}

function assessed(status: Status, overrides: Partial<Assessment> = {}): TargetEvent {
  return {
    type: 'assessed',
    assessment: createAssessment(status, overrides),
    isUnavailable: false,
    awaitsOther: false,
  }
}

const deleted: TargetEvent = { type: 'deleted' }
const ended: TargetEvent = { type: 'end', verdict: { outcome: 'stalled', reason: 'no-progress', message: '' } }

/** `ready`, or the type of the state. */
function nameOf(state: TargetState): string {
  return isTargetReady(state) ? 'ready' : state.type
}

/** The names of the states that a target goes through, one event a second. */
function namesAfter(events: readonly TargetEvent[], target: StepContext = gated): readonly string[] {
  let state = initialState(target)
  const states = events.map((event, index) => {
    state = step(state, event, moment(index + 1), target).state
    return state
  })
  return [initialState(target), ...states].map(nameOf)
}

describe('a target', () => {
  it.each([
    [
      'is ready if its assessment is ready, and falls back if it is not',
      [found('a'), assessed('progressing'), assessed('ready'), assessed('progressing')],
      ['absent', 'present', 'present', 'ready', 'present'],
    ],
    [
      'ends if its assessment is a failure',
      [found('a'), assessed('failed'), assessed('ready')],
      ['absent', 'present', 'ended', 'ended'],
    ],
    [
      'is absent after its deletion, and keeps its assessment if the same object returns',
      [found('a'), assessed('ready'), deleted, found('a')],
      ['absent', 'present', 'ready', 'absent', 'present'],
    ],
    [
      'is assessed again if another object takes its name',
      [found('a'), assessed('ready'), found('b')],
      ['absent', 'present', 'ready', 'present'],
    ],
    [
      'stays ready if it is deleted after it completed',
      [found('a'), assessed('ready', { completed: true }), deleted, found('b')],
      ['absent', 'present', 'ready', 'ready', 'present'],
    ],
    [
      'is no longer ready if a list that it needs is not complete',
      [found('a'), assessed('ready'), { type: 'list-pending' }],
      ['absent', 'present', 'ready', 'present'],
    ],
    [
      'is absent again if its last state decides nothing',
      [found('a'), assessed('progressing'), lastStateJudged()],
      ['absent', 'present', 'present', 'absent'],
    ],
    ['is not ready because it is absent', [{ type: 'absence-known' }], ['absent', 'absent']],
  ] as const)('%s', (_, events, types) => {
    expect(namesAfter(events as readonly TargetEvent[])).toEqual(types)
  })

  it('with --for=delete is ready when it is absent, even if another object takes its name', () => {
    const absence: TargetEvent = { type: 'absence-accepted', text: 'does not exist' }
    expect(namesAfter([found('a'), assessed('progressing'), deleted, absence], deletionAwaited)).toEqual([
      'absent',
      'present',
      'present',
      'absent',
      'ready',
    ])
    expect(namesAfter([found('a'), found('b'), absence, found('b')], deletionAwaited)).toEqual([
      'absent',
      'present',
      'absent',
      'ready',
      'ready',
    ])
  })

  it('is not assessed before its awaited change', () => {
    expect(namesAfter([found('a', true), assessed('ready'), found('b'), assessed('ready')], changeAwaited)).toEqual([
      'awaiting-change',
      'awaiting-change',
      'awaiting-change',
      'present',
      'ready',
    ])
  })
})

function lastStateJudged(): TargetEvent {
  return { type: 'last-state-judged', deletedAt: moment(1) }
}

describe('the stall clock', () => {
  it('restarts after progress', () => {
    expect(restartStallClock({ since: 100 }, 120)).toEqual({ since: 120 })
  })

  it('stops while it is held, and continues with the remaining time', () => {
    const held = setStallHold(setStallHold({ since: 100 }, true, 110), true, 115)
    expect(held).toEqual({ since: 100, heldSince: 110 })
    expect(setStallHold(setStallHold(held, false, 130), false, 140)).toEqual({ since: 120 })
  })

  it('restarts when it is released if there was progress during the hold', () => {
    const moved = restartStallClock(setStallHold({ since: 100 }, true, 110), 120)
    expect(setStallHold(moved, false, 130)).toEqual({ since: 130 })
  })
})

const objects = fc
  .record({
    uid: fc.constantFrom('a', 'b'),
    image: fc.constantFrom('acme/web:v1', 'acme/web:v2'),
    generation: fc.nat({ max: 3 }),
    replicas: fc.nat({ max: 2 }),
  })
  .map(({ uid, image, generation, replicas }) => createObject(uid, image, generation, replicas))

const anyAssessment = fc
  .record({
    status: fc.constantFrom('ready', 'progressing', 'failed'),
    completed: fc.boolean(),
    done: fc.nat({ max: 3 }),
  })
  .map(({ status, completed, done }) => {
    const assessment = createAssessment(status)
    const [first, ...others] = assessment.milestones
    const counted = first === undefined ? [] : [{ ...first, count: { done, total: 3 } }]
    return { ...assessment, completed: completed && status === 'ready', milestones: [...counted, ...others] }
  })

const assessments = fc.record({
  type: fc.constant('assessed' as const),
  assessment: anyAssessment,
  isUnavailable: fc.boolean(),
  awaitsOther: fc.boolean(),
})

const events: fc.Arbitrary<TargetEvent> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('found' as const),
      object: objects,
      isFirstSight: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: assessments },
  { weight: 1, arbitrary: fc.constant(deleted) },
  { weight: 1, arbitrary: fc.constant(lastStateJudged()) },
  { weight: 1, arbitrary: fc.constant<TargetEvent>({ type: 'absence-known' }) },
  { weight: 1, arbitrary: fc.constant<TargetEvent>({ type: 'absence-accepted', text: 'does not exist' }) },
  { weight: 1, arbitrary: fc.constant<TargetEvent>({ type: 'list-pending' }) },
  { weight: 1, arbitrary: fc.constant<TargetEvent>({ type: 'revisions-listed', revisions: [] }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('stall-held' as const), isHeld: fc.boolean() }) },
)

const runs = fc.record({
  target: fc.constantFrom(gated, deletionAwaited, changeAwaited),
  steps: fc.array(fc.record({ after: fc.nat({ max: 40 }), event: events }), {
    minLength: 5,
    maxLength: 30,
    size: 'max',
  }),
  /** When a deadline ends the target. */
  endsAfter: fc.nat({ max: 40 }),
})

/** Runs the steps; `check` sees each event with the states around it. */
function forEachStep(
  check: (
    before: TargetState,
    event: TargetEvent,
    after: ReturnType<typeof step>,
    now: number,
    of: StepContext,
  ) => void,
): void {
  fc.assert(
    fc.property(runs, ({ target, steps, endsAfter }) => {
      let state = initialState(target)
      let second = 0
      for (const [index, { after, event }] of steps.entries()) {
        second += after
        const now = moment(second)
        const applied = index === endsAfter ? ended : event
        const result = step(state, applied, now, target)
        check(state, applied, result, now, target)
        state = result.state
      }
    }),
    parameters,
  )
}

describe('after any sequence of events', () => {
  it('an ended target does not change', () => {
    let ends = 0
    forEachStep((before, _, { state, entries }) => {
      if (before.type !== 'ended') return
      ends += 1
      expect(state).toBe(before)
      expect(entries).toEqual([])
    })
    expect(ends).toBeGreaterThan(parameters.numRuns)
  })

  it('a target is ready only by an assessment or by its awaited absence', () => {
    let readies = 0
    forEachStep((before, event, { state }) => {
      if (!isTargetReady(state) || isTargetReady(before)) return
      readies += 1
      if (event.type === 'assessed') expect(event.assessment.ready).toBe(true)
      else expect(event.type).toBe('absence-accepted')
    })
    expect(readies).toBeGreaterThan(parameters.numRuns / 5)
  })

  it('a verdict is logged only when a target becomes ready or ends', () => {
    forEachStep((before, _, { state, entries }) => {
      const hasTurned = nameOf(state) !== nameOf(before) && (isTargetReady(state) || state.type === 'ended')
      const verdicts = entries.filter(({ kind }) => kind === 'verdict').map(({ outcome }) => outcome)
      const outcome = state.type === 'ended' ? state.verdict.outcome : 'ready'
      expect(verdicts).toEqual(hasTurned ? [outcome] : [])
    })
  })

  it('a deadline ends an open target unless its stall clock is held', () => {
    forEachStep((_, __, { state }, _now, target) => {
      const open = { ...target, state, requests: firstRequests(target.target) }
      if (!isUndecided(state)) expect(nextEnd(open, false, undefined)).toBeUndefined()
      else if (state.stall.heldSince === undefined) expect(nextEnd(open, false, undefined)).toBeDefined()
      expect(nextEnd(open, true, undefined)).toBeUndefined()
    })
  })

  it('the clocks of a target never go back', () => {
    forEachStep((before, _, { state }, now) => {
      const reachedAt = state.milestones.reached.map(({ at }) => at)
      expect(reachedAt).toEqual(reachedAt.toSorted((a, b) => a - b))
      expect(reachedAt.every((at) => at <= now)).toBe(true)
      if (before.type === 'ended' || state.type === 'ended') return
      expect(state.stall.since).toBeGreaterThanOrEqual(before.stall.since)
      expect(state.stall.since).toBeLessThanOrEqual(now)
    })
  })

  it('a step changes neither its input state nor its event, and has the same result each time', () => {
    forEachStep((before, event, { state, entries }, now, target) => {
      const texts = JSON.stringify([before, event])
      expect(step(before, event, now, target)).toEqual({ state, entries })
      expect(JSON.stringify([before, event])).toBe(texts)
    })
  })
})

it('a removed hook that is created again is not ready and starts at its first milestone', () => {
  const context = { ...gated, target: hook }
  const removed = step(
    initialState(context),
    { type: 'absence-accepted', text: 'does not exist' },
    moment(5),
    context,
  ).state
  const found = step(removed, { type: 'found', object: createObject('a'), isFirstSight: false }, moment(6), context)
  expect({ before: nameOf(removed), after: nameOf(found.state), reached: found.state.milestones.reached }).toEqual({
    before: 'ready',
    after: 'present',
    reached: [],
  })
  expect(found.entries.map(({ text }) => text)).toEqual(['exists again: no longer ready'])
})
