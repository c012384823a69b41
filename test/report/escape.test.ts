import fc from 'fast-check'
import {
  code,
  fence,
  html,
  markdown,
  mermaidName,
  mermaidTask,
  plain,
  plainLines,
  printableJson,
  prose,
  shorten,
  shortenNames,
} from '../../src/report/escape.ts'
import { parameters } from '../support/thorough.ts'
import { hostileWords } from './cases.ts'

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

it.each(hostileWords)('plain leaves no command, control character or override of hostile words (%#)', (words) => {
  const line = plain(words)
  expect(isCommand(line)).toBe(false)
  expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u)
})

it('plain is harmless, short and stable for any text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const line = plain(text, 100)
      expect(isCommand(line)).toBe(false)
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u)
      expect(line.length).toBeLessThanOrEqual(100)
      expect(line.isWellFormed()).toBe(true)
      expect(plain(line, 100)).toBe(line)
    }),
    parameters,
  )
})

it('plain breaks commands that invisible characters hide', () => {
  expect(plain('#\u00ad#\ufe0f[error]x')).toBe('## [error]x')
  expect(plain(':\u200d:error::x')).toBe(': :error::x')
  expect(plain('\u00a0::error::x')).toBe('\u00a0: :error::x')
})

it('plain drops colours, links and titles of a terminal whole', () => {
  expect(plain('\x1b[1;31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x1b\\ \x9b2Jend')).toBe(
    'red link end',
  )
})

it('plain keeps the text after an escape sequence that never ends', () => {
  expect(plain('\x1b]0;title that goes on')).toContain('title that goes on')
})

it('plain keeps the indentation of a log line', () => {
  expect(plain('\tat main.go:3')).toBe('  at main.go:3')
})

it('plain cuts a line of a megabyte, and marks the cut', () => {
  expect(plain('x'.repeat(1_000_000))).toBe(`${'x'.repeat(999)}…`)
})

it('plain cuts no emoji in half', () => {
  expect(plain('ab😀cd', 4)).toBe('ab…')
})

it('plainLines divides at every kind of line break', () => {
  expect(plainLines('\na\r\nb\rc\u2028d\u2029e\u0085f\v\fg\n\n')).toEqual(['a', 'b', 'c', 'd', 'e', 'f', '', 'g'])
})

it('plainLines makes every line harmless', () => {
  expect(plainLines('a\n::error::b\n##[error]c')).toEqual(['a', ': :error::b', '## [error]c'])
})

it('plainLines keeps the end of an endless text', () => {
  expect(plainLines(`${'x\n'.repeat(1_000_000)}last`).at(-1)).toBe('last')
})

it('shorten keeps both ends of a long name', () => {
  expect(shorten('deployment/a-very-long-name-blue', 20)).toBe('deployment/a-…e-blue')
})

it('shortenNames keeps whole the names that would read alike', () => {
  const [blue, green] = ['deployment/a-long-name-blue-worker', 'deployment/a-long-name-pink-worker'] as const
  expect(shortenNames([blue, green, 'deployment/a-very-long-name-red', blue], 20)).toEqual([
    blue,
    green,
    'deployment/a-…me-red',
    blue,
  ])
})

it('markdown escapes every character that would format text', () => {
  expect(markdown('**b** _e_ `c` [l](u) <i> a|b ~s~ \\ & $x$')).toBe(
    '\\*\\*b\\*\\* \\_e\\_ \\`c\\` \\[l\\](u) &lt;i&gt; a&#124;b \\~s\\~ \\\\ &amp; <span>$</span>x<span>$</span>',
  )
})

it('markdown triggers no mention, issue, link, mail address or emoji', () => {
  expect(markdown('@octocat #12 GH-7 https://a.example www.a.example a@b.example :smile:')).toBe(
    '@&#8203;octocat #&#8203;12 GH-&#8203;7 https:&#8203;//a.example www&#8203;.a.example a@&#8203;b.example :&#8203;smile:',
  )
})

it.each(['- a', '+ a', '= a', '# a', '1. a', '2) a', '> a', '* a', '---', '~~~'])(
  'markdown starts no block with %j',
  (text) => {
    expect(markdown(text)).not.toMatch(/^(?:[-+=#>*~]|\d+[.)])/)
  },
)

it('markdown leaves no raw tag, pipe, backtick or line break of any text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const ours = markdown(text).replaceAll('<span>$</span>', '')
      expect(ours).not.toMatch(/[<>|\n\r]|(?<!\\)(?:\\\\)*[`*_[\]~]/)
    }),
    parameters,
  )
})

it('prose shows text between backticks as code', () => {
  expect(prose('Fix `image:` in *this*.')).toBe('Fix `image:` in \\*this\\*.')
})

it('prose escapes a single backtick', () => {
  expect(prose('a ` b')).toBe('a \\` b')
})

it('code is a code span', () => {
  expect(code('a*b')).toBe('`a*b`')
})

it('code becomes an element where a span or a table cell would break', () => {
  expect(code('a`b|c')).toBe('<code>a\\`b&#124;c</code>')
})

it('code is empty for empty text', () => {
  expect(code(' \u200b')).toBe('')
})

it('fence is longer than any run of backticks in it', () => {
  expect(fence(['a ````` b', '```'])).toBe('``````\na ````` b\n```\n``````')
})

it('html escapes every character that would format text', () => {
  expect(html('</summary><script>"\'&@you')).toBe('&lt;/summary&gt;&lt;script&gt;&quot;&#39;&amp;@&#8203;you')
})

it('mermaidName removes characters that end a name', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(mermaidName(text)).toMatch(/^[\p{L}\p{N} ./_()=+…×→✗-]{1,40}$/u)
    }),
    parameters,
  )
})

it.each(['section a', 'click a', 'title a', 'dateFormat x', 'GANTT', '2025-01-15 a', 'accTitle'])(
  'mermaidName keeps the task %j from being a command',
  (text) => {
    expect(mermaidTask(text)).toBe(`- ${text}`)
  },
)

it('mermaidName is never empty', () => {
  expect(mermaidName(';#:')).toBe('-')
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
