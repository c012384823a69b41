import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { WatchedRequests } from '../../src/cluster/store.ts'
import { ApiHealth } from '../../src/gate/api-health.ts'
import {
  added,
  alive,
  at,
  createWorkload,
  failed,
  modified,
  type Run,
  type RunOptions,
  run,
  synced,
} from '../kit/gate.ts'
import { complete, make, moment } from '../kit/objects.ts'

const web = createWorkload('web')

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
    synced(`${ingress.apiVersion} Ingress@shop/web`, 'Service', 'Event'),
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
