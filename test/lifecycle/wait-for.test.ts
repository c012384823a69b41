import type { KubeObject } from '../../src/cluster/objects.ts'
import { compileJsonPath, waitForRule } from '../../src/lifecycle/custom/wait-for.ts'
import type { WaitFor } from '../../src/plan/target.ts'
import { condition, iso, moment } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { context, read, reported } from '../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function certificate(status: object = {}, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name: 'tls', namespace: 'shop', uid: 'tls-uid', generation: 2, ...metadata },
    status,
  }
}

function assess(waitFor: WaitFor, object: KubeObject) {
  return reported(waitForRule(waitFor).assess(object, context({ now: 60 })))
}

const ready: WaitFor = { type: 'condition', condition: 'ready', status: 'true' }
const phase: WaitFor = { type: 'jsonpath', path: '{.status.phase}', value: 'Issued' }
const readyPath: WaitFor = {
  type: 'jsonpath',
  path: '{.status.conditions[?(@.type=="Ready")].status}',
  value: 'True',
}
const everyStatus: WaitFor = { type: 'jsonpath', path: '{.status.conditions[*].status}', value: 'True' }
const anyPhase: WaitFor = { type: 'jsonpath', path: '{.status.phase}' }

describe('the --for of a reference', () => {
  it.each<[string, WaitFor, KubeObject, 'ready' | 'progressing']>([
    ['a condition that holds', ready, certificate({ conditions: [condition('Ready', 'True')] }), 'ready'],
    ['a condition that does not', ready, certificate({ conditions: [condition('Ready', 'False')] }), 'progressing'],
    ['a condition that is absent', ready, certificate(), 'progressing'],
    [
      'a condition that was observed of an older generation',
      ready,
      certificate({ conditions: [condition('Ready', 'True', { observedGeneration: 1 })] }),
      'progressing',
    ],
    [
      'a condition of a status that observed an older generation',
      ready,
      certificate({ observedGeneration: '1', conditions: [condition('Ready', 'True')] }),
      'progressing',
    ],
    [
      'a condition of the present generation, written as a string',
      ready,
      certificate({ conditions: [condition('Ready', 'True', { observedGeneration: '2' })] }),
      'ready',
    ],
    [
      'a condition of a status that names its generation by something that is no number',
      ready,
      certificate({ observedGeneration: 'b7f9', conditions: [condition('Ready', 'True')] }),
      'ready',
    ],
    ['a condition, where conditions are no list', ready, certificate({ conditions: { Ready: 'True' } }), 'progressing'],
    [
      'a condition among others that are malformed',
      ready,
      certificate({ conditions: [null, {}, { type: 'Ready' }, condition('Ready', 'True')] }),
      'ready',
    ],
    [
      'a condition that is to be false',
      { type: 'condition', condition: 'Ready', status: 'False' },
      certificate({ conditions: [condition('Ready', 'False')] }),
      'ready',
    ],
    [
      'the status of a condition, by a path, that was observed of an older generation',
      readyPath,
      certificate({ conditions: [condition('Ready', 'True', { observedGeneration: 1 })] }),
      'progressing',
    ],
    [
      'the status of a condition, by a path, beside another one of an older generation',
      readyPath,
      certificate({
        conditions: [
          condition('Issuing', 'False', { observedGeneration: 1 }),
          condition('Ready', 'True', { observedGeneration: 2 }),
        ],
      }),
      'ready',
    ],
    [
      'a condition that should be False and is absent',
      { type: 'condition', condition: 'Failed', status: 'False' },
      certificate({ conditions: [condition('Ready', 'True')] }),
      'progressing',
    ],
    [
      'a condition that is to be unknown',
      { type: 'condition', condition: 'Ready', status: 'Unknown' },
      certificate({ conditions: [condition('Ready', 'Unknown')] }),
      'ready',
    ],
    [
      'the first of several conditions of one type, as kubectl does',
      ready,
      certificate({ conditions: [condition('Ready', 'False'), condition('Ready', 'True')] }),
      'progressing',
    ],
    [
      'a condition whose status is a boolean',
      ready,
      certificate({ conditions: [{ type: 'Ready', status: true }] }),
      'ready',
    ],
    [
      'one value, where the path leads to several',
      everyStatus,
      certificate({ conditions: [condition('A', 'True'), condition('B', 'True')] }),
      'progressing',
    ],
    [
      'one value, where the path leads to one of a list',
      everyStatus,
      certificate({ conditions: [condition('A', 'True')] }),
      'ready',
    ],
    ['any value, where that is null', anyPhase, certificate({ phase: null }), 'ready'],
    ['a value that is a boolean', { ...phase, value: 'false' }, certificate({ phase: false }), 'ready'],
    ['a value that is a number', { ...phase, value: '3' }, certificate({ phase: 3 }), 'ready'],
    ['a value that is there', phase, certificate({ phase: 'Issued' }), 'ready'],
    ['a value that is another', phase, certificate({ phase: 'Pending' }), 'progressing'],
    ['a value that is no plain one', phase, certificate({ phase: ['Issued'] }), 'progressing'],
    ['any value', anyPhase, certificate({ phase: '' }), 'ready'],
    ['any value of a field that is missing', anyPhase, certificate(), 'progressing'],
    ['existence', { type: 'create' }, certificate(), 'ready'],
    ['absence, while it exists', { type: 'delete' }, certificate(), 'progressing'],
    [
      'existence of something that is being deleted',
      { type: 'create' },
      certificate({}, { deletionTimestamp: iso(1) }),
      'progressing',
    ],
    [
      'a condition of something that is being deleted',
      ready,
      certificate({ conditions: [condition('Ready', 'True')] }, { deletionTimestamp: iso(1) }),
      'progressing',
    ],
  ])('%s: %#', (_, waitFor, object, status) => {
    expect(assess(waitFor, object).status).toBe(status)
  })

  it('reports the present state', () => {
    const object = certificate({ conditions: [condition('Ready', 'False', { message: 'no issuer' })] })
    expect(assess(ready, object).message).toBe('condition ready is False: no issuer')
    expect(assess(phase, certificate()).message).toBe('{.status.phase} is not set yet')
  })

  it('reports that a condition is of an older generation', () => {
    const object = certificate({ observedGeneration: 1, conditions: [condition('Ready', 'True')] })
    expect(assess(ready, object).message).toBe('condition ready is True of an older generation')
  })

  it('=delete has no problem during a deletion, and reports its finalizers', () => {
    const assessment = assess({ type: 'delete' }, certificate({}, { deletionTimestamp: iso(1) }))
    expect(assessment).toMatchObject({ problems: [], message: 'still exists, waiting for its deletion' })
    const held = assess({ type: 'delete' }, certificate({}, { deletionTimestamp: iso(1), finalizers: ['acme/hold'] }))
    expect(held).toMatchObject({
      status: 'progressing',
      problems: [],
      message: 'is being deleted and waits for its finalizers: acme/hold',
    })
  })
})

