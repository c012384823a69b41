import { UserError } from '../../src/errors.ts'
import { findEntry, parseHealthChecks } from '../../src/plan/health-check-entries.ts'
import { documentedBlock } from '../act/documented.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const database = (status?: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Database',
  metadata: { name: 'db', generation: 2 },
  ...(status === undefined ? {} : { status }),
})

const conditions = (status: string, reason = '') => ({ conditions: [{ type: 'Ready', status, reason }] })

it('reads the file of docs/recipes.md', async () => {
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

it.each([
  ['compares words', "current: status.phase == 'Running'", { phase: 'Running' }, true],
  ['compares whole numbers', 'current: status.replicas == 3', { replicas: 3 }, true],
  ['compares fields of the object', 'current: status.seen >= metadata.generation', { seen: 2 }, true],
  [
    'looks into lists',
    "current: status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
    { conditions: [{ type: 'Ready', status: 'True' }] },
    true,
  ],
  ['knows has()', "current: has(status.phase) && status.phase == 'Running'", {}, false],
  ['knows optional fields', 'current: status.?conditions.orValue([]).exists(c, c.status == "True")', {}, false],
  ['reads a condition that is True', "current: isTrue('Ready')", conditions('True'), true],
  ['reads a condition that is not True', "current: isTrue('Ready')", conditions('Unknown'), false],
  [
    'reads the reason of a condition',
    "current: isFalse('Ready', 'A', \"NoDisk\")",
    conditions('False', 'NoDisk'),
    true,
  ],
  ['reads another reason of a condition', "current: isFalse('Ready', 'A')", conditions('False', 'NoDisk'), false],
  ['is not true where a field is missing', "current: status.phase == 'Running'", undefined, false],
])('a health check %s', async (_, fields, status, holds) => {
  expect((await check(fields)).current(database(status)).holds).toBe(holds)
})

it('the file of health-check-exprs reports the missing field', async () => {
  expect((await check("current: status.phase == 'Running'")).current(database({})).error).toContain('phase')
})

it.each([
  ['no list', 'apiVersion: v1', 'This is not a list'],
  ['no YAML', '- {a: [', 'This is not valid YAML'],
  ['an entry without a kind', '- {apiVersion: v1, current: "true"}', 'Entry 1 lacks kind'],
  ['an entry without current', '- {apiVersion: example.com/v1, kind: A}', 'Entry 1 (A) lacks current'],
  ['an entry without a group', '- {kind: A, current: "true"}', 'Entry 1 (A) lacks apiVersion'],
  [
    'two groups',
    '- {apiVersion: example.com/v1, group: "", kind: A, current: "true"}',
    'has apiVersion and group: write one of them',
  ],
  [
    'a function of another argument',
    '- {apiVersion: example.com/v1, kind: A, current: isTrue(kind)}',
    'isTrue() takes texts in quotes',
  ],
  [
    'an unknown milestone',
    '- {apiVersion: example.com/v1, kind: A, current: "true", milestones: [{name: x, done: "true"}]}',
    'write a list of {name, done}',
  ],
  [
    'a kind without a version',
    '- {apiVersion: example.com/v1, kind: A, current: "true", owns: [{kind: Pod}]}',
    'Entry 1 (A), owns: write a list of {apiVersion, kind}',
  ],
  [
    'a broken cause',
    '- {apiVersion: example.com/v1, kind: A, current: "true", cause: ["status.("]}',
    'Entry 1, cause:',
  ],
  [
    'an unknown field',
    '- {apiVersion: example.com/v1, kind: A, current: "true", ready: "x"}',
    'has an unknown field "ready"',
  ],
  ['a broken expression', '- {apiVersion: example.com/v1, kind: A, current: "status.phase =="}', 'Entry 1, current:'],
  ...[
    '{apiVersion: v1, kind: Pod}',
    '{apiVersion: v1, kind: ConfigMap}',
    '{apiVersion: v1, kind: "*"}',
    '{group: "", kind: Secret}',
    '{apiVersion: apps/v1, kind: Deployment}',
    '{apiVersion: apps/v2, kind: Deployment}',
    '{group: batch, kind: Job}',
    '{group: networking.k8s.io, kind: Ingress}',
    '{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}',
  ].map((kind): [string, string, string] => [
    `an entry for a kind of Kubernetes, which would decide in place of its rule: ${kind}`,
    `- ${kind.replace('}', ', current: "true"}')}`,
    'is a kind of Kubernetes, which the gate judges by its own rule',
  ]),
  [
    'a kind written twice',
    '- &a {apiVersion: example.com/v1, kind: A, current: "true"}\n- *a',
    'example.com/v1 A is written twice',
  ],
])('the file of health-check-exprs refuses %s and names the file', async (_, text, message) => {
  const refusal = parseHealthChecks(text, 'checks.yaml')
  await expect(refusal).rejects.toThrow(UserError)
  await expect(refusal).rejects.toThrow(message)
  await expect(refusal).rejects.toThrow('checks.yaml')
})

it('the file of health-check-exprs reports all mistakes at once', async () => {
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
  'the entry for a kind is the entry for %s',
  async (_, apiVersion, kind, expected) => {
    expect(await find(apiVersion, kind)).toBe(expected ?? undefined)
  },
)
