import { expect, it } from '@jest/globals'
import { Secrets } from '../../src/cluster/secrets.ts'
import { readInputs } from '../../src/inputs.ts'
import { addNamespaces, linesForRecording, parseChecks } from '../../src/plan/checks.ts'
import type { Target } from '../../src/plan/target.ts'
import { readChecks } from '../../src/run/start-run.ts'
import { rows, titled } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'

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
  'the http-checks line "%s" is parsed',
  (line, expected) => {
    expect(requestOf(line)).toMatchObject({ ...defaults, ...expected })
  },
)

it('http-checks lines keep their numbers and are counted without comments', () => {
  const { httpChecks } = parse({ 'http-checks': '# smoke\n\nservice/a GET /\nservice/b GET /' })
  expect(httpChecks.map(({ index, line }) => [index, line])).toEqual([
    [0, 3],
    [1, 4],
  ])
})

it.each(titled(rows<[string, string]>(data, 'a line of http-checks is a mistake'), ([line]) => line))(
  'the http-checks line "%s" is rejected',
  (_, [line, message]) => {
    const { httpChecks } = parse({ 'http-checks': line })
    expect(httpChecks).toEqual([])
    expect(mistakesOf({ 'http-checks': line })).toEqual([expect.stringMatching(toPattern(`http-checks 1: ${message}`))])
  },
)

it.each<[string, readonly (string | undefined)[], string | undefined]>([
  ['of the only target with its name', ['shop'], 'shop'],
  ['by default if no target has its name', [], 'default'],
  ['by default if several targets have its name', ['shop', 'default', 'qa'], 'default'],
  ['of a target without a namespace', [undefined], undefined],
])('an http-checks line without -n has the namespace %s', (_, namespaces, expected) => {
  const targets = namespaces.map((namespace) => ({ apiVersion: '', kind: 'pod', name: 'web', namespace }) as Target)
  const others = { apiVersion: '', kind: 'pod', name: 'api', namespace: 'argocd' } as Target
  const { httpChecks } = addNamespaces(parse({ 'http-checks': 'pod/web GET /' }), [...targets, others], 'default')
  expect(httpChecks[0]?.reference.namespace).toBe(expected)
})

it('mistakes of all http-checks lines are reported at once', () => {
  const raw = {
    'http-checks': 'service/web get /\nservice/web GET healthz --times=0',
  }
  expect(mistakesOf(raw).map((text) => text.slice(0, 14))).toEqual([
    'http-checks 1:',
    'http-checks 2:',
    'http-checks 2:',
  ])
})

it('an error about an http-checks header does not contain the value of the header', () => {
  expect(mistakesOf({ 'http-checks': 'service/web GET / --header=s3cret' }).join()).not.toContain('s3cret')
})

it('recorded http-checks lines contain no header value and are parsed to the same requests', () => {
  const text = "# smoke\nservice/web GET / --header='Authorization: Bearer s3cret' --expect-body='it works'"
  const recorded = linesForRecording(text)
  expect(recorded.join()).not.toContain('s3cret')
  const [request] = parse({ 'http-checks': recorded.join('\n') }).httpChecks
  expect(request).toMatchObject({ headers: [['Authorization', '***']], expectBody: 'it works' })
})
it.each(rows<[string, string, readonly string[]]>(data, 'the secrets of a header'))(
  'a request header contains %s',
  async (_, header, secrets) => {
    const { inputs } = readInputs({ 'http-checks': `service/web GET / --header='${header}'` })
    const found: string[] = []
    await readChecks(inputs, { secrets: new Secrets((secret) => found.push(secret)) })
    expect(found).toEqual(secrets)
  },
)
