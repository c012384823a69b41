import { isDeepStrictEqual } from 'node:util'
import { isAccessDenied } from '../cluster/failures.ts'
import { type Failure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { type KubeObject, nameOf, type ObjectName } from '../cluster/objects.ts'
import { isSupersetOf, type Store, type WatchedRequests } from '../cluster/store.ts'
import { type Assessment, isOnlyWaiting } from '../lifecycle/assessment.ts'
import { problemAndCause } from '../lifecycle/evidence-snapshot.ts'
import { earliestMoment, latestMoment } from '../lifecycle/proof.ts'
import type { Hold } from '../lifecycle/reader.ts'
import { nameKey } from '../plan/target.ts'
import { classOf, isUnaffectedByOthers, otherSubjects, type Problem, traitsOf } from '../reasons/reasons.ts'
import type { ApiHealth } from './api-health.ts'
import { mayBeCause } from './outcome.ts'
import type { GateSettings } from './settings.ts'
import {
  type GatedTarget,
  isConfirmedRemovedHook,
  isRemovedHook,
  isTargetReady,
  isUndecided,
  type Requests,
  type TargetState,
  verdictSoFar,
} from './target-state.ts'
import { isProblemOfTarget } from './timeline-entries.ts'
import { consolidateRequests, eventKind } from './watch-requests.ts'

export interface TargetParts {
  readonly settings: GateSettings
  readonly store: Store
  readonly health: ApiHealth
  /** All watches since the start of the gate. */
  readonly watched: WatchedRequests
}

/** The targets of a gate, what they wait for, and the watches that they need. */
export class Targets {
  readonly #parts: TargetParts
  readonly #all: GatedTarget[] = []
  readonly #byName = new Map<string, GatedTarget[]>()
  /** The time for which all targets must stay ready (input `hold`). Undefined until that time begins. */
  holding: Hold | undefined
  /** Caches `watches` until a target is added, its watches change, or the watch of a namespace is refused. */
  #watches: readonly WatchRequest[] | undefined
  /** The watches of whole namespaces that the server refused. Watches of single objects replace them. */
  readonly #refusedNamespaceWatches = new Set<string>()

  constructor(parts: TargetParts) {
    this.#parts = parts
  }

  /** All targets: first those at the gate's start in the order of the input, then deployed objects. */
  get all(): readonly GatedTarget[] {
    return this.#all
  }

  /** The targets without an outcome: neither ready nor ended. */
  get openTargets(): readonly GatedTarget[] {
    return this.all.filter(({ state }) => isUndecided(state))
  }

  /** Whether no open target can change the verdict. After an operator's object fails, its deployed objects cannot. */
  get isDecided(): boolean {
    return this.openTargets.every((gated) => this.#deployersOf(gated).some(hasFailed))
  }

  /** Whether an open target may still fail. An operator object that waits for a failed deployed object cannot. */
  get mayStillFail(): boolean {
    const failed = this.all.filter(hasFailed)
    const waiting = new Set(failed.flatMap((gated) => this.#deployersOf(gated)))
    return this.openTargets.some((gated) => !waiting.has(gated))
  }

  /** When the first target failed. */
  get firstFailureAt(): number | undefined {
    return earliestMoment(
      this.all.filter(hasFailed).map(({ state }) => (state.type === 'ended' ? state.at : undefined)),
    )
  }

  /** The targets of the operator object that deployed this target. */
  #deployersOf({ target: { deployedBy } }: GatedTarget): readonly GatedTarget[] {
    return deployedBy === undefined ? [] : this.findByName(deployedBy)
  }

  add(added: readonly GatedTarget[]): void {
    this.#watches = undefined
    for (const gated of added) {
      this.#all.push(gated)
      const key = nameKey(gated.target)
      this.#byName.set(key, [...(this.#byName.get(key) ?? []), gated])
    }
  }

  setRequests(gated: GatedTarget, requests: Requests): void {
    if (isDeepStrictEqual(gated.requests, requests)) return
    gated.requests = requests
    this.#watches = undefined
  }

  isOtherProgressing(gated: GatedTarget): boolean {
    return this.all.some((other) => other !== gated && isProgressing(other.state))
  }

  othersLastReadyAt(gated: GatedTarget): number | undefined {
    return latestMoment(this.all.map((other) => (other === gated ? undefined : other.state.readyAt)))
  }

  /** A text that changes when `isOtherProgressing` or `othersLastReadyAt` of a target may change. */
  get progressKey(): string {
    const progressing = this.all.filter(({ state }) => isProgressing(state))
    const ready = this.all.map(({ state }) => state.readyAt ?? 0)
    const readyAt = Math.max(...ready)
    return `${progressing.length > 1 ? 'several' : progressing[0]?.index} ${ready.lastIndexOf(readyAt)} ${readyAt}`
  }

  /** Finds the targets with this name. Several references may name the same object. */
  findByName(reference: Parameters<typeof nameKey>[0]): readonly GatedTarget[] {
    return this.#byName.get(nameKey(reference)) ?? []
  }

  /** The requests of the targets, for every need. */
  get #requests(): readonly WatchRequest[] {
    return this.all.flatMap(({ requests }) => Object.values(requests).flat())
  }

  /** The watches of the targets and of Events, combined for each namespace. The same array while nothing changes. */
  get watches(): readonly WatchRequest[] {
    if (this.#watches === undefined) {
      const found = this.all.filter(({ target }) => target.selector === undefined)
      const namespaces = new Set(found.map(({ target }) => target.namespace ?? 'default'))
      const events = [...namespaces].map((namespace) => ({ ...eventKind, namespace }))
      const own = new Set(this.all.map(({ target }) => target.namespace))
      this.#watches = consolidateRequests(
        [...this.#requests, ...events],
        (wide) => this.#refusedNamespaceWatches.has(requestKey(wide)),
        (namespace) => namespace !== undefined && !own.has(namespace),
      )
      this.#parts.watched.add(this.#watches)
    }
    return this.#watches
  }

  /** Watches single objects again if this refused watch of a namespace replaced their watches. False if it did not. */
  splitNamespaceWatch(refused: Partial<WatchRequest>): boolean {
    const key = requestKey(refused)
    const isSame = (each: WatchRequest) => requestKey(each) === key
    const needed = this.#requests
    const replacesOthers = needed.some((each) => isSupersetOf(refused, each)) && !needed.some(isSame)
    if (!replacesOthers || !this.watches.some(isSame)) return false
    this.#refusedNamespaceWatches.add(key)
    this.#watches = undefined
    return true
  }

  /** Whether a request is only for warnings or undos. */
  isOptional(request: Partial<WatchRequest>): boolean {
    const isRead = (each: WatchRequest) => isSupersetOf(request, each)
    return (
      this.all.some((gated) => [...gated.requests.optional, ...gated.requests.undo].some(isRead)) &&
      !this.all.some((gated) => [...gated.requests.needed, ...gated.requests.explaining].some(isRead))
    )
  }

  get neededRequests(): readonly WatchRequest[] {
    return this.unendedTargets.flatMap(({ requests }) => requests.needed)
  }

  get unendedTargets(): readonly GatedTarget[] {
    return this.all.filter(({ state }) => state.type !== 'ended')
  }

  /** The targets that removed hooks wait for. */
  get targetsAwaitedByHooks(): readonly GatedTarget[] {
    return this.all.filter((gated) => !isRemovedHook(gated))
  }

  /** Whether a target waits for another open target or for an object of another open target. */
  isWaitingForOther(gated: GatedTarget, { awaits = [] }: Partial<Assessment> = gated.state.assessment ?? {}): boolean {
    return awaits.some((name) =>
      this.findByNameOrOwner(name).some((other) => other !== gated && isUndecided(other.state)),
    )
  }

  /** The targets whose object is this object or one of its owners (also indirect), the nearest first. */
  targetsOwning(object: KubeObject): readonly GatedTarget[] {
    const found = new Set([object])
    for (const { metadata } of found)
      for (const reference of metadata.ownerReferences ?? []) {
        const owner = this.#parts.store.lastKnown({ ...reference, namespace: metadata.namespace })
        if (owner?.metadata.uid === reference.uid) found.add(owner)
      }
    return [...found].flatMap((each) =>
      this.findByName(nameOf(each)).filter(({ state }) => state.seen?.object.metadata.uid === each.metadata.uid),
    )
  }

  /** Finds the targets with this name, then the targets whose object is an owner of the object with this name. */
  findByNameOrOwner(name: ObjectName): readonly GatedTarget[] {
    const object = this.#parts.store.get(name)
    return [...this.findByName(name), ...(object === undefined ? [] : this.targetsOwning(object))]
  }

  /** The first denied access to objects that these targets need. */
  firstDenial(targets: readonly GatedTarget[]): Failure | undefined {
    const needed = targets.flatMap(({ requests }) => requests.needed)
    return needed.flatMap((request) => this.#parts.store.refusalOf(request) ?? []).find(isAccessDenied)
  }

  /** When the last awaited revision arrived. Infinity while one is missing; undefined if no target awaits one. */
  get revisionsArrivedAt(): number | undefined {
    const moments = this.all.flatMap(({ state, rule }) => {
      if (rule.arrival === undefined) return []
      return state.type === 'awaiting-change' ? [Infinity] : (state.seen?.arrival?.at ?? [])
    })
    return moments.length === 0 ? undefined : Math.max(...moments)
  }

  /**
   * Whether no deadline may end a target now: a needed watch is unavailable, a first list is not complete, or the
   * target is a removed hook that waits for other targets.
   */
  isDeadlineBlocked(gated: GatedTarget): boolean {
    return (
      this.#parts.health.isUnavailable(gated.requests.needed) ||
      this.isWaitingForList(gated) ||
      (isConfirmedRemovedHook(gated) && this.targetsAwaitedByHooks.some(({ state }) => isUndecided(state)))
    )
  }

  /** Whether the assessment waits for a list: a needed list, or an optional list whose watch is available. */
  isWaitingForList({ requests }: Pick<GatedTarget, 'requests'>): boolean {
    const isPending = (request: WatchRequest) => this.#parts.store.listState(request) === 'pending'
    return (
      requests.needed.some(isPending) ||
      requests.optional.some((request) => isPending(request) && !this.#parts.health.isUnavailable([request]))
    )
  }

  /**
   * Finds the targets that are not ready only because they wait for another target. If A waits for B and B waits for C,
   * the cause of A is C. Targets that wait for each other have no cause.
   * @returns the cause of each waiting target
   */
  findCauses(): ReadonlyMap<GatedTarget, GatedTarget> {
    const pairs = this.all.map((gated) => [gated, this.#awaitedTarget(gated)] as const)
    const awaited = new Map(pairs.flatMap(([gated, other]) => (other === undefined ? [] : [[gated, other]])))
    return new Map(
      [...awaited.keys()].flatMap((gated) => {
        const root = lastInChain(gated, awaited)
        return root === undefined ? [] : [[gated, root]]
      }),
    )
  }

  /** The first awaited target that is not ready. A target never waits for itself or for its own objects. */
  #awaitedTarget(gated: GatedTarget): GatedTarget | undefined {
    // A removed hook waits for all other targets.
    const isHook = !isTargetReady(gated.state) && isConfirmedRemovedHook(gated)
    const unready = isHook ? this.targetsAwaitedByHooks.find(({ state }) => !isTargetReady(state)) : undefined
    if (unready !== undefined) return unready
    const { outcome } = verdictSoFar(gated)
    const ownKey = nameKey(gated.target)
    return awaitedObjects(gated)
      .flatMap((name) => this.findByNameOrOwner(name).slice(0, 1))
      .find((other) => nameKey(other.target) !== ownKey && mayBeCause(verdictSoFar(other).outcome, outcome))
  }
}

/** Whether a target has failed. With `on-superseded: pass`, a superseded target has not. */
function hasFailed({ state, settings }: GatedTarget): boolean {
  if (state.type !== 'ended' || state.verdict.outcome === 'unknown') return false
  return !(traitsOf(state.verdict).mayPass && settings.onSuperseded === 'pass')
}

/** Whether a target is in progress without a problem. A target that awaits its change is in progress too. */
function isProgressing(state: TargetState): boolean {
  if (state.type === 'awaiting-change') return true
  return isUndecided(state) && state.assessment !== undefined && isOnlyWaiting(state.assessment)
}

/** The last target in a chain of awaited targets. Undefined if the chain is a circle. */
function lastInChain(first: GatedTarget, awaited: ReadonlyMap<GatedTarget, GatedTarget>): GatedTarget | undefined {
  const chain = new Set([first])
  for (const gated of chain) {
    const next = awaited.get(gated)
    if (next === undefined) return gated
    if (chain.has(next)) return undefined
    chain.add(next)
  }
  return undefined
}

/** The objects that a target waits for: first the objects of its problem, then the objects that its rule awaits. */
function awaitedObjects(gated: GatedTarget): readonly ObjectName[] {
  const { state, target } = gated
  const { reason, problem } = verdictSoFar(gated)
  const awaits = state.assessment?.awaits ?? []
  if (problem === undefined) return reason === '' || traitsOf({ reason }).hasNoProblem ? awaits : []
  const subjects = problemAndCause(problem)
    .toReversed()
    .flatMap((each) => [...(isProblemOfTarget(each, target) ? [] : [each.subject]), ...otherSubjects(each)])
  // The `apiVersion` `group/` matches every version of the group.
  const names = subjects.map(({ group, ...name }) => ({ ...name, apiVersion: `${group}/` }))
  return [...names, ...(mayWait(problem) ? awaits : [])]
}

/** Whether a problem may end when another object becomes ready. */
function mayWait(problem: Problem): boolean {
  const { awaits } = traitsOf(problem)
  return classOf(problem) === 'slow' && awaits !== 'deletion' && awaits !== 'user' && !isUnaffectedByOthers(problem)
}
