import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { parseReferences } from '../../src/plan/parse-references.ts'
import type { Reference, WaitFor } from '../../src/plan/target.ts'
import { rows, titled } from '../kit/rows.ts'
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

function messagesOf(text: string): string[] {
  return parseReferences(text).mistakes.map(({ message }) => message)
}

it.each(rows<[string, string, undefined | string]>(data, 'the line "" is read as kubectl wait reads its arguments'))(
  'the line "%s" is read as kubectl wait reads its arguments',
  (text, ...expected) => {
    // A line of excludes alone would be a mistake of its own.
    expect(read(`${text}\npod/other`)).toEqual([...expected, 'pod/other'])
  },
)

it.each(rows<[string, WaitFor]>(data, 'the flag --for= is read as kubectl wait reads it'))(
  'the flag --for=%s is read as kubectl wait reads it',
  (text, waitFor) => {
    for (const flag of [`--for=${text}`, `--for ${text}`])
      expect(parseReferences(`certificate/tls ${flag}`)).toMatchObject({ references: [{ waitFor }], mistakes: [] })
  },
)

it('the number of a line is that in an editor, whatever ends the lines', () => {
  const text = '\n# the shop\r\ndeployment/web\r\rservice/web svc/api\n'
  expect(parseReferences(text).references.map(({ line, name }) => [line, name])).toEqual([
    [3, 'web'],
    [5, 'web'],
    [5, 'api'],
  ])
})

it.each(rows<string>(data, 'the printed line "" names a resource to gate'))(
  'the printed line "%s" names a resource to gate',
  (text) => {
    expect(read(text)).toEqual(['deployment.apps/web'])
  },
)

it.each(rows<[string, string]>(data, 'the printed line "" is skipped as'))(
  'the printed line "%s" is skipped as %s',
  (text, why) => {
    expect(parseReferences(text)).toEqual({
      input: 'resources',
      references: [],
      skipped: [{ line: 1, text, why }],
      mistakes: [],
    })
  },
)

it('a second name after TYPE/NAME is a mistake, not a participle of kubectl', () => {
  expect(messagesOf('deployment/web api')).toEqual([
    '"api" is not TYPE/NAME, as other words of the line are. Write deployment/web service/web, or deployment web api.',
  ])
  expect(read('deployment "web" "feed"')).toHaveLength(2)
})

it('a word that kubectl does not print is no part of its verb, although a participle follows', () => {
  expect(messagesOf('deployment.apps/web Web configured')).toEqual([expect.stringContaining('"Web"')])
})

it('a "!" before a printed line excludes its resource', () => {
  expect(read('service/web created\n!deployment.apps/web configured')).toEqual(['service/web', '!deployment.apps/web'])
})

it.each(titled(rows<string>(data, "a name with line breaks in kubectl's output adds no exclude")))(
  "a name with line breaks in kubectl's output adds no exclude: %s",
  (_, printed) => {
    expect(messagesOf(`deployment.apps/web configured\n${printed}`)).toContainEqual(
      expect.stringMatching(
        /^This exclude stands between lines that kubectl printed, so a name with a line break may contain it\./,
      ),
    )
  },
)

it.each(
  titled([
    'deployment.apps/web configured\nsecret/x created\n\n# as it has no status\n!secret --all\n!configmap/seed',
    '!secret --all\ndeployment.apps/web configured\nsecret/x created',
    '# for later\n\n!secret --all\n# printed\ndeployment.apps/web configured',
    'deployment/web\n!secret --all\nservice/feed',
    'deployment/web\n!secret/created\nservice/configured',
  ]),
)("excludes above and below kubectl's output, and between other lines: %s", (_, text) => {
  expect(messagesOf(text)).toEqual([])
  expect(read(text).filter((each) => each.startsWith('!')).length).toBeGreaterThan(0)
})

const mistakesOf = (text: string) => parseReferences(text).mistakes.map(({ line, message }) => `${line}: ${message}`)

