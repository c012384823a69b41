import type { KubeObject } from '../../src/cluster/objects.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { toEvent } from '../kit/pods.ts'
import { readData } from '../kit/rows.ts'
import { read } from '../kit/rule.ts'

interface Case {
  readonly object: KubeObject
  readonly events: readonly string[]
  readonly finds: object
}

const cases = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Readonly<Record<string, Case>>

describe.each(Object.entries(cases))('%s', (_, { object, events, finds }) => {
  it.each([
    ['in order', events],
    ['in reverse order', events.toReversed()],
  ])('is assessed by its latest event if the events arrive %s', (_order, seen) => {
    const rule = ruleOf(object)
    const assessment = read({ objects: [object, ...seen.map((text) => toEvent(object, text))] }, rule, object)
    expect({ stallHold: assessment.stallHold ?? null, problems: assessment.problems }).toMatchObject(finds)
  })
})
