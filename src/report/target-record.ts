import { formatDuration } from '../duration.ts'
import type { TargetOutcome } from '../gate/outcome.ts'
import type { Evidence, MilestoneRecord, ProblemRecord, RunRecord, TargetRecord } from '../gate/run-record.ts'
import type { TargetClocks } from '../plan/target.ts'
import { placeText, titleOf, traitsOf } from '../reasons/reasons.ts'
import { joinSubject } from '../reasons/spec.ts'
import { deploymentPauseMs, maxApplyAgeMs, recentVersionMs, shownBeforeMs } from '../thresholds.ts'

/* Labels, texts and times that renderers derive from the record of a target. */

interface OutcomeLabel {
  /** For Markdown. */
  readonly icon: string
  /** For the log. */
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

/** A message with a capital letter. A name with a slash, dot or dash keeps its first letter. */
export function capitalised(message: string): string {
  return message.replace(/^[a-z]+(?=[ ,])/, (word) => word.charAt(0).toUpperCase() + word.slice(1))
}

const second = 1_000

/** Milliseconds since the gate's start as text: `0:04`, `12:31`, `1:02:03`; before it: `-0:42`. */
export function formatElapsed(ms: number): string {
  const seconds = Math.floor(Math.abs(ms) / second)
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0'))
  const hours = Math.floor(seconds / 3600)
  const clock = hours > 0 ? `${hours}:${parts.join(':')}` : parts.join(':').replace(/^0/, '')
  return seconds > 0 && ms < 0 ? `-${clock}` : clock
}

/** Milliseconds as in the inputs: `1m30s`, `10m`; `off` for 0. */
export function timeoutText(ms: number): string {
  return ms === 0 ? 'off' : formatDuration(ms)
}

/**
 * The timeouts that apply, written as in the inputs: `timeout 10m · stall 5m`. If the targets have different ones, the
 * timeout of the gate, and how many targets have their own: `timeout 10m (1 target has its own)`.
 */
export function clockTexts(
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
    // A timeout of 0 leaves the target to the gate's timeout, which holds for all targets.
    timeout: describe(timeoutMs, (clocks) => {
      const clocksOn = [clocks.timeoutMs ?? 0, timeoutMs].filter((ms) => ms > 0)
      return clocksOn.length === 0 ? 0 : Math.min(...clocksOn)
    }),
    stall: describe(stallTimeoutMs, (clocks) => clocks.stallTimeoutMs ?? stallTimeoutMs),
  }
}

/** Why a target is not ready, in a few words with the names of its problem. Raw text: renderers escape it. */
export function reasonHeadline(target: TargetRecord): string {
  const { outcome, reason } = target
  if (reason === '') return outcomeLabels[outcome].verb
  return target.problems.find((problem) => problem.reason === reason)?.headline ?? titleOf(reason)
}

/** The message of a target, and how it joins the target's name. */
type TargetMessage = Pick<TargetRecord, 'message' | 'form'>

/** A complete sentence: `deployment/web is paused, …`, `service/web: its selector …`. Raw text: renderers escape it. */
export function messageWithName(name: string, { message, form = 'clause' }: TargetMessage): string {
  return form === 'complete' ? capitalised(message) : joinSubject(name, { text: message, form })
}

/** The sentence below a title with the target's name: `Its selector …`. */
export function messageBelowName(name: string, { message, form = 'clause' }: TargetMessage): string {
  return form === 'predicate' ? joinSubject(name, { text: message, form }) : capitalised(message)
}

/**
 * The owners from the target to the problem: `deployment/web → pod/web-fc8b-8xkbh → container app`.
 * Raw text: renderers escape it.
 */
export function problemPath({ chain = [], subject, namespace, container, isInit }: ProblemRecord): string {
  if (chain.length > 1) return chain.join(' → ')
  return placeText({ object: subject, namespace, container, isInit })
}

/** How often and since when a problem occurred: `2 times since 0:03`; once: `at 0:03`. */
export function problemCount({ count, firstSeen }: ProblemRecord, startedAt: number): string {
  if (firstSeen < startedAt - maxApplyAgeMs)
    return count > 1 ? `${count} times since before the gate began` : 'before the gate began'
  const first = formatElapsed(Math.max(0, firstSeen - startedAt))
  return count > 1 ? `${count} times since ${first}` : `at ${first}`
}

/** Whether the message of the target contains the message of the problem. */
export function isInMessage({ message }: ProblemRecord, target: TargetRecord): boolean {
  return target.outcome !== 'ready' && target.message.includes(message)
}

/** Evidence, the most useful first. Identical logs of two runs are shown once. */
export function orderEvidence(evidence: readonly Evidence[]): readonly Evidence[] {
  return evidence
    .filter(
      ({ type, text }, index) => evidence.findIndex((other) => other.type === type && other.text === text) === index,
    )
    .toSorted((one, other) => evidenceOrder.indexOf(one.type) - evidenceOrder.indexOf(other.type))
}

/** The text of evidence, with the moments of events on the clock that begins at `startedAt`. */
export function evidenceText({ text, events }: Evidence, startedAt: number): string {
  if (events === undefined) return text
  return events.map((event) => `${formatElapsed(event.at - startedAt).padStart(5)}  ${event.text}`).join('\n')
}

const evidenceOrder: readonly Evidence['type'][] = ['condition', 'log', 'event', 'manifest']

