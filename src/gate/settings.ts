import type { ExpectedImages, Inputs } from '../inputs.ts'
import { type LifecycleSettings, lifecycleSettings } from '../lifecycle/reader.ts'
import type { TargetChecks } from '../lifecycle/rules.ts'
import type { Target } from '../plan/target.ts'
import { awaitRevisionMs } from '../thresholds.ts'
import type { AfterReady } from './after-ready.ts'

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
  /** The checks after the targets are ready, if there are any. */
  readonly afterReady?: AfterReady | undefined
  /** Whether no target ends. */
  readonly isEndless?: boolean
  /** When a look is over at the latest: milliseconds since the epoch. */
  readonly lookUntil?: number | undefined
  /** Whether the gate goes on after its verdict. */
  readonly outlastsVerdict?: boolean
}

/**
 * What a gate is for: it ends with its outcome; as a recording it goes on after that; as a look it is over once everything is listed;
 * in a view it never ends.
 */
export type Purpose = 'gate' | 'recording' | 'look' | 'view'

/**
 * The settings for a purpose. No clock ends a recording. No target ends in a look or view: a failed object may recover, and a
 * deleted one may be created again. A look waits for nothing that explains a state.
 * @param lookUntil when a look is over at the latest, in milliseconds since the epoch
 */
export function settingsFor(purpose: Purpose, settings: GateSettings, lookUntil?: number): GateSettings {
  if (purpose === 'gate') return settings
  if (purpose === 'recording')
    return {
      ...settings,
      timeoutMs: 0,
      stallTimeoutMs: 0,
      milestoneTimeoutsMs: {},
      failFast: false,
      outlastsVerdict: true,
    }
  const endless = { ...settings, isEndless: true, awaitChangeMs: 0, requireChangeMs: 0 }
  return purpose === 'look' ? { ...endless, isLook: true, lookUntil } : endless
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
