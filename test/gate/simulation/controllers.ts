import type {
  Condition,
  DaemonSet,
  Deployment,
  KubeObject,
  PodTemplate,
  ReplicaSet,
  StatefulSet,
} from '../../../src/cluster/objects.ts'
import { isSameTemplate } from '../../../src/lifecycle/workloads/pod-template.ts'
import { condition, iso, make, moment, ownedBy } from '../../kit/objects.ts'
import { isActive, isReady, type SimulatedPod, type SimulatedPods } from './pods.ts'

/** A workload with its controllers. */
export interface SimulatedController {
  readonly template: PodTemplate | undefined
  readonly replicas: number
  /** What the controllers do in a second, one after another. */
  readonly steps: readonly (() => void)[]
  /** The workload, and the objects that its controllers own, besides pods. */
  objects(): readonly KubeObject[]
  change(spec: { replicas?: number; template?: PodTemplate | undefined }): void
  /** Whether its pods, as the API shows them, are those of a complete rollout. */
  isComplete(): boolean
}

function metadataOfWeb({ now }: SimulatedPods) {
  return { name: 'web', namespace: 'shop', uid: 'web-uid', generation: 1, creationTimestamp: iso(now) }
}

/** The object with a change of its spec. */
function changed<T extends KubeObject>(object: T, spec: object): T {
  const { metadata } = object
  const next = { ...object.spec, ...spec }
  if (JSON.stringify(next) === JSON.stringify(object.spec)) return object
  return { ...object, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 }, spec: next }
}

const revisionAnnotation = 'deployment.kubernetes.io/revision'
const deadlineSeconds = 600

interface SimulatedSet {
  object: ReplicaSet
  status: NonNullable<ReplicaSet['status']>
  desired: number
}

/** Creates and deletes pods; returns the status (replica_set.go and replica_set_utils.go, pkg/controller/replicaset). */
function syncReplicaSet(object: ReplicaSet, desired: number, pods: SimulatedPods): NonNullable<ReplicaSet['status']> {
  const active = pods.of(object).filter(isActive)
  for (let missing = desired - active.length; missing > 0; missing--)
    pods.create(`${object.metadata.name}-${pods.nextNumber()}`, object, object.spec?.template)
  const ranked = active.toSorted((a, b) => Number(isReady(a)) - Number(isReady(b)) || b.createdAt - a.createdAt)
  for (const pod of ranked.slice(0, Math.max(0, active.length - desired))) pods.delete(pod)
  const counted = pods.of(object).filter(isActive)
  const ready = counted.filter(isReady).length
  const { generation: observedGeneration = 1 } = object.metadata
  return { observedGeneration, replicas: counted.length, readyReplicas: ready, availableReplicas: ready }
}

/** The controller of a ReplicaSet without an owner. */
export class ReplicaSetController implements SimulatedController {
  readonly #pods: SimulatedPods
  #object: ReplicaSet

  constructor(pods: SimulatedPods, replicas: number, template: PodTemplate) {
    this.#pods = pods
    this.#object = make.replicaSet({
      metadata: { ...metadataOfWeb(pods), annotations: {}, ownerReferences: [] },
      spec: { replicas, template },
    })
  }

  get template() {
    return this.#object.spec?.template
  }

  get replicas() {
    return this.#object.spec?.replicas ?? 1
  }

  readonly steps = [
    () => {
      this.#object = { ...this.#object, status: syncReplicaSet(this.#object, this.replicas, this.#pods) }
    },
  ]

  objects(): readonly KubeObject[] {
    return [this.#object]
  }

  change(spec: object): void {
    this.#object = changed(this.#object, spec)
  }

  isComplete(): boolean {
    const active = this.#pods.of(this.#object).filter(isActive)
    return active.length === this.replicas && active.every(isReady)
  }
}

/**
 * The controllers of Deployments (rolling.go, recreate.go, sync.go and progress.go of pkg/controller/deployment; a scale
 * during a rolling update changes only the largest ReplicaSet) and ReplicaSets.
 */
export class DeploymentController implements SimulatedController {
  readonly #pods: SimulatedPods
  #object: Deployment
  readonly #sets: SimulatedSet[] = []
  readonly #isRecreate: boolean
  #syncedReplicas: number

  constructor(pods: SimulatedPods, replicas: number, template: PodTemplate, strategy?: 'Recreate') {
    this.#pods = pods
    this.#syncedReplicas = replicas
    this.#isRecreate = strategy === 'Recreate'
    const spec = { replicas, template, ...(strategy === undefined ? {} : { strategy: { type: strategy } }) }
    this.#object = make.deployment({ metadata: metadataOfWeb(pods), spec })
  }

