import { createMoment, isProven, mayBeSinceStart } from '../../src/lifecycle/proof.ts'
import { moment, start } from '../kit/objects.ts'

const third = { seen: 3, needed: 3, since: moment(5), atLeastMs: 30_000, isCurrent: true }

describe('a problem', () => {
  it.each([
    ['is proven by enough observations after enough time', third, 35, true, undefined],
    ['is assessed again later if only time is missing', third, 34, false, moment(35)],
    ['is not proven by too few observations, however old they are', { ...third, seen: 2 }, 900, false, undefined],
    ['is proven at once if it needs no time', { ...third, atLeastMs: 0 }, 5, true, undefined],
    [
      'is not proven if all observations are older than the gate',
      { ...third, isCurrent: false },
      900,
      false,
      undefined,
    ],
  ])('%s', (_, observations, now, proven, provenAt) => {
    const present = createMoment(moment(now))
    expect(isProven(observations, present)).toBe(proven)
    expect(present.nextMoment()).toBe(provenAt)
  })
})

describe('the present moment', () => {
  it('remembers the earliest future moment that was asked for', () => {
    const present = createMoment(moment(10))
    expect([10, 30, 20].map((each) => present.passed(moment(each)))).toEqual([true, false, false])
    expect(present.nextMoment()).toBe(moment(20))
  })

  it('has not passed an unknown or an infinite moment, and does not wait for either', () => {
    const present = createMoment(moment(10))
    expect([undefined, Infinity, -Infinity].map(present.passed)).toEqual([false, false, true])
    expect(present.nextMoment()).toBeUndefined()
  })
})

describe('an observation', () => {
  it.each([
    ['in the second of the gate’s start counts as after the start', -0.9, true],
    ['in the second before the gate’s start counts as before the start', -1, false],
    ['at an unknown moment counts as before the start', undefined, false],
  ])('%s', (_, at, expected) => {
    expect(mayBeSinceStart(at === undefined ? undefined : moment(at), { startedAt: start })).toBe(expected)
  })
})
