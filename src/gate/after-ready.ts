import type { TimedAnswer } from '../cluster/feed.ts'
import type { KubeObject, Pod } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import { describeMistakes, type Mistake } from '../errors.ts'
import { podsOfTarget, requestOf, withAnswers, withPods } from '../lifecycle/answers.ts'
import type { Assessment, Question } from '../lifecycle/assessment.ts'
import { fallenProblem, findBreak, type HeldPods, withReadyPods } from '../lifecycle/hold.ts'
import type { Rule } from '../lifecycle/rule.ts'
import type { Hold, RuleContext } from '../lifecycle/rule-context.ts'
import { ownProblem } from '../lifecycle/status-problems.ts'
import type { Checks } from '../plan/checks.ts'
import { nameKey, type Target } from '../plan/target.ts'
import { type Problem, problemSentence, traitsOf } from '../reasons/reasons.ts'
import { fallenMs, lastAnswerMs, requestIntervalMs } from '../thresholds.ts'
import { answerRecords } from './check-history.ts'
import type { Deadline } from './deadlines.ts'
import { examineCheck, type Parts, podsOf } from './examine-check.ts'
import { absentVerdict, type CheckRecords, type Verdict, verdictOf } from './run-record.ts'
import { type GatedTarget, objectOf } from './target-state.ts'
import type { TargetEvent } from './target-step.ts'

/** Creates the checks after the targets are ready; see the constructor of `AfterReady`. */
export interface AfterReadyFactory {
  readonly holdMs: number
  create(parts: () => Parts): AfterReady
}

/** The checks of a gate. The gate itself does not import this file: without checks, it is not loaded. */
export function afterReady(checks: Checks): AfterReadyFactory {
  return { holdMs: checks.holdMs, create: (parts) => new AfterReady(checks, parts) }
}

/**
 * The checks after the targets are ready (`http-checks` and `hold`), and the verdict by their answers. The
 * class has no clock: answers are events of the feed. All moments are milliseconds since the epoch.
 */
export class AfterReady {
  readonly #checks: Checks
  readonly #held = new Map<GatedTarget, HeldPods>()
  /** The targets that are not ready in the hold, and since when. */
  readonly #fallen = new Map<GatedTarget, number>()
  readonly #parts: () => Parts
  #hold: Hold | undefined
  /** When the targets were last judged at or after the end of the hold. */
  #judgedAt = -Infinity
  #lastAnswerAt = -Infinity
  /** Since when the API server is reachable again; undefined while it is not. */
  #reachableSince: number | undefined = -Infinity
  /** @param parts read only after the constructor */
  constructor(checks: Checks, parts: () => Parts) {
    this.#checks = checks
    this.#parts = parts
  }

  /** The rule of a target with the lines that name it. */
  rule(rule: Rule, target: Target): Rule {
    const checks = this.#checks.httpChecks.filter(({ reference }) => nameKey(reference) === nameKey(target))
    const watching = checks.length > 0 || this.#checks.holdMs > 0 ? withPods(rule) : rule
    const answering = checks.length === 0 ? watching : withAnswers(watching, checks)
    const isHeld = this.#checks.holdMs > 0 && rule.readyWhenAbsent === undefined
    return isHeld ? { ...answering, milestones: [...answering.milestones, 'held'] } : answering
  }

  get isHolding(): boolean {
    return this.#hold !== undefined
  }

  get hold(): Hold | undefined {
    return this.#hold
  }