  get template() {
    return this.#object.spec?.template
  }

  get replicas() {
    return this.#object.spec?.replicas ?? 1
  }

  readonly steps = [() => this.#sync(), () => this.#syncSets()]

  objects(): readonly KubeObject[] {
    const sets = this.#sets.map(({ object, desired, status }) => {
      return { ...object, spec: { ...object.spec, replicas: desired }, status }
    })
    return [this.#object, ...sets]
  }

  change(spec: object): void {
    this.#object = changed(this.#object, spec)
  }

  isComplete(): boolean {
    const current = this.#findSet()
    const active = this.#pods.pods.filter(isActive)
    const own = active.filter((pod) => pod.owner === current?.object.metadata.uid)
    return active.length === own.length && own.length === this.replicas && own.every(isReady)
  }

  #sync(): void {
    const minAvailable = this.replicas - Math.floor(this.replicas * 0.25)
    if (this.#isRecreate) this.#recreate()
    else this.#roll(minAvailable)
    this.#updateStatus(minAvailable)
  }

  #roll(minAvailable: number): void {
    const current = this.#currentSet()
    const old = this.#sets.filter((set) => set !== current)
    const { replicas } = this
    const limit = replicas + Math.ceil(replicas * 0.25)
    const all = sum(this.#sets, ({ desired }) => desired)
    const isScaled = this.#syncedReplicas !== replicas && old.some(({ desired }) => desired > 0)
    this.#syncedReplicas = replicas
    if (isScaled) this.#scale(limit - all)
    else if (current.desired > replicas) current.desired = replicas
    else if (current.desired < replicas && all < limit)
      current.desired += Math.min(limit - all, replicas - current.desired)
    else this.#scaleDown(old, all - minAvailable - (current.desired - (current.status.availableReplicas ?? 0)))
  }

  /** The new ReplicaSet is made when the old pods have ended. */
  #recreate(): void {
    const known = this.#findSet()
    for (const set of this.#sets) if (set !== known) set.desired = 0
    const old = this.#pods.pods.filter(({ owner }) => owner !== known?.object.metadata.uid)
    if (old.every(({ status }) => status.phase === 'Failed')) this.#currentSet().desired = this.replicas
  }

