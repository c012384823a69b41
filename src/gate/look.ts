import { compareVersions } from '../lifecycle/versions.ts'
import type { ProblemClass } from '../reasons/spec.ts'
import type { Gate, TargetView } from './gate.ts'
import { concludeWorst } from './outcome.ts'
import {
  absentVerdict,
  type Conclusion,
  causeOf,
  type JudgedRunRecord,
  type JudgedTargetRecord,
  type TargetOutcome,
  type TargetRecord,
  type Verdict,
  verdictOf,
} from './run-record.ts'
import { problemVerdict } from './target-record.ts'
import { type GatedTarget, isUndecided, objectOf, wasDeleted } from './target-state.ts'
import { undoOf, versionsOf } from './target-step.ts'

/**
 * What an endless gate finds at `now`, as if its clocks had run out: a target has the problem that stands in its way as its
 * reason, and an undo. It is `failed` if the gate would fail it, else `stalled`; `progressing` without a problem, or if it only
 * waits for a target that is. The worst comes first. The record is `progressing` if all that is not ready progresses.
 */
export function lookAt(gate: Gate, now: number): JudgedRunRecord {
  const record = gate.record(now)
  const looks = record.targets.map((judged, index) => ({
    before: judged,
    name: gate.targetView(index).gated.name,
    judged: lookAtTarget(judged, gate.targetView(index), now),
  }))
  const shown = looks.map(({ judged }) => judged)
  const sorted = looks
    // What only waits for a target that progresses, progresses.
    .map((look) => ({
      ...look,
      judged: causeOf(look.judged, shown)?.outcome === 'progressing' ? look.before : look.judged,
    }))
    .toSorted((a, b) => gravityOf(a.judged) - gravityOf(b.judged))
  return { ...record, entries: [], targets: sorted.map(({ judged }) => judged), ...concludeLook(sorted) }
}

const worstFirst: readonly TargetOutcome[] = ['unknown', 'failed', 'superseded', 'stalled', 'progressing', 'ready']
const classes: readonly ProblemClass[] = ['terminal', 'strike', 'slow']

/** How grave the state of a target is: the lower the number, the graver. */
function gravityOf({ outcome, reason, problems }: TargetRecord): number {
  const problem = problems.find((each) => each.reason === reason)
  const ofClass = problem === undefined ? 0 : classes.indexOf(problem.class)
  return worstFirst.indexOf(outcome) * classes.length + ofClass
}

function lookAtTarget(judged: JudgedTargetRecord, look: TargetView, now: number): JudgedTargetRecord {
  const { gated, isAbsent } = look
  const { state, target } = gated
  if (judged.outcome !== 'progressing' || !isUndecided(state)) return judged
  if (isAbsent) {
    const verdict = wasDeleted(state) ? verdictOf('failed', 'deleted', {}) : absentVerdict('failed', target)
    return { ...judged, ...verdict }
  }
  const left = leftRevision(gated, now)
  if (left !== undefined) return { ...judged, ...left }
  const { assessment } = state
  const problem = assessment?.failure ?? assessment?.problems[0]
  if (problem === undefined) return judged
  const outcome = assessment?.failure === undefined ? 'stalled' : 'failed'
  const availableRevision = revisionBefore(look, now)
  return {
    ...judged,
    ...problemVerdict(outcome, problem, assessment, target),
    undo: undoOf(state, outcome, availableRevision, gated),
    basis: { ...judged.basis, availableRevision },
  }
}

/**
 * The older revision that was available when the present version was judged first. An endless gate may have judged an earlier
 * version first: then the one that is available now.
 */
function revisionBefore({ gated, readerAt }: TargetView, now: number): number | undefined {
  const { seen } = gated.state
  if (seen === undefined) return undefined
  const { object, revisions } = seen
  const { type } = compareVersions(versionsOf(seen), object, [...revisions.values()], gated.target, gated.gateTime)
  const isOther = type === 'superseded' || type === 'rolled-back'
  return isOther ? gated.rule.versions?.undo?.availableRevision(object, readerAt(now)) : seen.availableRevision
}

/** The verdict that another revision replaced the awaited one (`--revision`), if the object or the checkout shows it. */
function leftRevision({ rule, state, gateTime }: GatedTarget, now: number): Verdict<TargetOutcome> | undefined {
  const object = objectOf(state)
  const facts = { ...gateTime, firstSeenAt: now }
  const found = object && rule.versions?.arrival?.(object, facts)
  return found !== undefined && 'detail' in found ? verdictOf('superseded', found.type, found.detail) : undefined
}

function concludeLook(
  looks: readonly { readonly judged: TargetRecord; readonly name: string }[],
): Conclusion<TargetOutcome> {
  const own = looks.filter(({ judged }) => judged.causedBy === undefined)
  const worst = concludeWorst(own.map(({ judged, name }) => ({ ...judged, name })))
  if (worst !== undefined) return worst
  const open = looks.filter(({ judged }) => judged.outcome === 'progressing').length
  if (looks.some(({ judged }) => judged.outcome !== 'ready'))
    return { outcome: 'progressing', reason: '', message: `${open} of ${looks.length} in progress` }
  return { outcome: 'ready', reason: '', message: looks.length === 0 ? 'there is nothing to look at' : 'all are ready' }
}
