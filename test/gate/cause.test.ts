import type { FeedEvent, Observation, WatchRequest } from '../../src/cluster/feed.ts'
import type { KubeObject, ObjectMeta, PodStatus } from '../../src/cluster/objects.ts'
import { subjectText } from '../../src/cluster/objects.ts'
import { explain } from '../../src/diagnosis/explain.ts'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import { loadCompiler } from '../../src/plan/expressions.ts'
import { compileEntry, type HealthCheck, type HealthCheckEntry } from '../../src/plan/health-check-entries.ts'
import type { Target } from '../../src/plan/target.ts'
import { buildReport } from '../../src/report/json-report.ts'
import {
  added,
  at,
  createGate,
  createTarget,
  deleted,
  failed,
  modified,
  progressing,
  type RunOptions,
  run,
  runUntil,
} from '../kit/gate.ts'
import { condition, is, iso, make, moment, ownedBy, podIs } from '../kit/objects.ts'

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
const ready = createCustom('Shop', 'web', { conditions: [condition('Ready', 'True')] }, { resourceVersion: '9' })

const listed = ({ apiVersion, kind, labelSelector }: Partial<WatchRequest> & { kind: string }): Observation => ({
  type: 'SYNCED',
  apiVersion: apiVersion ?? (kind === 'Pod' || kind === 'Event' ? 'v1' : 'apps/v1'),
  kind,
  namespace: 'shop',
  ...(labelSelector === undefined ? {} : { labelSelector }),
})
const own: readonly Observation[] = [listed({ apiVersion: group, kind: 'Shop' }), listed({ kind: 'Event' })]
const workloads = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Pod'].map((kind) => listed({ kind }))
const all: readonly Observation[] = [...own, ...workloads, listed({ apiVersion: 'batch/v1', kind: 'Job' })]

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
  const pod = (status: PodStatus, metadata: Partial<ObjectMeta> = {}) =>
    make.pod(
      { metadata: { name: `${name}-1-a`, uid: `${name}-1-a`, creationTimestamp: iso(createdAt), ...metadata }, status },
      replicaSet,
    )
  return { deployment, replicaSet, pod }
}

let workload: readonly HealthCheck[]
let operator: readonly HealthCheck[]

beforeAll(async () => {
  const compiler = await loadCompiler()
  const entry: HealthCheckEntry = {
    apiVersion: group,
    kind: 'Shop',
    documentation: 'https://acme.example',
    current: "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
    failed: "status.phase == 'Failed'",
    suspended: 'spec.?suspend.orValue(false)',
    owns: ['Deployment', 'ReplicaSet', 'StatefulSet']
      .map((kind) => ({ apiVersion: 'apps/v1', kind }))
      .concat([
        { apiVersion: 'v1', kind: 'Pod' },
        { apiVersion: 'batch/v1', kind: 'Job' },
        { apiVersion: group, kind: 'Order' },
      ]),
    revision: 'status.hash',
  }
  const compile = (each: HealthCheckEntry) => [compileEntry(each, compiler)]
  operator = compile(entry)
  workload = compile({ ...entry, isWorkload: true })
})

/** The pod is created at second 1, and the registry refuses its image at seconds 2, 16 and 43. */
function refusedPulls(pod: (status: PodStatus, metadata?: Partial<ObjectMeta>) => KubeObject) {
  return [
    at(2, modified(pod(missing('ErrImagePull'), { resourceVersion: '2' }))),
    at(3, modified(pod(missing('ImagePullBackOff'), { resourceVersion: '3' }))),
    at(16, modified(pod(missing('ErrImagePull'), { resourceVersion: '4' }))),
    at(17, modified(pod(missing('ImagePullBackOff'), { resourceVersion: '5' }))),
    at(43, modified(pod(missing('ErrImagePull'), { resourceVersion: '6' }))),
  ]
}

