import { readCondition } from '../../src/lifecycle/custom/status-conditions.ts'
import { type Meaning, meaningOf, wordsOf } from '../../src/lifecycle/custom/words.ts'
import { condition } from '../kit/objects.ts'
import { readData, rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe('a name is split into words', () => {
  it.each(rows<[string, readonly string[]]>(data, 'a name is split into words'))('as %p', (name, tokens) => {
    expect(wordsOf(name)).toEqual(tokens)
  })
})

const { 'a word for a state': words, 'a type that begins with a negation': types } = readData(data) as {
  readonly 'a word for a state': Readonly<Record<Meaning | 'no known meaning', readonly string[]>>
  readonly 'a type that begins with a negation': Readonly<Record<'bad' | 'good', readonly string[]>>
}

describe('a word for a state', () => {
  it.each(Object.entries(words).flatMap(([meaning, all]) => all.map((word) => [word, meaning])))(
    '%p means %s',
    (word, meaning) => {
      expect(meaningOf(word) ?? 'no known meaning').toBe(meaning)
    },
  )

  it('with a remark has the meaning of the state, if that of the remark is no worse', () => {
    expect(meaningOf('Running (3/3)')).toBe('ready')
  })

  it('of a piece of work means that it has begun, not that it is done', () => {
    expect(meaningOf('Running', true)).toBe('progressing')
    expect(meaningOf('Succeeded', true)).toBe('ready')
  })
})

function read(written: string, isWork = false): string | undefined {
  const [, type = '', status = '', reason = '', message = ''] =
    /^(\S+?)=(\w+)(?: (\w+))?(?:: (.*))?$/.exec(written) ?? []
  const reading = readCondition(condition(type, status, { reason, message }), isWork)
  return reading === undefined ? undefined : `${reading.meaning} ${reading.scope}`
}

describe('a condition', () => {
  it.each(rows<[string, string]>(data, 'a condition means'))('%s means, with its scope, %s', (written, reading) => {
    expect(read(written)).toBe(reading)
  })

  it.each(rows<string>(data, 'a condition has no meaning'))('%s has no meaning', (written) => {
    expect(read(written)).toBeUndefined()
  })

  it('Running is no goal of a piece of work', () => {
    expect(read('Running=True', true)).toBe('progressing part')
    expect(read('Complete=True', true)).toBe('ready whole')
  })
})

describe('a type that begins with a negation', () => {
  const negations = ['No', 'Not', 'Non', 'Without', 'Never']
  const all = (words: readonly string[]) => negations.flatMap((negation) => words.map((word) => `${negation}${word}`))

  it.each(all(types.bad))('%s is no failure, and not ready while it is False', (type) => {
    expect(read(`${type}=True`)).toBe('ready part')
    expect(read(`${type}=False`)).toBe('progressing part')
  })

  it.each(all(types.good))('%s is never ready while it is True', (type) => {
    expect(read(`${type}=True`)).not.toMatch(/^ready/)
    expect(read(`${type}=False`)).toBeUndefined()
  })
})
