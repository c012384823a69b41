import type { EndedRunRecord, MilestoneRecord, TargetRecord } from '../../src/gate/run-record.ts'
import { buildOutputs } from '../../src/outputs.ts'
import { renderGantt } from '../../src/report/gantt.ts'
import { headline } from '../../src/report/headline.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { layoutLog, renderEvidence } from '../../src/report/log.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { targetDurationMs } from '../../src/report/target-record.ts'
import {
  at,
  createEntry,
  createEvidence,
  createMilestone,
  createProblem,
  createRecord,
  createTarget,
  createTargetRecord,
  type RecordOverrides,
  start,
} from './builders.ts'

/** Milestones that an object shows, in seconds since the start of the gate. */
function shown(moments: Readonly<Record<string, number>>): MilestoneRecord[] {
  return Object.entries(moments).map(([name, seconds]) =>
    createMilestone({ name, at: at(seconds), source: 'object', message: name }),
  )
}

const day = 86_400
const files = { report: 'r', summary: 's' }

/** A gate that begins a minute after the change, which took 42 s. */
const late = (milestones: readonly MilestoneRecord[] = [], overrides: RecordOverrides = {}): EndedRunRecord => {
  const target = createTargetRecord({
    changedAt: at(-72),
    change: 'recent',
    endedAt: at(0.2),
    milestones: [
      ...shown({ created: -3 * day, observed: -72, scheduled: -70, pulled: -60, ready: -30 }),
      ...milestones,
    ],
    ...overrides,
  })
  return createRecord({
    finishedAt: at(0.2),
    targets: [target],
    entries: [createEntry({ kind: 'verdict', at: at(0.2) })],
  })
}
const updated = createMilestone({ name: 'updated', at: at(0) })

describe('a gate that begins after the change', () => {
  it('has a headline with the duration of the change and that it was before the gate', () => {
    expect(headline(late())).toBe('Rollout ready in 42 s, before this gate · deployment/web')
    expect(headline(late(), true)).toBe('Rollout ready in 0.2 s · deployment/web')
  })

  it('has the slowest milestone of the change in its headline', () => {
    expect(buildOutputs(late([updated]), files)['slowest-milestone']).toBe('deployment.apps/web ready 30.0s')
  })

  it('counts times from the change in the summary, and from its own start in log and report', () => {
    const evidence = [createEvidence({ text: 'BackOff', events: [{ at: at(8), text: 'BackOff' }] })]
    const overrides = { outcome: 'failed', reason: 'crash-loop', problems: [createProblem({ evidence })] } as const
    const timeline = { ...late([], overrides), outcome: 'failed' } as const
    expect(renderSummary(timeline)).toContain('\n 1:20  BackOff\n')
    expect(renderEvidence(timeline, layoutLog(timeline, { color: false }))).toContain('    │  0:08  BackOff')
    expect(buildReport(timeline).targets[0]?.problems[0]?.evidence[0]?.text).toBe(' 0:08  BackOff')
  })

  it('draws the diagram from the change on', () => {
    const { diagram } = renderGantt(late([updated])) ?? { diagram: '' }
    expect(diagram).toContain('scheduled :0, 2000')
    expect(diagram).toContain('pulled :2000, 12000')
    expect(diagram).toContain('ready :12000, 42000')
    expect(diagram).not.toContain('updated')
  })

  it('draws a target that was ready with its change up to its last milestone', () => {
    const target = createTarget({ name: 'undone' })
    const milestones = [...shown({ created: -80, observed: -75, scheduled: -72 }), updated]
    const undone = createTargetRecord({ target, changedAt: at(-72), change: 'recent', endedAt: at(0.2), milestones })
    const record = { ...late(), targets: [...late().targets, undone] }
    const { diagram } = renderGantt(record) ?? { diagram: '' }
    expect(diagram).toMatch(/section deployment\/undone\n {4}scheduled :0, \d+$/)
  })

  it('begins its text timeline with the change', () => {
    const text = renderSummary(late([updated]))
    expect(text).toContain(' 0:00  deployment/web  created, observed')
    expect(text).toContain(' 0:42  deployment/web  ready')
    expect(text).toContain(' 1:12  deployment/web  … in progress for 1 m 12 s')
    expect(text).not.toContain('deployment/web  updated')
  })

  it.each([12, 13.9])(
    'counts the duration of a target that ends at %s s from the change to its last milestone',
    (ended) => {
      const milestones = [...shown({ scheduled: -70, pulled: -60 }), createMilestone({ name: 'ready', at: at(12) })]
      const record = { ...late([], { milestones, endedAt: at(ended) }), finishedAt: at(ended) }
      expect(headline(record)).toBe('Rollout ready 1 m 24 s after the change · deployment/web')
      expect(targetDurationMs(record.targets[0] ?? createTargetRecord(), record)).toBe(84_000)
    },
  )
})