/** An object of which the registry refuses the image of its only pod. */
const front = createOwned(shop)
const refusedPod = [
  at(0, added(shop), all),
  at(1, added(front.deployment, front.replicaSet, front.pod(podIs.unready({})))),
  ...refusedPulls(front.pod),
]

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

const changed = (status: object, metadata: Partial<ObjectMeta> = {}) =>
  createCustom('Shop', 'web', status, { resourceVersion: '9', ...metadata })

describe('a failure that an operator reports after it has removed what failed', () => {
  const { deployment, replicaSet, pod } = createOwned(shop)
  const failed = changed({ ...notReady, phase: 'Failed' })
  const steps = (removedAt: number, reportedAt: number) => [
    at(0, added(shop), all),
    at(1, added(deployment, replicaSet, pod(podIs.unready({})))),
    ...refusedPulls(pod),
    at(removedAt, deleted(pod(podIs.unready({})), replicaSet, deployment)),
    at(reportedAt, modified(failed)),
  ]

  it.each([
    [
      'is explained by the problem that stood when it gave up',
      250,
      252,
      'shop/web reported-failed by pod/front-1-a image-not-found',
    ],
    ['is not explained by a problem that ended long before', 100, 252, 'shop/web reported-failed'],
  ])('%s', (_, removedAt, reportedAt, problem) => {
    const { verdict, problems } = summary(steps(removedAt, reportedAt), operator)
    expect(verdict).toBe('failed reported-failed after 262 s')
    expect(problems).toEqual([problem])
  })
})

