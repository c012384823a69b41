import { formatDuration } from '../duration.ts'
import { heldMilestone } from '../gate/milestones.ts'
import type { TargetOutcome } from '../gate/outcome.ts'
import type { Evidence, MilestoneRecord, ProblemRecord, RunRecord, TargetRecord } from '../gate/run-record.ts'
import type { TargetClocks } from '../plan/target.ts'
import { placeText, titleOf, traitsOf } from '../reasons/reasons.ts'
import { joinSubject } from '../reasons/spec.ts'
import { deploymentPauseMs, maxApplyAgeMs, recentVersionMs, shownBeforeMs } from '../thresholds.ts'

/* Labels, texts and times that renderers derive from the record of a target. */

interface OutcomeLabel {
  /** Shown in Markdown. */
  readonly icon: string
  /** Shown in the log. */
  readonly mark: '✓' | '✗' | '!' | '…'
  /** `failed` */
  readonly verb: string
  /** Joins the verb to the duration: `failed after 42 s`. */
  readonly preposition: 'in' | 'after' | 'for'
}

export const outcomeLabels: Readonly<Record<TargetOutcome, OutcomeLabel>> = {
  ready: { icon: '✅', mark: '✓', verb: 'ready', preposition: 'in' },
  failed: { icon: '❌', mark: '✗', verb: 'failed', preposition: 'after' },
  stalled: { icon: '🛑', mark: '✗', verb: 'stalled', preposition: 'after' },
  'timed-out': { icon: '⌛', mark: '✗', verb: 'timed out', preposition: 'after' },
  superseded: { icon: '⏭️', mark: '!', verb: 'superseded', preposition: 'after' },
  cancelled: { icon: '🚫', mark: '!', verb: 'cancelled', preposition: 'after' },
  misconfigured: { icon: '⚠️', mark: '✗', verb: 'not judged', preposition: 'after' },
  unknown: { icon: '❓', mark: '!', verb: 'unknown', preposition: 'after' },
  progressing: { icon: '⏳', mark: '…', verb: 'in progress', preposition: 'for' },
}

/** Capitalizes the first word of a message, but not a name: a word with a slash, dot, dash or digit. */
export function capitalize(message: string): string {
  return message.replace(/^[a-z]+(?=[ ,])/, (word) => word.charAt(0).toUpperCase() + word.slice(1))
}

const second = 1_000

/** The time since the gate's start as text: `0:04`, `12:31`, `1:02:03`; before the start: `-0:42`. */
export function formatElapsed(ms: number): string {
  const seconds = Math.floor(Math.abs(ms) / second)
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0'))
  const hours = Math.floor(seconds / 3600)
  const clock = hours > 0 ? `${hours}:${parts.join(':')}` : parts.join(':').replace(/^0/, '')
  return seconds > 0 && ms < 0 ? `-${clock}` : clock
}

/** A timeout as users write it: `1m30s`, `10m`; `off` for 0. */
function timeoutText(ms: number): string {
  return ms === 0 ? 'off' : formatDuration(ms)
}

/**
 * The timeouts that apply, as users write them: `10m`. If some targets have other timeouts than the gate, the text
 * contains their number: `10m (1 target has its own)`.
 */
export function timeoutTexts(
  { timeoutMs = 0, stallTimeoutMs = 0 }: Pick<RunRecord, 'timeoutMs' | 'stallTimeoutMs'>,
  targets: readonly Pick<TargetRecord, 'clocks'>[],
): { readonly timeout: string; readonly stall: string } {
  const describe = (gateMs: number, timeoutOf: (clocks: TargetClocks) => number) => {
    const timeouts = targets.map(({ clocks = {} }) => timeoutOf(clocks))
    const [first = gateMs] = timeouts
    if (timeouts.every((ms) => ms === first)) return timeoutText(first)
    const own = timeouts.filter((ms) => ms !== gateMs).length
    return `${timeoutText(gateMs)} (${own === 1 ? '1 target has its own' : `${own} targets have their own`})`
  }
  return {
    // The gate's timeout applies to all targets, also if a target has none (0).
    timeout: describe(timeoutMs, (clocks) => {
      const clocksOn = [clocks.timeoutMs ?? 0, timeoutMs].filter((ms) => ms > 0)
      return clocksOn.length === 0 ? 0 : Math.min(...clocksOn)
    }),
    stall: describe(stallTimeoutMs, (clocks) => clocks.stallTimeoutMs ?? stallTimeoutMs),
  }
}

/** Why a target is not ready, in a few words: the headline of its problem. Raw text: renderers escape it. */
export function reasonHeadline(target: TargetRecord): string {
  const { outcome, reason } = target
  if (reason === '') return outcomeLabels[outcome].verb
  return target.problems.find((problem) => problem.reason === reason)?.headline ?? titleOf(reason)
}

