import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, Pod } from '../../src/cluster/objects.ts'
import { added, at, createTarget, modified, type RunOptions, run, runUntil } from '../kit/gate.ts'
import { complete, iso, make, ownedBy, podIs } from '../kit/objects.ts'

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', uid: 'service-uid' },
  spec: { type: 'ClusterIP', clusterIP: '10.0.0.1', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
}

const sliceOf = (...pods: readonly Pod[]) => make.slice(pods)

/** A Deployment whose second revision was just applied: its old pod serves, the new one crashes. */
const template = make.template({ containers: [make.container({ image: 'acme/web:v2' })] })
const status = complete(1, { observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1 })
const deployment = make.deployment({ metadata: { generation: 2 }, spec: { template }, status })
const oldSet = make.replicaSet({ metadata: { name: 'web-1', creationTimestamp: iso(-3600) } })
const newSet = make.replicaSet({ metadata: { name: 'web-2' }, spec: { template } }, deployment)
const oldPod = make.pod(
  { metadata: { name: 'web-1-a', creationTimestamp: iso(-3600) }, status: podIs.ready(-3500) },
  oldSet,
)
const newPod = make.pod({ metadata: { name: 'web-2-a' }, status: podIs.looping(1, -1) }, newSet)

const serviceTarget = createTarget({ apiVersion: 'v1', kind: 'Service' })

const apiVersions: Readonly<Record<string, string>> = {
  Service: 'v1',
  Pod: 'v1',
  ConfigMap: 'v1',
  Event: 'v1',
  EndpointSlice: 'discovery.k8s.io/v1',
}

function list(kind: string, objects: readonly KubeObject[] = []): Observation[] {
  return [...added(...objects), { type: 'SYNCED', apiVersion: apiVersions[kind] ?? 'apps/v1', kind, namespace: 'shop' }]
}

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length < 2) return [items]
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  )
}

const empty = ['StatefulSet', 'DaemonSet', 'Event'].flatMap((kind) => list(kind))
const lists = [
  list('Service', [service]),
  list('EndpointSlice', [sliceOf(oldPod)]),
  list('Pod', [oldPod, newPod]),
  list('Deployment', [deployment]),
  list('ReplicaSet', [oldSet, newSet]),
]

describe('a Service before a Deployment that is gated too', () => {
  describe.each([
    ['first', [serviceTarget, createTarget()]],
    ['last', [createTarget(), serviceTarget]],
  ])('named %s', (_, targets) => {
    const options: RunOptions = { targets, live: true }
    const becomesReady = (entries: readonly string[]) =>
      entries.filter((entry) => entry.includes('verdict') && entry.includes('endpoint'))

    it('is never ready on the endpoints of the older revision, whatever the order of the first lists', () => {
      for (const order of permutations(lists)) {
        const steps = [empty, ...order].map((observations, index) => at(index / 10, observations))
        expect(becomesReady(runUntil(5, steps, options).entries)).toEqual([])
      }
    })

    it('is not ready while only the list of ReplicaSets is missing, and is once a new pod serves', () => {
      const ready = make.pod({ metadata: { name: 'web-2-a' }, status: podIs.ready(1) }, newSet)
      const done = make.deployment({
        metadata: { generation: 2 },
        spec: { template },
        status: complete(1, { observedGeneration: 2 }),
      })
      const steps = [
        at(0, empty, list('Service', [service]), list('EndpointSlice', [sliceOf(oldPod)]), list('Pod', [oldPod])),
        at(1, list('Deployment', [deployment])),
        at(8, list('ReplicaSet', [oldSet, newSet])),
        at(20, added(ready), modified(sliceOf(oldPod, ready)), modified(done)),
      ]
      const { outcome, entries } = run(steps, options)
      expect(becomesReady(entries)).toEqual(['20 verdict 1 endpoint ready'])
      expect(outcome).toBe('ready')
    })

    it('is not ready on those endpoints while the change of the Deployment is awaited', () => {
      const before = make.deployment({ metadata: { generation: 1 }, status: complete() })
      const steps = [
        at(0, empty, list('EndpointSlice', [sliceOf(oldPod)]), list('Pod', [oldPod]), list('ReplicaSet', [oldSet])),
        at(0, list('Deployment', [before]), list('Service')),
        // The Service is new, so it is its own change.
        at(2, added(service)),
      ]
      const { entries, outcome, reason } = run(steps, { ...options, settings: { awaitChangeMs: 60_000 } })
      expect(becomesReady(entries)).toEqual([])
      expect({ outcome, reason }).toEqual({ outcome: 'stalled', reason: 'change-not-seen' })
    })
  })
})