describe('a workload of the catalogue', () => {
  it('fails as early as a Deployment by a proven problem of its pods', () => {
    expect(summary(refusedPod, workload)).toEqual({
      verdict: 'failed image-not-found after 16 s',
      problems: ['pod/front-1-a image-not-found', 'shop/web condition-false'],
    })
  })

  it('fails by the problem of a pod, not by its own failure that follows from it', () => {
    const { deployment, replicaSet, pod } = createOwned(shop)
    const failed = changed({ ...notReady, phase: 'Failed' })
    const steps = [
      at(0, added(shop), all),
      at(1, added(deployment, replicaSet, pod(podIs.unready({})))),
      at(2, modified(pod(missing('ErrImagePull'), { resourceVersion: '2' }), failed)),
    ]
    expect(summary(steps, workload)).toEqual({
      verdict: 'failed image-not-found after 12 s',
      problems: ['pod/front-1-a image-not-found', 'shop/web reported-failed'],
    })
  })

  it('does not fail by pods that existed before its spec changed', () => {
    const written = createCustom('Shop', 'web', notReady, {
      generation: 2,
      creationTimestamp: iso(-600),
      managedFields: [{ manager: 'kubectl', time: iso(0) }],
    })
    const { deployment, replicaSet, pod } = createOwned(written, { createdAt: -1 })
    const steps = [at(0, added(written, deployment, replicaSet, pod(podIs.unready({}))), all), ...refusedPulls(pod)]
    expect(summary(steps, workload)).toEqual({
      verdict: 'stalled image-not-found after 300 s',
      problems: ['pod/front-1-a image-not-found', 'shop/web condition-false'],
    })
  })

  it('does not look at ReplicaSets without the label of its present revision', () => {
    const rollout = createCustom('Shop', 'web', { ...notReady, hash: 'new' })
    const old = make.replicaSet({ metadata: { name: 'old', labels: { hash: 'old' } } }, rollout)
    const pod = (status: PodStatus, metadata: Partial<ObjectMeta> = {}) =>
      make.pod({ metadata: { name: 'old-a', uid: 'old-a', creationTimestamp: iso(1), ...metadata }, status }, old)
    const steps = [at(0, added(rollout), all), at(1, added(old, pod(podIs.unready({})))), ...refusedPulls(pod)]
    expect(summary(steps, workload)).toEqual({
      verdict: 'stalled condition-false after 300 s',
      problems: ['shop/web condition-false'],
    })
    const labelled = { ...old, metadata: { ...old.metadata, labels: { hash: 'new' } } }
    expect(
      summary([...steps.slice(0, 1), at(1, added(labelled, pod(podIs.unready({})))), ...steps.slice(2)], workload)
        .verdict,
    ).toBe('failed image-not-found after 16 s')
  })

  it('does not fail while another of its pods is better', () => {
    const pods = ['a', 'b'].map(
      (name) =>
        (status: PodStatus, metadata: Partial<ObjectMeta> = {}) =>
          make.pod({
            metadata: { name, uid: name, creationTimestamp: iso(1), ownerReferences: ownedBy(shop), ...metadata },
            status,
          }),
    )
    const [broken, good] = pods as [(typeof pods)[number], (typeof pods)[number]]
    const steps = (...better: KubeObject[]) => [
      at(0, added(shop), all),
      at(1, added(broken(podIs.unready({})), ...better)),
      ...refusedPulls(broken),
    ]
    expect(summary(steps(good(podIs.ready(1))), workload).verdict).toBe('stalled image-not-found after 300 s')
    expect(summary(steps(), workload).verdict).toBe('failed image-not-found after 16 s')
  })

  it('gives a container that crashes more time while another object that it owns still progresses', () => {
    const [front, back] = [createOwned(shop), createOwned(shop, { name: 'back' })]
    const crashes = [1, 2, 3, 4].map((nth) =>
      at(nth * 25, modified(front.pod(podIs.looping(nth, nth * 25 - 1), { resourceVersion: `${nth + 1}` }))),
    )
    const steps = (...progressing: KubeObject[]) => [
      at(0, added(shop), all),
      at(1, added(front.deployment, front.replicaSet, front.pod(podIs.unready({})), ...progressing)),
      ...crashes,
    ]
    expect(summary(steps(), workload).verdict).toBe('failed crash-loop after 75 s')
    const others = [back.deployment, back.replicaSet, back.pod(podIs.unready({}))]
    expect(summary(steps(...others), workload).verdict).toBe('failed crash-loop after 114 s')
  })

  it('is not ready before a workload that was written since its spec, although it reports so', () => {
    const verdicts = [1, -60].map((createdAt) => {
      const { deployment, replicaSet, pod } = createOwned(shop, { createdAt })
      const steps = [
        at(0, added(shop), all),
        at(1, added(deployment, replicaSet, pod(missing('ErrImagePull')))),
        at(3, modified(ready)),
      ]
      return [summary(steps, workload).verdict, summary(steps, []).verdict]
    })
    expect(verdicts).toEqual([
      ['stalled image-not-found after 303 s', 'ready  after 3 s'],
      ['ready  after 3 s', 'ready  after 3 s'],
    ])
  })

  it('makes progress while its workloads do', () => {
    const { deployment } = createOwned(shop)
    const changed = (seconds: number, readyReplicas: number) =>
      at(
        seconds,
        modified({
          ...deployment,
          metadata: { ...deployment.metadata, resourceVersion: `${seconds}` },
          spec: { ...deployment.spec, replicas: 9 },
          status: {
            observedGeneration: 1,
            replicas: 9,
            updatedReplicas: 9,
            readyReplicas,
            availableReplicas: readyReplicas,
          },
        }),
      )
    const steps = [at(0, added(shop), own), changed(1, 0), changed(200, 1)]
    expect(summary(steps, []).verdict).toBe('stalled condition-false after 500 s')
    expect(summary([...steps, changed(400, 0), changed(450, 1)], []).verdict).toBe(
      'stalled condition-false after 500 s',
    )
  })

  it('does not fail by a failed Job that it owns: it decides itself about another attempt', () => {
    const job: KubeObject = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name: 'try',
        namespace: 'shop',
        uid: 'try',
        creationTimestamp: iso(1),
        ownerReferences: ownedBy(shop),
      },
      spec: {},
      status: { conditions: [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })] },
    }
    expect(summary([at(0, added(shop), all), at(1, added(job))], workload)).toEqual({
      verdict: 'stalled job-failed after 300 s',
      problems: ['job/try job-failed', 'shop/web condition-false'],
    })
  })

  it('does not fail by a health check of the user that replaces its entry', async () => {
    const entry = { apiVersion: group, kind: 'Shop', current: 'false' }
    const check = compileEntry(entry, await loadCompiler(), { isUsers: true })
    expect(summary(refusedPod, workload, { settings: { healthChecks: [check] } })).toEqual({
      verdict: 'stalled image-not-found after 310 s',
      problems: ['pod/front-1-a image-not-found'],
    })
  })
})

