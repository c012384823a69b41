import { boundedSummary, gateName, type Links } from '../../src/github/texts.ts'
import { readWorkflowRun } from '../../src/github/workflow-run.ts'
import { parseInputs } from '../../src/inputs.ts'
import { rows, titled } from '../kit/rows.ts'
import { createRecord } from '../report/builders.ts'
import { createContext, headSha } from './action-contexts.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const workflow = { workflow: 'Deploy', job: 'production' }

const nameOf = (resources: string, more: Record<string, string> = {}) =>
  gateName(workflow, parseInputs({ resources, ...more }))
const four = 'deploy/a deploy/b deploy/c deploy/d'

it.each(titled(rows<[string, Record<string, string>, string]>(data, 'gateName of with is'), (row) => row.slice(0, 2)))(
  'gateName of %s',
  (_, [text, more, name]) => {
    expect(nameOf(text, more)).toBe(name)
  },
)

it('gateName replaces more than three names by their hash', () => {
  expect(nameOf(four, { namespace: 'shop' })).toMatch(/^Rollout in shop \(Deploy \/ production\) \[[0-9a-f]{6}\]$/)
})

/** The names of the legs of a matrix, in a step whose `name` is the same for all, or has the values that it contains. */
const legs = (name: string | ((leg: object) => string), ...matrix: object[]) =>
  matrix.map((leg, index) =>
    nameOf('deploy/web', {
      name: typeof name === 'string' ? name : name(leg),
      job: JSON.stringify({ matrix: leg, index }),
    }),
  )

it.each<[string, string | ((leg: object) => string), object[]]>([
  ['a name that contains each value', 'Rollout of web and api', [{ app: 'api' }, { app: 'web' }]],
  ['a name that contains each number', 'Gate 1/2', [{ shard: 1 }, { shard: 2 }]],
  ['a value that is part of another', 'Rollout in eu-west', [{ region: 'eu' }, { region: 'eu-west' }]],
  ['the value itself as its name', (leg) => Object(leg).region, [{ region: 'eu' }, { region: 'eu-west' }]],
  [
    'legs that differ in a number only',
    'Rollout',
    [
      { region: 'eu', shard: 1 },
      { region: 'eu', shard: 2 },
    ],
  ],
  [
    'legs that differ in a value of the name',
    'eu and us',
    [
      { region: 'eu', app: 'web' },
      { region: 'us', app: 'web' },
    ],
  ],
  ['legs that differ in an object', 'Rollout', [{ cluster: { name: 'eu' } }, { cluster: { name: 'us' } }]],
])('gateName gives each leg its own name: %s', (_, name, matrix) => {
  const names = legs(name, ...matrix)
  expect(new Set(names).size).toBe(matrix.length)
})

it.each([
  ['a duration', { region: 'eu', timeout: '10m' }, { region: 'eu', timeout: '15m' }],
  ['a number', { region: 'eu', replicas: 2 }, { region: 'eu', replicas: 3 }],
  ['an object', { region: 'eu', helm: { chart: '1.4.2' } }, { region: 'eu', helm: { chart: '1.5.0' } }],
])('gateName stays the same when %s of the leg changes', (_, before, after) => {
  expect(legs('Rollout', before)).toEqual(legs('Rollout', after))
})

