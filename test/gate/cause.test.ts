import type { FeedEvent } from '../../src/cluster/feed.ts'
import { type KubeObject, type ObjectMeta, type PodStatus, subjectText } from '../../src/cluster/objects.ts'
import { explain } from '../../src/diagnosis/explain.ts'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import { compileEntry, type HealthCheck, loadCompiler } from '../../src/plan/health-checks.ts'
import type { Target } from '../../src/plan/target.ts'
import { buildReport } from '../../src/report/json-report.ts'
import {
  added,
  at,
  createGate,
  createTarget,
  modified,
  progressing,
  type RunOptions,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { condition, is, iso, make, moment, ownedBy, podIs } from '../kit/objects.ts'
import { shopEntry } from './shop-entry.ts'

const group = 'acme.example/v1'
const target: Target = createTarget({ apiVersion: group, kind: 'Shop', name: 'web' })

/** A custom resource of `acme.example`; its spec was written at the start of the gate. */
function createCustom(kind: string, name: string, status: object, metadata: Partial<ObjectMeta> = {}): KubeObject {
  return {
    apiVersion: group,
    kind,
    metadata: {
      name,
      namespace: 'shop',
      uid: `${kind}-${name}`,
      generation: 1,
      creationTimestamp: iso(0),
      ...metadata,
    },
    spec: {},
    status,
  }
}

const notReady = { conditions: [condition('Ready', 'False', { reason: 'Working', message: 'not yet' })] }
const stalled = { conditions: [condition('Stalled', 'True', { reason: 'Invalid', message: 'no such item' })] }
const shop = createCustom('Shop', 'web', notReady)

const own = synced(`${group} Shop`, 'Event')
const all = [...own, ...synced('Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Pod', 'Job')]

const missing = (attempt: 'ErrImagePull' | 'ImagePullBackOff'): PodStatus => ({
  phase: 'Pending',
  containerStatuses: [
    make.containerStatus({
      state: is.waiting(
        attempt,
        'failed to resolve reference "docker.io/acme/web:v1": docker.io/acme/web:v1: not found',
      ),
    }),
  ],
})

/** An owned Deployment with one pod. */
function createOwned(owner: KubeObject, { createdAt = 1, name = 'front' } = {}) {
  const deployment = make.deployment({
    metadata: { name, uid: `${name}-uid`, ownerReferences: ownedBy(owner), creationTimestamp: iso(createdAt) },
    status: progressing,
  })
  const replicaSet = make.replicaSet({ metadata: { name: `${name}-1`, creationTimestamp: iso(createdAt) } }, deployment)
  const podWith = (status: PodStatus, metadata: Partial<ObjectMeta> = {}) =>
    make.pod(
      { metadata: { name: `${name}-1-a`, uid: `${name}-1-a`, creationTimestamp: iso(createdAt), ...metadata }, status },
      replicaSet,
    )
  return { deployment, replicaSet, podWith }
}

const compiler = await loadCompiler()
const operator = [compileEntry(shopEntry, compiler)]

/** What a run shows of its target. */
function summary(
  steps: readonly (readonly FeedEvent[])[],
  catalogue: readonly HealthCheck[],
  options: RunOptions = {},
) {
  const { outcome, reason, seconds, record } = run(steps, {
    targets: [target],
    ...options,
    settings: { catalogue, ...options.settings },
  })
  const [judged] = record.targets
  return {
    verdict: `${outcome} ${reason} after ${seconds} s`,
    problems: judged?.problems.map(
      ({ subject, reason, basis: { cause } }) =>
        `${subject} ${reason}${cause === undefined ? '' : ` by ${subjectText(cause.subject)} ${cause.reason}`}`,
    ),
  }
}

/** The entry of an operator that lists in the status what it has applied. */
const applying = operator.map(({ owns: _, ...entry }) => ({ ...entry, applies: [] }))

describe('the inventory of a GitOps controller', () => {
  const entries = [
    { id: 'apps_front_apps_Deployment', v: 'v1' },
    { id: 'apps_settings__ConfigMap', v: 'v1' },
    { id: '_shop__read_rbac.authorization.k8s.io_ClusterRole', v: 'v1' },
    { id: '_apps__Namespace', v: 'v1' },
    { id: 'broken', v: 1 },
  ]
  const applied = createCustom('Shop', 'web', { ...notReady, inventory: { entries } })
  const labels = { [`acme.example/name`]: 'web', [`acme.example/namespace`]: 'shop' }
  const settings = { catalogue: applying }
  const { deployment, replicaSet, podWith } = createOwned(applied)
  const inApps = <Each extends KubeObject>(object: Each): Each => {
    const { ownerReferences = [], ...metadata } = object.metadata
    const isFront = object.kind === 'Deployment'
    return {
      ...object,
      metadata: { ...metadata, ...(isFront ? { labels } : { ownerReferences }), namespace: 'apps' },
    }
  }
  const steps = [
    at(0, added(applied), own),
    at(11, added(inApps(deployment)), synced('Deployment@apps/front')),
    at(
      12,
      added(inApps(replicaSet), inApps(podWith(missing('ErrImagePull')))),
      synced('ReplicaSet@apps'),
      synced('Pod@apps'),
    ),
    at(12, synced('Event@apps')),
  ]
  const apps: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps', uid: 'apps' } }

  it('explains it, also from another namespace', () => {
    const { record, message } = run(steps, { targets: [target], settings })
    expect(message).toBe(
      'shop/web: container app of pod/front-1-a in namespace apps cannot pull image "acme/web:v1": not found',
    )
    expect(record.targets[0]?.problems.map(({ subject, namespace }) => [subject, namespace])).toEqual([
      ['pod/front-1-a', 'apps'],
      ['shop/web', undefined],
    ])
    const [explained] = explain(record, createGateWith(steps, { settings }).store, 0).targets
    expect(explained?.problems[0]?.chain).toEqual([
      'shop/web',
      'deployment/front',
      'replicaset/front-1',
      'pod/front-1-a',
      'container app',
    ])
    expect(explained?.hint).toContain('acme/web:v1')
    const report = buildReport({ ...record, targets: explained === undefined ? [] : [explained] } as EndedRunRecord)
    expect(report.targets[0]?.problems[0]).toMatchObject({ namespace: 'apps', chain: explained?.problems[0]?.chain })
    expect(report.targets[0]?.problems[1]?.chain).toBeUndefined()
  })

  it('is watched by name, without kinds that are ready once they exist', () => {
    const gate = createGateWith(steps.slice(0, 1), { settings })
    gate.advance(moment(10))
    const named = gate.requests.filter(({ namespace }) => namespace === 'apps')
    expect(named).toEqual([{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'apps', name: 'front' }])
  })

  it('needs the events in the namespaces of its objects, not all events of the cluster', () => {
    const gate = createGateWith([...steps, at(13, added(apps))], { settings })
    const events = gate.requests.flatMap(({ kind, namespace }) => (kind === 'Event' ? [namespace] : []))
    expect(events).toEqual(['apps', 'shop'])
  })

  it('concerns the target after each change of its objects', () => {
    const mended = podWith(podIs.ready(20), { resourceVersion: '7' })
    const { record, entries: logged } = runUntil(60, [...steps, at(30, modified(inApps(mended)))], {
      targets: [target],
      settings,
    })
    expect(record.targets[0]?.problems.map(({ reason }) => reason)).toEqual(['condition-false'])
    expect(logged.filter((text) => text.includes('cannot pull'))).toHaveLength(1)
  })
})

describe('an object of another namespace', () => {
  const system = 'kube-system'
  const coredns = (metadata: Partial<ObjectMeta> = {}) =>
    make.deployment({
      metadata: { name: 'coredns', namespace: system, uid: 'coredns', creationTimestamp: iso(1), ...metadata },
      status: {},
    })
  const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'coredns', namespace: system }
  const many = Array.from({ length: 12 }, (_, index) => ({ id: `${system}_pod-${index}__Pod`, v: 'v1' }))
  const inventory = { entries: [{ id: `${system}_coredns_apps_Deployment`, v: 'v1' }, ...many] }
  const naming: readonly [string, KubeObject][] = [
    ['spec.resourceRefs', { ...shop, spec: { resourceRefs: [reference] } }],
    ['spec.crossplane.resourceRefs', { ...shop, spec: { crossplane: { resourceRefs: [reference] } } }],
    ['spec.resourceRef', { ...shop, spec: { resourceRef: reference } }],
    ['status.inventory', createCustom('Shop', 'web', { ...notReady, inventory })],
  ]
  const requestsOf = (object: KubeObject, catalogue: readonly HealthCheck[], ...found: readonly KubeObject[]) => {
    const steps = [at(0, added(object), own), at(11, added(...found), synced(`Deployment@${system}/coredns`))]
    const gate = createGateWith(steps, { settings: { catalogue } })
    gate.advance(moment(20))
    return gate.requests.filter(({ namespace }) => namespace === system || namespace === undefined)
  }

  it.each(naming)('is not read because a custom resource names it in %s', (_, object) => {
    expect(requestsOf(object, [], coredns())).toEqual([])
    expect(requestsOf(object, operator, coredns({ ownerReferences: ownedBy(object) }))).toEqual([])
  })

  it('is read by its name alone if the catalogue says that its kind has an inventory, until it refers back', () => {
    const [, object] = naming[3] as (typeof naming)[number]
    const kindsOf = (...found: readonly KubeObject[]) =>
      requestsOf(object, applying, ...found).map(({ kind, name }) => `${kind} ${name}`)
    expect(kindsOf(coredns())).toEqual(['Deployment coredns', ...many.map((_, index) => `Pod pod-${index}`)])
    expect(
      kindsOf(coredns({ labels: { 'acme.example/name': 'web', 'acme.example/namespace': 'other' } })),
    ).toHaveLength(13)
    const labels = { 'acme.example/name': 'web', 'acme.example/namespace': 'shop' }
    expect(kindsOf(coredns({ labels }))).toEqual(expect.arrayContaining(['ReplicaSet undefined', 'Event undefined']))
  })

  it('is published only if it refers back to the object whose inventory contains it', () => {
    const entries = [{ id: `${system}_first_acme.example_Order`, v: 'v1' }]
    const object = createCustom('Shop', 'web', { ...notReady, inventory: { entries } })
    const subjects = (metadata: Partial<ObjectMeta>) => {
      const order = createCustom('Order', 'first', stalled, { namespace: system, ...metadata })
      return summary(
        [at(0, added(object), own), at(11, added(order), synced(`${group} Order@${system}/first`))],
        applying,
      ).problems
    }
    const labels = { 'acme.example/name': 'web', 'acme.example/namespace': 'shop' }
    expect(subjects({ labels })).toEqual(['order/first reported-failed', 'shop/web condition-false'])
    expect(subjects({ labels: { ...labels, 'acme.example/name': 'api' } })).toEqual(['shop/web condition-false'])
    expect(subjects({ ownerReferences: ownedBy(object) })).toEqual(['shop/web condition-false'])
  })

  it('is not owned through an owner reference: these do not cross namespaces', () => {
    const order = createCustom(
      'Order',
      'first',
      { phase: 'Failed' },
      { namespace: system, ownerReferences: ownedBy(shop) },
    )
    expect(summary([at(0, added(shop), all), at(1, added(order))], operator).problems).toEqual([
      'shop/web condition-false',
    ])
  })
})

