/** Why a registry refused a pull. */
export type PullReason =
  | 'image-not-found'
  | 'image-unauthorized'
  | 'image-rate-limited'
  | 'image-registry-unreachable'
  | 'image-platform-missing'
  | 'image-pull-failed'

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
  /** Absent while it is not ready. */
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

/** The observations of a container since first sight, with the deaths that count. Moments are on the runner's clock. */
export interface ContainerHistory extends DeathCount {
  readonly refusals: Readonly<Partial<Record<PullReason, Refusals>>>
  readonly running?: RunningInstance
  /** The present waiting reason, since when it was seen, and whether it predates the gate. */
  readonly waiting?: { readonly reason: string; readonly since: number; readonly predatesGate: boolean }
}

/** The observations of a pod, with the deaths that count. */
export interface PodHistory {
  /** When its present version was first seen. */
  readonly seenAt: number
  /** The minReadySeconds of its workload, in milliseconds. */
  readonly minReadyMs: number
  readonly containers: ReadonlyMap<string, ContainerHistory>
}
