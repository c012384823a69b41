import { UserError } from '../../src/errors.ts'
import { findEntry, parseHealthChecks } from '../../src/plan/health-checks.ts'
import { documentedBlock } from '../act/documented.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const database = (status?: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Database',
  metadata: { name: 'db', generation: 2 },
  ...(status === undefined ? {} : { status }),
})

it('the health checks of docs/recipes.md are valid', async () => {
  const text = documentedBlock('docs/recipes.md', 'Your own definition of ready', 'yaml', 'shop', 1)
  expect(await parseHealthChecks(text, 'health-checks.yaml')).toMatchObject([{ kind: 'Widget' }])
})

async function check(fields: string) {
  const [first] = await parseHealthChecks(
    `- apiVersion: example.com/v1\n  kind: Database\n${fields.replace(/^/gm, '  ')}`,
    'checks.yaml',
  )
  if (first === undefined) throw new Error('no check')
  return first
}

it.each(rows<[string, string, object | null, boolean]>(data, 'what a health check holds'))(
  'a health check %s',
  async (_, fields, status, holds) => {
    expect((await check(fields)).current(database(status ?? undefined)).holds).toBe(holds)
  },
)

it('a missing field in a file of health-check-exprs is named in the error', async () => {
  expect((await check("current: status.phase == 'Running'")).current(database({})).error).toContain('phase')
})

it.each(rows<[string, string, string]>(data, 'the refused files of health checks'))(
  'a file of health-check-exprs with %s is rejected with its name',
  async (_, text, message) => {
    const refusal = parseHealthChecks(text, 'checks.yaml')
    await expect(refusal).rejects.toThrow(UserError)
    await expect(refusal).rejects.toThrow(message)
    await expect(refusal).rejects.toThrow('checks.yaml')
  },
)

it('all mistakes in a file of health-check-exprs are reported at once', async () => {
  const error = await parseHealthChecks(
    '- {kind: A, current: "true"}\n- {apiVersion: example.com/v1, kind: B, constructor: 1}',
    'checks.yaml',
  ).catch((e: UserError) => e)
  expect((error as UserError).mistakes.map(({ message }) => message)).toEqual([
    'Entry 1 (A) lacks apiVersion.',
    expect.stringMatching(/^Entry 2 has an unknown field "constructor"\. There are group, /),
    "Entry 2 (B) lacks current: an expression in CEL, like status.phase == 'Running'.",
  ])
})

const find = async (apiVersion: string, kind: string) => {
  const entries = await parseHealthChecks(
    [
      '- &any {group: "*.example.com", kind: "*", documentation: any, current: "true"}',
      '- {<<: *any, group: "*.k8s.io", documentation: all}',
      '- {<<: *any, group: "*.db.example.com", documentation: databases}',
      '- {<<: *any, group: db.example.com, documentation: db}',
      '- {<<: *any, group: db.example.com, kind: Backup, documentation: backup}',
    ].join('\n'),
    'checks.yaml',
  )
  return findEntry({ apiVersion, kind }, entries)?.documentation
}

it.each(rows<[string, string, string, string | null]>(data, 'the entry for a kind is the entry for'))(
  'the health check of a kind is %s',
  async (_, apiVersion, kind, expected) => {
    expect(await find(apiVersion, kind)).toBe(expected ?? undefined)
  },
)
