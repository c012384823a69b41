import type { Condition, KubeObject } from '../../src/cluster/objects.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { condition, iso, moment } from '../kit/objects.ts'
import { type ContextOptions, context, reported, seenTarget } from '../kit/rule.ts'

/** Of generation 2, so that conditions of generation 1 are stale. */
const generation = 2

function reportedCondition(type: string, status: string, rest: Partial<Condition> = {}): Condition {
  return condition(type, status, { observedGeneration: generation, lastTransitionTime: iso(0), ...rest })
}

const accepted = reportedCondition('Accepted', 'True')
const programmed = reportedCondition('Programmed', 'True')
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
  return reported(ruleOf(object).assess(object, context({ now, history: seenTarget([0, object]), ...options })))
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

function listener(...conditions: Condition[]) {
  return { name: 'https', conditions }
}

describe('a Gateway', () => {
  it('is ready when it is accepted and programmed, and reports its address', () => {
    const conditions = [accepted, programmed]
    expect(gateway({ conditions, addresses: [{ value: '192.0.2.1' }], listeners: [listener(accepted)] })).toMatchObject(
      { status: 'ready', message: 'accepted and programmed, address 192.0.2.1', notes: [] },
    )
  })

  it('reports a missing address, and does not wait for it', () => {
    expect(gateway({ conditions: [accepted, programmed] })).toMatchObject({
      status: 'ready',
      notes: ['it has no address yet'],
    })
  })

  it('is ready by the older names of its conditions, if it has only those', () => {
    expect(
      gateway({ conditions: [reportedCondition('Scheduled', 'True'), reportedCondition('Ready', 'True')] }).status,
    ).toBe('ready')
  })

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

  it('waits to be programmed once it is accepted', () => {
    expect(gateway({ conditions: [accepted] })).toMatchObject({
      status: 'progressing',
      message: 'waiting for its controller to accept and program it',
      problems: [],
    })
  })

  it.each([
    [
      'it is not accepted',
      {
        conditions: [reportedCondition('Accepted', 'False', { reason: 'InvalidParameters', message: 'no such thing' })],
      },
      'Accepted is False (InvalidParameters): no such thing',
    ],
    [
      'it is not programmed',
      { conditions: [accepted, reportedCondition('Programmed', 'False', { reason: 'AddressNotAssigned' })] },
      'Programmed is False (AddressNotAssigned)',
    ],
    [
      'Programmed is Unknown',
      { conditions: [accepted, reportedCondition('Programmed', 'Unknown', { reason: 'Pending' })] },
      'Programmed is Unknown (Pending)',
    ],
    [
      'the certificate of a listener is missing, though the rest is programmed',
      {
        conditions: [accepted, programmed],
        listeners: [
          listener(accepted, reportedCondition('ResolvedRefs', 'False', { reason: 'InvalidCertificateRef' })),
        ],
      },
      'listener https: ResolvedRefs is False (InvalidCertificateRef)',
    ],
    [
      'two listeners want the same',
      { conditions: [accepted, programmed], listeners: [listener(reportedCondition('Conflicted', 'True'))] },
      'listener https: Conflicted is True',
    ],
    [
      'a listener is wrong, before what the Gateway makes of that',
      {
        conditions: [accepted, reportedCondition('Programmed', 'False', { reason: 'Invalid' })],
        listeners: [listener(reportedCondition('Accepted', 'False', { reason: 'PortUnavailable' }))],
      },
      'listener https: Accepted is False (PortUnavailable), Programmed is False (Invalid)',
    ],
  ])('is not ready while %s, which may be repaired', (_, status, message) => {
    expect(gateway(status)).toMatchObject({
      status: 'progressing',
      message,
      problems: [{ reason: 'condition-false', class: 'slow', message }],
    })
  })

  it('is judged by its conditions, although other parts of its status are malformed', () => {
    for (const listeners of [null, {}, [null], [{ conditions: 'none' }]])
      expect(gateway({ conditions: [accepted, programmed], listeners, addresses: {} }).status).toBe('ready')
  })

  it('is ready whatever the conditions of a listener of an older generation are', () => {
    const old = listener(condition('Programmed', 'False', { observedGeneration: 1 }))
    expect(gateway({ conditions: [accepted, programmed], listeners: [old] }).status).toBe('ready')
  })

  it('fails when its controller has reported for 10 s that it does not support what is requested', () => {
    const status = {
      conditions: [
        reportedCondition('Accepted', 'False', { reason: 'UnsupportedAddress', lastTransitionTime: iso(50) }),
      ],
    }
    expect(gateway(status, 59)).toMatchObject({ status: 'progressing', recheckAt: moment(60) })
    expect(gateway(status, 60)).toMatchObject({
      status: 'failed',
      failure: { reason: 'reported-failed', class: 'strike', message: 'Accepted is False (UnsupportedAddress)' },
    })
  })
})