it('a change of more than an hour ago does not move the start of the timeline', () => {
  const record = late([], { changedAt: at(-3_601), change: undefined })
  expect(headline(record)).toBe('Rollout ready in 0.2 s · deployment/web')
  expect(renderGantt(record)).toBeUndefined()
  expect(buildOutputs(record, files)['slowest-milestone']).toBe('deployment.apps/web created 0.0s')
})

it('a target with only a change time does not move the start of the timeline of the others', () => {
  const configMap = createTargetRecord({
    target: createTarget({ apiVersion: 'v1', kind: 'ConfigMap' }),
    changedAt: at(-3_000),
    change: 'recent',
    milestones: [...shown({ created: -3_000 }), createMilestone({ name: 'ready', at: at(0) })],
    endedAt: at(0.1),
  })
  const record = createRecord({ targets: [createTargetRecord(), configMap] })
  expect(headline(record)).toBe('Rollout ready in 31 s · 2 targets')
  expect(renderSummary(record)).toMatch(/^### ✅ Rollout ready in 31 s/)
})

it.each([
  ['the earliest change of this deployment', [-5, -40, -90], '2 m 1 s'],
  ['not with that of an earlier deployment', [-5, -120, -1_800], '36 s'],
])('the timeline begins with %s', (_, seconds, took) => {
  const targets = seconds.map((each) => createTargetRecord({ changedAt: at(each), change: 'recent' }))
  expect(headline(createRecord({ targets }))).toMatch(`Rollout ready ${took} after the change`)
})

describe('the headline without a change', () => {
  const unchanged = (seconds: number) =>
    createTargetRecord({ changedAt: at(-seconds), change: 'none', endedAt: at(0.1) })

  it('contains the age of the youngest target', () => {
    const targets = [unchanged(9 * day), unchanged(3 * day + 4 * 3_600), unchanged(5 * day), unchanged(4 * day)]
    expect(headline(createRecord({ targets }))).toBe('Ready, but nothing changed in the last 3 d · 4 targets')
  })

  it('is the headline of a rollout if one target has changed', () => {
    const targets = [unchanged(9 * day), createTargetRecord({ changedAt: at(-5), change: 'recent' })]
    expect(headline(createRecord({ targets }))).toMatch(/^Rollout ready 36 s after the change/)
  })
})

describe('the output changed', () => {
  const read = (...targets: TargetRecord[]) =>
    JSON.parse(buildOutputs(createRecord({ targets }), files).changed) as unknown

  it('contains the recently changed targets in input order', () => {
    const recent = (name: string, seconds: number) =>
      createTargetRecord({ target: createTarget({ name }), changedAt: at(seconds), change: 'recent' })
    const old = createTargetRecord({ changedAt: at(-9 * day), change: 'none' })
    expect(read(recent('web', -5), old, recent('api', 3), createTargetRecord())).toEqual([
      { target: 'deployment.apps/web', namespace: 'shop', changedAt: '2025-01-15T11:59:55.000Z' },
      { target: 'deployment.apps/api', namespace: 'shop', changedAt: '2025-01-15T12:00:03.000Z' },
    ])
  })

  it('is an empty array if nothing has changed', () => {
    expect(read(createTargetRecord())).toEqual([])
  })

  it('of a merge contains the times of each gate', () => {
    const gates = [
      {
        name: 'eu',
        path: 'eu',
        outcome: 'ready',
        reason: '',
        message: '',
        context: '',
        serverVersion: '',
        startedAt: start + 60_000,
        finishedAt: start + 61_000,
      },
    ] as const
    const target = createTargetRecord({ gate: 'eu', changedAt: at(-5), change: 'recent' })
    const { changed } = buildOutputs(createRecord({ targets: [target], gates }), files)
    expect(JSON.parse(changed)).toMatchObject([{ gate: 'eu', changedAt: '2025-01-15T12:00:55.000Z' }])
  })
})
