import type { ProblemClass } from '../reasons/spec.ts'
import type { Gate, JudgedTarget } from './gate.ts'
import { concludeWorst } from './outcome.ts'
import { problemVerdict } from './target-record.ts'
import { type GatedTarget, objectOf, wasDeleted } from './target-state.ts'
import {
  absentVerdict,
  type Conclusion,
  causeOf,
  type JudgedRecord,
  type JudgedTimeline,
  type TargetOutcome,
  type TargetRecord,
  type Verdict,
  verdictOf,
} from './timeline.ts'

/**
 * What an endless gate finds at `now`, as if its clocks had run out: a target has the problem that stands in its way as its
 * reason. It is `failed` if the gate would fail it, else `stalled`; `progressing` without a problem, or if it only waits for a
 * target that is. The worst comes first. The timeline is `progressing` if all that is not ready progresses.
 */
export function lookAt(gate: Gate, now: number): JudgedTimeline {
  const timeline = gate.timeline(now)
  const looks = timeline.targets.map((record, index) => ({
    before: record,
    name: gate.judgedTarget(index).gated.name,
    record: lookAtTarget(record, gate.judgedTarget(index), now),
  }))
  const shown = looks.map(({ record }) => record)
  const sorted = looks
    // What only waits for a target that progresses, progresses.
    .map((look) => ({
      ...look,
      record: causeOf(look.record, shown)?.outcome === 'progressing' ? look.before : look.record,
    }))
    .toSorted((a, b) => gravityOf(a.record) - gravityOf(b.record))
  return { ...timeline, entries: [], targets: sorted.map(({ record }) => record), ...concludeLook(sorted) }
}

const worstFirst: readonly TargetOutcome[] = ['unknown', 'failed', 'superseded', 'stalled', 'progressing', 'ready']
const classes: readonly ProblemClass[] = ['terminal', 'strike', 'slow']

/** How grave the state of a target is: the lower the number, the graver. */
function gravityOf({ outcome, reason, problems }: TargetRecord): number {
  const problem = problems.find((each) => each.reason === reason)
  const ofClass = problem === undefined ? 0 : classes.indexOf(problem.class)
  return worstFirst.indexOf(outcome) * classes.length + ofClass
}

function lookAtTarget(record: JudgedRecord, { gated, isAbsent }: JudgedTarget, now: number): JudgedRecord {
  if (record.outcome !== 'progressing') return record
  const { state, target } = gated
  if (isAbsent) {
    const verdict = wasDeleted(state) ? verdictOf('failed', 'deleted', {}) : absentVerdict('failed', target)
    return { ...record, ...verdict }
  }
  const left = leftRevision(gated, now)
  if (left !== undefined) return { ...record, ...left }
  const { assessment } = state
  const problem = assessment?.failure ?? assessment?.problems[0]
  if (problem === undefined) return record
  const outcome = assessment?.failure === undefined ? 'stalled' : 'failed'
  return { ...record, ...problemVerdict(outcome, problem, assessment, target) }
}

/** The verdict that another revision replaced the awaited one (`--revision`), if the object or the checkout shows it. */
function leftRevision({ rule, state, gateTime }: GatedTarget, now: number): Verdict<TargetOutcome> | undefined {
  const object = objectOf(state)
  const facts = { ...gateTime, firstSeenAt: now }
  const found = object && rule.arrival?.(object, facts)
  return found !== undefined && 'detail' in found ? verdictOf('superseded', found.type, found.detail) : undefined
}

function concludeLook(
  looks: readonly { readonly record: TargetRecord; readonly name: string }[],
): Conclusion<TargetOutcome> {
  const own = looks.filter(({ record }) => record.causedBy === undefined)
  const worst = concludeWorst(own.map(({ record, name }) => ({ ...record, name })))
  if (worst !== undefined) return worst
  const open = looks.filter(({ record }) => record.outcome === 'progressing').length
  if (looks.some(({ record }) => record.outcome !== 'ready'))
    return { outcome: 'progressing', reason: '', message: `${open} of ${looks.length} in progress` }
  return { outcome: 'ready', reason: '', message: looks.length === 0 ? 'there is nothing to look at' : 'all are ready' }
}
