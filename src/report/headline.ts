import { duration } from '../duration.ts'
import { causeOf, type GateRecord, type RunRecord, type TargetRecord } from '../gate/run-record.ts'
import { fullNames, type Source } from '../plan/target.ts'
import { titleOf } from '../reasons/reasons.ts'
import { counted, listNames } from '../reasons/wording.ts'
import { shownBeforeMs } from '../thresholds.ts'
import { safeLine, safeLines } from './escape.ts'
import {
  beginOf,
  beginOfAll,
  capitalised,
  messageWithName,
  outcomeLabels,
  reasonHeadline,
  tookMs,
} from './target-record.ts'

/* The outcome in one line, why the gate ended, and the target that decided: for titles, the log and the summary. */

/** The maximum characters of a title: GitHub cuts a longer title. */
export const titleLimit = 200
/** The maximum length of a note in a title: also the short title of a commit status must have room for the outcome. */
const noteLimit = 60

/** The headline, safe to print: the title of a status or an annotation. `limit`: characters. */
export function title(record: RunRecord, limit = titleLimit): string {
  const note = settingsNote(record)
  return `${safeLine(headline(record), limit - note.length)}${note}`
}

/** The end of a title: the annotations and health checks that change what is gated. Some readers see only the title. */
function settingsNote({ annotations = [], healthCheckKinds: kinds = [] }: RunRecord): string {
  const all = [...annotations, ...kinds.map((kind) => `health-check-exprs for ${kind}`)]
  const [only = ''] = all
  if (all.length === 0) return ''
  if (all.length === 1) return ` · ${safeLine(only, noteLimit)}`
  if (annotations.length === 0) return ` · health-check-exprs for ${kinds.length} kinds`
  return ` · ${all.length} ${kinds.length === 0 ? 'annotations' : 'settings'} change what is gated`
}

/**
 * The outcome in one line for people: `Rollout failed after 42 s · deployment/web: image not found (and 2 more)`. While
 * the gate is open: `Rollout in progress for 42 s · 1 of 3 targets ready`. Raw text: renderers escape it.
 * @param isOfGate whether the time counts from the gate's start, as in the log; by default it counts from an earlier change
 */
export function headline(record: RunRecord, isOfGate = false): string {
  const { outcome, reason, targets } = record
  if (outcome === 'progressing' && targets.length === 0) return 'Rollout not started yet'
  const { verb } = outcomeLabels[outcome]
  const took = `Rollout ${verb} ${tookText(record, isOfGate)}`
  const gate = decidingGate(record)
  const cause = reason === '' ? '' : titleOf(reason)
  const phrase = gate === undefined || cause === '' ? cause : `${gate.name}: ${cause}`
  const unchanged = unchangedHeadline(record)
  if (unchanged !== undefined) return join(unchanged, readySubject(record))
  if (outcome === 'misconfigured') return join(`Rollout ${verb}`, phrase)
  if (outcome === 'unknown') return join(took, phrase)
  if (outcome === 'ready') return join(took, readySubject(record))
  const deciding = decidingTarget(record)
  // A report from another program may contain no target with the outcome of the gate.
  if (deciding === undefined && outcome !== 'cancelled' && cause !== '') return join(took, phrase)
  if (deciding === undefined || outcome === 'cancelled' || outcome === 'progressing') {
    const ready = targets.filter((target) => target.outcome === 'ready').length
    return join(took, targets.length === 0 ? phrase : `${ready} of ${counted(targets.length, 'target')} ready`)
  }
  const name = fullNameOf(deciding, record)
  const why = deciding.reason ? `: ${reasonHeadline(deciding)}` : ''
  const others = targets.filter(isFailing).length - 1
  return join(took, `${name}${why}${others > 0 ? ` (and ${others} more)` : ''}`)
}

/** `after 42 s`; since a change that came before the gate: `42 s after the change`. */
function tookText(record: RunRecord, isOfGate: boolean): string {
  const { targets, startedAt, finishedAt, outcome, gates } = record
  const begin = beginOfAll(record)
  if (isOfGate || gates !== undefined || startedAt - begin < shownBeforeMs) {
    const gate = decidingGate(record)
    const ms = (gate && gateDurationMs(gate)) ?? finishedAt - startedAt
    return `${outcomeLabels[outcome].preposition} ${duration(ms)}`
  }
  const ends = targets.map((target) => beginOf(target, startedAt) + tookMs(target, record))
  const readyAt = Math.max(...ends)
  if (outcome !== 'ready') return `${duration(finishedAt - begin)} after the change`
  const took = duration(readyAt - begin)
  return readyAt < startedAt ? `in ${took}, before this gate` : `${took} after the change`
}

