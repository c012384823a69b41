import { duration } from '../duration.ts'
import { causeOf, type GateRecord, type RunRecord, type TargetRecord } from '../gate/run-record.ts'
import { fullName, fullNames, nameTargets, type Source, type TargetName } from '../plan/target.ts'
import { titleOf } from '../reasons/reasons.ts'
import { counted, listNames } from '../reasons/wording.ts'
import { shownBeforeMs } from '../thresholds.ts'
import { safeLine, safeLines } from './escape.ts'
import {
  capitalize,
  commonTimelineStart,
  messageWithName,
  outcomeLabels,
  reasonHeadline,
  targetDurationMs,
  timelineStart,
} from './target-record.ts'

/* The outcome of a record in one line, why the gate ended, and the target that decided. */

/** The maximum length of a title: GitHub cuts a longer title. */
export const titleLimit = 200
/** The maximum length of a note in a title: even a short title needs room for the outcome. */
const noteLimit = 60

/** The headline as the title of a status or an annotation, safe to print. @param limit maximum characters */
export function titleOfRecord(record: RunRecord, limit = titleLimit): string {
  const note = settingsNote(record)
  return `${safeLine(headline(record), limit - note.length)}${note}`
}

/** The end of a title: which annotations and health checks change what is gated. Many people read only the title. */
function settingsNote({ annotations = [], healthCheckKinds: kinds = [] }: RunRecord): string {
  const all = [...annotations, ...kinds.map((kind) => `health-check-exprs for ${kind}`)]
  const [only = ''] = all
  if (all.length === 0) return ''
  if (all.length === 1) return ` · ${safeLine(only, noteLimit)}`
  if (annotations.length === 0) return ` · health-check-exprs for ${kinds.length} kinds`
  return ` · ${all.length} ${kinds.length === 0 ? 'annotations' : 'settings'} change what is gated`
}

/**
 * The outcome in one line: `Rollout failed after 42 s · deployment/web: image not found (and 2 more)`. While the gate
 * is open: `Rollout in progress for 42 s · 1 of 3 targets ready`. Raw text: renderers escape it.
 * @param isOfGate whether the time counts from the gate's start, as in the log. By default, it counts from an earlier
 * change
 */
export function headline(record: RunRecord, isOfGate = false): string {
  const { outcome, reason, targets } = record
  if (outcome === 'progressing' && targets.length === 0) return 'Rollout not started yet'
  const { verb } = outcomeLabels[outcome]
  const took = `Rollout ${verb} ${elapsedText(record, isOfGate)}`
  const gate = decidingGate(record)
  const cause = reason === '' ? '' : titleOf(reason)
  const phrase = gate === undefined || cause === '' ? cause : `${gate.name}: ${cause}`
  const unchanged = unchangedHeadline(record)
  if (unchanged !== undefined) return joinParts(unchanged, readyTargetsText(record))
  if (outcome === 'misconfigured') return joinParts(`Rollout ${verb}`, phrase)
  if (outcome === 'unknown') return joinParts(took, phrase)
  if (outcome === 'ready') return joinParts(took, readyTargetsText(record))
  const deciding = namedTargets(record).find(({ isDeciding }) => isDeciding)
  // If another program wrote the report, perhaps no target has the outcome of the gate.
  if (deciding === undefined && outcome !== 'cancelled' && cause !== '') return joinParts(took, phrase)
  if (deciding === undefined || outcome === 'cancelled' || outcome === 'progressing') {
    const ready = targets.filter((target) => target.outcome === 'ready').length
    return joinParts(took, targets.length === 0 ? phrase : `${ready} of ${counted(targets.length, 'target')} ready`)
  }
  const { name, target } = deciding
  const why = target.reason ? `: ${reasonHeadline(target)}` : ''
  const others = targets.filter(isFailing).length - 1
  return joinParts(took, `${name}${why}${others > 0 ? ` (and ${others} more)` : ''}`)
}

/** How long the rollout took: `after 42 s`. If the change came before the gate: `42 s after the change`. */
function elapsedText(record: RunRecord, isOfGate: boolean): string {
  const { targets, startedAt, finishedAt, outcome, gates } = record
  const begin = commonTimelineStart(record)
  if (isOfGate || gates !== undefined || startedAt - begin < shownBeforeMs) {
    const gate = decidingGate(record)
    const ms = (gate && gateDurationMs(gate)) ?? finishedAt - startedAt
    return `${outcomeLabels[outcome].preposition} ${duration(ms)}`
  }
  const ends = targets.map((target) => timelineStart(target, startedAt) + targetDurationMs(target, record))
  const readyAt = Math.max(...ends)
  if (outcome !== 'ready') return `${duration(finishedAt - begin)} after the change`
  const took = duration(readyAt - begin)
  return readyAt < startedAt ? `in ${took}, before this gate` : `${took} after the change`
}

/** `Ready, but nothing changed in the last 3 d`; undefined if a target is not ready or has changed. */
function unchangedHeadline({ outcome, targets, startedAt }: RunRecord): string | undefined {
  const ages = targets.map(({ change, changedAt }) => (change === 'none' ? startedAt - (changedAt ?? startedAt) : 0))
  if (outcome !== 'ready' || ages.length === 0 || ages.includes(0)) return undefined
  // Only the largest unit is shown.
  const [count, unit] = duration(Math.min(...ages)).split(' ')
  return `Ready, but nothing changed in the last ${count} ${unit}`
}

