import { describe, expect, it } from '@jest/globals'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, Pod, PodStatus } from '../../src/cluster/objects.ts'
import { answers, createChecks, createServer, createService } from '../kit/checks.ts'
import { added, alive, allSynced, at, createTarget, modified, run, synced, unavailable } from '../kit/gate.ts'
import { iso, make, ownedBy, podIs } from '../kit/objects.ts'
import { endOf } from '../kit/tape-cases.ts'

/** A workload of a kind, observed at its present generation. */
const workload = (kind: string, fields: { readonly spec: object; readonly status: object }): KubeObject =>
  ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', generation: 1, creationTimestamp: iso(-600) },
    ...fields,
  }) as KubeObject

const lists: Observation[] = [...allSynced, ...synced('Service', 'EndpointSlice', 'Node')]
const others = synced('StatefulSet', 'DaemonSet', 'ControllerRevision')

describe('a Service in front of a canary that is gated and of a stable version that is not', () => {
  const canary = createServer(1, 'canary')
  const stable = createServer(2, 'stable')
  const shared = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, tier: 'web' } },
  })
  const withTier = (object: KubeObject): KubeObject => {
    const copy = structuredClone(object) as { spec: { template: { metadata: { labels: Record<string, string> } } } }
    copy.spec.template.metadata.labels['tier'] = 'web'
    return copy as unknown as KubeObject
  }
  const service = createService({ selector: { tier: 'web' } })
  const pods = [...canary.pods(), ...stable.pods()]
  const slice: KubeObject = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace: 'shop', uid: 'slice', labels: { 'kubernetes.io/service-name': 'web' } },
    ...({
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080 }],
      endpoints: pods.map(({ metadata: { name, uid } }, index) => ({
        addresses: [`10.0.0.${index}`],
        conditions: { ready: true },
        targetRef: { kind: 'Pod', name, uid, namespace: 'shop' },
      })),
    } as object),
  }
  const objects = [
    withTier(canary.deployment()),
    withTier(canary.replicaSet),
    withTier(stable.deployment()),
    withTier(stable.replicaSet),
    ...pods.map(shared),
    service,
    slice,
  ]
  const targets = [createTarget({ name: 'canary' }), createTarget({ apiVersion: 'v1', kind: 'Service' })]
  const heldRun = (events: readonly FeedEvent[], hold = '0s') =>
    run([at(1, added(...objects), lists, others), events], {
      targets,
      afterReady: createChecks({ 'http-checks': 'service/web GET /', hold }, targets),
    })

  it.each<[string, readonly FeedEvent[], string]>([
    ['an answer of the stable version does not count', answers([3], {}, 'stable-1-a'), 'stalled no-answer 301'],
    ['an answer of the canary counts', answers([3], {}, 'canary-1-a'), 'ready 3'],
  ])('%s', (_, events, expected) => {
    expect(endOf(heldRun(events))).toBe(expected)
  })

  it.each<[string, Pod, string]>([
    ['the stable version does not break', shared(stable.pod('stable-1-a', podIs.dead(1, 20))), 'ready 31'],
    ['the canary breaks', shared(canary.pod('canary-1-a', podIs.dead(1, 20))), 'failed not-held 20'],
  ])('a death in %s the hold', (_, dead, expected) => {
    const right = answers([1, 11, 21, 31], {}, 'canary-1-a')
    const events = [...right.slice(0, 2), ...at(20, modified(dead)), ...right.slice(2)]
    expect(endOf(heldRun(events, '30s'))).toBe(expected)
  })
})

