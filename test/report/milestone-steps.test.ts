import { slowestStep, stepsOf } from '../../src/report/milestone-steps.ts'
import { at, createTargetRecord, reached, start } from './builders.ts'

it('each milestone took the time since the previous one', () => {
  expect(stepsOf(reached({ scheduled: 2, pulled: 9, ready: 10 }), start)).toEqual([
    { name: 'scheduled', at: at(2), tookMs: 2_000 },
    { name: 'pulled', at: at(9), tookMs: 7_000 },
    { name: 'ready', at: at(10), tookMs: 1_000 },
  ])
})

it('the slowest is the one that took longest, of equals the first', () => {
  const record = (moments: Record<string, number>) => createTargetRecord({ milestones: reached(moments) })
  expect(slowestStep(record({ scheduled: 2, pulled: 9, ready: 10 }), start)?.name).toBe('pulled')
  expect(slowestStep(record({ created: 0, ready: 0 }), start)?.name).toBe('created')
  expect(slowestStep(record({}), start)).toBeUndefined()
})
