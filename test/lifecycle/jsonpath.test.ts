import { compileJsonPath } from '../../src/lifecycle/custom/wait-for.ts'

const object = {
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

describe('a path leads to', () => {
  it.each<[string, readonly unknown[]]>([
    ['{.status.phase}', ['Running']],
    ['.status.phase', ['Running']],
    ['{ $.status.phase }', ['Running']],
    ["{.status['odd key']}", [1]],
    ['{.status["phase"]}', ['Running']],
    ['{.status.a\\.b}', ['dotted']],
    ['{.status.conditions[0].type}', ['Ready']],
    ['{.status.conditions[-1].type}', ['Synced']],
    ['{.status.conditions[2].type}', []],
    ['{.status.conditions[2]}', []],
    ['{.status.conditions[-3]}', []],
    ['{.status.empty[0]}', []],
    ['{.status.empty}', [[]]],
    ['{.status.nothing}', [null]],
    ['{.status.missing}', []],
    ['{.status.missing.deeper}', []],
    ['{.status.phase.length}', []],
    ['{.status.constructor}', []],
    ['{.status.loadBalancer.ingress[*].ip}', ['10.0.0.1', '10.0.0.2']],
    ['{.status.conditions[?(@.type=="Ready")].status}', ['True']],
    ["{.status.conditions[?(@.type=='Synced')].status}", ['False']],
    ['{.status.conditions[?(@.weight==3)].type}', ['Synced']],
    ['{.status.conditions[?(@.type=="None")].status}', []],
    ['{.status.phase[?(@.type=="Ready")]}', []],
  ])('%s → %j', (path, values) => {
    expect(compileJsonPath(path)?.(object)).toStrictEqual(values)
  })
})

test.each([
  '',
  '{}',
  'status',
  '{..phase}',
  '{.status.conditions[0:1]}',
  '{.status[?(@.a>1)]}',
  '{.status.phase} and more',
])('the path %j is refused', (path) => {
  expect(compileJsonPath(path)).toBeUndefined()
})
