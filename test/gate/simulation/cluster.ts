import type { FeedEvent, Observation, WatchRequest } from '../../../src/cluster/feed.ts'
import type { KubeObject, PodTemplate } from '../../../src/cluster/objects.ts'
import { make, moment } from '../../kit/objects.ts'
import { endpointSlice, nodeObject, type SimulatedController, webService } from './controllers.ts'
import { type Program, SimulatedPods } from './pods.ts'

const watchedKinds: Readonly<Record<string, readonly string[]>> = {
  v1: ['Pod', 'Event', 'Service', 'Node'],
  'apps/v1': ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'ControllerRevision'],
  'discovery.k8s.io/v1': ['EndpointSlice'],
}
const requests = Object.entries(watchedKinds).flatMap(([apiVersion, kinds]): readonly WatchRequest[] =>
  kinds.map((kind) => ({ apiVersion, kind, ...(kind === 'Node' ? {} : { namespace: 'shop' }) })),
)

/** Creates a workload with its controllers. */
export type CreateWorkload = (pods: SimulatedPods, replicas: number, template: PodTemplate) => SimulatedController

export interface ClusterOptions {
  readonly replicas?: number
  readonly nodes?: number
  readonly capacity?: number
  /** Another container is added to each pod. */
  readonly isInjected?: boolean
  /** The workload is created, instead of changed. */
  readonly isNew?: boolean | undefined
  /** So many seconds before second 0. */
  readonly changedBefore?: number
}

/** A cluster with the workload `web` and a Service before it, in virtual time. `events` is what watches that begin at second 0 return. */
export class SimulatedCluster {
  readonly events: FeedEvent[] = []
  readonly pods: SimulatedPods
  readonly workload: SimulatedController
  #slice: KubeObject
  readonly #programs: Readonly<Record<string, Program>>
  /** The last version of each object that the watches returned. */
  readonly #returned = new Map<string, string>()
  /** The controllers elect a leader until then. */
  #controllersFrom = -Infinity
  #nodeCount = 0

  /** Changes the workload from the first program to another one. */
  constructor(
    create: CreateWorkload,
    programs: Readonly<Record<string, Program>>,
    program: string,
    { replicas = 3, nodes = 3, capacity = 20, isInjected = false, isNew = false, changedBefore = 0 }: ClusterOptions,
  ) {
    this.#programs = programs
    this.pods = new SimulatedPods(programs, isInjected)
    this.pods.now = isNew ? -changedBefore : -200
    for (let node = 0; node < nodes; node++) this.addNode(capacity)
    const [first = program] = Object.keys(programs)
    this.workload = create(this.pods, replicas, this.templateOf(isNew ? program : first))
    this.#slice = endpointSlice(this.pods)
    while (this.now < -changedBefore) this.tick()
    this.apply(program)
    while (this.now < 0) this.tick()
    this.events.length = 0
    this.#returned.clear()
    this.#emit()
    for (const request of requests) this.#return({ type: 'SYNCED', ...request })
  }

  get now(): number {
    return this.pods.now
  }

  /** Lets a second pass. */
  tick(): void {
    this.pods.now += 1
    if (this.now >= this.#controllersFrom) {
      for (const step of this.workload.steps) {
        step()
        this.#emit()
      }
      this.#slice = endpointSlice(this.pods)
    }
    this.pods.tick()
    this.#emit()
  }

  templateOf(program: string): PodTemplate {
    const { readyAfter } = this.#programs[program] ?? {}
    const probe = readyAfter === undefined ? {} : { readinessProbe: { periodSeconds: 1, failureThreshold: 3 } }
    return make.template({ containers: [make.container({ image: `acme/web:${program}`, ...probe })] })
  }

  apply(program: string): void {
    this.workload.change({ template: this.templateOf(program) })
    this.#emit()
  }

  /** Applies the present version again. */
  reapply(): void {
    this.workload.change({ template: structuredClone(this.workload.template), replicas: this.workload.replicas })
    this.#emit()
  }

  scale(replicas: number): void {
    this.workload.change({ replicas })
    this.#emit()
  }

  /** `kubectl rollout restart`; without a value, a GitOps tool removes the annotation. */
  annotate(restartedAt?: string): void {
    const { template } = this.workload
    const annotations: Record<string, string> = restartedAt === undefined ? {} : { restartedAt }
    this.workload.change({ template: { ...template, metadata: { ...template?.metadata, annotations } } })
    this.#emit()
  }

  addNode(capacity = 20): void {
    this.#nodeCount += 1
    this.pods.addNode(`node-${this.#nodeCount}`, capacity)
  }

  drain(node: string): void {
    this.#cordon(node)
    for (const pod of this.pods.pods) if (pod.node === node && pod.boundTo === undefined) this.pods.delete(pod)
    this.#emit()
  }

  evict(index: number): void {
    const pod = this.pods.pods.at(index % Math.max(1, this.pods.pods.length))
    if (pod !== undefined) this.pods.delete(pod)
    this.#emit()
  }

  /** The machine ends without a warning. */
  lose(node: string): void {
    const found = this.pods.node(node)
    if (found !== undefined) Object.assign(found, { lostAt: found.lostAt ?? this.now, isCordoned: true })
  }

  shutDown(node: string): void {
    this.#cordon(node)
    for (const pod of this.pods.pods) if (pod.node === node && pod.deletedAt === undefined) this.pods.shutDown(pod)
    this.#emit()
  }

  /** The containers of a node die, and start again with it. */
  reboot(node: string): void {
    for (const pod of this.pods.pods)
      if (
        pod.node === node &&
        pod.startedAt !== undefined &&
        pod.deletedAt === undefined &&
        pod.status.phase === 'Running'
      )
        this.pods.kill(pod, 255)
    this.#emit()
  }

  holdControllers(seconds: number): void {
    this.#controllersFrom = this.now + seconds
  }

  #cordon(node: string): void {
    const found = this.pods.node(node)
    if (found !== undefined) found.isCordoned = true
  }

  #return(observation: Observation): void {
    this.events.push({ ...observation, at: moment(this.now) })
  }

  /** Returns what has changed. */
  #emit(): void {
    if (this.now < 0) return
    const objects: readonly KubeObject[] = [
      ...this.workload.objects(),
      webService,
      this.#slice,
      ...this.pods.nodes.map((node) => nodeObject(node, this.now)),
      ...this.pods.pods.map((pod) => this.pods.toObject(pod)),
    ]
    const present = new Set(objects.map(({ metadata: { uid = '' } }) => uid))
    for (const [uid, text] of this.#returned) {
      if (present.has(uid)) continue
      this.#returned.delete(uid)
      this.#return({ type: 'DELETED', object: JSON.parse(text) })
    }
    for (const object of objects) {
      const { uid = '' } = object.metadata
      const [before, text] = [this.#returned.get(uid), JSON.stringify(object)]
      if (before === text) continue
      this.#returned.set(uid, text)
      this.#return({ type: before === undefined ? 'ADDED' : 'MODIFIED', object })
    }
    for (const object of this.pods.takeEvents()) this.#return({ type: 'MODIFIED', object })
  }
}
