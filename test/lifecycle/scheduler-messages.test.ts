import { schedulingCauses } from '../../src/lifecycle/workloads/scheduler-messages.ts'
import { messageOf } from '../../src/reasons/reasons.ts'
import { createProblem } from '../kit/problems.ts'
import { rows, titled } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe("the scheduler's message about a pod that no node takes", () => {
  it.each(titled(rows<[string, string]>(data, 'what a scheduler says'), ([message]) => message))(
    '%s',
    (_, [message, words]) => {
      const problem = createProblem('unschedulable', schedulingCauses(message))
      expect(messageOf(problem)).toBe(`cannot be scheduled: ${words}`)
    },
  )
})