/** The message of a target, and how the message joins the target's name. */
type TargetMessage = Pick<TargetRecord, 'message' | 'form'>

/** A message with the target's name: `deployment/web is paused, …`, `service/web: its selector …`. Raw text. */
export function messageWithName(name: string, { message, form = 'clause' }: TargetMessage): string {
  return form === 'complete' ? capitalize(message) : joinSubject(name, { text: message, form })
}

/** A message for a place below a title that contains the target's name: `Its selector …`. Raw text. */
export function messageBelowName(name: string, { message, form = 'clause' }: TargetMessage): string {
  return form === 'predicate' ? joinSubject(name, { text: message, form }) : capitalize(message)
}

/** The owners from the target to the problem: `deployment/web → pod/web-fc8b-8xkbh → container app`. Raw text. */
export function problemPath({ chain = [], subject, namespace, container, isInit }: ProblemRecord): string {
  if (chain.length > 1) return chain.join(' → ')
  return placeText({ object: subject, namespace, container, isInit })
}

/** How often and since when a problem has occurred: `2 times since 0:03`; for a single occurrence `at 0:03`. */
export function problemCountText({ count, firstSeen }: ProblemRecord, startedAt: number): string {
  if (firstSeen < startedAt - maxApplyAgeMs)
    return count > 1 ? `${count} times since before the gate began` : 'before the gate began'
  const first = formatElapsed(Math.max(0, firstSeen - startedAt))
  return count > 1 ? `${count} times since ${first}` : `at ${first}`
}

/** Whether the message of the target contains the message of the problem. */
export function isInTargetMessage({ message }: ProblemRecord, target: TargetRecord): boolean {
  return target.outcome !== 'ready' && target.message.includes(message)
}

/** Sorts evidence by its type and removes duplicates: two runs of a container often have the same log. */
export function orderEvidence(evidence: readonly Evidence[]): readonly Evidence[] {
  return evidence
    .filter(
      ({ type, text }, index) => evidence.findIndex((other) => other.type === type && other.text === text) === index,
    )
    .toSorted((one, other) => evidenceOrder.indexOf(one.type) - evidenceOrder.indexOf(other.type))
}

/** The text of evidence. The times of events count from `startedAt`. */
export function evidenceText({ text, events }: Evidence, startedAt: number): string {
  if (events === undefined) return text
  return events.map((event) => `${formatElapsed(event.at - startedAt).padStart(5)}  ${event.text}`).join('\n')
}

const evidenceOrder: readonly Evidence['type'][] = ['condition', 'log', 'event', 'manifest']

/** When the timeline of a target starts: at its change if the change is recent, otherwise with the gate. */
export function timelineStart(target: Pick<TargetRecord, 'changedAt' | 'change'>, startedAt: number): number {
  const { changedAt = Infinity, change } = target
  if (change === 'none') return startedAt
  return startedAt - changedAt > 0 && startedAt - changedAt <= recentVersionMs ? changedAt : startedAt
}

/**
 * When the timeline of all targets starts: at the earliest change of this deployment. A change belongs to the
 * deployment if no long pause follows it. A target counts only if it did something at a known time after its change.
 */
export function commonTimelineStart({ targets, startedAt }: Pick<RunRecord, 'targets' | 'startedAt'>): number {
  const begins = targets.flatMap((target) => {
    const begin = timelineStart(target, startedAt)
    const isLater = ({ at = begin, source }: MilestoneRecord) => at > (source === undefined ? startedAt : begin)
    return target.outcome !== 'ready' || target.milestones.some(isLater) ? [begin] : []
  })
  const [latest = startedAt, ...earlier] = begins.filter((begin) => begin < startedAt).toSorted((a, b) => b - a)
  return earlier.reduce((begin, at) => (begin - at <= deploymentPauseMs ? at : begin), latest)
}

/**
 * The record for the summary, whose times count from the earliest recent change. A change less than a second before the
 * gate does not count. A milestone that was reached at an unknown time gets the start of the timeline.
 */
export function startAtChange(record: RunRecord): RunRecord {
  const { startedAt, targets, gates } = record
  const first = commonTimelineStart(record)
  const begin = gates !== undefined || startedAt - first < shownBeforeMs ? startedAt : first
  return {
    ...record,
    startedAt: begin,
    targets: targets.map((target) => ({
      ...target,
      changedAt: target.change === 'none' ? target.changedAt : begin,
      milestones: target.milestones.map((milestone) => {
        const isUnknown = milestone.at !== undefined && milestone.source === undefined && milestone.at <= startedAt
        return isUnknown ? { ...milestone, at: begin } : milestone
      }),
    })),
  }
}

