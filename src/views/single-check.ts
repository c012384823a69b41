import type { Gate } from '../gate/gate.ts'
import {
  absentVerdict,
  createVerdict,
  type TargetOutcome,
  targetOutcomes,
  type Verdict,
  worstVerdict,
} from '../gate/outcome.ts'
import {
  causeOf,
  type JudgedRunRecord,
  type JudgedTargetRecord,
  openConclusion,
  type RunRecord,
  type TargetRecord,
} from '../gate/run-record.ts'
import { type GatedTarget, isAbsenceKnown, isUndecided, objectOf, wasDeleted } from '../gate/target-state.ts'
import { findUndo } from '../gate/target-step.ts'
import { problemVerdict } from '../gate/timeline-entries.ts'
import type { ProblemClass } from '../reasons/spec.ts'
import { counted } from '../reasons/wording.ts'
import { safeLine } from '../report/escape.ts'
import { isFailing, namedTargets } from '../report/headline.ts'
import { layoutLog, namespaceText, outcomeCountsText, renderEvidence } from '../report/log.ts'
import { wayBackLines } from '../report/rollback.ts'
import { outcomeLabels } from '../report/target-record.ts'

/* A single check (`why`): the record of a gate as if all its timeouts passed now, and this record as text. */

/**
 * The record of a gate without verdicts (`givesNoVerdict`), as if all its timeouts passed at `now`. A target is
 * `failed` if its problem is proven, and `stalled` if not. It is `progressing` if it has no problem, or only waits for
 * a progressing target. The worst target comes first.
 */
export function singleCheckRecord(gate: Gate, now: number): JudgedRunRecord {
  const record = gate.record(now)
  const results = gate.targets.flatMap((gated, index) => {
    const before = record.targets[index]
    return before === undefined ? [] : [{ before, name: gated.name, judged: targetVerdict(before, gated, now) }]
  })
  const shown = results.map(({ judged }) => judged)
  const sorted = results
    // A target that only waits for a progressing target is progressing.
    .map((result) => ({
      ...result,
      judged: causeOf(result.judged, shown)?.outcome === 'progressing' ? result.before : result.judged,
    }))
    .toSorted((a, b) => worstFirstRank(a.judged) - worstFirstRank(b.judged))
  return { ...record, entries: [], targets: sorted.map(({ judged }) => judged), ...worstConclusion(sorted) }
}

const classes: readonly ProblemClass[] = ['terminal', 'strike', 'slow']

/** The rank of a target's state, for sorting: the worst state has the lowest number. */
function worstFirstRank({ outcome, reason, problems }: TargetRecord): number {
  const problem = problems.find((each) => each.reason === reason)
  const ofClass = problem === undefined ? 0 : classes.indexOf(problem.class)
  return targetOutcomes.indexOf(outcome) * classes.length + ofClass
}

function targetVerdict(judged: JudgedTargetRecord, gated: GatedTarget, now: number): JudgedTargetRecord {
  const { rule, state, target } = gated
  if (judged.outcome !== 'progressing' || !isUndecided(state)) return judged
  const object = objectOf(state)
  if (object === undefined && isAbsenceKnown(gated)) {
    const verdict = wasDeleted(state) ? createVerdict('failed', 'deleted', {}) : absentVerdict('failed', target)
    return { ...judged, ...verdict }
  }
  const replaced = otherRevisionVerdict(gated, now)
  if (replaced !== undefined) return { ...judged, ...replaced }
  const { assessment } = state
  const problem = assessment?.failure ?? assessment?.problems[0]
  if (problem === undefined) return judged
  const outcome = assessment?.failure === undefined ? 'stalled' : 'failed'
  const availableRevision = object && rule.undo?.availableRevision(object, gated.readerOf(object, now))
  return {
    ...judged,
    ...problemVerdict(outcome, problem, assessment, target),
    undo: findUndo(state, outcome, availableRevision, gated),
    basis: { ...judged.basis, availableRevision },
  }
}

/** The verdict `superseded` or `rolled-back`, if another revision replaced the awaited revision (`--revision`). */
function otherRevisionVerdict({ state, rule, readerOf }: GatedTarget, now: number): Verdict<TargetOutcome> | undefined {
  const object = objectOf(state)
  const found = object && rule.arrival?.(object, readerOf(object, now))
  return found !== undefined && 'detail' in found ? createVerdict('superseded', found.type, found.detail) : undefined
}

function worstConclusion(
  all: readonly { readonly judged: TargetRecord; readonly name: string }[],
): Verdict<TargetOutcome> {
  const own = all.filter(({ judged }) => judged.causedBy === undefined)
  const worst = worstVerdict(own.map(({ judged, name }) => ({ ...judged, name })))
  if (worst !== undefined) return worst
  const open = all.filter(({ judged }) => judged.outcome === 'progressing').length
  if (all.some(({ judged }) => judged.outcome !== 'ready'))
    return { outcome: 'progressing', reason: '', message: `${open} of ${all.length} in progress` }
  return { outcome: 'ready', reason: '', message: all.length === 0 ? 'there is nothing to look at' : 'all are ready' }
}

/**
 * The record of a single check as text. First the number of targets by outcome. Then each target that is not ready,
 * with reason, evidence and hint. At the end, the way back and the targets in progress.
 */
export function renderSingleCheck(
  record: RunRecord,
  options: { readonly color: boolean; readonly groups: boolean },
): string[] {
  const { cluster, targets } = record
  const named = namedTargets(record)
  const wayBack = wayBackLines(record)
  const bad = named.filter(({ target }) => isFailing(target))
  const open = named.filter(({ target }) => target.outcome === 'progressing')
  // "stalled" would be wrong, because no timeout has passed.
  const verbOf = (outcome: TargetOutcome) => (outcome === 'stalled' ? 'not ready' : outcomeLabels[outcome].verb)
  const parts = [
    ...(cluster.context === '' ? [] : [`context ${safeLine(cluster.context)}`]),
    `${counted(targets.length, 'resource')}${namespaceText(targets)}`,
    ...(targets.length === 0 ? [] : [outcomeCountsText(targets, verbOf)]),
  ]
  return [
    parts.join(' · '),
    ...bad.flatMap(({ target, waiting }) => [
      ...renderEvidence(
        { ...record, ...openConclusion, targets: [target] },
        layoutLog({ ...record, targets: [target] }, { ...options, times: false }),
      ),
      ...(waiting === '' ? [] : [`  ${safeLine(waiting)}`]),
    ]),
    ...(wayBack.length === 0 ? [] : ['']),
    ...wayBack.map((line) => safeLine(line)),
    ...(open.length === 0 || bad.length === 0 ? [] : ['']),
    ...open.map(({ target, name }) => `… ${safeLine(name)} ${safeLine(target.message)}`),
  ]
}
