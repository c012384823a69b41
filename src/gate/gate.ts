import { isAccessDenied } from '../cluster/failures.ts'
import type { Failure, FeedEvent, TimedAnswer, WatchRequest } from '../cluster/feed.ts'
import { explainWrongType } from '../cluster/object-schema.ts'
import { type KubeObject, nameOf, type Pod, shortName } from '../cluster/objects.ts'
import { isSupersetOf, Store, WatchedRequests } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import { type Question, requestText } from '../lifecycle/assessment.ts'
import { isLateEvidence, isOnlyEvidence } from '../lifecycle/evidence-snapshot.ts'
import { missingContainerProblem } from '../lifecycle/expected-images.ts'
import { podsOf, presentPods } from '../lifecycle/pods.ts'
import { earliestMoment } from '../lifecycle/proof.ts'
import type { Rule } from '../lifecycle/rule.ts'
import { pluralOf } from '../plan/kinds.ts'
import { type Target, watchRequestOf } from '../plan/target.ts'
import {
  failFastMs,
  heartbeatMs,
  lastAnswerMs,
  outageAtTimeoutMs,
  requestIntervalMs,
  unknownMs,
} from '../thresholds.ts'
import type { AfterReady } from './after-ready.ts'
import { ApiHealth } from './api-health.ts'
import { Assessor } from './assessor.ts'
import { timeoutVerdict } from './deadlines.ts'
import { createVerdict, deniedVerdict, type TargetOutcome, type Verdict, worstVerdict } from './outcome.ts'
import { type JudgedRunRecord, openConclusion, undefinedIfEmpty } from './run-record.ts'
import { type GateSettings, gateTimeoutMs } from './settings.ts'
import { describeOpenTarget, targetRecord } from './target-record.ts'
import { type GatedTarget, isAbsenceKnown, isTargetReady, objectOf } from './target-state.ts'
import { Targets } from './targets.ts'
import { type Entry, heartbeatText, problemVerdict } from './timeline-entries.ts'

/* The gate, which turns events and deadlines into a verdict. */

/**
 * The state machine of a gate: events and deadlines decide when and how the gate ends. The only clock is the time of
 * the present event or deadline, so a replay has the same times as its live run. Nothing changes after the verdict.
 */
export class Gate {
  readonly store: Store
  readonly #settings: GateSettings
  readonly #afterReady: AfterReady | undefined
  readonly #targets: Targets
  readonly #assessor: Assessor
  readonly #watched = new WatchedRequests()
  readonly #health: ApiHealth
  readonly #entries: Entry[] = []
  readonly #onEntry: (entry: Entry) => void
  /** The next moment at which the gate acts without an event. */
  #nextAt = Infinity
  #now: number
  /** When a pod last answered a request of `http-checks`, or an outage last began or ended. */
  #lastContactAt = -Infinity
  /** Since when every target is ready; undefined if a target is not ready. */
  #readySince: number | undefined
  #end: { readonly verdict: Verdict; readonly at: number } | undefined

  readonly #log = (entry: Omit<Entry, 'at'>): void => {
    const timed: Entry = { at: this.#now, ...entry }
    this.#entries.push(timed)
    this.#onEntry(timed)
  }

