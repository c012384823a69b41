import { jest } from '@jest/globals'
import fc from 'fast-check'
import { createSystemClock, ServerOffset, systemClock } from '../../src/cluster/clock.ts'
import { parameters } from '../support/thorough.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

test('a change of the machine clock does not change the elapsed time', () => {
  const before = systemClock.now()
  const hourLater = Date.now() + 3_600_000
  jest.spyOn(Date, 'now').mockReturnValue(hourLater)
  expect(systemClock.now() - before).toBeLessThan(60_000)
})

test('the clock begins with the time of the machine', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000)
})

describe('while the process is suspended,', () => {
  function suspendable() {
    jest.useFakeTimers()
    let suspendedMs = 0
    const clock = createSystemClock(() => performance.now() + suspendedMs)
    const suspend = (ms: number) => {
      suspendedMs += ms
    }
    return { clock, suspend }
  }

  afterEach(() => {
    jest.useRealTimers()
  })

  test('no time passes', () => {
    const { clock, suspend } = suspendable()
    const before = clock.now()
    jest.advanceTimersByTime(500)
    suspend(180_000)
    expect(clock.now() - before).toBeLessThan(1_000)
    jest.advanceTimersByTime(5_000)
    expect(clock.now() - before).toBeGreaterThanOrEqual(5_000)
    expect(clock.now() - before).toBeLessThan(7_000)
  })

  test('no timer expires', () => {
    const { clock, suspend } = suspendable()
    let passed = 0
    clock.after(30_000, () => passed++)
    jest.advanceTimersByTime(10_000)
    suspend(180_000)
    // The operating system counts the time, so timers of Node are due at once.
    jest.advanceTimersByTime(20_000)
    expect(passed).toBe(1)
  })
})

const at = Date.UTC(2030, 0, 1)
const date = (ms: number) => new Date(ms).toUTCString()

test('the clock offset is 0 before the first response with a date', () => {
  const clock = new ServerOffset()
  clock.addDateHeader(undefined, at, at)
  clock.addDateHeader('yesterday', at, at)
  expect(clock.offsetMs).toBe(0)
})

test('one response sets the clock offset with a precision of half a second', () => {
  const clock = new ServerOffset()
  clock.addDateHeader(date(at + 120_000), at, at + 20)
  expect(Math.abs(clock.offsetMs - 120_000)).toBeLessThanOrEqual(500)
})

test('the true clock offset stays within the bounds, which many responses narrow', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -600_000, max: 600_000 }),
      fc.array(fc.nat(60_000), { minLength: 60, maxLength: 60 }),
      (offset, gaps) => {
        const clock = new ServerOffset()
        let now = at
        for (const gap of gaps) {
          now += gap
          clock.addDateHeader(date(now + 5 + offset), now, now + 10)
        }
        expect(Math.abs(clock.offsetMs - offset)).toBeLessThanOrEqual(510)
      },
    ),
    parameters,
  )
  const clock = new ServerOffset()
  for (let ms = 0; ms < 1000; ms += 50) clock.addDateHeader(date(at + ms + 5 + 250), at + ms, at + ms + 10)
  expect(Math.abs(clock.offsetMs - 250)).toBeLessThan(40)
})

test('a clock change between two responses sets a new clock offset', () => {
  const clock = new ServerOffset()
  clock.addDateHeader(date(at), at, at + 10)
  clock.addDateHeader(date(at + 3_600_000), at + 1000, at + 1010)
  expect(Math.abs(clock.offsetMs - 3_599_000)).toBeLessThanOrEqual(510)
})
