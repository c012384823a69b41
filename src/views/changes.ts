import { isDeepStrictEqual } from 'node:util'
import type { FeedEvent } from '../cluster/feed.ts'
import { authorOf, isObject, type KubeObject, nameOf } from '../cluster/objects.ts'
import { Store, type Change as StoreChange } from '../cluster/store.ts'

/** One change of the followed part of an object. */
export interface ObjectChange {
  /** Milliseconds since the epoch on this machine's clock. */
  readonly at: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
  /** The object existed before the view started. */
  readonly existedBefore: boolean
  /** The field manager that wrote the change, if known. */
  readonly by?: string
  /** The followed part before and after; absent before the creation and after the deletion. */
  readonly before?: unknown
  readonly after?: unknown
}

/** The change without secrets: its texts are redacted before they are quoted as YAML or JSON and compared by lines. */
export function redactChange(change: ObjectChange, redact: (text: string) => string): ObjectChange {
  const redacted = ({ before, after, by }: ObjectChange) => mapTexts({ before, after, by }, redact)
  return { ...change, ...(redacted(change) as Pick<ObjectChange, 'before' | 'after' | 'by'>) }
}

/** Finds changes in the followed part of objects. Ignores fields that change with every write. */
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
    const from = before === undefined ? undefined : partOf(before, this.#part)
    const to = after === undefined ? undefined : partOf(after, this.#part)
    if (from !== undefined && to !== undefined && isDeepStrictEqual(from, to)) return []
    const existedBefore = isFirstList && before === undefined
    const by = after === undefined || existedBefore ? undefined : authorOf(before, after)
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

/** The part of an object whose changes a view follows: its status, or the whole object. */
export type Part = 'status' | 'object'

/** Metadata fields that change with every write. */
const ignoredMetadata: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'selfLink'])

/** The part of an object without ignored fields, and with short hashes of redacted values. */
function partOf(object: KubeObject, part: Part): unknown {
  if (part === 'status') return mapTexts(object.status ?? {}, shortenHash)
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !ignoredMetadata.has(name)))
  return mapTexts({ ...object, metadata }, shortenHash)
}

/** Redacted values are keyed hashes (cluster/redact). Six characters are enough to show that a value changed. */
function shortenHash(text: string): string {
  return text.replace(/^hmac:([\w-]{6})[\w-]{37}$/, '(hidden, $1)')
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [map(name), mapTexts(child, map)]))
}