describe('any other custom resource', () => {
  it.each([
    ['with an entry', () => operator],
    ['of an unknown kind', () => []],
  ])('%s stalls with the problem of its pod as the reason', (_, catalogue) => {
    expect(summary(refusedPod, catalogue())).toEqual({
      verdict: 'stalled image-not-found after 310 s',
      problems: ['pod/front-1-a image-not-found', 'shop/web condition-false'],
    })
  })

  it('fails by its own report, with the problem of its pod as the cause', () => {
    const { deployment, replicaSet, pod } = createOwned(shop)
    const failed = createCustom('Shop', 'web', { ...notReady, phase: 'Failed' })
    const steps = [at(0, added(failed), all), at(1, added(deployment, replicaSet, pod(missing('ErrImagePull'))))]
    const { outcome, reason, message, seconds } = run(steps, { targets: [target], settings: { catalogue: operator } })
    expect({ outcome, reason, seconds }).toEqual({ outcome: 'failed', reason: 'reported-failed', seconds: 10 })
    expect(message).toContain('; cause: container app of pod/front-1-a')
  })

  it('names the deepest custom resource that is not ready', () => {
    const order = createCustom('Order', 'web-1', notReady, { ownerReferences: ownedBy(shop) })
    const challenge = createCustom(
      'Order',
      'web-1-1',
      { conditions: [condition('Ready', 'False', { reason: 'NoIssuer', message: 'the issuer is missing' })] },
      { ownerReferences: ownedBy(order) },
    )
    const other = createCustom('Order', 'other', ready.status ?? {}, { ownerReferences: ownedBy(shop) })
    const steps = [at(0, added(shop, order, challenge, other), all, listed({ apiVersion: group, kind: 'Order' }))]
    expect(summary(steps, operator)).toEqual({
      verdict: 'stalled condition-false after 300 s',
      problems: ['order/web-1-1 condition-false', 'shop/web condition-false'],
    })
  })

  it('does not name an earlier attempt of the same kind', () => {
    const written = {
      generation: 2,
      creationTimestamp: iso(-600),
      managedFields: [{ manager: 'kubectl', time: iso(0) }],
    }
    const attempt = (name: string, createdAt: number) =>
      createCustom('Order', name, notReady, { ownerReferences: ownedBy(shop), creationTimestamp: iso(createdAt) })
    const steps = (...orders: KubeObject[]) => [
      at(
        0,
        added(createCustom('Shop', 'web', notReady, written), ...orders),
        all,
        listed({ apiVersion: group, kind: 'Order' }),
      ),
    ]
    const problems = (...orders: KubeObject[]) => summary(steps(...orders), operator).problems
    expect(problems(attempt('first', -300), attempt('second', 1))).toEqual([
      'order/second condition-false',
      'shop/web condition-false',
    ])
    expect(problems(attempt('first', -300))).toEqual(['order/first condition-false', 'shop/web condition-false'])
  })

  it('is not explained while it is suspended', () => {
    const { deployment, replicaSet, pod } = createOwned(shop)
    const suspended = { ...shop, spec: { suspend: true } }
    const steps = [at(0, added(suspended), all), at(1, added(deployment, replicaSet, pod(missing('ErrImagePull'))))]
    expect(summary(steps, [])).toEqual({ verdict: 'stalled suspended after 300 s', problems: ['shop/web suspended'] })
  })

  it('shows the failure of a custom resource that it owns beside its suspension: an analysis may have paused it', () => {
    const suspended = { ...shop, spec: { suspend: true } }
    const order = createCustom('Order', 'first', stalled, { ownerReferences: ownedBy(shop) })
    const orders = listed({ apiVersion: group, kind: 'Order' })
    const steps = [at(0, added(suspended), all, orders), at(1, added(order))]
    expect(summary(steps, operator)).toEqual({
      verdict: 'stalled suspended after 300 s',
      problems: ['shop/web suspended', 'order/first reported-failed'],
    })
  })

  it('is explained by the pods that the selector in its status selects', () => {
    const selecting = createCustom('Shop', 'web', { ...notReady, labelSelector: 'app=web' })
    const owner = { ...make.deployment(), kind: 'PodSet', apiVersion: 'other.example/v1' }
    const pod = (labels: Record<string, string>) =>
      make.pod({
        metadata: { name: 'a', uid: 'a', labels, creationTimestamp: iso(1), ownerReferences: ownedBy(owner) },
        status: missing('ErrImagePull'),
      })
    const steps = (labels: Record<string, string>) => [
      at(0, added(selecting), own, listed({ kind: 'Pod', labelSelector: 'app=web' })),
      at(20, added(pod(labels))),
    ]
    expect(summary(steps({ app: 'web' }), []).problems).toEqual(['pod/a image-not-found', 'shop/web condition-false'])
    expect(summary(steps({ app: 'other' }), []).problems).toEqual(['shop/web condition-false'])
  })
})