describe('old pods that stay', () => {
  const container = { name: 'app', image: 'acme/web:1', readinessProbe: {}, ports: [{ containerPort: 8080 }] }
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } }
  const podOfRevision = (owner: KubeObject, name: string, hash: string, status = podIs.ready(-60)) =>
    make.pod(
      {
        metadata: { name, labels: { app: 'web', 'controller-revision-hash': hash }, ownerReferences: ownedBy(owner) },
        spec: { containers: [container], nodeName: name },
        status,
      },
      owner,
    )
  const setOf = (updateStrategy: object) => ({
    spec: { replicas: 2, template, updateStrategy, selector: { matchLabels: { app: 'web' } } },
    status: {
      observedGeneration: 1,
      replicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      updatedReplicas: 1,
      currentRevision: 'web-1',
      updateRevision: 'web-2',
    },
  })
  const set = workload('StatefulSet', setOf({ type: 'OnDelete' }))
  const daemons = workload('DaemonSet', {
    spec: { template, updateStrategy: { type: 'OnDelete' }, selector: { matchLabels: { app: 'web' } } },
    status: {
      observedGeneration: 1,
      desiredNumberScheduled: 2,
      currentNumberScheduled: 2,
      numberReady: 2,
      numberAvailable: 2,
      updatedNumberScheduled: 1,
    },
  })
  const revisions = ['1', '2'].map(
    (revision): KubeObject => ({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: `web-${revision}`,
        namespace: 'shop',
        uid: `revision-${revision}`,
        labels: { 'controller-revision-hash': revision },
        ownerReferences: ownedBy(daemons),
      },
      ...({ revision: Number(revision), data: { spec: { template: revision === '2' ? template : {} } } } as object),
    }),
  )
  const canaried = workload('StatefulSet', setOf({ type: 'RollingUpdate', rollingUpdate: { partition: 1 } }))

  it.each<[string, KubeObject, readonly KubeObject[]]>([
    ['a StatefulSet with OnDelete', set, [podOfRevision(set, 'web-0', 'web-1'), podOfRevision(set, 'web-1', 'web-2')]],
    [
      'a StatefulSet with a partition',
      canaried,
      [podOfRevision(canaried, 'web-0', 'web-1'), podOfRevision(canaried, 'web-1', 'web-2')],
    ],
    [
      'a DaemonSet with OnDelete',
      daemons,
      [podOfRevision(daemons, 'web-0', '1'), podOfRevision(daemons, 'web-1', '2'), ...revisions],
    ],
  ])('of %s are not asked, and do not break its hold', (_, object, objects) => {
    const targets = [createTarget({ kind: object.kind })]
    const line = `${object.kind.toLowerCase()}/web GET / --each-pod`
    const old = objects[0] as Pod
    const dead = at(20, modified({ ...old, status: podIs.dead(1, 20) }))
    const recovered = at(
      25,
      modified({ ...old, status: { ...podIs.ready(24), containerStatuses: old.status?.containerStatuses } }),
    )
    const result = run(
      [
        at(1, added(object, ...objects), lists, others),
        answers([2, 12, 22, 32], {}, 'web-1').slice(0, 2),
        dead,
        answers([22], {}, 'web-1'),
        recovered,
        answers([32], {}, 'web-1'),
      ],
      { targets, afterReady: createChecks({ 'http-checks': line, hold: '30s' }, targets) },
    )
    expect(result.record.httpChecks?.[0]?.answers.map(({ pod: name }) => name)).toEqual(['web-1'])
    expect(endOf(result)).toBe('ready 32')
  })
})

it('a hundred pods that share 16 requests at a time and hang are proven before the gate ends', () => {
  const server = createServer(100)
  const names = Array.from({ length: 100 }, (_, index) => `web-1-${String(index).padStart(3, '0')}`)
  const pods = names.map((name) => server.pod(name))
  const listed = at(1, added(server.deployment(), server.replicaSet, ...pods), lists)
  const right = names.flatMap((name) => answers([2], {}, name))
  // Six rounds of 16 requests that time out after 5 s: each pod is asked about every 35 s.
  const hanging = [0, 1, 2, 3].flatMap((round) =>
    names.flatMap((name, index) =>
      answers([15 + 35 * round + 5 * Math.floor(index / 16)], { status: undefined, error: 'no answer for 5 s' }, name),
    ),
  )
  const afterReady = createChecks({ 'http-checks': 'deployment/web GET / --each-pod', hold: '30s' })
  const result = run([listed, right, hanging], { afterReady })
  expect(endOf(result)).toBe('failed no-answer 85')
})

it.each<[string, readonly FeedEvent[], string]>([
  ['is asked again after the outage', answers([75]), 'ready 75'],
  ['has 30 s after the outage to answer', [], 'unknown api-unreachable 100'],
])(
  'a pod that could not be asked at the end of the hold, because the API server was not reachable, %s',
  (_, later, expected) => {
    const server = createServer()
    const steps = [
      at(1, added(server.deployment(), server.replicaSet, ...server.pods()), lists),
      answers([1, 11, 21]),
      at(28, unavailable('Deployment', 25)),
      at(70, alive),
      later,
    ]
    const afterReady = createChecks({ 'http-checks': 'deployment/web GET /', hold: '30s' })
    expect(endOf(run(steps, { afterReady }))).toBe(expected)
  },
)

it('the hold of a custom resource is broken by a pod of its Deployment that dies', () => {
  const status = { conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }], observedGeneration: 1 }
  const metadata = { name: 'web', namespace: 'shop', uid: 'widget-uid', generation: 1 }
  const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata, status }
  const owned = make.deployment({ metadata: { ownerReferences: ownedBy(widget) } })
  const replicaSet = make.replicaSet({}, owned)
  const podWith = (podStatus: PodStatus) => make.pod({ metadata: { name: 'a' }, status: podStatus }, replicaSet)
  const target = createTarget({ apiVersion: 'example.com/v1', kind: 'Widget' })
  const steps = [
    at(1, added(widget), synced('Widget@example.com/v1'), lists, others),
    at(2, added(owned, replicaSet, podWith(podIs.ready(2)))),
    at(20, modified(podWith(podIs.dead(1, 20)))),
  ]
  const { outcome, reason, seconds } = run(steps, {
    targets: [target],
    afterReady: createChecks({ hold: '1m' }, [target]),
  })
  expect({ outcome, reason, seconds }).toEqual({ outcome: 'failed', reason: 'not-held', seconds: 20 })
})
