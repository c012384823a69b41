import { controllerUidOf } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { templateChangedAt } from '../../src/lifecycle/workloads/revision.ts'
import { type NamedObjects, toObject } from '../kit/named-objects.ts'
import { moment, start } from '../kit/objects.ts'
import { readData } from '../kit/rows.ts'

interface Group {
  readonly objects: NamedObjects
  readonly cases: Readonly<Record<string, readonly [of: string, names: string, second: number | null]>>
}

const groups = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Readonly<Record<string, Group>>

describe.each(Object.entries(groups))('the last change of the template of %s', (_, { objects, cases }) =>
  it.each(Object.entries(cases))('%s', (_title, [of, names, second]) => {
    const store = new Store(() => false)
    for (const name of names.split(' ')) store.apply({ at: moment(0), type: 'ADDED', object: toObject(name, objects) })
    const workload = controllerUidOf(toObject(of, objects)) ?? ''
    const at = templateChangedAt(workload, (uid, kind) => store.listOwned(uid, kind))
    expect(at === undefined ? null : (Date.parse(at) - start) / 1_000).toBe(second)
  }),
)
