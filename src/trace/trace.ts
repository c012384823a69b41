import { type Failure, type FeedEvent, isFailure, type WatchRequest } from '../cluster/feed.ts'
import type { EventObject, KubeObject, Service } from '../cluster/objects.ts'
import { OwnershipIndex } from '../cluster/ownership-index.ts'
import { type Change, covers, groupOf, Store } from '../cluster/store.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import { waitForRule } from '../lifecycle/custom/wait-for.ts'
import { createGateTime, type GateTime } from '../lifecycle/gate-time.ts'
import { isSelectedBy } from '../lifecycle/network/service-pods.ts'
import type { Rule } from '../lifecycle/rule.ts'
import type { LifecycleSettings, RuleContext } from '../lifecycle/rule-context.ts'
import { ruleOf } from '../lifecycle/rules.ts'
import { storeContext } from '../lifecycle/store-context.ts'
import { observeTarget, type TargetHistory } from '../lifecycle/workloads/history.ts'
import { PodHistories } from '../lifecycle/workloads/pod-histories.ts'
import { pluralOf } from '../plan/kinds.ts'
import { type Target, targetWatch } from '../plan/target.ts'
import { companions } from './companions.ts'

/** Everything that the picture of a resource is drawn from, at one moment. */
export interface TraceState {
  readonly target: Target
  /** Milliseconds since the epoch on this machine's clock. */
  readonly startedAt: number
  readonly now: number
  /** Absent while the resource does not exist, or is not known yet. */
  readonly traced?: TracedObject
  /** When it was deleted; only while it does not exist. */
  readonly deletedAt?: number
  /** It was deleted and made anew while we watched. */
  readonly recreatedAt?: number
  /** What was left behind when it was deleted: its pods, on their way out. */
  readonly remains: readonly KubeObject[]
  /** The kinds that may not be read or do not exist here, with the server's words. */
  readonly unreadable: readonly string[]
  /** Why the server cannot be heard just now. */
  readonly connectionError?: string
  /** The first lists are still on their way. */
  readonly isLoading: boolean
}

/** A resource that exists, with what surrounds it. */
export interface TracedObject {
  readonly object: KubeObject
  readonly assessment: Assessment
  readonly context: RuleContext
  /** Objects that left the resource lately. */
  readonly departed: readonly DepartedObject[]
  /** All objects that this one owns, in the order in which they were first seen. */
  owned(uid: string | undefined): readonly KubeObject[]
  events(object: KubeObject): readonly EventObject[]
}

/** An object that belonged to the resource and does so no more. */
export interface DepartedObject {
  readonly object: KubeObject
  /** The uid of the object that it belonged to. */
  readonly from: string
  readonly at: number
  /** `gone`: deleted; `released`: it lives on, but no longer belongs here. */
  readonly how: 'deleted' | 'released'
}

/** How long an object that left is still shown. */
const departedMs = 15_000

export interface TraceSettings extends LifecycleSettings {
  /** When the view began: milliseconds since the epoch on this machine's clock. */
  readonly startedAt: number
  /** Server's clock minus this machine's. */
  readonly serverOffsetMs: number
}

/**
 * What is known of one resource and of everything behind it, from what the cluster says. Judged by the same lifecycle
 * rules as the gate, but never over: a failure may heal, a deleted resource may come back. It has no clock of its own.
 */
export class Trace {
  readonly #target: Target
  readonly #rule: Rule
  readonly #settings: TraceSettings
  readonly #gateTime: GateTime
  // Every watch that is asked for is started, so its first list is always to be expected.
  readonly #store = new Store(() => true)
  readonly #ownership = new OwnershipIndex<Target>(this.#store)
  readonly #pods: PodHistories
  readonly #unreadable = new Map<string, { readonly request: Partial<WatchRequest>; readonly words: string }>()
  #departed: DepartedObject[] = []
  #history: TargetHistory | undefined
  #object: KubeObject | undefined
  #deletedAt: number | undefined
  #recreatedAt: number | undefined
  #connectionError: string | undefined

  constructor(target: Target, settings: TraceSettings) {
    this.#target = target
    this.#rule = target.waitFor === undefined ? ruleOf(target) : waitForRule(target.waitFor)
    this.#settings = settings
    this.#gateTime = createGateTime(settings)
    this.#pods = new PodHistories(this.#store, this.#gateTime)
  }

