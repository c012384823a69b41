import { isDeepStrictEqual } from 'node:util'
import { authorOf } from '../cluster/author.ts'
import type { FeedEvent, WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { Store, type Change as StoreChange } from '../cluster/store.ts'

/** One change of the part of an object that is followed. */
export interface ObjectChange {
  /** Milliseconds since the epoch on this machine's clock. */
  readonly at: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
  /** It was there before we looked. */
  readonly wasThere: boolean
  /** Who did it, where that is known. */
  readonly by?: string
  /** The part before and after; absent where there is none. */
  readonly before?: unknown
  readonly after?: unknown
}

/** Turns what the cluster says into the changes that people asked for: of a part of some objects, without noise. */
export class Changes {
  readonly #part: Part
  readonly #isExcluded: (object: KubeObject) => boolean
  readonly #store = new Store(() => true)

  constructor(part: Part, isExcluded: (object: KubeObject) => boolean = () => false) {
    this.#part = part
    this.#isExcluded = isExcluded
  }

  /** Takes one line of the feed; says what of it is news. `request` is the watch that it came from. */
  handle(event: FeedEvent, request: WatchRequest): readonly ObjectChange[] {
    const wasThere = this.#store.listState(request) !== 'complete'
    return this.#store.apply(event).flatMap((change) => this.#read(change, event.at, wasThere))
  }

  #read({ before, after }: StoreChange, at: number, isFirstList: boolean): readonly ObjectChange[] {
    const object = after ?? before
    if (object === undefined || this.#isExcluded(object)) return []
    const from = before === undefined ? undefined : partOf(before, this.#part)
    const to = after === undefined ? undefined : partOf(after, this.#part)
    if (from !== undefined && to !== undefined && isDeepStrictEqual(from, to)) return []
    const wasThere = isFirstList && before === undefined
    const by = after === undefined || wasThere ? undefined : authorOf(before, after)
    return [
      {
        at,
        object,
        wasThere,
        type: before === undefined ? 'ADDED' : after === undefined ? 'DELETED' : 'MODIFIED',
        ...(by === undefined ? {} : { by }),
        ...(from === undefined ? {} : { before: from }),
        ...(to === undefined ? {} : { after: to }),
      },
    ]
  }
}

/** What of an object is followed. */
export type Part = 'status' | 'object'

/** Fields of the metadata that change with every write and say nothing of it. */
const noise: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'selfLink'])

/** The part of an object that people read: without noise, and with the hashes of hidden values made short. */
export function partOf(object: KubeObject, part: Part): unknown {
  if (part === 'status') return hide(object.status ?? {})
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !noise.has(name)))
  return hide({ ...object, metadata })
}

/** Values of Secrets, ConfigMaps and environments come as keyed hashes (cluster/redact): enough to see that one changed. */
function hide(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^hmac:([\w-]{6})[\w-]{37}$/, '(hidden, $1)')
  if (Array.isArray(value)) return value.map(hide)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, hide(child)]))
}
