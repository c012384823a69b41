import { duration } from '../duration.ts'
import type { TargetRecord, Timeline } from '../gate/timeline.ts'
import type { Source } from '../plan/target.ts'
import { fullName, nameTargets } from '../plan/target.ts'
import { reasons } from '../reasons/reasons.ts'
import { plainLines } from './escape.ts'
import { capitalised, count, messageWithName, outcomeLabels, reasonHeadline } from './wording.ts'

/**
 * The outcome in one line for people: `Rollout failed after 42 s · deployment/web: image not found (and 2 more)`. While
 * the gate is open: `Rollout in progress for 42 s · 1 of 3 targets ready`. Raw text: renderers escape it.
 */
export function headline(timeline: Timeline): string {
  const { verdict, targets } = timeline
  const outcome = verdict?.outcome ?? 'progressing'
  const { verb, preposition } = outcomeLabels[outcome]
  const took = `Rollout ${verb} ${preposition} ${duration(timeline.finishedAt - timeline.startedAt)}`
  const phrase = verdict?.reason ? reasons[verdict.reason].title : ''
  if (outcome === 'misconfigured') return join(`Rollout ${verb}`, phrase)
  if (outcome === 'unknown') return join(took, phrase)
  if (outcome === 'ready') return join(took, readySubject(timeline))
  const deciding = decidingTarget(timeline)
  if (deciding === undefined || outcome === 'cancelled' || outcome === 'progressing') {
    const ready = targets.filter((record) => record.outcome === 'ready').length
    return join(took, targets.length === 0 ? phrase : `${ready} of ${count(targets.length, 'target')} ready`)
  }
  const name = nameOf(deciding, timeline)
  const why = deciding.reason ? `: ${reasonHeadline(deciding)}` : ''
  const others = targets.filter(isFailing).length - 1
  return join(took, `${name}${why}${others > 0 ? ` (and ${others} more)` : ''}`)
}

/**
 * The target that decided the gate: the first with the gate's outcome. Undefined if the gate is ready, cancelled or
 * open.
 */
export function decidingTarget({ verdict, targets }: Timeline): TargetRecord | undefined {
  if (verdict === undefined || verdict.outcome === 'ready') return undefined
  return targets
    .filter((record) => isFailing(record) && record.outcome === verdict.outcome)
    .reduce<TargetRecord | undefined>((first, record) => {
      return first === undefined || (record.endedAt ?? Infinity) < (first.endedAt ?? Infinity) ? record : first
    }, undefined)
}

function nameOf(record: TargetRecord, { targets }: Timeline): string {
  return fullName(nameTargets(targets.map(({ target }) => target))[targets.indexOf(record)] ?? { name: '' })
}

/** Why the gate ended, and what to do: shown below the headline. Messages are raw: escape them when they are rendered. */
interface Conclusion {
  readonly messages: readonly string[]
  readonly hint?: string
  readonly source?: Source
}

/** The message of the deciding target, else of the gate; empty if the gate is ready or open. */
export function conclude(timeline: Timeline): Conclusion {
  const { verdict } = timeline
  if (verdict === undefined || verdict.outcome === 'ready') return { messages: [] }
  const deciding = decidingTarget(timeline)
  const hint = deciding?.hint ?? timeline.hint
  const source = deciding?.target.source
  const text = deciding?.message ? messageWithName(nameOf(deciding, timeline), deciding) : capitalised(verdict.message)
  return {
    messages: plainLines(text).filter((line) => line !== ''),
    ...(hint === undefined ? {} : { hint }),
    ...(source === undefined ? {} : { source }),
  }
}

/** The target ended without being ready. A target that was open when the gate ended did not fail. */
export function isFailing({ outcome }: TargetRecord): boolean {
  return outcome !== 'ready' && outcome !== 'progressing'
}

/** Whether the target was judged. If the gate is `misconfigured`, open targets were not. */
export function isJudged({ outcome }: TargetRecord, { verdict }: Timeline): boolean {
  return outcome !== 'progressing' || verdict?.outcome !== 'misconfigured'
}

/** Sort order of a report: failed first, then in progress, then ready. */
export function urgency(record: TargetRecord | undefined): number {
  if (record === undefined || record.outcome === 'ready') return 0
  return record.outcome === 'progressing' ? 1 : 2
}

function readySubject({ targets }: Timeline): string {
  const [only] = targets
  if (only === undefined) return 'nothing to wait for'
  return targets.length === 1
    ? fullName(nameTargets([only.target])[0] ?? { name: '' })
    : count(targets.length, 'target')
}

function join(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' · ')
}
