import { deniesAccess, type FeedEvent, isFailure, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { nameOf } from '../cluster/objects.ts'
import { covers } from '../cluster/store.ts'
import { UserError } from '../errors.ts'
import type { Gate } from '../gate/gate.ts'
import { lookAt } from '../gate/look.ts'
import type { RunRecord } from '../gate/run-record.ts'
import { consolidate } from '../gate/watch-requests.ts'
import { displayName, nameKey, type Target, targetWatch } from '../plan/target.ts'
import { Changes, type ObjectChange, type Part } from './changes.ts'

/** What shows the events of a run, live or recorded. */
export interface View {
  readonly requests: readonly WatchRequest[]
  /** `request` is the watch that reported the event; absent in a recording. */
  handle(event: FeedEvent, request?: WatchRequest): void
  /**
   * Shows the state at `now`. Returns whether the view is over.
   * @param isLast whether the lists that are missing will not come
   */
  draw(now: number, isLast?: boolean): boolean
}

/** Callbacks of `ChangesView`. */
export interface ChangeListener {
  readonly onChange: (change: ObjectChange) => void
  /** Called before the first change with the state of the objects. Without this function, there is no overview. */
  readonly onOverview?: (look: RunRecord) => void
  /** Called for each target that does not exist when its first list is complete. */
  readonly onWaiting?: (target: Target) => void
  /** Called with the error when the server stops answering, and with undefined when it answers again. */
  readonly onConnection?: (error: string | undefined) => void
}

/** How long the changes wait for the overview, which comes before them. */
const overviewMs = 3_000

/** The changes of targets, with an overview before them. Throws UserError if a target cannot be read. */
export class ChangesView implements View {
  readonly #targets: ReadonlyMap<string, Target>
  readonly #watches: readonly WatchRequest[]
  readonly #changes: Changes
  readonly #listener: ChangeListener
  readonly #gate: Gate | undefined
  readonly #endsWhenReady: boolean
  /** The keys of the targets of which neither an object nor its absence was reported. */
  readonly #unknown: Set<string>
  /** The changes that wait for the overview; undefined once it is shown, and without one. */
  #waitingChanges: ObjectChange[] | undefined
  #startedAt: number | undefined

  /** @param options.gate judges the targets; without it there is no overview, and the view ends only when cancelled */
  constructor(
    targets: readonly Target[],
    part: Part,
    listener: ChangeListener,
    { gate, endsWhenReady = false }: { readonly gate?: Gate | undefined; readonly endsWhenReady?: boolean } = {},
  ) {
    this.#targets = new Map(targets.map((target) => [nameKey(target), target]))
    this.#watches = consolidate(targets.map(targetWatch))
    this.#changes = new Changes(part, (object) => this.#targets.has(nameKey(nameOf(object))))
    this.#listener = listener
    this.#gate = gate
    this.#endsWhenReady = endsWhenReady
    this.#unknown = new Set(this.#targets.keys())
    this.#waitingChanges = gate === undefined || listener.onOverview === undefined ? undefined : []
  }

  get requests(): readonly WatchRequest[] {
    return [...this.#watches, ...(this.#gate?.requests ?? [])]
  }

  handle(event: FeedEvent): void {
    this.#startedAt ??= event.at
    this.#gate?.handle([event])
    if ('object' in event) this.#unknown.delete(nameKey(nameOf(event.object)))
    else this.#report(event)
    for (const change of this.#changes.handle(event)) {
      if (this.#waitingChanges === undefined) this.#listener.onChange(change)
      else this.#waitingChanges.push(change)
    }
  }

  /** Reports whether the watches of the targets answer, and which targets do not exist. */
  #report(event: FeedEvent): void {
    const watch = this.#watches.find((each) => requestKey(each) === requestKey(event as Partial<WatchRequest>))
    if (watch === undefined) return
    if (deniesAccess(event)) throw forbidden({ ...watch, name: watch.name ?? '' }, event)
    if (isFailure(event)) this.#listener.onConnection?.(event.message)
    if (event.type === 'ALIVE') this.#listener.onConnection?.(undefined)
    if (event.type !== 'SYNCED') return
    for (const [key, target] of this.#targets)
      if (covers(watch, targetWatch(target)) && this.#unknown.delete(key)) this.#listener.onWaiting?.(target)
  }

  draw(now: number, isLast = false): boolean {
    if (this.#waitingChanges !== undefined) this.#introduce(now, isLast)
    if (!this.#endsWhenReady || this.#gate === undefined) return false
    this.#gate.advance(now)
    return this.#gate.record(now).targets.every(({ outcome }) => outcome === 'ready')
  }

  /** Reports the overview and the changes before it, once the first lists have arrived. */
  #introduce(now: number, isLast: boolean): void {
    this.#gate?.advance(now)
    const look = this.#gate?.isComplete ? lookAt(this.#gate, now) : undefined
    if (look === undefined && !isLast && now < (this.#startedAt ?? now) + overviewMs) return
    if (look !== undefined) this.#listener.onOverview?.(look)
    for (const change of this.#waitingChanges ?? []) this.#listener.onChange(change)
    this.#waitingChanges = undefined
  }
}

export function forbidden(
  target: Pick<Target, 'apiVersion' | 'kind' | 'name'>,
  { message }: { message: string },
): UserError {
  const what = target.name === '' ? `${target.kind} objects` : displayName(target)
  return new UserError([{ input: what, message: `It cannot be read: ${message}` }], 'forbidden')
}
