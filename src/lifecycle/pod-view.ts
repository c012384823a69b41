import type { Container, ContainerStateTerminated, ContainerStatus, Pod } from '../cluster/objects.ts'
import type { PullDetail, PullReason } from '../reasons/images.ts'
import type { ProbeKind } from '../reasons/probes.ts'

/* The types of the facts about a pod and its containers that rules read. */

/** A container of a pod: its spec, its status and its last end. */
export interface PodContainer {
  readonly container: Container
  readonly status?: ContainerStatus
  /** An init container that is not a sidecar: it must succeed before the next container starts. */
  readonly isInit: boolean
  /** The container runs only once: exit code 0 means success, not a death. */
  readonly runsOnce: boolean
  /** A sidecar of a completed pod: the kubelet stops it, and the exit code does not count (KEP-753). */
  readonly isDoneSidecar: boolean
  /** The end of the present instance, else of the previous instance. */
  readonly end: ContainerStateTerminated | undefined
  /** The present instance is dead, and `end` is its death. */
  readonly isDead: boolean
}

/** The facts in the kubelet's message about a refused pull. */
export interface PullFailure extends Omit<PullDetail, 'image'> {
  readonly reason: PullReason
}

/** The refused pulls of a container with the same reason. */
export interface Refusals extends PullFailure {
  /** The number of attempts: by changes of the container state or by Events, whichever is larger. */
  readonly count: number
  readonly firstAt: number
  /** The earliest possible time of the latest attempt; absent if unknown. */
  readonly lastAt?: number
  /** The kubelet's latest message about a refusal. */
  readonly message: string
}

/** One run of a container, from its start to its end. Moments are on the runner's clock. */
export interface Instance {
  /** When the gate first saw the instance run; absent if the gate did not see it. */
  readonly seenAt?: number
  /** When the instance started. If it never ran, when it ended. */
  readonly beganAt?: number | undefined
  /** Since when the instance is ready; absent while it is not ready. */
  readonly readySince?: number | undefined
  /** The longest time for which it was ready, in milliseconds; Infinity after a run of ten minutes. */
  readonly readyFor?: number | undefined
  /** When the container ended; absent while it runs. */
  readonly diedAt?: number
}

/** The deaths of a container that count for the verdict. */
export interface DeathCount {
  readonly count: number
  /** All deaths since the creation of the pod, including a death before the next restart. */
  readonly total: number
  /** When the first counted death occurred; absent without a death. */
  readonly firstAt?: number
  /** Whether an instance that started after the gate has died: older instances may not contain the change. */
  readonly isCurrent: boolean
}

/** A failed step of the pod setup, with the number of attempts, and when the first and the last one failed. */
export interface SetupFailure {
  readonly reason: string
  readonly message: string
  readonly count: number
  readonly first: number | undefined
  readonly last: number | undefined
}

/** The last report of a cluster autoscaler. `refusal`: why it adds no node. */
export interface ScaleUp {
  readonly isAdding: boolean
  readonly refusal?: string
}

/** A container of a pod, with all facts that a rule reads. Moments are on the runner's clock. */
export interface ContainerView extends PodContainer {
  readonly pod: Pod
  readonly deaths: DeathCount
  readonly refusals: ReadonlyMap<PullReason, Refusals>
  readonly running: Instance | undefined
  /** The present waiting reason, since when the gate has seen it, and whether it is older than the gate. */
  readonly waiting?: { readonly reason: string; readonly since: number; readonly predatesGate: boolean }
  readonly startedAt: number | undefined
  /** When the instance of `end` started (with Docker: was created), and when it ended. */
  readonly endBeganAt: number | undefined
  readonly endedAt: number | undefined
  /** When the time limit of the startup and readiness probes ends. Undefined if it is ready or does not run. */
  readonly probesDueAt: number | undefined
  readonly isPulling: boolean
  /** A Secret of the pod's imagePullSecrets is missing (getPullSecretsForPod, pkg/kubelet). */
  readonly lacksPullSecret: boolean
  /** When the error in the container state first and last occurred. From Events, because the state is updated later. */
  readonly refused?: { readonly first: number | undefined; readonly last: number | undefined }
  /** The last message about each failed probe: `Readiness probe failed: HTTP probe failed with statuscode: 503`. */
  readonly failedProbes: Readonly<Partial<Record<ProbeKind, string>>>
  /** The failed probe because of which the kubelet killed the container. */
  readonly killedBy?: 'liveness' | 'startup'
  /** The kubelet's last message about the failed postStart hook. */
  readonly failedHook?: string
  /**
   * When the running postStart hook began. Until the hook has ended, only Events show the container, and the kubelet
   * starts no other container (startContainer, pkg/kubelet/kuberuntime).
   */
  readonly hookStartedAt?: number
}

/**
 * The facts about one version of a pod: its containers, their history, Events, and the reached milestones. The view
 * does not depend on the present time: where the time decides, it contains a moment on the runner's clock.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 */
export interface PodView {
  readonly pod: Pod
  /** When the gate first saw this version: after an outage, the watch first returns the old versions. */
  readonly seenAt: number
  /** The `minReadySeconds` of the workload, in milliseconds. */
  readonly minReadyMs: number
  /** The containers, in start order. */
  readonly containers: readonly ContainerView[]
  readonly scheduled: boolean
  /** All init containers have ended, and sidecars run. */
  readonly initialized: boolean
  readonly isPulling: boolean
  readonly pulled: boolean
  /** Every container runs, or ran before it died; every init container has completed. */
  readonly started: boolean
  /** Every container runs, or has completed. */
  readonly running: boolean
  readonly ready: boolean
  /** When the settle time ends for all containers without a readiness probe and for containers that have died. */
  readonly settledAt: number
  readonly moments: PodMoments
  /** The step that must end before the next containers start: `init container migrate is running`. */
  readonly runningStep?: string
  /** The last failed step of the pod setup, before the containers exist. */
  readonly setupFailure?: SetupFailure
  /** The setup of the pod is complete: an Event is about one of its containers. */
  readonly hasContainers: boolean
  /** The last Event why the pod has no node: some schedulers, such as that of EKS Fargate, write no condition. */
  readonly schedulingFailure?: string
  /** The last error about a ResourceClaim of the pod that cannot be created. */
  readonly claimFailure?: string
  readonly scaleUp?: ScaleUp
  /** The duration of the slowest image pull in milliseconds. */
  readonly pullMs?: number
  /** The progress numbers in the Events, until every container has started. */
  readonly counters: readonly (readonly [string, number])[]
}

/**
 * When a pod reached its milestones, by its status and its events: milliseconds since the epoch on the runner's clock.
 * Undefined if the milestone is not reached, or the time is unknown.
 */
interface PodMoments {
  readonly scheduled: number | undefined
  readonly initialized: number | undefined
  readonly pulled: number | undefined
  readonly started: number | undefined
  /** When the kubelet reported the pod as ready; the containers may not have settled yet. */
  readonly ready: number | undefined
  /** When a ready pod is settled; this may be in the future. */
  readonly settled: number | undefined
}
