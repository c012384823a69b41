import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { Deployment, EventObject, Pod, PodStatus, ReplicaSet } from '../../src/cluster/objects.ts'
import {
  condition,
  createContainer,
  createDeployment,
  createEvent,
  createPod,
  createReplicaSet,
  createStatus,
  createTemplate,
  iso,
  moment,
  podStatus,
  readyStatus,
  running,
  terminated,
  waiting,
} from '../lifecycle/builders.ts'
import { alive, allSynced, failed } from './builders.ts'

/** What may happen in a cluster, to one of its Deployments or to the way there. */
export const happenings = [
  'sync',
  'grow',
  'start',
  'ready',
  'unready',
  'die',
  'backOff',
  'refuse',
  'evict',
  'kill',
  'vanish',
  'relabel',
  'scale',
  'restart',
  'apply',
  'undo',
  'giveUp',
  'remove',
  'recreate',
  'terminate',
  'lose',
  'refuseCredentials',
  'find',
  'refusePods',
] as const

export type Happening = (typeof happenings)[number]

/** One thing that happens, so many seconds after the one before. */
export interface Step {
  readonly after: number
  readonly what: Happening
  /** Which Deployment, and which of its pods. */
  readonly which: number
  readonly pod: number
}

interface Workload {
  deployment: Deployment | undefined
  readonly replicaSets: ReplicaSet[]
  /** In the order of their making. */
  readonly pods: Pod[]
  lives: number
}

/** A cluster of Deployments that behaves as controllers and kubelets do, and writes down what watches would send. */
export class ModelCluster {
  readonly events: FeedEvent[] = []
  readonly #workloads: Workload[]
  #now = 0
  #made = 0

