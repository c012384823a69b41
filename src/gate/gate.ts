import { isDeepStrictEqual } from 'node:util'
import { lastOccurrence } from '../cluster/event-order.ts'
import { type Failure, type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { EventObject, KubeObject, Pod } from '../cluster/objects.ts'
import { OwnershipIndex } from '../cluster/ownership-index.ts'
import { AskedRequests, type Change, covers, Store } from '../cluster/store.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import { takeSnapshot } from '../lifecycle/evidence-snapshot.ts'
import { createGateTime, type GateTime } from '../lifecycle/gate-time.ts'
import { mayExplain } from '../lifecycle/platform/pvc.ts'
import { isSinceStart } from '../lifecycle/proof.ts'
import { nameOf } from '../lifecycle/rule.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import { storeContext } from '../lifecycle/store-context.ts'
import { clockWarnings } from '../lifecycle/workloads/clock-warnings.ts'
import { PodHistories } from '../lifecycle/workloads/pod-histories.ts'
import { missingContainers, withExpectedImages } from '../lifecycle/workloads/running-images.ts'
import { pluralOf } from '../plan/kinds.ts'
import { fullName, nameKey, nameTargets, type Target, targetWatch } from '../plan/target.ts'
import { classOf, messageOf, type Problem } from '../reasons/reasons.ts'
import { ApiHealth, unseenAtTimeoutMs } from './api-health.ts'
import { consolidate } from './consolidate.ts'
import { identityMessage } from './identity.ts'
import { Neighbours } from './neighbours.ts'
import { decide, endsGate, failFastMs } from './outcome.ts'
import { type GateSettings, gateTimeoutMs } from './settings.ts'
import { leavingWords, Story, scaleWords, withExistence } from './story.ts'
import type { Entry, ProblemRecord, TargetOutcome, TargetRecord, Timeline, Verdict } from './timeline.ts'
import { deletedMs, describe, type TargetVerdict, Track } from './track.ts'

/** The next moment at which the gate must look again although nothing is reported. */
export interface Clock {
  readonly at: number
  /** It may end a target: the watches of `requestsToConfirm` must answer before (DESIGN §2, "Blind is not stalled"). */
  readonly endsTarget: boolean
}

/**
 * The state machine: takes what the cluster says and the passing of time, and decides when it is over and how. It has no
 * clock of its own; now is always the moment of the event or of the clock that fires, so that a live run and the replay
 * of its recording agree to the millisecond. After its verdict nothing changes any more.
 */
export class Gate {
  readonly store: Store
  readonly #settings: GateSettings
  readonly #tracks: readonly Track[]
  readonly #byName: ReadonlyMap<string, readonly Track[]>
  readonly #ownership: OwnershipIndex<Track>
  readonly #asked = new AskedRequests()
  readonly #health: ApiHealth
  /** Watches of a whole namespace that were refused: narrow ones take their place. */
  readonly #refusedWide = new Set<string>()
  /** Kinds that may not be read, as the log named them. */
  readonly #unreadable = new Map<string, WatchRequest>()
  readonly #pods: PodHistories
  readonly #story: Story
  readonly #neighbours = new Neighbours()
  readonly #gateTime: GateTime
  #now: number
  #over: { readonly verdict: Verdict; readonly at: number } | undefined
  /** When each track is to be looked at again, or ended, by time alone; Infinity when never. */
  readonly #lookAt: number[]
  readonly #endAt: number[]
  #requests: readonly WatchRequest[] | undefined
  #firstBadEnd: number | undefined

  /**
   * `willSync` says whether the first list of a request is to be expected (see Store); `onEntry` hears of everything that
   * happens, as it happens.
   */
  constructor(
    targets: readonly Target[],
    settings: GateSettings,
    willSync: (request: WatchRequest) => boolean,
    onEntry: (entry: Entry) => void = () => {},
  ) {
    this.#settings = { ...settings, timeoutMs: gateTimeoutMs(settings, targets) }
    this.#now = settings.startedAt
    this.#story = new Story(settings.startedAt, onEntry)
    this.store = new Store(willSync, this.#asked)
    this.#ownership = new OwnershipIndex(this.store)
    this.#health = new ApiHealth(this.#asked)
    this.#gateTime = createGateTime(settings)
    this.#pods = new PodHistories(this.store, this.#gateTime)
    const names = nameTargets(targets).map(fullName)
    this.#tracks = targets.map((target, index) => new Track(target, index, names[index] ?? '', settings))
    this.#byName = Map.groupBy(this.#tracks, ({ target }) => nameKey(target))
    this.#lookAt = this.#tracks.map(() => Infinity)
    this.#endAt = this.#tracks.map(() => Infinity)
    for (const track of this.#tracks.filter(({ target }) => target.selector !== undefined)) {
      this.#end(track, {
        outcome: 'failed',
        reason: 'not-found',
        message: 'matches nothing',
        logText: 'matches nothing',
      })
    }
    this.#schedule(this.#tracks)
    this.#conclude()
  }

  /** How it ended; undefined while it is open. */
  get verdict(): Verdict | undefined {
    return this.#over?.verdict
  }

  get isOver(): boolean {
    return this.#over !== undefined
  }

  /**
   * The watches that judging the targets takes, as far as they are known by now: more become known as objects are seen.
   * The same array as long as nothing changes.
   */
  get requests(): readonly WatchRequest[] {
    if (this.#requests === undefined) {
      const tracks = this.#tracks.filter(({ target }) => target.selector === undefined)
      const namespaces = new Set(tracks.map(({ target }) => target.namespace ?? 'default'))
      const events = [...namespaces].map((namespace) => ({ apiVersion: 'v1', kind: 'Event', namespace }))
      this.#requests = consolidate([...tracks.flatMap((track) => track.requests), ...events], (wide) =>
        this.#refusedWide.has(requestKey(wide)),
      )
      this.#asked.add(this.#requests)
    }
    return this.#requests
  }

  /** Whether an object is a target whose change has not arrived yet: what it is like now says nothing. */
  awaits(object: KubeObject): boolean {
    return this.#byName.get(nameKey({ ...object, ...object.metadata }))?.some(({ isAwaiting }) => isAwaiting) ?? false
  }

  /** What became so far of the target at this place; of the gate as a whole, that is its timeline. */
  record(index: number): TargetRecord | undefined {
    const track = this.#tracks[index]
    return track === undefined ? undefined : recordOf(track)
  }

  /** The pods of the gated revision of the target at this place, as far as they are known; of a Pod, itself. */
  gatedPods(index: number): readonly Pod[] {
    const { object, assessment } = this.#tracks[index] ?? {}
    return this.#podsOf(object, assessment)
  }

  /** When to look again; undefined when it is over. */
  nextClock(): Clock | undefined {
    if (this.#over !== undefined) return undefined
    const ending = Math.min(this.#timeoutAt(), least(this.#endAt))
    const looking = Math.min(
      this.#health.isGood ? Infinity : (this.#health.dueAt(this.#neededRequests()) ?? Infinity),
      this.#failFastAt(),
      this.#story.heartbeatAt,
      least(this.#lookAt),
    )
    return { at: Math.max(Math.min(ending, looking), this.#now), endsTarget: ending <= looking }
  }

  /**
   * The watches that must answer, or report that they cannot, before time passes this moment: those of the targets that
   * it may end.
   */
  requestsToConfirm(at: number): readonly WatchRequest[] {
    const isTimeout = this.#timeoutAt() <= at
    const due = this.#tracks.filter(
      (track) => track.ended === undefined && (isTimeout || (this.#endAt[track.index] ?? Infinity) <= at),
    )
    const needed = due.flatMap(({ requests }) => requests)
    return this.requests.filter((asked) => needed.some((request) => covers(asked, request)))
  }

  /** Takes one line of the feed. Clocks that ran out before it fire first; at the same moment, the event comes first. */
  handle(event: FeedEvent): void {
    for (let clock = this.nextClock(); clock !== undefined && clock.at < event.at; clock = this.nextClock())
      this.#fire(clock.at)
    if (this.#over !== undefined) {
      if (this.#isEvidence(event) || (event.type === 'ADDED' && ['Node', 'Namespace'].includes(event.object.kind)))
        this.store.apply(event)
      return
    }
    this.#now = Math.max(this.#now, event.at)
    if (this.#isEvidence(event)) {
      this.store.apply(event)
      return
    }
    const wasGood = this.#health.isGood
    // What is watched by now decides whom a report about a watch concerns.
    if (isFailure(event)) this.#asked.add(this.requests)
    for (const text of this.#health.observe(event)) this.#story.tell(this.#now, 'note', text)
    if (event.type === 'CANCEL')
      this.#finish({ outcome: 'cancelled', reason: 'cancelled', message: 'the job was cancelled' })
    if (event.type === 'REFUSED' && event.what === 'access') this.#refused(event)
    const affected = new Set<Track>()
    for (const change of this.store.apply(event)) for (const track of this.#take(change)) affected.add(track)
    if (event.type === 'SYNCED') this.#restored(event)
    const isAboutAll = event.type === 'SYNCED' || isFailure(event) || event.type === 'ALIVE'
    this.#judge(isAboutAll || wasGood !== this.#health.isGood ? this.#tracks : [...affected])
    this.#conclude()
  }

  /** Lets time pass: every clock up to and including `now` fires, each at its own moment. */
  advance(now: number): void {
    for (let clock = this.nextClock(); clock !== undefined && clock.at <= now; clock = this.nextClock())
      this.#fire(clock.at)
  }

  /** All that happened so far; `now` is its end while the gate is open. Hints and evidence are for others to add. */
  timeline(now = this.#now): Timeline {
    const { startedAt, context, serverVersion, timeoutMs, stallTimeoutMs } = this.#settings
    return {
      startedAt,
      finishedAt: this.#over?.at ?? now,
      context,
      serverVersion,
      timeoutMs,
      stallTimeoutMs,
      ...(this.#over === undefined ? {} : { verdict: this.#over.verdict }),
      targets: this.#tracks.map(recordOf),
      entries: this.#story.entries,
    }
  }

  #fire(at: number): void {
    this.#now = at
    this.#judge(this.#tracks.filter(({ index }) => (this.#lookAt[index] ?? Infinity) <= at))
    const isTimeout = this.#timeoutAt() <= at
    const unknown = this.#unknown(at, isTimeout)
    if (unknown !== undefined) {
      this.#finish(unknown)
      return
    }
    const ending = this.#tracks.filter(({ index }) => (this.#endAt[index] ?? Infinity) <= at)
    const unseen = (isTimeout ? this.#tracks : ending).find((track) => track.isOpen && this.#isUnseen(track))
    if (unseen !== undefined) {
      const message = `whether ${unseen.name} exists is not known: its kind was never listed in full`
      this.#finish({ outcome: 'unknown', reason: 'api-unreachable', message })
      return
    }
    for (const track of ending) {
      const clock = track.nextClock()
      if (clock !== undefined && clock.at <= at) this.#end(track, clock.verdict())
    }
    for (const track of isTimeout ? this.#tracks.filter(({ isOpen }) => isOpen) : [])
      this.#end(track, track.timedOut(this.#settings.timeoutMs))
    this.#conclude()
    if (this.#over === undefined && at >= this.#story.heartbeatAt)
      this.#story.heartbeat(
        at,
        this.#tracks.filter(({ isOpen }) => isOpen),
        this.#health.describe(at),
      )
  }

  /** The verdict for the lack of an answer, if its time has come. */
  #unknown(now: number, isTimeout = false): Verdict | undefined {
    if (this.#health.isGood) return undefined
    const needed = this.#neededRequests()
    const isLost = isTimeout && this.#health.isUnavailable(needed)
    return isLost ? this.#health.lost(needed, now) : this.#health.verdict(needed, now)
  }

  /** The watches that the targets need which have not ended. */
  #neededRequests(): readonly WatchRequest[] {
    return this.#tracks.flatMap((track) => (track.ended === undefined ? track.requests : []))
  }

  /** A watch that the target needs is unavailable, or its first list is still on its way. */
  #isUnanswered(track: Track): boolean {
    return this.#health.isUnavailable(track.requests) || this.#isPending(track)
  }

  /** Neither seen nor known to be absent: no list that would hold it was ever complete. */
  #isUnseen(track: Track): boolean {
    return !this.#isAbsenceKnown(track) && this.store.get(track.target) === undefined
  }

  /** Whether a target that is not there is known to be absent: it was seen to go, or its kind was listed in full. */
  #isAbsenceKnown({ target, wasDeleted }: Track): boolean {
    return wasDeleted || this.store.knowledge(targetWatch(target)) === 'complete'
  }

  /** Takes a change of an object: to its target, to its pod's history, to the people. Says whom it concerns. */
  #take(change: Change): ReadonlySet<Track> {
    const { before, after } = change
    const object = (after ?? before) as KubeObject
    this.#ownership.add(object)
    const concerned = new Set(this.#ownership.targetsOf(object))
    this.#pods.observe(change, this.#now)
    if (object.kind === 'Event') {
      for (const track of this.#absentSubjects(object)) concerned.add(track)
      for (const track of this.#tracks) if (isExplained(track, object as EventObject)) concerned.add(track)
      return concerned
    }
    for (const track of this.#tracks) if (isConcerned(track, change)) concerned.add(track)
    for (const track of this.#byName.get(nameKey(nameOf(object))) ?? []) {
      if (after === undefined && track.object?.metadata.uid === object.metadata.uid) this.#assessEnd(track, object)
      this.#takeTarget(track, after)
      concerned.add(track)
    }
    if (object.kind === 'Pod' && before !== undefined)
      this.#tellLeaving(before as Pod, after as Pod | undefined, concerned)
    return concerned
  }

  /** The targets that an event is about by their name: of one that was never seen, the uid is not known. */
  #absentSubjects(event: EventObject): readonly Track[] {
    const { apiVersion = '', kind = '', namespace, name = '' } = event.involvedObject ?? {}
    const tracks = this.#byName.get(nameKey({ apiVersion, kind, namespace, name })) ?? []
    return tracks.filter(({ object }) => object === undefined)
  }

  #takeTarget(track: Track, found: KubeObject | undefined): void {
    if (track.ended !== undefined) return
    const after = track.isSuccessor(found) ? undefined : found
    // What has done its work stays ready when it is removed, and until another object takes its name.
    const isSame = after === undefined || after.metadata.uid === track.object?.metadata.uid
    if (track.assessment?.completed && isSame) return
    const wasReady = track.isReady
    if (after === undefined) {
      track.lose(this.#now)
      if (track.isAwaiting) return
      if (track.target.waitFor?.type !== 'delete')
        this.#tell(track, 'note', `was deleted; it has ${deletedMs / 1000} s to come back`)
      return
    }
    const isFirstSight = this.store.knowledge(targetWatch(track.target)) !== 'complete'
    if (track.isAwaiting) {
      const hasArrived = track.arrive(after, isFirstSight, this.#now, this.#gateTime)
      if (hasArrived) this.#tell(track, 'note', 'its change has arrived')
      else if (isFirstSight) this.#tell(track, 'note', 'is there already: waiting for its change to arrive')
      if (!hasArrived) return
    }
    const { requests, object: before } = track
    const isReplaced = track.see(after, this.#now, isFirstSight)
    this.#ownership.assign(after.metadata.uid, track)
    if (!isDeepStrictEqual(requests, track.requests)) this.#requests = undefined
    const scaled = isReplaced ? undefined : scaleWords(before, after)
    if (scaled !== undefined) this.#tell(track, 'note', scaled)
    if (!isReplaced) return
    if (wasReady) this.#neighbours.turned(track)
    this.#tell(track, 'note', 'was replaced by a new object of the same name, which is gated from its first milestone')
  }

  /**
   * Ends a target whose template is no longer the gated one, or follows the change. Only the list of its revisions
   * distinguishes a rollback from either.
   */
  #checkIdentity(track: Track, object: KubeObject): void {
    const { gated = object } = track
    const change = track.compare(object, this.store, this.#gateTime)
    if (change.type === 'same') {
      track.gated = object
    } else if (change.type === 'followed') {
      track.follow(object, this.#now)
      this.#tell(track, 'note', 'its template got other annotations, labels or environment variables: followed')
    } else if (change.type === 'superseded' || change.type === 'rolled-back') {
      const message = identityMessage(change, gated, object)
      this.#end(track, { outcome: 'superseded', reason: change.type, message })
    }
  }

  /** Whether the first list of something that it takes to judge a target is still on its way. */
  #isPending(track: Track): boolean {
    return track.requests.some((request) => this.store.knowledge(request) === 'pending')
  }

  /** A pod of the gated revision that goes is replaced by its controller; people see why their pod is gone. */
  #tellLeaving(before: Pod, after: Pod | undefined, concerned: ReadonlySet<Track>): void {
    const words = leavingWords(before, after)
    if (words === undefined) return
    const { uid = '' } = before.metadata
    for (const track of concerned)
      if (track.ended === undefined && track.assessment?.pods?.has(uid)) this.#tell(track, 'note', words)
  }

  /**
   * What is read to explain a target that has ended, a log, a node or a namespace: it decides nothing, and comes after the
   * verdict too.
   */
  #isEvidence(event: FeedEvent): boolean {
    if (event.type === 'LOG') return true
    if (!isFailure(event) || event.name === undefined) return false
    if (event.kind !== 'Node' && event.kind !== 'Namespace') return false
    return !this.#byName.has(nameKey({ apiVersion: 'v1', kind: event.kind, name: event.name }))
  }

  /** Access to a kind is refused. Without access to a target the gate ends; other kinds are done without, and logged. */
  #refused(event: FeedEvent & { type: 'REFUSED' }): void {
    if (this.#isWide(event)) {
      this.#refusedWide.add(requestKey(event))
      this.#requests = undefined
      return
    }
    const [track] = this.#tracks.filter(
      ({ target }) => event.kind !== undefined && this.#asked.concerns(event, targetWatch(target)),
    )
    if (track === undefined) {
      const kinds = pluralOf(event.kind ?? 'object')
      // Several requests may ask for one kind.
      if (this.#unreadable.has(kinds)) return
      this.#unreadable.set(kinds, event as WatchRequest & FeedEvent)
      const words = `${kinds} may not be read: going on with what the controllers say (${event.message})`
      this.#story.tell(this.#now, 'note', words)
      return
    }
    const request = targetWatch(track.target)
    const { name } = track
    if (this.#health.isWithdrawn(request)) return
    if (this.store.knowledge(request) !== 'complete') {
      const message = `${name} may not be read: ${event.message}`
      this.#finish({ outcome: 'misconfigured', reason: 'forbidden', message })
      return
    }
    const message = `${name} may no longer be read: ${event.message}`
    this.#health.withdraw({ request, name, at: event.at, message })
    this.#tell(track, 'note', `may no longer be read: ${event.message}`)
  }

  /** Whether a request is watched in the place of narrower ones. */
  #isWide(refused: Failure): boolean {
    const key = requestKey(refused)
    const requests = this.#tracks.flatMap((track) => track.requests)
    return (
      this.requests.some((request) => requestKey(request) === key) &&
      requests.some((request) => covers(refused, request)) &&
      !requests.some((request) => requestKey(request) === key)
    )
  }

  /** A list that is complete shows that its kind may be read again. */
  #restored(event: FeedEvent & { type: 'SYNCED' }): void {
    const kinds = pluralOf(event.kind)
    const refused = this.#unreadable.get(kinds)
    if (refused === undefined || !this.#asked.concerns(event, refused)) return
    this.#unreadable.delete(kinds)
    this.#story.tell(this.#now, 'note', `${kinds} may be read again`)
  }

  /** Judges targets anew, and all of them once more when that changes how patient the others may be. */
  #judge(tracks: readonly Track[]): void {
    const { stallHold, turns } = this.#neighbours
    this.#assessAll(tracks)
    const changesAll = this.#neighbours.stallHold !== stallHold
    if (changesAll) this.#assessAll(this.#tracks)
    this.#schedule(changesAll || this.#neighbours.turns !== turns ? this.#tracks : tracks)
  }

  /** Sets the clocks of tracks after whatever may have moved them. */
  #schedule(tracks: readonly Track[]): void {
    for (const track of tracks) {
      const isUnanswered = this.#isUnanswered(track)
      if (track.isOpen) track.stall.hold(isUnanswered || track.isPatient(this.#awaitsOther(track)), this.#now)
      const recheckAt = track.ended === undefined ? (track.assessment?.recheckAt ?? 0) : 0
      this.#lookAt[track.index] = recheckAt > this.#now ? recheckAt : Infinity
      this.#endAt[track.index] = isUnanswered ? Infinity : (track.nextClock()?.at ?? Infinity)
    }
  }

  /** Whether it waits for another target that is open: a Service for the workload behind it. */
  #awaitsOther(track: Track): boolean {
    const isOtherOpen = (other: Track) => other !== track && other.isOpen
    return (track.assessment?.awaits ?? []).some((awaited) => {
      const object = this.store.get(awaited)
      return (
        this.#byName.get(nameKey(awaited))?.some(isOtherOpen) ||
        (object !== undefined && [...this.#ownership.targetsOf(object)].some(isOtherOpen))
      )
    })
  }

  /** Assesses workloads first: what depends on their pods (a Service) reads those that they publish. */
  #assessAll(tracks: readonly Track[]): void {
    const [dependents, workloads] = partition(tracks, dependsOnOthers)
    const published = workloads.map(({ assessment }) => assessment?.pods)
    for (const track of workloads) this.#assess(track)
    const isUnchanged = workloads.every(({ assessment }, index) => isSameSet(assessment?.pods, published[index]))
    for (const track of isUnchanged ? dependents : this.#tracks.filter(dependsOnOthers)) this.#assess(track)
  }

  #assess(track: Track): void {
    this.#reassess(track)
    this.#neighbours.assessed(track)
  }

  #reassess(track: Track): void {
    if (track.ended !== undefined || track.assessment?.completed || this.#over !== undefined) return
    if (track.object === undefined) {
      this.#assessAbsent(track)
      return
    }
    if (this.#isPending(track)) {
      const message = 'what its spec selects now is being listed'
      if (track.isReady && track.assessment !== undefined)
        this.#fallBack(track, { ...track.assessment, status: 'progressing', message })
      return
    }
    this.#checkIdentity(track, track.object)
    if (track.ended === undefined) this.#judgeObject(track, track.object)
  }

  #judgeObject(track: Track, object: KubeObject): void {
    const judged = track.rule.assess(object, this.#view(track))
    const pods = () => this.#stayingPodsOf(object, judged)
    const expected = withExpectedImages(judged, pods, this.#settings.expectImages, { now: this.#now })
    const assessment = withExistence(expected, object, this.#gateTime)
    const wasReady = track.isReady
    if (track.assessment === undefined && assessment.status !== 'ready') this.#warnOfClocks(track, object)
    if (wasReady && assessment.status !== 'ready') this.#fallBack(track, assessment)
    track.assessment = assessment
    const { reached, moved } = track.milestones.update(assessment, track.reachedAt(this.#now))
    if (moved) track.stall.restart(this.#now)
    const news = assessment.status === 'ready' ? '' : track.progressWords(reached, this.#now)
    if (news !== '') this.#tell(track, 'progress', news)
    // What is unavailable may show that the problem is over: a pod that runs by now.
    const failure = this.#health.isUnavailable(track.requests) ? undefined : assessment.failure
    const words = (problem: Problem) => describe(problem, track.target)
    // The verdict reports the failure.
    const others = assessment.problems.filter((each) => failure === undefined || words(each) !== words(failure))
    this.#tellProblems(track, others)
    if (failure !== undefined) {
      this.#end(track, { outcome: 'failed', reason: failure.reason, message: track.describeEnd(failure) })
    } else if (assessment.status === 'ready' && !wasReady) {
      this.#becomeReady(track, [assessment.message, ...assessment.notes].join(' · '))
    }
  }

  #assessAbsent(track: Track): void {
    if (track.target.waitFor?.type === 'delete') {
      if (track.isReady || !this.#isAbsenceKnown(track)) return
      track.milestones.finish('does not exist', this.#now)
      this.#becomeReady(track, 'does not exist')
      return
    }
    if (track.isReady) {
      track.readyAt = undefined
      track.stall.restart(this.#now)
      this.#neighbours.turned(track)
    }
    if (!track.isAwaiting && this.#isAbsenceKnown(track)) this.#assessEnd(track, track.gated)
  }

  /**
   * Judges an object that is gone by how it ended, where that is known.
   * @param object as it was seen last; undefined where it never was, so that only events since the gate's start report of it
   */
  #assessEnd(track: Track, object: KubeObject | undefined): void {
    const last = object === undefined ? this.#reported(track.target) : object
    const ended = last && track.rule.lastState?.(last, this.store.eventsOf(last))
    if (ended === undefined || track.ended !== undefined || track.assessment?.completed) return
    const { missingSince = this.#now } = track
    track.see(ended, this.#now, false)
    this.#judgeObject(track, ended)
    if (track.ended === undefined && !track.assessment?.completed) track.lose(missingSince)
  }

  /** What the latest event since the gate's start shows of an object that was never seen: its uid. */
  #reported({ apiVersion, kind, namespace, name }: Target): KubeObject | undefined {
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
    const latest = this.store.eventsOf({ apiVersion, kind, metadata }).at(-1)
    const { uid } = latest?.involvedObject ?? {}
    if (latest === undefined || uid === undefined) return undefined
    const isCurrent = isSinceStart(this.#gateTime.time(lastOccurrence(latest)), this.#settings)
    return isCurrent ? { apiVersion, kind, metadata: { ...metadata, uid } } : undefined
  }

  /** The pods of the revision that is gated; of a pod of the user's own, itself. */
  #podsOf(object: KubeObject | undefined, assessment: Assessment | undefined): readonly Pod[] {
    if (object?.kind === 'Pod') return [object as Pod]
    // Asked of many targets at every event: each is to cost no more than its own pods.
    return [...(assessment?.pods ?? [])].flatMap((uid) => (this.store.withUid(uid) as Pod | undefined) ?? [])
  }

  #stayingPodsOf(object: KubeObject, assessment: Assessment): readonly Pod[] {
    return this.#podsOf(object, assessment).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  }

  /** When all is ready, an expected container that no gated pod has fails the first target. */
  #refuseUnseenImages(): void {
    const [first] = this.#tracks
    if (first === undefined || !this.#tracks.every(({ isReady }) => isReady)) return
    const pods = this.#tracks.flatMap(({ object, assessment }) =>
      object === undefined || assessment === undefined ? [] : this.#stayingPodsOf(object, assessment),
    )
    const { target, assessment } = first
    const subject = `${target.kind.toLowerCase()}/${target.name}`
    const problem = missingContainers(subject, pods, this.#settings.expectImages, { now: this.#now })
    if (problem === undefined || assessment === undefined) return
    const { reason } = problem
    const message = messageOf(problem)
    first.assessment = { ...assessment, status: 'failed', message, failure: problem, problems: [problem] }
    this.#end(first, { outcome: 'failed', reason, message })
  }

  #warnOfClocks(track: Track, object: KubeObject): void {
    const { clocks } = track.target
    const { timeoutMs, stallTimeoutMs, stallIsLiteral } = this.#settings
    const warnings = clockWarnings(object, {
      timeoutMs: clocks.timeoutMs ?? timeoutMs,
      stallTimeoutMs: clocks.stallTimeoutMs ?? stallTimeoutMs,
      stallIsLiteral: stallIsLiteral || clocks.stallTimeoutMs !== undefined,
    })
    for (const warning of warnings) this.#tell(track, 'note', warning)
  }

  #tellProblems(track: Track, problems: readonly Problem[]): void {
    for (const problem of problems) {
      // That nothing is behind it yet is no news while the workload behind it is on its way itself.
      if (problem.reason === 'no-endpoints' && this.#awaitsOther(track)) continue
      if (track.reported.report(problem)) this.#tell(track, 'problem', describe(problem, track.target))
    }
  }

  #view(track: Track): RuleContext {
    if (track.history === undefined) throw new Error(`${track.name} is judged before it was seen`)
    let hasUnjudged: boolean | undefined
    return {
      ...storeContext(this.store, this.#pods, this.#gateTime, this.#settings, this.#now),
      history: track.history,
      ...this.#neighbours.seenFrom(track),
      isOfGatedRevision: (pod) => {
        hasUnjudged ??= this.#hasUnjudgedWorkload(track)
        return hasUnjudged ? false : this.#isOfGatedRevision(pod)
      },
    }
  }

  /**
   * Whether a gated workload behind a target has not said yet which pods are of its new revision: its revisions are not
   * listed yet, or its change has not arrived.
   */
  #hasUnjudgedWorkload({ rule, object }: Track): boolean {
    if (object === undefined || rule.isConcernedBy === undefined) return false
    return this.#tracks.some((other) => {
      if (other.assessment !== undefined || other.ended !== undefined) return false
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
    const workloads = [...this.#ownership.targetsOf(pod)].filter(({ assessment }) => assessment?.pods !== undefined)
    const isOf = ({ assessment }: Track) => assessment?.pods?.has(uid) || assessment?.keptPods?.has(uid)
    return workloads.length === 0 ? undefined : workloads.some(isOf)
  }

  #fallBack(track: Track, assessment: Assessment): void {
    track.assessment = assessment
    track.fallBack(assessment, this.#now)
    this.#neighbours.turned(track)
    this.#tell(track, 'note', `no longer ready: ${assessment.message}`)
  }

  #becomeReady(track: Track, message: string): void {
    track.readyAt = this.#now
    this.#neighbours.turned(track)
    this.#tell(track, 'verdict', message, 'ready')
  }

  #end(track: Track, { logText, ...verdict }: TargetVerdict): void {
    const snapshot = takeSnapshot(track.target, track.object, track.problems, this.store)
    track.ended = { at: this.#now, verdict, snapshot }
    track.readyAt = undefined
    this.#neighbours.turned(track)
    if (endsGate(track, this.#settings)) this.#firstBadEnd ??= this.#now
    this.#schedule(this.#tracks)
    this.#tell(track, 'verdict', verdictText(verdict, logText), verdict.outcome)
  }

  /** Ends the gate when no target is open, or when the first bad end is long enough ago. */
  #conclude(): void {
    if (this.#over !== undefined) return
    const unknown = this.#unknown(this.#now)
    const isDone = this.#tracks.every(({ isOpen }) => !isOpen)
    this.#refuseUnseenImages()
    if (unknown !== undefined) this.#finish(unknown)
    else if (isDone || this.#now >= this.#failFastAt()) this.#finishBy(decide(this.#tracks))
  }

  /** What is ready may have failed unseen: the gate is ready only while all watches of its targets are healthy. */
  #finishBy(verdict: Verdict): void {
    const isReady = verdict.outcome === 'ready'
    if (!isReady || this.#health.isGood || !this.#health.isUnavailable(this.#neededRequests())) this.#finish(verdict)
  }

  #finish(verdict: Verdict): void {
    this.#over = { verdict, at: this.#now }
  }

  /** The gate's timeout. It waits for an answer, and for 30 s since the last one at most. */
  #timeoutAt(): number {
    const { startedAt, timeoutMs } = this.#settings
    if (timeoutMs === 0) return Infinity
    const lastSuccessAt = this.#health.isGood ? undefined : this.#health.lastSuccessAt(this.#neededRequests())
    const waitUntil = lastSuccessAt === undefined ? 0 : lastSuccessAt + unseenAtTimeoutMs
    return Math.max(startedAt + timeoutMs, waitUntil)
  }

  #failFastAt(): number {
    return this.#settings.failFast && this.#firstBadEnd !== undefined ? this.#firstBadEnd + failFastMs : Infinity
  }

  #tell(track: Track, kind: Entry['kind'], text: string, outcome?: TargetOutcome): void {
    this.#story.tellOf(track, this.#now, kind, text, outcome)
  }
}

/** Whether an event about an object that the target does not own may explain one of its problems. */
function isExplained({ target, problems }: Track, event: EventObject): boolean {
  return event.metadata.namespace === target.namespace && problems.some((problem) => mayExplain(event, problem))
}

/** Whether a target is judged by objects that it does not own, which may be targets themselves. */
function dependsOnOthers({ rule }: Track): boolean {
  return rule.concernedBy !== undefined
}

/** The items that match, and the others. */
function partition<T>(items: readonly T[], matches: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [items.filter(matches), items.filter((item) => !matches(item))]
}

function isSameSet<T>(a: ReadonlySet<T> = new Set(), b: ReadonlySet<T> = new Set()): boolean {
  return a.size === b.size && [...a].every((item) => b.has(item))
}

/** Whether an object that the target does not own has a say in its lifecycle, or had one before it changed. */
function isConcerned({ rule, target, object, assessment }: Track, { before, after }: Change): boolean {
  const { kind, metadata } = (after ?? before) as KubeObject
  if (!rule.concernedBy?.includes(kind) || object === undefined) return false
  if (metadata.namespace !== undefined && metadata.namespace !== target.namespace) return false
  return [before, after].some(
    (other) => other !== undefined && (rule.isConcernedBy?.(object, other, assessment) ?? true),
  )
}

/** A problem as it is reported: its sentence is rendered here. */
function recordProblem(problem: Problem): ProblemRecord {
  return { ...problem, class: classOf(problem), message: messageOf(problem), evidence: [] }
}

function recordOf(track: Track): TargetRecord {
  const { target, ended, assessment } = track
  const verdict: Verdict<TargetOutcome> = ended?.verdict ?? {
    outcome: track.isReady ? 'ready' : 'progressing',
    reason: track.isReady ? '' : (track.problems[0]?.reason ?? ''),
    message: track.standing,
  }
  const endedAt = ended?.at ?? track.readyAt
  return {
    target,
    ...verdict,
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(ended === undefined ? {} : { snapshot: ended.snapshot }),
    milestones: track.records(),
    problems: track.isReady ? [] : track.problems.map(recordProblem),
    notes: assessment?.notes ?? [],
  }
}

/** What the log adds to the outcome, each thing once: a reason that only repeats the outcome is named last, or not at all. */
function verdictText({ outcome, reason, message }: Verdict<TargetOutcome>, logText: string | undefined): string {
  if (reason === outcome) return message
  return logText === undefined ? `${reason}: ${message}` : `${logText} (${reason})`
}

function least(moments: readonly number[]): number {
  let first = Infinity
  for (const moment of moments) if (moment < first) first = moment
  return first
}
