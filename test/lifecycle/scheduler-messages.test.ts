import { schedulingCauses } from '../../src/lifecycle/workloads/scheduler-messages.ts'
import { messageOf } from '../../src/reasons/reasons.ts'
import { createProblem } from '../kit/problems.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe('the explanation of an unschedulable pod', () => {
  it.each(rows<[string, string, string]>(data, 'what a scheduler says'))('%s', (_, message, words) => {
    const problem = createProblem('unschedulable', schedulingCauses(message))
    expect(messageOf(problem)).toBe(`cannot be scheduled: ${words}`)
  })
})
