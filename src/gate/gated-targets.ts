import type { WatchRequest } from '../cluster/feed.ts'
import {
  type EventObject,
  isOfKind,
  type KubeObject,
  lastOccurrence,
  nameOf,
  type ObjectMeta,
  type ObjectName,
  type Pod,
} from '../cluster/objects.ts'
import { type Change, covers, type Store } from '../cluster/store.ts'
import { errorText } from '../errors.ts'
import { assess } from '../lifecycle/assess.ts'
import { type Assessment, isUndisturbed } from '../lifecycle/assessment.ts'
import { takeSnapshot } from '../lifecycle/evidence-snapshot.ts'
import { haveImagesArrived } from '../lifecycle/expected-images.ts'
import { haveSamePods, isGatedPod, isKeptPod } from '../lifecycle/pods.ts'
import { createGateTime, type GateTime, isSinceStart } from '../lifecycle/proof.ts'
import type { Hold, PodRevision, Reader } from '../lifecycle/reader.ts'
import { keyedChange, ReadIndex, type Reads } from '../lifecycle/reads.ts'
import { targetRule } from '../lifecycle/rules.ts'
import { podsMetadata } from '../lifecycle/selector.ts'
import { createReaders, type SharedReaders } from '../lifecycle/shared-reader.ts'
import { specWrittenAt } from '../lifecycle/status-age.ts'
import { observeTarget, type TargetHistory } from '../lifecycle/target-history.ts'
import { removalMessage, revisionsOf } from '../lifecycle/versions.ts'
import { definedClocks, displayName, fullNames, nameKey, type Target, targetWatch } from '../plan/target.ts'
import { traitsOf } from '../reasons/reasons.ts'
import type { ApiHealth } from './api-health.ts'
import { findCauses } from './causes.ts'
import { firstFailureAt } from './outcome.ts'
import { isChangeRequired } from './present-version.ts'
import type { Entry } from './run-record.ts'
import type { GateSettings } from './settings.ts'
import {
  areSameRequests,
  firstRequests,
  firstState,
  type GatedTarget,
  isRemovedHook,
  isUndecided,
  objectOf,
  requestsOf,
  requestsOfReads,
  type TargetState,
  wasDeleted,
} from './target-state.ts'
import { step, type TargetEvent } from './target-step.ts'
import { isOwnProblem } from './timeline-entries.ts'

/** The gate watches Events for targets of every kind: Events contain facts that no status contains. */
export const eventKind = { apiVersion: 'v1', kind: 'Event' } as const

/** The longest chain of owners that is followed: owner references may form a circle. */
const maxOwners = 6

/** Lists that follow from all targets. */
interface Derived {
  readonly unended: readonly GatedTarget[]
  /** The watches that they need. */
  readonly needed: readonly WatchRequest[]
  /** The watches of all targets, whatever they are for. */
  readonly requests: readonly WatchRequest[]
  /** The hooks that their tool removes after success. */
  readonly removedHooks: readonly GatedTarget[]
}

/** The parts of the gate that all targets share. */
interface GateParts {
  readonly settings: GateSettings
  readonly store: Store
  readonly health: ApiHealth
  readonly now: () => number
  readonly log: (entry: Omit<Entry, 'at'>) => void
}

/** The targets of a gate: finds those that a change affects, assesses them and changes their states. */
export class GatedTargets {
  readonly #all: GatedTarget[] = []
  readonly #settings: GateSettings
  readonly #store: Store
  readonly #health: ApiHealth
  readonly #now: () => number
  readonly #log: (entry: Omit<Entry, 'at'>) => void
  readonly #gateTime: GateTime
  readonly #sharedReaders: SharedReaders
  readonly #byName = new Map<string, GatedTarget[]>()
  /** The targets that are neither ready nor ended. */
  readonly #undecided = new Set<GatedTarget>()
  /** The target that deployed another one. */
  readonly #deployers = new Map<GatedTarget, GatedTarget>()
  /** The new targets that are not assessed yet. */
  readonly #deployed: GatedTarget[] = []
  readonly #others = new OtherTargets()
  /** What the last assessments knew of others. */
  #progressKey: string
  /** The hold, once it has begun. */
  holding: Hold | undefined
  readonly #readIndex = new ReadIndex<GatedTarget>()
  /** What follows from all targets together; absent since a target ended, was added, or reads other watches. */
  #derived: Derived | undefined
  #changed = new Set<GatedTarget>()

