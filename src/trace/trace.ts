import { type Failure, type FeedEvent, isFailure, type WatchRequest } from '../cluster/feed.ts'
import type { KubeObject, Service } from '../cluster/objects.ts'
import { OwnershipIndex } from '../cluster/ownership-index.ts'
import { type Change, covers, groupOf, Store } from '../cluster/store.ts'
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
import type { Parting, Present, Scene } from './scene.ts'

/** How long an object that left is still shown. */
const partingMs = 15_000

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
  #partings: Parting[] = []
  #history: TargetHistory | undefined
  #object: KubeObject | undefined
  #deletedAt: number | undefined
  #recreatedAt: number | undefined
  #trouble: string | undefined

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
    this.#trouble = undefined
    if (isFailure(event)) this.#fail(event)
    for (const change of this.#store.apply(event)) this.#take(change, event.at)
  }

  /** Everything that the picture is drawn from. */
  scene(now: number): Scene {
    const isLooking = this.requests.some((request) => this.#knowledge(request) === 'pending')
    const present = this.#object === undefined || isLooking ? undefined : this.#present(this.#object, now)
    return {
      target: this.#target,
      startedAt: this.#settings.startedAt,
      now,
      isLooking,
      ...(present === undefined ? {} : { present }),
      ...(this.#deletedAt === undefined ? {} : { deletedAt: this.#deletedAt }),
      ...(this.#recreatedAt === undefined ? {} : { recreatedAt: this.#recreatedAt }),
      remains: this.#object === undefined && this.#deletedAt !== undefined ? this.#remains() : [],
      unreadable: [...this.#unreadable.values()].map(({ words }) => words),
      ...(this.#trouble === undefined ? {} : { trouble: this.#trouble }),
    }
  }

  #fail(failure: Failure): void {
    const { kind = 'object', message } = failure
    if (failure.type === 'UNAVAILABLE') {
      this.#trouble = message
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
    if (before !== undefined) this.#notePartings(before, after, now)
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
  #notePartings(before: KubeObject, after: KubeObject | undefined, now: number): void {
    this.#partings = this.#partings.filter(({ at }) => now - at < partingMs)
    const ownersNow = new Set(after?.metadata.ownerReferences?.map(({ uid }) => uid))
    const lost = (before.metadata.ownerReferences ?? []).filter(({ uid }) => !ownersNow.has(uid))
    const isOurs = this.#ownership.targetsOf(before).size > 0
    const from = isOurs ? lost[0]?.uid : this.#deselected(before, after)
    if (from === undefined) return
    this.#partings.push({ object: after ?? before, from, at: now, how: after === undefined ? 'gone' : 'released' })
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

  #present(object: KubeObject, now: number): Present {
    const view = this.#context(object, now)
    return {
      object,
      view,
      assessment: this.#rule.assess(object, view),
      partings: this.#partings.filter(({ at }) => now - at < partingMs),
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
