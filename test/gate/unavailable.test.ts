import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { WatchedRequests } from '../../src/cluster/store.ts'
import { ApiHealth } from '../../src/gate/api-health.ts'
import {
  added,
  alive,
  allSynced,
  at,
  createWorkload,
  creating,
  deleted,
  failed,
  modified,
  type Run,
  type RunOptions,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { complete, is, make, moment, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const api = createWorkload('api')
const first = at(0, web.creating, allSynced)

const pods = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }

function healthAfter(...steps: readonly FeedEvent[][]): ApiHealth {
  const health = new ApiHealth(new WatchedRequests())
  for (const event of steps.flat()) health.observe(event)
  return health
}

describe('the watch of pods is unavailable', () => {
  it.each([0, 401, 429, 500, 503])('after an error %d', (code) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(code))).isUnavailable([pods])).toBe(true)
  })

  it.each([403, 404])('but not after an error %d, which is an answer', (code) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(code))).isUnavailable([pods])).toBe(false)
  })

  it.each<[string, FeedEvent[]]>([
    ['the server answers', at(2, alive)],
    ['a deployment is reported, and the error names no kind', at(2, added(make.deployment()))],
    ['pods are listed', at(2, synced('Pod'))],
  ])('until %s', (_, event) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(0)), event).isUnavailable([pods])).toBe(false)
  })

  it.each<[string, FeedEvent[]]>([
    [
      'a log that was read before',
      at(2, { type: 'LOG', namespace: 'shop', pod: 'p', container: 'c', previous: false, text: '' }),
    ],
    ['the end of a recording', at(2, { type: 'END' })],
    ['another error', at(2, failed(500, 'Pod'))],
    ['a deployment', at(2, added(make.deployment()))],
    ['the watch of another kind', at(2, { type: 'ALIVE', ...pods, kind: 'Service' })],
    ['a list of another kind', at(2, synced('Service'))],
  ])('also after %s', (_, event) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(0, 'Pod')), event).isUnavailable([pods])).toBe(true)
  })

  it('while other watches are available, if the error names the kind', () => {
    const health = healthAfter(at(0, synced('Pod')), at(1, failed(0, 'Pod')))
    expect(health.isUnavailable([{ ...pods, kind: 'Service' }])).toBe(false)
  })
})

describe('a gate without an answer', () => {
  it.each<[string, FeedEvent[][], Partial<Run>]>([
    [
      'is unknown after 2 m',
      [first, at(10, failed(0, 'Pod', 'connection refused'))],
      {
        outcome: 'unknown',
        reason: 'api-unreachable',
        seconds: 130,
        message: 'the API server has not answered for 2 m: connection refused',
      },
    ],
    [
      'is misconfigured after 30 s when it never saw anything',
      [at(1, failed(0))],
      { outcome: 'misconfigured', reason: 'api-unreachable', seconds: 31 },
    ],
    [
      'is unknown as soon as credentials are refused twice',
      [first, at(10, failed(401)), at(11, failed(401))],
      { outcome: 'unknown', reason: 'credentials-expired', seconds: 11 },
    ],
    [
      'is unknown when the watch of events reports refused credentials as final',
      [first, at(10, { ...failed(401, 'Event'), final: true } as never)],
      { outcome: 'unknown', reason: 'credentials-expired', seconds: 10 },
    ],
    [
      'is misconfigured when they never were good',
      [at(1, failed(401)), at(1, failed(401))],
      { outcome: 'misconfigured', reason: 'credentials-expired', seconds: 1 },
    ],
    [
      'is unknown 2 m after credentials were refused once',
      [first, at(10, failed(401))],
      { outcome: 'unknown', reason: 'credentials-expired', seconds: 130 },
    ],
    [
      'is unknown when the target may be read no longer, and access is not given back for 30 s',
      [first, at(10, failed(403, 'Deployment', 'no')), at(39, modified(web.pod(podIs.ready(20))))],
      { outcome: 'unknown', reason: 'forbidden', seconds: 40, message: 'deployment/web cannot be read any more: no' },
    ],
    [
      'is unknown when pods may no longer be asked',
      [first, at(10, { ...failed(403, undefined, 'no'), final: true } as never)],
      { outcome: 'unknown', reason: 'forbidden', seconds: 10, message: 'requests to pods are no longer permitted: no' },
    ],
    [
      'is misconfigured when the target cannot be read at all',
      [at(1, failed(403, 'Deployment', 'no'))],
      { outcome: 'misconfigured', reason: 'forbidden', seconds: 1, message: 'deployment/web cannot be read: no' },
    ],
  ])('%s', (_, steps, expected) => {
    expect(run(steps)).toMatchObject(expected)
  })

  it('continues when credentials are accepted after their first refusal', () => {
    const steps = [first, at(10, failed(401)), at(12, alive), at(50, failed(401)), at(51, alive)]
    expect(runUntil(60, steps).outcome).toBeUndefined()
  })

  it('continues when access to the target is restored within 30 s', () => {
    const back = [
      at(39, synced('Deployment')),
      at(140, modified(web.pod(podIs.ready(100)), web.deployment(complete()))),
    ]
    const { outcome, seconds, entries } = run([first, at(10, failed(403, 'Deployment', 'no')), ...back])
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 140 })
    expect(entries).toContain('10 note cannot be read any more: no')
  })

  it('ends by its own timeout, but not as timed out, while access to the target is withdrawn', () => {
    const steps = [first, at(30, failed(403, 'Deployment', 'no'))]
    expect(run(steps, { settings: { timeoutMs: 60_000 } })).toMatchObject({
      outcome: 'unknown',
      reason: 'forbidden',
      seconds: 60,
    })
  })

  it('is not forbidden while an outage hides whether access was granted again', () => {
    const steps = [first, at(10, failed(403, 'Deployment', 'no')), at(12, failed(0, 'Deployment', 'reset'))]
    const back = at(60, synced('Deployment'), modified(web.pod(podIs.ready(40)), web.deployment(complete())))
    expect(run([...steps, back])).toMatchObject({ outcome: 'ready', seconds: 60 })
    expect(run([...steps, at(60, failed(403, 'Deployment', 'no'))])).toMatchObject({
      outcome: 'unknown',
      reason: 'forbidden',
      seconds: 60,
    })
  })

  it('that lost its access shortly before its timeout is delayed until the access returns, or for 30 s', () => {
    const steps = [first, at(50, failed(403, 'Deployment', 'no'))]
    const settings = { timeoutMs: 60_000 }
    expect(run(steps, { settings })).toMatchObject({ outcome: 'unknown', reason: 'forbidden', seconds: 80 })
    expect(run([...steps, at(65, synced('Deployment'))], { settings })).toMatchObject({
      outcome: 'timed-out',
      seconds: 65,
    })
  })

  it('continues when the server answers within 2 m', () => {
    const back = at(129, modified(web.pod(podIs.ready(100)), web.deployment(complete())))
    expect(run([first, at(10, failed(0)), back])).toMatchObject({ outcome: 'ready', seconds: 129 })
  })

  it('is ready by an event at the moment of the deadline', () => {
    const back = at(130, modified(web.pod(podIs.ready(100)), web.deployment(complete())))
    expect(run([first, at(10, failed(0)), back])).toMatchObject({ outcome: 'ready', seconds: 130 })
  })
})

