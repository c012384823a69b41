import { describeMistakes, didYouMean, nearestWords, throwMistakes, UserError } from '../src/errors.ts'
import { titled } from './kit/rows.ts'

it('nearest names near words, the nearest first', () => {
  expect(nearestWords('timeot', ['time', 'timeout', 'timeouts', 'summary'])).toEqual(['timeout', 'time', 'timeouts'])
})

it('nearest returns at most the requested number of words, each once', () => {
  expect(nearestWords('web', ['wen', 'wen', 'wet', 'wed', 'we'], 2)).toEqual(['wen', 'wet'])
})

it.each([
  ['wiat', 'wait'],
  ['wbe', 'web'],
  ['jbo', 'job'],
])('nearest takes two letters that changed places for one mistake: %s', (word, candidate) => {
  expect(nearestWords(word, [candidate])).toEqual([candidate])
})

it.each(
  titled([
    ['pod', 'job'],
    ['tail', 'all'],
    ['logs', 'log-lines'],
    ['x', 'service'],
    ['x'.repeat(10_000), 'x'.repeat(10_000)],
  ] as const),
)('nearest finds two words too far apart: %s', (_, [word, candidate]) => {
  expect(nearestWords(word, [candidate])).toEqual([])
})

const mistakes = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ input: 'resources', line: index + 1, message: 'Wrong.' }))

it.each([
  [50, 'resources, line 50: Wrong.'],
  [51, '1 more mistake.'],
  [10_000, '9950 more mistakes.'],
])('describeMistakes describes at most 50 of %i mistakes, and counts the others', (count, last) => {
  const texts = describeMistakes(mistakes(count))
  expect(texts).toHaveLength(Math.min(count, 51))
  expect(texts.at(-1)).toBe(last)
  expect(new UserError(mistakes(count)).message).toBe(texts.join('\n'))
})

it('throwMistakes reports a mistake once that a line has for each of its names', () => {
  expect(() => throwMistakes([...mistakes(2), ...mistakes(2)])).toThrow(new UserError(mistakes(2)))
})

it('didYouMean is a question, or empty', () => {
  expect(didYouMean('redy', ['ready', 'started'])).toBe(' Did you mean ready?')
  expect(didYouMean('frobnicate', ['ready'])).toBe('')
})
