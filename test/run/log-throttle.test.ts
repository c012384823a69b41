import { LogThrottle } from '../../src/run/live-logs.ts'
import { liveLogLines } from '../../src/thresholds.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'

function start(allowance = { lines: liveLogLines }) {
  const clock = new ManualClock(0)
  const texts: string[] = []
  const throttle = new LogThrottle(clock, allowance, ({ text }) => texts.push(text))
  const write = (from: number, to: number, text = '') => {
    for (let line = from; line < to; line++) throttle.add(`${line}${text}`)
  }
  /** The output since the last call. */
  const shown = () => texts.splice(0)
  return { clock, throttle, write, shown }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => String(from + index))

test('the first 500 lines are shown as they come', () => {
  const { write, shown } = start()
  write(0, 3)
  expect(shown()).toEqual(['0', '1', '2'])
  write(3, 600)
  expect(shown()).toEqual(numbers(3, 500))
})

test('after the first 500 lines, the newest 25 are shown every 10 seconds, with the number of omitted lines', () => {
  const { clock, write, shown } = start()
  write(0, 700)
  shown()
  clock.advance(9_999)
  expect(shown()).toEqual([])
  clock.advance(1)
  expect(shown()).toEqual(['175 lines not shown', ...numbers(675, 700)])
})

test('a slow log loses no line after its first 500', () => {
  const { clock, write, shown } = start()
  write(0, 510)
  clock.advance(10_000)
  expect(shown()).toEqual(numbers(0, 510))
  write(510, 520)
  clock.advance(10_000)
  expect(shown()).toEqual(numbers(510, 520))
})

test('the last lines are shown at once on flush', () => {
  const { clock, throttle, write, shown } = start()
  write(0, 10_000)
  shown()
  throttle.flush()
  expect(shown()).toEqual(['9,475 lines not shown', ...numbers(9_975, 10_000)])
  expect(clock.pending).toEqual([])
})

test('long lines use up the limit sooner', () => {
  const { write, shown } = start()
  write(0, 200, 'x'.repeat(4_000))
  expect(shown()).toHaveLength(32)
})

test('when all containers together have used up their lines, only the last lines are shown', () => {
  const { clock, throttle, write, shown } = start({ lines: 10 })
  write(0, 100)
  expect(shown()).toEqual(numbers(0, 10))
  clock.advance(60_000)
  expect(shown()).toEqual([])
  throttle.flush()
  expect(shown()).toEqual(['65 lines not shown', ...numbers(75, 100)])
})