describe('a kind that cannot be read', () => {
  it('is optional unless it is the target, and its refusal is logged', () => {
    const steps = [
      at(
        0,
        added(web.deployment(complete(1, { conditions: [] })), web.replicaSet),
        synced('Deployment', 'ReplicaSet', 'Event'),
      ),
      // The Deployment's own request and that of a Service in front of it.
      at(1, failed(403, 'Pod', 'pods is forbidden'), failed(403, 'Pod', 'pods is forbidden')),
    ]
    const { outcome, seconds, entries } = run(steps, { live: true })
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 1 })
    expect(entries.filter((entry) => entry.includes('cannot be read'))).toEqual([
      '1 note Pods cannot be read: continuing with what the controllers report (pods is forbidden)',
    ])
  })

  const denied = (kind: string, resource: string, group: string) =>
    failed(403, kind, `User "ci" cannot list resource "${resource}" in API group "${group}" in the namespace "shop"`)
  const readable = [...added(web.deployment(complete(1, { availableReplicas: 0 }))), ...synced('Deployment')]
  const refusalsIn = ({ entries }: Run) => entries.filter((entry) => entry.includes('cannot be read'))

  it('is logged in one line with other kinds that are refused within a second, with the RBAC rule that permits all of them', () => {
    const steps = [
      at(0, readable, denied('Pod', 'pods', ''), denied('ReplicaSet', 'replicasets', 'apps')),
      at(0.5, denied('Event', 'events', '')),
      at(10, modified(web.deployment(complete()))),
    ]
    expect(refusalsIn(run(steps, { live: true }))).toEqual([
      '1 note Pods, ReplicaSets and Events cannot be read: continuing with what the controllers report. ' +
        'To read them, user ci needs this rule in its Role: ' +
        '{apiGroups: ["", "apps"], resources: ["pods", "pods/log", "replicasets", "events"], verbs: ["get", "list", "watch"]}',
    ])
  })

  it('is a line of its own when it is refused later, and none when it can be read again within a second', () => {
    const steps = [
      at(0, readable, failed(403, 'Pod', 'no'), failed(403, 'ReplicaSet', 'no')),
      at(0.5, synced('ReplicaSet')),
      at(5, failed(403, 'Event', 'denied')),
      at(10, modified(web.deployment(complete()))),
    ]
    expect(refusalsIn(run(steps, { live: true }))).toEqual([
      '1 note Pods cannot be read: continuing with what the controllers report (no)',
      '6 note Events cannot be read: continuing with what the controllers report (denied)',
    ])
  })
})

