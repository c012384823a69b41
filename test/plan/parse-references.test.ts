import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { parseReferences } from '../../src/plan/parse-references.ts'
import type { Reference, WaitFor } from '../../src/plan/target.ts'
import { rows, titled } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { cpuMs } from '../support/cpu.ts'
import { parameters } from '../support/thorough.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** Each reference as it could be written, with its other settings as JSON. */
function read(text: string): string[] {
  const { references, mistakes } = parseReferences(text)
  expect(mistakes).toEqual([])
  return references.map(({ exclude, kind, name, selector, namespace, clocks }: Reference) =>
    [
      `${exclude ? '!' : ''}${kind}${name === undefined ? '' : `/${name}`}`,
      selector === undefined ? '' : `-l ${selector}`,
      namespace === undefined ? '' : `-n ${namespace}`,
      Object.keys(clocks).length === 0 ? '' : JSON.stringify(clocks),
    ]
      .filter((word) => word !== '')
      .join(' '),
  )
}

/** The mistakes of an input, each with its line. */
function mistakesOf(text: string): string[] {
  return parseReferences(text).mistakes.map(({ line, message }) =>
    line === undefined ? message : `${line}: ${message}`,
  )
}

it.each(rows<[string, string, undefined | string]>(data, 'the line "" is read as kubectl wait reads its arguments'))(
  'the line "%s" is parsed like the arguments of kubectl wait',
  (text, ...expected) => {
    // A line of excludes alone would be a mistake of its own.
    expect(read(`${text}\npod/other`)).toEqual([...expected, 'pod/other'])
  },
)

it.each(rows<[string, WaitFor]>(data, 'the flag --for= is read as kubectl wait reads it'))(
  'the flag --for=%s is parsed like the flag of kubectl wait',
  (text, waitFor) => {
    for (const flag of [`--for=${text}`, `--for ${text}`])
      expect(parseReferences(`certificate/tls ${flag}`)).toMatchObject({ references: [{ waitFor }], mistakes: [] })
  },
)

it('lines are numbered as in an editor, with any kind of line break', () => {
  const text = '\n# the shop\r\ndeployment/web\r\rservice/web svc/api\n'
  expect(parseReferences(text).references.map(({ place, name }) => [place.line, name])).toEqual([
    [3, 'web'],
    [5, 'web'],
    [5, 'api'],
  ])
})

it.each(rows<string>(data, 'the printed line "" names a resource to gate'))(
  'the kubectl output "%s" names a target',
  (text) => {
    expect(read(text)).toEqual(['deployment.apps/web'])
  },
)

it.each(rows<[string, string]>(data, 'the printed line "" is skipped as'))(
  'the kubectl output "%s" is skipped as %s',
  (text, why) => {
    expect(parseReferences(text)).toEqual({
      references: [],
      skipped: [{ place: { input: 'resources', line: 1 }, text, why }],
      mistakes: [],
    })
  },
)

it.each(rows<[string, string, readonly string[]]>(data, 'an input is read'))(
  'an input is parsed %s',
  (_, text, expected) => {
    expect(read(text)).toEqual(expected)
  },
)

it.each(titled(rows<string>(data, "a name with line breaks in kubectl's output adds no exclude")))(
  'an exclude between lines of kubectl output is rejected: %s',
  (_, printed) => {
    expect(mistakesOf(`deployment.apps/web configured\n${printed}`)).toContainEqual(
      expect.stringMatching(
        /^\d: This exclude stands between lines that kubectl printed, so a name with a line break may contain it\./,
      ),
    )
  },
)

it.each(titled(rows<string>(data, "excludes above and below kubectl's output, and between other lines")))(
  'excludes around kubectl output are accepted: %s',
  (_, text) => {
    expect(mistakesOf(text)).toEqual([])
    expect(read(text).filter((each) => each.startsWith('!')).length).toBeGreaterThan(0)
  },
)

