import fc from 'fast-check'
import { duration, formatDuration, parseDuration } from '../src/duration.ts'
import { rows, titled } from './kit/rows.ts'
import { parameters } from './support/thorough.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function complaintsOf(text: string): string[] {
  const complaints: string[] = []
  parseDuration(text, (message) => complaints.push(message))
  return complaints
}

const read = (text: string) => parseDuration(text, (message) => fail(message))

function fail(message: string): never {
  throw new Error(`unexpected complaint: ${message}`)
}

it.each(rows<[string, number]>(data, 'parseDuration reads as Go does'))(
  'parseDuration parses "%s" like Go',
  (text, milliseconds) => {
    expect(read(text)).toBe(milliseconds)
  },
)

it('parseDuration never rounds a duration to zero, which would turn the clock off', () => {
  expect(read('1ns')).toBe(1)
})

it.each(titled(rows<[string, string]>(data, 'parseDuration refuses'), ([text]) => text))(
  'parseDuration rejects "%s" with a fix',
  (_, [text, message]) => {
    expect(complaintsOf(text)).toEqual([message])
  },
)

it('parseDuration cuts a long text in its message', () => {
  const message = `"${'9'.repeat(80)}…" is too long. Write at most 168h, or 0 to turn the clock off.`
  expect(complaintsOf(`${'9'.repeat(400)}h`)).toEqual([message])
})

it.each(rows<string>(data, 'parseDuration refuses with the units there are'))(
  'parseDuration rejects "%s" with the list of units',
  (text) => {
    expect(complaintsOf(text)).toEqual([
      `"${text}" is not a duration. Use the units h, m, s and ms in lower case, without spaces: 90s, 5m or 1h30m.`,
    ])
  },
)

it('parseDuration either returns a number or complains once, whatever it is given', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+.0-9hmsun]*$/)), (text) => {
      const complaints: string[] = []
      const milliseconds = parseDuration(text, (message) => complaints.push(message))
      expect(complaints).toHaveLength(milliseconds === undefined ? 1 : 0)
      if (milliseconds !== undefined) expect(Number.isSafeInteger(milliseconds) && milliseconds >= 0).toBe(true)
    }),
    parameters,
  )
})

it.each(rows<[number, string]>(data, 'people read ms as'))('a duration of %d ms is shown as "%s"', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

it.each(rows<[number, string]>(data, 'formatDuration writes'))(
  'formatDuration formats %d ms as "%s"',
  (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text)
  },
)

it('formatDuration writes what parseDuration reads back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 604_800_000 }), (milliseconds) => {
      expect(read(formatDuration(milliseconds))).toBe(milliseconds)
    }),
    parameters,
  )
})