  constructor(names: readonly string[]) {
    this.#workloads = names.map((name) => {
      const deployment = deploymentOf(name, 0)
      return {
        deployment,
        replicaSets: [createReplicaSet({ metadata: { name: `${name}-0` } }, deployment)],
        pods: [],
        lives: 1,
      }
    })
    for (const { deployment, replicaSets } of this.#workloads) {
      if (deployment !== undefined) this.#tell({ type: 'ADDED', object: deployment })
      for (const object of replicaSets) this.#tell({ type: 'ADDED', object })
    }
    this.#tell(...allSynced)
  }

  /** Lets one thing happen; what cannot happen as things stand does not. */
  step({ after, what, which, pod: index }: Step): void {
    this.#now += after
    const workload = this.#workloads[which % this.#workloads.length]
    if (workload !== undefined) this.#acts[what](workload, workload.pods[index % Math.max(1, workload.pods.length)])
  }

  readonly #acts: Readonly<Record<Happening, (workload: Workload, pod: Pod | undefined) => void>> = {
    sync: (workload) => this.#sync(workload),
    grow: (workload) => this.#grow(workload),
    start: (workload, pod) => this.#move(workload, pod, (now) => podStatus({ ...kept(pod), state: running(now) })),
    ready: (workload, pod) => this.#move(workload, pod, (now) => readyStatus(startOf(pod) ?? now, kept(pod))),
    unready: (workload, pod) =>
      this.#move(workload, pod, (now) => podStatus({ ...kept(pod), state: running(startOf(pod) ?? now) })),
    die: (workload, pod) => this.#move(workload, pod, (now) => podStatus({ ...kept(pod), state: terminated(3, now) })),
    backOff: (workload, pod) =>
      this.#move(workload, pod, (now) =>
        podStatus({ state: waiting('CrashLoopBackOff'), lastState: terminated(3, now), restartCount: deathsOf(pod) }),
      ),
    refuse: (workload, pod) => this.#refuse(workload, pod),
    evict: (workload, pod) => this.#move(workload, pod, () => ({ phase: 'Failed', reason: 'Evicted' })),
    kill: (workload, pod) => this.#kill(workload, pod),
    vanish: (workload, pod) => this.#vanish(workload, pod, { deletionTimestamp: iso(this.#now) }),
    relabel: (workload, pod) => this.#vanish(workload, pod, {}),
    scale: (workload) => this.#change(workload, { replicas: ((workload.deployment?.spec?.replicas ?? 1) % 3) + 1 }),
    restart: (workload) => this.#change(workload, { template: annotated(workload.deployment, `at ${this.#now}`) }),
    apply: (workload) => this.#change(workload, { template: templateOf(this.#made + 1) }),
    undo: (workload) => this.#change(workload, { template: workload.replicaSets[0]?.spec?.template ?? templateOf(0) }),
    giveUp: (workload) => this.#giveUp(workload),
    remove: (workload) => this.#remove(workload),
    recreate: (workload) => this.#recreate(workload),
    terminate: (workload) => this.#terminate(workload),
    lose: () => this.#tell(failed(0)),
    refuseCredentials: () => this.#tell(failed(401)),
    find: () => this.#tell(alive),
    refusePods: () => this.#tell(failed(403, 'Pod')),
  }

  #tell(...observations: readonly Observation[]): void {
    for (const observation of observations) this.events.push({ ...observation, at: moment(this.#now) })
  }

  #put(workload: Workload, deployment: Deployment): void {
    workload.deployment = deployment
    this.#tell({ type: 'MODIFIED', object: deployment })
  }

  #change(workload: Workload, spec: object): void {
    const { deployment } = workload
    if (deployment === undefined) return
    const metadata = { ...deployment.metadata, generation: (deployment.metadata.generation ?? 0) + 1 }
    this.#put(workload, { ...deployment, metadata, spec: { ...deployment.spec, ...spec } })
  }

  /** The Deployment controller: one ReplicaSet for the template, and the counts as they are. */
  #sync(workload: Workload): void {
    const { deployment, replicaSets, pods } = workload
    if (deployment === undefined) return
    const current = currentSet(workload) ?? this.#makeSet(workload, deployment)
    const active = pods.filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== 'Failed',
    )
    const ofSets = active.filter((pod) => replicaSets.some((set) => isOwnedBy(pod, set)))
    const updated = ofSets.filter((pod) => isOwnedBy(pod, current))
    const ready = ofSets.filter((pod) =>
      pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    )
    const status = {
      observedGeneration: deployment.metadata.generation ?? 1,
      replicas: ofSets.length,
      updatedReplicas: updated.length,
      readyReplicas: ready.length,
      availableReplicas: ready.length,
    }
    this.#put(workload, { ...deployment, status })
  }

  #makeSet(workload: Workload, deployment: Deployment): ReplicaSet {
    this.#made += 1
    const metadata = { name: `${deployment.metadata.name}-${this.#made}`, creationTimestamp: iso(this.#now) }
    const set = createReplicaSet({ metadata }, deployment)
    workload.replicaSets.push(set)
    this.#tell({ type: 'ADDED', object: set })
    return set
  }

  #grow(workload: Workload): void {
    const set = currentSet(workload)
    if (set === undefined || workload.pods.length >= 6) return
    this.#made += 1
    const metadata = { name: `${set.metadata.name}-p${this.#made}`, creationTimestamp: iso(this.#now) }
    const pod = createPod({ metadata, status: { phase: 'Pending', containerStatuses: [createStatus()] } }, set)
    workload.pods.push(pod)
    this.#tell({ type: 'ADDED', object: pod })
  }

  #move(workload: Workload, pod: Pod | undefined, next: (now: number) => PodStatus): void {
    if (pod === undefined || pod.status?.phase === 'Failed') return
    this.#replace(workload, pod, { ...pod, status: next(this.#now) })
  }

  #refuse(workload: Workload, pod: Pod | undefined): void {
    if (pod === undefined || pod.status?.phase !== 'Pending') return
    const message = 'failed to pull and unpack image "acme/web:v1": acme/web:v1: not found'
    this.#move(workload, pod, () => podStatus({ state: waiting('ErrImagePull', message) }, { phase: 'Pending' }))
    const object: EventObject = createEvent(pod, {
      container: 'app',
      reason: 'Failed',
      message: `Failed to pull image "acme/web:v1": ${message}`,
      count: 1 + (this.#now % 3),
      firstTimestamp: iso(this.#now),
    })
    this.#tell({ type: 'MODIFIED', object })
  }

  #kill(workload: Workload, pod: Pod | undefined): void {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return
    const metadata = { ...pod.metadata, deletionTimestamp: iso(this.#now + 30) }
    this.#replace(workload, pod, { ...pod, metadata })
  }

  #vanish(workload: Workload, pod: Pod | undefined, last: object): void {
    if (pod === undefined) return
    workload.pods.splice(workload.pods.indexOf(pod), 1)
    this.#tell({ type: 'DELETED', object: { ...pod, metadata: { ...pod.metadata, ...last } } })
  }

  #replace(workload: Workload, before: Pod, after: Pod): void {
    workload.pods[workload.pods.indexOf(before)] = after
    this.#tell({ type: 'MODIFIED', object: after })
  }

  #giveUp(workload: Workload): void {
    const { deployment } = workload
    if (deployment?.status === undefined) return
    const conditions = [condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })]
    this.#put(workload, { ...deployment, status: { ...deployment.status, conditions } })
  }

  #remove(workload: Workload): void {
    const { deployment } = workload
    if (deployment === undefined) return
    workload.deployment = undefined
    this.#tell({ type: 'DELETED', object: deployment })
  }

  #terminate(workload: Workload): void {
    const { deployment } = workload
    if (deployment === undefined) return
    const metadata = { ...deployment.metadata, deletionTimestamp: iso(this.#now) }
    this.#put(workload, { ...deployment, metadata })
  }

  #recreate(workload: Workload): void {
    const name = workload.replicaSets[0]?.metadata.name.replace(/-0$/, '')
    if (workload.deployment !== undefined || name === undefined) return
    workload.deployment = deploymentOf(name, workload.lives)
    workload.lives += 1
    this.#tell({ type: 'ADDED', object: workload.deployment })
  }
}

