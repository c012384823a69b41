import fc from 'fast-check'
import {
  codeBlock,
  escapeHtml,
  escapeMarkdown,
  escapeProse,
  inlineCode,
  mermaidName,
  mermaidTask,
  printableJson,
  safeLine,
  safeLines,
  shortenName,
  shortenNames,
} from '../../src/report/escape.ts'
import { rows } from '../kit/rows.ts'
import { parameters } from '../support/thorough.ts'
import { hostileWords } from './cases.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** What the runner does with a line of output (actions/runner, ActionCommand.cs): does it read a command in it? */
function isCommand(line: string): boolean {
  const visible = line.replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return /^\s*::/.test(visible) || visible.includes('##[')
}

/** Any text, with many characters that have a meaning in some format. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...hostileWords, ':', '#', '[', '`', '|', '\\', '\x1b[', '\x1b]', '<', '\n'),
    ),
  )
  .map((parts) => parts.join(''))

it.each(hostileWords)('safeLine makes hostile text %# harmless', (words) => {
  const line = safeLine(words)
  expect(isCommand(line)).toBe(false)
  expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u)
})

it('safeLine is harmless, short and stable for any text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const line = safeLine(text, 100)
      expect(isCommand(line)).toBe(false)
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u)
      expect(line.length).toBeLessThanOrEqual(100)
      expect(line.isWellFormed()).toBe(true)
      expect(safeLine(line, 100)).toBe(line)
    }),
    parameters,
  )
})

const functions = {
  safeLine,
  safeLines,
  shortenName,
  shortenNames,
  escapeMarkdown,
  escapeProse,
  inlineCode,
  codeBlock,
  escapeHtml,
  mermaidName,
  mermaidTask,
}

it.each(rows<[string, keyof typeof functions, readonly never[], unknown]>(data, 'texts'))(
  '%s',
  (_, name, [text, ...rest], expected) => {
    expect((functions[name] as (...given: unknown[]) => unknown)(text, ...rest)).toEqual(expected)
  },
)

it('safeLine keeps the text after an escape sequence that never ends', () => {
  expect(safeLine('\x1b]0;title that goes on')).toContain('title that goes on')
})

it('safeLine cuts a line of a megabyte, and marks the cut', () => {
  expect(safeLine('x'.repeat(1_000_000))).toBe(`${'x'.repeat(999)}…`)
})

it('safeLines keeps the end of an endless text', () => {
  expect(safeLines(`${'x\n'.repeat(1_000_000)}last`).at(-1)).toBe('last')
})

it.each(['- a', '+ a', '= a', '# a', '1. a', '2) a', '> a', '* a', '---', '~~~'])(
  'markdown escapes the start of a block in %j',
  (text) => {
    expect(escapeMarkdown(text)).not.toMatch(/^(?:[-+=#>*~]|\d+[.)])/)
  },
)

it('markdown leaves no raw tag, pipe, backtick or line break of any text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const ours = escapeMarkdown(text).replaceAll('<span>$</span>', '')
      expect(ours).not.toMatch(/[<>|\n\r]|(?<!\\)(?:\\\\)*[`*_[\]~]/)
    }),
    parameters,
  )
})

it('mermaidName removes characters that end a name', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(mermaidName(text)).toMatch(/^[\p{L}\p{N} ./_()=+…×→✗-]{1,40}$/u)
    }),
    parameters,
  )
})

/** What a terminal obeys or does not show: control characters, text direction, invisible characters, half a pair. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
const isPrintable = (json: string) => !json.split('\n').some((line) => unsafe.test(line) || isCommand(line))

test('JSON has no character of Unicode that a terminal obeys or hides, and is equal when parsed', () => {
  for (let start = 0; start < 0x11_0000; start += 0x1000) {
    // The characters stand apart, so that no two of them are one, as a surrogate pair is.
    const characters = Array.from({ length: 0x1000 }, (_, code) => String.fromCodePoint(start + code)).join(' ')
    const json = printableJson(characters)
    expect(isPrintable(json)).toBe(true)
    expect(JSON.parse(json) === characters).toBe(true)
  }
})

test('JSON of any value is printable, and equal when parsed', () => {
  const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })
  const named = fc.dictionary(anyText, fc.oneof(anyText, value))
  fc.assert(
    fc.property(fc.oneof(named, value, anyText), fc.constantFrom(undefined, 2), (value, indent) => {
      const json = printableJson(value, indent)
      expect(isPrintable(json)).toBe(true)
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    parameters,
  )
})