it('a refusal of the Gateway API that is dated in the future counts from its first sight', () => {
  const refused = reportedCondition('Accepted', 'False', { reason: 'UnsupportedValue', lastTransitionTime: iso(3_600) })
  expect(gateway({ conditions: [refused] }, 9)).toMatchObject({ status: 'progressing', recheckAt: moment(10) })
  expect(gateway({ conditions: [refused] }, 10).status).toBe('failed')
  expect(route([parent(edge, refused)], { now: 9 })).toMatchObject({ status: 'progressing', recheckAt: moment(10) })
  expect(route([parent(edge, refused)], { now: 10 }).status).toBe('failed')
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

  it('is ready when its parent accepts it and its references are resolved', () => {
    expect(route([parent(edge, accepted, resolved)])).toMatchObject({
      status: 'ready',
      message: 'accepted by gateway/edge',
    })
  })

  it.each([
    [
      'with its defaults written out',
      { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'shop', name: 'edge' },
    ],
    ['with the listener that took it', { name: 'edge', sectionName: 'https' }],
  ])('finds its parent in the status %s', (_, ref) => {
    expect(route([parent(ref, accepted, resolved)]).status).toBe('ready')
  })

  it.each([
    ['of another name', { name: 'other' }],
    ['in another namespace', { name: 'edge', namespace: 'infra' }],
    ['of another kind', { kind: 'Service', group: '', name: 'edge' }],
  ])('ignores the status of a parent %s', (_, ref) => {
    expect(route([parent(ref, accepted, resolved)]).problems).toMatchObject([{ reason: 'not-reconciled' }])
  })

  it('distinguishes the listeners of one Gateway', () => {
    const [http, https] = ['http', 'https'].map((sectionName) => ({ ...edge, sectionName })) as [object, object]
    const refused = reportedCondition('Accepted', 'False', { reason: 'NotAllowedByListeners' })
    const parents = [parent(http, accepted), parent(https, refused)]
    expect(route(parents, { parentRefs: [http] }).status).toBe('ready')
    expect(route(parents, { parentRefs: [http, https] })).toMatchObject({
      status: 'progressing',
      message: 'gateway/edge, listener https: Accepted is False (NotAllowedByListeners)',
    })
  })

  it('ignores the status of a parent that it no longer names', () => {
    const gone = parent({ name: 'old' }, { ...reportedCondition('Accepted', 'False'), observedGeneration: 1 })
    expect(route([gone, parent(edge, accepted, resolved)]).status).toBe('ready')
  })

  it('ignores what an earlier controller wrote about an older generation', () => {
    const left = {
      ...parent(edge, { ...reportedCondition('Accepted', 'False'), observedGeneration: 1 }),
      controllerName: 'gone',
    }
    expect(route([left, parent(edge, accepted, resolved)]).status).toBe('ready')
  })

  it('is ready if the controller reports nothing about references', () => {
    expect(route([parent(edge, accepted)]).status).toBe('ready')
  })

  describe('with a backend Service that is missing', () => {
    const found: KubeObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'api', namespace: 'shop', uid: 'api-uid' },
      spec: { ports: [{ port: 80 }] },
    }
    const named = (backend: object) => ({ parentRefs: [edge], rules: [{ backendRefs: [backend] }] })
    const missing = 'its backend service/api does not exist'
    const noPort = 'its backend service/api has no port 81'

    it.each([
      ['the Service', { name: 'api', port: 80 }, [], missing],
      ['the port', { name: 'api', port: 81 }, [found], noPort],
    ])('waits for %s if its controller reports nothing about references', (_, backend, objects, message) => {
      expect(route([parent(edge, accepted)], named(backend), { objects })).toMatchObject({
        status: 'progressing',
        problems: [{ reason: 'backend-missing', class: 'slow', message }],
      })
    })

    it('names it beside the parent that has not answered', () => {
      expect(route([], named({ name: 'api', port: 80 })).problems).toMatchObject([
        { reason: 'not-reconciled' },
        { reason: 'backend-missing', message: missing },
      ])
    })

    it('is ready, with a warning, if its controller reports that all references are resolved', () => {
      const resolvedRoute = (backend: object, objects: KubeObject[]) =>
        route([parent(edge, accepted, resolved)], named(backend), { objects })
      expect(resolvedRoute({ name: 'api', port: 80 }, [])).toMatchObject({ status: 'ready', warnings: [missing] })
      expect(resolvedRoute({ name: 'api', port: 81 }, [found])).toMatchObject({ status: 'ready', warnings: [noPort] })
      expect(resolvedRoute({ name: 'api', port: 80 }, [found])).toMatchObject({ status: 'ready', warnings: [] })
    })

    it('does not repeat what its controller reports', () => {
      const against = reportedCondition('ResolvedRefs', 'False', { reason: 'BackendNotFound' })
      expect(route([parent(edge, accepted, against)], named({ name: 'api', port: 80 }))).toMatchObject({
        problems: [{ reason: 'condition-false' }],
        warnings: [],
      })
    })

    it.each([
      ['in another namespace', { name: 'api', namespace: 'infra', port: 80 }, {}],
      ['of another kind', { group: 'acme.example', kind: 'Bucket', name: 'api' }, {}],
      ['that may not be read', { name: 'api', port: 80 }, { unseen: ['Service'] }],
    ])('claims nothing about a backend %s', (_, backend, options) => {
      expect(route([parent(edge, accepted)], named(backend), options).status).toBe('ready')
    })
  })

  it('waits together with its parents', () => {
    const parentRefs = [edge, { name: 'mesh', namespace: 'infra', kind: 'Service', group: '' }]
    expect(route([], { parentRefs }).awaits).toEqual([
      { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', namespace: 'shop', name: 'edge' },
      { apiVersion: 'v1', kind: 'Service', namespace: 'infra', name: 'mesh' },
    ])
    expect(route([parent(edge, accepted, resolved)])).not.toHaveProperty('awaits')
  })

  it('waits when its status contains no list of parents', () => {
    for (const parents of [null, {}, 'none', [null], [{ parentRef: null }], [{ parentRef: edge, conditions: {} }]])
      expect(route(parents as never).status).toBe('progressing')
  })

  it('is ready once it exists when it names no parent, with a note', () => {
    expect(route(undefined, { parentRefs: [] })).toMatchObject({
      status: 'ready',
      notes: ['it names no parent, so nothing takes its traffic'],
    })
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

  it.each([
    [
      'no listener lets it in',
      reportedCondition('Accepted', 'False', { reason: 'NotAllowedByListeners', message: 'not from here' }),
    ],
    ['no listener has its name', reportedCondition('Accepted', 'False', { reason: 'NoMatchingListenerHostname' })],
    ['its Gateway has no such listener', reportedCondition('Accepted', 'False', { reason: 'NoMatchingParent' })],
    ['its backend does not exist', reportedCondition('ResolvedRefs', 'False', { reason: 'BackendNotFound' })],
    ['it may not refer to its backend', reportedCondition('ResolvedRefs', 'False', { reason: 'RefNotPermitted' })],
    ['it is still being programmed', reportedCondition('Programmed', 'False')],
  ])('is not ready while %s, which may be repaired', (_, against) => {
    const judged = route([parent(edge, accepted, resolved, against)])
    expect(judged).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'condition-false', class: 'slow' }],
    })
    expect(judged.message).toContain(`${against.type} is False`)
  })

  it('is not ready, though accepted, while some of its rules are left out', () => {
    const partly = reportedCondition('PartiallyInvalid', 'True', { message: 'Dropped Rule 2' })
    expect(route([parent(edge, accepted, resolved, partly)])).toMatchObject({
      status: 'progressing',
      message: 'PartiallyInvalid is True: Dropped Rule 2',
    })
  })

  it.each(['UnsupportedValue', 'IncompatibleFilters', 'InvalidKind'])(
    'fails when %s has persisted for 10 s: only another apply repairs that',
    (reason) => {
      const against = reportedCondition('Accepted', 'False', { reason, lastTransitionTime: iso(50) })
      expect(route([parent(edge, against)], { now: 59 })).toMatchObject({
        status: 'progressing',
        recheckAt: moment(60),
      })
      expect(route([parent(edge, against)], { now: 60 })).toMatchObject({
        status: 'failed',
        failure: { reason: 'reported-failed' },
      })
    },
  )
})