  #scale(difference: number): void {
    const [largest] = this.#sets.toSorted((a, b) => b.desired - a.desired)
    if (largest !== undefined) largest.desired = Math.max(0, largest.desired + difference)
  }

  /** Scales older ReplicaSets down, their unavailable pods first. */
  #scaleDown(old: readonly SimulatedSet[], spare: number): void {
    let left = spare
    for (const countOf of [unavailable, ({ desired }: SimulatedSet) => desired]) {
      for (const set of old) {
        const cut = Math.max(0, Math.min(left, countOf(set)))
        set.desired -= cut
        left -= cut
      }
    }
  }

  #findSet(): SimulatedSet | undefined {
    return this.#sets.find(({ object }) => isSameTemplate(object.spec?.template, this.template))
  }

  #currentSet(): SimulatedSet {
    const numbers = this.#sets.map(({ object }) => Number(object.metadata.annotations?.[revisionAnnotation]))
    const next = `${Math.max(0, ...numbers) + 1}`
    const known = this.#findSet()
    if (known === undefined) return this.#createSet(next)
    const { annotations = {} } = known.object.metadata
    const number = annotations[revisionAnnotation] ?? ''
    if (Number(number) < Math.max(...numbers)) {
      const history = [annotations[`${revisionAnnotation}-history`], number].filter((each) => each !== undefined)
      const after = { [revisionAnnotation]: next, [`${revisionAnnotation}-history`]: history.join(',') }
      known.object = { ...known.object, metadata: { ...known.object.metadata, annotations: after } }
    }
    return known
  }

  #createSet(number: string): SimulatedSet {
    const metadata = {
      name: `web-${this.#pods.nextNumber()}`,
      creationTimestamp: iso(this.#pods.now),
      annotations: { [revisionAnnotation]: number },
    }
    const set = { object: make.replicaSet({ metadata }, this.#object), desired: 0, status: { replicas: 0 } }
    this.#sets.push(set)
    return set
  }

  #updateStatus(minAvailable: number): void {
    const current = this.#findSet()
    const count = (field: 'replicas' | 'readyReplicas' | 'availableReplicas') =>
      sum(this.#sets, ({ status }) => status[field] ?? 0)
    const { metadata, status: before } = this.#object
    const status = {
      observedGeneration: metadata.generation ?? 1,
      replicas: count('replicas'),
      updatedReplicas: current?.status.replicas ?? 0,
      readyReplicas: count('readyReplicas'),
      availableReplicas: count('availableReplicas'),
    }
    const progressing = this.#progressing(before, status)
    const available = condition('Available', status.availableReplicas >= minAvailable ? 'True' : 'False')
    const revision = current?.object.metadata.annotations?.[revisionAnnotation]
    const annotations = {
      ...metadata.annotations,
      ...(revision === undefined ? {} : { [revisionAnnotation]: revision }),
    }
    this.#object = {
      ...this.#object,
      metadata: { ...metadata, annotations },
      status: { ...status, conditions: [available, progressing] },
    }
  }

  #progressing(before: Deployment['status'] = {}, status: NonNullable<Deployment['status']>): Condition {
    const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
    const last = before.conditions?.find(({ type }) => type === 'Progressing')
    const isMoved =
      updatedReplicas > (before.updatedReplicas ?? 0) ||
      replicas - updatedReplicas < (before.replicas ?? 0) - (before.updatedReplicas ?? 0) ||
      readyReplicas > (before.readyReplicas ?? 0) ||
      availableReplicas > (before.availableReplicas ?? 0)
    const now = iso(this.#pods.now)
    const make = (state: string, reason: string): Condition => {
      const lastTransitionTime = last?.status === state ? last.lastTransitionTime : now
      return { type: 'Progressing', status: state, reason, lastUpdateTime: now, lastTransitionTime }
    }
    if ([replicas, updatedReplicas, availableReplicas].every((number) => number === this.replicas))
      return last?.reason === 'NewReplicaSetAvailable' ? last : make('True', 'NewReplicaSetAvailable')
    if (isMoved || last === undefined) return make('True', 'ReplicaSetUpdated')
    const isLate = Date.parse(last.lastUpdateTime ?? now) + deadlineSeconds * 1_000 < moment(this.#pods.now)
    return isLate && last.reason === 'ReplicaSetUpdated' ? make('False', 'ProgressDeadlineExceeded') : last
  }

  #syncSets(): void {
    for (const set of this.#sets) set.status = syncReplicaSet(set.object, set.desired, this.#pods)
  }
}

function unavailable({ desired, status }: SimulatedSet): number {
  return Math.max(0, desired - (status.availableReplicas ?? 0))
}

function sum<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((total, each) => total + of(each), 0)
}

const hashLabel = 'controller-revision-hash'

/** The revisions of a StatefulSet or DaemonSet: the newest has the highest number; an old one that returns gets a new number. */
class Revisions {
  readonly #prefix: string
  #all: readonly (KubeObject & { revision: number; template: PodTemplate | undefined })[] = []

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  of(template: PodTemplate | undefined, owner: KubeObject, now: number) {
    const next = Math.max(0, ...this.#all.map(({ revision }) => revision)) + 1
    const known = this.#all.find((each) => isSameTemplate(each.template, template))
    const name = known?.metadata.name ?? `web-${this.#prefix}${this.#all.length + 1}`
    const isNewest = known !== undefined && known.revision === next - 1
    const revision = {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: known?.metadata ?? {
        name,
        namespace: 'shop',
        uid: `${name}-uid`,
        creationTimestamp: iso(now),
        labels: { app: 'web', [hashLabel]: name },
        ownerReferences: ownedBy(owner),
      },
      data: { spec: { template: { ...template, $patch: 'replace' } } },
      revision: isNewest ? known.revision : next,
      template,
    }
    this.#all = [...this.#all.filter((each) => each !== known), revision]
    return revision
  }

  named(name: string) {
    return this.#all.find(({ metadata }) => metadata.name === name)
  }

  objects(): readonly KubeObject[] {
    return this.#all.map(({ template: _, ...revision }) => revision)
  }
}

function revisionOf({ object }: SimulatedPod): string | undefined {
  return object.metadata.labels?.[hashLabel]
}

/** The controller of StatefulSets with RollingUpdate (stateful_set_control.go, pkg/controller/statefulset). */
export class StatefulSetController implements SimulatedController {
  readonly #pods: SimulatedPods
  readonly #revisions = new Revisions('s')
  readonly #isParallel: boolean
  #object: StatefulSet

