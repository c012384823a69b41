import type { KubeObject } from '../../src/cluster/objects.ts'
import { healthCheckRule } from '../../src/lifecycle/custom/health-check.ts'
import { observeTarget, type TargetHistory } from '../../src/lifecycle/target-history.ts'
import { parseHealthChecks } from '../../src/plan/health-checks.ts'
import { iso, moment } from '../kit/objects.ts'
import { rows, titled } from '../kit/rows.ts'
import { read } from '../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const written = `
- apiVersion: example.com/v1
  kind: Widget
  current: status.state == 'Up'
  failed: status.state == 'Broken'
  inProgress: status.state == 'Moving'
`

function widgetWith(status: object): KubeObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2 },
    status,
  }
}

/** The assessment of a widget with these statuses, each first seen at its second. */
async function assessmentOf(seen: readonly (readonly [seconds: number, status: object])[], now: number) {
  const [check] = await parseHealthChecks(written, 'checks.yaml')
  if (check === undefined) throw new Error('There is one health check.')
  const rule = healthCheckRule(check)
  const versions = seen.map(([seconds, status]) => [moment(seconds), widgetWith(status)] as const)
  const history = versions.reduce<TargetHistory | undefined>(
    (before, [at, object]) => observeTarget(before, object, at, rule.reported?.(object)),
    undefined,
  )
  const object = versions.at(-1)?.[1]
  if (history === undefined || object === undefined) throw new Error('A widget that was never seen cannot be judged.')
  return read({ now, history }, rule, object)
}

describe("the user's own health check", () => {
  it.each(rows<[string, object, string]>(data, "the user's own health check is"))(
    'is %s',
    async (_, status, expected) => {
      expect((await assessmentOf([[0, status]], 60)).status).toBe(expected)
    },
  )

  it('is met only after the settle time if a status without a generation is older than the spec', async () => {
    const [check] = await parseHealthChecks(written, 'checks.yaml')
    if (check === undefined) throw new Error('There is one health check.')
    const managedFields = [
      { manager: 'kubectl', operation: 'Apply', time: iso(-1) },
      { manager: 'widgets', operation: 'Update', subresource: 'status', time: iso(-60) },
    ]
    const { metadata, ...rest } = widgetWith({ state: 'Up' })
    const changed = { ...rest, metadata: { ...metadata, managedFields } }
    const judged = (now: number) => read({ now }, healthCheckRule(check), changed)
    expect(judged(8)).toMatchObject({ status: 'progressing', recheckAt: moment(9) })
    expect(judged(9).status).toBe('ready')
  })

  it('fails when `failed` has been true for 10 s, however long the object did not change before', async () => {
    const seen = [
      [0, { state: 'Idle' }],
      [100, { state: 'Broken' }],
    ] as const
    expect(await assessmentOf(seen, 109)).toMatchObject({ status: 'progressing', recheckAt: moment(110) })
    expect(await assessmentOf(seen, 110)).toMatchObject({ status: 'failed', failure: { reason: 'reported-failed' } })
  })

  it.each(titled(rows<[object, string]>(data, 'quotes the status'), ([, message]) => message))(
    '%s',
    async (_, [status, message]) => {
      const { failure } = await assessmentOf([[0, status]], 60)
      expect(failure?.message).toBe(message)
    },
  )

  it('starts those 10 s again when it was false in between', async () => {
    const seen = [
      [0, { state: 'Broken' }],
      [5, { state: 'Moving' }],
      [8, { state: 'Broken' }],
    ] as const
    expect(await assessmentOf(seen, 17)).toMatchObject({ status: 'progressing', recheckAt: moment(18) })
  })

  it('shows that no controller has written the status that it reads', async () => {
    expect((await assessmentOf([[0, {}]], 60)).problems).toMatchObject([{ reason: 'not-reconciled' }])
  })

  it('stops the stall clock while Reconciling is True, unless it has a `stallHold` of its own', async () => {
    const reconciling = { state: 'Idle', conditions: [{ type: 'Reconciling', status: 'True' }] }
    expect((await assessmentOf([[0, reconciling]], 60)).stallHold).toBe('its controller is reconciling it')
  })

  it('keeps counting while other fields change', async () => {
    const seen = [
      [0, { state: 'Broken', tries: 1 }],
      [8, { state: 'Broken', tries: 2 }],
    ] as const
    expect((await assessmentOf(seen, 10)).status).toBe('failed')
  })
})

describe("a health check of the user with the further fields of the catalogue's entries", () => {
  const further = `
- group: example.com
  kind: Widget
  current: status.state == 'Up'
  suspended: spec.paused == true || status.state == 'Waiting'
  resume: widgets promote {name} -n {namespace}
  stallHold: status.state == 'Cooling'
  cause: [messageOf('Ready')]
  milestones: [{ name: provisioned, done: has(status.id) }]
`
  const judgeFurther = async (object: KubeObject) => {
    const [check] = await parseHealthChecks(further, 'checks.yaml')
    if (check === undefined) throw new Error('There is one health check.')
    return read({}, healthCheckRule(check), object)
  }

  it('is suspended by the status, and has the command that resumes it', async () => {
    const { status, problems } = await judgeFurther(widgetWith({ state: 'Waiting' }))
    expect({ status, problems }).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'paused', detail: { resume: 'widgets promote {name} -n {namespace}' } }],
    })
  })

  it('is suspended by the spec, although the status is of an older generation', async () => {
    const paused = { ...widgetWith({ state: 'Up', observedGeneration: 1 }), spec: { paused: true } }
    expect(await judgeFurther(paused)).toMatchObject({ status: 'progressing', problems: [{ reason: 'paused' }] })
  })

  it('stops the stall clock while `stallHold` is true', async () => {
    expect((await judgeFurther(widgetWith({ state: 'Cooling' }))).stallHold).toBe(
      'its status states how long this takes',
    )
    expect((await judgeFurther(widgetWith({ state: 'Idle' }))).stallHold).toBeUndefined()
  })

  it('quotes its cause', async () => {
    const { problems } = await judgeFurther(
      widgetWith({ state: 'Idle', conditions: [{ type: 'Ready', status: 'False', message: 'no disk is left' }] }),
    )
    expect(problems.map(({ message }) => message).join()).toContain('no disk is left')
  })

  it('has its milestones between `observed` and `ready`', async () => {
    const { milestones } = await judgeFurther(widgetWith({ state: 'Idle', id: 'w-1' }))
    expect(milestones.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'created done',
      'observed done',
      'provisioned done',
      'ready open',
    ])
  })
})