it.each(
  rows<[string, readonly string[], number]>(
    data,
    'the report of Helm about is a mistake that names what to pass instead',
  ),
)('the report of Helm about %s is a mistake that names what to pass instead', (_, lines, line) => {
  expect(mistakesOf(lines.join('\n'))).toEqual([
    `${line}: This is output of Helm, which contains no resources. Name the release instead: helm/web -n shop.`,
  ])
})

it('the mistake about a report of Helm quotes no invalid name of a release or namespace', () => {
  expect(mistakesOf('NAME: $(x)\nLAST DEPLOYED: now\nNAMESPACE: a b')[0]).toContain('helm/RELEASE.')
})

it('a manifest in resources is a mistake that names the input manifests', () => {
  expect(mistakesOf('---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n')).toEqual([
    '2: This is a manifest, not a reference. Write it to a file, and name the file in manifests.',
  ])
  expect(mistakesOf('{\n "apiVersion": "v1"\n}')).toHaveLength(1)
})

it('a table of kubectl get is a mistake that names -o name', () => {
  expect(mistakesOf('NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    1/1     1            1           5m')).toEqual(
    ['1: This is a table of kubectl get. Print names instead: kubectl get … -o name.'],
  )
})

it.each(titled(rows<string>(data, 'the line "" is a mistake: the apply failed')))(
  'a line that kubectl printed about a failed apply is a mistake: %s',
  (_, text) => {
    const shown = stripVTControlCharacters(text).replace(/[.: ]+$/, '')
    expect(mistakesOf(`service/web created\n${text}`)).toEqual([
      `2: The apply failed: ${shown}${shown.endsWith('?') ? '' : '.'} Correct that first. With set -o pipefail the step of the apply fails by itself.`,
    ])
  },
)

const conflict = [
  'Apply failed with 2 conflicts: conflicts with "entry" using apps/v1:',
  '- .spec.replicas',
  '- .spec.template.spec.containers[name="app"].image',
  'Please review the fields above--they currently have other managers. Here',
  'are the ways you can resolve this warning:',
  '* If you intend to manage all of these fields, please re-run the apply',
  '  command with the `--force-conflicts` flag.',
  "  value; in this case, you'll become the manager if the other manager(s)",
  'See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts',
]

it('a conflict of a server-side apply is one mistake with its fields, and the lines around it are read', () => {
  const text = ['deployment.apps/web serverside-applied', ...conflict, 'service/web serverside-applied'].join('\n')
  const { mistakes, references } = parseReferences(text)
  expect(mistakes).toEqual([
    expect.objectContaining({
      line: 2,
      message: expect.stringContaining('using apps/v1: .spec.replicas, .spec.template'),
    }),
  ])
  expect(references.map(({ name }) => name)).toEqual(['web', 'web'])
})

it('an error that contains no line of its own form is reported with the lines that belong to it', () => {
  const text = [
    'resource mapping not found for name: "x" namespace: "" from "a.yaml": no matches for kind "Widget" in version "v1"',
    'ensure CRDs are installed first',
  ].join('\n')
  expect(mistakesOf(text)).toEqual([expect.stringMatching(/^1: The apply failed: resource mapping not found/)])
})

it.each([
  ['Waiting for deployment "web" rollout to finish: 1 of 3 updated replicas are available...'],
  ['Waiting for 1 pods to be ready...'],
  ['Flag --short has been deprecated, and will be removed in the future.'],
  ['Switched to context "prod".'],
  ['Context "prod" modified.'],
  ['User "ci" set.'],
])('the line "%s" of kubectl is information, and is skipped', (text) => {
  const { mistakes, skipped, references } = parseReferences(`${text}\ndeployment.apps/web configured`)
  expect({ mistakes, skipped, names: references.map(({ name }) => name) }).toEqual({
    mistakes: [],
    skipped: [{ line: 1, text, why: 'information' }],
    names: ['web'],
  })
})