describe('a --for that is met by a stale status', () => {
  const writtenAt = (spec: number, status: number) => ({
    managedFields: [
      { manager: 'kubectl', operation: 'Apply', time: iso(spec) },
      { manager: 'issuer', operation: 'Update', subresource: 'status', time: iso(status) },
    ],
  })
  const issued = { phase: 'Issued', conditions: [condition('Ready', 'True')] }
  const judge = (waitFor: WaitFor, object: KubeObject, now: number) => read({ now }, waitForRule(waitFor), object)

  it.each([
    ['condition', ready],
    ['field', phase],
  ])('waits for the settle time if a %s names no generation', (_name, waitFor) => {
    const certificateNow = certificate(issued, writtenAt(-1, -600))
    expect(judge(waitFor, certificateNow, 8.9)).toMatchObject({ status: 'progressing', recheckAt: moment(9) })
    expect(judge(waitFor, certificateNow, 9)).toMatchObject({ status: 'ready' })
    expect(judge(waitFor, certificate(issued, writtenAt(-1, 0)), 0)).toMatchObject({ status: 'ready' })
  })

  it('does not count a field of a status that observed an older generation', () => {
    expect(judge(phase, certificate({ ...issued, observedGeneration: 1 }), 60)).toMatchObject({
      status: 'progressing',
      message: '{.status.phase} is "Issued" of an older generation',
    })
  })

  it('is met at once by a field outside of the status', () => {
    const size: WaitFor = { type: 'jsonpath', path: '{.metadata.name}', value: 'tls' }
    expect(judge(size, certificate(issued, writtenAt(-1, -600)), 0)).toMatchObject({ status: 'ready' })
  })
})

describe('a --for with a condition or field that the object does not have', () => {
  const message = (waitFor: WaitFor, status: object) => assess(waitFor, certificate(status)).message

  it('names the conditions that exist', () => {
    const conditions = [condition('Issuing', 'True'), condition('Available', 'True')]
    const waitFor: WaitFor = { type: 'condition', condition: 'Availble', status: 'True' }
    expect(message(waitFor, { conditions })).toBe(
      'condition Availble is not reported yet: there are Issuing, Available',
    )
    expect(message(waitFor, {})).toBe('condition Availble is not reported yet')
  })

  it('names the fields that exist where the path ends', () => {
    const status = { phase: 'Issued', nested: { state: 'ok', since: 1 } }
    expect(message({ type: 'jsonpath', path: '{.status.phse}', value: 'x' }, status)).toBe(
      '{.status.phse} is not set yet: .status has phase, nested',
    )
    expect(message({ type: 'jsonpath', path: '{.status.nested.stat.x}' }, status)).toBe(
      '{.status.nested.stat.x} is not set yet: .status.nested has state, since',
    )
    expect(message({ type: 'jsonpath', path: '{.status.list[0].x}' }, { list: [] })).toBe(
      '{.status.list[0].x} is not set yet',
    )
    expect(message({ type: 'jsonpath', path: '{.spec.x}' }, {})).toMatch(
      /^\{\.spec\.x\} is not set yet: it has apiVersion, kind/,
    )
  })

  it('finds nothing at a path that cannot be read, as a recording may contain', () => {
    expect(message({ type: 'jsonpath', path: '{.status.a[' }, { a: [1] })).toMatch(/^\{\.status\.a\[ is not set yet/)
  })

  it('names eight at most', () => {
    const conditions = Array.from({ length: 20 }, (_, index) => condition(`C${index}`, 'True'))
    expect(message({ type: 'condition', condition: 'Ready', status: 'True' }, { conditions })).toMatch(
      /C7 and 12 more$/,
    )
  })
})

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

describe('a JSONPath yields', () => {
  it.each(rows<[string, readonly unknown[]]>(data, 'what a path finds'))('%s → %j', (path, values) => {
    expect(compileJsonPath(path)?.(paths)).toStrictEqual(values)
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
])('the JSONPath %j is refused', (path) => {
  expect(compileJsonPath(path)).toBeUndefined()
})