it.each(
  rows<[string, readonly string[], number]>(
    data,
    'the report of Helm about is a mistake that names what to pass instead',
  ),
)('the output of Helm about %s is rejected with a fix', (_, lines, line) => {
  expect(mistakesOf(lines.join('\n'))).toEqual([
    `${line}: This is output of Helm, which contains no resources. Name the release instead: helm/web -n shop.`,
  ])
})

it.each(rows<[string, string, readonly string[], readonly string[]]>(data, 'an input has mistakes'))(
  '%s',
  (_, text, mistakes, names) => {
    expect(mistakesOf(text)).toEqual(mistakes.map((words) => expect.stringMatching(toPattern(words))))
    expect(parseReferences(text).references.map(({ name }) => name)).toEqual(names)
  },
)

it.each(titled(rows<string>(data, 'the line "" is a mistake: the apply failed')))(
  'an error of kubectl apply is rejected: %s',
  (_, text) => {
    const shown = stripVTControlCharacters(text).replace(/[.: ]+$/, '')
    expect(mistakesOf(`service/web created\n${text}`)).toEqual([
      `2: The apply failed: ${shown}${shown.endsWith('?') ? '' : '.'} Correct that first. With set -o pipefail the step of the apply fails by itself.`,
    ])
  },
)

it.each(rows<[string, string]>(data, 'the line is a mistake that contains its correction'))(
  'the line "%s" is rejected with a fix',
  (text, message) => {
    const { references, mistakes } = parseReferences(`\n${text}`, 'resources')
    expect(references).toEqual([])
    expect(mistakes).toEqual([{ input: 'resources', line: 2, message }])
  },
)

const piece = fc.oneof(
  fc.string(),
  fc.constantFrom(
    ...['deployment/web', ' ', '"', "'", '\\', '#', '!', '--for=', 'jsonpath=', '{', '=', '==', '-l', '-n', '--', '/'],
    ...['--timeout', '(', ')', ',', ' in ', '\n', '\r', '\0', 'configured', '(dry run)', '--__proto__=x', 'deleted'],
  ),
)

it('any text is parsed to references, skipped lines or mistakes, without an exception', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const { references, skipped, mistakes } = parseReferences(pieces.join(''))
      expect(references.length + skipped.length + mistakes.length).toBeGreaterThan(0)
      for (const { kind, name, selector } of references) {
        expect(kind).not.toBe('')
        expect(name === '').toBe(false)
        expect((name === undefined) === (selector === undefined)).toBe(false)
      }
    }),
    parameters,
  )
})

it.each([
  ['blanks', ' '.repeat(130_000)],
  ['blanks before a comment', `deployment/web${' '.repeat(130_000)}#`],
  ['quotes', `pod/x --for=jsonpath={.a}=${'\'"'.repeat(60_000)}`],
  ['equals signs', `pod/x --for=jsonpath=${'='.repeat(130_000)}`],
  ['brackets', `pod/x --for=jsonpath={.${'['.repeat(130_000)}}`],
  ['a long selector', `pods -l '${'a-'.repeat(60_000)}'`],
  ['a selector of dashes', `pods -l '${'a-.'.repeat(600)}!'`],
  ['open parentheses', `pods -l '${'a in (,'.repeat(280)}'`],
  ['a long duration', `pod/x --timeout=${'1h'.repeat(60_000)}`],
  ['a long milestone', `pod/x --milestone-timeouts=${'x'.repeat(130_000)}=1s`],
  ['kinds times names', `${'a,'.repeat(32_000)}a${' b'.repeat(32_000)}`],
  ['many lines', 'a b c d e f g h\n'.repeat(8_000)],
  ['many flags', `pod/x ${'--x '.repeat(30_000)}`],
])('a long input of %s is parsed within 2 s of CPU time', (_, text) => {
  expect(cpuMs(() => parseReferences(text))).toBeLessThan(2_000)
})
