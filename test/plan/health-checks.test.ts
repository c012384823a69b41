import { UserError } from '../../src/errors.ts'
import { parseHealthChecks } from '../../src/plan/health-checks.ts'

const database = (status?: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Database',
  metadata: { name: 'db', generation: 2 },
  ...(status === undefined ? {} : { status }),
})

async function check(fields: string) {
  const [first] = await parseHealthChecks(
    `- apiVersion: example.com/v1\n  kind: Database\n${fields.replace(/^/gm, '  ')}`,
    'checks.yaml',
  )
  if (first === undefined) throw new Error('no check')
  return first
}

describe('health checks', () => {
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
    ['is not true where a field is missing', "current: status.phase == 'Running'", undefined, false],
  ])('%s', async (_, fields, status, holds) => {
    expect((await check(fields)).current(database(status)).holds).toBe(holds)
  })

  it('reports the missing field', async () => {
    expect((await check("current: status.phase == 'Running'")).current(database({})).error).toContain('phase')
  })

  it.each([
    ['no list', 'apiVersion: v1', 'This is not a list'],
    ['no YAML', '- {a: [', 'This is not valid YAML'],
    ['an entry without a kind', '- {apiVersion: v1, current: "true"}', 'Entry 1 lacks kind'],
    ['an entry without current', '- {apiVersion: v1, kind: A}', 'Entry 1 (A) lacks current'],
    ['an unknown field', '- {apiVersion: v1, kind: A, current: "true", ready: "x"}', 'has an unknown field "ready"'],
    ['a broken expression', '- {apiVersion: v1, kind: A, current: "status.phase =="}', 'Entry 1, current:'],
    [
      'a look at values, which are never kept',
      `- {apiVersion: v1, kind: ConfigMap, current: "data.ready == 'yes'"}`,
      'Entry 1, current: values of a ConfigMap are redacted',
    ],
    ['a kind written twice', '- &a {apiVersion: v1, kind: A, current: "true"}\n- *a', 'v1 A is written twice'],
  ])('refuses %s and names the file', async (_, text, message) => {
    const refusal = parseHealthChecks(text, 'checks.yaml')
    await expect(refusal).rejects.toThrow(UserError)
    await expect(refusal).rejects.toThrow(message)
    await expect(refusal).rejects.toThrow('checks.yaml')
  })

  it('reports all mistakes at once', async () => {
    const error = await parseHealthChecks(
      '- {kind: A, current: "true"}\n- {apiVersion: v1, kind: B}',
      'checks.yaml',
    ).catch((e: UserError) => e)
    expect((error as UserError).mistakes).toHaveLength(2)
  })
})
