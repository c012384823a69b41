import { stripVTControlCharacters } from 'node:util'
import { line, paintLine, paintLines, stableText } from '../../src/views/line.ts'

const plain = { color: false, redact: String }

describe('the text of a line', () => {
  test('joins pieces with a blank and aligns columns', () => {
    expect(paintLine(line(2, '✓', { text: 'web', width: 5 }, 'ready'), plain)).toBe('  ✓ web   ready')
  })

  test('keeps the indentation', () => {
    expect(paintLine(line(0, '+', '    image: a'), plain)).toBe('+     image: a')
  })

  test('escapes text from the cluster', () => {
    const hostile = '\x1b[2J\u202eevil\n::error::boo \x07'
    const painted = paintLine(line(0, { text: hostile, style: 'red' }), { ...plain, color: true })
    expect(stripVTControlCharacters(painted)).toBe('evil ::error::boo')
    expect(painted.startsWith('\x1b[31m')).toBe(true)
  })

  test('is cut at the width of the terminal, not counting colours', () => {
    const wide = line(2, { text: 'abc', style: 'green' }, { text: 'defghijk', style: 'red' })
    const painted = paintLine(wide, { ...plain, color: true, columns: 10 })
    expect(stripVTControlCharacters(painted)).toBe('  abc def…')
  })

  test('breaks a hint between words and cuts no command', () => {
    const hint = { ...line(2, '→', 'Read its log: `kubectl logs pod/web-x -c app --previous`.'), wraps: true }
    expect(paintLines(hint, { ...plain, columns: 30 })).toEqual([
      '  → Read its log: `kubectl',
      '    logs pod/web-x -c app',
      '    --previous`.',
    ])
    expect(paintLines(line(2, 'abc defghijk'), { ...plain, columns: 10 })).toEqual(['  abc def…'])
  })

  test('is redacted before it is cut', () => {
    const redact = (text: string) => text.replace('it,s secret', '***')
    expect(paintLine(line(0, 'login it,s secret'), { color: false, columns: 10, redact })).toBe('login ***')
  })

  test('has no colours without the option', () => {
    expect(paintLine(line(0, { text: 'abc', style: 'green' }), plain)).toBe('abc')
  })
})

describe('the stable text of lines', () => {
  const page = (words: string, age: string) => [line(0, words, { text: age, isVolatile: true })]

  test('differs when the text differs', () => {
    expect(stableText(page('ready', '1 s'))).not.toBe(stableText(page('failing', '1 s')))
  })

  test('does not contain volatile text', () => {
    expect(stableText(page('ready', '1 s'))).toBe(stableText(page('ready', '2 s')))
  })

  test('leaves out lines with only volatile text', () => {
    expect(stableText([...page('ready', '1 s'), line(2, { text: 'Pulled', isVolatile: true })])).toBe(
      stableText(page('ready', '1 s')),
    )
  })
})
