import { isMissing } from '../cluster/failures.ts'
import type { WatchRequest } from '../cluster/feed.ts'
import { type EventObject, isOfKind, type KubeObject, lastOccurrence, nameOf, type Pod } from '../cluster/objects.ts'
import { type Change, isSupersetOf } from '../cluster/store.ts'
import { errorText } from '../errors.ts'
import { assess } from '../lifecycle/assess.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import { hasExpectedImagesInPods, hasExpectedImagesInSpec } from '../lifecycle/expected-images.ts'
import { haveSamePods, type PodRevision, revisionsByUid } from '../lifecycle/pods.ts'
import { createGateTime, type GateTime, mayBeSinceStart } from '../lifecycle/proof.ts'
import type { Reader } from '../lifecycle/reader.ts'
import { ReadIndex, type Reads } from '../lifecycle/reads.ts'
import type { Rule } from '../lifecycle/rule.ts'
import { lastStateOfDeleted, targetRule } from '../lifecycle/rules.ts'
import { podTemplateMetadata } from '../lifecycle/selector.ts'
import { createSharedReaders, type SharedReaders } from '../lifecycle/shared-reader.ts'
import { versionChangedAt } from '../lifecycle/stale-status.ts'
import { observeTarget } from '../lifecycle/target-history.ts'
import { removalMessage, revisionsOf } from '../lifecycle/versions.ts'
import {
  displayName,
  fullNames,
  isDeletionAwaited,
  omitUndefinedClocks,
  type Target,
  watchRequestOf,
} from '../plan/target.ts'
import { traitsOf } from '../reasons/reasons.ts'
import { examinedPodsPerMs } from '../thresholds.ts'
import { nextEnd } from './deadlines.ts'
import {
  firstRequests,
  type GatedTarget,
  hasStallHold,
  initialState,
  isAbsenceKnown,
  isChangeRequired,
  isConfirmedRemovedHook,
  isTargetReady,
  noRequests,
  objectOf,
  requestsAfterAssessment,
  wasDeleted,
} from './target-state.ts'
import { step, type TargetEvent } from './target-step.ts'
import type { TargetParts, Targets } from './targets.ts'
import { type Entry, isProblemOfTarget } from './timeline-entries.ts'

/* Assesses the targets of a gate after changes, and applies the results to their states. */

interface AssessorParts extends TargetParts {
  readonly now: () => number
  /** When the timeout of the gate passes. */
  readonly timeoutAt: () => number
  readonly log: (entry: Omit<Entry, 'at'>) => void
  /** Adds the checks after readiness to the rule of a target; see `AfterReady`. */
  readonly extendRule: (rule: Rule, target: Target) => Rule
}

/** Assesses the targets that a change affects, by their rules. No other code changes the state of a target. */
export class Assessor {
  readonly #parts: AssessorParts
  readonly #targets: Targets
  readonly #gateTime: GateTime
  readonly #sharedReaders: SharedReaders
  readonly #readIndex = new ReadIndex<GatedTarget>()
  /** The targets whose deadlines may have changed. */
  #changed = new Set<GatedTarget>()
  /** `Targets.progressKey` after the last assessments. */
  #progressKey: string

  constructor(targets: Targets, parts: AssessorParts) {
    this.#parts = parts
    this.#targets = targets
    this.#gateTime = createGateTime(parts.settings)
    this.#sharedReaders = createSharedReaders(parts.store, this.#gateTime, parts.settings)
    this.#progressKey = targets.progressKey
  }

  /** Adds targets, to be assessed later. @param addedAt when they became targets, if after the gate's start */
  add(targets: readonly Target[], addedAt?: number): readonly GatedTarget[] {
    const { all } = this.#targets
    const names = fullNames([...all.map(({ target }) => target), ...targets])
    const known = all.length
    const added = targets.map((target, index) =>
      this.#createGatedTarget(target, known + index, names[known + index] ?? '', addedAt),
    )
    this.#targets.add(added)
    for (const gated of added) this.#changed.add(gated)
    return added
  }

