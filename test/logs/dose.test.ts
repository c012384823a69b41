import { allowedLines, Dose, type Shown } from '../../src/logs/dose.ts'
import { ManualClock } from '../cluster-client/manual-clock.ts'

function start(allowance = { lines: allowedLines }) {
  const clock = new ManualClock(0)
  const shown: Shown[] = []
  const dose = new Dose(clock, allowance, (each) => shown.push(each))
  const say = (from: number, to: number, text = '') => {
    for (let line = from; line < to; line++) dose.take({ at: 0, text: `${line}${text}`, cutBytes: 0 })
  }
  /** What was shown since the last call; lines by their text, what is left out by its number. */
  const told = () =>
    shown
      .splice(0)
      .map((each) => (each.type === 'line' ? each.line.text : each.orMore ? `more than ${each.lines}` : each.lines))
  return { clock, dose, say, told }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => String(from + index))

test('the first 500 lines are shown as they come', () => {
  const { say, told } = start()
  say(0, 3)
  expect(told()).toEqual(['0', '1', '2'])
  say(3, 600)
  expect(told()).toEqual(numbers(3, 500))
})

test('behind them the newest 25 are shown every 10 seconds, with the number of the others', () => {
  const { clock, say, told } = start()
  say(0, 700)
  told()
  clock.advance(9_999)
  expect(told()).toEqual([])
  clock.advance(1)
  expect(told()).toEqual([175, ...numbers(675, 700)])
})

test('a slow log loses no line behind its first 500', () => {
  const { clock, say, told } = start()
  say(0, 510)
  clock.advance(10_000)
  expect(told()).toEqual(numbers(0, 510))
  say(510, 520)
  clock.advance(10_000)
  expect(told()).toEqual(numbers(510, 520))
})

test('the end is shown in any case, and at once', () => {
  const { clock, dose, say, told } = start()
  say(0, 10_000)
  told()
  dose.flush()
  expect(told()).toEqual([9_475, ...numbers(9_975, 10_000)])
  expect(clock.pending).toEqual([])
})

test('few long lines are as much as many short ones', () => {
  const { say, told } = start()
  say(0, 200, 'x'.repeat(4_000))
  expect(told()).toHaveLength(32)
})

test('when all containers together have said enough, only ends are shown', () => {
  const { clock, dose, say, told } = start({ lines: 10 })
  say(0, 100)
  expect(told()).toEqual(numbers(0, 10))
  clock.advance(60_000)
  expect(told()).toEqual([])
  dose.flush()
  expect(told()).toEqual([65, ...numbers(75, 100)])
})

test('lines that were never read are told to be missing, with those that were not shown', () => {
  const { dose, say, told } = start()
  say(0, 2)
  dose.skip()
  say(7, 8)
  expect(told()).toEqual(['0', '1', 'more than 0', '7'])
  say(8, 600)
  told()
  dose.skip()
  say(900, 902)
  dose.flush()
  expect(told()).toEqual(['more than 95', '900', '901'])
})
