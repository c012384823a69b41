import { isDeepStrictEqual } from 'node:util'
import { isAccessDenied } from '../cluster/failures.ts'
import { type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { authorsOf, isObject, type KubeObject, nameOf } from '../cluster/objects.ts'
import { isSupersetOf, Store, type Change as StoreChange } from '../cluster/store.ts'
import type { Gate } from '../gate/gate.ts'
import { consolidateRequests } from '../gate/watch-requests.ts'
import { nameKey, type Target, watchRequestOf } from '../plan/target.ts'
import { forbiddenError, View, type ViewSource } from './view.ts'

/* Finds the changes of objects, for the commands `status` and `changes`. */

/** A change in the part of an object that the view follows (`Part`). */
export interface ObjectChange {
  /** Milliseconds since the epoch on this machine's clock. */
  readonly at: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
  /** Whether the object existed before the view started. */
  readonly existedBefore: boolean
  /** The field manager that wrote the change, if known. */
  readonly by?: string
  /** The part before the change; absent if the change created the object. */
  readonly before?: unknown
  /** The part after the change; absent if the change deleted the object. */
  readonly after?: unknown
}

/** A copy without secrets. Texts must be redacted before they are rendered and compared line by line. */
export function redactChange(change: ObjectChange, redact: (text: string) => string): ObjectChange {
  const redacted = ({ before, after, by }: ObjectChange) => mapTexts({ before, after, by }, redact)
  return { ...change, ...(redacted(change) as Pick<ObjectChange, 'before' | 'after' | 'by'>) }
}

/** Finds changes in objects. Ignores other parts than the followed part, and fields that change with every write. */
export class Changes {
  readonly #part: Part
  readonly #isFollowed: (object: KubeObject) => boolean
  readonly #store = new Store(() => true)

  constructor(part: Part, isFollowed: (object: KubeObject) => boolean = () => true) {
    this.#part = part
    this.#isFollowed = isFollowed
  }

  handle(event: FeedEvent): readonly ObjectChange[] {
    if ('object' in event && !this.#isFollowed(event.object)) return []
    const existedBefore = 'object' in event && this.#store.listState(nameOf(event.object)) !== 'complete'
    return this.#store.apply(event).flatMap((change) => this.#read(change, event.at, existedBefore))
  }

  #read({ before, after }: StoreChange, at: number, isFirstList: boolean): readonly ObjectChange[] {
    const object = after ?? before
    const from = before === undefined ? undefined : followedPart(before, this.#part)
    const to = after === undefined ? undefined : followedPart(after, this.#part)
    if (from !== undefined && to !== undefined && isDeepStrictEqual(from, to)) return []
    const existedBefore = isFirstList && before === undefined
    const by = after === undefined || existedBefore ? undefined : authorsOf(before, after)
    return [
      {
        at,
        object,
        existedBefore,
        type: before === undefined ? 'ADDED' : after === undefined ? 'DELETED' : 'MODIFIED',
        by,
        before: from,
        after: to,
      },
    ]
  }
}

/** The part of objects whose changes a view follows: the status, or the whole object. */
export type Part = 'status' | 'object'

/** Metadata fields that change with every write. */
const ignoredMetadata: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'selfLink'])

/** The followed part of an object, without ignored fields, and with short hashes of redacted values. */
function followedPart(object: KubeObject, part: Part): unknown {
  if (part === 'status') return mapTexts(object.status ?? {}, shortenHash)
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !ignoredMetadata.has(name)))
  return mapTexts({ ...object, metadata }, shortenHash)
}

/** Shortens the hash of a redacted value (cluster/redact.ts): six characters suffice to show that a value changed. */
function shortenHash(text: string): string {
  return text.replace(/^hmac:([\w-]{6})[\w-]{37}$/, '(hidden, $1)')
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [map(name), mapTexts(child, map)]))
}

/** The callbacks of `ChangesView`. */
export interface ChangeListener {
  readonly onChange: (change: ObjectChange) => void
  /** Called for each target that the first list does not contain. */
  readonly onWaiting?: (target: Target) => void
  /** Called with the error if the server does not answer, and with undefined when it answers again. */
  readonly onConnection?: (error: string | undefined) => void
}

/** Follows the changes of targets. Throws UserError if a target cannot be read. */
export class ChangesView extends View {
  readonly #targets: ReadonlyMap<string, Target>
  readonly #watches: readonly WatchRequest[]
  readonly #changes: Changes
  readonly #listener: ChangeListener
  readonly #gate: Gate | undefined
  /** The keys of the targets that were not seen yet, and not reported as absent. */
  readonly #unknown: Set<string>

  /**
   * @param gate judges the targets, and ends the view when all are ready; without a gate, only a cancellation ends it
   */
  constructor(
    targets: readonly Target[],
    part: Part,
    listener: ChangeListener,
    source: Pick<ViewSource, 'now'>,
    gate?: Gate,
  ) {
    super(source)
    this.#targets = new Map(targets.map((target) => [nameKey(target), target]))
    this.#watches = consolidateRequests(targets.map(watchRequestOf))
    this.#changes = new Changes(part, (object) => this.#targets.has(nameKey(nameOf(object))))
    this.#listener = listener
    this.#gate = gate
    this.#unknown = new Set(this.#targets.keys())
  }

  get requests(): readonly WatchRequest[] {
    return [...this.#watches, ...(this.#gate?.requests ?? [])]
  }

  protected observe(event: FeedEvent): void {
    this.#gate?.handle([event])
    if ('object' in event) this.#unknown.delete(nameKey(nameOf(event.object)))
    else this.#report(event)
    for (const change of this.#changes.handle(event)) this.#listener.onChange(change)
  }

  /** Reports whether the server answers, and which targets do not exist. */
  #report(event: FeedEvent): void {
    const watch = this.#watches.find((each) => requestKey(each) === requestKey(event as Partial<WatchRequest>))
    if (watch === undefined) return
    if (isAccessDenied(event)) throw forbiddenError({ ...watch, name: watch.name ?? '' }, event)
    if (event.type === 'ERROR') this.#listener.onConnection?.(event.message)
    if (event.type === 'ALIVE') this.#listener.onConnection?.(undefined)
    if (event.type !== 'SYNCED') return
    for (const [key, target] of this.#targets)
      if (isSupersetOf(watch, watchRequestOf(target)) && this.#unknown.delete(key)) this.#listener.onWaiting?.(target)
  }

  protected draw(now: number): boolean {
    if (this.#gate === undefined) return false
    this.#gate.advance(now)
    return this.#gate.record(now).targets.every(({ outcome }) => outcome === 'ready')
  }
}