it('colours are no part of a line', () => {
  expect(
    read('\x1b[32mdeployment.apps/web\x1b[0m \x1b[33mconfigured\x1b[0m\n\x1b[1mservice/web\x1b[m unchanged'),
  ).toEqual(['deployment.apps/web', 'service/web'])
})

it('the output of kubectl diff is a mistake that names what to pass instead', () => {
  const text = [
    'diff -u -N /tmp/LIVE-3210/apps.v1.Deployment.shop.web /tmp/MERGED-7654/apps.v1.Deployment.shop.web',
    '--- /tmp/LIVE-3210/apps.v1.Deployment.shop.web\t2025-11-20 10:00:00',
    '+++ /tmp/MERGED-7654/apps.v1.Deployment.shop.web\t2025-11-20 10:00:00',
    '@@ -1,3 +1,3 @@',
    '-        image: web:1',
  ].join('\n')
  expect(mistakesOf(text)).toEqual([
    '1: This is output of kubectl diff, which applies nothing. Pass the output of kubectl apply.',
  ])
})

it('an error of kubectl with several lines is one mistake, and the lines after it are read', () => {
  const text = [
    'service/web created',
    'The Deployment "web" is invalid: ',
    '* spec.template.metadata.labels: Invalid value: map[string]string{"app":"x"}: `selector` does not match',
    '* spec.selector: Required value',
    'Error from server: error when applying patch:',
    '{"metadata":{"annotations":{}}}',
    'to:',
    'Resource: "apps/v1, Resource=deployments", GroupVersionKind: "apps/v1, Kind=Deployment"',
    'configmap/x unchanged',
  ].join('\n')
  expect(parseReferences(text).mistakes.map(({ line }) => line)).toEqual([2, 5])
})

it.each(rows<[string, string]>(data, 'the line is a mistake that contains its correction'))(
  'the line %s is a mistake that contains its correction',
  (text, message) => {
    const { references, mistakes } = parseReferences(`\n${text}`, 'resources')
    expect(references).toEqual([])
    expect(mistakes).toEqual([{ input: 'resources', line: 2, message }])
  },
)

it.each(['', ' \n\n', '# nothing\n'])('the input %j is a mistake: no resource is named', (text) => {
  expect(messagesOf(text)).toEqual([
    'No resource is named. Write one reference per line, like deployment/web, or pass the output of kubectl apply.',
  ])
})

it('an empty name is a mistake', () => {
  expect(messagesOf('deployment "" web')).toEqual([
    '"deployment" has an empty name: is a variable not set? Write deployment/NAME.',
  ])
})

it('an input of excludes alone is a mistake', () => {
  expect(messagesOf('!deployment/web')).toEqual([
    'Every line is an exclude ("!"). Name a resource to gate, like deployment/web.',
  ])
})

it('the mistakes of all lines are collected while valid lines are read', () => {
  const { references, mistakes } = parseReferences('deployment\nservice/web\npods --for=x --timeout=y\n')
  expect(references.map(({ name }) => name)).toEqual(['web'])
  expect(mistakes.map(({ line }) => line)).toEqual([1, 3, 3])
})

const piece = fc.oneof(
  fc.string(),
  fc.constantFrom(
    ...['deployment/web', ' ', '"', "'", '\\', '#', '!', '--for=', 'jsonpath=', '{', '=', '==', '-l', '-n', '--', '/'],
    ...['--timeout', '(', ')', ',', ' in ', '\n', '\r', '\0', 'configured', '(dry run)', '--__proto__=x', 'deleted'],
  ),
)

it('any text is read without an error as references, skipped lines or mistakes', () => {
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
])('a long input of %s is read within 2 s of CPU time', (_, text) => {
  expect(cpuMs(() => parseReferences(text))).toBeLessThan(2_000)
})
