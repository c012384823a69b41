import type { PathStep } from '../../src/cluster/field-paths.ts'
import { isManifestText } from '../../src/plan/kubectl-output.ts'
import { parseManifests } from '../../src/plan/read-manifests.ts'
import { readData, rows, titled } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const parse = (text: string, file = 'k8s/web.yaml') => parseManifests(text, file)
const placesOf = (text: string) =>
  parse(text).references.map(({ kind, name, namespace, place }) => `${place.line} ${kind} ${namespace ?? ''}/${name}`)
const messagesOf = (text: string, file?: string) =>
  parse(text, file).mistakes.map(({ line, message }) => `${line}: ${message}`)

/** The first line of the file. */
const place = { input: 'k8s/web.yaml', line: 1 }
const { deployment } = readData(data) as { readonly deployment: string }

it.each(rows<[string, string, readonly string[]]>(data, 'objects are read with their lines'))(
  'the objects %s have their line numbers',
  (_, text, places) => {
    expect(messagesOf(text)).toEqual([])
    expect(placesOf(text)).toEqual(places)
  },
)

it('YAML is parsed as by kubectl: octal numbers, yes and no, the last of equal keys', () => {
  const text =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {mode: 0644, on: yes, mode2: 1, mode2: 2, at: 2024-01-01, time: 1:30}'
  expect(parse(text).references[0]?.manifest?.object['spec']).toEqual({
    mode: 420,
    true: true,
    mode2: 2,
    at: '2024-01-01',
    time: '1:30',
  })
})

it('objects with generated names are reported and not gated', () => {
  const text = 'apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: migrate-}'
  expect(parse(text)).toMatchObject({
    references: [],
    mistakes: [],
    skipped: [{ place, text: 'job/migrate-…', why: expect.stringContaining('kubectl create') }],
  })
})

it.each(titled(rows<[PathStep[], number]>(data, 'a field has a line'), ([path]) => path))(
  'the line of a field is its own or that of its nearest parent: %s',
  (_, [path, line]) => {
    expect(parse(deployment).references[0]?.manifest?.lineOf(path)).toBe(line)
  },
)

it('the line of a field is found in lists, later documents and behind aliases', () => {
  const text =
    'kind: A\n---\napiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Pod\n    metadata:\n      name: a\n      labels: &l\n        app: web\n    spec: *l\n'
  const [pod] = parse(text).references
  expect(pod?.manifest?.lineOf(['metadata', 'name'])).toBe(9)
  expect(pod?.manifest?.lineOf(['spec', 'app'])).toBe(11)
})

describe('a manifest', () => {
  const start = 'apiVersion: v1\nkind: Pod\n'
  it.each(rows<[string, string, readonly string[]]>(data, 'a mistake is reported at its line'))(
    'is rejected at the line of its mistake if it contains %s',
    (_, text, messages) => {
      const found = messagesOf(text)
      for (const message of messages) expect(found).toContainEqual(expect.stringMatching(toPattern(message)))
      expect(found).toHaveLength(messages.length)
    },
  )

  it.each(rows<string>(data, 'a mistake in YAML does not quote the value'))(
    'is rejected without a quote of its content if its YAML is invalid: %s',
    (value) => {
      const found = messagesOf(`${start}metadata:\n  name: a\ndata:\n  password: ${value}`)
      expect(found.join()).not.toContain('s3cret')
      expect(found.join()).not.toMatch(/undefined|[:…]\.$/)
    },
  )

  it('is rejected without a quote of its content if its directive is invalid', () => {
    expect(messagesOf(`%s3cret s3cret\n---\n${start}metadata: {name: a}`).join()).not.toContain('s3cret')
  })

  it.each([
    ['kustomization.yaml', 'resources: [web.yaml]', /kubectl kustomize/],
    ['base/x.yaml', 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization', /kubectl kustomize/],
    ['chart/Chart.yaml', 'apiVersion: v2\nname: web\nversion: 1.0.0', /no kind and metadata\.name/],
  ])('is rejected if it is the source of other manifests: %s', (file, text, message) => {
    expect(messagesOf(text, file)).toEqual([expect.stringMatching(message)])
  })

  it('is rejected quickly if it is an alias bomb', () => {
    const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join()}]`)
    expect(messagesOf(`l0: &l0 [x]\n${levels.join('\n')}`)).toEqual([
      expect.stringMatching(/^1: Excessive alias count/),
    ])
  })

  it('is rejected if it repeats an alias of a large value', () => {
    const large = `[${Array(20_000).fill('x').join()}]`
    const text = `a: &a ${large}\nb: [${Array(900).fill('*a').join()}]`
    expect(messagesOf(text)).toEqual(['1: Its aliases expand to more than 1000000 values.'])
  })

  it('is rejected if it is nested too deeply', () => {
    expect(messagesOf(`a: ${'['.repeat(5_000)}${']'.repeat(5_000)}`)).toHaveLength(1)
  })

  it('may contain fields with the names of JavaScript object properties', () => {
    const text = `${start}metadata: {name: a, annotations: {__proto__: x, constructor: "y"}}\n__proto__: {a: 1}`
    expect(messagesOf(text)).toEqual([])
    expect(parse(text).references[0]?.manifest?.lineOf(['toString'])).toBe(1)
  })
})

const withAnnotations = (text: string) =>
  parse(`apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {${text}}`)

it('an annotation sets the clocks and the ready condition of a target', () => {
  const text = 'rollout-gate/timeout: 5m, rollout-gate/stall-timeout: "0", rollout-gate/for: condition=Ready, other: x'
  expect(withAnnotations(text).references).toMatchObject([
    {
      clocks: { timeoutMs: 300_000, stallTimeoutMs: 0 },
      waitFor: { type: 'condition', condition: 'Ready', status: 'True' },
    },
  ])
})

it('an annotation excludes an object, with a notice', () => {
  expect(withAnnotations('rollout-gate/skip: "true"')).toMatchObject({
    references: [],
    skipped: [{ place, text: 'pod/a', why: 'rollout-gate/skip' }],
    mistakes: [],
  })
  expect(withAnnotations('rollout-gate/skip: "false"').references).toHaveLength(1)
})

it.each(titled(rows<string>(data, 'a text on standard input is manifests')))(
  'a text on standard input is recognized as manifests: %s',
  (_, text) => expect(isManifestText(text)).toBe(true),
)
it.each(['deployment.apps/web configured\n', '# none\n', 'deployment/web --for=condition=Ready', ''])(
  'a text on standard input is not recognized as manifests: %j',
  (text) => expect(isManifestText(text)).toBe(false),
)