/** How long a gate took, in milliseconds; undefined if the report of the gate is missing. */
export function gateDurationMs({ startedAt, finishedAt }: Pick<GateRecord, 'startedAt' | 'finishedAt'>) {
  return startedAt === undefined || finishedAt === undefined ? undefined : Math.max(0, finishedAt - startedAt)
}

/** The gates of a merged record, with their durations, and how many of their targets are ready. */
export function gateCounts({ gates = [], targets }: Pick<RunRecord, 'gates' | 'targets'>) {
  return gates.map((gate) => {
    const own = targets.filter((target) => target.gate === gate.name)
    const ready = own.filter(({ outcome }) => outcome === 'ready').length
    return { ...gate, tookMs: gateDurationMs(gate), total: own.length, ready }
  })
}

/**
 * The gate that decided a merged record: the fastest gate with the outcome of the record. Undefined if all gates are
 * ready, or if the record is not merged.
 */
export function decidingGate({ outcome, gates = [] }: Pick<RunRecord, 'outcome' | 'gates'>): GateRecord | undefined {
  if (outcome === 'ready') return undefined
  return gates
    .filter((gate) => gate.outcome === outcome)
    .toSorted((one, other) => (gateDurationMs(one) ?? Infinity) - (gateDurationMs(other) ?? Infinity) || 0)[0]
}

/**
 * The target that decided the gate: the first that ended with the gate's outcome. Undefined if the gate is ready,
 * cancelled or open.
 */
export function decidingTarget(record: RunRecord): TargetRecord | undefined {
  const { outcome, targets } = record
  if (outcome === 'progressing' || outcome === 'ready') return undefined
  const gate = decidingGate(record)
  return targets
    .filter((target) => isFailing(target) && target.outcome === outcome && target.gate === gate?.name)
    .toSorted((one, other) => (one.endedAt ?? Infinity) - (other.endedAt ?? Infinity) || 0)[0]
}

/** Why the gate ended, and what to do. Shown below the headline. Messages are raw text: renderers escape them. */
interface EndExplanation {
  readonly messages: readonly string[]
  readonly hint?: string
  readonly source?: Source
}

/** Why the gate ended, from the deciding target or the gate. Without messages if the gate is ready or open. */
export function endDetails(record: RunRecord): EndExplanation {
  const { outcome, message } = record
  if (outcome === 'progressing' || outcome === 'ready') return { messages: [] }
  const { name = '', target } = namedTargets(record).find(({ isDeciding }) => isDeciding) ?? {}
  const text = target?.message ? messageWithName(name, target) : capitalize(message)
  return {
    messages: safeLines(text).filter((line) => line !== ''),
    hint: target?.hint ?? record.hint,
    source: target?.source,
  }
}

/** Whether a target ended without being ready. False if the target was still open, or only waits for another target. */
export function isFailing({ outcome, causedBy }: TargetRecord): boolean {
  return outcome !== 'ready' && outcome !== 'progressing' && causedBy === undefined
}

const namedWaiters = 3

/** A target of a record with a distinct name, and its relation to the other targets. Raw texts: renderers escape them. */
export interface TargetWithName {
  readonly target: TargetRecord
  readonly name: string
  /** The parts of the name. */
  readonly parts: TargetName
  /** The target for which this target only waits. */
  readonly cause: Pick<TargetWithName, 'target' | 'name'> | undefined
  /** The targets that only wait for this target: `service/web, ingress/web wait for deployment/web`. May be empty. */
  readonly waiting: string
  /** The target decided the gate: `endDetails` contains its message, hint and source. */
  readonly isDeciding: boolean
  /** `endDetails` contains the hint of the target. */
  readonly isHintAbove: boolean
}

/** The targets of a record in their order, with distinct names. */
export function namedTargets(record: RunRecord): readonly TargetWithName[] {
  const { targets } = record
  const deciding = decidingTarget(record)
  const named = nameTargets(targets).flatMap((parts, index) => {
    const target = targets[index]
    return target === undefined ? [] : [{ target, name: fullName(parts), parts, awaited: causeOf(target, targets) }]
  })
  const waiters = Map.groupBy(named, ({ awaited }) => awaited)
  return named.map(({ awaited, ...each }) => {
    const { target, name } = each
    const names = (waiters.get(target) ?? []).map((waiter) => waiter.name)
    const verb = names.length === 1 ? 'waits' : 'wait'
    return {
      ...each,
      cause: awaited && named[targets.indexOf(awaited)],
      waiting: names.length === 0 ? '' : `${listNames(names, namedWaiters)} ${verb} for ${name}`,
      isDeciding: target === deciding,
      isHintAbove: target.hint === record.hint || target.hint === deciding?.hint,
    }
  })
}

/** Whether the gate judged a target. If the gate is `misconfigured`, it did not judge the targets that are open. */
export function isJudged({ outcome, gate }: TargetRecord, record: RunRecord): boolean {
  const end = record.gates?.find(({ name }) => name === gate) ?? record
  return outcome !== 'progressing' || end.outcome !== 'misconfigured'
}

/** The rank of a target in a report: 2 for failed, which come first; 1 for in progress; 0 for ready. */
export function urgency(target: TargetRecord | undefined): number {
  if (target === undefined || target.outcome === 'ready') return 0
  return target.outcome === 'progressing' ? 1 : 2
}

function readyTargetsText({ targets, gates }: RunRecord): string {
  const [only] = targets
  if (gates !== undefined) return `${counted(targets.length, 'target')} of ${counted(gates.length, 'gate')}`
  if (only === undefined) return 'nothing to wait for'
  return targets.length === 1 ? fullNames([only]).join() : counted(targets.length, 'target')
}

function joinParts(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' · ')
}