  /**
   * @param willSync whether the first list of a request is expected; see `Store`
   * @param onEntry called with each new timeline entry
   * @param afterReady the checks after all targets are ready, if there are any
   */
  constructor(
    targets: readonly Target[],
    settings: GateSettings,
    willSync: (request: WatchRequest) => boolean,
    onEntry: (entry: Entry) => void = () => {},
    afterReady?: AfterReady,
  ) {
    this.#settings = { ...settings, timeoutMs: gateTimeoutMs(settings, targets) }
    this.#now = settings.startedAt
    this.#onEntry = onEntry
    this.store = new Store(willSync, this.#watched)
    this.#health = new ApiHealth(this.#watched, this.store)
    this.#afterReady = afterReady
    const parts = { settings: this.#settings, store: this.store, health: this.#health, watched: this.#watched }
    this.#targets = new Targets(parts)
    const extendRule = (rule: Rule, target: Target) => afterReady?.extendRule(rule, target) ?? rule
    const clocks = { now: () => this.#now, timeoutAt: () => this.#timeoutAt }
    this.#assessor = new Assessor(this.#targets, { ...parts, ...clocks, log: this.#log, extendRule })
    this.#assessor.add(targets)
    // A gate without targets is ready.
    this.#assessAndConclude(new Set())
  }

  /** How the gate ended; undefined while it is open. */
  get verdict(): Verdict | undefined {
    return this.#end?.verdict
  }

  /** Whether the gate needs no more events: it has its verdict or, in a single check, all first lists. */
  get isOver(): boolean {
    const { isSingleCheck, singleCheckEndsAt = Infinity, continuesAfterVerdict } = this.#settings
    if (!isSingleCheck) return this.#end !== undefined && !continuesAfterVerdict
    // Every watch has its first list or was refused.
    const hasAllLists = this.requests.every((request) => this.store.listState(request) !== 'pending')
    return hasAllLists || this.#now >= singleCheckEndsAt
  }

  /** The watches that the gate needs now. New objects may need more watches. The same array while nothing changes. */
  get requests(): readonly WatchRequest[] {
    return this.#targets.watches
  }

  /** The requests of `http-checks` to send to pods now or later. They may change after each event and deadline. */
  get questions(): readonly Question[] {
    return this.#end === undefined
      ? this.#targets.unendedTargets.flatMap(({ state }) => state.assessment?.questions ?? [])
      : []
  }

  /** Whether an object is a target whose change has not arrived yet, so that its present state does not count. */
  isAwaitingChange(object: KubeObject): boolean {
    const gated = this.#targets.findByName(nameOf(object))
    return gated.some(({ state }) => state.type === 'awaiting-change')
  }

  /** The targets with their states: first those at the gate's start in the order of the input, then deployed objects. */
  get targets(): readonly Readonly<GatedTarget>[] {
    return this.#targets.all
  }

  /** The pods of the gated revision of the target with this index. For a Pod, the Pod itself. */
  gatedPods(index: number): readonly Pod[] {
    const { state } = this.#targets.all[index] ?? {}
    const pods = state && podsOf(objectOf(state), state.assessment?.pods)
    return pods === undefined ? [] : presentPods(pods, (uid) => this.store.getByUid(uid))
  }

  /** The moment of the next deadline. Undefined after the end of the gate. */
  nextDeadline(): number | undefined {
    return this.#end === undefined ? Math.max(this.#nextAt, this.#now) : undefined
  }

  /** The watches that must answer or fail before the gate handles the deadlines at this moment. */
  requestsToConfirm(at: number): readonly WatchRequest[] {
    const ending = at >= this.#timeoutAt ? this.#targets.unendedTargets : this.#targetsEndingAt(at)
    const needed = ending.flatMap((gated) => [...gated.requests.needed, ...gated.requests.explaining])
    const silent = at >= this.#confirmAt ? this.#silentWatches : []
    return this.requests.filter(
      (present) => silent.includes(present) || needed.some((request) => isSupersetOf(present, request)),
    )
  }

  /**
   * Handles events of the feed, sorted by time. Deadlines before an event are handled first, deadlines at the same time
   * after the event. Consecutive events may share one assessment; see `mayAssessTogether`.
   */
  handle(events: readonly FeedEvent[]): void {
    const concerned = new Set<GatedTarget>()
    let before: FeedEvent | undefined
    for (const event of events) {
      if (before !== undefined && !mayAssessTogether(before, event)) this.#assessAndConclude(concerned)
      for (let next = this.nextDeadline(); next !== undefined && next < event.at; next = this.nextDeadline())
        this.#handleDeadlines(next)
      for (const gated of this.#handleEvent(event)) concerned.add(gated)
      before = event
    }
    this.#assessAndConclude(concerned)
  }

  /** Updates the store and the API health after an event. Returns the targets to assess again. */
  #handleEvent(event: FeedEvent): readonly GatedTarget[] {
    const isEvidenceOnly = isOnlyEvidence(event, (reference) => this.#targets.findByName(reference).length > 0)
    if (this.#end !== undefined) {
      // After the verdict, only evidence is stored.
      if (isEvidenceOnly || isLateEvidence(event)) this.store.apply(event)
      return []
    }
    this.#now = Math.max(this.#now, event.at)
    if (isEvidenceOnly) {
      this.store.apply(event)
      return []
    }
    const { isHealthy } = this.#health
    // A failure affects the targets that need the failed watch, so the present watches must be known.
    if (event.type === 'ERROR') this.#watched.add(this.requests)
    for (const text of this.#health.observe(event)) this.#log({ kind: 'note', text })
    if (event.type === 'CANCEL') this.#finish(createVerdict('cancelled', 'cancelled', {}))
    if (isAccessDenied(event)) this.#handleRefusal(event)
    const concerned = this.#applyEvent(event)
    const hasTurned = isHealthy !== this.#health.isHealthy
    if (hasTurned) this.#lastContactAt = this.#now
    return event.type === 'ERROR' || event.type === 'ALIVE' || hasTurned ? this.#targets.all : concerned
  }

  /** Assesses these targets, ends the gate if possible, and sets the next deadlines. Empties the set. */
  #assessAndConclude(concerned: Set<GatedTarget>): void {
    if (this.#end !== undefined) return
    this.#assessor.assess([...concerned])
    concerned.clear()
    this.#endIfDecided()
    this.#updateDeadlines()
  }

  /** Applies an event to the store. Returns the targets to assess again. */
  #applyEvent(event: FeedEvent): readonly GatedTarget[] {
    if (event.type === 'ANSWER') return this.#applyAnswer(event)
    const changes = this.#isValid(event) ? this.store.apply(event) : []
    if (event.type === 'SYNCED') return this.#assessor.targetsAwaitingList(event)
    return [...new Set(changes.flatMap((change) => [...this.#assessor.handleChange(change)]))]
  }

  /**
   * Stores the answer of a pod to `http-checks`. Targets that are due now are assessed first, because they may begin to
   * send requests. @returns the targets that have sent requests to the pod
   */
  #applyAnswer(event: TimedAnswer): readonly GatedTarget[] {
    const { reference } = this.#afterReady?.httpChecks[event.check] ?? {}
    if (reference === undefined) return []
    this.#assessDueTargets(event.at)
    const isAsked = ({ state }: GatedTarget) =>
      state.type !== 'ended' && state.assessment?.answering?.has(event.pod) === true
    const asked = this.#targets.findByName(reference).filter(isAsked)
    if (asked.length === 0) return []
    this.#lastContactAt = event.at
    this.store.apply({ namespace: reference.namespace, ...event })
    return asked
  }

  /** Whether the object in an event has no fields of wrong types. An invalid object ends its target or is ignored. */
  #isValid(event: FeedEvent): boolean {
    const mistake = 'object' in event ? explainWrongType(event.object) : undefined
    if (!('object' in event) || mistake === undefined) return true
    const invalid = this.#targets.findByName(nameOf(event.object))
    for (const gated of invalid) this.#assessor.applyEvent(gated, { type: 'unjudged', message: mistake })
    const text = `${shortName(event.object)} is ignored: ${mistake}`
    if (invalid.length === 0 && !this.#entries.some((entry) => entry.text === text)) this.#log({ kind: 'note', text })
    return false
  }

  /**
   * Handles all deadlines until `now` inclusive, each at its own moment. Stops when every target is ready, because the
   * watches must answer before the gate ends.
   */
  advance(now: number): void {
    for (let next = this.nextDeadline(); next !== undefined && next <= now; next = this.nextDeadline()) {
      this.#handleDeadlines(next)
      if (this.#confirmAt < Infinity) return
    }
  }

  /** Creates the record of the gate so far. While the gate is open, the record ends at `now`. */
  record(now = this.#now): JudgedRunRecord {
    const { startedAt, context, serverVersion, timeoutMs, stallTimeoutMs, annotations, healthCheckKinds } =
      this.#settings
    const { outcome, reason, message, denied, unreadable }: Verdict<TargetOutcome> = this.verdict ?? openConclusion
    const causes = this.#targets.findCauses()
    return {
      startedAt,
      finishedAt: this.#end?.at ?? now,
      outcome,
      reason,
      message,
      cluster: { context, version: serverVersion },
      timeoutMs,
      stallTimeoutMs,
      targets: this.#targets.all.map((gated) => targetRecord(gated, this.#targets.holding, causes.get(gated))),
      entries: this.#entries,
      ...this.#afterReady?.createRecords(this.store, this.#targets.holding),
      annotations: undefinedIfEmpty(annotations),
      healthCheckKinds: undefinedIfEmpty(healthCheckKinds),
      basis: { denied, unreadable },
    }
  }

  /** The targets whose deadline has passed at this moment. */
  #targetsEndingAt(at: number): readonly GatedTarget[] {
    return this.#targets.unendedTargets.filter((gated) => (gated.end?.at ?? Infinity) <= at)
  }

  /** Assesses the targets whose `recheckAt` has passed. */
  #assessDueTargets(at: number): void {
    const due = this.#targets.unendedTargets.filter(({ recheckAt = Infinity }) => recheckAt <= at)
    for (const gated of due) gated.recheckAt = undefined
    this.#assessor.assess(due)
  }

  #handleDeadlines(at: number): void {
    this.#now = at
    this.#assessDueTargets(at)
    this.#updateDeadlines()
    const isTimeout = at >= this.#timeoutAt
    const isConfirmed = at >= this.#confirmAt
    const ending = isTimeout ? this.#targets.openTargets : this.#targetsEndingAt(at)
    const unknown = this.#unknownVerdict(isTimeout) ?? this.#unlistedVerdict(ending)
    if (unknown !== undefined) {
      this.#finish(unknown)
      return
    }
    for (const gated of ending)
      this.#assessor.runForTarget(gated, () => {
        const { end } = gated
        const isOwn = end !== undefined && end.at <= at
        const verdict = isOwn ? end.verdict() : timeoutVerdict(gated, this.#settings.timeoutMs)
        this.#assessor.applyEvent(gated, { type: 'end', verdict })
      })
    this.#endIfDecided(isConfirmed)
    if (this.#end === undefined && at >= this.#heartbeatAt) {
      const causes = this.#targets.findCauses()
      const open = this.#targets.openTargets.map((gated) => ({
        name: gated.name,
        description: describeOpenTarget(gated, causes.get(gated)),
      }))
      const isHolding = open.length === 0 && this.#holdEndsAt < Infinity
      const hold = isHolding ? [`must stay so for ${duration(this.#holdEndsAt - at)} more`] : []
      this.#log({ kind: 'heartbeat', text: heartbeatText(open, [...hold, ...this.#health.describeOutages(at)]) })
    }
    this.#updateDeadlines()
  }

  /** Sets the deadlines of the changed targets, and the next moment at which the gate acts. */
  #updateDeadlines(): void {
    this.#assessor.updateDeadlines()
    const ofTargets = this.#targets.unendedTargets.flatMap(({ end, recheckAt }) => [end?.at, recheckAt])
    this.#nextAt = earliestMoment([...this.#gateDeadlines, ...ofTargets]) ?? Infinity
  }

