import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../cluster/feed.ts'
import type { KubeObject, Pod } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import { describeMistakes, type Mistake } from '../errors.ts'
import {
  type AnswerBook,
  type Answers,
  addAnswer,
  isRight,
  podsOfTarget,
  requestOf,
  withAnswers,
  withPods,
} from '../lifecycle/answers.ts'
import type { Ask, Assessment } from '../lifecycle/assessment.ts'
import { ownProblem } from '../lifecycle/conditions.ts'
import { fallenProblem, findBreak, type HeldPods, withReadyPods } from '../lifecycle/hold.ts'
import type { Rule } from '../lifecycle/rule.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import type { Checks, RequestCheck } from '../plan/checks.ts'
import { nameKey, type Target } from '../plan/target.ts'
import { type Problem, problemSentence, traitsOf } from '../reasons/reasons.ts'
import { fallenMs, lastAnswerMs, requestIntervalMs } from '../thresholds.ts'
import { CheckHistory } from './check-history.ts'
import type { Deadline } from './deadlines.ts'
import { examineCheck, type Parts, podsOf } from './examine-check.ts'
import { noQuestions, type Question } from './questions.ts'
import { absentVerdict, type CheckRecords, type Verdict, verdictOf } from './run-record.ts'
import { type GatedTarget, objectOf, type TargetState } from './target-state.ts'
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

/** The time in which everything must stay ready, in ms since the epoch. */
interface Hold {
  readonly since: number
  readonly until: number
}

type TimedAnswer = Answer & { readonly at: number }

/**
 * The checks after the targets are ready (`http-checks` and `hold`), and the verdict by their answers. The
 * class has no clock: answers are events of the feed, from which the next questions follow. All moments are milliseconds since the epoch.
 */
export class AfterReady implements AnswerBook {
  readonly #checks: Checks
  /** The index of the target of a line, by the index of the line. */
  readonly #targets = new Map<number, number>()
  readonly #history: CheckHistory
  /** The answers by line and uid of the pod. */
  readonly #answers = new Map<string, Answers>()
  /** Since when a pod is asked, by line and uid. */
  readonly #askedSince = new Map<string, number>()
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
  /** The lines whose reference and port are known to be right. */
  readonly #checked = new Set<RequestCheck>()
  #questions: readonly Question[] = noQuestions

  /** @param parts read only after the constructor */
  constructor(checks: Checks, parts: () => Parts) {
    this.#checks = checks
    this.#parts = parts
    this.#history = new CheckHistory(checks)
  }

  /** The rule of a target with the lines that name it. */
  rule(rule: Rule, target: Target, index: number): Rule {
    const checks = this.#checks.httpChecks.filter(({ reference }) => nameKey(reference) === nameKey(target))
    for (const check of checks) this.#targets.set(check.index, index)
    const watching = checks.length > 0 || this.#checks.holdMs > 0 ? withPods(rule) : rule
    const answering = checks.length === 0 ? watching : withAnswers(watching, checks, this)
    const isHeld = this.#checks.holdMs > 0 && rule.readyWhenAbsent === undefined
    return isHeld ? { ...answering, milestones: [...answering.milestones, 'held'] } : answering
  }

  get isHolding(): boolean {
    return this.#hold !== undefined
  }

  answers({ index }: RequestCheck, uid: string): Answers | undefined {
    return this.#answers.get(keyOf(index, uid))
  }

  /** What to ask. The same array while nothing changes. */
  get questions(): readonly Question[] {
    return this.#questions
  }

  /** What was asked and answered so far. */
  get records(): CheckRecords {
    return this.#history.records
  }

  /** Records an answer. Returns the targets that it may affect. */
  observe(event: TimedAnswer): readonly GatedTarget[] {
    const check = this.#checks.httpChecks[event.check]
    if (check === undefined) return []
    const gated = this.#gatedOf(check)
    if (gated === undefined) return []
    const uid = uidOf(event, check, gated)
    if (uid === undefined) return []
    this.#lastAnswerAt = event.at
    const key = keyOf(check.index, uid)
    this.#answers.set(key, addAnswer(this.#answers.get(key), check, event, event.at))
    this.#history.addAnswer(event, event.at, isRight(check, event))
    return [gated]
  }

