import { isOfKind, type KubeObject, oncePerObject, type Pod } from '../cluster/objects.ts'
import type { PullReason } from '../reasons/images.ts'

/** Refused pulls with one reason; their number is the larger of the two counts. */
export interface Refusals {
  /** Attempts counted by changes of the container's state. */
  readonly attempts: number
  /** Attempts counted in the kubelet's events. */
  readonly events: number
  readonly firstAt: number
  /** The earliest possible moment of the latest attempt; absent if only a state at first sight shows it. */
  readonly lastAt?: number
  /** The kubelet's latest message about a refusal. */
  readonly message: string
}

/** The running instance of a container. */
export interface RunningInstance {
  /** The timestamp as the status contains it. */
  readonly startedAt: string | undefined
  readonly seenAt: number
  /** Since when the instance is ready; absent while it is not. */
  readonly readySince?: number
}

/** The deaths of a container that count. */
export interface DeathCount {
  readonly deaths: number
  /** All deaths over the life of the pod, with one that no restart has followed yet. */
  readonly total: number
  /** The moment of the earliest of these deaths; absent if there are none. */
  readonly firstDeathAt?: number
  /** Whether one of these deaths is of an instance that started after the gate: older instances may lack the change. */
  readonly isCurrent: boolean
}

/** What is reported about a container, or about its pod as a whole. Moments are on the runner's clock. */
export interface ContainerReports {
  /** The kubelet's last message about each probe that failed: `Readiness probe failed: HTTP probe failed with statuscode: 503`. */
  readonly failedProbes: Readonly<Partial<Record<ProbeKind, string>>>
  /** The probe for which the kubelet killed it. */
  readonly killedBy?: 'liveness' | 'startup'
  /** The kubelet's last message about its failed postStart hook. */
  readonly failedHook?: string
  /** A Secret of imagePullSecrets is missing (getPullSecretsForPod, pkg/kubelet). */
  readonly lacksPullSecret: boolean
  /** When the error in its state occurred first and last, by the Events: the state is updated later. */
  readonly refused?: { readonly first: number | undefined; readonly last: number | undefined }
  /** Its image is being pulled, as far as its own Events show. */
  readonly isPulling: boolean
  /**
   * When the postStart hook of a new container began, if it runs. The kubelet reports the container, and starts the next
   * ones, when the hook has ended (startContainer, pkg/kubelet/kuberuntime): until then only its Events show it.
   */
  readonly hookStartedAt?: number
}

export type ProbeKind = 'liveness' | 'readiness' | 'startup'

/** What is reported about a pod as a whole. */
export interface PodReports {
  /** The latest failed step before its containers exist. */
  readonly setupFailure?: SetupFailure
  /** An Event is about one of its containers: the setup of the pod is complete. */
  readonly hasContainers: boolean
  /** The last message of the controller that cannot create a ResourceClaim of the pod. */
  readonly claimFailure?: string
  readonly scaleUp?: ScaleUp
  /** An image volume is being pulled. */
  readonly isVolumePulling: boolean
  /** The time of its slowest pull in milliseconds. */
  readonly pullMs?: number
  /** The numbers that show progress. */
  readonly counters: readonly (readonly [string, number])[]
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

/** The observations of a container since first sight, with the deaths that count. Moments are on the runner's clock. */
export interface ContainerHistory extends DeathCount {
  readonly reports: ContainerReports
  readonly refusals: Readonly<Partial<Record<PullReason, Refusals>>>
  readonly running?: RunningInstance
  /** The present waiting reason, since when it was seen, and whether it predates the gate. */
  readonly waiting?: { readonly reason: string; readonly since: number; readonly predatesGate: boolean }
}

/** The observations of a pod and what its Events report, with the deaths that count. */
export interface PodHistory {
  readonly reports: PodReports
  /** When its present version was first seen. */
  readonly seenAt: number
  /** The minReadySeconds of its workload, in milliseconds. */
  readonly minReadyMs: number
  readonly containers: ReadonlyMap<string, ContainerHistory>
}

/**
 * The pods of a target, by their revision and by what happens to them. `gone` may contain pods of the other lists,
 * which contain each pod at most once. The gated revision is the one that the target waits for.
 */
export interface Pods {
  /** The pods of the gated revision. */
  readonly new: readonly Pod[]
  /** Pods of an older revision, which the controller replaces. */
  readonly old: readonly Pod[]
  /** Pods of an older revision, which the controller keeps: below a partition, or with OnDelete. */
  readonly kept: readonly Pod[]
  /** Pods of the gated revision that have ended: the controller replaces them. */
  readonly ended: readonly Pod[]
  /** Pods of the gated revision that are being deleted. */
  readonly leaving: readonly Pod[]
  /** All other pods that are being deleted. */
  readonly draining: readonly Pod[]
  /** Failed pods of the gated revision, deleted or not. */
  readonly gone: readonly Pod[]
  /** The kept pods must be ready too, so they count as gated ones: OnDelete updates no pod by itself. */
  readonly awaitsKept: boolean
}

/** The pods of a target: those in its assessment; for a target that is a pod, this pod. */
export function podsOf(object: KubeObject | undefined, assessed: Pods | undefined): Pods | undefined {
  if (!isOfKind(object, 'Pod')) return assessed
  return { new: [object], old: [], kept: [], ended: [], leaving: [], draining: [], gone: [], awaitsKept: false }
}

/** The pods that must become ready. */
export function awaitedPods({ new: pods, kept, awaitsKept }: Pods): readonly Pod[] {
  return awaitsKept ? [...pods, ...kept] : pods
}

/** The pods that count as of the gated revision, also those that have ended or are being deleted. */
export function gatedPods(pods: Pods): readonly Pod[] {
  return [...awaitedPods(pods), ...pods.ended, ...pods.leaving]
}

/** The present versions of the gated pods, without those that no longer exist. */
export function presentPods(pods: Pods, podWithUid: (uid: string) => KubeObject | undefined): readonly Pod[] {
  const known = gatedPods(pods).map(({ metadata: { uid = '' } }) => podWithUid(uid))
  return known.filter((object) => isOfKind(object, 'Pod'))
}

/**
 * How a pod belongs to its workload. `gated`: it has the gated revision. `kept`: it is older, and the workload keeps
 * it, below a partition or with OnDelete. `other`: another older pod, or the workload is not gated or not assessed yet.
 */
export type PodRevision = 'gated' | 'kept' | 'other'

/** How the gated and the kept pods belong to a workload, by uid. Cached: a Service needs it for each of its pods. */
export const revisionsByUid = oncePerObject((pods: Pods): ReadonlyMap<string | undefined, PodRevision> => {
  const revisions = new Map<string | undefined, PodRevision>()
  for (const { metadata } of gatedPods(pods)) revisions.set(metadata.uid, 'gated')
  for (const { metadata } of pods.kept) revisions.set(metadata.uid, 'kept')
  return revisions
})

/** Whether two assessments contain the same pods, in any state. */
export function haveSamePods(a: Pods | undefined, b: Pods | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  const areSame = (before: readonly Pod[], after: readonly Pod[]) =>
    before.length === after.length && before.every(({ metadata }, index) => metadata.uid === after[index]?.metadata.uid)
  return areSame(gatedPods(a), gatedPods(b)) && areSame(a.kept, b.kept)
}
