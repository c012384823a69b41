import { didYouMean, nearest } from '../src/errors.ts'

describe('nearest', () => {
  it('names near words, the nearest first', () => {
    expect(nearest('timeot', ['time', 'timeout', 'timeouts', 'summary'])).toEqual(['timeout', 'time', 'timeouts'])
  })

  it('names no more than it is asked for, and each once', () => {
    expect(nearest('web', ['wen', 'wen', 'wet', 'wed', 'we'], 2)).toEqual(['wen', 'wet'])
  })

  it.each([
    ['wiat', 'wait'],
    ['wbe', 'web'],
    ['jbo', 'job'],
  ])('takes two letters that changed places for one mistake: %s', (word, candidate) => {
    expect(nearest(word, [candidate])).toEqual([candidate])
  })

  it.each([
    ['pod', 'job'],
    ['tail', 'all'],
    ['logs', 'log-lines'],
    ['x', 'service'],
    ['x'.repeat(10_000), 'x'.repeat(10_000)],
  ])('finds %s and %s too far apart', (word, candidate) => {
    expect(nearest(word, [candidate])).toEqual([])
  })
})

describe('didYouMean', () => {
  it('is a question, or empty', () => {
    expect(didYouMean('redy', ['ready', 'started'])).toBe(' Did you mean ready?')
    expect(didYouMean('frobnicate', ['ready'])).toBe('')
  })
})
