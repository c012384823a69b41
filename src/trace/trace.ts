import { distinctRequests, type Failure, type FeedEvent, isFailure, type WatchRequest } from '../cluster/feed.ts'
import { type EventObject, isOfKind, type KubeObject, nameOf } from '../cluster/objects.ts'
import { OwnershipIndex } from '../cluster/ownership-index.ts'
import { type Change, covers, Store } from '../cluster/store.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import { assessOwned } from '../lifecycle/custom/cause.ts'
import { createGateTime } from '../lifecycle/gate-time.ts'
import { isSelectedBy } from '../lifecycle/network/service-explanation.ts'
import type { Rule } from '../lifecycle/rule.ts'
import type { LifecycleSettings, RuleContext } from '../lifecycle/rule-context.ts'
import { kindRule, kindsBehind, type TargetChecks, targetRule } from '../lifecycle/rules.ts'
import { createContexts, type SharedContexts } from '../lifecycle/shared-context.ts'
import { observeTarget, type TargetHistory } from '../lifecycle/target-history.ts'
import { pluralOf } from '../plan/kinds.ts'
import { nameKey, type Target, targetWatch } from '../plan/target.ts'

/** The content of a trace view at one time. Times are milliseconds since the epoch on this machine's clock. */
export interface TraceState {
  readonly target: Target
  readonly startedAt: number
  readonly now: number
  /** Absent while the resource does not exist or is still loading. */
  readonly traced?: TracedObject
  /** Set only while the resource does not exist. */
  readonly deletedAt?: number
  /** When the resource was created again after a deletion. */
  readonly recreatedAt?: number
  /** The pods that still exist after their owner was deleted. */
  readonly remainingPods: readonly KubeObject[]
  /** The kinds that cannot be read or do not exist, with the server's message. */
  readonly unreadable: readonly string[]
  /** Why the server does not answer at present. */
  readonly connectionError?: string
  /** Whether the first list of a watch did not arrive yet. */
  readonly isLoading: boolean
}

/** An existing resource with its assessment and the objects that belong to it. */
export interface TracedObject {
  readonly object: KubeObject
  readonly assessment: Assessment
  readonly context: RuleContext
  /** Objects that recently left the resource. */
  readonly departed: readonly DepartedObject[]
  /** All objects that the owner with this uid owns, in the order in which they were seen. */
  owned(uid: string | undefined): readonly KubeObject[]
  events(object: KubeObject): readonly EventObject[]
  assessOwned(object: KubeObject): Assessment
}

/** An object that no longer belongs to the resource. */
export interface DepartedObject {
  readonly object: KubeObject
  /** The uid of its former owner or Service. */
  readonly from: string
  readonly at: number
  /** `released`: the object still exists, with another owner or other labels. */
  readonly how: 'deleted' | 'released'
}

const departedMs = 15_000

export interface TraceSettings extends LifecycleSettings, Pick<TargetChecks, 'catalogue'> {
  /** Start of the view: milliseconds since the epoch on this machine's clock. */
  readonly startedAt: number
  /** Server time minus local time. */
  readonly serverOffsetMs: number
}

/**
 * The state of one resource and of the objects that belong to it, judged by the gate's lifecycle rules. A trace has no
 * end: a failed resource may recover, and a deleted one may be created again. Its time advances only when `handle` or
 * `state` is called.
 */
export class Trace {
  readonly #target: Target
  readonly #rule: Rule
  readonly #settings: TraceSettings
  // Every request is watched, so its first list will come.
  readonly #store = new Store(() => true)
  readonly #ownership = new OwnershipIndex<Target>(this.#store)
  readonly #contexts: SharedContexts
  readonly #unreadable = new Map<string, Partial<WatchRequest>>()
  #departed: DepartedObject[] = []
  #history: TargetHistory | undefined
  #object: KubeObject | undefined
  #deletedAt: number | undefined
  #recreatedAt: number | undefined
  #connectionError: string | undefined

  constructor(target: Target, settings: TraceSettings) {
    this.#target = target
    this.#rule = targetRule(target, settings)
    this.#settings = settings
    this.#contexts = createContexts(this.#store, createGateTime(settings), settings)
  }