/** When the timeline of a target begins: with its change if that is recent, else with the gate. */
export function beginOf(target: Pick<TargetRecord, 'changedAt' | 'change'>, startedAt: number): number {
  const { changedAt = Infinity, change } = target
  if (change === 'none') return startedAt
  return startedAt - changedAt > 0 && startedAt - changedAt <= recentVersionMs ? changedAt : startedAt
}

/**
 * When the common timeline begins: at the earliest change of this deployment. An earlier change belongs to the
 * deployment if no long pause follows it. A target counts only if something is known of the time after its change.
 */
export function beginOfAll({ targets, startedAt }: Pick<RunRecord, 'targets' | 'startedAt'>): number {
  const begins = targets.flatMap((target) => {
    const begin = beginOf(target, startedAt)
    const isLater = ({ at = begin, source }: MilestoneRecord) => at > (source === undefined ? startedAt : begin)
    return target.outcome !== 'ready' || target.milestones.some(isLater) ? [begin] : []
  })
  const [latest = startedAt, ...earlier] = begins.filter((begin) => begin < startedAt).toSorted((a, b) => b - a)
  return earlier.reduce((begin, at) => (begin - at <= deploymentPauseMs ? at : begin), latest)
}

/**
 * A record on the clock of the summary: everything counts from the earliest recent change. A change less than a second
 * before the gate does not count. A milestone that was reached at an unknown moment gets the begin of the clock.
 */
export function sinceChange(record: RunRecord): RunRecord {
  const { startedAt, targets, gates } = record
  const first = beginOfAll(record)
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

/** Whether a target is ready because it exists: no controller observes it, and it has no note, warning or problem. */
export function onlyExists({ outcome, milestones, notes, warnings, problems }: TargetRecord): boolean {
  const isUnobserved = milestones.some(({ name, state }) => name === 'observed' && state === 'skipped')
  return outcome === 'ready' && isUnobserved && !notes && !warnings && problems.length === 0
}

/** Whether a target was ready when the clock began, so that its duration is unknown. */
export function wasReadyAtBegin({ outcome, milestones }: TargetRecord, { startedAt }: Pick<GateTimes, 'startedAt'>) {
  return outcome === 'ready' && milestones.every(({ state, at = Infinity }) => state !== 'done' || at <= startedAt)
}

/**
 * How long a target took from the begin of its timeline, in milliseconds. A ready target took until its last milestone,
 * which may have been before the gate.
 */
export function tookMs(target: TargetRecord, { startedAt, finishedAt }: GateTimes): number {
  const { endedAt = finishedAt, outcome } = target
  const begin = beginOf(target, startedAt)
  if (outcome !== 'ready') return endedAt - begin
  const last = stepsOf(target, startedAt).findLast(({ isKnown }) => isKnown)
  const isOfBefore = wasReadyAtBegin(target, { startedAt }) && begin < startedAt
  return (last?.at ?? (isOfBefore ? begin : endedAt)) - begin
}

/** A reached milestone, and the milliseconds from the previous one. */
export interface ReachedStep {
  readonly name: string
  readonly at: number
  /** The time is known: the milestone was reached during the gate, or the object contains the time. */
  readonly isKnown: boolean
  readonly tookMs: number
}

export type GateTimes = Pick<RunRecord, 'startedAt' | 'finishedAt'>

/**
 * The reached milestones by time; the first is measured from the begin of the target's timeline. What was reached before the
 * gate, at an unknown moment, took no known time.
 */
export function stepsOf(
  target: Pick<TargetRecord, 'milestones' | 'changedAt' | 'change'>,
  startedAt: number,
): readonly ReachedStep[] {
  const begin = beginOf(target, startedAt)
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

/** The current or failed milestone. A target whose change never arrived has none. */
export function openMilestone(target: TargetRecord): MilestoneRecord | undefined {
  if (traitsOf(target).awaits === 'change') return undefined
  const { milestones } = target
  return milestones.find(({ state }) => state === 'failed') ?? milestones.find(({ state }) => state === 'current')
}

/** When a target ended. A ready target ends with its hold. */
export function endOf({ outcome, endedAt, milestones }: TargetRecord, finishedAt: number): number {
  const held = milestones.find(({ name }) => name === heldMilestone)
  const ended = endedAt ?? finishedAt
  if (outcome !== 'ready' || held === undefined) return ended
  return held.state === 'current' ? finishedAt : (held.at ?? ended)
}

const heldMilestone = 'held'

/** How long a target waited for the milestone that it has not reached, in milliseconds. */
export function openMs(target: TargetRecord, { startedAt, finishedAt }: GateTimes): number {
  const { at = beginOf(target, startedAt) } = stepsOf(target, startedAt).findLast(({ isKnown }) => isKnown) ?? {}
  return Math.max(0, endOf(target, finishedAt) - at)
}

/**
 * The milestone of a target that took longest, reached or not; undefined if there is none. A reached hold does not
 * count, because the user sets its duration.
 */
export function slowestStep(target: TargetRecord, times: GateTimes): Pick<ReachedStep, 'name' | 'tookMs'> | undefined {
  const open = target.outcome === 'ready' ? undefined : openMilestone(target)
  const waits = [
    ...stepsOf(target, times.startedAt).filter(({ name }) => name !== heldMilestone),
    ...(open === undefined ? [] : [{ name: open.name, tookMs: openMs(target, times) }]),
  ]
  return waits.toSorted((one, other) => other.tookMs - one.tookMs)[0]
}
