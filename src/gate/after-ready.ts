import { isDeepStrictEqual } from 'node:util'
import { type Answer, deniesAccess, type MetricValue } from '../cluster/feed.ts'
import { type KubeObject, type Pod, shortName } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import { describeMistakes, type Mistake } from '../errors.ts'
import {
  type AnswerBook,
  type Answers,
  addAnswer,
  answersProblem,
  askedPod,
  type ConcerningCheck,
  choosePort,
  type DuringCount,
  duringProblem,
  isPodBehind,
  isRight,
  missingDetail,
  podsOfTarget,
  readyPodsBehind,
  requestOf,
  selectsPodsOf,
  withAnswers,
  withPods,
} from '../lifecycle/answers.ts'
import type { AskedPod, Assessment } from '../lifecycle/assessment.ts'
import { ownProblem } from '../lifecycle/conditions.ts'
import { fallenProblem, findBreak, type HeldPods, withReadyPods } from '../lifecycle/hold.ts'
import type { Rule, Serving } from '../lifecycle/rule.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import { ruleOf } from '../lifecycle/rules.ts'
import type { CheckReference, Checks, MetricCheck, RequestCheck } from '../plan/checks.ts'
import { pluralOf } from '../plan/kinds.ts'
import { displayName, nameKey, type Target } from '../plan/target.ts'
import { type Problem, problemSentence, sentenceOf, traitsOf } from '../reasons/reasons.ts'
import { joinSubject } from '../reasons/spec.ts'
import { measured } from '../reasons/wording.ts'
import {
  duringIntervalMs,
  lastAnswerMs,
  maxNamedSeries,
  metricIntervalMs,
  metricProven,
  requestIntervalMs,
} from '../thresholds.ts'
import { CheckHistory } from './check-history.ts'
import type { Deadline } from './deadlines.ts'
import { noQuestions, type Question } from './questions.ts'
import type { GateSettings } from './settings.ts'
import { type GatedTarget, objectOf, requestsOf, type TargetEvent } from './target-state.ts'
import { type CheckRecords, deniedVerdict, type Verdict, verdictOf } from './timeline.ts'

/** What a gate asks for after ready; see the constructor of `AfterReady`. */
export interface AfterReadyFactory {
  readonly holdMs: number
  create(
    targets: readonly Target[],
    settings: GateSettings,
    servingOf: (target: Target) => Serving | undefined,
    parts: () => Parts,
  ): AfterReady
}

/** The checks of a gate. The gate itself does not import this file: without checks, it is not loaded. */
export function afterReady(checks: Checks): AfterReadyFactory {
  return { holdMs: checks.holdMs, create: (...gate) => new AfterReady(checks, ...gate) }
}

/** The parts of the gate that the checks read. */
interface Parts {
  readonly all: readonly GatedTarget[]
  readonly store: Store
  readonly contextOf: (gated: GatedTarget) => RuleContext
}

/** Where a line of `requests` asks. */
type Place =
  | { readonly type: 'url' }
  | { readonly type: 'target'; readonly index: number; readonly target: Target; readonly serving: Serving }
  /** An object that selects the pods of some of these targets. */
  | {
      readonly type: 'selecting'
      readonly via: NonNullable<ConcerningCheck['via']>
      readonly indexes: readonly number[]
    }
  | { readonly type: 'mistake'; readonly message: string }

/** The time in which everything must stay ready; metrics without `hold` are asked in one of 0 ms. */
interface Hold {
  readonly since: number
  readonly until: number
}

type Timed<T> = T & { readonly at: number }

/**
 * What the gate asks for after ready, and what the answers decide: `requests`, `hold` and `metrics`. It has no clock: answers
 * are events of the feed, from which the next questions follow. All moments are milliseconds since the epoch.
 */
export class AfterReady implements AnswerBook {
  readonly #checks: Checks
  readonly #settings: GateSettings
  #targets: readonly Target[]
  #places: readonly Place[]
  readonly #servingOf: (target: Target) => Serving | undefined
  readonly #history: CheckHistory
  /** The answers by line and uid of the pod; a URL has the empty uid. */
  readonly #answers = new Map<string, Answers>()
  /** Since when a pod is asked, by line and uid. */
  readonly #askedSince = new Map<string, number>()
  readonly #during = new Map<number, During>()
  /** The values of each metric since everything was ready. */
  readonly #values = new Map<number, readonly Timed<MetricValue>[]>()
  /** The names of the pods behind the targets since the start, by uid. */
  readonly #podNames = new Map<string, string>()
  readonly #held = new Map<GatedTarget, HeldPods>()
  readonly #parts: () => Parts
  #hold: Hold | undefined
  /** Whether the end of the hold has ended the targets that are not ready. */
  #isHoldJudged = false
  /** The lines whose reference and port are known to be right. */
  readonly #checked = new Set<RequestCheck>()
  /** Since when the URLs are asked: every target is ready. */
  #urlsSince: number | undefined
  #urlEnd: Pick<CheckRecords, 'urlVerdict' | 'urlProblem'> = {}
  #questions: readonly Question[] = noQuestions