it('pods of all namespaces are not watched for the selector in the status of an object without a namespace', () => {
  const { namespace: _, ...metadata } = shop.metadata
  const object = { ...shop, metadata, status: { ...notReady, selector: 'app=web' } }
  const targets = [{ ...target, namespace: undefined as unknown as string }]
  const gate = createGateWith([at(0, added(object), synced(`${group} Shop@`))], {
    targets,
    live: true,
    settings: { catalogue: operator },
  })
  gate.advance(moment(10))
  expect(gate.requests.map(({ kind }) => kind)).not.toContain('Pod')
})

it('a claim is explained by what its composite resource composes, in any scope', () => {
  const reference = (kind: string, name: string) => ({ apiVersion: group, kind, name })
  const claim = { ...shop, spec: { resourceRef: reference('Composite', 'web-x') } }
  const clusterScoped = (kind: string, name: string, spec: object, status: object): KubeObject => {
    const { namespace: _, ...metadata } = createCustom(kind, name, status).metadata
    return { apiVersion: group, kind, metadata, spec, status }
  }
  const composed = { crossplane: { resourceRefs: [reference('Bucket', 'web-y')] } }
  const claimRef = { apiVersion: group, kind: 'Shop', name: 'web', namespace: 'shop' }
  const composite = clusterScoped('Composite', 'web-x', { ...composed, claimRef }, notReady)
  const denied = { conditions: [condition('Synced', 'False', { reason: 'ReconcileError', message: 'access denied' })] }
  const unowned = clusterScoped('Bucket', 'web-y', {}, denied)
  const bucket = { ...unowned, metadata: { ...unowned.metadata, ownerReferences: ownedBy(composite) } }
  const steps = [
    at(0, added(claim), own),
    at(11, added(composite), synced(`${group} Composite`)),
    at(12, added(bucket), synced(`${group} Bucket@`)),
  ]
  const problems = ['bucket/web-y condition-false', 'shop/web condition-false']
  expect(summary(steps, [])).toEqual({ verdict: 'stalled condition-false after 300 s', problems })
  const named = createGateWith(steps.slice(0, 2)).requests.flatMap(({ kind, name = '' }) =>
    name === '' ? [] : [`${kind} ${name}`],
  )
  expect(named).toEqual(['Shop web', 'Composite web-x', 'Bucket web-y'])
  const ofOther = clusterScoped('Composite', 'web-x', { ...composed, claimRef: { ...claimRef, name: 'api' } }, notReady)
  expect(summary([at(0, added(claim), own), at(11, added(ofOther, bucket))], []).problems).toEqual([
    'shop/web condition-false',
  ])
})

it('an object without a namespace is explained by kinds that its entry names, but for pods', () => {
  const cluster = { ...target, namespace: undefined as unknown as string }
  const { namespace: _, ...metadata } = shop.metadata
  const gate = createGateWith([at(0, added({ ...shop, metadata }), synced(`${group} Shop@`))], {
    targets: [cluster],
    live: true,
    settings: { catalogue: operator },
  })
  gate.advance(moment(10))
  expect(gate.requests.map(({ kind }) => kind)).toEqual(['Shop', 'Deployment', 'StatefulSet', 'Job', 'Order', 'Event'])
})

function createGateWith(steps: readonly (readonly FeedEvent[])[], options: RunOptions = {}) {
  const gate = createGate(steps, { targets: [target], ...options })
  gate.handle(steps.flat())
  return gate
}
