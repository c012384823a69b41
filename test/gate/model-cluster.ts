import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { Deployment, EventObject, Pod, PodStatus, ReplicaSet } from '../../src/cluster/objects.ts'
import { alive, allSynced, failed } from '../kit/gate.ts'
import { condition, is, iso, make, moment, podIs } from '../kit/objects.ts'

/** What may happen to a Deployment of the cluster or to the connection. */
export const actions = [
  'sync',
  'createPod',
  'start',
  'ready',
  'unready',
  'crash',
  'backOff',
  'refusePull',
  'evict',
  'deletePod',
  'removePod',
  'relabel',
  'scale',
  'restart',
  'apply',
  'rollBack',
  'exceedProgressDeadline',
  'removeDeployment',
  'recreateDeployment',
  'terminateDeployment',
  'loseConnection',
  'refuseCredentials',
  'reconnect',
  'refusePods',
] as const

export type Action = (typeof actions)[number]

/** One action, `after` seconds later than the previous one. */
export interface Step {
  readonly after: number
  readonly action: Action
  /** Index of the Deployment; `pod` is the index of its pod. */
  readonly which: number
  readonly pod: number
}

interface Workload {
  deployment: Deployment | undefined
  readonly replicaSets: ReplicaSet[]
  /** In the order of their creation. */
  readonly pods: Pod[]
  deploymentCount: number
}

/** Simulates controllers and kubelets for Deployments; `events` is what watches would return. */
export class ModelCluster {
  readonly events: FeedEvent[] = []
  readonly #workloads: Workload[]
  #now = 0
  #createdCount = 0

