import type { KubeObject } from '../../src/cluster/objects.ts'
import { compileJsonPath, waitForRule } from '../../src/lifecycle/custom/wait-for.ts'
import type { WaitFor } from '../../src/plan/target.ts'
import { condition, iso, moment } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { read } from '../kit/rule.ts'

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
  return read({}, waitForRule(waitFor), object)
}

const conditionReady: WaitFor = { type: 'condition', condition: 'ready', status: 'true' }
const phase: WaitFor = { type: 'jsonpath', path: '{.status.phase}', value: 'Issued' }

describe('a --for that is met by a stale status', () => {
  const writtenAt = (spec: number, status: number) => ({
    managedFields: [
      { manager: 'kubectl', operation: 'Apply', time: iso(spec) },
      { manager: 'issuer', operation: 'Update', subresource: 'status', time: iso(status) },
    ],
  })
  const issued = { phase: 'Issued', conditions: [condition('Ready', 'True')] }
  const assessmentAt = (waitFor: WaitFor, object: KubeObject, now: number) =>
    read({ now }, waitForRule(waitFor), object)

  it.each([
    ['condition', conditionReady],
    ['field', phase],
  ])('waits for the settle time if a %s names no generation', (_name, waitFor) => {
    const certificateNow = certificate(issued, writtenAt(-1, -600))
    expect(assessmentAt(waitFor, certificateNow, 8.9)).toMatchObject({ status: 'progressing', recheckAt: moment(9) })
    expect(assessmentAt(waitFor, certificateNow, 9)).toMatchObject({ status: 'ready' })
    expect(assessmentAt(waitFor, certificate(issued, writtenAt(-1, 0)), 0)).toMatchObject({ status: 'ready' })
  })

  it('is met at once by a field outside of the status', () => {
    const size: WaitFor = { type: 'jsonpath', path: '{.metadata.name}', value: 'tls' }
    expect(assessmentAt(size, certificate(issued, writtenAt(-1, -600)), 0)).toMatchObject({ status: 'ready' })
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

test.each(rows<string>(data, 'the JSONPath is refused'))('the JSONPath %j is refused', (path) => {
  expect(compileJsonPath(path)).toBeUndefined()
})
