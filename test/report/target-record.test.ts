import { formatElapsed, reachedSteps, slowestStep, timeoutTexts } from '../../src/report/target-record.ts'
import { at, createMilestone, createTargetRecord, type RecordOverrides, reached, start } from './builders.ts'

it.each([
  [4_000, '0:04'],
  [751_999, '12:31'],
  [3_723_000, '1:02:03'],
  [36_000_000, '10:00:00'],
  [-5, '0:00'],
  [-42_000, '-0:42'],
])('the clock shows %d ms as %s', (ms, text) => {
  expect(formatElapsed(ms)).toBe(text)
})

it.each([
  [0, 'off'],
  [90_000, '1m30s'],
  [600_000, '10m'],
  [5_400_000, '1h30m'],
  [1_500, '1.5s'],
])('a setting of %d ms reads %s', (ms, text) => {
  expect(timeoutTexts({ timeoutMs: ms }, []).timeout).toBe(text)
})

it('each milestone took the time since the previous one', () => {
  expect(reachedSteps({ milestones: reached({ scheduled: 2, pulled: 9, ready: 10 }) }, start)).toMatchObject([
    { name: 'scheduled', at: at(2), tookMs: 2_000 },
    { name: 'pulled', at: at(9), tookMs: 7_000 },
    { name: 'ready', at: at(10), tookMs: 1_000 },
  ])
})

it('the slowest milestone is the one that took longest, and the first of several that took equally long', () => {
  const target = (moments: Record<string, number>) => createTargetRecord({ milestones: reached(moments) })
  const times = { startedAt: start, finishedAt: at(60) }
  expect(slowestStep(target({ scheduled: 2, pulled: 9, ready: 10 }), times)?.name).toBe('pulled')
  expect(slowestStep(target({ created: 0, ready: 0 }), times)?.name).toBe('created')
  expect(slowestStep(target({}), times)).toBeUndefined()
})

it.each<[string, RecordOverrides, { name: string; tookMs: number }]>([
  ['counts until its target ended', { endedAt: at(30) }, { name: 'ready', tookMs: 21_000 }],
  ['of an open target counts until the end of the gate', { outcome: 'progressing' }, { name: 'ready', tookMs: 51_000 }],
  ['of a target without its change is not counted', { reason: 'change-not-seen' }, { name: 'pulled', tookMs: 9_000 }],
])('a milestone that was not reached %s', (_, overrides, expected) => {
  const milestones = [...reached({ pulled: 9 }), createMilestone({ name: 'ready', state: 'failed' })]
  const target = createTargetRecord({ outcome: 'stalled', endedAt: undefined, milestones, ...overrides })
  expect(slowestStep(target, { startedAt: start, finishedAt: at(60) })).toMatchObject(expected)
})
