import type { KubeObject } from '../../src/cluster/objects.ts'
import { compileEntry, type HealthCheckEntry, loadCompiler } from '../../src/plan/health-checks.ts'
import { added, at, createTarget, modified, run, synced } from '../kit/gate.ts'

const kind = { apiVersion: 'example.com/v1', kind: 'Widget' }
const entry: HealthCheckEntry = {
  kind: 'Widget',
  documentation: 'https://example.com/widgets',
  current: `status.phase == 'Up'`,
  failed: `status.phase == 'Broken'`,
  suspended: `status.phase == 'Waiting'`,
  stallHold: `status.phase == 'Cooling'`,
  cause: ['status.message'],
  milestones: [
    { name: 'provisioned', done: 'has(status.id)' },
    { name: 'bound', done: 'has(status.node)' },
  ],
}
const catalogue = [compileEntry({ ...entry, ...kind }, await loadCompiler())]
const target = createTarget({ ...kind, name: 'w' })
const listed = synced(`${kind.apiVersion} ${kind.kind}`)

const widgetWith = (status: object): KubeObject => ({
  ...kind,
  metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 1 },
  spec: {},
  status: { observedGeneration: 1, ...status },
})

const widgetRun = (steps: Parameters<typeof run>[0], settings = {}) =>
  run(steps, { targets: [target], settings: { catalogue, ...settings } })

describe("an operator's kind in the catalogue", () => {
  it('is logged stage by stage, and its record has all stages', () => {
    const { outcome, entries, record } = widgetRun([
      at(0, added(widgetWith({ phase: 'New' })), listed),
      at(5, modified(widgetWith({ phase: 'New', id: 'w-1' }))),
      at(9, modified(widgetWith({ phase: 'Up', id: 'w-1' }))),
    ])
    expect(outcome).toBe('ready')
    expect(entries.join('\n')).toContain('5 progress provisioned')
    expect(record.targets[0]?.milestones.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'created done',
      'observed done',
      'provisioned done',
      'bound skipped',
      'ready done',
    ])
  })

  it('has a timeout for each stage', () => {
    const steps = [at(0, added(widgetWith({ phase: 'New', id: 'w-1', message: 'no node is free' })), listed)]
    expect(widgetRun(steps, { milestoneTimeoutsMs: { bound: 60_000 } })).toMatchObject({
      outcome: 'timed-out',
      reason: 'condition-false',
      message: expect.stringContaining('no node is free'),
      seconds: 60,
    })
  })

  it('fails when it has reported a failure for 10 s, with the cause', () => {
    const steps = [
      at(0, added(widgetWith({ phase: 'New' })), listed),
      at(20, modified(widgetWith({ phase: 'Broken', message: 'no disk' }))),
    ]
    expect(widgetRun(steps)).toMatchObject({
      outcome: 'failed',
      reason: 'reported-failed',
      message: expect.stringContaining('no disk'),
      seconds: 30,
    })
  })

  it('is not judged by the general conventions while the fields that its entry reads may still be written', () => {
    const other = { conditions: [{ type: 'Ready', status: 'True' }] }
    const steps = [at(0, added(widgetWith(other)), listed)]
    expect(widgetRun(steps)).toMatchObject({ outcome: 'ready', seconds: 10 })
    expect(widgetRun([...steps, at(5, modified(widgetWith({ ...other, phase: 'New' })))])).toMatchObject({
      outcome: 'stalled',
    })
  })

  it('ends by the stall clock while it waits for a person, with the reason', () => {
    const steps = [at(0, added(widgetWith({ phase: 'Waiting', message: 'step 2 waits' })), listed)]
    expect(widgetRun(steps)).toMatchObject({ outcome: 'stalled', reason: 'paused', seconds: 300 })
  })

  it('does not stall while it states how long it takes', () => {
    const steps = [at(0, added(widgetWith({ phase: 'Cooling' })), listed)]
    expect(widgetRun(steps)).toMatchObject({ outcome: 'timed-out', seconds: 600 })
    expect(widgetRun([...steps, at(400, modified(widgetWith({ phase: 'Up' })))])).toMatchObject({
      outcome: 'ready',
      seconds: 400,
    })
  })
})