function deploymentOf(name: string, life: number): Deployment {
  return createDeployment({ metadata: { name, uid: `${name}-uid-${life}` }, spec: { template: templateOf(0) } })
}

function templateOf(version: number) {
  return createTemplate({ containers: [createContainer({ image: `acme/web:v${version}` })] })
}

function annotated(deployment: Deployment | undefined, restartedAt: string) {
  const template = deployment?.spec?.template ?? templateOf(0)
  return { ...template, metadata: { ...template.metadata, annotations: { restartedAt } } }
}

function currentSet({ deployment, replicaSets }: Workload): ReplicaSet | undefined {
  const key = (template: object | undefined) =>
    JSON.stringify(template, (name, value) => (name === 'pod-template-hash' ? undefined : value))
  return replicaSets.find(
    (set) =>
      set.metadata.ownerReferences?.some(({ uid }) => uid === deployment?.metadata.uid) &&
      key(set.spec?.template) === key(deployment?.spec?.template),
  )
}

function isOwnedBy(pod: Pod, { metadata }: ReplicaSet): boolean {
  return pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) ?? false
}

function appOf(pod: Pod | undefined) {
  return pod?.status?.containerStatuses?.[0]
}

function startOf(pod: Pod | undefined): number | undefined {
  const startedAt = appOf(pod)?.state?.running?.startedAt
  return startedAt === undefined ? undefined : (Date.parse(startedAt) - moment(0)) / 1_000
}

/** How often the container of a pod has died so far. */
function deathsOf(pod: Pod | undefined): number {
  const status = appOf(pod)
  return (status?.restartCount ?? 0) + (status?.state?.terminated ? 1 : 0)
}

/** What the next instance of a container keeps of the one before. */
function kept(pod: Pod | undefined) {
  const status = appOf(pod)
  const last = status?.state?.terminated ? { terminated: status.state.terminated } : status?.lastState
  return { restartCount: deathsOf(pod), started: true, ...(last === undefined ? {} : { lastState: last }) }
}