  /** What was asked and answered so far. */
  get records(): CheckRecords {
    const { httpChecks, holdMs } = this.#checks
    const { since } = this.#hold ?? {}
    return {
      httpChecks: answerRecords(httpChecks, this.#parts().store.allAnswers),
      hold: holdMs > 0 ? { seconds: holdMs / 1_000, ...(since !== undefined && { since }) } : undefined,
    }
  }

  /**
   * Keeps the answer of a pod that may be asked.
   * @returns the targets whose lines it answers
   */
  observe(event: TimedAnswer): readonly GatedTarget[] {
    const { reference } = this.#checks.httpChecks[event.check] ?? {}
    if (reference === undefined) return []
    const { named, store } = this.#parts()
    const asking = named(reference).filter(
      ({ state }) => state.type !== 'ended' && state.assessment?.answering?.has(event.pod),
    )
    if (asking.length === 0) return []
    this.#lastAnswerAt = event.at
    store.apply({ namespace: reference.namespace, ...event })
    return asking
  }

  /**
   * What breaks the hold of a target; undefined if nothing does. A pod that is replaced, or that a scale adds, has until the end
   * of the hold to become ready, and so has a target whose status is not ready.
   */
  broken(gated: GatedTarget, object: KubeObject, assessment: Assessment, context: RuleContext): Problem | undefined {
    if (!this.isHolding) return undefined
    const { serving } = gated.rule
    const all = serving === undefined ? [] : podsOfTarget(assessment, object, serving, context)
    // The pods of a gated workload are its own, also behind a Service.
    const isOwn = (pod: Pod) => serving?.selects === undefined || context.revisionOf(pod) === undefined
    const pods = all.filter(isOwn)
    const held = this.#held.get(gated) ?? new Map()
    this.#held.set(gated, withReadyPods(held, pods))
    const { failure } = assessment
    if (assessment.status === 'ready') this.#fallen.delete(gated)
    else if (!this.#fallen.has(gated)) this.#fallen.set(gated, context.now)
    if (failure !== undefined && traitsOf(failure).isAnswer) return undefined
    return failure ?? findBreak(pods, held, assessment, context)
  }

  /**
   * Until when a target may be not ready although the hold has ended: its controller reconciles it at intervals, and reports so
   * for some seconds. Pods have only the time of the hold.
   */
  #fallenUntil(gated: GatedTarget): number {
    const { serving } = gated.rule
    const hasOwnPods = serving !== undefined && serving.selects === undefined && serving.presentPods === undefined
    const since = objectOf(gated.state) === undefined ? undefined : this.#fallen.get(gated)
    if (since === undefined) return -Infinity
    return hasOwnPods && since < (this.#hold?.until ?? 0) ? since : since + fallenMs
  }

  /** Whether the end of the hold ends a target that is not ready. */
  hasFallen(gated: GatedTarget, now: number): boolean {
    return now >= this.#fallenUntil(gated)
  }

  /** The event that ends a target which did not stay ready for the whole hold. */
  notHeld(problem: Problem, now: number): TargetEvent {
    const { since = now } = this.#hold ?? {}
    const detail = { holdMs: this.#checks.holdMs, afterMs: now - since, cause: problemSentence(problem) }
    return { type: 'end', verdict: verdictOf('failed', 'not-held', detail), problem }
  }

  /** The event that ends a target which is not ready at the end of the hold, or was deleted during the hold. */
  notReady(gated: GatedTarget, now: number): TargetEvent {
    const { state } = gated
    const object = objectOf(state)
    const { seen } = state
    if (object !== undefined && state.assessment !== undefined)
      return this.notHeld(fallenProblem(object, state.assessment, now), this.#fallen.get(gated) ?? now)
    const gone = object ?? seen?.object
    if (gone === undefined) return { type: 'end', verdict: absentVerdict('failed', gated.target) }
    return this.notHeld({ ...ownProblem(gone, now), reason: 'deleted', detail: {} }, now)
  }

  /** Called when the gate judges its targets at or after the end of the hold. */
  judgeHold(now: number): void {
    this.#judgedAt = now
  }

  /** Whether something is asked before the gate may end as ready. */
  isWaiting(now: number): boolean {
    return this.#hold !== undefined && (now < this.#hold.until || this.questions.length > 0)
  }

  /** What the targets ask their pods. */
  get questions(): readonly Question[] {
    return this.#parts().all.flatMap(questionsOf)
  }

  /** Since when the last answers are missing. */
  #unansweredSince({ until }: Hold): number {
    return Math.max(until, this.#lastAnswerAt, this.#reachableSince ?? Infinity)
  }

  /** When the way to the pods counts as broken: since the end of the hold, nothing has answered for longer than an answer takes. */
  #unansweredAt(hold: Hold): number {
    const timeoutsMs = this.questions.map(({ check }) => check.timeoutMs + requestIntervalMs)
    return timeoutsMs.length === 0 ? Infinity : this.#unansweredSince(hold) + Math.max(lastAnswerMs, ...timeoutsMs)
  }

  /** The watches have answered when the targets were judged, so only the pods could not be reached. */
  #unansweredVerdict(hold: Hold): Verdict | undefined {
    if (this.#judgedAt < this.#unansweredAt(hold)) return undefined
    const waited = duration(this.#judgedAt - this.#unansweredSince(hold))
    const open = new Set(this.questions.map(({ check }) => requestOf(check)))
    const outage = `after the hold, no request reached a pod for ${waited}: ${[...open].join(', ')}`
    return verdictOf('unknown', 'api-unreachable', { outage })
  }

  /**
   * Called when all targets are ready and have answered.
   * @returns the text of the log if the hold begins; undefined if there is none, or if it has ended
   */
  beginHold(now: number): string | undefined {
    const { holdMs } = this.#checks
    if (this.#hold !== undefined || holdMs === 0) return undefined
    this.#hold = { since: now, until: now + holdMs }
    for (const gated of this.#parts().all) this.#held.set(gated, withReadyPods(new Map(), podsOf(gated, this.#parts())))
    return `everything is ready: it must stay so for ${duration(holdMs)}`
  }

  /** The text of the milestone `held`; undefined without a hold. */
  get heldText(): string | undefined {
    return this.#hold && `stayed ready for ${duration(this.#checks.holdMs)}`
  }

  /** What the gate waits for after ready, for a heartbeat. */
  describe(now: number): readonly string[] {
    if (this.#hold === undefined) return []
    if (now >= this.#hold.until) return ['waiting for the last answers']
    return [`must stay so for ${duration(this.#hold.until - now)} more`]
  }

  /**
   * The moments at which time alone changes something.
   * @param isUnavailable whether a watch is unavailable: then the end of the hold waits
   */
  deadlines(now: number, isUnavailable: boolean): readonly Deadline[] {
    if (this.#hold === undefined) return []
    const { until } = this.#hold
    this.#reachableSince = isUnavailable ? undefined : (this.#reachableSince ?? now)
    if (isUnavailable) return []
    const fallen = this.#parts().all.map((gated) => Math.max(until, this.#fallenUntil(gated)))
    const moments = [until, this.#unansweredAt(this.#hold), ...fallen]
    const next = Math.min(...moments.filter((at) => at > this.#judgedAt))
    return next < Infinity ? [{ at: next, ends: 'hold' }] : []
  }

  /** How the checks end the gate: a mistake in them, or pods that cannot be reached; undefined while they do not. */
  verdict(): Verdict | undefined {
    return this.#mistakes() ?? (this.#hold && this.#unansweredVerdict(this.#hold))
  }

  /** The mistakes that only the cluster shows: a reference that reaches no gated pod, a port that does not exist. */
  #mistakes(): Verdict | undefined {
    const mistakes: Mistake[] = []
    for (const check of this.#checks.httpChecks) {
      const found = examineCheck(check, this.#parts())
      if (found !== undefined && 'outcome' in found) return found
      if (found !== undefined) mistakes.push(found)
    }
    if (mistakes.length === 0) return undefined
    return { outcome: 'misconfigured', reason: 'input-invalid', message: describeMistakes(mistakes).join('\n') }
  }
}

function questionsOf({ state }: GatedTarget): readonly Question[] {
  return state.type === 'ended' ? [] : (state.assessment?.questions ?? [])
}