describe('a Service before crashing pods, while a Deployment with the same labels is scaled to zero', () => {
  const idle = make.deployment({ spec: { replicas: 0 }, status: complete(0) })
  const crashing = (owner: KubeObject) => {
    const { ownerReferences: _, ...metadata } = make.pod().metadata
    return {
      ...make.pod({ status: podIs.looping(1, -1) }),
      metadata: {
        ...metadata,
        name: 'other',
        uid: 'other-uid',
        ...(owner === idle ? {} : { ownerReferences: ownedBy(owner) }),
      },
    }
  }
  const rollout = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout', metadata: { name: 'web', uid: 'rollout-uid' } }
  const daemonSet = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'web', namespace: 'shop', uid: 'ds-uid' },
    spec: { template: make.template() },
  }
  const ownSet = make.replicaSet({ metadata: { name: 'own', ownerReferences: [] } })
  const rolloutSet = make.replicaSet({ metadata: { name: 'web-r', ownerReferences: ownedBy(rollout) } })

  function judge(pods: readonly KubeObject[], sets: readonly KubeObject[], daemonSets: readonly KubeObject[] = []) {
    const steps = [
      at(0, list('Service', [service]), list('EndpointSlice', [sliceOf()]), list('Pod', pods), list('Event')),
      at(0, list('StatefulSet'), list('DaemonSet', daemonSets), list('ReplicaSet', sets), list('Deployment', [idle])),
    ]
    return run(steps, { targets: [serviceTarget], live: true, settings: { stallTimeoutMs: 20_000 } })
  }

  it.each<[string, readonly KubeObject[], readonly KubeObject[], readonly KubeObject[]]>([
    ['of a Rollout with a workloadRef', [crashing(rolloutSet)], [rolloutSet], []],
    ['of a bare pod', [crashing(idle)], [], []],
    ['of a ReplicaSet of its own', [crashing(ownSet)], [ownSet], []],
    ['of a DaemonSet', [crashing(daemonSet)], [], [daemonSet]],
  ])('%s, is not ready', (_, pods, sets, daemonSets) => {
    expect(judge(pods, sets, daemonSets)).toMatchObject({ outcome: 'stalled', reason: 'no-endpoints' })
  })

  it.each<[string, readonly KubeObject[], readonly KubeObject[]]>([
    ['a ReplicaSet of its own', [ownSet], []],
    ['a DaemonSet', [], [daemonSet]],
  ])('is not ready while %s has no pod yet', (_, sets, daemonSets) => {
    expect(judge([], sets, daemonSets)).toMatchObject({ outcome: 'stalled', reason: 'no-endpoints' })
  })

  it('is not ready before a bare pod that has failed', () => {
    const failed = { ...crashing(idle), status: { phase: 'Failed' } }
    expect(judge([failed], [])).toMatchObject({ outcome: 'stalled', reason: 'no-endpoints' })
  })

  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'migrate', uid: 'job-uid' } }
  const zeroSet = make.replicaSet({ metadata: { name: 'web-1' }, spec: { replicas: 0 } })
  it.each<[string, readonly KubeObject[]]>([
    ['no pod', []],
    ['the pod of a Job that has ended', [{ ...crashing(job), status: { phase: 'Succeeded' } }]],
    [
      'a pod of the Deployment that was evicted',
      [{ ...crashing(zeroSet), status: { phase: 'Failed', reason: 'Evicted' } }],
    ],
  ])('is ready before %s', (_, pods) => {
    expect(judge(pods, [zeroSet])).toMatchObject({ outcome: 'ready' })
  })
})

describe('a Service that gets a selector while another target is open', () => {
  const { selector: _, ...withoutSelector } = service.spec
  const late = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late', namespace: 'shop', uid: 'late-uid' } }
  const options: RunOptions = { targets: [serviceTarget, createTarget({ ...late, name: 'late' })], live: true }
  const pod = make.pod({ metadata: { name: 'web-1-a' }, status: podIs.ready(-60) })
  const workloads = ['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet'].flatMap((kind) => list(kind))
  const steps = [
    at(0, list('Service', [{ ...service, spec: withoutSelector }]), list('ConfigMap')),
    at(5, modified(service)),
    at(8, added(late)),
  ]

  it('is no longer ready while the objects that it selects now are being listed', () => {
    const { outcome, entries } = runUntil(20, steps, options)
    expect(outcome).toBeUndefined()
    expect(entries).toContain('5 note no longer ready: the objects that its spec selects now are being listed')
  })

  it('is judged by the pods that it selects now, once they are listed', () => {
    const lists = at(9, list('Pod', [pod]), list('EndpointSlice', [sliceOf(pod)]), workloads, list('Event'))
    expect(run([...steps, lists], options)).toMatchObject({ outcome: 'ready', seconds: 9 })
  })
})
