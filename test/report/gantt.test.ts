import type { RunRecord } from '../../src/gate/run-record.ts'
import { renderGantt } from '../../src/report/gantt.ts'
import { rows } from '../kit/rows.ts'
import { at, createMilestone, createRecord, createTarget, createTargetRecord, reached } from './builders.ts'
import { type RecordData, toRecord } from './record-data.ts'
import { records } from './recorded.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const lines = (record: RunRecord = createRecord()) =>
  renderGantt(record)
    ?.diagram.split('\n')
    .map((line) => line.trim()) ?? []

it.each(rows<[string, RecordData, readonly string[]]>(data, 'the end of a diagram'))('%s', (_, record, expected) => {
  expect(lines(toRecord(record)).slice(-expected.length)).toEqual(expected)
})

it('in the diagram, the axis of a long gate has minutes', () => {
  const record = createRecord({
    finishedAt: at(1_200),
    targets: [createTargetRecord({ endedAt: at(1_200), milestones: reached({ ready: 1_200 }) })],
  })
  expect(lines(record)).toContain('axisFormat %s min')
  expect(lines(record).at(-1)).toBe('ready :0, 20000')
})

// Mermaid draws a time of day in the time zone of the viewer; `%s` are seconds since 1970.
it('in the diagram, the axis of a short gate has seconds', () => {
  expect(lines().filter((line) => line.startsWith('axisFormat'))).toEqual(['axisFormat %s s'])
})

it('in the diagram, nothing is drawn if all targets were ready from the start', () => {
  expect(renderGantt(records['already-ready'] ?? createRecord())).toBeUndefined()
})

it('in the diagram, many targets are reduced to those that are not ready and the slowest', () => {
  const gantt = renderGantt(records['many-targets'] ?? createRecord())
  expect(gantt?.drawn).toBe(16)
  expect(gantt?.diagram.match(/section .*/g)?.slice(0, 3)).toEqual([
    'section deployment/service-009 in shop',
    'section deployment/service-059 in search',
    'section deployment/service-109 in billing',
  ])
})

it('a diagram that exceeds the limit of GitHub is omitted', () => {
  const milestones = Array.from({ length: 200 }, (_, index) =>
    createMilestone({ name: `step-${'x'.repeat(60)}`, at: at(index) }),
  )
  const targets = Array.from({ length: 30 }, (_, index) =>
    createTargetRecord({
      target: createTarget({ name: `w${index}` }),
      outcome: 'failed',
      endedAt: at(200),
      milestones,
    }),
  )
  expect(renderGantt(createRecord({ finishedAt: at(200), targets }))).toBeUndefined()
})

it('in the diagram, targets with similar names are distinguished', () => {
  const names = lines(records['hostile'] ?? createRecord()).filter((line) => line.startsWith('section'))
  expect(new Set(names).size).toBe(names.length)
})