/** `Ready, but nothing changed in the last 3 d`, if that is true of all targets. */
function unchangedHeadline({ outcome, targets, startedAt }: RunRecord): string | undefined {
  const ages = targets.map(({ change, changedAt }) => (change === 'none' ? startedAt - (changedAt ?? startedAt) : 0))
  if (outcome !== 'ready' || ages.length === 0 || ages.includes(0)) return undefined
  // The largest unit is enough.
  const [count, unit] = duration(Math.min(...ages)).split(' ')
  return `Ready, but nothing changed in the last ${count} ${unit}`
}

/** How long a gate took, in milliseconds; undefined if its report is missing. */
export function gateDurationMs({ startedAt, finishedAt }: Pick<GateRecord, 'startedAt' | 'finishedAt'>) {
  return startedAt === undefined || finishedAt === undefined ? undefined : Math.max(0, finishedAt - startedAt)
}

/** The gate that decided a merged record: the first with its outcome. Undefined if all are ready, or for one gate. */
export function decidingGate({ outcome, gates = [] }: Pick<RunRecord, 'outcome' | 'gates'>): GateRecord | undefined {
  if (outcome === 'ready') return undefined
  return gates
    .filter((gate) => gate.outcome === outcome)
    .toSorted((one, other) => (gateDurationMs(one) ?? Infinity) - (gateDurationMs(other) ?? Infinity) || 0)[0]
}

/**
 * The target that decided the gate: the first with the gate's outcome. Undefined if the gate is ready, cancelled or open.
 */
export function decidingTarget(record: RunRecord): TargetRecord | undefined {
  const { outcome, targets } = record
  if (outcome === 'progressing' || outcome === 'ready') return undefined
  const gate = decidingGate(record)
  return targets
    .filter((target) => isFailing(target) && target.outcome === outcome && target.gate === gate?.name)
    .toSorted((one, other) => (one.endedAt ?? Infinity) - (other.endedAt ?? Infinity) || 0)[0]
}

function fullNameOf(target: TargetRecord, { targets }: RunRecord): string {
  return fullNames(targets)[targets.indexOf(target)] ?? ''
}

/** Why the gate ended, and what to do: shown below the headline. Messages are raw: escape them when they are rendered. */
interface Explanation {
  readonly messages: readonly string[]
  readonly hint?: string
  readonly source?: Source
}

/** The message of the deciding target, else of the gate; empty if the gate is ready or open. */
export function explainEnd(record: RunRecord): Explanation {
  const { outcome, message } = record
  if (outcome === 'progressing' || outcome === 'ready') return { messages: [] }
  const deciding = decidingTarget(record)
  const text = deciding?.message ? messageWithName(fullNameOf(deciding, record), deciding) : capitalised(message)
  return {
    messages: safeLines(text).filter((line) => line !== ''),
    hint: deciding?.hint ?? record.hint,
    source: deciding?.source,
  }
}

/**
 * Whether a target ended without being ready. False for a target that was open when the gate ended, or that only waits
 * for another target.
 */
export function isFailing({ outcome, causedBy }: TargetRecord): boolean {
  return outcome !== 'ready' && outcome !== 'progressing' && causedBy === undefined
}

const namedWaiters = 3

/** A target of a record, with its name among all of its targets. Texts are raw: renderers escape them. */
export interface TargetWithName {
  readonly target: TargetRecord
  readonly name: string
  /** `service/web, ingress/web wait for deployment/web`: the targets that only wait for this one; empty without any. */
  readonly waiting: string
}

/** The targets of a record in their order. */
export function withNames({ targets }: Pick<RunRecord, 'targets'>): readonly TargetWithName[] {
  const named = fullNames(targets).flatMap((name, index) => {
    const target = targets[index]
    return target === undefined ? [] : [{ target, name }]
  })
  const waiters = Map.groupBy(named, ({ target }) => causeOf(target, targets))
  return named.map(({ target, name }) => {
    const names = (waiters.get(target) ?? []).map((waiter) => waiter.name)
    const verb = names.length === 1 ? 'waits' : 'wait'
    const waiting = names.length === 0 ? '' : `${listNames(names, namedWaiters)} ${verb} for ${name}`
    return { target, name, waiting }
  })
}

/** Whether a target was judged. If the gate is `misconfigured`, its open targets were not judged. */
export function isJudged({ outcome, gate }: TargetRecord, record: RunRecord): boolean {
  const end = record.gates?.find(({ name }) => name === gate) ?? record
  return outcome !== 'progressing' || end.outcome !== 'misconfigured'
}

/** Sort order of a report: failed first, then in progress, then ready. */
export function urgency(target: TargetRecord | undefined): number {
  if (target === undefined || target.outcome === 'ready') return 0
  return target.outcome === 'progressing' ? 1 : 2
}

function readySubject({ targets, gates }: RunRecord): string {
  const [only] = targets
  if (gates !== undefined) return `${counted(targets.length, 'target')} of ${counted(gates.length, 'gate')}`
  if (only === undefined) return 'nothing to wait for'
  return targets.length === 1 ? fullNames([only]).join() : counted(targets.length, 'target')
}

function join(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' · ')
}
