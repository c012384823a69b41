import type {
  Container,
  ContainerStatus,
  EventObject,
  KubeObject,
  Pod,
  PodStatus,
  PodTemplate,
} from '../../../src/cluster/objects.ts'
import { condition, is, iso, make } from '../../kit/objects.ts'

/** What the container of an image does. Durations are in seconds. */
export interface Program {
  /** The readiness probe passes this long after each start; without it the container has no probe. */
  readonly readyAfter?: number
  /** An instance exits with 1 after this time. */
  readonly diesAfter?: number
  /** So many instances of each pod die; the next one stays. Default: all. */
  readonly deaths?: number
  /** The registry does not have the image. */
  readonly isMissing?: boolean
}

/** From the assignment to a node to the first start. */
const bootSeconds = 2
const graceSeconds = 5
/** How long a program takes to end after SIGTERM. */
const endSeconds = 2
/** The node controller's `node-monitor-grace-period`. */
const nodeGraceSeconds = 40
/** The cloud deletes the node of a lost machine, and the pod garbage collector its pods, this long after that. */
const nodeDeletionSeconds = 20

interface SimulatedNode {
  readonly name: string
  capacity: number
  isCordoned: boolean
  lostAt?: number
  readonly createdAt: number
}

export interface SimulatedPod {
  readonly object: Pod
  readonly owner: string
  readonly program: Program
  readonly createdAt: number
  /** A pod of a DaemonSet may run only there. */
  readonly boundTo: string | undefined
  node?: string
  scheduledAt?: number
  startedAt?: number
  deaths: number
  diedAt?: number
  pulls: number
  pulledAt?: number
  deletedAt?: number
  status: PodStatus
}

/** Neither deleted nor failed (IsPodActive, pkg/controller). */
export function isActive({ deletedAt, status }: SimulatedPod): boolean {
  return deletedAt === undefined && status.phase !== 'Failed'
}

export function isReady({ status }: SimulatedPod): boolean {
  return status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false
}

/** Scheduler, kubelets, node controller and pod garbage collector. They act once a second. */
export class SimulatedPods {
  now = 0
  pods: readonly SimulatedPod[] = []
  nodes: readonly SimulatedNode[] = []
  /** Reports about pods since the last call of `takeEvents`. */
  #events: EventObject[] = []
  #created = 0
  readonly #programs: Readonly<Record<string, Program>>

  /** A webhook adds this container to each pod. */
  readonly #injected: Container | undefined

  constructor(programs: Readonly<Record<string, Program>>, isInjected: boolean) {
    this.#programs = programs
    this.#injected = isInjected ? make.container({ name: 'proxy', image: 'mesh/proxy:v1' }) : undefined
  }

  programOf(template: PodTemplate | undefined): Program {
    return this.#programs[template?.spec?.containers?.[0]?.image?.split(':')[1] ?? ''] ?? {}
  }

  takeEvents(): readonly EventObject[] {
    const events = this.#events
    this.#events = []
    return events
  }

  of(owner: KubeObject): readonly SimulatedPod[] {
    return this.pods.filter((pod) => pod.owner === owner.metadata.uid)
  }

  /** For the name of a new object. */
  nextNumber(): number {
    this.#created += 1
    return this.#created
  }