it.each<[string, string, Record<string, string>, string, Record<string, string>]>([
  ['disjoint sets of four resources', four, {}, 'deploy/e deploy/f deploy/g deploy/h', {}],
  ['sets of four resources that differ in one', four, {}, four.replace('/d', '/e'), {}],
  ['the same four resources in two namespaces', four, { namespace: 'a' }, four, { namespace: 'b' }],
  ['pairs of namespaces', 'deploy/a -n a\ndeploy/b -n b', {}, 'deploy/a -n a\ndeploy/b -n c', {}],
  ['contexts, as in the legs of a matrix', 'deploy/web', { context: 'eu' }, 'deploy/web', { context: 'us' }],
  [
    'legs of a matrix with the same inputs',
    'deploy/web',
    { job: '{"matrix": {"region": "eu"}}' },
    'deploy/web',
    { job: '{"matrix": {"region": "us"}}' },
  ],
  [
    'legs whose values are long',
    'deploy/web',
    { job: JSON.stringify({ matrix: { region: `${'x'.repeat(220)}a` } }) },
    'deploy/web',
    { job: JSON.stringify({ matrix: { region: `${'x'.repeat(220)}b` } }) },
  ],
  [
    'legs with the same name',
    'deploy/web',
    { name: 'Rollout', job: '{"matrix": {"region": "eu"}}' },
    'deploy/web',
    { name: 'Rollout', job: '{"matrix": {"region": "us"}}' },
  ],
  ['calls of a reusable workflow', 'deploy/web', { namespace: 'eu' }, 'deploy/web', { namespace: 'us' }],
  ['excludes', 'deploy --all\n!deploy/a', {}, 'deploy --all\n!deploy/b', {}],
  ['conditions', 'crd/a --for=condition=Ready', {}, 'crd/a --for=condition=Issued', {}],
  ['lists of files', '', { manifests: 'a/\nb/\nc/\nd/' }, '', { manifests: 'a/\nb/\nc/\ne/' }],
  ['resources and files', four, { manifests: 'k8s/' }, four, { manifests: 'charts/' }],
  ['names that are too long', `deploy/${'x'.repeat(220)}a`, {}, `deploy/${'x'.repeat(220)}b`, {}],
])('gateName is another for different %s', (_, one, ofOne, other, ofOther) => {
  expect(nameOf(one, ofOne)).not.toBe(nameOf(other, ofOther))
})

it.each([
  ['kubectl created or changed an object', 'deployment.apps/web created', 'deployment.apps/web unchanged'],
  ['resources are in another order', four, 'deploy/d deploy/c deploy/b deploy/a'],
  ['a clock is added', four, `${four} --timeout=5m`],
  ['a clock has a mistake', 'deploy/web', 'deploy/web --timeout=5'],
  ['a comment is added', four, `# all\n${four}`],
])('gateName stays the same when %s', (_, one, other) => {
  const name = (resources: string) => gateName(workflow, { ...parseInputs({}), resources })
  expect(name(one)).toBe(name(other))
})

it('gateName leaves out what is unknown', () => {
  expect(gateName({ workflow: '', job: '' }, parseInputs({}))).toBe('Rollout')
  expect(gateName({ workflow: '', job: 'deploy' }, parseInputs({ namespace: 'shop' }))).toBe('Rollout in shop (deploy)')
})

it('gateName is one line of at most 200 characters', () => {
  const name = gateName({ workflow: `a\n${'x'.repeat(300)}`, job: 'b' }, parseInputs({}))
  expect(name).toHaveLength(200)
  expect(name).toMatch(/^Rollout \(a x.* \[[0-9a-f]{6}\]$/)
})

describe('boundedSummary', () => {
  const { variables, payload } = createContext()
  const links: Links = {
    run: readWorkflowRun(variables, payload),
    headSha,
    logUrl: 'https://github.com/acme/shop/actions/runs/77/job/501',
    tracked: new Map(),
  }

  it('is the job summary when that fits, then the gate, the commit and the log', () => {
    const lines = boundedSummary(createRecord(), 'Rollout', links, 65_535).split('\n')
    expect(lines[0]).toBe('### ✅ Rollout ready in 31 s · deployment/web')
    expect(lines.at(-2)).toBe(
      `<sub>Rollout · commit [1111111](https://github.com/acme/shop/commit/${headSha}) · [log](${links.logUrl})</sub>`,
    )
  })

  it('is one sentence when nothing else fits, with the log', () => {
    const message = Array.from({ length: 2_000 }, (_, line) => `resources, line ${line}: ${'$'.repeat(50)}`).join('\n')
    const verdict = { outcome: 'misconfigured', reason: 'input-invalid', message } as const
    const record = createRecord({ targets: [], entries: [], verdict })
    const text = boundedSummary(record, 'Rollout', links, 65_535)
    expect(text.length).toBeLessThan(700)
    expect(text).toContain('mistake in the inputs')
    expect(text).toContain(`[log](${links.logUrl})`)
  })
})
