import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, ObjectMeta } from '../../src/cluster/objects.ts'
import { loadCatalogue } from '../../src/lifecycle/custom/catalogue.ts'
import { loadCompiler } from '../../src/plan/expressions.ts'
import { compileEntry, type HealthCheck } from '../../src/plan/health-check-entries.ts'
import { added, at, createTarget, failed, modified, progressing, type RunOptions, run } from '../kit/gate.ts'
import { complete, iso, make, ownedBy } from '../kit/objects.ts'

const group = 'acme.example/v1'
const target = createTarget({ apiVersion: group, kind: 'Shop', name: 'web' })
let catalogue: readonly HealthCheck[]

beforeAll(async () => {
  const kinds = [{ apiVersion: 'apps/v1', kind: 'Deployment' }]
  const entry = {
    apiVersion: group,
    kind: 'Shop',
    documentation: 'https://acme.example',
    current: "status.phase == 'Running'",
    owns: kinds,
  }
  catalogue = [compileEntry({ ...entry, awaitsWorkloads: true }, await loadCompiler())]
})

/** A custom resource whose spec was changed at this second; its operator reports that it runs, as before. */
function createShop(changedAt: number, generation = 2): KubeObject {
  return {
    apiVersion: group,
    kind: 'Shop',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'web-uid',
      generation,
      creationTimestamp: iso(generation === 1 ? changedAt : -600),
      managedFields: [
        { manager: 'kubectl', time: iso(changedAt) },
        { manager: 'operator', subresource: 'status', time: iso(changedAt) },
      ],
    },
    spec: {},
    status: { observedGeneration: generation, phase: 'Running' },
  }
}

/** Its Deployment, which the operator wrote at this second. */
function createOwned(
  writtenAt: number,
  overrides: Parameters<typeof make.deployment>[0] = {},
  metadata: Partial<ObjectMeta> = {},
) {
  return make.deployment({
    status: complete(1),
    ...overrides,
    metadata: {
      name: 'front',
      uid: 'front-uid',
      creationTimestamp: iso(-600),
      ownerReferences: ownedBy(createShop(0)),
      managedFields: [{ manager: 'operator', time: iso(writtenAt) }],
      ...metadata,
    },
  })
}

const listed = (kind: string, apiVersion = 'apps/v1'): Observation => ({
  type: 'SYNCED',
  apiVersion,
  kind,
  namespace: 'shop',
})
const own = [listed('Shop', group), listed('Event', 'v1')]
const all = [...own, listed('Deployment'), listed('ReplicaSet'), listed('Pod', 'v1')]

function verdict(steps: Parameters<typeof run>[0], options: RunOptions = {}): string {
  const { outcome, seconds } = run(steps, {
    targets: [target],
    ...options,
    settings: { catalogue, ...options.settings },
  })
  return `${outcome} after ${seconds} s`
}

