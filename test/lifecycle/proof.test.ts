import { isProven, mayBeSinceStart, momentAt } from '../../src/lifecycle/proof.ts'
import { moment, start } from '../kit/objects.ts'

const third = { seen: 3, needed: 3, since: moment(5), atLeastMs: 30_000, isCurrent: true }

describe('a problem', () => {
  it.each([
    ['is proven by enough observations after enough time', third, 35, true, undefined],
    ['is rechecked when only time is missing', third, 34, false, moment(35)],
    ['is not proven by fewer observations, however long they stand', { ...third, seen: 2 }, 900, false, undefined],
    ['is proven at once where it needs no time', { ...third, atLeastMs: 0 }, 5, true, undefined],
    [
      'is not proven by observations that are all older than the gate',
      { ...third, isCurrent: false },
      900,
      false,
      undefined,
    ],
  ])('%s', (_, observations, now, proven, provenAt) => {
    const present = momentAt(moment(now))
    expect(isProven(observations, present)).toBe(proven)
    expect(present.nextMoment()).toBe(provenAt)
  })
})

describe('the present moment', () => {
  it('notes the earliest moment to come of those that it is asked for', () => {
    const present = momentAt(moment(10))
    expect([10, 30, 20].map((each) => present.passed(moment(each)))).toEqual([true, false, false])
    expect(present.nextMoment()).toBe(moment(20))
  })

  it('has passed no unknown moment, and none at infinity, and waits for neither', () => {
    const present = momentAt(moment(10))
    expect([undefined, Infinity, -Infinity].map(present.passed)).toEqual([false, false, true])
    expect(present.nextMoment()).toBeUndefined()
  })
})

describe('an observation', () => {
  it.each([
    ['of the second of the gate’s start may be after it', -0.9, true],
    ['of the second before was not', -1, false],
    ['of an unknown moment is not taken for a new one', undefined, false],
  ])('%s', (_, at, expected) => {
    expect(mayBeSinceStart(at === undefined ? undefined : moment(at), { startedAt: start })).toBe(expected)
  })
})
