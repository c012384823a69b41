import { isDeepStrictEqual } from 'node:util'
import { type Failure, isAccessDenied, type WatchRequest } from '../cluster/feed.ts'
import { type KubeObject, nameOf, type ObjectName } from '../cluster/objects.ts'
import { isSupersetOf, type Store } from '../cluster/store.ts'
import { type Assessment, isOnlyWaiting } from '../lifecycle/assessment.ts'
import { earliestMoment, latestMoment } from '../lifecycle/proof.ts'
import type { Hold } from '../lifecycle/reader.ts'
import { nameKey, type Target, watchRequestOf } from '../plan/target.ts'
import { traitsOf } from '../reasons/reasons.ts'
import type { ApiHealth } from './api-health.ts'
import type { GateSettings } from './settings.ts'
import {
  type GatedTarget,
  isRemovedHook,
  isUndecided,
  type Requests,
  type TargetState,
  wasDeleted,
} from './target-state.ts'

/** What the targets of a gate read besides their states. */
export interface TargetParts {
  readonly settings: GateSettings
  readonly store: Store
  readonly health: ApiHealth
}

/** The targets of a gate with their states: which there are, what they wait for, and the watches that they need. */
export class Targets {
  readonly #parts: TargetParts
  readonly #all: GatedTarget[] = []
  readonly #byName = new Map<string, GatedTarget[]>()
  /** The hold, once it has begun. */
  holding: Hold | undefined
  /** Caches `requests` until a target is added or needs other watches. */
  #requests: readonly WatchRequest[] | undefined

  constructor(parts: TargetParts) {
    this.#parts = parts
  }

  /** All targets: those of the gate's start in the order of the input, then those that operators deployed. */
  get all(): readonly GatedTarget[] {
    return this.#all
  }

  get openTargets(): readonly GatedTarget[] {
    return this.all.filter(({ state }) => isUndecided(state))
  }