describe('a custom resource whose status ignores its workloads', () => {
  it('is ready at once when its rollout is over', () => {
    expect(verdict([at(0, added(createShop(-60), createOwned(-60)), all)])).toBe('ready after 0 s')
  })

  it('is not ready before its Deployment is', () => {
    const changed = createOwned(1, { status: progressing }, { generation: 2, resourceVersion: '2' })
    const steps = [
      at(0, added(createShop(0), createOwned(-60)), all),
      at(1, modified(changed)),
      at(25, modified(createOwned(1, {}, { resourceVersion: '3' }))),
    ]
    expect(verdict(steps)).toBe('ready after 25 s')
  })

  it('is ready once its operator has changed the Deployment', () => {
    const steps = [
      at(0, added(createShop(0), createOwned(-60)), all),
      at(3, modified(createOwned(3, {}, { resourceVersion: '2' }))),
    ]
    expect(verdict(steps)).toBe('ready after 3 s')
  })

  it('is ready after the settle time when the change of its spec affects no workload', () => {
    expect(verdict([at(0, added(createShop(0), createOwned(-60)), all)])).toBe('ready after 10 s')
  })

  it('waits the settle time for the first workload of a new object', () => {
    expect(verdict([at(0, added(createShop(0, 1)), all)])).toBe('ready after 10 s')
    const steps = [
      at(0, added(createShop(0, 1)), all),
      at(2, added(createOwned(2, { status: progressing }, { creationTimestamp: iso(2) }))),
      at(20, modified(createOwned(2, {}, { creationTimestamp: iso(2), resourceVersion: '2' }))),
    ]
    expect(verdict(steps)).toBe('ready after 20 s')
  })

  it('is not ready before its operator has replaced the pods of a StatefulSet with OnDelete', () => {
    const statefulSet = (updatedReplicas: number, resourceVersion: string): KubeObject => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { ...createOwned(1).metadata, generation: 1, resourceVersion },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        updateStrategy: { type: 'OnDelete' },
        template: make.template(),
      },
      status: { observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas },
    })
    const steps = (spec: object) => [
      at(0, added({ ...createShop(0), spec }, statefulSet(1, '1')), own),
      at(40, modified(statefulSet(2, '2'))),
    ]
    expect(verdict(steps({}))).toBe('ready after 40 s')
    expect(verdict(steps({ updateStrategy: 'OnDelete' }))).toBe('ready after 0 s')
  })

  it('does not wait for a list that is refused', () => {
    expect(verdict([at(0, added(createShop(-60)), own, failed(403, 'Deployment'))])).toBe('ready after 0 s')
  })

  it('does not wait when a health check of the user replaces its entry', async () => {
    const entry = { apiVersion: group, kind: 'Shop', current: 'true' }
    const check = compileEntry(entry, await loadCompiler(), { isUsers: true })
    expect(verdict([at(0, added(createShop(0)), own)], { settings: { healthChecks: [check] } })).toBe('ready after 0 s')
  })
})

describe('a custom resource whose operator runs a Job', () => {
  const pack = (jobName: string): KubeObject => ({ ...createShop(0, 1), status: { phase: 'Running', jobName } })
  const job = (status: object, resourceVersion: string, metadata: Partial<ObjectMeta> = {}): KubeObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'pack-1',
      namespace: 'shop',
      uid: 'job-uid',
      creationTimestamp: iso(1),
      resourceVersion,
      ownerReferences: ownedBy(createShop(0)),
      ...metadata,
    },
    spec: { backoffLimit: 0, template: make.template() } as object,
    status,
  })
  const steps = (object: KubeObject, metadata: Partial<ObjectMeta> = {}) => [
    at(0, added(object), [...own, listed('Job', 'batch/v1')]),
    at(1, added(job({ active: 1, ready: 1 }, '2', metadata))),
    at(80, modified(job({ succeeded: 1, conditions: [{ type: 'Complete', status: 'True' }] }, '3', metadata))),
  ]
  it('is not ready before the Job completes that its status names, also if it does not own the Job', () => {
    expect(verdict(steps(pack('pack-1')))).toBe('ready after 80 s')
    expect(verdict(steps(pack('pack-1'), { ownerReferences: [] }))).toBe('ready after 80 s')
  })

  it('does not wait for another Job, nor if its kind is unknown', () => {
    expect(verdict(steps(pack('pack-2')))).toBe('ready after 10 s')
    expect(verdict(steps(pack('pack-1')), { settings: { catalogue: [] } })).toBe('ready after 0 s')
  })
})

it('the parent of an ApplySet is not ready before the workloads that are its members', () => {
  const id = 'applyset-Zm9vYmFy-v1'
  const parent: KubeObject = {
    ...createShop(-60),
    metadata: {
      ...createShop(-60).metadata,
      labels: { 'applyset.kubernetes.io/id': id },
      annotations: { 'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap,Deployment.apps' },
    },
  }
  const member = (resourceVersion: string, label: string, status = progressing) =>
    createOwned(
      -60,
      { status },
      { resourceVersion, ownerReferences: [], labels: { 'applyset.kubernetes.io/part-of': label } },
    )
  const steps = (label: string) => [
    at(0, added(parent, member('1', label)), own),
    at(25, modified(member('2', label, complete(1)))),
  ]
  expect(verdict(steps(id))).toBe('ready after 25 s')
  expect(verdict(steps('applyset-other-v1'))).toBe('ready after 0 s')
})