  get #gateDeadlines(): readonly number[] {
    const { givesNoVerdict, singleCheckEndsAt = 0 } = this.#settings
    if (givesNoVerdict) return singleCheckEndsAt > this.#now ? [singleCheckEndsAt] : []
    return [
      this.#timeoutAt,
      this.#confirmAt,
      this.#unavailableAt,
      this.#failFastAt,
      this.#heartbeatAt,
      this.#holdEndsAt,
      this.#unansweredAt,
    ]
  }

  /**
   * When the timeout of the gate passes. An outage delays the timeout until `outageAtTimeoutMs` or half of the timeout
   * after the last success, but at most by `unknownMs`, because watches may fail and recover in turn.
   */
  get #timeoutAt(): number {
    const { startedAt, timeoutMs, isTimeoutSetByUser, awaitRevisionMs, givesNoVerdict } = this.#settings
    if (timeoutMs === 0 || givesNoVerdict || this.#targets.holding !== undefined) return Infinity
    const isFromStart = isTimeoutSetByUser || awaitRevisionMs === 0
    const since = (isFromStart ? undefined : this.#targets.revisionsArrivedAt) ?? startedAt
    const lastSuccessAt = this.#health.isHealthy ? undefined : this.#health.lastSuccessAt(this.#targets.neededRequests)
    const waitUntil = lastSuccessAt === undefined ? 0 : lastSuccessAt + Math.min(outageAtTimeoutMs, timeoutMs / 2)
    const timeoutAt = since + timeoutMs
    return Math.max(timeoutAt, Math.min(waitUntil, timeoutAt + unknownMs))
  }

  /** When an outage will end the gate; Infinity without an outage. */
  get #unavailableAt(): number {
    return this.#health.isHealthy ? Infinity : (this.#health.endsGateAt(this.#targets.neededRequests) ?? Infinity)
  }

  /** When the hold ends; Infinity before and after the hold. */
  get #holdEndsAt(): number {
    const { until = -Infinity } = this.#targets.holding ?? {}
    return this.#now < until ? until : Infinity
  }

  /**
   * When the gate ends because no pod can be reached: after the hold, all answers to `http-checks` are missing for too
   * long. Infinity during an outage of a watch, which explains the missing answers.
   */
  get #unansweredAt(): number {
    const { until = Infinity } = this.#targets.holding ?? {}
    if (this.#now < until || this.#hasUnavailableWatch || this.questions.length === 0) return Infinity
    const waitsMs = this.questions.map(({ check }) => check.timeoutMs + requestIntervalMs)
    return Math.max(until, this.#lastContactAt) + Math.max(lastAnswerMs, ...waitsMs)
  }

  get #failFastAt(): number {
    const { all, unendedTargets } = this.#targets
    if (!this.#settings.failFast || unendedTargets.length === all.length) return Infinity
    const failedAt = this.#targets.firstFailureAt
    if (failedAt === undefined) return Infinity
    return failedAt + (this.#targets.mayStillFail ? failFastMs : 0)
  }

  get #heartbeatAt(): number {
    return (this.#entries.at(-1)?.at ?? this.#settings.startedAt) + heartbeatMs
  }

  /** The verdict `unknown` if an outage ends the gate now. */
  #unknownVerdict(isTimeout = false): Verdict | undefined {
    if (this.#settings.givesNoVerdict) return undefined
    if (this.#now >= this.#unansweredAt) return this.#unansweredVerdict
    if (this.#health.isHealthy) return undefined
    return this.#health.outageVerdict(this.#targets.neededRequests, this.#now, isTimeout)
  }

  get #unansweredVerdict(): Verdict {
    const { until = this.#now } = this.#targets.holding ?? {}
    const requests = new Set(this.questions.map(({ check }) => requestText(check)))
    const waited = duration(this.#now - Math.max(until, this.#lastContactAt))
    const outage = `after the hold, no request reached a pod for ${waited}: ${[...requests].join(', ')}`
    return createVerdict('unknown', 'api-unreachable', { outage })
  }

  /** The verdict `unknown` if a deadline ends a target whose kind was never listed completely. */
  #unlistedVerdict(ending: readonly GatedTarget[]): Verdict | undefined {
    const unlisted = ending.find((gated) => !isAbsenceKnown(gated) && this.store.get(gated.target) === undefined)
    if (unlisted === undefined) return undefined
    const outage = `it is not known whether ${unlisted.name} exists: its kind was never listed in full`
    return createVerdict('unknown', 'api-unreachable', { outage })
  }

  /**
   * Handles denied access (403). The gate ends if it may not send requests to pods, or may not list a target for the
   * first time. Access to a listed target may return within `withdrawnMs`. Denied access to other kinds is logged.
   */
  #handleRefusal(event: FeedEvent & Failure): void {
    const { message } = event
    // A refusal without a kind is about requests to pods.
    if (event.kind === undefined) {
      this.#finish(deniedVerdict('unknown', { name: '', isAsked: true, wasReadable: true, message }))
      return
    }
    if (this.#targets.splitNamespaceWatch(event)) return
    const gated = this.#targets.all.find(
      ({ target }) => event.kind !== undefined && this.#watched.isReportAbout(event, watchRequestOf(target)),
    )
    if (gated === undefined) {
      const refusal = this.#targets.isOptional(event) ? undefined : this.#health.recordRefusal(event)
      if (refusal !== undefined) this.#log({ kind: 'note', text: refusal })
      return
    }
    const request = watchRequestOf(gated.target)
    const { name, index } = gated
    if (this.#health.isWithdrawn(event)) return
    if (this.store.listState(request) !== 'complete') {
      // If a deployed object cannot be read, the report of its operator counts.
      if (gated.target.deployedBy === undefined)
        this.#finish(deniedVerdict('misconfigured', { name, wasReadable: false, message: event.message }))
      return
    }
    const text = `cannot be read any more: ${event.message}`
    this.#health.recordWithdrawal(event, event.at, name)
    this.#log({ kind: 'note', text, target: index })
  }

  /**
   * Ends the gate if no target is open, a target has failed in the hold, or `failFastMs` have passed since the first
   * failure. Also if an outage lasts too long, or a line of `http-checks` is a mistake.
   * @param isConfirmed whether the watches have answered since every target became ready
   */
  #endIfDecided(isConfirmed = false): void {
    if (this.#end !== undefined || this.#settings.givesNoVerdict) return
    const unknown = this.#unknownVerdict()
    const { isDecided, all, unendedTargets } = this.#targets
    if (!isDecided) this.#readySince = undefined
    if (isDecided) this.#failMissingContainers()
    if (this.#end !== undefined) return
    const hasBroken = this.#targets.holding !== undefined && unendedTargets.length < all.length
    const mistaken = hasBroken ? undefined : this.#afterReady?.mistakeVerdict(this.#targets, this.store)
    if (unknown !== undefined) this.#finish(unknown)
    else if (mistaken !== undefined) this.#finish(mistaken)
    else if (isDecided || hasBroken || this.#now >= this.#failFastAt)
      this.#finishIfConfirmed(this.#verdictOfTargets, isConfirmed)
  }

  /**
   * The verdict of the target with the gravest outcome. If several targets have this outcome, the target that ended
   * first decides. Targets that only wait for another target do not count.
   */
  get #verdictOfTargets(): Verdict {
    const { all } = this.#targets
    const causes = this.#targets.findCauses()
    const ended = all.flatMap((gated) =>
      gated.state.type === 'ended' && !causes.has(gated)
        ? [{ ...gated.state.verdict, name: gated.name, at: gated.state.at }]
        : [],
    )
    const conclusion = worstVerdict(ended.toSorted((a, b) => a.at - b.at))
    if (conclusion !== undefined) return conclusion
    const [first, ...others] = all
    const ready = others.length === 0 ? `${first?.name} is ready` : `all ${all.length} targets are ready`
    return { outcome: 'ready', reason: '', message: first === undefined ? 'nothing to wait for' : ready }
  }

  /**
   * Fails the first target if all targets are ready, but no pod has a container with a name in `expect-images`. If
   * access to needed objects is denied, the gate ends as `unknown` instead.
   */
  #failMissingContainers(): void {
    const { all } = this.#targets
    const [first] = all
    if (first?.state.assessment === undefined || !all.every(({ state }) => isTargetReady(state))) return
    const pods = all.map(({ state }) => podsOf(objectOf(state), state.assessment?.pods))
    const problem = missingContainerProblem(first.target, pods, this.#settings.expectImages, this.#now)
    if (problem === undefined) return
    const denied = this.#targets.firstDenial(all)
    if (denied !== undefined) {
      const { kind = '', message } = denied
      this.#finish(deniedVerdict('unknown', { name: pluralOf(kind), wasReadable: false, message }))
      return
    }
    const verdict = { ...problemVerdict('failed', problem, undefined, first.target), problem }
    this.#assessor.applyEvent(first, { type: 'end', verdict })
  }

  /**
   * Ends the gate with a verdict. The verdict `ready` waits until every needed watch is healthy and has just answered:
   * a target may have failed during an outage, or while a connection was dead.
   * @param isConfirmed whether the watches have answered since every target became ready
   */
  #finishIfConfirmed(verdict: Verdict, isConfirmed: boolean): void {
    if (verdict.outcome === 'ready') {
      const { holding } = this.#targets
      // The last requests of the hold must be answered too.
      if (holding !== undefined && (this.#now < holding.until || this.questions.length > 0)) {
        this.#readySince = undefined
        return
      }
      this.#readySince ??= this.#now
      if (this.#hasUnavailableWatch || (!isConfirmed && this.#silentWatches.length > 0)) return
      const { holdMs = 0 } = this.#afterReady ?? {}
      if (holding === undefined && holdMs > 0) {
        this.#beginHold(holdMs)
        return
      }
      const message = `stayed ready for ${duration(holdMs)}`
      if (holdMs > 0)
        for (const gated of this.#targets.all) this.#assessor.applyEvent(gated, { type: 'hold-ended', message })
    }
    this.#finish(verdict)
  }

  #beginHold(holdMs: number): void {
    this.#readySince = undefined
    this.#targets.holding = { since: this.#now, until: this.#now + holdMs }
    this.#log({ kind: 'note', text: `everything is ready: it must stay so for ${duration(holdMs)}` })
    // During the hold, pods that have answered get requests again.
    this.#assessor.assess(this.#targets.all)
  }

  /** When the watches must confirm that every target is ready. Infinity if one is not ready or during an outage. */
  get #confirmAt(): number {
    return this.#readySince === undefined || this.#hasUnavailableWatch ? Infinity : this.#readySince
  }

  get #hasUnavailableWatch(): boolean {
    return this.#health.isUnavailable(this.#targets.neededRequests)
  }

  /** The needed watches that last answered too long before every target became ready. */
  get #silentWatches(): readonly WatchRequest[] {
    return this.#health.silentWatches(this.#readySince ?? this.#now, this.#targets.neededRequests, this.requests)
  }

  #finish(verdict: Verdict): void {
    if (this.#settings.givesNoVerdict) return
    this.#end = { verdict, at: this.#now }
  }
}

/**
 * Whether two consecutive events share one assessment of the targets. They must have the same time, and both must be
 * deletions or both reports of objects: a deleted pod may explain a failure that must be assessed first.
 */
function mayAssessTogether(before: FeedEvent, event: FeedEvent): boolean {
  if (before.at !== event.at) return false
  const reportTypes: readonly string[] = ['ADDED', 'MODIFIED', 'SYNCED', 'DISCOVERY']
  return [['DELETED'], reportTypes].some((types) => types.includes(before.type) && types.includes(event.type))
}
