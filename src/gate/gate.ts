import { lastOccurrence } from '../cluster/event-order.ts'
import { type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { EventObject, KubeObject, Pod } from '../cluster/objects.ts'
import { OwnershipIndex } from '../cluster/ownership-index.ts'
import { type Change, covers, Store, WatchedRequests } from '../cluster/store.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import { containsEvidence, isEvidence, takeSnapshot } from '../lifecycle/evidence-snapshot.ts'
import { createGateTime, type GateTime } from '../lifecycle/gate-time.ts'
import { explainedProblems } from '../lifecycle/platform/pvc.ts'
import { isSinceStart } from '../lifecycle/proof.ts'
import { nameOf } from '../lifecycle/rule.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import { targetRule } from '../lifecycle/rules.ts'
import { storeContext } from '../lifecycle/store-context.ts'
import { gatedPods, removalMessage } from '../lifecycle/workloads/gated-pods.ts'
import { PodHistories } from '../lifecycle/workloads/pod-histories.ts'
import { revisionsOf } from '../lifecycle/workloads/revision.ts'
import { missingContainers } from '../lifecycle/workloads/running-images.ts'
import { fullName, nameKey, nameTargets, type Target, targetWatch } from '../plan/target.ts'
import { messageOf } from '../reasons/reasons.ts'
import { ApiHealth, unseenAtTimeoutMs } from './api-health.ts'
import {
  type Deadline,
  endsTargets,
  hasStallHold,
  sortDeadlines,
  targetDeadlines,
  timeoutVerdict,
} from './deadlines.ts'
import { OtherTargets } from './other-targets.ts'
import { decide, failFastMs, firstBadEnd } from './outcome.ts'
import { type GateSettings, gateTimeoutMs } from './settings.ts'
import {
  describeState,
  firstState,
  type GatedTarget,
  isOpen,
  objectOf,
  requestsOf,
  step,
  type TargetEvent,
  type TargetState,
  targetRecord,
  wasDeleted,
} from './target-state.ts'
import type { Entry, TargetRecord, Timeline, Verdict } from './timeline.ts'
import { heartbeatMs, heartbeatText } from './timeline-entries.ts'
import { consolidate, isConsolidated } from './watch-requests.ts'

/** Events are watched for every kind: controllers report there what no status contains. */
const eventKind = { apiVersion: 'v1', kind: 'Event' } as const

/** The next moment at which the gate must look again although nothing is reported. */
export interface Clock {
  readonly at: number
  /** It may end a target: the watches of `requestsToConfirm` must answer before (DESIGN §2, "Blind is not stalled"). */
  readonly endsTarget: boolean
}

/** A target with its present state. */
interface Gated extends GatedTarget {
  state: TargetState
}

/** The pods of a workload's gated revision, as its last assessment contains them. */
type PublishedPods = Pick<Assessment, 'pods' | 'keptPods'>

/**
 * The state machine: takes the lines of the feed and the passing of time, and decides when the gate ends and how. It has no
 * clock of its own; now is always the moment of the event or of the deadline that passes, so that a live run and the replay
 * of its recording agree to the millisecond. After its verdict nothing changes any more.
 */
export class Gate {
  readonly store: Store
  readonly #settings: GateSettings
  readonly #targets: readonly Gated[]
  readonly #byName: ReadonlyMap<string, readonly Gated[]>
  /** The targets whose rules read objects of a kind that they do not own. */
  readonly #byOtherKind: ReadonlyMap<string, readonly Gated[]>
  readonly #ownership: OwnershipIndex<Gated>
  readonly #watched = new WatchedRequests()
  readonly #health: ApiHealth
  /** Watches of a whole namespace that were refused: narrow ones take their place. */
  readonly #refusedWide = new Set<string>()
  readonly #pods: PodHistories
  readonly #others = new OtherTargets()
  readonly #gateTime: GateTime
  readonly #entries: Entry[] = []
  readonly #onEntry: (entry: Entry) => void
  #now: number
  #end: { readonly verdict: Verdict; readonly at: number } | undefined
  #published: ReadonlyMap<Gated, PublishedPods> = new Map()
  #requests: readonly WatchRequest[] | undefined
  /** All deadlines, the gate's own under `gate`, each list in order. */
  readonly #deadlines = new Map<Gated | 'gate', readonly Deadline<Gated>[]>()
  /** The targets whose deadlines may have moved. */
  readonly #moved = new Set<Gated>()

  /**
   * `willSync` returns whether the first list of a request is to be expected (see Store); `onEntry` is called with each
   * timeline entry as it happens.
   */
  constructor(
    targets: readonly Target[],
    settings: GateSettings,
    willSync: (request: WatchRequest) => boolean,
    onEntry: (entry: Entry) => void = () => {},
  ) {
    this.#settings = { ...settings, timeoutMs: gateTimeoutMs(settings, targets) }
    this.#now = settings.startedAt
    this.#onEntry = onEntry
    this.store = new Store(willSync, this.#watched)
    this.#ownership = new OwnershipIndex(this.store)
    this.#health = new ApiHealth(this.#watched)
    this.#gateTime = createGateTime(settings)
    this.#pods = new PodHistories(this.store, this.#gateTime)
    const names = nameTargets(targets).map(fullName)
    this.#targets = targets.map((target, index) => this.#gate(target, index, names[index] ?? ''))
    this.#byName = Map.groupBy(this.#targets, ({ target }) => nameKey(target))
    const otherKinds = new Set(this.#targets.flatMap(({ rule }) => rule.concernedBy ?? []))
    this.#byOtherKind = new Map(
      [...otherKinds].map((kind) => [kind, this.#targets.filter(({ rule }) => rule.concernedBy?.includes(kind))]),
    )
    for (const gated of this.#targets) {
      this.#moved.add(gated)
      if (gated.target.selector === undefined) continue
      const message = 'matches nothing'
      this.#apply(gated, {
        type: 'end',
        verdict: { outcome: 'failed', reason: 'not-found', message, logText: message },
      })
    }
    this.#conclude()
    this.#updateDeadlines()
  }

  #gate(target: Target, index: number, name: string): Gated {
    const settings = this.#settings
    const rule = targetRule(target, settings.healthChecks, settings.expectImages)
    return {
      target,
      index,
      name,
      rule,
      settings,
      gateTime: this.#gateTime,
      takeSnapshot: (object, problems) => takeSnapshot(target, object, problems, this.store),
      state: firstState({ rule, settings }),
    }
  }

  /** How the gate ended; undefined while it is open. */
  get verdict(): Verdict | undefined {
    return this.#end?.verdict
  }

  get isOver(): boolean {
    return this.#end !== undefined
  }

  /**
   * The watches that judging the targets takes, as far as they are known: more become known as objects are found. The same
   * array as long as nothing changes.
   */
  get requests(): readonly WatchRequest[] {
    if (this.#requests === undefined) {
      const found = this.#targets.filter(({ target }) => target.selector === undefined)
      const namespaces = new Set(found.map(({ target }) => target.namespace ?? 'default'))
      const events = [...namespaces].map((namespace) => ({ ...eventKind, namespace }))
      this.#requests = consolidate([...found.flatMap(requestsOfTarget), ...events], (wide) =>
        this.#refusedWide.has(requestKey(wide)),
      )
      this.#watched.add(this.#requests)
    }
    return this.#requests
  }

  /** Whether an object is a target whose change has not arrived yet: its present state decides nothing. */
  awaits(object: KubeObject): boolean {
    const gated = this.#byName.get(nameKey({ ...object, ...object.metadata })) ?? []
    return gated.some(({ state }) => state.type === 'awaiting-change')
  }

  /** The target at this place as it is now; of the gate as a whole, that is its timeline. */
  record(index: number): TargetRecord | undefined {
    const gated = this.#targets[index]
    return gated === undefined ? undefined : targetRecord(gated.state, gated.target)
  }

  /** The pods of the gated revision of the target at this place, as far as they are known; of a bare pod, itself. */
  gatedPods(index: number): readonly Pod[] {
    const { state } = this.#targets[index] ?? {}
    return state === undefined ? [] : gatedPods(objectOf(state), state.assessment, (uid) => this.store.withUid(uid))
  }

  /** When to look again; undefined when the gate has ended. */
  nextClock(): Clock | undefined {
    if (this.#end !== undefined) return undefined
    let at = Infinity
    let endsTarget = false
    for (const [first] of this.#deadlines.values()) {
      if (first === undefined || first.at > at) continue
      endsTarget = endsTargets(first) || (first.at === at && endsTarget)
      at = first.at
    }
    return { at: Math.max(at, this.#now), endsTarget }
  }

  /** The watches that must answer, or report that they cannot, before time passes this moment. */
  requestsToConfirm(at: number): readonly WatchRequest[] {
    const needed = this.#due(at).flatMap((deadline) => {
      if (deadline.ends === 'all-targets') return this.#neededRequests()
      return deadline.ends === 'target' ? requestsOfTarget(deadline.gated) : []
    })
    return this.requests.filter((asked) => needed.some((request) => covers(asked, request)))
  }

  /** Takes one line of the feed. Deadlines before it pass first; at the same moment, the event comes first. */
  handle(event: FeedEvent): void {
    for (let clock = this.nextClock(); clock !== undefined && clock.at < event.at; clock = this.nextClock())
      this.#pass(clock.at)
    const isRead = isEvidence(event, (reference) => this.#byName.has(nameKey(reference)))
    if (isRead || this.#end !== undefined) {
      if (isRead || containsEvidence(event)) this.store.apply(event)
      if (this.#end === undefined) this.#now = Math.max(this.#now, event.at)
      return
    }
    this.#now = Math.max(this.#now, event.at)
    const { isGood } = this.#health
    const { progressing } = this.#others
    // What is watched by now decides which targets a report about a watch concerns.
    if (isFailure(event)) this.#watched.add(this.requests)
    for (const text of this.#health.observe(event)) this.#log({ kind: 'note', text })
    if (event.type === 'CANCEL')
      this.#finish({ outcome: 'cancelled', reason: 'cancelled', message: 'the job was cancelled' })
    if (event.type === 'REFUSED' && event.what === 'access') this.#takeRefusal(event)
    const concerned = new Set<Gated>()
    for (const change of this.store.apply(event)) for (const gated of this.#takeChange(change)) concerned.add(gated)
    const concernsAll = event.type === 'SYNCED' || isFailure(event) || event.type === 'ALIVE'
    this.#assessAll(concernsAll || isGood !== this.#health.isGood ? this.#targets : [...concerned], progressing)
    this.#conclude()
    this.#updateDeadlines()
  }

  /** Lets time pass: every deadline up to and including `now` passes, each at its own moment. */
  advance(now: number): void {
    for (let clock = this.nextClock(); clock !== undefined && clock.at <= now; clock = this.nextClock())
      this.#pass(clock.at)
  }

  /** All that happened so far; `now` is its end while the gate is open. Hints and evidence are added elsewhere. */
  timeline(now = this.#now): Timeline {
    const { startedAt, context, serverVersion, timeoutMs, stallTimeoutMs } = this.#settings
    return {
      startedAt,
      finishedAt: this.#end?.at ?? now,
      context,
      serverVersion,
      timeoutMs,
      stallTimeoutMs,
      verdict: this.#end?.verdict,
      targets: this.#targets.map(({ state, target }) => targetRecord(state, target)),
      entries: this.#entries,
    }
  }

  /** The deadlines up to and including `at`. */
  #due(at: number): readonly Deadline<Gated>[] {
    return [...this.#deadlines.values()].flatMap((deadlines) => deadlines.filter((deadline) => deadline.at <= at))
  }

  /** Carries out the deadlines that are due. */
  #pass(at: number): void {
    this.#now = at
    const rechecked = this.#due(at).flatMap((each) => (each.ends === 'nothing' ? (each.gated ?? []) : []))
    this.#assessAll(rechecked, this.#others.progressing)
    this.#updateDeadlines()
    const due = this.#due(at)
    const isTimeout = due.some(({ ends }) => ends === 'all-targets')
    const ends = due.filter((deadline) => deadline.ends === 'target')
    const unknown =
      this.#unknownVerdict(isTimeout) ?? this.#unseenVerdict(isTimeout ? this.#open : ends.map(({ gated }) => gated))
    if (unknown !== undefined) {
      this.#finish(unknown)
      return
    }
    for (const { gated, verdict } of ends) this.#apply(gated, { type: 'end', verdict: verdict() })
    for (const gated of isTimeout ? this.#open : [])
      this.#apply(gated, { type: 'end', verdict: timeoutVerdict(gated.state, gated, this.#settings.timeoutMs) })
    this.#conclude()
    if (this.#end === undefined && at >= this.#heartbeatAt) {
      const open = this.#open.map(({ name, state }) => ({ name, description: describeState(state) }))
      this.#log({ kind: 'heartbeat', text: heartbeatText(open, this.#health.describe(at)) })
    }
    this.#updateDeadlines()
  }

  get #open(): readonly Gated[] {
    return this.#targets.filter(({ state }) => isOpen(state))
  }

  /** Sets the deadlines of the targets that may have moved, and those of the gate. */
  #updateDeadlines(): void {
    for (const gated of this.#moved) {
      const isUnanswered = this.#isUnanswered(gated)
      if (isOpen(gated.state)) {
        const isHeld = isUnanswered || hasStallHold(gated.state, gated, () => this.#awaitsOther(gated))
        gated.state = step(gated.state, { type: 'held', isHeld }, this.#now, gated).state
      }
      this.#deadlines.set(gated, targetDeadlines(gated.state, gated, this.#now, isUnanswered))
    }
    this.#moved.clear()
    const ofGate: readonly Deadline<Gated>[] = [
      { at: this.#timeoutAt, ends: 'all-targets' },
      { at: this.#unavailableAt, ends: 'gate' },
      { at: this.#failFastAt, ends: 'gate' },
      { at: this.#heartbeatAt, ends: 'nothing' },
    ]
    this.#deadlines.set('gate', sortDeadlines(ofGate.filter(({ at }) => at < Infinity)))
  }

  /** The gate's timeout. It waits for an answer, and for 30 s since the last one at most. */
  get #timeoutAt(): number {
    const { startedAt, timeoutMs } = this.#settings
    if (timeoutMs === 0) return Infinity
    const lastSuccessAt = this.#health.isGood ? undefined : this.#health.lastSuccessAt(this.#neededRequests())
    const waitUntil = lastSuccessAt === undefined ? 0 : lastSuccessAt + unseenAtTimeoutMs
    return Math.max(startedAt + timeoutMs, waitUntil)
  }

  /** When the lack of an answer ends the gate. */
  get #unavailableAt(): number {
    return this.#health.isGood ? Infinity : (this.#health.dueAt(this.#neededRequests()) ?? Infinity)
  }

  get #failFastAt(): number {
    if (!this.#settings.failFast) return Infinity
    return (firstBadEnd(this.#targets, this.#settings) ?? Infinity) + failFastMs
  }

  get #heartbeatAt(): number {
    return (this.#entries.at(-1)?.at ?? this.#settings.startedAt) + heartbeatMs
  }

  /** The verdict for the lack of an answer, if its time has come. */
  #unknownVerdict(isTimeout = false): Verdict | undefined {
    if (this.#health.isGood) return undefined
    const needed = this.#neededRequests()
    const isLost = isTimeout && this.#health.isUnavailable(needed)
    return isLost ? this.#health.lost(needed, this.#now) : this.#health.verdict(needed, this.#now)
  }

  /** The verdict where deadlines would end a target of which no list shows whether it exists. */
  #unseenVerdict(ending: readonly Gated[]): Verdict | undefined {
    const unseen = ending.find((gated) => !this.#isAbsenceKnown(gated) && this.store.get(gated.target) === undefined)
    if (unseen === undefined) return undefined
    const message = `whether ${unseen.name} exists is not known: its kind was never listed in full`
    return { outcome: 'unknown', reason: 'api-unreachable', message }
  }

  /** The watches that the targets need which have not ended. */
  #neededRequests(): readonly WatchRequest[] {
    return this.#targets.flatMap((gated) => (gated.state.type === 'ended' ? [] : requestsOfTarget(gated)))
  }

  /** A watch that the target needs is unavailable, or its first list is still on its way. */
  #isUnanswered(gated: Gated): boolean {
    return this.#health.isUnavailable(requestsOfTarget(gated)) || this.#isPending(gated)
  }

  /** Whether the first list of something that it takes to judge a target is still on its way. */
  #isPending(gated: Gated): boolean {
    return requestsOfTarget(gated).some((request) => this.store.listState(request) === 'pending')
  }

  /** Whether a target without an object is known to be absent: its deletion was seen, or its kind was listed in full. */
  #isAbsenceKnown({ state, target }: Gated): boolean {
    return wasDeleted(state) || this.store.listState(targetWatch(target)) === 'complete'
  }

  /** Takes a change of an object. Returns the targets that it concerns. */
  #takeChange(change: Change): ReadonlySet<Gated> {
    const { before, after } = change
    const object = (after ?? before) as KubeObject
    this.#ownership.add(object)
    const concerned = new Set(this.#ownership.targetsOf(object))
    this.#pods.observe(change, this.#now)
    if (object.kind === eventKind.kind) {
      for (const gated of this.#explainedBy(object as EventObject)) concerned.add(gated)
      return concerned
    }
    for (const gated of this.#byOtherKind.get(object.kind) ?? []) if (isConcerned(gated, change)) concerned.add(gated)
    for (const gated of this.#byName.get(nameKey(nameOf(object))) ?? []) {
      if (after === undefined) {
        if (objectOf(gated.state)?.metadata.uid === object.metadata.uid) this.#assessLastState(gated, object)
        this.#apply(gated, { type: 'deleted' })
      } else {
        const isFirstSight = this.store.listState(targetWatch(gated.target)) !== 'complete'
        this.#apply(gated, { type: 'found', object: after, isFirstSight })
        if (objectOf(gated.state) === after) this.#ownership.assign(after.metadata.uid, gated)
      }
      concerned.add(gated)
    }
    if (before !== undefined) this.#logRemoval(before, after, concerned)
    return concerned
  }

  /** The targets that an event may explain although it is not about their objects, as far as those are known by uid. */
  #explainedBy(event: EventObject): readonly Gated[] {
    const { apiVersion = '', kind = '', namespace, name = '' } = event.involvedObject ?? {}
    const named = this.#byName.get(nameKey({ apiVersion, kind, namespace, name })) ?? []
    const isExplained = explainedProblems(event)
    return [
      ...named.filter(({ state }) => objectOf(state) === undefined),
      ...this.#targets.filter(
        ({ target, state }) =>
          isExplained !== undefined &&
          event.metadata.namespace === target.namespace &&
          state.assessment?.problems.some(isExplained),
      ),
    ]
  }

  /** Logs why a pod of a gated revision goes, which its controller replaces. */
  #logRemoval(before: KubeObject, after: KubeObject | undefined, concerned: ReadonlySet<Gated>): void {
    const { uid = '' } = before.metadata
    const gated = [...concerned].filter(({ state }) => state.type !== 'ended' && state.assessment?.pods?.has(uid))
    const text = gated.length === 0 ? undefined : removalMessage(before as Pod, after as Pod | undefined)
    for (const { index } of text === undefined ? [] : gated)
      this.#log({ kind: 'note', text: text ?? '', target: index })
  }

  /** Access to a kind is refused. Without access to a target the gate ends; other kinds are done without, and logged. */
  #takeRefusal(event: FeedEvent & { type: 'REFUSED' }): void {
    if (isConsolidated(event, this.requests, this.#targets.flatMap(requestsOfTarget))) {
      this.#refusedWide.add(requestKey(event))
      this.#requests = undefined
      return
    }
    const gated = this.#targets.find(
      ({ target }) => event.kind !== undefined && this.#watched.concerns(event, targetWatch(target)),
    )
    if (gated === undefined) {
      const text = this.#health.refuse(event)
      if (text !== undefined) this.#log({ kind: 'note', text })
      return
    }
    const request = targetWatch(gated.target)
    const { name, index } = gated
    if (this.#health.isWithdrawn(request)) return
    if (this.store.listState(request) !== 'complete') {
      const message = `${name} may not be read: ${event.message}`
      this.#finish({ outcome: 'misconfigured', reason: 'forbidden', message })
      return
    }
    const text = `may no longer be read: ${event.message}`
    this.#health.withdraw({ request, name, at: event.at, message: `${name} ${text}` })
    this.#log({ kind: 'note', text, target: index })
  }

  /**
   * Assesses targets; all of them once more when that changes whether others progress.
   * @param before `progressing` of the other targets before the event
   */
  #assessAll(targets: readonly Gated[], before: number): void {
    this.#assessInOrder(targets)
    if (this.#others.progressing !== before) this.#assessInOrder(this.#targets)
  }

  /** Assesses workloads first: those that depend on their pods (`readsGatedPods`) read what they have published then. */
  #assessInOrder(targets: readonly Gated[]): void {
    for (const gated of targets) if (!gated.rule.readsGatedPods) this.#assess(gated)
    if (!this.#targets.some(({ rule }) => rule.readsGatedPods)) return
    const published = new Map(this.#targets.map((gated) => [gated, gated.state.assessment ?? {}]))
    const isChanged = targets.some((gated) => !isSamePods(published.get(gated), this.#published.get(gated)))
    this.#published = published
    for (const gated of isChanged ? this.#targets : targets) if (gated.rule.readsGatedPods) this.#assess(gated)
  }

  #assess(gated: Gated): void {
    this.#moved.add(gated)
    if (gated.state.type === 'ended' || gated.state.assessment?.completed || this.#end !== undefined) return
    const object = objectOf(gated.state)
    if (object === undefined) {
      this.#assessAbsent(gated)
    } else if (this.#isPending(gated)) {
      this.#apply(gated, { type: 'list-pending' })
    } else {
      const revisions = revisionsOf(object.metadata.uid, (uid, kind) => this.store.ownedBy(uid, kind))
      this.#apply(gated, { type: 'revisions-listed', revisions })
      this.#assessObject(gated)
    }
  }

  #assessObject(gated: Gated): void {
    const { rule, state } = gated
    const object = objectOf(state)
    if (object === undefined || state.type === 'ended') return
    const assessment = rule.assess(object, this.#context(gated))
    const isUnavailable = this.#health.isUnavailable(requestsOfTarget(gated))
    const awaitsOther = rule.quietWhileAwaiting !== undefined && this.#awaitsOther(gated, assessment)
    this.#apply(gated, { type: 'assessed', assessment, isUnavailable, awaitsOther })
  }

  #assessAbsent(gated: Gated): void {
    if (gated.state.type === 'awaiting-change' || !this.#isAbsenceKnown(gated)) return
    this.#apply(gated, { type: 'absence-known' })
    if (gated.rule.readyWhenAbsent === undefined) this.#assessLastState(gated, gated.state.seen?.gated)
  }

  /**
   * Judges an object that is gone by how it ended, where that is known.
   * @param object as it was seen last; undefined where it never was, so that only events since the gate's start name it
   */
  #assessLastState(gated: Gated, object: KubeObject | undefined): void {
    const { rule, state } = gated
    if (rule.lastState === undefined || state.type === 'ended' || state.assessment?.completed) return
    const last = object ?? this.#subjectOfLastEvent(gated.target)
    const lastState = last && rule.lastState(last, this.store.eventsOf(last))
    if (lastState === undefined) return
    const deletedAt = state.type === 'absent' ? state.absence.since : this.#now
    this.#apply(gated, { type: 'last-state-found', object: lastState })
    this.#assessObject(gated)
    this.#apply(gated, { type: 'last-state-judged', deletedAt })
  }

  /** An object that was never seen, with the uid that the latest event since the gate's start names. */
  #subjectOfLastEvent({ apiVersion, kind, namespace, name }: Target): KubeObject | undefined {
    const latest = this.store.eventsOf({ apiVersion, kind, metadata: { name, namespace } }).at(-1)
    const { uid } = latest?.involvedObject ?? {}
    if (latest === undefined || uid === undefined) return undefined
    const isCurrent = isSinceStart(this.#gateTime.time(lastOccurrence(latest)), this.#settings)
    return isCurrent ? { apiVersion, kind, metadata: { name, namespace, uid } } : undefined
  }

  /** What the rule of a target may know. */
  #context(gated: Gated): RuleContext {
    const { seen } = gated.state
    if (seen === undefined) throw new Error(`${gated.name} is judged before it was seen`)
    let hasUnjudged: boolean | undefined
    return {
      ...storeContext(this.store, this.#pods, this.#gateTime, this.#settings, this.#now),
      history: seen.history,
      ...this.#others.seenFrom(gated.index),
      isOfGatedRevision: (pod) => {
        hasUnjudged ??= this.#hasUnjudgedWorkload(gated)
        return hasUnjudged ? false : this.#isOfGatedRevision(pod)
      },
    }
  }

  /**
   * Whether a gated workload behind a target has not published its pods yet: its revisions are not listed, or its change has
   * not arrived.
   */
  #hasUnjudgedWorkload({ rule, state }: Gated): boolean {
    const object = objectOf(state)
    if (object === undefined || rule.isConcernedBy === undefined) return false
    return this.#targets.some((other) => {
      if (other.state.assessment !== undefined || other.state.type === 'ended') return false
      const workload = rule.concernedBy?.includes(other.target.kind) ? this.store.get(other.target) : undefined
      return (
        workload !== undefined &&
        workload.metadata.namespace === object.metadata.namespace &&
        rule.isConcernedBy?.(object, workload, undefined) === true
      )
    })
  }

  #isOfGatedRevision(pod: Pod): boolean | undefined {
    const uid = pod.metadata.uid ?? ''
    const published = [...this.#ownership.targetsOf(pod)].flatMap((gated) => this.#published.get(gated) ?? [])
    const workloads = published.filter(({ pods }) => pods !== undefined)
    return workloads.length === 0
      ? undefined
      : workloads.some(({ pods, keptPods }) => pods?.has(uid) || keptPods?.has(uid))
  }

  /** Whether a target waits for another one that is open: a Service for the workload behind it. */
  #awaitsOther(gated: Gated, { awaits = [] }: Partial<Assessment> = gated.state.assessment ?? {}): boolean {
    const isOtherOpen = (other: Gated) => other !== gated && isOpen(other.state)
    return awaits.some((awaited) => {
      const object = this.store.get(awaited)
      return (
        this.#byName.get(nameKey(awaited))?.some(isOtherOpen) ||
        (object !== undefined && [...this.#ownership.targetsOf(object)].some(isOtherOpen))
      )
    })
  }

  /** The only place where the state of a target changes, but for its stall hold. */
  #apply(gated: Gated, event: TargetEvent): void {
    const { state: before } = gated
    const { state, entries } = step(before, event, this.#now, gated)
    gated.state = state
    this.#others.update(gated.index, state)
    if (requestsOf(before, gated) !== requestsOf(state, gated)) this.#requests = undefined
    this.#moved.add(gated)
    if ((before.type === 'ready') !== (state.type === 'ready') || state.type === 'ended')
      for (const other of this.#targets) if (other.state.assessment?.awaits !== undefined) this.#moved.add(other)
    for (const entry of entries) this.#log({ ...entry, target: gated.index })
  }

  /** Ends the gate when no target is open, or when the first bad end is long enough ago. */
  #conclude(): void {
    if (this.#end !== undefined) return
    const unknown = this.#unknownVerdict()
    const isDone = this.#targets.every(({ state }) => !isOpen(state))
    this.#failMissingContainers()
    if (unknown !== undefined) this.#finish(unknown)
    else if (isDone || this.#now >= this.#failFastAt) this.#finishBy(decide(this.#targets))
  }

  /** When all is ready, an expected container that no gated pod has fails the first target. */
  #failMissingContainers(): void {
    const [first] = this.#targets
    if (!this.#targets.every(({ state }) => state.type === 'ready')) return
    const ready = this.#targets.map(({ target, state }) => ({
      target,
      object: objectOf(state),
      assessment: state.assessment,
    }))
    const problem = missingContainers(ready, this.#settings.expectImages, (uid) => this.store.withUid(uid), this.#now)
    if (problem === undefined || first?.state.assessment === undefined) return
    const verdict = { outcome: 'failed', reason: problem.reason, message: messageOf(problem) } as const
    this.#apply(first, { type: 'end', verdict, problem })
  }

  /** What is ready may have failed unseen: the gate is ready only while all watches of its targets are healthy. */
  #finishBy(verdict: Verdict): void {
    const isReady = verdict.outcome === 'ready'
    if (!isReady || this.#health.isGood || !this.#health.isUnavailable(this.#neededRequests())) this.#finish(verdict)
  }

  #finish(verdict: Verdict): void {
    this.#end = { verdict, at: this.#now }
  }

  #log(entry: Omit<Entry, 'at'>): void {
    const timed: Entry = { at: this.#now, ...entry }
    this.#entries.push(timed)
    this.#onEntry(timed)
  }
}

function requestsOfTarget(gated: Gated): readonly WatchRequest[] {
  return requestsOf(gated.state, gated)
}

function isSamePods(a: PublishedPods = {}, b: PublishedPods = {}): boolean {
  return isSameSet(a.pods, b.pods) && isSameSet(a.keptPods, b.keptPods)
}

function isSameSet<T>(a: ReadonlySet<T> | undefined, b: ReadonlySet<T> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.size === b.size && [...a].every((item) => b.has(item)))
}

/** Whether an object that the target does not own concerns its lifecycle, or did before it changed. */
function isConcerned({ rule, target, state }: Gated, { before, after }: Change): boolean {
  const object = objectOf(state)
  const { metadata } = (after ?? before) as KubeObject
  if (object === undefined || (metadata.namespace !== undefined && metadata.namespace !== target.namespace))
    return false
  return [before, after].some(
    (other) => other !== undefined && (rule.isConcernedBy?.(object, other, state.assessment) ?? true),
  )
}
