import { gateName, limitedSummary } from '../../src/github/texts.ts'
import { logPage, readWorkflowRun } from '../../src/github/workflow-run.ts'
import { parseInputs } from '../../src/inputs.ts'
import { rows, titled } from '../kit/rows.ts'
import { createRecord } from '../report/builders.ts'
import { createContext, headSha } from './action-contexts.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const workflow = { workflow: 'Deploy', job: 'production' }

const nameOf = (resources: string, more: Record<string, string> = {}) =>
  gateName(workflow, parseInputs({ resources, ...more }))

it.each(titled(rows<[string, Record<string, string>, string]>(data, 'gateName of with is'), (row) => row.slice(0, 2)))(
  'gateName derives a name from %s',
  (_, [text, more, name]) => {
    expect(nameOf(text, more)).toBe(name)
  },
)

it('gateName replaces more than three resource names by a hash', () => {
  expect(nameOf('deploy/a deploy/b deploy/c deploy/d', { namespace: 'shop' })).toMatch(
    /^Rollout in shop \(Deploy \/ production\) \[[0-9a-f]{6}\]$/,
  )
})

/** The names of the legs of a matrix, in a step whose `name` is the same for all, or has the values that it contains. */
const legs = (name: string | ((leg: object) => string), ...matrix: object[]) =>
  matrix.map((leg, index) =>
    nameOf('deploy/web', {
      name: typeof name === 'string' ? name : name(leg),
      job: JSON.stringify({ matrix: leg, index }),
    }),
  )

it.each([
  ...rows<[string, string, readonly object[]]>(data, 'legs with names of their own'),
  [
    'the value itself as its name',
    (leg: object) => Object(leg).region,
    [{ region: 'eu' }, { region: 'eu-west' }],
  ] as const,
])('gateName gives each job of a matrix its own name if the matrix has %s', (_, name, matrix) => {
  const names = legs(name, ...matrix)
  expect(new Set(names).size).toBe(matrix.length)
})

it.each(rows<[string, object, object]>(data, 'legs with the same name'))(
  'gateName stays the same if %s of the matrix job changes',
  (_, before, after) => {
    expect(legs('Rollout', before)).toEqual(legs('Rollout', after))
  },
)

it.each([
  ...rows<[string, string, Record<string, string>, string, Record<string, string>]>(data, 'gates with different names'),
  [
    'legs whose values are long',
    'deploy/web',
    { job: JSON.stringify({ matrix: { region: `${'x'.repeat(220)}a` } }) },
    'deploy/web',
    { job: JSON.stringify({ matrix: { region: `${'x'.repeat(220)}b` } }) },
  ] as const,
  ['names that are too long', `deploy/${'x'.repeat(220)}a`, {}, `deploy/${'x'.repeat(220)}b`, {}] as const,
])('gateName differs for %s', (_, one, ofOne, other, ofOther) => {
  expect(nameOf(one, ofOne)).not.toBe(nameOf(other, ofOther))
})

it.each(rows<[string, string, string]>(data, 'gates with the same name'))(
  'gateName stays the same if %s',
  (_, one, other) => {
    const name = (resources: string) => gateName(workflow, { ...parseInputs({}), resources })
    expect(name(one)).toBe(name(other))
  },
)

it('gateName omits unknown parts', () => {
  expect(gateName({ workflow: '', job: '' }, parseInputs({}))).toBe('Rollout')
  expect(gateName({ workflow: '', job: 'deploy' }, parseInputs({ namespace: 'shop' }))).toBe('Rollout in shop (deploy)')
})

it('gateName has one line of at most 200 characters', () => {
  const name = gateName({ workflow: `a\n${'x'.repeat(300)}`, job: 'b' }, parseInputs({}))
  expect(name).toHaveLength(200)
  expect(name).toMatch(/^Rollout \(a x.* \[[0-9a-f]{6}\]$/)
})

describe('limitedSummary', () => {
  const { variables, payload } = createContext()
  const logUrl = 'https://github.com/acme/shop/actions/runs/77/job/501'
  const run = readWorkflowRun(variables, payload, { sha: headSha })
  expect(logPage(run, '501')).toBe(logUrl)
  const shared = { run, commit: headSha, logUrl, name: 'Rollout', tracked: new Map() }

  it('is the job summary with the gate, the commit and the log if it fits', () => {
    const lines = limitedSummary(createRecord(), shared, 65_535).split('\n')
    expect(lines[0]).toBe('### ✅ Rollout ready in 31 s · deployment/web')
    expect(lines.at(-2)).toBe(
      `<sub>Rollout · commit [1111111](https://github.com/acme/shop/commit/${headSha}) · [log](${logUrl})</sub>`,
    )
  })

  it('is one sentence with a link to the log if nothing else fits', () => {
    const message = Array.from({ length: 2_000 }, (_, line) => `resources, line ${line}: ${'$'.repeat(50)}`).join('\n')
    const verdict = { outcome: 'misconfigured', reason: 'input-invalid', message } as const
    const record = createRecord({ targets: [], entries: [], verdict })
    const text = limitedSummary(record, shared, 65_535)
    expect(text.length).toBeLessThan(700)
    expect(text).toContain('mistake in the inputs')
    expect(text).toContain(`[log](${logUrl})`)
  })
})