/**
 * The operator calculates these counts from the status of the StatefulSet, right after it has changed the StatefulSet:
 * https://github.com/prometheus-operator/prometheus-operator/blob/main/pkg/operator/statefulset_reporter.go
 */
it('a Prometheus is not ready while its StatefulSet has not observed the change, although its counts are complete', async () => {
  const prometheus = createTarget({ apiVersion: 'monitoring.coreos.com/v1', kind: 'Prometheus', name: 'web' })
  const current = { status: 'True', observedGeneration: 2, lastTransitionTime: iso(-600) }
  const object: KubeObject = {
    apiVersion: prometheus.apiVersion,
    kind: prometheus.kind,
    metadata: { ...createShop(0).metadata, uid: 'prometheus-uid' },
    spec: {},
    status: {
      replicas: 1,
      updatedReplicas: 1,
      availableReplicas: 1,
      unavailableReplicas: 0,
      conditions: [
        { ...current, type: 'Available' },
        { ...current, type: 'Reconciled' },
      ],
    },
  }
  const set = (observedGeneration: number, updatedReplicas: number, resourceVersion: string): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: {
      name: 'prometheus-web',
      namespace: 'shop',
      uid: 'set-uid',
      resourceVersion,
      generation: 2,
      creationTimestamp: iso(-600),
      ownerReferences: ownedBy(object),
      managedFields: [{ manager: 'prometheus-operator', time: iso(1) }],
    },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: make.deployment().spec?.template },
    status: { observedGeneration, replicas: 1, readyReplicas: 1, updatedReplicas, availableReplicas: 1 },
  })
  const lists = [listed('Prometheus', prometheus.apiVersion), listed('DaemonSet'), listed('StatefulSet'), ...all]
  const steps = [
    at(1, added(object, set(1, 1, '1')), [...lists, listed('ControllerRevision')]),
    at(2, modified(set(2, 0, '2'))),
    at(30, modified(set(2, 1, '3'))),
  ]
  const settings = { catalogue: await loadCatalogue([prometheus]) }
  expect(verdict(steps, { targets: [prometheus], settings })).toBe('ready after 30 s')
})

/**
 * The operator counts the pods of the revision in the status of a StatefulSet that may not have observed the change:
 * https://github.com/percona/percona-xtradb-cluster-operator/blob/main/pkg/controller/pxc/status.go
 */
describe('a database of Percona, which is ready by its status of the present generation right after a change', () => {
  const database = createTarget({ apiVersion: 'pxc.percona.com/v1', kind: 'PerconaXtraDBCluster', name: 'web' })
  const object = (state: string, resourceVersion: string): KubeObject => ({
    ...createShop(0),
    apiVersion: database.apiVersion,
    kind: database.kind,
    metadata: { ...createShop(0).metadata, resourceVersion },
    status: { observedGeneration: 2, state },
  })
  const lists = [listed(database.kind, database.apiVersion), listed('StatefulSet'), ...all]
  const judge = async (...steps: Parameters<typeof run>[0]) =>
    verdict(steps, { targets: [database], settings: { catalogue: await loadCatalogue([database]) } })

  it('is not ready before the operator had the time to count again', async () => {
    const steps = [
      at(0, added(object('ready', '1')), lists),
      at(5, modified(object('initializing', '2'))),
      at(60, modified(object('ready', '3'))),
    ]
    expect(await judge(...steps)).toBe('ready after 60 s')
  })

  it('is ready after the settle time when the change affects no pod', async () => {
    expect(await judge(at(0, added(object('ready', '1')), lists))).toBe('ready after 10 s')
  })
})