  /** The target that a line names; undefined if there is none. */
  #gatedOf({ index }: RequestCheck): GatedTarget | undefined {
    return this.#parts().all[this.#targets.get(index) ?? -1]
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
    return this.#hold !== undefined && (now < this.#hold.until || this.#openChecks.length > 0)
  }

  /** The lines that some pod still has to answer. */
  get #openChecks(): readonly RequestCheck[] {
    const open = new Set(this.#questions.map(({ check }) => check))
    return this.#checks.httpChecks.filter(({ index }) => open.has(index))
  }

  /** Since when the last answers are missing. */
  #unansweredSince({ until }: Hold): number {
    return Math.max(until, this.#lastAnswerAt, this.#reachableSince ?? Infinity)
  }

  /** When the way to the pods counts as broken: since the end of the hold, nothing has answered for longer than an answer takes. */
  #unansweredAt(hold: Hold): number {
    const waitMs = Math.max(lastAnswerMs, ...this.#openChecks.map(({ timeoutMs }) => timeoutMs + requestIntervalMs))
    return this.#openChecks.length === 0 ? Infinity : this.#unansweredSince(hold) + waitMs
  }

  /** The watches have answered when the targets were judged, so only the pods could not be reached. */
  #unansweredVerdict(hold: Hold): Verdict | undefined {
    if (this.#judgedAt < this.#unansweredAt(hold)) return undefined
    const waited = duration(this.#judgedAt - this.#unansweredSince(hold))
    const outage = `after the hold, no request reached a pod for ${waited}: ${this.#openChecks.map(requestOf).join(', ')}`
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
    this.#history.beginHold(holdMs, now)
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

  /** Updates the questions. Called after each event and deadline. */
  update(now: number): void {
    const next = this.#checks.httpChecks.flatMap((check) => this.#questionsOf(check, now))
    if (!isDeepStrictEqual(next, this.#questions)) this.#questions = next.length === 0 ? noQuestions : next
  }

  #questionsOf(check: RequestCheck, now: number): readonly Question[] {
    const { state } = this.#gatedOf(check) ?? {}
    if (state === undefined || state.type === 'ended') return []
    return (askOf(check, state)?.asked ?? []).flatMap((pod) => {
      const at = this.#dueAt(check, pod.uid, now)
      return at === undefined ? [] : [{ check: check.index, pod, at }]
    })
  }

  /**
   * When a pod is asked next: at once, then at an interval, and a last time at the end of the hold; after a wrong or missing
   * answer until a right one clears it, or a later one proves it.
   */
  #dueAt({ index }: RequestCheck, uid: string, now: number): number | undefined {
    const key = keyOf(index, uid)
    const since = this.#askedSince.get(key) ?? now
    this.#askedSince.set(key, since)
    const { lastAt: last, wrong = 0 } = this.#answers.get(key) ?? {}
    const at = last === undefined ? since : last + requestIntervalMs
    if (this.#hold === undefined || last === undefined || wrong > 0) return at
    const { until } = this.#hold
    return last >= until ? undefined : Math.min(at, until)
  }

  /** How the checks end the gate: a mistake in them, or pods that cannot be reached; undefined while they do not. */
  verdict(): Verdict | undefined {
    return this.#mistakes() ?? (this.#hold && this.#unansweredVerdict(this.#hold))
  }

  /** The mistakes that only the cluster shows: a reference that reaches no gated pod, a port that does not exist. */
  #mistakes(): Verdict | undefined {
    const mistakes: Mistake[] = []
    for (const check of this.#checks.httpChecks) {
      const examined = this.#checked.has(check) ? 'right' : examineCheck(check, this.#gatedOf(check), this.#parts())
      if (examined === 'right') this.#checked.add(check)
      else if (examined !== 'unknown' && 'outcome' in examined) return examined
      else if (examined !== 'unknown') mistakes.push({ input: 'http-checks', line: check.line, ...examined })
    }
    if (mistakes.length === 0) return undefined
    return { outcome: 'misconfigured', reason: 'input-invalid', message: describeMistakes(mistakes).join('\n') }
  }
}

function keyOf(index: number, uid: string): string {
  return `${index} ${uid}`
}

function askOf({ index }: RequestCheck, { assessment }: TargetState): Ask | undefined {
  return assessment?.asks?.find(({ check }) => check === index)
}

/** The uid of the pod of an answer, if it is one of the gated revision that is asked. */
function uidOf({ pod, namespace }: Answer, check: RequestCheck, { target, state }: GatedTarget): string | undefined {
  if (namespace !== undefined && namespace !== target.namespace) return undefined
  return askOf(check, state)?.pods.find(({ name }) => name === pod)?.uid
}
