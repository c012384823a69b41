import type { Gate, TargetView } from '../gate/gate.ts'
import {
  absentVerdict,
  concludeWorst,
  type TargetOutcome,
  targetOutcomes,
  type Verdict,
  verdictOf,
} from '../gate/outcome.ts'
import { causeOf, type JudgedRunRecord, type JudgedTargetRecord, type TargetRecord } from '../gate/run-record.ts'
import { isUndecided, objectOf, wasDeleted } from '../gate/target-state.ts'
import { undoOf } from '../gate/target-step.ts'
import { problemVerdict } from '../gate/timeline-entries.ts'
import type { ProblemClass } from '../reasons/spec.ts'

/**
 * The record of a gate without verdicts (`givesNoVerdict`), as if all its timeouts passed at `now`; the worst target comes first.
 * A target with a problem is `failed` if the problem would fail it, else `stalled`. A target without a problem, or one that only
 * waits for a progressing target, is `progressing`.
 */
export function judgeNow(gate: Gate, now: number): JudgedRunRecord {
  const record = gate.record(now)
  const results = record.targets.map((judged, index) => ({
    before: judged,
    name: gate.targetView(index).gated.name,
    judged: judgeTarget(judged, gate.targetView(index), now),
  }))
  const shown = results.map(({ judged }) => judged)
  const sorted = results
    // A target that only waits for a progressing target is progressing.
    .map((result) => ({
      ...result,
      judged: causeOf(result.judged, shown)?.outcome === 'progressing' ? result.before : result.judged,
    }))
    .toSorted((a, b) => gravityOf(a.judged) - gravityOf(b.judged))
  return { ...record, entries: [], targets: sorted.map(({ judged }) => judged), ...conclude(sorted) }
}

const classes: readonly ProblemClass[] = ['terminal', 'strike', 'slow']

/** A number for sorting: the worse the state of a target, the lower. */
function gravityOf({ outcome, reason, problems }: TargetRecord): number {
  const problem = problems.find((each) => each.reason === reason)
  const ofClass = problem === undefined ? 0 : classes.indexOf(problem.class)
  return targetOutcomes.indexOf(outcome) * classes.length + ofClass
}

function judgeTarget(judged: JudgedTargetRecord, view: TargetView, now: number): JudgedTargetRecord {
  const { gated, isAbsent } = view
  const { rule, state, target } = gated
  if (judged.outcome !== 'progressing' || !isUndecided(state)) return judged
  if (isAbsent) {
    const verdict = wasDeleted(state) ? verdictOf('failed', 'deleted', {}) : absentVerdict('failed', target)
    return { ...judged, ...verdict }
  }
  const replaced = otherRevisionVerdict(view, now)
  if (replaced !== undefined) return { ...judged, ...replaced }
  const { assessment } = state
  const problem = assessment?.failure ?? assessment?.problems[0]
  if (problem === undefined) return judged
  const outcome = assessment?.failure === undefined ? 'stalled' : 'failed'
  const object = objectOf(state)
  const availableRevision = object && rule.undo?.availableRevision(object, view.readerAt(object, now))
  return {
    ...judged,
    ...problemVerdict(outcome, problem, assessment, target),
    undo: undoOf(state, outcome, availableRevision, gated),
    basis: { ...judged.basis, availableRevision },
  }
}

/** The verdict `superseded` or `rolled-back` if another revision replaced the awaited one (`--revision`); else undefined. */
function otherRevisionVerdict({ gated, readerAt }: TargetView, now: number): Verdict<TargetOutcome> | undefined {
  const object = objectOf(gated.state)
  const found = object && gated.rule.arrival?.(object, readerAt(object, now))
  return found !== undefined && 'detail' in found ? verdictOf('superseded', found.type, found.detail) : undefined
}

function conclude(all: readonly { readonly judged: TargetRecord; readonly name: string }[]): Verdict<TargetOutcome> {
  const own = all.filter(({ judged }) => judged.causedBy === undefined)
  const worst = concludeWorst(own.map(({ judged, name }) => ({ ...judged, name })))
  if (worst !== undefined) return worst
  const open = all.filter(({ judged }) => judged.outcome === 'progressing').length
  if (all.some(({ judged }) => judged.outcome !== 'ready'))
    return { outcome: 'progressing', reason: '', message: `${open} of ${all.length} in progress` }
  return { outcome: 'ready', reason: '', message: all.length === 0 ? 'there is nothing to look at' : 'all are ready' }
}