  constructor(targets: readonly Target[], { settings, store, health, now, log }: GateParts) {
    this.#settings = settings
    this.#store = store
    this.#health = health
    this.#now = now
    this.#log = log
    this.#gateTime = createGateTime(settings)
    this.#sharedReaders = createReaders(store, this.#gateTime, settings)
    this.#add(targets)
    this.#progressKey = this.#others.progressKey
  }

  /** All targets: those of the gate's start in the order of the input, then those that operators deployed. */
  get all(): readonly GatedTarget[] {
    return this.#all
  }

  /** @param addedAt when the objects became targets, if that was after the gate's start */
  #add(targets: readonly Target[], addedAt?: number): readonly GatedTarget[] {
    const known = this.#all.length
    const names = fullNames([...this.#all.map(({ target }) => target), ...targets])
    this.#derived = undefined
    const added = targets.map((target, index) => this.#gate(target, known + index, names[known + index] ?? '', addedAt))
    for (const gated of added) {
      this.#all.push(gated)
      const key = nameKey(gated.target)
      this.#byName.set(key, [...(this.#byName.get(key) ?? []), gated])
      this.#updateSets(gated)
      this.#changed.add(gated)
    }
    return added
  }

  #gate(target: Target, index: number, name: string, addedAt: number | undefined): GatedTarget {
    const settings = this.#settings
    const own = targetRule(target, settings)
    const rule = settings.afterReady?.rule(own, target) ?? own
    const changedAt = rule.versions?.changedAt ?? specWrittenAt
    /**
     * The latest result of `changedAt`: most assessments follow a change of a pod, and ask for it again with the same
     * object.
     */
    let change:
      | { readonly object: KubeObject; readonly revisions: unknown; readonly at: number | undefined }
      | undefined
    const gated: GatedTarget = {
      target,
      index,
      name,
      rule,
      settings,
      gateTime: this.#gateTime,
      changedAt: (object) => {
        const revisions = gated.state.seen?.revisions
        if (change?.object !== object || change.revisions !== revisions)
          change = { object, revisions, at: changedAt(object, this.#sharedReaders.at(this.#now())) }
        return change.at
      },
      haveImagesArrived: (object, listed) => {
        const isRequired = isChangeRequired(gated)
        const expected = settings.expectImages
        if (!isRequired && !this.#expectsImages) return undefined
        const reader = this.#readerWith(gated, observeTarget(undefined, object, this.#now()), this.#now())
        if (isRequired) changedAt(object, reader)
        const isOfSpec = haveImagesArrived(own, object, listed, expected, undefined)
        const isOfPods = isOfSpec === false ? haveImagesArrived(own, object, listed, expected, reader) : isOfSpec
        this.#readIndex.replace(gated, gated.reads, reader.reads)
        this.#keepReads(gated, reader.reads)
        return isOfSpec === false && this.#isPending(gated) ? false : isOfPods
      },
      holding: () => this.holding,
      takeSnapshot: (object, problems) => takeSnapshot(object, problems, this.#store),
      findUndo: (object, revision, problem) =>
        rule.versions?.undo?.find(object, revision, problem, this.readerOf(gated, this.#now())),
      state: firstState({ rule, settings, target }, addedAt),
      requests: firstRequests(target),
    }
    return gated
  }

  get #expectsImages(): boolean {
    return Object.keys(this.#settings.expectImages).length > 0
  }

  get open(): readonly GatedTarget[] {
    return this.all.filter(({ state }) => isUndecided(state))
  }

  /** Whether no target is open that may still decide: what an operator deployed does not, once the operator's object failed. */
  get isDone(): boolean {
    for (const gated of this.#undecided) if (!this.#hasFailed(this.#deployers.get(gated))) return false
    return true
  }

  /** Whether an open target may show another problem: the object of an operator does not, once an object that it deployed failed. */
  get mayShowProblem(): boolean {
    const waiting = new Set(
      [...this.#deployers].flatMap(([gated, deployer]) => (this.#hasFailed(gated) ? deployer : [])),
    )
    return this.open.some((gated) => !waiting.has(gated))
  }

  #hasFailed(gated: GatedTarget | undefined): boolean {
    return gated !== undefined && firstFailureAt([gated], this.#settings) !== undefined
  }

  /** The targets with this name: several references may name one object. */
  named(reference: Parameters<typeof nameKey>[0]): readonly GatedTarget[] {
    return this.#byName.get(nameKey(reference)) ?? []
  }

  get #lists(): Derived {
    if (this.#derived !== undefined) return this.#derived
    const unended = this.all.filter(({ state }) => state.type !== 'ended')
    this.#derived = {
      unended,
      needed: unended.flatMap(requestsOf),
      requests: this.all.flatMap((gated) => [
        ...requestsOf(gated),
        ...gated.requests.explaining,
        ...gated.requests.optional,
        ...gated.requests.undo,
      ]),
      removedHooks: this.all.filter(({ target }) => target.hook?.removal !== undefined),
    }
    return this.#derived
  }

  /** The watches that all targets need, those that explain them, optional ones and those of undos. The same array while nothing changes. */
  get requests(): readonly WatchRequest[] {
    return this.#lists.requests
  }

  /** Whether only warnings need what a request reads. */
  isOptional(request: Partial<WatchRequest>): boolean {
    const isRead = (each: WatchRequest) => covers(request, each)
    return (
      this.all.some((gated) => [...gated.requests.optional, ...gated.requests.undo].some(isRead)) &&
      !this.all.some((gated) => [...requestsOf(gated), ...gated.requests.explaining].some(isRead))
    )
  }

  /** The watches that the unended targets need. */
  get neededRequests(): readonly WatchRequest[] {
    return this.#lists.needed
  }

  get unended(): readonly GatedTarget[] {
    return this.#lists.unended
  }

  /** The targets whose deadlines may have changed since the last call. */
  takeChanged(): ReadonlySet<GatedTarget> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  /** Whether an object belongs to a target: the target itself, and what it owns or owned. */
  isBehind(gated: GatedTarget, object: KubeObject): boolean {
    return this.#targetsBehind(object).includes(gated)
  }

  /** Handles a change of the store. Returns the targets that it affects. */
  handleChange(change: Change): ReadonlySet<GatedTarget> {
    const { before, after } = change
    const object = after ?? before
    const concerned = new Set<GatedTarget>()
    this.#sharedReaders.observe(change, this.#now())
    const changed = keyedChange(change, this.#store)
    for (const gated of [...this.#readIndex.of(changed)].toSorted((a, b) => a.index - b.index))
      this.guard(gated, () => {
        if (gated.state.type !== 'ended' && gated.reads?.concerns(changed)) concerned.add(gated)
      })
    if (isOfKind(object, eventKind.kind)) {
      for (const gated of this.#subjects(object)) concerned.add(gated)
      return concerned
    }
    for (const gated of this.named(nameOf(object))) {
      this.guard(gated, () => this.#applyChange(gated, change))
      concerned.add(gated)
    }
    if (before !== undefined) this.#logRemoval(before, after, concerned)
    return concerned
  }

  /** Handles a change of the target's own object. */
  #applyChange(gated: GatedTarget, { before, after }: Change): void {
    if (after === undefined) {
      if (objectOf(gated.state)?.metadata.uid === before?.metadata.uid) this.#assessLastState(gated, before)
      this.apply(gated, { type: 'deleted' })
      return
    }
    const isFirstSight = this.#store.listState(targetWatch(gated.target)) !== 'complete'
    const declaresStatus = this.#store.declaresStatus(gated.target)
    this.apply(gated, { type: 'found', object: after, isFirstSight, declaresStatus })
  }

  #updateSets(gated: GatedTarget): void {
    if (isUndecided(gated.state)) this.#undecided.add(gated)
    else this.#undecided.delete(gated)
  }

  /** The targets that a complete list may change: those that need it, or were assessed by its state. */
  concernedByList(list: WatchRequest): readonly GatedTarget[] {
    return this.unended.filter(
      (gated) =>
        gated.target.selector !== undefined ||
        gated.reads?.awaits(list) ||
        [...gated.requests.needed, ...gated.requests.optional].some((request) => covers(list, request)),
    )
  }

  /** Ends the targets whose own object is invalid. Returns whether there are any. */
  refuse(object: KubeObject, mistake: string): boolean {
    const concerned = this.named(nameOf(object))
    for (const gated of concerned) this.apply(gated, { type: 'unjudged', message: mistake })
    return concerned.length > 0
  }

  /** Does work for one target. An error ends this target, not the gate: an object may have what no rule expects. */
  guard(gated: GatedTarget, work: () => void): void {
    try {
      work()
    } catch (error) {
      const message = `Rollout Gate itself failed when it judged this object: ${errorText(error)}`
      this.apply(gated, { type: 'unjudged', message })
    }
  }

  /** The targets that an Event is about, also absent ones. */
  #subjects({ involvedObject: { apiVersion = '', kind = '', namespace, name = '' } = {} }: EventObject) {
    return this.named({ apiVersion, kind, namespace, name }).filter(({ state }) => state.type !== 'ended')
  }

  /** Logs why a pod of a gated revision is removed; its controller replaces it. */
  #logRemoval(before: KubeObject, after: KubeObject | undefined, concerned: ReadonlySet<GatedTarget>): void {
    const text = removalMessage(before, after)
    if (text === undefined) return
    for (const { state, index } of concerned) {
      const pods = state.type === 'ended' ? undefined : state.assessment?.pods
      if (pods !== undefined && isGatedPod(pods, before)) this.#log({ kind: 'note', text, target: index })
    }
  }

  /** Assesses these targets, then those that read whether others progress, if that has changed since the last time. */
  assess(targets: readonly GatedTarget[]): void {
    this.#assessInOrder(targets)
    const { progressKey } = this.#others
    const before = this.#progressKey
    this.#progressKey = progressKey
    if (progressKey !== before) this.#assessInOrder(this.unended.filter(({ reads }) => reads?.readsOthers))
    this.#passRemovedHooks()
  }

  /** Hooks that their tool removes after success are ready once all other targets are. */
  #passRemovedHooks(): void {
    const { removedHooks } = this.#lists
    if (removedHooks.length === 0 || this.#undecided.size > removedHooks.length) return
    const open = removedHooks.filter((gated) => isUndecided(gated.state) && this.#isRemoved(gated))
    const others = open.length === 0 ? [] : this.#targetsBesideHooks()
    if (others.length === 0 || others.some(({ state }) => state.type !== 'ready')) return
    for (const gated of open) this.apply(gated, { type: 'hook-removed' })
  }

  /** Whether a target is a hook that does not exist because its tool may have removed it after success. */
  #isRemoved(gated: GatedTarget): boolean {
    return isRemovedHook(gated) && this.isAbsenceKnown(gated) && this.#store.get(gated.target) === undefined
  }

  /** The targets for which the removed hooks wait. */
  #targetsBesideHooks(): readonly GatedTarget[] {
    return this.all.filter((gated) => !isRemovedHook(gated))
  }

  /** Assesses the targets that publish pods first, then those that read the pods of others, then what they have deployed. */
  #assessInOrder(targets: readonly GatedTarget[]): void {
    const dependents = new Set<GatedTarget>()
    const changed = new Set<number>()
    for (const gated of targets) {
      const { assessment: before } = gated.state
      if (gated.reads?.publishers.size) dependents.add(gated)
      else this.guard(gated, () => this.#assessOne(gated, dependents))
      if (!haveSamePods(gated.state.assessment?.pods, before?.pods)) changed.add(gated.index)
    }
    if (changed.size > 0)
      for (const gated of this.unended)
        if ([...(gated.reads?.publishers ?? [])].some((index) => changed.has(index))) dependents.add(gated)
    for (const gated of dependents) this.guard(gated, () => this.#assessOne(gated))
    const deployed = this.#deployed.splice(0)
    if (deployed.length > 0) this.#assessInOrder(deployed)
  }

  /** @param dependents where given, a target that reads the pods of others is added there and stays as it is */
  #assessOne(gated: GatedTarget, dependents?: Set<GatedTarget>): void {
    this.#changed.add(gated)
    if (gated.state.type === 'ended' || gated.state.assessment?.completed) return
    const awaited = gated.state.type === 'awaiting-change' && this.#expectsImages && this.#store.get(gated.target)
    if (awaited) this.#applyChange(gated, { after: awaited })
    const object = objectOf(gated.state)
    if (object === undefined) {
      this.#assessAbsent(gated)
    } else if (gated.readObject === object && this.#isPending(gated)) {
      this.apply(gated, { type: 'list-pending' })
    } else {
      this.#assessObject(gated, object, dependents)
    }
  }

  /** @param dependents see `#assessOne` */
  #assessObject(gated: GatedTarget, object: KubeObject, dependents?: Set<GatedTarget>): void {
    const { reads: before } = gated
    this.#readAndApply(gated, object, dependents)
    // What was read after the assessment counts too.
    if (gated.reads !== undefined && gated.reads !== before) this.#readIndex.replace(gated, before, gated.reads)
  }

  #readAndApply(gated: GatedTarget, object: KubeObject, dependents: Set<GatedTarget> | undefined): void {
    const { rule, state } = gated
    const reader = this.readerOf(gated, this.#now())
    const revisions = revisionsOf(object, reader)
    const assessment = assess(rule, object, reader)
    this.#keepReads(gated, reader.reads)
    gated.readObject = object
    if (this.#isPending(gated)) {
      this.apply(gated, { type: 'list-pending' })
      return
    }
    if (dependents !== undefined && reader.reads.publishers.size > 0) {
      dependents.add(gated)
      return
    }
    gated.recheckAt = reader.nextMoment()
    this.apply(gated, { type: 'revisions-listed', revisions })
    if (gated.state.type === 'ended') return
    const { failure } = assessment
    // What the target itself reports does not depend on the objects that explain it.
    const explaining = failure === undefined || isOwnProblem(failure, gated.target) ? [] : gated.requests.explaining
    const isUnavailable = this.#health.isUnavailable([...requestsOf(gated), ...explaining])
    const hasConsequence = assessment.problems.some((problem) => traitsOf(problem).yieldsTo === 'awaited')
    const awaitsOther = hasConsequence && this.awaitsOther(gated, assessment)
    const availableRevision =
      state.assessment === undefined ? rule.versions?.undo?.availableRevision(object, reader) : undefined
    this.#addDeployed(gated, assessment)
    this.apply(gated, { type: 'assessed', assessment, isUnavailable, awaitsOther, availableRevision })
  }

  /** Keeps what an assessment has read. What the gate watches for the target follows from it. */
  #keepReads(gated: GatedTarget, reads: Reads): void {
    const { requests: before } = gated
    gated.reads = reads
    gated.requests = requestsOfReads(gated, reads)
    // What explains it is known once all is listed that it needs.
    if (this.#isPending(gated)) gated.requests = { ...gated.requests, explaining: before.explaining }
    if (areSameRequests(before, gated.requests)) gated.requests = before
    else this.#derived = undefined
  }

  /** What an operator has deployed becomes targets of the gate. */
  #addDeployed(deployer: GatedTarget, { deployed }: Assessment): void {
    const { clocks, source, apiVersion, kind, namespace, name } = deployer.target
    const deployedBy = { apiVersion, kind, namespace, name }
    const names = deployed?.filter((each) => this.named(each).length === 0) ?? []
    if (names.length === 0) return
    const { stallTimeoutMs } = clocks
    const targets = names.map((each): Target => {
      return { ...each, clocks: definedClocks({ stallTimeoutMs }), source, deployedBy }
    })
    for (const gated of this.#add(targets, this.#now())) {
      this.#deployers.set(gated, deployer)
      this.#log({ kind: 'note', text: `deployed by ${deployer.name}`, target: gated.index, added: gated.target })
      const object = this.#store.get(gated.target)
      if (object !== undefined) this.guard(gated, () => this.#applyChange(gated, { after: object }))
      this.#deployed.push(gated)
    }
  }

  #assessAbsent(gated: GatedTarget): void {
    const { deployedBy } = gated.target
    if (deployedBy !== undefined && !wasDeleted(gated.state) && this.#isUnreadable(gated.target)) {
      const text = `the credentials cannot read it: it counts by the word of ${displayName(deployedBy)}`
      this.apply(gated, { type: 'unreadable', text })
      return
    }
    if (gated.state.type === 'awaiting-change' || !this.isAbsenceKnown(gated)) return
    if (gated.rule.readyWhenAbsent === undefined) this.#assessLastState(gated, gated.state.seen?.gated)
    this.apply(gated, { type: 'absence-known' })
  }

  /**
   * Judges a deleted object by its last state, if that is known.
   * @param object its last version; undefined if the gate never saw the object, and there are only events about it after the
   * gate's start
   */
  #assessLastState(gated: GatedTarget, object: KubeObject | undefined): void {
    const { rule, state } = gated
    if (rule.lastState === undefined || state.type === 'ended' || state.assessment?.completed) return
    const last = object ?? this.#subjectOfLastEvent(gated.target)
    const lastState = last && rule.lastState(last, this.#store.eventsOf(last))
    if (lastState === undefined) return
    const deletedAt = state.type === 'absent' ? state.absence.since : this.#now()
    this.apply(gated, { type: 'last-state-found', object: lastState })
    this.#assessObject(gated, lastState)
    this.apply(gated, { type: 'last-state-judged', deletedAt })
  }

  /**
   * An object that the gate never saw, with the uid from its latest event. Undefined if that event is older than the
   * gate.
   */
  #subjectOfLastEvent({ apiVersion, kind, namespace, name }: Target): KubeObject | undefined {
    const latest = this.#store.eventsOf({ apiVersion, kind, metadata: { name, namespace } }).at(-1)
    const { uid } = latest?.involvedObject ?? {}
    if (latest === undefined || uid === undefined) return undefined
    const isCurrent = isSinceStart(this.#gateTime.time(lastOccurrence(latest)), this.#settings)
    return isCurrent ? { apiVersion, kind, metadata: { name, namespace, uid } } : undefined
  }

  /** What the rule of a target may read at `now`. The target must have been seen. */
  readerOf(gated: GatedTarget, now: number): Reader {
    const { seen, assessment: before } = gated.state
    if (seen === undefined) throw new Error(`${gated.name} is judged before it was seen`)
    const { history, arrival } = seen
    return {
      ...this.#readerWith(gated, history, now),
      knownRevision: arrival?.known,
      lastAssessment: before,
      holding: this.holding,
    }
  }

  #readerWith(gated: GatedTarget, history: TargetHistory, now: number): Reader {
    const reader = this.#sharedReaders.at(now)
    const { reads } = reader
    const others = () => {
      reads.readsOthers = true
      return this.#others.othersOf(gated.index)
    }
    let behind: { readonly hasUnjudged: boolean; readonly hasGated: boolean } | undefined
    const findBehind = () => {
      const workloads = this.#workloadsBehind(gated)
      for (const { index } of workloads) reads.publishers.add(index)
      return {
        hasUnjudged: workloads.some((other) => !hasAssessment(other)),
        hasGated: workloads.some((other) => this.#wantsPods(other)),
      }
    }
    return {
      ...reader,
      history,
      othersProgress: () => others().progress,
      othersReadyAt: () => others().readyAt,
      revisionOf: (pod) => {
        behind ??= findBehind()
        if (behind.hasUnjudged) return 'other'
        return this.#revisionOf(pod, reads) ?? (behind.hasGated ? 'other' : undefined)
      },
    }
  }

  /** The gated workloads whose pods a target selects. */
  #workloadsBehind({ rule: { serving }, state }: GatedTarget): readonly GatedTarget[] {
    const object = objectOf(state)
    if (object === undefined || serving?.selects === undefined) return []
    return this.all.filter(({ target, rule }) => {
      if (target.namespace !== object.metadata.namespace || rule.serving === undefined) return false
      const workload = rule.serving.selects === undefined ? this.#store.get(target) : undefined
      return workload !== undefined && serving.selects?.(object, podsMetadata(workload)) === true
    })
  }

  /** Whether a gated workload has published its pods, and wants any. */
  #wantsPods(gated: GatedTarget): boolean {
    const { state, rule } = gated
    const object = objectOf(state)
    if (object === undefined || state.assessment?.pods === undefined) return false
    return rule.serving?.isEmpty(object, this.readerOf(gated, this.#now())) === false
  }

  #revisionOf(pod: Pod, { publishers }: Reads): PodRevision | undefined {
    const owners = this.#targetsBehind(pod)
    for (const { index } of owners) publishers.add(index)
    const published = owners.flatMap(({ state }) => state.assessment?.pods ?? [])
    if (published.length === 0) return undefined
    if (published.some((pods) => isKeptPod(pods, pod))) return 'kept'
    return published.some((pods) => isGatedPod(pods, pod)) ? 'gated' : 'other'
  }

  /** Whether a target waits for another open target, or for an object that belongs to one. */
  awaitsOther(gated: GatedTarget, { awaits = [] }: Partial<Assessment> = gated.state.assessment ?? {}): boolean {
    const isOtherOpen = (other: GatedTarget) => other !== gated && isUndecided(other.state)
    return awaits.some((awaited) => {
      const object = this.#store.get(awaited)
      return (
        this.named(awaited).some(isOtherOpen) || (object !== undefined && this.#targetsBehind(object).some(isOtherOpen))
      )
    })
  }

  /** The targets that only wait for another one, with the target that each waits for, by their indexes. */
  causes(): ReadonlyMap<number, number> {
    const causes = new Map(findCauses(this.all, (object, gated) => this.#ownerOf(object, gated)))
    for (const gated of this.#lists.removedHooks) {
      if (gated.state.type === 'ready' || !this.#isRemoved(gated)) continue
      const awaited = this.#targetsBesideHooks().find(({ state }) => state.type !== 'ready')
      if (awaited !== undefined) causes.set(gated.index, causes.get(awaited.index) ?? awaited.index)
    }
    return causes
  }

  /** The targets that an object is, or whose objects own it directly or indirectly. */
  #targetsBehind(object: KubeObject): readonly GatedTarget[] {
    const found = new Set([object])
    for (const { metadata } of found)
      for (const reference of metadata.ownerReferences ?? []) {
        const owner = this.#store.lastKnown({ ...reference, namespace: metadata.namespace })
        if (owner?.metadata.uid === reference.uid) found.add(owner)
      }
    return [...found].flatMap((each) =>
      this.named(nameOf(each)).filter(({ state }) => state.seen?.object.metadata.uid === each.metadata.uid),
    )
  }

  /** The other target that an object is, or whose object owns it; undefined if the given target is nearer. */
  #ownerOf(object: ObjectName, gated: GatedTarget): GatedTarget | undefined {
    let next: ObjectName | undefined = object
    for (let depth = 0; next !== undefined && depth < maxOwners; depth++) {
      const targets = this.named(next)
      if (targets.length > 0) return targets.includes(gated) ? undefined : targets[0]
      const { ownerReferences = [], namespace }: Partial<ObjectMeta> = this.#store.get(next)?.metadata ?? {}
      const owner = ownerReferences.find(({ controller }) => controller !== false)
      next = owner && { ...owner, namespace }
    }
    return undefined
  }

  /** Whether access to a target is refused, its kind is not served, or a recording does not contain it. */
  #isUnreadable(target: Target): boolean {
    const request = targetWatch(target)
    const isMissing = this.#store.refusal(request)?.type === 'MISSING'
    return isMissing || this.#store.listState(request) === 'unknown'
  }

  /** When the last awaited revision arrived; undefined if none is awaited, Infinity while one is. */
  get revisionsArrivedAt(): number | undefined {
    const moments = this.all.flatMap(({ state, rule }) => {
      if (rule.versions?.arrival === undefined) return []
      return state.type === 'awaiting-change' ? [Infinity] : (state.seen?.arrival?.at ?? [])
    })
    return moments.length === 0 ? undefined : Math.max(...moments)
  }

  /** Whether a watch that the target needs is unavailable, or its first list is not complete. */
  isUnanswered(gated: GatedTarget): boolean {
    return this.#health.isUnavailable(requestsOf(gated)) || this.#isPending(gated)
  }

  /** Whether a target is a removed hook that waits for other targets: its own clocks do not end it. */
  isWaitingHook(gated: GatedTarget): boolean {
    return this.#isRemoved(gated) && this.#targetsBesideHooks().some(({ state }) => isUndecided(state))
  }

  /** Whether a first list that the target needs is not complete, or an optional one that the server may still answer. */
  #isPending(gated: GatedTarget): boolean {
    const isPending = (request: WatchRequest) => this.#store.listState(request) === 'pending'
    return (
      requestsOf(gated).some(isPending) ||
      gated.requests.optional.some((request) => isPending(request) && !this.#health.isUnavailable([request]))
    )
  }

  /**
   * Whether a target is certainly absent: it was deleted, the complete list of its kind does not contain it, or its selector
   * matched nothing when the targets were resolved.
   */
  isAbsenceKnown({ state, target }: GatedTarget): boolean {
    return (
      target.selector !== undefined || wasDeleted(state) || this.#store.listState(targetWatch(target)) === 'complete'
    )
  }

  /** Applies an event to a target. No other code changes the target's state. */
  apply(gated: GatedTarget, event: TargetEvent): void {
    const { state: before } = gated
    const { state, entries } = step(before, event, this.#now(), gated)
    if (state === before) return
    gated.state = state
    this.#updateSets(gated)
    if (state.type === 'ended') this.#derived = undefined
    this.#others.update(gated)
    this.#changed.add(gated)
    if ((before.type === 'ready') !== (state.type === 'ready') || state.type === 'ended')
      for (const other of this.all)
        if (other.state.assessment?.awaits !== undefined || other.target.hook?.removal !== undefined)
          this.#changed.add(other)
    for (const entry of entries) this.#log({ ...entry, target: gated.index })
  }
}

/** Whether a workload has published its pods: its revisions are listed, and its change has arrived. */
function hasAssessment({ state }: GatedTarget): boolean {
  return state.assessment !== undefined || state.type === 'ended'
}

/**
 * Which targets progress or are ready, by index. While one target progresses, the others have more time. When a target
 * becomes ready, containers that crashed before may have waited for it.
 */
class OtherTargets {
  readonly #progressing = new Set<number>()
  readonly #readyAt = new Map<number, number>()
  /** The index and moment of each ready target, in the order in which they became ready. */
  #ready: readonly (readonly [index: number, at: number])[] = []

  update({ index, state }: GatedTarget): void {
    if (isProgressing(state)) this.#progressing.add(index)
    else this.#progressing.delete(index)
    if ((state.type === 'ready') === this.#readyAt.has(index)) return
    if (state.type === 'ready') this.#readyAt.set(index, state.at)
    else this.#readyAt.delete(index)
    this.#ready = [...this.#readyAt]
  }

  /** Changes whenever `othersOf` a target may change: with the only target that progresses, or the last one that became ready. */
  get progressKey(): string {
    const [first] = this.#progressing
    return `${this.#progressing.size > 1 ? 'several' : first} ${this.#ready.at(-1)}`
  }

  /** Whether another target progresses, and when another one last became ready. */
  othersOf(index: number): { readonly progress: boolean; readonly readyAt: number | undefined } {
    return {
      progress: this.#progressing.size > (this.#progressing.has(index) ? 1 : 0),
      readyAt: this.#ready.findLast(([other]) => other !== index)?.[1],
    }
  }
}

/** Whether a target progresses without a problem. A target that awaits its change counts too. */
function isProgressing(state: TargetState): boolean {
  if (state.type === 'awaiting-change') return true
  return isUndecided(state) && state.assessment !== undefined && isUndisturbed(state.assessment)
}