  create(name: string, owner: KubeObject, template: PodTemplate | undefined, labels = {}, boundTo?: string): void {
    const metadata = {
      name,
      uid: `${name}-${this.now}-uid`,
      creationTimestamp: iso(this.now),
      labels: { ...template?.metadata?.labels, ...labels },
    }
    const containers = [
      ...(template?.spec?.containers ?? []),
      ...(this.#injected === undefined ? [] : [this.#injected]),
    ]
    const object = make.pod({ metadata, spec: { containers } }, owner)
    const program = this.programOf(template)
    const pod = { object, owner: owner.metadata.uid ?? '', program, createdAt: this.now, boundTo, deaths: 0, pulls: 0 }
    this.pods = [...this.pods, { ...pod, status: { phase: 'Pending' } }]
  }

  delete(pod: SimulatedPod): void {
    pod.deletedAt ??= this.now
  }

  addNode(name: string, capacity: number): void {
    this.nodes = [...this.nodes, { name, capacity, isCordoned: false, createdAt: this.now }]
  }

  node(name: string): SimulatedNode | undefined {
    return this.nodes.find((node) => node.name === name)
  }

  /** Ends a container. */
  kill(pod: SimulatedPod, exitCode: number): void {
    const startedAt = iso(pod.startedAt ?? this.now)
    pod.deaths += 1
    pod.diedAt = this.now
    delete pod.startedAt
    const state = is.terminated(exitCode, this.now, { startedAt })
    pod.status = this.#status(pod, false, { state, restartCount: pod.deaths - 1 })
  }

  /** Ends a pod whose node shuts down; it fails and stays (nodeshutdown, pkg/kubelet). */
  shutDown(pod: SimulatedPod): void {
    const containerStatuses = (pod.status.containerStatuses ?? []).map((each) => ({
      ...each,
      ready: false,
      state: is.terminated(137, this.now),
    }))
    const conditions = [condition('DisruptionTarget', 'True'), condition('Ready', 'False')]
    pod.status = { ...pod.status, phase: 'Failed', reason: 'Terminated', conditions, containerStatuses }
  }

  tick(): void {
    for (const pod of this.pods) if (pod.node === undefined && pod.deletedAt === undefined) this.#schedule(pod)
    for (const pod of this.pods) this.#run(pod)
    this.nodes = this.nodes.filter(
      ({ lostAt = Infinity }) => this.now < lostAt + nodeGraceSeconds + nodeDeletionSeconds,
    )
  }

  /** The pod as the API shows it. */
  toObject({ object, node, deletedAt, status }: SimulatedPod): Pod {
    const { nodeName: _, ...spec } = object.spec ?? {}
    const deletion = deletedAt === undefined ? {} : { deletionTimestamp: iso(deletedAt + graceSeconds) }
    const metadata = { ...object.metadata, ...deletion }
    return { ...object, metadata, spec: { ...spec, ...(node === undefined ? {} : { nodeName: node }) }, status }
  }

  #schedule(pod: SimulatedPod): void {
    const load = (name: string) => this.pods.filter((each) => each.node === name && isActive(each)).length
    const [best] = this.nodes
      .filter(({ name, capacity, isCordoned }) =>
        pod.boundTo === undefined ? !isCordoned && load(name) < capacity : name === pod.boundTo,
      )
      .toSorted((a, b) => load(a.name) - load(b.name))
    const lastTransitionTime = iso(best === undefined ? pod.createdAt : this.now)
    if (best === undefined) {
      const message = `0/${this.nodes.length} nodes are available: ${this.nodes.length} Insufficient cpu.`
      const report = { reason: 'Unschedulable', message, lastTransitionTime }
      pod.status = { phase: 'Pending', conditions: [condition('PodScheduled', 'False', report)] }
      return
    }
    pod.node = best.name
    pod.scheduledAt = this.now
    pod.status = { phase: 'Pending', conditions: [condition('PodScheduled', 'True', { lastTransitionTime })] }
  }

