import type { Condition, KubeObject } from '../../src/cluster/objects.ts'
import { waitForRule } from '../../src/lifecycle/custom/wait-for.ts'
import type { Rule } from '../../src/lifecycle/rule.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { condition, iso, moment } from '../kit/objects.ts'
import { read, seenTarget } from '../kit/rule.ts'

/** An object whose spec and status were written at these seconds after the gate's start. */
function writtenAt(spec: number, status: number) {
  return [
    { manager: 'kubectl', operation: 'Apply', time: iso(spec) },
    { manager: 'controller', operation: 'Update', subresource: 'status', time: iso(status) },
  ]
}

interface Sample {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: object
  readonly status: object
  /** Absent for kinds without a generation. */
  readonly generation?: number
}

function create({ apiVersion, kind, generation, spec, status }: Sample, metadata: object = {}): KubeObject {
  const own = { name: 'web', namespace: 'shop', uid: 'web-uid', creationTimestamp: iso(-3_600) }
  const dated = generation === undefined ? {} : { generation }
  return { apiVersion, kind, metadata: { ...own, ...dated, ...metadata }, spec, status }
}

const before = (type: string, status = 'True', rest: Partial<Condition> = {}) =>
  condition(type, status, { lastTransitionTime: iso(-3_000), ...rest })

const autoscaler: Sample = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  spec: { maxReplicas: 3 },
  status: { conditions: [before('AbleToScale'), before('ScalingActive')] },
}
const apiService: Sample = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  spec: { service: { namespace: 'shop', name: 'metrics' } },
  status: { conditions: [before('Available')] },
}
const definition: Sample = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  generation: 2,
  spec: { group: 'example.com' },
  status: { conditions: [before('NamesAccepted'), before('Established')] },
}
const gateway: Sample = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  generation: 2,
  spec: { gatewayClassName: 'acme' },
  status: { conditions: [before('Accepted'), before('Programmed')] },
}
const parentRef = { name: 'edge' }
const route: Sample = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  generation: 2,
  spec: { parentRefs: [parentRef] },
  status: { parents: [{ parentRef, conditions: [before('Accepted'), before('ResolvedRefs')] }] },
}
const customSample: Sample = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  generation: 2,
  spec: { size: 2 },
  status: { conditions: [before('Ready')] },
}
const byWaitFor = {
  ...autoscaler,
  rule: waitForRule({ type: 'condition', condition: 'ScalingActive', status: 'true' }),
}

describe.each<[string, Sample & { readonly rule?: Rule }, waitSeconds: number]>([
  ['a HorizontalPodAutoscaler', autoscaler, 15],
  ['a HorizontalPodAutoscaler with --for', byWaitFor, 15],
  ['an APIService', apiService, 10],
  ['a CustomResourceDefinition', definition, 10],
  ['a Gateway', gateway, 10],
  ['a route', route, 10],
  ['a custom resource', customSample, 10],
])('%s with an older status without a generation', (_, sample, waitSeconds) => {
  const rule = sample.rule ?? ruleOf(sample)
  const assess = (object: KubeObject, now: number, history = seenTarget([0, object])) =>
    read({ now, history }, rule, object)
  const changed = create(sample, { managedFields: writtenAt(-2, -600) })

  it('is not ready before its controller had the time to reconcile, with a message', () => {
    const assessment = assess(changed, waitSeconds - 2.1)
    expect(assessment).toMatchObject({ status: 'progressing', problems: [], recheckAt: moment(waitSeconds - 2) })
    expect(assessment.message).toBe('its status may be older than its spec: waiting for its controller')
  })

  it('is ready when its status is the same after that time', () => {
    expect(assess(changed, waitSeconds - 2)).toMatchObject({ status: 'ready' })
  })

  if (sample !== customSample)
    it('is ready at once when its controller has written since', () => {
      expect(assess(create(sample, { managedFields: writtenAt(-2, -1) }), 0)).toMatchObject({ status: 'ready' })
    })

  it('is ready at once when it was only created', () => {
    const created = { creationTimestamp: iso(-2), ...(sample.generation === undefined ? {} : { generation: 1 }) }
    expect(assess(create(sample, { ...created, managedFields: writtenAt(-2, -2) }), 0)).toMatchObject({
      status: 'ready',
    })
  })

  it('has the whole time again when its spec changes during the wait', () => {
    const first = create(sample, { managedFields: writtenAt(-100, -50) })
    const next = sample.generation === undefined ? {} : { generation: sample.generation + 1 }
    const second = {
      ...create(sample, { ...next, managedFields: writtenAt(60, -50) }),
      spec: { ...sample.spec, changed: true },
    }
    const history = seenTarget([0, first], [60, second])
    expect(assess(second, 60 + waitSeconds - 0.1, history)).toMatchObject({ status: 'progressing' })
    expect(assess(second, 60 + waitSeconds, history)).toMatchObject({ status: 'ready' })
  })
})

