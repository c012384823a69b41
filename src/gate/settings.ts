import type { ExpectedImages, Inputs } from '../inputs.ts'
import { type LifecycleSettings, lifecycleSettings } from '../lifecycle/rule-context.ts'
import type { TargetChecks } from '../lifecycle/rules.ts'
import type { Target } from '../plan/target.ts'
import { awaitRevisionMs } from '../thresholds.ts'

/** The settings of a gate. Durations in milliseconds; 0 turns a clock off. */
export interface GateSettings extends LifecycleSettings, TargetChecks {
  /** When the gate began: milliseconds since the epoch. */
  readonly startedAt: number
  /** The input `timeout`; see `gateTimeoutMs`. */
  readonly timeoutMs: number
  /** The user set the timeout, so a longer timeout of a reference does not extend it. */
  readonly timeoutIsLiteral: boolean
  readonly stallTimeoutMs: number
  /** The user set the stall timeout, so nothing stops the stall clock. */
  readonly stallIsLiteral: boolean
  readonly milestoneTimeoutsMs: Readonly<Record<string, number>>
  readonly failFast: boolean
  readonly onSuperseded: 'fail' | 'pass'
  /** How long the change of a target may take to arrive; 0: the present state is judged. */
  readonly awaitChangeMs: number
  /** The same for a revision (`--revision`), which takes longer by default. */
  readonly awaitRevisionMs: number
  /** The maximum age of the version that a target with pods has when the gate begins; 0: any. */
  readonly requireChangeMs: number
  /** The image digests that each container must run; if empty, every image is accepted. */
  readonly expectImages: ExpectedImages
  readonly context: string
  readonly serverVersion: string
  /** The server's clock minus the runner's, in milliseconds. */
  readonly serverOffsetMs: number
  /** See `RunRecord.annotations`. */
  readonly annotations?: readonly string[]
  /** See `RunRecord.healthCheckKinds`. */
  readonly healthCheckKinds?: readonly string[]
  /** See `viewSettings`. */
  readonly isEndless?: boolean
  /** See `lookSettings`. */
  readonly lookUntil?: number
  /** See `recordSettings`. */
  readonly outlastsVerdict?: boolean
}

/**
 * The settings of a gate that never ends, for views: its clocks are off, and no target ends. A failed object may recover, and
 * a deleted one may be created again.
 */
export function viewSettings(settings: GateSettings): GateSettings {
  return { ...settings, isEndless: true, awaitChangeMs: 0, requireChangeMs: 0 }
}

/**
 * The settings of a gate that looks once: it waits for nothing that explains a state, and is over once everything is listed.
 * @param lookUntil when it is over at the latest, in milliseconds since the epoch
 */
export function lookSettings(settings: GateSettings, lookUntil?: number): GateSettings {
  return { ...viewSettings(settings), isLook: true, ...(lookUntil === undefined ? {} : { lookUntil }) }
}

/** The settings of a gate that is recorded until cancelled: its clocks are off, and it is not over with its verdict. */
export function recordSettings(settings: GateSettings): GateSettings {
  const clocks = { timeoutMs: 0, stallTimeoutMs: 0, milestoneTimeoutsMs: {}, failFast: false }
  return { ...settings, ...clocks, outlastsVerdict: true }
}

/** The timeout of a milestone: that of the reference, else that of the gate; 0 if there is none. */
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

/** The settings of a live run and of its replay. */
export function gateSettings(inputs: Inputs, others: ClusterSettings): GateSettings {
  return {
    timeoutMs: inputs.timeoutMs,
    stallTimeoutMs: inputs.stallTimeoutMs,
    timeoutIsLiteral: inputs.written.has('timeout'),
    stallIsLiteral: inputs.written.has('stall-timeout'),
    milestoneTimeoutsMs: inputs.milestoneTimeoutsMs,
    ...lifecycleSettings(inputs),
    failFast: inputs.failFast,
    onSuperseded: inputs.onSuperseded,
    awaitChangeMs: inputs.awaitChangeMs,
    awaitRevisionMs: inputs.written.has('await-change') ? inputs.awaitChangeMs : awaitRevisionMs,
    requireChangeMs: inputs.requireChangeMs,
    expectImages: inputs.expectImages,
    ...others,
  }
}

/**
 * The gate's timeout in milliseconds; 0: none. A default timeout is extended to the longest timeout of a target.
 */
export function gateTimeoutMs(
  { timeoutMs, timeoutIsLiteral }: Pick<GateSettings, 'timeoutMs' | 'timeoutIsLiteral'>,
  targets: readonly Pick<Target, 'clocks'>[],
): number {
  if (timeoutIsLiteral || timeoutMs === 0) return timeoutMs
  const own = targets.flatMap(({ clocks }) => clocks.timeoutMs ?? [])
  return own.includes(0) ? 0 : Math.max(timeoutMs, ...own)
}