/** Whether a target is ready because it exists. No controller observes it, and there is nothing else to report. */
export function isReadyByExistence({ outcome, milestones, notes, warnings, problems }: TargetRecord): boolean {
  const isUnobserved = milestones.some(({ name, state }) => name === 'observed' && state === 'skipped')
  return outcome === 'ready' && isUnobserved && !notes && !warnings && problems.length === 0
}

/** Whether a target was ready when the timeline started, so that its duration is unknown. */
export function wasReadyAtStart({ outcome, milestones }: TargetRecord, { startedAt }: Pick<GateTimes, 'startedAt'>) {
  return outcome === 'ready' && milestones.every(({ state, at = Infinity }) => state !== 'done' || at <= startedAt)
}

/**
 * The duration of a target in milliseconds, from the start of its timeline. The duration of a ready target ends with
 * its last milestone, which it may have reached before the gate.
 */
export function targetDurationMs(target: TargetRecord, { startedAt, finishedAt }: GateTimes): number {
  const { endedAt = finishedAt, outcome } = target
  const begin = timelineStart(target, startedAt)
  if (outcome !== 'ready') return endedAt - begin
  const last = reachedSteps(target, startedAt).findLast(({ isKnown }) => isKnown)
  const isOfBefore = wasReadyAtStart(target, { startedAt }) && begin < startedAt
  return (last?.at ?? (isOfBefore ? begin : endedAt)) - begin
}

/** A reached milestone, and the milliseconds from the previous milestone. */
interface ReachedStep {
  readonly name: string
  readonly at: number
  /** Whether the time is known: the gate saw the milestone, or the object contains the time. */
  readonly isKnown: boolean
  readonly tookMs: number
}

export type GateTimes = Pick<RunRecord, 'startedAt' | 'finishedAt'>

/** The reached milestones, in the order of time. A milestone that was reached at an unknown time takes 0 ms. */
export function reachedSteps(
  target: Pick<TargetRecord, 'milestones' | 'changedAt' | 'change'>,
  startedAt: number,
): readonly ReachedStep[] {
  const begin = timelineStart(target, startedAt)
  let before = begin
  return target.milestones
    .flatMap(({ name, state, at, source }) =>
      state === 'done' && at !== undefined
        ? [{ name, at: Math.max(at, begin), isKnown: source !== undefined || at > startedAt }]
        : [],
    )
    .toSorted((one, other) => one.at - other.at)
    .map(({ name, at, isKnown }) => {
      const tookMs = isKnown ? at - before : 0
      if (isKnown) before = at
      return { name, at, isKnown, tookMs }
    })
}

/** The failed milestone, otherwise the current milestone. Undefined if the change of the target never arrived. */
export function failedOrCurrentMilestone(target: TargetRecord): MilestoneRecord | undefined {
  if (traitsOf(target).awaits === 'change') return undefined
  const { milestones } = target
  return milestones.find(({ state }) => state === 'failed') ?? milestones.find(({ state }) => state === 'current')
}

/** When a target ended. If a ready target has a hold, it ends with the hold. */
export function targetEnd({ outcome, endedAt, milestones }: TargetRecord, finishedAt: number): number {
  const held = milestones.find(({ name }) => name === heldMilestone)
  const ended = endedAt ?? finishedAt
  if (outcome !== 'ready' || held === undefined) return ended
  return held.state === 'current' ? finishedAt : (held.at ?? ended)
}

/** How long a target has waited for its failed or current milestone, in milliseconds. */
export function failedOrCurrentMilestoneMs(target: TargetRecord, { startedAt, finishedAt }: GateTimes): number {
  const { at = timelineStart(target, startedAt) } =
    reachedSteps(target, startedAt).findLast(({ isKnown }) => isKnown) ?? {}
  return Math.max(0, targetEnd(target, finishedAt) - at)
}

/** The slowest milestone, reached or open. A reached hold does not count: the user sets its duration. */
export function slowestStep(target: TargetRecord, times: GateTimes): Pick<ReachedStep, 'name' | 'tookMs'> | undefined {
  const open = target.outcome === 'ready' ? undefined : failedOrCurrentMilestone(target)
  const waits = [
    ...reachedSteps(target, times.startedAt).filter(({ name }) => name !== heldMilestone),
    ...(open === undefined ? [] : [{ name: open.name, tookMs: failedOrCurrentMilestoneMs(target, times) }]),
  ]
  return waits.toSorted((one, other) => other.tookMs - one.tookMs)[0]
}