  /** The watches that the picture takes, as far as they are known by now. */
  get requests(): readonly WatchRequest[] {
    const { namespace } = this.#target
    const wide = companions(this.#target)
    const relatives = this.#object === undefined ? [] : this.#rule.relatives(this.#object)
    const events: WatchRequest = { apiVersion: 'v1', kind: 'Event', ...(namespace === undefined ? {} : { namespace }) }
    return [
      targetWatch(this.#target),
      ...wide,
      ...relatives.filter((request) => !wide.some((each) => covers(each, request))),
      events,
    ]
  }

  /** Takes one line of the feed. */
  handle(event: FeedEvent): void {
    this.#connectionError = undefined
    if (isFailure(event)) this.#fail(event)
    for (const change of this.#store.apply(event)) this.#take(change, event.at)
  }

  /** Everything that the picture is drawn from. */
  state(now: number): TraceState {
    const isLoading = this.requests.some((request) => this.#knowledge(request) === 'pending')
    const traced = this.#object === undefined || isLoading ? undefined : this.#trace(this.#object, now)
    return {
      target: this.#target,
      startedAt: this.#settings.startedAt,
      now,
      isLoading,
      ...(traced === undefined ? {} : { traced }),
      ...(this.#deletedAt === undefined ? {} : { deletedAt: this.#deletedAt }),
      ...(this.#recreatedAt === undefined ? {} : { recreatedAt: this.#recreatedAt }),
      remains: this.#object === undefined && this.#deletedAt !== undefined ? this.#remains() : [],
      unreadable: [...this.#unreadable.values()].map(({ words }) => words),
      ...(this.#connectionError === undefined ? {} : { connectionError: this.#connectionError }),
    }
  }

  #fail(failure: Failure): void {
    const { kind = 'object', message } = failure
    if (failure.type === 'UNAVAILABLE') {
      this.#connectionError = message
      return
    }
    const words = `${pluralOf(kind)} cannot be read: ${message}`
    this.#unreadable.set(words, { request: { ...failure, kind }, words })
  }

  #take(change: Change, now: number): void {
    const { before, after } = change
    const object = (after ?? before) as KubeObject
    this.#pods.observe(change, now)
    if (object.kind === 'Event') return
    this.#forgiveReadable(object)
    if (before !== undefined) this.#noteDeparture(before, after, now)
    if (this.#isTarget(object)) this.#takeTarget(after, now)
    if (after === undefined) return
    this.#ownership.add(after)
  }

  #takeTarget(after: KubeObject | undefined, now: number): void {
    if (after === undefined) {
      this.#deletedAt = now
      this.#object = undefined
      this.#history = undefined
      return
    }
    if (this.#deletedAt !== undefined) this.#recreatedAt = now
    this.#deletedAt = undefined
    this.#object = after
    this.#history = observeTarget(this.#history, after, now, this.#rule.failures?.(after))
    this.#ownership.assign(after.metadata.uid, this.#target)
  }

  /** What belonged here by its owner, or by the Service's selector, and does so no more. */
  #noteDeparture(before: KubeObject, after: KubeObject | undefined, now: number): void {
    this.#departed = this.#departed.filter(({ at }) => now - at < departedMs)
    const ownersNow = new Set(after?.metadata.ownerReferences?.map(({ uid }) => uid))
    const lost = (before.metadata.ownerReferences ?? []).filter(({ uid }) => !ownersNow.has(uid))
    const isOurs = this.#ownership.targetsOf(before).size > 0
    const from = isOurs ? lost[0]?.uid : this.#deselected(before, after)
    if (from === undefined) return
    this.#departed.push({ object: after ?? before, from, at: now, how: after === undefined ? 'deleted' : 'released' })
  }

  /** The Service's uid when the change takes a pod out of its selection. */
  #deselected(before: KubeObject, after: KubeObject | undefined): string | undefined {
    const service = this.#object
    if (before.kind !== 'Pod' || service === undefined || !isService(service)) return undefined
    const wasSelected = isSelectedBy(service as Service, before)
    const isSelected = after !== undefined && isSelectedBy(service as Service, after)
    return wasSelected && !isSelected ? service.metadata.uid : undefined
  }

  /** A kind of which something was seen can be read again. */
  #forgiveReadable({ kind }: KubeObject): void {
    for (const [key, { request }] of this.#unreadable) if (request.kind === kind) this.#unreadable.delete(key)
  }

  #isTarget({ apiVersion, kind, metadata }: KubeObject): boolean {
    const { name, namespace } = this.#target
    return (
      kind === this.#target.kind &&
      groupOf(apiVersion) === groupOf(this.#target.apiVersion) &&
      metadata.name === name &&
      metadata.namespace === namespace
    )
  }

  #knowledge(request: WatchRequest) {
    const isUnreadable = [...this.#unreadable.values()].some((each) => covers(each.request, request))
    return isUnreadable ? 'unknown' : this.#store.knowledge(request)
  }

  #trace(object: KubeObject, now: number): TracedObject {
    const context = this.#context(object, now)
    return {
      object,
      context,
      assessment: this.#rule.assess(object, context),
      departed: this.#departed.filter(({ at }) => now - at < departedMs),
      owned: (uid) => (uid === undefined ? [] : this.#store.allOwnedBy(uid)),
      events: (about) => this.#store.eventsOf(about),
    }
  }

  #context(object: KubeObject, now: number): RuleContext {
    return {
      ...storeContext(this.#store, this.#pods, this.#gateTime, this.#settings, now),
      history: this.#history ?? observeTarget(undefined, object, now, this.#rule.failures?.(object)),
      othersProgress: false,
      // No workload is gated, so no pod belongs to a gated revision.
      isOfGatedRevision: () => undefined,
      knowledge: (request) => this.#knowledge(request),
    }
  }

  /** Pods that the deleted resource left behind. */
  #remains(): readonly KubeObject[] {
    return this.#store.list('Pod', this.#target.namespace).filter((pod) => this.#ownership.targetsOf(pod).size > 0)
  }
}

function isService({ apiVersion, kind }: KubeObject): boolean {
  return kind === 'Service' && groupOf(apiVersion) === ''
}