/** The entry of an operator that lists in the status what it has applied. */
const applying = () => operator.map(({ owns: _, ...entry }) => ({ ...entry, applies: [] }))

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
  let settings: { readonly catalogue: readonly HealthCheck[] }
  beforeAll(() => {
    settings = { catalogue: applying() }
  })
  const listedInApps = (kind: string, name?: string): Observation => {
    const { labelSelector: _, ...request } = { ...listed({ kind }), labelSelector: '' } as WatchRequest & Observation
    return { ...request, namespace: 'apps', ...(name === undefined ? {} : { name }) } as Observation
  }
  const { deployment, replicaSet, pod } = createOwned(applied)
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
    at(11, added(inApps(deployment)), listedInApps('Deployment', 'front')),
    at(
      12,
      added(inApps(replicaSet), inApps(pod(missing('ErrImagePull')))),
      listedInApps('ReplicaSet'),
      listedInApps('Pod'),
    ),
    at(12, listedInApps('Event')),
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
    const mended = pod(podIs.ready(20), { resourceVersion: '7' })
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
    const synced: Observation = {
      type: 'SYNCED',
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      namespace: system,
      name: 'coredns',
    }
    const steps = [at(0, added(object), own), at(11, added(...found), synced)]
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
      requestsOf(object, applying(), ...found).map(({ kind, name }) => `${kind} ${name}`)
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
      const synced: Observation = { type: 'SYNCED', apiVersion: group, kind: 'Order', namespace: system, name: 'first' }
      return summary([at(0, added(object), own), at(11, added(order), synced)], applying()).problems
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
  const synced: Observation = { type: 'SYNCED', apiVersion: group, kind: 'Shop' }
  const targets = [{ ...target, namespace: undefined as unknown as string }]
  const gate = createGateWith([at(0, added(object), synced)], {
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
    at(11, added(composite), listed({ apiVersion: group, kind: 'Composite' })),
    at(12, added(bucket), { type: 'SYNCED', apiVersion: group, kind: 'Bucket' }),
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
  const gate = createGateWith(
    [at(0, added({ ...shop, metadata }), { type: 'SYNCED', apiVersion: group, kind: 'Shop' })],
    {
      targets: [cluster],
      live: true,
      settings: { catalogue: operator },
    },
  )
  gate.advance(moment(10))
  expect(gate.requests.map(({ kind }) => kind)).toEqual(['Shop', 'Deployment', 'StatefulSet', 'Job', 'Order', 'Event'])
})