  /** The watches that the view needs at present. */
  get requests(): readonly WatchRequest[] {
    const { namespace } = this.#target
    const wide = requestsBehind(this.#target, this.#settings)
    const relatives = this.#object === undefined ? [] : this.#rule.relatives(this.#object)
    return [
      targetWatch(this.#target),
      ...wide,
      ...relatives.filter((request) => !wide.some((each) => covers(each, request))),
      { apiVersion: 'v1', kind: 'Event', namespace },
    ]
  }

  handle(event: FeedEvent): void {
    this.#connectionError = undefined
    if (isFailure(event)) this.#handleFailure(event)
    for (const change of this.#store.apply(event)) this.#handleChange(change, event.at)
  }

  state(now: number): TraceState {
    const object = this.#object
    const isLoading = this.requests.some((request) => this.#listState(request) === 'pending')
    return {
      target: this.#target,
      startedAt: this.#settings.startedAt,
      now,
      isLoading,
      traced: object === undefined || isLoading ? undefined : this.#assess(object, now),
      deletedAt: this.#deletedAt,
      recreatedAt: this.#recreatedAt,
      remainingPods: this.#deletedAt === undefined ? [] : this.#remainingPods(),
      unreadable: [...this.#unreadable.keys()],
      connectionError: this.#connectionError,
    }
  }

  #handleFailure(failure: Failure): void {
    const { kind = 'object', message } = failure
    if (failure.type === 'UNAVAILABLE') this.#connectionError = message
    else this.#unreadable.set(`${pluralOf(kind)} cannot be read: ${message}`, { ...failure, kind })
  }

  #handleChange(change: Change, now: number): void {
    const { before, after } = change
    const object = after ?? before
    this.#contexts.observe(change, now)
    if (object.kind === 'Event') return
    // A kind with a change is readable again.
    for (const [message, { kind }] of this.#unreadable) if (kind === object.kind) this.#unreadable.delete(message)
    if (before !== undefined) this.#recordDeparture(before, after, now)
    if (nameKey(nameOf(object)) === nameKey(this.#target)) this.#setObject(after, now)
    if (after !== undefined) this.#ownership.add(after)
  }

  #setObject(after: KubeObject | undefined, now: number): void {
    this.#object = after
    if (after === undefined) {
      this.#deletedAt = now
      this.#history = undefined
      return
    }
    if (this.#deletedAt !== undefined) this.#recreatedAt = now
    this.#deletedAt = undefined
    this.#history = observeTarget(this.#history, after, now, this.#rule.failures?.(after))
    this.#ownership.assign(after.metadata.uid, this.#target)
  }

  /** Records an object that belonged to the resource by owner or by the Service's selector. */
  #recordDeparture(before: KubeObject, after: KubeObject | undefined, now: number): void {
    this.#departed = this.#departed.filter(({ at }) => now - at < departedMs)
    const ownersNow = new Set(after?.metadata.ownerReferences?.map(({ uid }) => uid))
    const lost = (before.metadata.ownerReferences ?? []).filter(({ uid }) => !ownersNow.has(uid))
    const belonged = this.#ownership.targetsOf(before).size > 0
    const from = belonged ? lost[0]?.uid : this.#deselectedFrom(before, after)
    if (from === undefined) return
    this.#departed.push({ object: after ?? before, from, at: now, how: after === undefined ? 'deleted' : 'released' })
  }

  /** The uid of the Service if it selected a pod before the change but not after it. */
  #deselectedFrom(before: KubeObject, after: KubeObject | undefined): string | undefined {
    const service = this.#object
    if (before.kind !== 'Pod' || !isOfKind(service, 'Service')) return undefined
    const isSelected = after !== undefined && isSelectedBy(service, after)
    return isSelectedBy(service, before) && !isSelected ? service.metadata.uid : undefined
  }

  #listState(request: WatchRequest) {
    const isUnreadable = [...this.#unreadable.values()].some((unreadable) => covers(unreadable, request))
    return isUnreadable ? 'unknown' : this.#store.listState(request)
  }

  #assess(object: KubeObject, now: number): TracedObject {
    const context: RuleContext = {
      ...this.#contexts.at(now),
      history: this.#history ?? observeTarget(undefined, object, now, this.#rule.failures?.(object)),
      othersProgress: false,
      // No workload is gated, so no pod belongs to a gated revision.
      isOfGatedRevision: () => undefined,
      listState: (request) => this.#listState(request),
    }
    return {
      object,
      context,
      assessment: this.#rule.assess(object, context),
      departed: this.#departed.filter(({ at }) => now - at < departedMs),
      owned: (uid) => this.#store.ownedBy(uid),
      assessOwned: (owned) => assessOwned(owned, kindRule(owned, this.#settings), context),
      events: (about) => this.#store.eventsOf(about),
    }
  }

  #remainingPods(): readonly KubeObject[] {
    return this.#store.list('Pod', this.#target.namespace).filter((pod) => this.#ownership.targetsOf(pod).size > 0)
  }
}

/**
 * The watches of the kinds behind a resource. They cover the whole namespace without selectors, to show pods whose labels
 * change, and pods that a selector nearly matches.
 */
function requestsBehind(target: Target, settings: TraceSettings): readonly WatchRequest[] {
  const { namespace, name } = target
  if (namespace === undefined) return []
  const { kinds } = kindsBehind(target, settings)
  // The tree of an owner includes what its owned objects own.
  const all = [...kinds, ...kinds.flatMap((kind) => (kindsBehind(kind).isKnown ? kindsBehind(kind).kinds : []))]
  const requests = all.map((kind) => {
    const labelSelector = kind.kind === 'EndpointSlice' ? `kubernetes.io/service-name=${name}` : undefined
    return { ...kind, namespace, labelSelector }
  })
  return distinctRequests(requests)
}
