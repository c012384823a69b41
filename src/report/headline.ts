import { duration } from '../duration.ts'
import type { TargetRecord, Timeline } from '../gate/timeline.ts'
import type { Source } from '../plan/target.ts'
import { fullName, nameTargets } from '../plan/target.ts'
import { reasons } from '../reasons/reasons.ts'
import { plainLines } from './escape.ts'
import { capitalised, count, outcomeLabels, reasonHeadline, statement } from './wording.ts'

/**
 * How it ended, in one line for people: `Rollout failed after 42 s · deployment/web: image not found (and 2 more)`.
 * Of a gate that is still open: `Rollout in progress for 42 s · 1 of 3 targets ready`. Not yet escaped.
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

/** The target that decided the gate: the first that ended as the gate did. None on ready, cancelled or an open gate. */
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

/** Why a gate ended as it did and what to do: what stands right below the headline. Messages are not yet escaped. */
export interface Conclusion {
  readonly messages: readonly string[]
  readonly hint?: string
  readonly source?: Source
}

/** The words of the deciding target, else the gate's own; nothing on ready and while the gate is open. */
export function conclude(timeline: Timeline): Conclusion {
  const { verdict } = timeline
  if (verdict === undefined || verdict.outcome === 'ready') return { messages: [] }
  const deciding = decidingTarget(timeline)
  const hint = deciding?.hint ?? timeline.hint
  const source = deciding?.target.source
  const words = deciding?.message ? statement(nameOf(deciding, timeline), deciding) : capitalised(verdict.message)
  return {
    messages: plainLines(words).filter((line) => line !== ''),
    ...(hint === undefined ? {} : { hint }),
    ...(source === undefined ? {} : { source }),
  }
}

/** It ended, and not well. A target that was merely open when the gate ended did not fail. */
export function isFailing({ outcome }: TargetRecord): boolean {
  return outcome !== 'ready' && outcome !== 'progressing'
}

/** Whether the target was judged. A target that is open when the gate is `misconfigured` was not. */
export function isJudged({ outcome }: TargetRecord, { verdict }: Timeline): boolean {
  return outcome !== 'progressing' || verdict?.outcome !== 'misconfigured'
}

/** What is to be seen first: what failed, then what was still going on, then what is ready. */
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