describe('a custom resource that was Ready before its spec changed', () => {
  const readySince = (changedAt: number) => condition('Ready', 'True', { lastTransitionTime: iso(changedAt) })
  const assess = (status: object, now: number, metadata: object = {}) => {
    const object = create({ ...customSample, status }, { managedFields: writtenAt(-2, -1), ...metadata })
    return read({ now }, ruleOf(object), object).status
  }
  const dated = (changedAt: number) => ({ observedGeneration: 2, conditions: [readySince(changedAt)] })

  it.each([
    ['with the generation of the status', dated(-3_000)],
    ['with a generation of its own', { conditions: [{ ...readySince(-3_000), observedGeneration: 2 }] }],
    ['in another field', { observedGeneration: 2, phase: 'Running' }],
    ['without a generation', { conditions: [readySince(-3_000)] }],
  ])('is not ready before its controller had time to read references: %s', (_, status) => {
    expect([assess(status, 7.9), assess(status, 8)]).toEqual(['progressing', 'ready'])
  })

  it('is ready at once when the condition has changed since', () => {
    expect(assess(dated(-1), 0)).toBe('ready')
  })

  it('is ready at once when it was only created', () => {
    expect(assess(dated(-2), 0, { generation: 1 })).toBe('ready')
  })

  it('is ready at once when its spec has not changed for long', () => {
    expect(assess(dated(-3_000), 0, { managedFields: writtenAt(-600, -1) })).toBe('ready')
  })
})

describe('a failure in an older status without a generation', () => {
  const rejected = before('Accepted', 'False', { reason: 'UnsupportedValue' })
  it.each<[string, Sample]>([
    ['a Gateway', { ...gateway, status: { conditions: [rejected] } }],
    ['a route', { ...route, status: { parents: [{ parentRef, conditions: [rejected] }] } }],
    ['a CustomResourceDefinition', { ...definition, status: { conditions: [before('NamesAccepted', 'False')] } }],
    ['a custom resource', { ...customSample, status: { conditions: [before('Stalled')] } }],
  ])('of %s counts when it persists for 10 s, as the change may have repaired it', (_, sample) => {
    const object = create(sample, { managedFields: writtenAt(-2, -600) })
    const assess = (now: number) => read({ now }, ruleOf(object), object)
    expect(assess(9.9)).toMatchObject({ status: 'progressing', recheckAt: moment(10) })
    expect(assess(10)).toMatchObject({ status: 'failed', failure: { reason: 'reported-failed' } })
  })

  it('counts again when the spec changes during the wait', () => {
    const failed = { ...customSample, status: { conditions: [before('Stalled')] } }
    const first = create(failed, { managedFields: writtenAt(-100, -150) })
    const second = { ...create(failed, { generation: 3, managedFields: writtenAt(8, -150) }), spec: { size: 3 } }
    const history = seenTarget([0, first], [8, second])
    const assess = (now: number) => read({ now, history }, ruleOf(second), second)
    expect(assess(17.9)).toMatchObject({ status: 'progressing' })
    expect(assess(18)).toMatchObject({ status: 'failed' })
  })
})
