import { schedulingCauses } from '../../src/lifecycle/workloads/pod-problems.ts'
import { reasons } from '../../src/reasons/reasons.ts'
import { rows, titled } from '../kit/rows.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe("the scheduler's message about a pod that no node takes", () => {
  it.each(titled(rows<[string, string]>(data, 'what a scheduler says'), ([message]) => message))(
    '%s',
    (_, [message, words]) => {
      const problem = { subject: toSubject('pod/web-1-a'), count: 1, firstSeenAt: 0, detail: schedulingCauses(message) }
      expect(reasons.unschedulable.sentence(problem).text).toBe(`cannot be scheduled: ${words}`)
    },
  )
})