  constructor(
    pods: SimulatedPods,
    replicas: number,
    template: PodTemplate,
    podManagementPolicy: 'OrderedReady' | 'Parallel' = 'OrderedReady',
  ) {
    this.#pods = pods
    this.#isParallel = podManagementPolicy === 'Parallel'
    const selector = { matchLabels: { app: 'web' } }
    const spec = { replicas, selector, template, serviceName: 'web', podManagementPolicy }
    const metadata = metadataOfWeb(pods)
    this.#object = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec } as StatefulSet
  }

  get template() {
    return this.#object.spec?.template
  }

  get replicas() {
    return this.#object.spec?.replicas ?? 1
  }

  readonly steps = [() => this.#sync()]

  objects(): readonly KubeObject[] {
    return [this.#object, ...this.#revisions.objects()]
  }

  change(spec: object): void {
    this.#object = changed(this.#object, spec)
  }

  isComplete(): boolean {
    const update = this.#revisions.of(this.template, this.#object, this.#pods.now).metadata.name
    const active = this.#pods.of(this.#object).filter(isActive)
    return active.length === this.replicas && active.every((pod) => isReady(pod) && revisionOf(pod) === update)
  }

  #sync(): void {
    const update = this.#revisions.of(this.template, this.#object, this.#pods.now).metadata.name
    const current = this.#object.status?.currentRevision ?? update
    this.#process(current, update)
    const pods = this.#pods.of(this.#object)
    const counts = (revision: string) =>
      pods.filter((pod) => pod.deletedAt === undefined && revisionOf(pod) === revision).length
    const readyReplicas = pods.filter((pod) => pod.status.phase === 'Running' && isReady(pod)).length
    const isDone = counts(update) === pods.length && readyReplicas === pods.length && pods.length === this.replicas
    const status = {
      observedGeneration: this.#object.metadata.generation ?? 1,
      replicas: pods.length,
      readyReplicas,
      availableReplicas: readyReplicas,
      currentReplicas: counts(isDone ? update : current),
      updatedReplicas: counts(update),
      currentRevision: isDone ? update : current,
      updateRevision: update,
    }
    this.#object = { ...this.#object, status }
  }

  /** With OrderedReady, one pod after another: the next one has to wait until all those before are ready. */
  #process(current: string, update: string): void {
    const pods = this.#pods.of(this.#object)
    const named = (index: number) => pods.find(({ object }) => object.metadata.name === `web-${index}`)
    const wanted = Array.from({ length: this.replicas }, (_, index) => ({ index, pod: named(index) }))
    const isHealthy = (pod: SimulatedPod | undefined) =>
      pod !== undefined && pod.deletedAt === undefined && isReady(pod)
    for (const { index, pod } of wanted) {
      if (pod === undefined) this.#create(index, current, update)
      else if (pod.status.phase === 'Failed') this.#pods.delete(pod)
      if (!isHealthy(pod) && !this.#isParallel) return
    }
    const condemned = pods.filter((pod) => !wanted.some((each) => each.pod === pod))
    const nameOf = ({ object }: SimulatedPod) => object.metadata.name ?? ''
    for (const pod of condemned.toSorted((a, b) => nameOf(b).localeCompare(nameOf(a)))) {
      this.#pods.delete(pod)
      if (!this.#isParallel) return
    }
    for (const { pod } of wanted.toReversed()) {
      const isOld = pod !== undefined && revisionOf(pod) !== update
      if (isOld) this.#pods.delete(pod)
      if (isOld || !isHealthy(pod)) return
    }
  }

  /** A pod below the number of those that are not updated yet keeps their revision (newVersionedStatefulSetPod). */
  #create(index: number, current: string, update: string): void {
    const isCurrent = index < (this.#object.status?.currentReplicas ?? 0)
    const revision = this.#revisions.named(isCurrent ? current : update)
    const name = revision?.metadata.name ?? update
    this.#pods.create(`web-${index}`, this.#object, revision?.template, { [hashLabel]: name })
  }
}

/** The controller of DaemonSets with maxUnavailable 1 (daemon_controller.go and update.go, pkg/controller/daemon). */
export class DaemonSetController implements SimulatedController {
  readonly #pods: SimulatedPods
  readonly #revisions = new Revisions('d')
  #object: DaemonSet

  constructor(pods: SimulatedPods, _replicas: number, template: PodTemplate) {
    this.#pods = pods
    const spec = { selector: { matchLabels: { app: 'web' } }, template }
    const metadata = metadataOfWeb(pods)
    this.#object = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec } as DaemonSet
  }

  get template() {
    return this.#object.spec?.template
  }

  get replicas() {
    return this.#pods.nodes.length
  }

  readonly steps = [() => this.#sync()]

  objects(): readonly KubeObject[] {
    return [this.#object, ...this.#revisions.objects()]
  }

  change({ template }: { template?: PodTemplate | undefined }): void {
    this.#object = changed(this.#object, template === undefined ? {} : { template })
  }

  /** The pods of all nodes that work, and existed when the gate began. */
  isComplete(): boolean {
    const update = this.#revisions.of(this.template, this.#object, this.#pods.now).metadata.name
    const nodes = this.#pods.nodes.filter(
      ({ lostAt, isCordoned, createdAt }) => !lostAt && !isCordoned && createdAt <= 0,
    )
    return nodes.every(({ name }) => {
      const pods = this.#pods.of(this.#object).filter((pod) => pod.boundTo === name && isActive(pod))
      return pods.length === 1 && pods.every((pod) => isReady(pod) && revisionOf(pod) === update)
    })
  }

  #sync(): void {
    const update = this.#revisions.of(this.template, this.#object, this.#pods.now)
    const pods = this.#pods.of(this.#object)
    const nodes = this.#pods.nodes.map(({ name }) => name)
    for (const pod of pods) if (pod.status.phase === 'Failed') this.#pods.delete(pod)
    for (const node of nodes) {
      if (pods.some((pod) => pod.boundTo === node)) continue
      const labels = { [hashLabel]: update.metadata.name }
      this.#pods.create(`web-${this.#pods.nextNumber()}`, this.#object, update.template, labels, node)
    }
    const old = pods.filter((pod) => isActive(pod) && revisionOf(pod) !== update.metadata.name)
    const down = nodes.filter((node) => !pods.some((pod) => pod.boundTo === node && isActive(pod) && isReady(pod)))
    for (const pod of old.filter((each) => !isReady(each))) this.#pods.delete(pod)
    if (down.length === 0) for (const pod of old.slice(0, 1)) this.#pods.delete(pod)
    this.#updateStatus(nodes, update.metadata.name)
  }

  #updateStatus(nodes: readonly string[], update: string): void {
    // The newest pod of each node counts (updateDaemonSetStatus).
    const counted = nodes.flatMap((node) => {
      const [pod] = this.#pods
        .of(this.#object)
        .filter((each) => each.boundTo === node)
        .toSorted((a, b) => b.createdAt - a.createdAt)
      return pod ?? []
    })
    const ready = counted.filter(isReady).length
    const status = {
      observedGeneration: this.#object.metadata.generation ?? 1,
      desiredNumberScheduled: nodes.length,
      currentNumberScheduled: counted.length,
      numberReady: ready,
      numberAvailable: ready,
      updatedNumberScheduled: counted.filter((pod) => revisionOf(pod) === update).length,
    }
    this.#object = { ...this.#object, status }
  }
}

export function nodeObject(node: SimulatedPods['nodes'][number], now: number): KubeObject {
  const { name, createdAt, isCordoned, lostAt } = node
  const isSilent = lostAt !== undefined && now >= lostAt + 40
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `${name}-uid`, creationTimestamp: iso(createdAt) },
    spec: isCordoned && lostAt === undefined ? { unschedulable: true } : {},
    status: { conditions: [condition('Ready', isSilent ? 'Unknown' : 'True')] },
  } as KubeObject
}

/** The endpoints of the Service `web` (endpointslice and its utils.go, k8s.io/endpointslice). */
export function endpointSlice(pods: SimulatedPods): KubeObject {
  const present = pods.pods.filter(({ scheduledAt, status }) => scheduledAt !== undefined && status.phase !== 'Failed')
  const endpoints = present.map((pod) => ({
    conditions: { ready: isReady(pod) && pod.deletedAt === undefined },
    targetRef: { kind: 'Pod', name: pod.object.metadata.name, uid: pod.object.metadata.uid },
  }))
  const labels = { 'kubernetes.io/service-name': 'web' }
  const metadata = { name: 'web-x', namespace: 'shop', uid: 'slice-uid', labels }
  const slice = { kind: 'EndpointSlice', metadata, ports: [{ port: 8080 }], endpoints }
  return { apiVersion: 'discovery.k8s.io/v1', ...slice } as KubeObject
}

export const webService = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', uid: 'web-service-uid' },
  spec: { clusterIP: '10.0.0.1', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
} as KubeObject
