import { isDeepStrictEqual } from 'node:util'
import { createPatch, type Operation, type Pointer } from 'rfc6902'
import { stringify } from 'yaml'
import { isAccessDenied } from '../cluster/failures.ts'
import { type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { describePath, type PathStep } from '../cluster/field-paths.ts'
import { authorsOf, isObject, type KubeObject, nameOf } from '../cluster/objects.ts'
import { isSupersetOf, Store, type Change as StoreChange } from '../cluster/store.ts'
import type { Gate } from '../gate/gate.ts'
import { consolidateRequests } from '../gate/watch-requests.ts'
import { displayName, nameKey, type Target, targetId, watchRequestOf } from '../plan/target.ts'
import { printableJson } from '../report/escape.ts'
import { formatElapsed } from '../report/target-record.ts'
import { dim, emptyLine, type Line, line, type Paint, paintLines } from './line.ts'
import { forbiddenError, View, type ViewSource } from './view.ts'

/* Finds and renders the changes of objects, for the commands `status` and `changes`. */

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

/**
 * Follows the changes of targets. Ignores other parts than the followed part, and fields that change with every write.
 * Throws UserError if a target cannot be read.
 */
export class ChangesView extends View {
  readonly #targets: ReadonlyMap<string, Target>
  readonly #watches: readonly WatchRequest[]
  readonly #part: Part
  readonly #store = new Store(() => true)
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
    this.#part = part
    this.#listener = listener
    this.#gate = gate
    this.#unknown = new Set(this.#targets.keys())
  }

  get requests(): readonly WatchRequest[] {
    return [...this.#watches, ...(this.#gate?.requests ?? [])]
  }

  protected observe(event: FeedEvent): void {
    this.#gate?.handle([event])
    if ('object' in event) {
      const key = nameKey(nameOf(event.object))
      if (!this.#targets.has(key)) return
      this.#unknown.delete(key)
    } else this.#report(event)
    const isFirstList = 'object' in event && this.#store.listState(nameOf(event.object)) !== 'complete'
    const changes = this.#store.apply(event).flatMap((change) => this.#followedChanges(change, event.at, isFirstList))
    for (const change of changes) this.#listener.onChange(change)
  }

  /** Empty if the followed part has not changed. */
  #followedChanges({ before, after }: StoreChange, at: number, isFirstList: boolean): readonly ObjectChange[] {
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

/** The printed lines of a change, as text or JSON. Secrets that are known by now are redacted. */
export function renderChange(
  change: ObjectChange,
  startedAt: number,
  printing: Paint & { readonly format: string },
): readonly string[] {
  const redacted = redactChange(change, printing.redact)
  if (printing.format === 'json') return [changeJson(redacted, startedAt)]
  return changeLines(redacted, startedAt).flatMap((line) => paintLines(line, printing))
}

/** A copy without secrets. Texts must be redacted before they are rendered and compared line by line. */
function redactChange(change: ObjectChange, redact: (text: string) => string): ObjectChange {
  const redacted = ({ before, after, by }: ObjectChange) => mapTexts({ before, after, by }, redact)
  return { ...change, ...(redacted(change) as Pick<ObjectChange, 'before' | 'after' | 'by'>) }
}

/** A change as lines: time, object, author, and YAML. After the first change of an object, only the differences. */
export function changeLines(change: ObjectChange, startedAt: number): readonly Line[] {
  const { object, before, after, type } = change
  const head = line(
    0,
    dim(elapsedColumn(change.at - startedAt)),
    { text: displayName({ ...object, name: object.metadata.name }), style: 'bold' },
    { text: describeChange(change), style: type === 'DELETED' ? 'red' : type === 'ADDED' ? 'green' : 'yellow' },
    change.by === undefined ? undefined : `by ${change.by}`,
  )
  return [head, ...bodyLines(before, after), emptyLine]
}

/** A change as a line of JSON. `patch` (RFC 6902) converts the previous state, at first null, to the present state. */
export function changeJson({ at, type, object, by, before, after }: ObjectChange, startedAt: number): string {
  const { namespace } = object.metadata
  const patch =
    before === undefined
      ? [{ op: 'add', path: '', value: after }]
      : after === undefined
        ? [{ op: 'remove', path: '' }]
        : createPatch(before, after, limitPairs())
  const target = targetId({ ...object, name: object.metadata.name })
  return printableJson({
    at: new Date(at).toISOString(),
    elapsedSeconds: (at - startedAt) / 1000,
    target,
    namespace,
    by,
    type,
    patch,
  })
}

/** The maximum number of pairs of list elements that are compared for a patch: each pair costs time and memory. */
const maxPairs = 100_000

/** Returns a function that replaces a list as a whole after too many pairs of elements were compared. */
function limitPairs(): (before: unknown, after: unknown, path: Pointer) => Operation[] | undefined {
  let pairs = 0
  return (before, after, path) => {
    if (!Array.isArray(before) || !Array.isArray(after)) return undefined
    if (pairs + before.length * after.length > maxPairs)
      return isDeepStrictEqual(before, after) ? [] : [{ op: 'replace', path: path.toString(), value: after }]
    pairs += before.length * after.length
    return undefined
  }
}

/** The elapsed time with tenths of a second, because a pod may be created in less than a second. */
function elapsedColumn(ms: number): string {
  const tenths = Math.floor(Math.max(0, ms) / 100)
  return `${formatElapsed(tenths * 100)}.${tenths % 10}`.padStart(7)
}

function describeChange({ type, existedBefore, before, after }: ObjectChange): string {
  if (type === 'ADDED') return existedBefore ? 'as it is' : 'created'
  if (type === 'DELETED') return 'deleted'
  const isTerminating = (part: unknown) =>
    (part as { metadata?: { deletionTimestamp?: string } } | undefined)?.metadata?.deletionTimestamp !== undefined
  return !isTerminating(before) && isTerminating(after) ? 'is being deleted' : 'changed'
}

function bodyLines(before: unknown, after: unknown): readonly Line[] {
  if (after === undefined) return []
  if (before !== undefined) return differenceLines(before, after)
  // With `lineWidth: 0`, long strings are not folded.
  const yaml = stringify(after, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true }).trimEnd()
  return yaml.split('\n').map((text) => line(9, text))
}

/** The fields that differ: old values after `-`, new values after `+`. */
export function differenceLines(before: unknown, after: unknown): readonly Line[] {
  const [old, present] = [new Map(scalarFields(before)), new Map(scalarFields(after))]
  const paths = [...new Set([...present.keys(), ...old.keys()])]
  const different = paths.filter((path) => old.get(path) !== present.get(path))
  return different.flatMap((path) => [
    ...valueLine('-', 'red', path, old.get(path)),
    ...valueLine('+', 'green', path, present.get(path)),
  ])
}

function valueLine(sign: '-' | '+', style: 'red' | 'green', path: string, value: string | undefined): readonly Line[] {
  return value === undefined ? [] : [line(7, { text: sign, style }, { text: `${path}: ${value}`, style })]
}

/** Path and JSON of each scalar, empty list and empty map in a value: `status.conditions[Ready].status`, `"True"`. */
function scalarFields(value: unknown, path: readonly PathStep[] = []): (readonly [path: string, json: string])[] {
  const children: readonly (readonly [PathStep, unknown])[] = Array.isArray(value)
    ? elementSteps(value).map((step, index) => [step, value[index]])
    : isObject(value)
      ? Object.entries(value)
      : []
  if (children.length > 0) return children.flatMap(([step, child]) => scalarFields(child, [...path, step]))
  return [[describePath(path), JSON.stringify(value)]]
}

/** The path steps to the elements of a list: their names or types if distinct, otherwise their indexes. */
function elementSteps(list: readonly unknown[]): readonly PathStep[] {
  const names = list.map((item) => (isObject(item) ? (item['name'] ?? item['type']) : undefined))
  const isNamed = names.every((name) => typeof name === 'string') && new Set(names).size === names.length
  return names.map((name, index) => (isNamed ? { name: String(name) } : index))
}
