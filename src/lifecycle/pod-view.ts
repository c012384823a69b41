import type { Container, ContainerStateTerminated, ContainerStatus, Pod } from '../cluster/objects.ts'
import type { PullDetail, PullReason } from '../reasons/images.ts'
import type { ProbeKind } from '../reasons/probes.ts'

export interface PodContainer {
  readonly container: Container
  readonly status?: ContainerStatus
  /** An init container that is not a sidecar: it must succeed before the next container starts. */
  readonly isInit: boolean
  /** Exit code 0 is its success, not a death. */
  readonly runsOnce: boolean
  /** A sidecar of a completed pod: the kubelet ends it, and its exit code does not count (KEP-753). */
  readonly isDoneSidecar: boolean
  /** The last end of an instance: of the present one, else of the one before it. */
  readonly end: ContainerStateTerminated | undefined
  /** The present instance is dead: `end` is its death. */
  readonly isDead: boolean
}

/** What the kubelet's message about a refused pull shows. */
export interface PullFailure extends Omit<PullDetail, 'image'> {
  readonly reason: PullReason
}

/** Refused pulls with one reason. */
export interface Refusals extends PullFailure {
  /** The attempts, counted by changes of the container's state or in the kubelet's Events: the larger number. */
  readonly count: number
  readonly firstAt: number
  /** The earliest possible moment of the latest attempt; absent if only a state at first sight shows it. */
  readonly lastAt?: number
  /** The kubelet's latest message about a refusal. */
  readonly message: string
}

/** One instance of a container: it ends with a death. Moments are on the runner's clock. */
export interface Instance {
  /** When it was first seen to run; absent if it was not seen. */
  readonly seenAt?: number
  /** When it started; of an instance that never ran, when it ended. */
  readonly beganAt?: number | undefined
  /** Since when it is ready; absent while it is not. */
  readonly readySince?: number | undefined
  /** Its longest ready time in milliseconds; Infinity after a run of ten minutes. */
  readonly readyFor?: number | undefined
  /** When the container ended; absent while it runs. */
  readonly diedAt?: number
}

/** The deaths of a container that count. */
export interface DeathCount {
  readonly count: number
  /** All deaths over the life of the pod, with one that no restart has followed yet. */
  readonly total: number
  /** The moment of the earliest of these deaths; absent if there are none. */
  readonly firstAt?: number
  /** Whether one of these deaths is of an instance that started after the gate: older instances may lack the change. */
  readonly isCurrent: boolean
}

/** A failed step, with its number of attempts, and the moments of the first and latest one on the runner's clock. */
export interface SetupFailure {
  readonly reason: string
  readonly message: string
  readonly count: number
  readonly first: number | undefined
  readonly last: number | undefined
}

/** What an autoscaler last reported. `refusal`: why it adds no node. */
export interface ScaleUp {
  readonly isAdding: boolean
  readonly refusal?: string
}

/** A container in a version of its pod, with everything that a rule reads about it. Moments are on the runner's clock. */
export interface ContainerView extends PodContainer {
  readonly pod: Pod
  readonly deaths: DeathCount
  readonly refusals: ReadonlyMap<PullReason, Refusals>
  /** The running instance. */
  readonly running: Instance | undefined
  /** The present waiting reason, since when it was seen, and whether it predates the gate. */
  readonly waiting?: { readonly reason: string; readonly since: number; readonly predatesGate: boolean }
  /** When its present instance started. */
  readonly startedAt: number | undefined
  /** When the instance of `end` started or, with Docker, was created, and when it ended. */
  readonly endBeganAt: number | undefined
  readonly endedAt: number | undefined
  /**
   * When the time that its probes allow ends: first of the startup probe, then of the readiness probe. Undefined for a
   * container that is ready, does not run or must end.
   */
  readonly probesDueAt: number | undefined
  /** Its image is being pulled. */
  readonly isPulling: boolean
  /** A Secret of the pod's imagePullSecrets is missing (getPullSecretsForPod, pkg/kubelet). */
  readonly lacksPullSecret: boolean
  /** When the error in its state occurred first and last, by the Events: the state is updated later. */
  readonly refused?: { readonly first: number | undefined; readonly last: number | undefined }
  /** The kubelet's last message about each probe that failed: `Readiness probe failed: HTTP probe failed with statuscode: 503`. */
  readonly failedProbes: Readonly<Partial<Record<ProbeKind, string>>>
  /** The probe for which the kubelet killed it. */
  readonly killedBy?: 'liveness' | 'startup'
  /** The kubelet's last message about its failed postStart hook. */
  readonly failedHook?: string
  /**
   * When the postStart hook of a new container began, if it runs. The kubelet reports the container, and starts the next
   * ones, when the hook has ended (startContainer, pkg/kubelet/kuberuntime): until then only its Events show it.
   */
  readonly hookStartedAt?: number
}

/**
 * A version of a pod: what was observed of its containers since first sight, what Events report, and which milestones
 * it has reached. It does not depend on the present time: where the time decides, it contains a moment on the runner's
 * clock.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 */
export interface PodView {
  readonly pod: Pod
  /** When this version was first seen: after an outage, the watch first returns the old versions. */
  readonly seenAt: number
  /** The minReadySeconds of its workload, in milliseconds. */
  readonly minReadyMs: number
  /** In start order. */
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
  /** From when every container that has no readiness probe, or that has died, was ready for the settle time. */
  readonly settledAt: number
  readonly moments: PodMoments
  /** What the next containers wait for: `init container migrate is running`. */
  readonly runningStep?: string
  /** The latest failed step before its containers exist. */
  readonly setupFailure?: SetupFailure
  /** An Event is about one of its containers: the setup of the pod is complete. */
  readonly hasContainers: boolean
  /** The last message of the controller that cannot create a ResourceClaim of the pod. */
  readonly claimFailure?: string
  readonly scaleUp?: ScaleUp
  /** The time of its slowest pull in milliseconds. */
  readonly pullMs?: number
  /** The numbers in its Events that show progress, until every container has started. */
  readonly counters: readonly (readonly [string, number])[]
}

/**
 * When a pod reached its milestones, as its status and its events show it: milliseconds since the epoch on the runner's clock.
 * Undefined if they do not show it, or if it has not reached the milestone.
 */
interface PodMoments {
  readonly scheduled: number | undefined
  readonly initialized: number | undefined
  readonly pulled: number | undefined
  readonly started: number | undefined
  /** By the kubelet alone, before its containers have settled. */
  readonly ready: number | undefined
  /** When a ready pod is settled; this may be in the future. */
  readonly settled: number | undefined
}