  /**
   * @param servingOf how requests reach the pods of a target; undefined if its pods are not watched
   * @param parts read only after the constructor
   */
  constructor(
    checks: Checks,
    targets: readonly Target[],
    settings: GateSettings,
    servingOf: (target: Target) => Serving | undefined,
    parts: () => Parts,
  ) {
    this.#checks = checks
    this.#settings = settings
    this.#parts = parts
    this.#servingOf = servingOf
    this.#targets = targets
    this.#places = this.#placesAmong(targets)
    this.#history = new CheckHistory(checks)
  }

  #placesAmong(targets: readonly Target[]): readonly Place[] {
    return this.#checks.requests.map(({ reference }) =>
      reference === undefined ? { type: 'url' } : placeOf(reference, targets, this.#servingOf),
    )
  }

  /** The rule of a target with the lines that concern it. An operator may deploy further targets. */
  rule(rule: Rule, target: Target, index: number): Rule {
    if (index >= this.#targets.length) {
      this.#targets = [...this.#targets, target]
      this.#places = this.#placesAmong(this.#targets)
    }
    const checks = this.#checks.requests.flatMap((check): ConcerningCheck[] => {
      const place = this.#places[check.index]
      if (place?.type === 'target') return place.index === index ? [{ check }] : []
      return place?.type === 'selecting' && place.indexes.includes(index) ? [{ check, via: place.via }] : []
    })
    const watching = checks.length > 0 || this.#readsPods ? withPods(rule) : rule
    const answering = checks.length === 0 ? watching : withAnswers(watching, checks, this)
    const isHeld = this.#checks.holdMs > 0 && rule.readyWhenAbsent === undefined
    return isHeld ? { ...answering, milestones: [...answering.milestones, 'held'] } : answering
  }

  /** Whether the hold or a metric is about the pods of each target. */
  get #readsPods(): boolean {
    const { holdMs, metrics } = this.#checks
    return holdMs > 0 || metrics.some(({ query }) => /\$(pods|old_pods)\b/.test(query))
  }

  get isHolding(): boolean {
    return this.#hold !== undefined && this.#checks.holdMs > 0
  }

  /** The gate's timeout counts up to ready. */
  get isPastTimeout(): boolean {
    return this.#hold !== undefined
  }

  answers({ index }: RequestCheck, uid: string): Answers | undefined {
    return this.#answers.get(keyOf(index, uid))
  }

  during({ index }: RequestCheck): DuringCount {
    return this.#during.get(index)?.count ?? noneAsked
  }

  /** What to ask. The same array while nothing changes. */
  get questions(): readonly Question[] {
    return this.#questions
  }

  /** What was asked and answered so far. */
  get records(): CheckRecords {
    return { ...this.#history.records, ...this.#urlEnd }
  }

  /** Records an answer. Returns the targets that it may affect. */
  observe(event: Timed<Answer | MetricValue>): readonly GatedTarget[] {
    if (event.type === 'ANSWER') return this.#observeAnswer(event)
    if (this.#checks.metrics[event.check] === undefined || !(this.#hold !== undefined || this.#areAllReady)) return []
    this.#history.addValue(event, event.at)
    this.#values.set(event.check, [...(this.#values.get(event.check) ?? []), event])
    return []
  }

  #observeAnswer(event: Timed<Answer>): readonly GatedTarget[] {
    const check = this.#checks.requests[event.check]
    if (check === undefined) return []
    const concerned = this.#concernedBy(check)
    if (check.during) {
      const during = this.#during.get(check.index)
      this.#during.set(check.index, afterAnswer(during, check, event, this.#settings.startedAt))
    } else {
      const uid = this.#uidOf(event, check, concerned)
      if (uid === undefined) return []
      const key = keyOf(check.index, uid)
      this.#answers.set(key, addAnswer(this.#answers.get(key), check, event, event.at))
    }
    this.#history.addAnswer(event, event.at, isRight(check, event))
    return concerned
  }

  /** The pod of an answer, if it is one of the gated revision that is asked; the empty uid for a URL. */
  #uidOf({ pod, namespace }: Answer, check: RequestCheck, concerned: readonly GatedTarget[]): string | undefined {
    if (check.reference === undefined) return this.#urlsSince === undefined ? undefined : ''
    const asks = concerned
      .filter(({ target }) => namespace === undefined || namespace === target.namespace)
      .flatMap(({ state }) => state.assessment?.asks?.filter((ask) => ask.check === check.index) ?? [])
    return asks.flatMap(({ pods }) => pods).find(({ name }) => name === pod)?.uid
  }

  /** The targets that a line may concern. */
  #concernedBy({ index }: RequestCheck): readonly GatedTarget[] {
    const place = this.#places[index]
    const { all } = this.#parts()
    if (place?.type === 'target') return all.filter((gated) => gated.index === place.index)
    return place?.type === 'selecting' ? all.filter((gated) => place.indexes.includes(gated.index)) : []
  }

  get #areAllReady(): boolean {
    return this.#parts().all.every(({ state }) => state.type === 'ready')
  }

  /** Remembers the pods behind the targets, for `$old_pods`. */
  observeObject(object: KubeObject): void {
    if (!this.#checks.metrics.some(({ query }) => query.includes('$old_pods'))) return
    const { uid, name } = object.metadata
    for (const { rule, state } of this.#parts().all) {
      const target = objectOf(state)
      if (target === undefined || uid === undefined || rule.serving === undefined) continue
      if (isPodBehind(target, rule.serving, object)) this.#podNames.set(uid, name)
    }
  }

  /**
   * What breaks the hold of a target; undefined if nothing does. A pod that is replaced, or that a scale adds, has until the end
   * of the hold to become ready.
   */
  broken(gated: GatedTarget, object: KubeObject, assessment: Assessment, context: RuleContext): Problem | undefined {
    if (!this.isHolding) return undefined
    const { serving } = gated.rule
    const all = serving === undefined ? [] : podsOfTarget(assessment, object, serving, context)
    // The pods of a gated workload are its own, also behind a Service.
    const isOwn = (pod: Pod) => serving?.podMetadata !== undefined || context.isOfGatedRevision(pod) === undefined
    const pods = all.filter(isOwn)
    const held = this.#held.get(gated) ?? new Map()
    this.#held.set(gated, withReadyPods(held, pods))
    const { failure } = assessment
    if (failure !== undefined && traitsOf(failure).isAnswer) return undefined
    const problem = failure ?? findBreak(pods, held, assessment, context)
    // A custom resource may fall back without its pods.
    const isOfPods = serving !== undefined && serving.presentPods === undefined
    if (problem !== undefined || isOfPods || assessment.status === 'ready') return problem
    return fallenProblem(object, assessment, context.now)
  }

  /** The end of a target that did not hold. */
  notHeld(problem: Problem, now: number): TargetEvent {
    const { since = now } = this.#hold ?? {}
    const detail = { holdMs: this.#checks.holdMs, afterMs: now - since, cause: problemSentence(problem) }
    return { type: 'end', verdict: verdictOf('failed', 'not-held', detail), problem }
  }

  /** The end of a target that is not ready at the end of the hold, or that was deleted in it. */
  notReady(gated: GatedTarget, now: number): TargetEvent {
    const { state } = gated
    const object = objectOf(state)
    const { seen } = state
    if (object !== undefined && state.assessment !== undefined)
      return this.notHeld(fallenProblem(object, state.assessment, now), now)
    const gone = object ?? seen?.object
    if (gone === undefined) return { type: 'end', verdict: verdictOf('failed', 'not-found', {}) }
    return this.notHeld({ ...ownProblem(gone, now), reason: 'deleted', detail: {} }, now)
  }

  /** Whether the end of the hold must end the targets that are not ready. */
  judgeHold(): void {
    this.#isHoldJudged = true
  }

  /** Whether something is asked before the gate may end as ready. */
  isWaiting(now: number): boolean {
    if (this.#hold === undefined) return this.#openUrls.length > 0
    return !this.#isOver(this.#hold, now)
  }

  #isOver({ until }: Hold, now: number): boolean {
    const isPending = (question: Question) =>
      question.type === 'metric' || this.#checks.requests[question.check]?.during === false
    return now >= until && (now >= until + lastAnswerMs || !this.#questions.some(isPending))
  }

  /**
   * Goes on after everything was seen to be ready and has answered.
   * @returns whether the gate may end; else the hold has begun
   */
  proceed(now: number): boolean {
    const { holdMs, metrics } = this.#checks
    if (this.#hold !== undefined || (holdMs === 0 && metrics.length === 0)) return true
    this.#hold = { since: now, until: now + holdMs }
    this.#isHoldJudged = false
    for (const gated of this.#parts().all) this.#held.set(gated, withReadyPods(new Map(), this.#podsOf(gated)))
    if (holdMs > 0) this.#history.setHold({ holdMs, since: now })
    this.update(now)
    return false
  }

  /** Without a hold, a target that is no longer ready is awaited again. */
  reset(): void {
    if (this.isHolding) return
    this.#hold = undefined
    this.#values.clear()
  }

  /** `error-rate 0.002`: the latest value of each metric, or why there is none. */
  get #latestValues(): readonly string[] {
    return this.#checks.metrics.flatMap((metric) => {
      const { value, error } = this.#valuesOf(metric).at(-1) ?? {}
      if (value === undefined && error === undefined) return []
      return `${metric.name} ${value === undefined ? error : measured(value)}`
    })
  }

  /** The text of the log when the hold begins and when it has ended; undefined without one. */
  get holdTexts(): { readonly began: string; readonly ended: string } | undefined {
    const { holdMs } = this.#checks
    const time = duration(holdMs)
    return this.isHolding
      ? {
          began: `everything is ready: it must stay so for ${time}`,
          ended: [`stayed ready for ${time}`, ...this.#latestValues].join(' · '),
        }
      : undefined
  }

  /** What the gate waits for after ready, for a heartbeat. */
  describe(now: number): readonly string[] {
    if (this.#hold === undefined) return this.#openUrls.map((check) => `waiting for the answer to ${requestOf(check)}`)
    if (now >= this.#hold.until) return ['waiting for the last answers']
    return [`must stay so for ${duration(this.#hold.until - now)} more`, ...this.#latestValues]
  }

  /**
   * The moments at which time alone changes something.
   * @param isUnavailable whether a watch is unavailable: then the end of the hold waits
   */
  deadlines(now: number, isUnavailable: boolean): readonly Deadline[] {
    if (this.#hold === undefined) {
      const { stallTimeoutMs } = this.#settings
      const stallAt = (this.#urlsSince ?? Infinity) + stallTimeoutMs
      return stallTimeoutMs > 0 && this.#openUrls.length > 0 ? [{ at: stallAt, ends: 'gate' }] : []
    }
    const { until } = this.#hold
    if (isUnavailable) return []
    if (!this.#isHoldJudged) return [{ at: until, ends: 'hold' }]
    return now < until + lastAnswerMs ? [{ at: until + lastAnswerMs, ends: 'hold' }] : []
  }

  /** Updates what is asked. Called after each event and deadline. */
  update(now: number): void {
    if (this.#hold === undefined) this.#updateUrls(now)
    const next = [
      ...this.#checks.requests.flatMap((check) => this.#questionsOf(check, now)),
      ...(this.#hold === undefined ? [] : this.#checks.metrics.flatMap((metric) => this.#metricQuestion(metric))),
    ]
    if (!isDeepStrictEqual(next, this.#questions)) this.#questions = next.length === 0 ? noQuestions : next
  }

  /** URLs are asked once everything is ready; if it is no longer, they must answer again. */
  #updateUrls(now: number): void {
    const urls = this.#checks.requests.filter(({ reference, during }) => reference === undefined && !during)
    if (this.#areAllReady) {
      this.#urlsSince ??= now
      return
    }
    this.#urlsSince = undefined
    for (const { index } of urls) this.#answers.delete(keyOf(index, ''))
  }

  /** The URLs that have not answered. */
  get #openUrls(): readonly RequestCheck[] {
    if (this.#urlsSince === undefined) return []
    return this.#checks.requests.filter(
      (check) => check.reference === undefined && !check.during && (this.answers(check, '')?.right ?? 0) < check.times,
    )
  }

  #questionsOf(check: RequestCheck, now: number): readonly Question[] {
    if (check.during) return this.#duringQuestion(check)
    const ask = (uid: string, pod?: AskedPod): Question[] => {
      const at = this.#dueAt(check, uid, now)
      return at === undefined ? [] : [{ type: 'request', check: check.index, ...(pod && { pod }), at }]
    }
    if (check.reference === undefined) {
      const isAsked = this.isHolding || this.#openUrls.includes(check)
      return isAsked ? ask('') : []
    }
    return this.#concernedBy(check)
      .flatMap(({ state }) => (state.type === 'ended' ? [] : (state.assessment?.asks ?? [])))
      .flatMap((each) => (each.check === check.index ? each.asked.flatMap((pod) => ask(pod.uid, pod)) : []))
  }

  /** When a pod is asked next: at once, then at an interval, and a last time at the end of the hold. */
  #dueAt({ index }: RequestCheck, uid: string, now: number): number | undefined {
    const key = keyOf(index, uid)
    const since = this.#askedSince.get(key) ?? now
    this.#askedSince.set(key, since)
    const last = this.#answers.get(key)?.lastAt
    const at = last === undefined ? since : last + requestIntervalMs
    if (this.#hold === undefined) return at
    const { until } = this.#hold
    return (last ?? since) >= until ? undefined : Math.min(at, until)
  }

  /** The pod that is asked while the gate runs: the one that was asked longest ago, until it has answered. */
  #duringQuestion(check: RequestCheck): readonly Question[] {
    const { index } = check
    const { startedAt } = this.#settings
    const during: During = this.#during.get(index) ?? { count: noneAsked, dueAt: startedAt, askedAt: new Map() }
    if (check.reference === undefined) return [{ type: 'request', check: index, at: during.dueAt }]
    const asked = during.asked ?? this.#podToAsk(check, during)
    this.#during.set(index, { ...during, asked })
    return asked === undefined ? [] : [{ type: 'request', check: index, pod: asked, at: during.dueAt }]
  }

  #podToAsk(check: RequestCheck, { askedAt }: During): AskedPod | undefined {
    const place = this.#places[check.index]
    const { all, store } = this.#parts()
    if (place?.type !== 'selecting' && place?.type !== 'target') return undefined
    const { name, serving } = place.type === 'selecting' ? place.via : { name: place.target, serving: place.serving }
    const object = store.get(name)
    const port = object && choosePort(check, object, serving)
    if (object === undefined || port === undefined || typeof port === 'string') return undefined
    const gated = place.type === 'target' ? this.#podsOf(all[place.index]) : []
    const pods = readyPodsBehind(object, serving, gated, (kind, namespace) => store.list(kind, namespace))
    const asked = pods.flatMap((pod) => askedPod(pod, port) ?? [])
    return asked.toSorted((a, b) => (askedAt.get(a.name) ?? 0) - (askedAt.get(b.name) ?? 0))[0]
  }

  #metricQuestion(metric: MetricCheck): readonly Question[] {
    if (this.#hold === undefined) return []
    const { since, until } = this.#hold
    const last = this.#valuesOf(metric).at(-1)?.at
    if (last !== undefined && last >= until) return []
    const at = last === undefined ? since : Math.min(last + metricIntervalMs, until)
    return [{ type: 'metric', check: metric.index, query: this.#queryOf(metric), at }]
  }

  #valuesOf({ index }: MetricCheck): readonly Timed<MetricValue>[] {
    const { since = Infinity } = this.#hold ?? {}
    return (this.#values.get(index) ?? []).filter(({ at }) => at >= since)
  }

  /** The pods of the gated revision that a target makes or selects. */
  #podsOf(gated: GatedTarget | undefined): readonly Pod[] {
    if (gated === undefined) return []
    const { rule, state } = gated
    const object = objectOf(state)
    if (object === undefined || state.assessment === undefined || rule.serving === undefined) return []
    return podsOfTarget(state.assessment, object, rule.serving, this.#parts().contextOf(gated))
  }

  #queryOf({ query }: MetricCheck): string {
    const { all } = this.#parts()
    const pods = new Map(
      all.flatMap((gated) => this.#podsOf(gated)).map(({ metadata }) => [metadata.uid, metadata.name]),
    )
    const old = [...this.#podNames].flatMap(([uid, name]) => (pods.has(uid) ? [] : [name]))
    const values: Readonly<Record<string, readonly string[]>> = {
      pods: [...pods.values()],
      old_pods: old,
      namespace: all.flatMap(({ target }) => target.namespace ?? []),
    }
    return query.replace(/\$(pods|old_pods|namespace)\b/g, (_, name: string) => {
      const distinct = [...new Set(values[name] ?? [])].toSorted()
      return distinct.length === 0 ? '-' : distinct.join('|')
    })
  }

  /** The gate's timeout has passed: what the URLs have not answered ends it. */
  expire(now: number): void {
    const [check] = this.#openUrls
    if (this.#hold === undefined && check !== undefined) this.#endByUrl('timed-out', check, now)
  }

  #endByUrl(outcome: 'failed' | 'stalled' | 'timed-out', check: RequestCheck, now: number): void {
    const own = { subject: urlSubject, count: 1, firstSeenAt: this.#urlsSince ?? now, proven: false } as const
    const answers = this.answers(check, '')
    const problem =
      (check.during ? duringProblem(check, urlSubject, this.during(check)) : undefined) ??
      (answers && answersProblem(check, answers, urlSubject, { declared: '' })) ??
      ({ ...own, reason: 'no-answer', detail: missingDetail(check) } satisfies Problem)
    const { reason } = problem
    if (this.#urlEnd.urlVerdict !== undefined) return
    const message = joinSubject(urlSubject.name, sentenceOf(problem))
    this.#urlEnd = { urlVerdict: { outcome, reason, message }, urlProblem: problem }
  }

  /** How the checks end the gate: a mistake in them, a URL, or a metric; undefined while they do not. */
  verdict(now: number): Verdict | undefined {
    return this.#mistakes() ?? this.#urlFailure(now) ?? this.#metricVerdict(now)
  }

  #urlFailure(now: number): Verdict | undefined {
    for (const check of this.#checks.requests.filter(({ reference }) => reference === undefined)) {
      const answers = this.answers(check, '')
      const problem = check.during
        ? duringProblem(check, urlSubject, this.during(check))
        : answers && answersProblem(check, answers, urlSubject, { declared: '' })
      if (problem?.proven) this.#endByUrl('failed', check, now)
    }
    const { stallTimeoutMs } = this.#settings
    const [open] = this.#hold === undefined ? this.#openUrls : []
    if (open !== undefined && stallTimeoutMs > 0 && now >= (this.#urlsSince ?? now) + stallTimeoutMs)
      this.#endByUrl('stalled', open, now)
    return this.#urlEnd.urlVerdict
  }

  /** A metric that broke its limit often enough or at the end, else one without a value at the end. */
  #metricVerdict(now: number): Verdict | undefined {
    if (this.#hold === undefined) return undefined
    const isEnd = this.#isOver(this.#hold, now)
    const judged = this.#checks.metrics.map((metric) =>
      judgeMetric(metric, this.#valuesOf(metric), this.#hold?.until ?? now, isEnd),
    )
    return judged.find((verdict) => verdict?.outcome === 'failed') ?? judged.find((verdict) => verdict !== undefined)
  }

  /** The mistakes that only the cluster shows: a reference that reaches no gated pod, a port that does not exist, several series. */
  #mistakes(): Verdict | undefined {
    const mistakes: Mistake[] = []
    for (const check of this.#checks.requests) {
      const examined = this.#checked.has(check) ? 'right' : this.#examine(check)
      if (examined === 'right') this.#checked.add(check)
      else if (examined !== 'unknown' && 'outcome' in examined) return examined
      else if (examined !== 'unknown') mistakes.push({ input: 'requests', line: check.line, ...examined })
    }
    for (const { index, line, name } of this.#checks.metrics) {
      const several = this.#values.get(index)?.find(({ series = [] }) => series.length > 1)
      if (several !== undefined)
        mistakes.push({ input: 'metrics', line, message: severalSeries(name, several.series ?? []) })
    }
    if (mistakes.length === 0) return undefined
    return { outcome: 'misconfigured', reason: 'input-invalid', message: describeMistakes(mistakes).join('\n') }
  }

  /** Whether a line reaches the pods of a target at a port that exists, as far as the objects are known. */
  #examine(check: RequestCheck): Examined {
    const place = this.#places[check.index]
    if (place === undefined || place.type === 'url') return 'right'
    const { all } = this.#parts()
    // What an operator deploys may be what the line names.
    const mayDeploy = all.some(({ rule, state }) => rule.arrival !== undefined && state.type !== 'ready')
    if (place.type === 'mistake') return mayDeploy ? 'unknown' : { message: place.message }
    return place.type === 'target' ? this.#examineTarget(check, place) : this.#examineSelecting(check, place, mayDeploy)
  }

  #examineTarget(check: RequestCheck, { index, serving }: Place & { readonly type: 'target' }): Examined {
    const gated = this.#parts().all[index]
    const object = gated && objectOf(gated.state)
    if (gated === undefined || object === undefined) return 'unknown'
    const port = examinePort(check, object, serving)
    const pods = port === 'right' ? this.#examinePods(gated) : port
    if (pods !== 'none') return pods
    if (serving.presentPods === undefined) return 'right'
    return { message: `${gated.name} is ready, and no pod is behind it. ${whatServes}` }
  }

  #examineSelecting(check: RequestCheck, place: Place & { readonly type: 'selecting' }, mayDeploy: boolean): Examined {
    const { all, store } = this.#parts()
    const { name, serving } = place.via
    const service = store.get(name)
    if (service === undefined) return this.#examineMissing(place)
    const targets = all.filter(({ index }) => place.indexes.includes(index))
    const selected = targets.filter((gated) => {
      const object = objectOf(gated.state)
      const own = gated.rule.serving
      return (
        object !== undefined && own !== undefined && selectsPodsOf(serving, service, own, object, this.#podsOf(gated))
      )
    })
    const port = selected.length === 0 ? 'right' : examinePort(check, service, serving)
    if (port !== 'right') return port
    const isKnown = (gated: GatedTarget) =>
      gated.state.type === 'ended' ||
      (gated.rule.serving?.presentPods === undefined ? objectOf(gated.state) !== undefined : isReadyItself(gated))
    if (selected.length === 0 && (mayDeploy || !targets.every(isKnown))) return 'unknown'
    const pods = (selected.length === 0 ? targets : selected).map((gated) => this.#examinePods(gated))
    const denied = pods.find((each) => typeof each === 'object')
    if (selected.length === 0)
      return denied ?? { message: `${shortName(service)} selects no pod of what is gated: ${namesOf(targets)}.` }
    if (pods.includes('right')) return 'right'
    return pods.includes('unknown') ? 'unknown' : (denied ?? 'right')
  }

  /** Whether a target has pods or wants none. If access to what leads to them is refused, they are not known. */
  #examinePods(gated: GatedTarget): 'right' | 'none' | 'unknown' | Verdict {
    const { store, contextOf } = this.#parts()
    const object = objectOf(gated.state)
    if (object === undefined) return 'unknown'
    if (this.#podsOf(gated).length > 0 || gated.rule.serving?.isEmpty(object, contextOf(gated))) return 'right'
    if (!isReadyItself(gated)) return 'unknown'
    const denied = requestsOf(gated)
      .map((request) => store.refusal(request))
      .find((refusal) => refusal !== undefined && deniesAccess(refusal))
    if (denied === undefined) return 'none'
    const { kind = '', message } = denied
    const name = `${pluralOf(kind)} behind ${gated.name}`
    return deniedVerdict('misconfigured', { name, wasReadable: false, message })
  }

  /** An object that is not gated, such as a Service, and that does not exist or cannot be read. */
  #examineMissing({ via: { name }, indexes }: Place & { readonly type: 'selecting' }): Examined {
    const { all, store } = this.#parts()
    const short = displayName(name)
    const refusal = store.refusal(name)
    if (refusal !== undefined && deniesAccess(refusal))
      return deniedVerdict('misconfigured', { name: short, wasReadable: false, message: refusal.message })
    if (store.listState(name) !== 'complete') return 'unknown'
    const gated = all.filter(({ index }) => indexes.includes(index))
    return { message: `There is no ${short} in namespace ${name.namespace}. Gated are ${namesOf(gated)}.` }
  }
}

type Examined = 'right' | 'unknown' | Verdict | { readonly message: string }

const whatServes = 'Name a Service, or a resource that runs pods.'

function examinePort(check: RequestCheck, object: KubeObject, serving: Serving): Examined {
  const port = choosePort(check, object, serving)
  return typeof port === 'string' ? { message: `${shortName(object)}: ${port}` } : 'right'
}

/** Whether a target waits for nothing but answers: all its pods are known. */
function isReadyItself({ state }: GatedTarget): boolean {
  return state.assessment?.asks !== undefined
}

function namesOf(gated: readonly GatedTarget[]): string {
  return gated.map(({ name }) => name).join(', ')
}

/** The state of a line with `--during`. */
interface During {
  readonly count: DuringCount
  /** When the next pod is asked, and when each pod was asked last, by name. */
  readonly dueAt: number
  readonly askedAt: ReadonlyMap<string, number>
  /** The pod that is asked: until it has answered, also if it ends meanwhile, because such requests are lost. */
  readonly asked?: AskedPod | undefined
}

const noneAsked: DuringCount = { asked: 0, errors: 0 }

function afterAnswer(before: During | undefined, check: RequestCheck, event: Timed<Answer>, startedAt: number): During {
  const { count = noneAsked, dueAt = startedAt, askedAt = new Map<string, number>() } = before ?? {}
  const isError = !isRight(check, event)
  return {
    count: {
      asked: count.asked + 1,
      errors: count.errors + Number(isError),
      firstErrorAt: count.firstErrorAt ?? (isError ? event.at : undefined),
      lastError: isError ? event : count.lastError,
    },
    dueAt: Math.max(dueAt + duringIntervalMs, event.at),
    askedAt: new Map([...askedAt, [event.pod ?? '', event.at]]),
  }
}

/** The subject of requests to URLs, which belong to no target. */
const urlSubject = { group: '', kind: '', name: 'the URL' } as const

function keyOf(index: number, uid: string): string {
  return `${index} ${uid}`
}

function placeOf(
  reference: CheckReference,
  targets: readonly Target[],
  servingOf: (target: Target) => Serving | undefined,
): Place {
  const name = { ...reference, apiVersion: reference.apiVersion ?? '' }
  const index = targets.findIndex((target) => nameKey(target) === nameKey(name))
  const target = targets[index]
  if (target !== undefined) {
    const serving = servingOf(target)
    if (serving !== undefined) return { type: 'target', index, target, serving }
    const message =
      ruleOf(target).serving === undefined
        ? `A ${target.kind} serves no requests. ${whatServes}`
        : `${displayName(target)} is judged by --for or health-checks, so its pods are not watched.`
    return { type: 'mistake', message }
  }
  const { serving } = ruleOf(name)
  const others = targets.flatMap((each, position) => {
    const isBehind = each.namespace === name.namespace && servingOf(each)?.podMetadata !== undefined
    return isBehind ? [position] : []
  })
  if (serving !== undefined && serving.podMetadata === undefined && others.length > 0)
    return { type: 'selecting', via: { name, serving }, indexes: others }
  const where = name.namespace === undefined ? '' : ` in namespace ${name.namespace}`
  const gated = targets.map(displayName).join(', ') || 'nothing'
  const remedy =
    serving === undefined ? '' : ' Name it in resources too, or a Service that selects the pods of what is gated.'
  return { type: 'mistake', message: `${displayName(name)}${where} is not gated. Gated is ${gated}.${remedy}` }
}

function severalSeries(name: string, series: readonly string[]): string {
  const shown = series.slice(0, maxNamedSeries).join(', ')
  const more = series.length - maxNamedSeries
  return `${name} has ${series.length} series, and needs one: ${shown}${more > 0 ? ` and ${more} more` : ''}. Join them, for example with sum(…) or max(…).`
}

const comparisons = {
  '<': (value: number, limit: number) => value < limit,
  '<=': (value: number, limit: number) => value <= limit,
  '>': (value: number, limit: number) => value > limit,
  '>=': (value: number, limit: number) => value >= limit,
}

/**
 * How a metric ends the gate: it broke its limit several times in a row, where a missing value breaks no row, or at the end.
 * Without a value at the end, nothing is known about it.
 */
function judgeMetric(
  { name, operator, threshold }: MetricCheck,
  values: readonly Timed<MetricValue>[],
  until: number,
  isEnd: boolean,
): Verdict | undefined {
  const limit = `${operator} ${threshold}`
  const numbers = values.flatMap(({ value }) => (value !== undefined && Number.isFinite(value) ? [value] : []))
  const count = numbers.length - 1 - numbers.findLastIndex((value) => comparisons[operator](value, threshold))
  const last = values.at(-1)
  const final = last !== undefined && last.at >= until ? last : undefined
  const hasFinalValue = Number.isFinite(final?.value)
  const value = numbers.at(-1)
  if (value !== undefined && (count >= metricProven || (isEnd && hasFinalValue && count > 0)))
    return verdictOf('failed', 'metric-exceeded', { name, limit, value, count })
  if (!isEnd || hasFinalValue) return undefined
  return verdictOf('unknown', 'metric-unknown', { name, limit, error: final?.error ?? 'no answer' })
}