describe('a kind that only warnings need', () => {
  const ingress: KubeObject = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace: 'shop', uid: 'ingress-uid' },
    spec: { ingressClassName: 'nginx' },
  }
  const classes = { apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass' }
  const options: RunOptions = {
    live: true,
    targets: [{ apiVersion: ingress.apiVersion, kind: 'Ingress', namespace: 'shop', name: 'web', clocks: {} }],
  }
  const listed = at(
    0,
    { type: 'ADDED', object: ingress },
    { type: 'SYNCED', apiVersion: ingress.apiVersion, kind: 'Ingress', namespace: 'shop', name: 'web' },
    synced('Service', 'Event'),
  )
  const answer = (event: Observation) => run([listed, at(1, event)], options)

  it('is awaited, and a warning shows what is missing', () => {
    expect(answer({ type: 'SYNCED', ...classes })).toMatchObject({
      outcome: 'ready',
      seconds: 1,
      entries: [expect.stringContaining('no IngressClass is named nginx')],
    })
  })

  it.each<[string, Observation]>([
    ['may not be read', { type: 'REFUSED', what: 'access', final: false, message: 'no', ...classes }],
    ['cannot be read', { type: 'UNAVAILABLE', code: 500, message: 'no', ...classes, lastSuccessAt: moment(0) }],
  ])('claims nothing and changes nothing if it %s', (_, event) => {
    const { outcome, seconds, entries } = answer(event)
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 1 })
    expect(entries.join()).not.toMatch(/IngressClass is named|cannot be read: continuing/)
  })
})

describe('clocks during an outage', () => {
  const blind = (from: number, to: number) => [at(from, failed(0)), at(to, alive)]

  it('the stall clock stops', () => {
    expect(run([first, ...blind(100, 200)])).toMatchObject({ outcome: 'stalled', seconds: 400 })
  })

  it('the stall clock stops, even if the user set it', () => {
    expect(
      run([first, ...blind(10, 60)], { settings: { stallTimeoutMs: 60_000, stallIsLiteral: true } }),
    ).toMatchObject({ outcome: 'stalled', seconds: 110 })
  })

  it('the stall clock of every target continues when an object of another target arrives', () => {
    const steps = [
      at(0, web.creating, api.creating, allSynced),
      at(100, failed(0)),
      at(200, modified(api.pod(podIs.unready({}, { phase: 'Pending' })))),
    ]
    const { targets } = run(steps, { targets: [web.target, api.target], settings: { failFast: false } })
    expect(targets.map(({ seconds }) => seconds)).toEqual([400, 400])
  })

  it('nothing is reported as missing', () => {
    expect(run([at(0, failed(0)), at(29, alive), at(29.5, failed(0)), at(100, web.done, allSynced)])).toMatchObject({
      outcome: 'ready',
      seconds: 100,
    })
  })

  it('nothing is reported as deleted', () => {
    const steps = [first, at(10, deleted(web.deployment())), at(11, failed(0)), at(40, web.done)]
    expect(run(steps)).toMatchObject({ outcome: 'ready', seconds: 40 })
  })

  it.each<[string, number, RunOptions, Partial<Run>]>([
    [
      'the timeout is unknown after 30 s of blindness',
      30,
      {},
      { outcome: 'unknown', reason: 'api-unreachable', seconds: 60 },
    ],
    ['the timeout waits for an answer before', 40, {}, { outcome: 'unknown', reason: 'api-unreachable', seconds: 70 }],
  ])('%s', (_, from, options, expected) => {
    expect(run([first, at(from, failed(0))], { ...options, settings: { timeoutMs: 60_000 } })).toMatchObject(expected)
  })
})

it('a kind that the server does not know neither makes the API unavailable nor ends anything', () => {
  const steps = [
    first,
    at(10, failed(404, 'Pod')),
    at(200, modified(web.pod(podIs.ready(200)), web.deployment(complete()))),
  ]
  expect(run(steps)).toMatchObject({ outcome: 'ready', seconds: 210 })
})

it('a problem that was proven before an outage stays proven', () => {
  const secret = podIs.unready({ state: is.waiting('CreateContainerConfigError', 'secret "nope" not found') })
  const steps = [
    at(0, added(web.deployment(complete(1, { availableReplicas: 0 })), web.replicaSet, web.pod(creating)), allSynced),
    at(2, modified(web.pod(secret))),
    at(30, failed(0)),
    at(61, modified(web.pod(podIs.ready(45)), web.deployment(complete()))),
  ]
  expect(run(steps)).toMatchObject({ outcome: 'ready', seconds: 61 })
})
