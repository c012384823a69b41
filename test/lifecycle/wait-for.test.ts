import { compileJsonPath } from '../../src/lifecycle/custom/wait-for.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const paths = {
  status: {
    phase: 'Running',
    'odd key': 1,
    nothing: null,
    'a.b': 'dotted',
    conditions: [
      { type: 'Ready', status: 'True', weight: 2 },
      { type: 'Synced', status: 'False', weight: 3 },
    ],
    loadBalancer: { ingress: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] },
    empty: [],
  },
}

test.each(rows<[string, readonly unknown[]]>(data, 'what a path finds'))(
  'the JSONPath %s yields %j',
  (path, values) => {
    expect(compileJsonPath(path)?.(paths)).toStrictEqual(values)
  },
)

test.each(rows<string>(data, 'the JSONPath is refused'))('the JSONPath %j is refused', (path) => {
  expect(compileJsonPath(path)).toBeUndefined()
})