function createGateWith(steps: readonly (readonly FeedEvent[])[], options: RunOptions = {}) {
  const gate = createGate(steps, { targets: [target], ...options })
  for (const event of steps.flat()) gate.handle(event)
  return gate
}

describe('the watches', () => {
  const watched = (
    seconds: number,
    object: KubeObject,
    catalogue: readonly HealthCheck[],
    options: RunOptions = {},
  ) => {
    const gate = createGateWith([at(0, added(object), own)], { live: true, ...options, settings: { catalogue } })
    gate.advance(moment(seconds))
    return gate.requests
      .map(({ kind, labelSelector }) => (labelSelector === undefined ? kind : `${kind} ${labelSelector}`))
      .filter((kind) => kind !== 'Shop' && kind !== 'Event')
  }

  it('of what it owns begin when it has not become ready for 10 s', () => {
    expect(watched(9, shop, [])).toEqual([])
    expect(watched(10, shop, [])).toEqual(['Deployment', 'StatefulSet', 'DaemonSet', 'Job'])
    expect(watched(10, shop, operator)).toEqual(['Deployment', 'ReplicaSet', 'StatefulSet', 'Pod', 'Job', 'Order'])
    const owningNothing = operator.map(({ owns: _, ...entry }) => entry)
    expect(watched(10, shop, owningNothing)).toEqual([])
  })

  it('of what it owns begin at once for a workload, and when it reports a failure', () => {
    expect(watched(0, shop, workload)).toEqual(['Deployment', 'ReplicaSet', 'StatefulSet', 'Pod', 'Job', 'Order'])
    expect(watched(0, createCustom('Shop', 'web', stalled), [])).not.toEqual([])
  })

  it('of the workloads that it owns begin when it is ready by its own status', () => {
    expect(watched(0, ready, workload)).toEqual(expect.arrayContaining(['Deployment', 'StatefulSet', 'Order']))
    expect(watched(0, ready, [])).toEqual([])
    expect(watched(0, ready, operator)).toEqual([])
  })

  it('of pods are narrowed by the selector in its status', () => {
    const selecting = createCustom('Shop', 'web', { ...notReady, selector: 'app=web' })
    expect(watched(10, selecting, [])).toContain('Pod app=web')
    expect(watched(10, createCustom('Shop', 'web', { ...notReady, selector: 'app=web&x=`' }), [])).not.toContain('Pod')
  })

  it('of owned objects are not needed: their refusal is logged, and the reports of the controller decide', () => {
    const steps = [at(0, added(shop), own), at(11, failed(403, 'Pod', 'pods is forbidden')), at(12, modified(ready))]
    const { outcome, seconds, entries } = run(steps, {
      targets: [target],
      live: true,
      settings: { catalogue: operator },
    })
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 12 })
    expect(entries).toContainEqual(expect.stringContaining('Pods cannot be read: continuing'))
  })

  it('of owned objects hold a failure at first sight, for 5 s at most', () => {
    const longAgo = { creationTimestamp: iso(-600) }
    const condition = {
      type: 'Stalled',
      status: 'True',
      observedGeneration: 1,
      lastTransitionTime: iso(-60),
      reason: 'Gone',
    }
    const stalled = createCustom('Shop', 'web', { observedGeneration: 1, conditions: [condition] }, longAgo)
    const { deployment, replicaSet, pod } = createOwned(stalled)
    const found = added(deployment, replicaSet, pod(missing('ErrImagePull')))
    const options = { targets: [target], live: true }
    expect(run([at(0, added(stalled), own)], options)).toMatchObject({ outcome: 'failed', seconds: 5 })
    const answered = run([at(0, added(stalled), own), at(1, found, all)], options)
    expect(answered).toMatchObject({ outcome: 'failed', seconds: 1 })
    expect(answered.message).toContain('cause: container app of pod/front-1-a')
    const replayed = run([at(0, added(stalled), own), at(1, found, all)], { targets: [target] })
    expect([replayed.message, replayed.seconds]).toEqual([answered.message, answered.seconds])
  })
})
