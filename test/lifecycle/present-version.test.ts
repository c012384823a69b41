import { ruleOf } from '../../src/lifecycle/rules.ts'
import { specWrittenAt } from '../../src/lifecycle/stale-status.ts'
import { type NamedObjects, toObject } from '../kit/named-objects.ts'
import { start } from '../kit/objects.ts'
import { readData } from '../kit/rows.ts'
import { type ReaderOptions, reader } from '../kit/rule.ts'

/** The names of the object and of those beside it, and when the present version of the first came. */
type Case = readonly [names: string, second: number | null, options?: ReaderOptions]

interface Group {
  readonly objects: NamedObjects
  readonly cases: Readonly<Record<string, Case>>
}

const groups = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Readonly<Record<string, Group>>

describe.each(Object.entries(groups))('the time of the present version of %s', (_, { objects: named, cases }) =>
  it.each(Object.entries(cases))('%s', (_title, [names, second, options = {}]) => {
    const objects = names.split(' ').map((name) => toObject(name, named))
    const [object] = objects
    if (object === undefined) throw new Error('a case names its object')
    const changedAt = ruleOf(object).changedAt ?? specWrittenAt
    const at = changedAt(object, reader({ declaresStatus: true, ...options, objects }))
    expect(at === undefined ? null : (at - start) / 1_000).toBe(second)
  }),
)