  #run(pod: SimulatedPod): void {
    const { node = '', scheduledAt, deletedAt, program, startedAt } = pod
    const lostAt = this.node(node)?.lostAt
    if (lostAt !== undefined) this.#runOnLostNode(pod, lostAt)
    else if (deletedAt !== undefined) {
      if (scheduledAt === undefined || this.now >= deletedAt + endSeconds) this.#remove(pod)
    } else if (pod.status.phase === 'Failed' || scheduledAt === undefined) return
    else if (program.isMissing) this.#pull(pod, scheduledAt)
    else if (startedAt === undefined) this.#start(pod, scheduledAt)
    else if (pod.deaths < (program.deaths ?? Infinity) && this.now - startedAt >= (program.diesAfter ?? Infinity))
      this.kill(pod, 1)
    else this.#showRunning(pod, startedAt)
  }

  #start(pod: SimulatedPod, scheduledAt: number): void {
    const { diedAt, deaths } = pod
    const backOff = deaths <= 1 ? 0 : Math.min(300, 10 * 2 ** (deaths - 2))
    const dueAt = diedAt === undefined ? scheduledAt + bootSeconds : diedAt + backOff + 1
    if (this.now >= dueAt) {
      pod.startedAt = this.now
      this.#showRunning(pod, this.now)
    } else if (diedAt !== undefined && this.now > diedAt + 1) {
      const state = is.waiting('CrashLoopBackOff', `back-off ${backOff}s restarting failed container=app`)
      const lastState = is.terminated(1, diedAt)
      pod.status = this.#status(pod, false, { state, lastState, restartCount: deaths - 1 })
    }
  }

  #showRunning(pod: SimulatedPod, startedAt: number): void {
    const isPassed = this.now - startedAt >= (pod.program.readyAfter ?? 0)
    const lastState = pod.diedAt === undefined ? {} : { lastState: is.terminated(1, pod.diedAt) }
    const container = { state: is.running(startedAt), restartCount: pod.deaths, started: true, ...lastState }
    pod.status = this.#status(pod, isPassed, container)
  }

  /** A kubelet pulls again after 10 s and then after twice the time (pkg/kubelet/images). */
  #pull(pod: SimulatedPod, scheduledAt: number): void {
    const dueAfter = [0, 14, 40, 85, 170, 330][pod.pulls] ?? Infinity
    const image = pod.object.spec?.containers?.[0]?.image ?? ''
    const message = `rpc error: code = NotFound desc = failed to pull and unpack image "${image}": failed to resolve reference "${image}": ${image}: not found`
    if (this.now >= scheduledAt + dueAfter) {
      pod.pulls += 1
      pod.pulledAt = this.now
      this.#report(pod, { reason: 'Failed', message: `Failed to pull image "${image}": ${message}`, count: pod.pulls })
    }
    const isBackingOff = this.now > (pod.pulledAt ?? 0) + 2
    const state = isBackingOff
      ? is.waiting('ImagePullBackOff', `Back-off: ${message}`)
      : is.waiting('ErrImagePull', message)
    pod.status = this.#status(pod, false, { state, restartCount: 0 }, 'Pending')
  }

  #report(pod: SimulatedPod, event: { reason: string; message: string; count: number }): void {
    const moments = { firstTimestamp: iso(pod.scheduledAt ?? this.now), lastTimestamp: iso(this.now) }
    this.#events.push(make.event(this.toObject(pod), { container: 'app', ...event, ...moments }))
  }

  #status(pod: SimulatedPod, ready: boolean, container: Partial<ContainerStatus>, phase = 'Running'): PodStatus {
    const state = ready ? 'True' : 'False'
    const before = pod.status.conditions?.find(({ type }) => type === 'Ready')
    const lastTransitionTime = before?.status === state ? before.lastTransitionTime : iso(this.now)
    const reason = ready ? {} : { reason: 'ContainersNotReady' }
    const { scheduledAt = this.now } = pod
    const injected = this.#injected
    return {
      phase,
      startTime: iso(scheduledAt),
      conditions: [
        condition('PodScheduled', 'True', { lastTransitionTime: iso(scheduledAt) }),
        condition('Initialized', 'True'),
        condition('ContainersReady', state, { lastTransitionTime, ...reason }),
        condition('Ready', state, { lastTransitionTime, ...reason }),
      ],
      containerStatuses: [
        { name: 'app', ready, restartCount: 0, ...container },
        ...(injected === undefined
          ? []
          : [{ name: injected.name, ready: true, restartCount: 0, state: is.running(scheduledAt) }]),
      ],
    }
  }

  #runOnLostNode(pod: SimulatedPod, lostAt: number): void {
    if (this.now < lostAt + nodeGraceSeconds) return
    const conditions = (pod.status.conditions ?? []).map((each) =>
      each.type === 'Ready' && each.status === 'True'
        ? condition('Ready', 'False', { lastTransitionTime: iso(this.now) })
        : each,
    )
    const isDeleted = this.now >= lostAt + nodeGraceSeconds + nodeDeletionSeconds - 1
    const phase = isDeleted ? 'Failed' : (pod.status.phase ?? 'Pending')
    const disruption = isDeleted ? [condition('DisruptionTarget', 'True', { reason: 'DeletionByPodGC' })] : []
    const others = conditions.filter(({ type }) => type !== 'DisruptionTarget')
    pod.status = { ...pod.status, phase, conditions: [...others, ...disruption] }
    if (this.now >= lostAt + nodeGraceSeconds + nodeDeletionSeconds) this.#remove(pod)
  }

  #remove(pod: SimulatedPod): void {
    this.pods = this.pods.filter((each) => each !== pod)
  }
}
