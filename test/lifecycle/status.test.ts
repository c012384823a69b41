import { readCondition } from '../../src/lifecycle/custom/status-conditions.ts'
import { type Meaning, meaningOf, wordsOf } from '../../src/lifecycle/custom/words.ts'
import { condition } from '../kit/objects.ts'
import { readData, rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

it.each(
  rows<[string, readonly string[]]>(data, 'a name is split into words').map(
    ([name, tokens]) => [name, tokens.length === 0 ? 'no words' : `the words ${tokens.join(' and ')}`, tokens] as const,
  ),
)('the name %p is split into %s', (name, _, tokens) => {
  expect(wordsOf(name)).toEqual(tokens)
})

const unknown = 'no known meaning'

const { 'a word for a state': words, 'a type that begins with a negation': types } = readData(data) as {
  readonly 'a word for a state': Readonly<Record<Meaning | 'no known meaning', readonly string[]>>
  readonly 'a type that begins with a negation': Readonly<Record<'bad' | 'good', readonly string[]>>
}

it.each(
  Object.entries(words).flatMap(([meaning, all]) =>
    all.map((word) => [word, meaning === unknown ? `has ${unknown}` : `means ${meaning}`, meaning] as const),
  ),
)('the state %p %s', (word, _, meaning) => {
  expect(meaningOf(word) ?? unknown).toBe(meaning)
})

it('a state with a remark means the same as the state if the remark is no worse', () => {
  expect(meaningOf('Running (3/3)')).toBe('ready')
})

it('the state Running of work that ends means progressing, not ready', () => {
  expect(meaningOf('Running', true)).toBe('progressing')
  expect(meaningOf('Succeeded', true)).toBe('ready')
})

function read(written: string, isWork = false): string | undefined {
  const [, type = '', status = '', reason = '', message = ''] =
    /^(\S+?)=(\w+)(?: (\w+))?(?:: (.*))?$/.exec(written) ?? []
  const reading = readCondition(condition(type, status, { reason, message }), isWork)
  return reading === undefined ? undefined : `${reading.meaning} ${reading.scope}`
}

/** `Ready=False NoDisk: full` in words. */
function conditionInWords(written: string): string {
  const [, type = '', reason, message] = /^(\S+?=\w+)(?: (\w+))?(?:: (.*))?$/.exec(written) ?? []
  return [type, reason && `with the reason ${reason}`, message && `and the message "${message}"`]
    .filter(Boolean)
    .join(' ')
}

const scopes: Readonly<Record<string, string>> = {
  summary: 'the object, as its summary',
  whole: 'the whole object',
  part: 'a part of the object',
  accepted: 'the acceptance of the spec',
}

describe('the condition', () => {
  it.each(
    rows<[string, string]>(data, 'a condition means').map(([written, reading]) => {
      const [meaning = '', scope = ''] = reading.split(' ')
      return [conditionInWords(written), `${scopes[scope]} is ${meaning}`, written, reading] as const
    }),
  )('%s reports that %s', (_, _words, written, reading) => {
    expect(read(written)).toBe(reading)
  })

  it.each(rows<string>(data, 'a condition has no meaning').map((written) => [conditionInWords(written), written]))(
    '%s has no meaning',
    (_, written) => {
      expect(read(written)).toBeUndefined()
    },
  )

  it('Running=True reports that a part of work that ends is progressing', () => {
    expect(read('Running=True', true)).toBe('progressing part')
    expect(read('Complete=True', true)).toBe('ready whole')
  })
})

describe('the condition type', () => {
  const negations = ['No', 'Not', 'Non', 'Without', 'Never']
  const all = (words: readonly string[]) => negations.flatMap((negation) => words.map((word) => `${negation}${word}`))

  it.each(all(types.bad))('%s means ready if it is True and progressing if it is False', (type) => {
    expect(read(`${type}=True`)).toBe('ready part')
    expect(read(`${type}=False`)).toBe('progressing part')
  })

  it.each(all(types.good))('%s does not mean ready if it is True', (type) => {
    expect(read(`${type}=True`)).not.toMatch(/^ready/)
    expect(read(`${type}=False`)).toBeUndefined()
  })
})