  /** Whether no open target can change the verdict. A deployed target cannot once the operator's object has failed. */
  get isDone(): boolean {
    return this.openTargets.every((gated) => this.#deployersOf(gated).some((deployer) => this.#hasFailed(deployer)))
  }

  /** Whether an open target may still fail. An operator's object only waits, once an object that it deployed has failed. */
  get mayStillFail(): boolean {
    const failed = this.all.filter((gated) => this.#hasFailed(gated))
    const waiting = new Set(failed.flatMap((gated) => this.#deployersOf(gated)))
    return this.openTargets.some((gated) => !waiting.has(gated))
  }

  /** When the first target ended without being ready. With `on-superseded: pass`, a superseded target does not count. */
  get firstFailureAt(): number | undefined {
    return earliestMoment(
      this.all.map((gated) => (gated.state.type === 'ended' && this.#hasFailed(gated) ? gated.state.at : undefined)),
    )
  }

  #hasFailed({ state }: GatedTarget): boolean {
    if (state.type !== 'ended' || state.verdict.outcome === 'unknown') return false
    return !(traitsOf(state.verdict).mayPass && this.#parts.settings.onSuperseded === 'pass')
  }

  /** The target of the operator that deployed an object. */
  #deployersOf({ target: { deployedBy } }: GatedTarget): readonly GatedTarget[] {
    return deployedBy === undefined ? [] : this.findByName(deployedBy)
  }

  add(added: readonly GatedTarget[]): void {
    this.#requests = undefined
    for (const gated of added) {
      this.#all.push(gated)
      const key = nameKey(gated.target)
      this.#byName.set(key, [...(this.#byName.get(key) ?? []), gated])
    }
  }

  /** Keeps the watches that a target needs by its last assessment. */
  setRequests(gated: GatedTarget, requests: Requests): void {
    if (isDeepStrictEqual(gated.requests, requests)) return
    gated.requests = requests
    this.#requests = undefined
  }

  /** Whether another target than this one progresses. Then this one has more time. */
  othersProgress(gated: GatedTarget): boolean {
    return this.all.some((other) => other !== gated && isProgressing(other.state))
  }

  /** When another target than this one last became ready: containers that crashed before may have waited for it. */
  othersReadyAt(gated: GatedTarget): number | undefined {
    return latestMoment(this.all.map((other) => (other === gated ? undefined : other.state.readyAt)))
  }

  /** Changes when `othersProgress` or `othersReadyAt` of a target may change. */
  get progressKey(): string {
    const progressing = this.all.filter(({ state }) => isProgressing(state))
    const ready = this.all.map(({ state }) => state.readyAt ?? 0)
    const readyAt = Math.max(...ready)
    return `${progressing.length > 1 ? 'several' : progressing[0]?.index} ${ready.lastIndexOf(readyAt)} ${readyAt}`
  }

  /** The targets with this name: several references may name one object. */
  findByName(reference: Parameters<typeof nameKey>[0]): readonly GatedTarget[] {
    return this.#byName.get(nameKey(reference)) ?? []
  }

  /** The watches that all targets need, those that explain them, optional ones and those of undos. The same array while nothing changes. */
  get requests(): readonly WatchRequest[] {
    this.#requests ??= this.all.flatMap(({ requests }) => Object.values(requests).flat())
    return this.#requests
  }

  /** Whether only warnings need what a request reads. */
  isOptional(request: Partial<WatchRequest>): boolean {
    const isRead = (each: WatchRequest) => isSupersetOf(request, each)
    return (
      this.all.some((gated) => [...gated.requests.optional, ...gated.requests.undo].some(isRead)) &&
      !this.all.some((gated) => [...gated.requests.needed, ...gated.requests.explaining].some(isRead))
    )
  }

  /** The watches that the unended targets need. */
  get neededRequests(): readonly WatchRequest[] {
    return this.unendedTargets.flatMap(({ requests }) => requests.needed)
  }

  get unendedTargets(): readonly GatedTarget[] {
    return this.all.filter(({ state }) => state.type !== 'ended')
  }

  /** Whether a target is a hook that certainly does not exist, and that its tool may have removed after success. */
  isRemoved(gated: GatedTarget): boolean {
    return isRemovedHook(gated) && this.isAbsenceKnown(gated) && this.#parts.store.get(gated.target) === undefined
  }

  /** The targets for which the removed hooks wait. */
  get awaitedByHooks(): readonly GatedTarget[] {
    return this.all.filter((gated) => !isRemovedHook(gated))
  }

  /** Whether a target waits for another open target, or for an object that belongs to one. */
  awaitsOther(gated: GatedTarget, { awaits = [] }: Partial<Assessment> = gated.state.assessment ?? {}): boolean {
    return awaits.some((name) =>
      this.findByNameOrOwner(name).some((other) => other !== gated && isUndecided(other.state)),
    )
  }

  /** The targets whose object is this object, or owns it directly or indirectly, the nearest first. */
  targetsOf(object: KubeObject): readonly GatedTarget[] {
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

  /** The targets that have this name, then those whose object has it or owns it directly or indirectly, the nearest first. */
  findByNameOrOwner(name: ObjectName): readonly GatedTarget[] {
    const object = this.#parts.store.get(name)
    return [...this.findByName(name), ...(object === undefined ? [] : this.targetsOf(object))]
  }

  /** Whether access to a target is refused, its kind is not served, or a recording does not contain it. */
  isUnreadable(target: Target): boolean {
    const request = watchRequestOf(target)
    const isMissing = this.#parts.store.refusalOf(request)?.type === 'MISSING'
    return isMissing || this.#parts.store.listState(request) === 'unknown'
  }

  /** The first denial of access to what these targets need; undefined if nothing is denied. */
  denialOf(targets: readonly GatedTarget[]): Failure | undefined {
    const needed = targets.flatMap(({ requests }) => requests.needed)
    return needed.flatMap((request) => this.#parts.store.refusalOf(request) ?? []).find(isAccessDenied)
  }

  /** When the last awaited revision arrived; undefined if none is awaited, Infinity while one is. */
  get revisionsArrivedAt(): number | undefined {
    const moments = this.all.flatMap(({ state, rule }) => {
      if (rule.arrival === undefined) return []
      return state.type === 'awaiting-change' ? [Infinity] : (state.seen?.arrival?.at ?? [])
    })
    return moments.length === 0 ? undefined : Math.max(...moments)
  }

  /**
   * Whether no deadline may end a target: a watch that it needs is unavailable, its first list is not complete, or it is
   * a removed hook that waits for other targets.
   */
  isUnanswered(gated: GatedTarget): boolean {
    return (
      this.#parts.health.isUnavailable(gated.requests.needed) || this.isPending(gated) || this.#isWaitingHook(gated)
    )
  }

  #isWaitingHook(gated: GatedTarget): boolean {
    return this.isRemoved(gated) && this.awaitedByHooks.some(({ state }) => isUndecided(state))
  }

  /** Whether a needed list is not complete, or an optional list is not complete and its watch is available. */
  isPending({ requests }: Pick<GatedTarget, 'requests'>): boolean {
    const isPending = (request: WatchRequest) => this.#parts.store.listState(request) === 'pending'
    return (
      requests.needed.some(isPending) ||
      requests.optional.some((request) => isPending(request) && !this.#parts.health.isUnavailable([request]))
    )
  }

  /**
   * Whether a target is certainly absent: it was deleted, the complete list of its kind does not contain it, or its selector
   * matched nothing when the targets were resolved.
   */
  isAbsenceKnown({ state, target }: GatedTarget): boolean {
    return (
      target.selector !== undefined ||
      wasDeleted(state) ||
      this.#parts.store.listState(watchRequestOf(target)) === 'complete'
    )
  }
}

/** Whether a target progresses without a problem. A target that awaits its change counts too. */
function isProgressing(state: TargetState): boolean {
  if (state.type === 'awaiting-change') return true
  return isUndecided(state) && state.assessment !== undefined && isOnlyWaiting(state.assessment)
}