  constructor(names: readonly string[]) {
    this.#workloads = names.map((name) => {
      const deployment = deploymentOf(name, 0)
      return {
        deployment,
        replicaSets: [make.replicaSet({ metadata: { name: `${name}-0` } }, deployment)],
        pods: [],
        deploymentCount: 1,
      }
    })
    for (const { deployment, replicaSets } of this.#workloads) {
      if (deployment !== undefined) this.#emit({ type: 'ADDED', object: deployment })
      for (const object of replicaSets) this.#emit({ type: 'ADDED', object })
    }
    this.#emit(...allSynced)
  }

  /** Performs one action; does nothing when the present state does not allow the action. */
  step({ after, action, which, pod: index }: Step): void {
    this.#now += after
    const workload = this.#workloads[which % this.#workloads.length]
    if (workload !== undefined)
      this.#actions[action](workload, workload.pods[index % Math.max(1, workload.pods.length)])
  }

  readonly #actions: Readonly<Record<Action, (workload: Workload, pod: Pod | undefined) => void>> = {
    sync: (workload) => this.#sync(workload),
    createPod: (workload) => this.#createPod(workload),
    start: (workload, pod) =>
      this.#setStatus(workload, pod, (now) => podIs.unready({ ...previousStatus(pod), state: is.running(now) })),
    ready: (workload, pod) =>
      this.#setStatus(workload, pod, (now) => podIs.ready(startOf(pod) ?? now, previousStatus(pod))),
    unready: (workload, pod) =>
      this.#setStatus(workload, pod, (now) =>
        podIs.unready({ ...previousStatus(pod), state: is.running(startOf(pod) ?? now) }),
      ),
    crash: (workload, pod) =>
      this.#setStatus(workload, pod, (now) => podIs.unready({ ...previousStatus(pod), state: is.terminated(3, now) })),
    backOff: (workload, pod) =>
      this.#setStatus(workload, pod, (now) =>
        podIs.unready({
          state: is.waiting('CrashLoopBackOff'),
          lastState: is.terminated(3, now),
          restartCount: deathsOf(pod),
        }),
      ),
    refusePull: (workload, pod) => this.#refusePull(workload, pod),
    evict: (workload, pod) => this.#setStatus(workload, pod, () => ({ phase: 'Failed', reason: 'Evicted' })),
    deletePod: (workload, pod) => this.#deletePod(workload, pod),
    removePod: (workload, pod) => this.#removePod(workload, pod, { deletionTimestamp: iso(this.#now) }),
    relabel: (workload, pod) => this.#removePod(workload, pod, {}),
    scale: (workload) => this.#changeSpec(workload, { replicas: ((workload.deployment?.spec?.replicas ?? 1) % 3) + 1 }),
    restart: (workload) => this.#changeSpec(workload, { template: annotated(workload.deployment, `at ${this.#now}`) }),
    apply: (workload) => this.#changeSpec(workload, { template: templateOf(this.#createdCount + 1) }),
    rollBack: (workload) =>
      this.#changeSpec(workload, { template: workload.replicaSets[0]?.spec?.template ?? templateOf(0) }),
    exceedProgressDeadline: (workload) => this.#exceedProgressDeadline(workload),
    removeDeployment: (workload) => this.#removeDeployment(workload),
    recreateDeployment: (workload) => this.#recreateDeployment(workload),
    terminateDeployment: (workload) => this.#terminateDeployment(workload),
    loseConnection: () => this.#emit(failed(0)),
    refuseCredentials: () => this.#emit(failed(401)),
    reconnect: () => this.#emit(alive),
    refusePods: () => this.#emit(failed(403, 'Pod')),
  }

  #emit(...observations: readonly Observation[]): void {
    for (const observation of observations) this.events.push({ ...observation, at: moment(this.#now) })
  }

  #update(workload: Workload, deployment: Deployment): void {
    workload.deployment = deployment
    this.#emit({ type: 'MODIFIED', object: deployment })
  }

  #changeSpec(workload: Workload, spec: object): void {
    const { deployment } = workload
    if (deployment === undefined) return
    const metadata = { ...deployment.metadata, generation: (deployment.metadata.generation ?? 0) + 1 }
    this.#update(workload, { ...deployment, metadata, spec: { ...deployment.spec, ...spec } })
  }

  /** What the Deployment controller does: creates the ReplicaSet of the template and writes the counts. */
  #sync(workload: Workload): void {
    const { deployment, replicaSets, pods } = workload
    if (deployment === undefined) return
    const current = currentSet(workload) ?? this.#createReplicaSet(workload, deployment)
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
    this.#update(workload, { ...deployment, status })
  }

  #createReplicaSet(workload: Workload, deployment: Deployment): ReplicaSet {
    this.#createdCount += 1
    const metadata = { name: `${deployment.metadata.name}-${this.#createdCount}`, creationTimestamp: iso(this.#now) }
    const set = make.replicaSet({ metadata }, deployment)
    workload.replicaSets.push(set)
    this.#emit({ type: 'ADDED', object: set })
    return set
  }

  #createPod(workload: Workload): void {
    const set = currentSet(workload)
    if (set === undefined || workload.pods.length >= 6) return
    this.#createdCount += 1
    const metadata = { name: `${set.metadata.name}-p${this.#createdCount}`, creationTimestamp: iso(this.#now) }
    const pod = make.pod(
      { metadata, status: { phase: 'Pending', startTime: iso(1), containerStatuses: [make.containerStatus()] } },
      set,
    )
    workload.pods.push(pod)
    this.#emit({ type: 'ADDED', object: pod })
  }

  #setStatus(workload: Workload, pod: Pod | undefined, next: (now: number) => PodStatus): void {
    if (pod === undefined || pod.status?.phase === 'Failed') return
    this.#replace(workload, pod, { ...pod, status: next(this.#now) })
  }

  #refusePull(workload: Workload, pod: Pod | undefined): void {
    if (pod === undefined || pod.status?.phase !== 'Pending') return
    const message = 'failed to pull and unpack image "acme/web:v1": acme/web:v1: not found'
    this.#setStatus(workload, pod, () =>
      podIs.unready({ state: is.waiting('ErrImagePull', message) }, { phase: 'Pending' }),
    )
    const object: EventObject = make.event(pod, {
      container: 'app',
      reason: 'Failed',
      message: `Failed to pull image "acme/web:v1": ${message}`,
      count: 1 + (this.#now % 3),
      firstTimestamp: iso(this.#now),
    })
    this.#emit({ type: 'MODIFIED', object })
  }

  #deletePod(workload: Workload, pod: Pod | undefined): void {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return
    const metadata = { ...pod.metadata, deletionTimestamp: iso(this.#now + 30) }
    this.#replace(workload, pod, { ...pod, metadata })
  }

  #removePod(workload: Workload, pod: Pod | undefined, last: object): void {
    if (pod === undefined) return
    workload.pods.splice(workload.pods.indexOf(pod), 1)
    this.#emit({ type: 'DELETED', object: { ...pod, metadata: { ...pod.metadata, ...last } } })
  }

  #replace(workload: Workload, before: Pod, after: Pod): void {
    workload.pods[workload.pods.indexOf(before)] = after
    this.#emit({ type: 'MODIFIED', object: after })
  }

  #exceedProgressDeadline(workload: Workload): void {
    const { deployment } = workload
    if (deployment?.status === undefined) return
    const conditions = [condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })]
    this.#update(workload, { ...deployment, status: { ...deployment.status, conditions } })
  }

  #removeDeployment(workload: Workload): void {
    const { deployment } = workload
    if (deployment === undefined) return
    workload.deployment = undefined
    this.#emit({ type: 'DELETED', object: deployment })
  }

  #terminateDeployment(workload: Workload): void {
    const { deployment } = workload
    if (deployment === undefined) return
    const metadata = { ...deployment.metadata, deletionTimestamp: iso(this.#now) }
    this.#update(workload, { ...deployment, metadata })
  }

  #recreateDeployment(workload: Workload): void {
    const name = workload.replicaSets[0]?.metadata.name.replace(/-0$/, '')
    if (workload.deployment !== undefined || name === undefined) return
    workload.deployment = deploymentOf(name, workload.deploymentCount)
    workload.deploymentCount += 1
    this.#emit({ type: 'ADDED', object: workload.deployment })
  }
}

function deploymentOf(name: string, incarnation: number): Deployment {
  return make.deployment({ metadata: { name, uid: `${name}-uid-${incarnation}` }, spec: { template: templateOf(0) } })
}

function templateOf(version: number) {
  return make.template({ containers: [make.container({ image: `acme/web:v${version}` })] })
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

/** Deaths of the pod's container so far. */
function deathsOf(pod: Pod | undefined): number {
  const status = appOf(pod)
  return (status?.restartCount ?? 0) + (status?.state?.terminated ? 1 : 0)
}

/** Status fields that the next instance of a container inherits. */
function previousStatus(pod: Pod | undefined) {
  const status = appOf(pod)
  const last = status?.state?.terminated ? { terminated: status.state.terminated } : status?.lastState
  return { restartCount: deathsOf(pod), started: true, ...(last === undefined ? {} : { lastState: last }) }
}
