import type { RunRecord } from '../../src/gate/run-record.ts'
import { renderGantt } from '../../src/report/gantt.ts'
import { at, createMilestone, createRecord, createTarget, createTargetRecord, reached } from './builders.ts'
import { records } from './recorded.ts'

const lines = (record: RunRecord = createRecord()) =>
  renderGantt(record)
    ?.diagram.split('\n')
    .map((line) => line.trim()) ?? []

it('each milestone is a bar from the previous one', () => {
  const record = createRecord({
    targets: [createTargetRecord({ milestones: reached({ scheduled: 2, ready: 31 }) })],
  })
  expect(lines(record).slice(-3)).toEqual(['section deployment/web', 'scheduled :0, 2000', 'ready :2000, 31000'])
})

it('a failed target is red, one in progress is not', () => {
  const milestones = [...reached({ scheduled: 2 }), createMilestone({ name: 'ready', state: 'current' })]
  const failed = createTargetRecord({ outcome: 'failed', reason: 'crash-loop', endedAt: at(20), milestones })
  const { endedAt: _, ...open } = createTargetRecord({ outcome: 'progressing', milestones })
  expect(lines(createRecord({ targets: [failed, open] }))).toEqual(
    expect.arrayContaining(['✗ ready :crit, 2000, 20000', '… ready :active, 2000, 31000']),
  )
})

it('a hold that was reached is a bar behind the end of its target, and one that was cancelled is open', () => {
  const ready = { outcome: 'ready', endedAt: at(2) } as const
  const held = createTargetRecord({ ...ready, milestones: reached({ ready: 2, held: 31 }) })
  const milestones = [...reached({ ready: 2 }), createMilestone({ name: 'held', state: 'current' })]
  const targets = [held, createTargetRecord({ ...ready, milestones })]
  expect(lines(createRecord({ targets }))).toEqual(
    expect.arrayContaining(['held :2000, 31000', '… held :active, 2000, 31000']),
  )
})

it('a change that never arrived is no milestone', () => {
  const milestones = [createMilestone({ name: 'created', state: 'failed' })]
  const stalled = createTargetRecord({ outcome: 'stalled', reason: 'change-not-seen', endedAt: at(31), milestones })
  expect(lines(createRecord({ targets: [stalled] })).at(-1)).toBe('✗ stalled :crit, 0, 31000')
})

it('milestones too short to see are part of the next one', () => {
  const record = createRecord({
    targets: [createTargetRecord({ milestones: reached({ observed: 0.01, ready: 31 }) })],
  })
  expect(lines(record).at(-1)).toBe('ready :0, 31000')
})

it('the axis of a long gate is in minutes', () => {
  const record = createRecord({
    finishedAt: at(1_200),
    targets: [createTargetRecord({ endedAt: at(1_200), milestones: reached({ ready: 1_200 }) })],
  })
  expect(lines(record)).toContain('axisFormat %s min')
  expect(lines(record).at(-1)).toBe('ready :0, 20000')
})

it('the axis does not depend on the time zone of the viewer', () => {
  expect(lines().filter((line) => line.startsWith('axisFormat'))).toEqual(['axisFormat %s s'])
})

it('nothing is drawn when all was ready at first sight', () => {
  expect(renderGantt(records['already-ready'] ?? createRecord())).toBeUndefined()
})

it('the diagram of many targets has those that are not ready, and the slowest', () => {
  const gantt = renderGantt(records['many-targets'] ?? createRecord())
  expect(gantt?.drawn).toBe(16)
  expect(gantt?.diagram.match(/section .*/g)?.slice(0, 3)).toEqual([
    'section deployment/service-009 in shop',
    'section deployment/service-059 in search',
    'section deployment/service-109 in billing',
  ])
})

it('the diagram never exceeds the limit of GitHub', () => {
  const milestones = Array.from({ length: 200 }, (_, index) =>
    createMilestone({ name: `step-${'x'.repeat(60)}`, at: at(index) }),
  )
  const targets = Array.from({ length: 30 }, (_, index) =>
    createTargetRecord({ target: createTarget({ name: `w${index}` }), endedAt: at(200), milestones }),
  )
  const gantt = renderGantt(createRecord({ finishedAt: at(200), targets }))
  expect(gantt?.diagram.length).toBeLessThanOrEqual(50_000)
  expect(gantt?.drawn).toBeLessThan(30)
})

it('targets with similar names are distinguished', () => {
  const names = lines(records['hostile'] ?? createRecord()).filter((line) => line.startsWith('section'))
  expect(new Set(names).size).toBe(names.length)
})
