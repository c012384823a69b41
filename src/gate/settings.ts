import type { ExpectedImages, Inputs } from '../inputs.ts'
import type { LifecycleSettings } from '../lifecycle/reader.ts'
import type { TargetChecks } from '../lifecycle/rules.ts'
import type { Target } from '../plan/target.ts'
import { awaitRevisionMs } from '../thresholds.ts'

/** The settings of a gate. Durations are in milliseconds; a timeout of 0 is disabled. */
export interface GateSettings extends LifecycleSettings, TargetChecks {
  /** When the gate began: milliseconds since the epoch. */
  readonly startedAt: number
  /** The input `timeout`; see `gateTimeoutMs`. */
  readonly timeoutMs: number
  /** If true, a longer timeout of a reference does not extend `timeoutMs`. */
  readonly isTimeoutSetByUser: boolean
  readonly stallTimeoutMs: number
  /** If true, a stall hold does not stop the stall clock. */
  readonly isStallTimeoutSetByUser: boolean
  readonly milestoneTimeoutsMs: Readonly<Record<string, number>>
  readonly failFast: boolean
  readonly onSuperseded: 'fail' | 'pass'
  /** The maximum time until the change of a target arrives. 0: the gate does not wait for a change. */
  readonly awaitChangeMs: number
  /** The maximum time until an awaited revision (`--revision`) arrives. */
  readonly awaitRevisionMs: number
  /** The maximum age of the version of a target with pods when the gate begins. 0: any age. */
  readonly requireChangeMs: number
  /** The image digests that the containers must run. If empty, every image is accepted. */
  readonly expectImages: ExpectedImages
  readonly context: string
  readonly serverVersion: string
  /** The server's clock minus the runner's, in milliseconds. */
  readonly serverOffsetMs: number
  /** The annotations that changed what is gated: `rollout-gate/skip of deployment/db`. */
  readonly annotations?: readonly string[]
  /** See `RunRecord.healthCheckKinds`. */
  readonly healthCheckKinds?: readonly string[]
  /** No target ends, and the gate has no verdict. Used for `single-check` and `view`. */
  readonly givesNoVerdict?: boolean
  /** When a single check ends even if lists are missing, in milliseconds since the epoch. */
  readonly singleCheckEndsAt?: number | undefined
  /** The gate continues to watch after its verdict. Used for `recording`. */
  readonly continuesAfterVerdict?: boolean
}

/**
 * The purpose of a gate. `gate`: ends with a verdict. `recording`: continues after the verdict. `single-check`: shows
 * the present state once and ends (`why`). `view`: shows every state and never ends by itself (`trace`, `changes`).
 */
export type Purpose = 'gate' | 'recording' | 'single-check' | 'view'

/**
 * The settings for a purpose. A recording has no timeouts. A single check or a view has no verdict: a failed object may
 * recover, and a deleted object may be created again.
 * @param singleCheckEndsAt see `GateSettings`
 */
export function settingsForPurpose(purpose: Purpose, settings: GateSettings, singleCheckEndsAt?: number): GateSettings {
  if (purpose === 'gate') return settings
  if (purpose === 'recording')
    return {
      ...settings,
      timeoutMs: 0,
      stallTimeoutMs: 0,
      milestoneTimeoutsMs: {},
      failFast: false,
      continuesAfterVerdict: true,
    }
  const withoutVerdict = { ...settings, givesNoVerdict: true, awaitChangeMs: 0, requireChangeMs: 0 }
  return purpose === 'single-check' ? { ...withoutVerdict, isSingleCheck: true, singleCheckEndsAt } : withoutVerdict
}

/** The timeout of a milestone, from the reference, else from the gate. 0: no timeout. */
export function milestoneTimeoutMs(name: string, { clocks }: Target, settings: GateSettings): number {
  const own = clocks.milestoneTimeoutsMs ?? {}
  const timeouts = Object.hasOwn(own, name) ? own : settings.milestoneTimeoutsMs
  return Object.hasOwn(timeouts, name) ? (timeouts[name] ?? 0) : 0
}

/** The settings that do not come from inputs, but from files, the cluster or the header of a recording. */
type ClusterSettings = Pick<
  GateSettings,
  | 'startedAt'
  | 'context'
  | 'serverVersion'
  | 'serverOffsetMs'
  | 'healthChecks'
  | 'catalogue'
  | 'annotations'
  | 'healthCheckKinds'
>

/** Creates the settings of a live run or of its replay. */
export function gateSettings(inputs: Inputs, others: ClusterSettings): GateSettings {
  return {
    timeoutMs: inputs.timeoutMs,
    stallTimeoutMs: inputs.stallTimeoutMs,
    isTimeoutSetByUser: inputs.written.has('timeout'),
    isStallTimeoutSetByUser: inputs.written.has('stall-timeout'),
    milestoneTimeoutsMs: inputs.milestoneTimeoutsMs,
    settleTimeMs: inputs.settleTimeMs,
    maxRestarts: inputs.maxRestarts,
    failFast: inputs.failFast,
    onSuperseded: inputs.onSuperseded,
    awaitChangeMs: inputs.awaitChangeMs,
    awaitRevisionMs: inputs.written.has('await-change') ? inputs.awaitChangeMs : awaitRevisionMs,
    requireChangeMs: inputs.requireChangeMs,
    expectImages: inputs.expectImages,
    ...others,
  }
}

/** The timeout of the gate in milliseconds; 0: none. By default, at least the longest timeout of a target. */
export function gateTimeoutMs(
  { timeoutMs, isTimeoutSetByUser }: Pick<GateSettings, 'timeoutMs' | 'isTimeoutSetByUser'>,
  targets: readonly Pick<Target, 'clocks'>[],
): number {
  if (isTimeoutSetByUser || timeoutMs === 0) return timeoutMs
  const own = targets.flatMap(({ clocks }) => clocks.timeoutMs ?? [])
  return own.includes(0) ? 0 : Math.max(timeoutMs, ...own)
}
