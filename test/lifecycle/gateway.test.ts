import type { Condition, KubeObject } from '../../src/cluster/objects.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { condition, iso } from '../kit/objects.ts'
import { type ContextOptions, read } from '../kit/rule.ts'

/** Of generation 2, so that conditions of generation 1 are stale. */
const generation = 2

function reportedCondition(type: string, status: string, rest: Partial<Condition> = {}): Condition {
  return condition(type, status, { observedGeneration: generation, lastTransitionTime: iso(0), ...rest })
}

const accepted = reportedCondition('Accepted', 'True')
const resolved = reportedCondition('ResolvedRefs', 'True')
/** What the API server writes into every new Gateway. */
const defaulted = ['Accepted', 'Programmed'].map((type) =>
  condition(type, 'Unknown', {
    reason: 'Pending',
    message: 'Waiting for controller',
    lastTransitionTime: '1970-01-01T00:00:00Z',
  }),
)

function judge(object: KubeObject, now = 60, options: ContextOptions = {}) {
  return read({ now, ...options }, ruleOf(object), object)
}

function gateway(status: object | undefined, now?: number) {
  const object: KubeObject = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'edge', namespace: 'shop', uid: 'edge-uid', generation },
    spec: { gatewayClassName: 'acme', listeners: [{ name: 'https', port: 443, protocol: 'HTTPS' }] },
    ...(status === undefined ? {} : { status }),
  }
  return judge(object, now)
}

describe('a Gateway', () => {
  it.each([
    ['a status', undefined],
    ['more than what the API server writes into a new one', { conditions: defaulted }],
    ['a word about its present generation', { conditions: [{ ...accepted, observedGeneration: 1 }] }],
  ])('waits for its controller without %s', (_, status) => {
    const { status: judged, problems, milestones } = gateway(status)
    expect(judged).toBe('progressing')
    expect(problems).toMatchObject([
      { reason: 'not-reconciled', class: 'slow', message: expect.stringContaining('GatewayClass acme') },
    ])
    expect(milestones).toMatchObject([{ state: 'done' }, { name: 'observed', state: 'open' }, { state: 'open' }])
  })
})

const edge = { name: 'edge' }

function route(
  parents: readonly object[] | undefined,
  { now = 60, ...spec }: { readonly now?: number; readonly parentRefs?: readonly object[]; rules?: object[] } = {},
  options: ContextOptions = {},
) {
  const object: KubeObject = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', generation },
    spec: { parentRefs: [edge], ...spec },
    ...(parents === undefined ? {} : { status: { parents } }),
  }
  return judge(object, now, options)
}

function parent(parentRef: object, ...conditions: Condition[]) {
  return { parentRef, controllerName: 'acme.example/gateway', conditions }
}

describe('a route of the Gateway API', () => {
  it.each(['HTTPRoute', 'GRPCRoute', 'TLSRoute', 'TCPRoute', 'UDPRoute'])('is an %s as any other', (kind) => {
    const object: KubeObject = {
      apiVersion: 'gateway.networking.k8s.io/v1alpha2',
      kind,
      metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', generation },
      spec: { parentRefs: [edge] },
      status: { parents: [parent({ name: 'other' }, accepted)] },
    }
    expect(judge(object)).toMatchObject({ status: 'progressing', problems: [{ reason: 'not-reconciled' }] })
  })

  it('waits together with its parents', () => {
    const parentRefs = [edge, { name: 'mesh', namespace: 'infra', kind: 'Service', group: '' }]
    expect(route([], { parentRefs }).awaits).toEqual([
      { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', namespace: 'shop', name: 'edge' },
      { apiVersion: 'v1', kind: 'Service', namespace: 'infra', name: 'mesh' },
    ])
    expect(route([parent(edge, accepted, resolved)])).not.toHaveProperty('awaits')
  })

  it.each([
    ['has no status', undefined],
    ['has a status that names no parent', []],
    ['was accepted in an older generation only', [parent(edge, { ...accepted, observedGeneration: 1 })]],
  ])('waits for its parent when it %s', (_, parents) => {
    expect(route(parents)).toMatchObject({
      status: 'progressing',
      milestones: [{ state: 'done' }, { name: 'observed', state: 'open' }, { state: 'open' }],
      problems: [{ reason: 'not-reconciled', class: 'slow', message: expect.stringContaining('gateway/edge') }],
    })
  })

  it('waits for each of its parents', () => {
    const both = [edge, { name: 'mesh', namespace: 'infra' }]
    expect(route([parent(edge, accepted, resolved)], { parentRefs: both })).toMatchObject({
      status: 'progressing',
      problems: [{ message: expect.stringContaining('whether gateway/mesh in infra accepts it') }],
    })
  })
})
