import { UserError } from '../../src/errors.ts'
import { findEntry, parseHealthChecks } from '../../src/plan/health-check-entries.ts'

const database = (status?: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Database',
  metadata: { name: 'db', generation: 2 },
  ...(status === undefined ? {} : { status }),
})

const conditions = (status: string, reason = '') => ({ conditions: [{ type: 'Ready', status, reason }] })

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
  ['an entry without current', '- {apiVersion: v1, kind: A}', 'Entry 1 (A) lacks current'],
  ['an entry without a group', '- {kind: A, current: "true"}', 'Entry 1 (A) lacks apiVersion'],
  [
    'two groups',
    '- {apiVersion: v1, group: "", kind: A, current: "true"}',
    'has apiVersion and group: write one of them',
  ],
  [
    'a function of another argument',
    '- {apiVersion: v1, kind: A, current: isTrue(kind)}',
    'isTrue() takes texts in quotes',
  ],
  [
    'an unknown milestone',
    '- {apiVersion: v1, kind: A, current: "true", milestones: [{name: x, done: "true"}]}',
    'write a list of {name, done}',
  ],
  [
    'a kind without a version',
    '- {apiVersion: v1, kind: A, current: "true", owns: [{kind: Pod}]}',
    'Entry 1 (A), owns: write a list of {apiVersion, kind}',
  ],
  ['a broken cause', '- {apiVersion: v1, kind: A, current: "true", cause: ["status.("]}', 'Entry 1, cause:'],
  ['an unknown field', '- {apiVersion: v1, kind: A, current: "true", ready: "x"}', 'has an unknown field "ready"'],
  ['a broken expression', '- {apiVersion: v1, kind: A, current: "status.phase =="}', 'Entry 1, current:'],
  [
    'a look at values, which are never kept',
    `- {apiVersion: v1, kind: ConfigMap, current: "data.ready == 'yes'"}`,
    'Entry 1, current: values of a ConfigMap are redacted',
  ],
  [
    'a look at values of a Secret',
    `- {group: "", kind: Secret, current: "data.ready == 'yes'"}`,
    'Entry 1, current: values of a Secret are redacted',
  ],
  ['a kind written twice', '- &a {apiVersion: v1, kind: A, current: "true"}\n- *a', 'v1 A is written twice'],
])('the file of health-check-exprs refuses %s and names the file', async (_, text, message) => {
  const refusal = parseHealthChecks(text, 'checks.yaml')
  await expect(refusal).rejects.toThrow(UserError)
  await expect(refusal).rejects.toThrow(message)
  await expect(refusal).rejects.toThrow('checks.yaml')
})

it('the file of health-check-exprs reports all mistakes at once', async () => {
  const error = await parseHealthChecks(
    '- {kind: A, current: "true"}\n- {apiVersion: v1, kind: B}',
    'checks.yaml',
  ).catch((e: UserError) => e)
  expect((error as UserError).mistakes).toHaveLength(2)
})

const find = async (apiVersion: string, kind: string) => {
  const entries = await parseHealthChecks(
    [
      '- &any {group: "*.example.com", kind: "*", documentation: any, current: "true"}',
      '- {<<: *any, group: "*.db.example.com", documentation: databases}',
      '- {<<: *any, group: db.example.com, documentation: db}',
      '- {<<: *any, group: db.example.com, kind: Backup, documentation: backup}',
    ].join('\n'),
    'checks.yaml',
  )
  return findEntry({ apiVersion, kind }, entries)?.documentation
}

it.each([
  ['its kind before that of every kind', 'db.example.com/v1', 'Backup', 'backup'],
  ['its group before that of a suffix', 'db.example.com/v2', 'Database', 'db'],
  ['the longest suffix', 'mysql.db.example.com/v1', 'Database', 'databases'],
  ['a suffix', 'shop.example.com/v1', 'Shop', 'any'],
  ['no other group', 'example.com/v1', 'Shop', undefined],
])('the entry for a kind is the entry for %s', async (_, apiVersion, kind, expected) => {
  expect(await find(apiVersion, kind)).toBe(expected)
})
