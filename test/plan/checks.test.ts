import { expect, it } from '@jest/globals'
import { readInputs } from '../../src/inputs.ts'
import { headerSecrets, parseChecks, placeChecks, recordedLines } from '../../src/plan/checks.ts'
import type { Target } from '../../src/plan/target.ts'
import { rows, titled } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

type Raw = Parameters<typeof readInputs>[0]

function parse(raw: Raw) {
  return parseChecks(readInputs(raw).inputs)
}

function mistakesOf(raw: Raw): readonly string[] {
  return parse(raw).mistakes.map(({ input, line, message }) => `${input} ${line ?? ''}: ${message}`)
}

function requestOf(line: string) {
  const { httpChecks, mistakes } = parse({ 'http-checks': line })
  expect(mistakes).toEqual([])
  return httpChecks[0]
}

const defaults = {
  index: 0,
  line: 1,
  scheme: 'http',
  headers: [],
  expectStatus: [[200, 299]],
  timeoutMs: 5_000,
  times: 1,
  eachPod: false,
}

it.each(rows<[string, object]>(data, 'the line of http-checks is read'))(
  'the line %s of http-checks is read',
  (line, expected) => {
    expect(requestOf(line)).toMatchObject({ ...defaults, ...expected })
  },
)

it('lines of http-checks keep their numbers, and are counted from 0 without comments', () => {
  const { httpChecks } = parse({ 'http-checks': '# smoke\n\nservice/a GET /\nservice/b GET /' })
  expect(httpChecks.map(({ index, line }) => [index, line])).toEqual([
    [0, 3],
    [1, 4],
  ])
})

it.each(
  titled<[string, RegExp]>(
    [
      ['GET', /^http-checks 1: Something is missing\. Write a reference, a method and a path/],
      ['service/web /healthz', /^http-checks 1: "service\/web" is no method of HTTP|Something is missing/],
      ['service/web get /healthz', /^http-checks 1: "get" is no method of HTTP\. Did you mean GET\?$/],
      ['service/web GET healthz', /^http-checks 1: "healthz" is no path\. Write one that begins with "\/"/],
      ['service/web GET /a#b', /^http-checks 1: "\/a#b" is no path/],
      ...[
        '//',
        '//healthz',
        '//other.example/healthz',
        '///x',
        '/\\\\x',
        '/../x',
        '/a/./b',
        '/%2e%2E/x',
        '/a/..',
        '//:1',
        '//[',
        '/..//x',
      ].map((path): [string, RegExp] => [
        `service/web GET '${path}'`,
        /^http-checks 1: ".*" asks another path, or another host\. Write the path that is asked/,
      ]),
      ...['日本', 'a\u0100', '\u{1f600}', 'Bearer …', 'a\u2028b'].map((value): [string, RegExp] => [
        `service/web GET / --header 'X-A: ${value}'`,
        /^http-checks 1: The value of the header X-A contains characters that HTTP cannot send\. Encode them/,
      ]),
      ['service/web:99999 GET /', /^http-checks 1: "99999" is no port\. Write a number from 1 to 65535/],
      ['service/web:a:b GET /', /^http-checks 1: "service\/web:a:b" is no reference/],
      ['service/We%b GET /', /^http-checks 1: "We%b" cannot be a name/],
      ['service/web GET / extra', /^http-checks 1: "extra" is too much/],
      [
        'service/web GET / --each-pods',
        /^http-checks 1: "--each-pods" is not a flag of a request\. Did you mean --each-pod\?$/,
      ],
      ['service/web GET / --times=0', /^http-checks 1: --times: Write at least 1\.$/],
      ['service/web GET / --times=x', /^http-checks 1: --times: "x" is not a whole number/],
      ['service/web GET / --timeout=0', /^http-checks 1: --timeout: A request cannot wait for ever/],
      ['service/web GET / --timeout=5', /^http-checks 1: --timeout: "5" has no unit/],
      ['service/web GET / --expect-status=ok', /^http-checks 1: --expect-status: "ok" is no status/],
      ['service/web GET / --expect-status=299-200', /^http-checks 1: --expect-status: "299-200" is no status/],
      ['service/web GET / --expect-body=', /^http-checks 1: --expect-body has no value\.$/],
      ['service/web GET / --scheme=ftp', /^http-checks 1: --scheme: "ftp" is not one of http, https\.$/],
      ['service/web GET / -n Shop', /^http-checks 1: "Shop" cannot be a namespace/],
      ...['GET https://me:pw@shop.example/', 'POST HTTP://10.0.0.1:80/a --scheme=https'].map(
        (line): [string, RegExp] => [
          line,
          /^http-checks 1: A URL cannot be asked, only the pods of what is gated\. .* For an address outside, use curl in a step of its own\.$/,
        ],
      ),
      ["service/web GET / '", /^http-checks 1: A single quote is opened and never closed/],
    ],
    ([line]) => line,
  ),
)('a line of http-checks is a mistake: %s', (_, [line, message]) => {
  const { httpChecks } = parse({ 'http-checks': line })
  expect(httpChecks).toEqual([])
  expect(mistakesOf({ 'http-checks': line })).toEqual([expect.stringMatching(message)])
})

it.each<[string, readonly (string | undefined)[], string | undefined]>([
  ['of the only target of its name', ['shop'], 'shop'],
  ['by default if there is no such target', [], 'default'],
  ['by default if there are several', ['shop', 'default', 'qa'], 'default'],
  ['of a target without one', [undefined], undefined],
])('a line without -n has the namespace %s', (_, namespaces, expected) => {
  const targets = namespaces.map((namespace) => ({ apiVersion: '', kind: 'pod', name: 'web', namespace }) as Target)
  const others = { apiVersion: '', kind: 'pod', name: 'api', namespace: 'argocd' } as Target
  const { httpChecks } = placeChecks(parse({ 'http-checks': 'pod/web GET /' }), [...targets, others], 'default')
  expect(httpChecks[0]?.reference.namespace).toBe(expected)
})

it('all mistakes of all lines are reported at once', () => {
  const raw = {
    'http-checks': 'service/web get /\nservice/web GET healthz --times=0',
  }
  expect(mistakesOf(raw).map((text) => text.slice(0, 14))).toEqual([
    'http-checks 1:',
    'http-checks 2:',
    'http-checks 2:',
  ])
})

it('a mistake in a header does not contain its value', () => {
  expect(mistakesOf({ 'http-checks': 'service/web GET / --header=s3cret' }).join()).not.toContain('s3cret')
})

it('the lines of a recording contain no value of a header, and are read as the same requests', () => {
  const text = "# smoke\nservice/web GET / --header='Authorization: Bearer s3cret' --expect-body='it works'"
  const recorded = recordedLines(text)
  expect(recorded.join()).not.toContain('s3cret')
  const [request] = parse({ 'http-checks': recorded.join('\n') }).httpChecks
  expect(request).toMatchObject({ headers: [['Authorization', '***']], expectBody: 'it works' })
})
it.each(rows<[string, string, readonly string[]]>(data, 'the secrets of a header'))(
  'the secrets of a header: %s',
  (_, header, secrets) => {
    const line = `service/web GET / --header='${header}'`
    expect(headerSecrets(parse({ 'http-checks': line }))).toEqual(secrets)
  },
)