  updateDeadlines(): void {
    const changed = this.#changed
    this.#changed = new Set()
    for (const gated of changed) {
      const isDeadlineBlocked = this.#targets.isDeadlineBlocked(gated)
      const isHeld = isDeadlineBlocked || hasStallHold(gated, () => this.#targets.isWaitingForOther(gated))
      this.applyEvent(gated, { type: 'stall-held', isHeld })
      gated.end = nextEnd(gated, isDeadlineBlocked, this.#targets.holding)
    }
  }

  applyEvent(gated: GatedTarget, event: TargetEvent): void {
    const { state: before } = gated
    const { state, entries } = step(before, event, this.#parts.now(), gated)
    if (state === before) return
    gated.state = state
    this.#changed.add(gated)
    if (isTargetReady(before) !== isTargetReady(state) || state.type === 'ended')
      for (const other of this.#targets.all)
        if (other.state.assessment?.awaits !== undefined || other.target.hook?.removal !== undefined)
          this.#changed.add(other)
    for (const entry of entries) this.#parts.log({ ...entry, target: gated.index })
  }

  /** Runs a function for one target. An error ends only this target: an object may contain unexpected values. */
  runForTarget(gated: GatedTarget, work: () => void): void {
    try {
      work()
    } catch (error) {
      const message = `Rollout Gate itself failed when it judged this object: ${errorText(error)}`
      this.applyEvent(gated, { type: 'unjudged', message })
    }
  }

  #createGatedTarget(target: Target, index: number, name: string, addedAt: number | undefined): GatedTarget {
    const { settings } = this.#parts
    const own = targetRule(target, settings)
    const rule = this.#parts.extendRule(own, target)
    const gated: GatedTarget = {
      target,
      index,
      name,
      rule,
      settings,
      gateTime: this.#gateTime,
      store: this.#parts.store,
      readerOf: (object, now) => this.#createReader(gated, object, now ?? this.#parts.now()),
      haveImagesArrived: (object, listed) => {
        const isRequired = isChangeRequired(gated)
        const expected = settings.expectImages
        if (!isRequired && !this.#hasExpectedImages) return undefined
        const reader = gated.readerOf(object)
        if (isRequired) versionChangedAt(object, rule, reader)
        const isOfSpec = hasExpectedImagesInSpec(object, listed, expected)
        const isOfPods = isOfSpec === false ? hasExpectedImagesInPods(own, object, expected, reader) : isOfSpec
        this.#readIndex.replace(gated, gated.reads, reader.reads)
        this.#keepReads(gated, reader.reads)
        return isOfSpec === false && this.#targets.isWaitingForList(gated) ? false : isOfPods
      },
      state: initialState({ rule, settings, target }, addedAt),
      requests: firstRequests(target),
    }
    return gated
  }

  get #hasExpectedImages(): boolean {
    return Object.keys(this.#parts.settings.expectImages).length > 0
  }

  /** Handles a change of the store. Returns the targets to assess again. */
  handleChange(change: Change): ReadonlySet<GatedTarget> {
    const { before, after } = change
    const object = after ?? before
    const concerned = new Set<GatedTarget>()
    const changed = this.#sharedReaders.observe(change, this.#parts.now())
    for (const gated of [...this.#readIndex.targetsAffectedBy(changed)].toSorted((a, b) => a.index - b.index))
      this.runForTarget(gated, () => {
        if (gated.state.type !== 'ended' && gated.reads?.isAffectedBy(changed)) concerned.add(gated)
      })
    if (isOfKind(object, 'Event')) {
      for (const gated of this.#targetsOfEvent(object, changed.pod)) concerned.add(gated)
      return concerned
    }
    for (const gated of this.#targets.findByName(nameOf(object))) {
      this.runForTarget(gated, () => this.#applyChange(gated, change))
      concerned.add(gated)
    }
    if (before !== undefined) this.#logRemoval(before, after, concerned)
    return concerned
  }

  /** Handles a change of the object of a target. */
  #applyChange(gated: GatedTarget, { before, after }: Change): void {
    if (after === undefined) {
      if (objectOf(gated.state)?.metadata.uid === before?.metadata.uid) this.#assessLastState(gated, before)
      this.applyEvent(gated, { type: 'deleted' })
      return
    }
    const isFirstSight = this.#parts.store.listState(watchRequestOf(gated.target)) !== 'complete'
    this.applyEvent(gated, { type: 'found', object: after, isFirstSight })
  }

  /** The targets to assess after a list is complete: those in the list, and those that have read its state. */
  targetsAwaitingList(list: WatchRequest): readonly GatedTarget[] {
    return this.#targets.unendedTargets.filter(
      ({ target, reads }) =>
        target.selector !== undefined ||
        isSupersetOf(list, watchRequestOf(target)) ||
        reads?.hasReadListState(list) === true,
    )
  }

  /** The targets to assess after an Event: a Pod whose history the Event changes, or an absent object. */
  #targetsOfEvent({ involvedObject }: EventObject, pod?: KubeObject) {
    const { apiVersion = '', kind = '', namespace, name = '' } = involvedObject ?? {}
    const named = this.#targets.findByName({ apiVersion, kind, namespace, name })
    return named.filter(({ state }) => state.type !== 'ended' && [pod, undefined].includes(objectOf(state)))
  }

  /** Logs why a pod of a gated revision is deleted. */
  #logRemoval(before: KubeObject, after: KubeObject | undefined, concerned: ReadonlySet<GatedTarget>): void {
    const text = removalMessage(before, after)
    if (text === undefined) return
    for (const { state, index } of concerned) {
      const pods = state.type === 'ended' ? undefined : state.assessment?.pods
      if (pods !== undefined && revisionsByUid(pods).has(before.metadata.uid))
        this.#parts.log({ kind: 'note', text, target: index })
    }
  }

  /** Assesses these targets. If progress has changed, also assesses the targets that read the progress of others. */
  assess(targets: readonly GatedTarget[]): void {
    this.#assessByDependency(targets)
    const { progressKey } = this.#targets
    const before = this.#progressKey
    this.#progressKey = progressKey
    if (progressKey !== before)
      this.#assessByDependency(this.#targets.unendedTargets.filter(({ reads }) => reads?.readsOthers))
    this.#acceptRemovedHooks()
  }

  /** Makes removed hooks ready after all other targets are ready. See `isRemovedHook`. */
  #acceptRemovedHooks(): void {
    const others = this.#targets.targetsAwaitedByHooks
    if (others.length === 0 || others.some(({ state }) => !isTargetReady(state))) return
    for (const gated of this.#targets.openTargets.filter(isConfirmedRemovedHook)) {
      const text = `does not exist: its tool removes it after success (${gated.target.hook?.removal})`
      this.applyEvent(gated, { type: 'absence-accepted', text })
    }
  }

  /**
   * Assesses first the targets that read only their own pods, then the targets that read pods of other targets, then
   * newly deployed objects.
   */
  #assessByDependency(targets: readonly GatedTarget[]): void {
    const { length: known } = this.#targets.all
    // These targets read the pods of other targets: a Service, and a target whose last assessment has read such pods.
    const dependents = new Set(
      targets.filter(({ rule, reads }) => rule.serving?.selects !== undefined || (reads?.podOwners.size ?? 0) > 0),
    )
    const changed = new Set<number>()
    for (const gated of targets.filter((each) => !dependents.has(each))) {
      const { assessment: before } = gated.state
      this.runForTarget(gated, () => this.#assessTarget(gated))
      if (!haveSamePods(gated.state.assessment?.pods, before?.pods)) changed.add(gated.index)
    }
    if (changed.size > 0)
      for (const gated of this.#targets.unendedTargets)
        if ([...(gated.reads?.podOwners ?? [])].some((index) => changed.has(index))) dependents.add(gated)
    for (const gated of dependents) this.runForTarget(gated, () => this.#assessTarget(gated))
    const deployed = this.#targets.all.slice(known)
    if (deployed.length > 0) this.#assessByDependency(deployed)
  }

  #assessTarget(gated: GatedTarget): void {
    this.#changed.add(gated)
    if (gated.state.type === 'ended' || gated.state.assessment?.completed) return
    const awaited =
      gated.state.type === 'awaiting-change' && this.#hasExpectedImages && this.#parts.store.get(gated.target)
    if (awaited) this.#applyChange(gated, { after: awaited })
    const object = objectOf(gated.state)
    if (object === undefined) {
      this.#assessAbsent(gated)
    } else if (gated.readObject === object && this.#targets.isWaitingForList(gated)) {
      this.applyEvent(gated, { type: 'list-pending' })
    } else {
      const at = this.#nextAssessmentAt(gated)
      if (at <= this.#parts.now()) this.#assessObject(gated, object)
      else gated.recheckAt = Math.min(gated.recheckAt ?? Infinity, at)
    }
  }

  /**
   * When a target may be assessed next: at once, unless its last assessment examined many pods. A ready target is always
   * assessed at once, because the gate may end. At the end of the target or the gate, all changes have been assessed.
   */
  #nextAssessmentAt({ state, assessedAt, reads, end, settings }: GatedTarget): number {
    if (assessedAt === undefined || reads === undefined || isTargetReady(state) || settings.givesNoVerdict) return 0
    const waitMs = Math.floor(reads.podViews / examinedPodsPerMs)
    return Math.min(assessedAt + waitMs, end?.at ?? Infinity, this.#parts.timeoutAt())
  }

  #assessObject(gated: GatedTarget, object: KubeObject): void {
    const { reads: before } = gated
    this.#assessAndApply(gated, object)
    // Later reads through the same reader count too, for example for an undo.
    if (gated.reads !== undefined && gated.reads !== before) this.#readIndex.replace(gated, before, gated.reads)
  }

  #assessAndApply(gated: GatedTarget, object: KubeObject): void {
    const { rule, state } = gated
    const reader = gated.readerOf(object)
    const revisions = revisionsOf(object, reader)
    const assessment = assess(rule, object, reader)
    this.#keepReads(gated, reader.reads)
    gated.readObject = object
    if (this.#targets.isWaitingForList(gated)) {
      this.applyEvent(gated, { type: 'list-pending' })
      return
    }
    gated.recheckAt = reader.nextMoment()
    gated.assessedAt = reader.now
    this.applyEvent(gated, { type: 'revisions-listed', revisions })
    if (gated.state.type === 'ended') return
    const { failure } = assessment
    // A failure that the target itself reports does not depend on the explaining objects.
    const explaining =
      failure === undefined || isProblemOfTarget(failure, gated.target) ? [] : gated.requests.explaining
    const isUnavailable = this.#parts.health.isUnavailable([...gated.requests.needed, ...explaining])
    const hasConsequence = assessment.problems.some((problem) => traitsOf(problem).yieldsTo === 'awaited')
    const awaitsOther = hasConsequence && this.#targets.isWaitingForOther(gated, assessment)
    const availableRevision = state.assessment === undefined ? rule.undo?.availableRevision(object, reader) : undefined
    const changedAt = versionChangedAt(object, rule, reader)
    this.#addDeployed(gated, assessment)
    const facts = { isUnavailable, awaitsOther, changedAt, availableRevision }
    this.applyEvent(gated, { type: 'assessed', assessment, ...facts })
  }

  /** Keeps the reads of an assessment, and sets the watches of the target. */
  #keepReads(gated: GatedTarget, reads: Reads): void {
    gated.reads = reads
    const requests = requestsAfterAssessment(gated, reads)
    // The explaining objects are known only after every needed list is complete.
    const isPending = this.#targets.isWaitingForList({ requests })
    const { explaining } = isPending ? gated.requests : requests
    this.#targets.setRequests(gated, { ...requests, explaining })
  }

  /** Adds the objects that an operator has deployed to the targets of the gate. */
  #addDeployed(deployer: GatedTarget, { deployed }: Assessment): void {
    const { clocks, source, apiVersion, kind, namespace, name } = deployer.target
    const deployedBy = { apiVersion, kind, namespace, name }
    const names = deployed?.filter((each) => this.#targets.findByName(each).length === 0) ?? []
    if (names.length === 0) return
    const { stallTimeoutMs } = clocks
    const targets = names.map((each): Target => {
      return { ...each, clocks: omitUndefinedClocks({ stallTimeoutMs }), source, deployedBy }
    })
    for (const gated of this.add(targets, this.#parts.now())) {
      this.#parts.log({ kind: 'note', text: `deployed by ${deployer.name}`, target: gated.index, added: gated.target })
      const object = this.#parts.store.get(gated.target)
      if (object !== undefined) this.runForTarget(gated, () => this.#applyChange(gated, { after: object }))
    }
  }

  #assessAbsent(gated: GatedTarget): void {
    const { deployedBy } = gated.target
    if (deployedBy !== undefined && !wasDeleted(gated.state) && isUnreadable(gated)) {
      const text = `the credentials cannot read it: it counts by the word of ${displayName(deployedBy)}`
      this.applyEvent(gated, { type: 'absence-accepted', text })
      this.#targets.setRequests(gated, noRequests)
      return
    }
    if (gated.state.type === 'awaiting-change' || !isAbsenceKnown(gated)) return
    if (isDeletionAwaited(gated.target)) {
      this.applyEvent(gated, { type: 'absence-accepted', text: 'does not exist' })
      return
    }
    this.#assessLastState(gated, gated.state.seen?.gated)
    this.applyEvent(gated, { type: 'absence-known' })
  }

  /**
   * Assesses a deleted object by its last state, if the state is known.
   * @param object the last version; undefined if the gate never saw the object, so that only events may show its state
   */
  #assessLastState(gated: GatedTarget, object: KubeObject | undefined): void {
    const { target, state } = gated
    if (isDeletionAwaited(target) || state.type === 'ended' || state.assessment?.completed) return
    const last = object ?? this.#subjectOfLastEvent(target)
    const lastState = last && lastStateOfDeleted(last, this.#parts.store.eventsOf(last))
    if (lastState === undefined) return
    const deletedAt = state.deletedAt ?? this.#parts.now()
    this.applyEvent(gated, { type: 'found', object: lastState, isFirstSight: false })
    this.#assessObject(gated, lastState)
    this.applyEvent(gated, { type: 'last-state-judged', deletedAt })
  }

  /** A target object that the gate never saw, with the uid from its latest event since the gate's start. */
  #subjectOfLastEvent({ apiVersion, kind, namespace, name }: Target): KubeObject | undefined {
    const latest = this.#parts.store.eventsOf({ apiVersion, kind, metadata: { name, namespace } }).at(-1)
    const { uid } = latest?.involvedObject ?? {}
    if (latest === undefined || uid === undefined) return undefined
    const isCurrent = mayBeSinceStart(this.#gateTime.time(lastOccurrence(latest)), this.#parts.settings)
    return isCurrent ? { apiVersion, kind, metadata: { name, namespace, uid } } : undefined
  }

  /** Creates the reader for the rule of a target, for an assessment of its object at `now`. */
  #createReader(gated: GatedTarget, object: KubeObject, now: number): Reader {
    const { state } = gated
    const { seen, assessment } = state
    const reader = this.#sharedReaders.at(now)
    const { reads } = reader
    let workloads: { readonly hasUnassessed: boolean; readonly hasGated: boolean } | undefined
    const findWorkloads = () => {
      const selected = this.#selectedWorkloads(gated)
      for (const { index } of selected) reads.podOwners.add(index)
      return {
        hasUnassessed: selected.some((other) => other.state.assessment === undefined && other.state.type !== 'ended'),
        hasGated: selected.some((other) => this.#hasWantedPods(other)),
      }
    }
    return {
      ...reader,
      history: seen?.history ?? observeTarget(undefined, object, now),
      knownRevision: state.type === 'awaiting-change' ? state.known : seen?.arrival?.known,
      lastAssessment: assessment,
      holding: this.#targets.holding,
      othersProgress: () => {
        reads.readsOthers = true
        return this.#targets.isOtherProgressing(gated)
      },
      othersReadyAt: () => {
        reads.readsOthers = true
        return this.#targets.othersLastReadyAt(gated)
      },
      revisionOf: (pod) => {
        workloads ??= findWorkloads()
        if (workloads.hasUnassessed) return 'other'
        return this.#revisionOf(pod, reads) ?? (workloads.hasGated ? 'other' : undefined)
      },
    }
  }

  /** The gated workloads whose pods a target selects. */
  #selectedWorkloads({ rule: { serving }, state }: GatedTarget): readonly GatedTarget[] {
    const object = objectOf(state)
    if (object === undefined || serving?.selects === undefined) return []
    return this.#targets.all.filter(({ target, rule }) => {
      if (target.namespace !== object.metadata.namespace || rule.serving === undefined) return false
      const workload = rule.serving.selects === undefined ? this.#parts.store.get(target) : undefined
      return workload !== undefined && serving.selects?.(object, podTemplateMetadata(workload)) === true
    })
  }

  /** Whether a gated workload has assessed pods, and wants at least one. */
  #hasWantedPods(gated: GatedTarget): boolean {
    const { state, rule } = gated
    const object = objectOf(state)
    if (object === undefined || state.assessment?.pods === undefined) return false
    return rule.serving?.isEmpty(object, gated.readerOf(object)) === false
  }

  /** The revision of a pod within the gated workloads that own it. Undefined if none of them has assessed pods. */
  #revisionOf(pod: Pod, { podOwners }: Reads): PodRevision | undefined {
    const owners = this.#targets.targetsOwning(pod)
    for (const { index } of owners) podOwners.add(index)
    const assessed = owners.flatMap(({ state }) => state.assessment?.pods ?? [])
    if (assessed.length === 0) return undefined
    const found = assessed.map((pods) => revisionsByUid(pods).get(pod.metadata.uid))
    return found.find((revision) => revision !== undefined) ?? 'other'
  }
}

/** Whether a target cannot be read: access is denied, or the kind is not served or not in the recording. */
function isUnreadable({ target, store }: GatedTarget): boolean {
  const request = watchRequestOf(target)
  return isMissing(store.refusalOf(request)) || store.listState(request) === 'unknown'
}
