import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject, ObjectMeta } from '../../src/cluster/objects.ts'

/** An object of a test: the common fields and any others. */
export type Manifest = KubeObject | { apiVersion: string; kind: string; metadata: ObjectMeta; [field: string]: unknown }

/** A collection of objects of one kind; all versions of a group share them, as in etcd. */
export interface Collection {
  readonly group: string
  readonly plural: string
}

/** One write, in the order of revisions. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly revision: number
  readonly collection: string
  /** The state after the write; for a deletion the last state with the revision of the deletion. */
  readonly object: KubeObject
  readonly previous?: KubeObject
}

/** Kinds with a spec whose registry never sets `metadata.generation` (`strategy.go` in kubernetes `pkg/registry`). */
const WITHOUT_GENERATION = new Set([
  'HorizontalPodAutoscaler',
  'Namespace',
  'Node',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Service',
])

/**
 * The cluster's objects and the log of their changes, with one revision counter for all, as in etcd.
 * Objects are copied when stored and returned, so tests may change their copies.
 */
export class Store {
  #objects = new Map<string, KubeObject>()
  #changes: Change[] = []
  #listeners = new Set<(change: Change) => void>()
  #now: () => Date
  #revision = 1000
  #compacted = 0
  #isRestored = false

  /** `now` is the server's clock, for creation timestamps. */
  constructor(now: () => Date) {
    this.#now = now
  }

  /** The revision of the last change. */
  get revision(): number {
    return this.#revision
  }

  /** Changes up to and including this revision are compacted. */
  get compacted(): number {
    return this.#compacted
  }

  /** Calls `listener` with every change until the returned function is called. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get(collection: Collection, namespace: string, name: string): KubeObject | undefined {
    const object = this.#objects.get(objectKey(collection, namespace, name))
    return object && copy(object)
  }

  /**
   * Creates the object, or updates it: keeps uid, creation timestamp and, without a new one, the status; a changed spec
   * increases the generation. Values in the object take precedence. A write without a difference is ignored.
   */
  apply(collection: Collection, manifest: Manifest): KubeObject {
    const object = copy(manifest) as KubeObject
    const previous = this.#objects.get(keyOf(collection, object))
    const { resourceVersion: _, ...metadata } = object.metadata
    object.metadata = {
      ...metadata,
      uid: metadata.uid ?? previous?.metadata.uid ?? randomUUID(),
      creationTimestamp: metadata.creationTimestamp ?? previous?.metadata.creationTimestamp ?? timestamp(this.#now()),
    }
    if (object.status === undefined && previous?.status !== undefined) object.status = copy(previous.status)
    const generation = metadata.generation ?? nextGeneration(object, previous)
    if (generation !== undefined) object.metadata.generation = generation
    if (previous && sameButVersion(previous, object)) return copy(previous)
    return this.#write(collection, object, this.#revision + 1)
  }

  /** Merges `patch` into the object (RFC 7386: null removes a field, lists are replaced). Undefined without the object. */
  patch(collection: Collection, namespace: string, name: string, patch: object): KubeObject | undefined {
    const previous = this.#objects.get(objectKey(collection, namespace, name))
    if (!previous) return undefined
    const object = mergePatch(previous, patch) as KubeObject
    // The server counts the generation unless the patch sets it.
    if (object.metadata.generation === previous.metadata.generation) {
      const generation = nextGeneration(object, previous)
      if (generation !== undefined) object.metadata.generation = generation
    }
    object.metadata.resourceVersion = previous.metadata.resourceVersion ?? ''
    if (isDeepStrictEqual(object, previous)) return copy(previous)
    return this.#write(collection, object, this.#revision + 1)
  }

  /** Deletes the object and returns its last state; undefined without the object. */
  remove(collection: Collection, namespace: string, name: string): KubeObject | undefined {
    const previous = this.#objects.get(objectKey(collection, namespace, name))
    return previous && this.#delete(collection, previous, this.#revision + 1)
  }

  /**
   * Stores a recorded object unchanged, without a copy. Keeps its resource version if it is larger than the store's:
   * recorded lists contain older versions, and the versions of a watch must increase.
   */
  replay(collection: Collection, type: Change['type'], object: KubeObject): void {
    const previous = this.#objects.get(keyOf(collection, object))
    const version = Number(object.metadata.resourceVersion)
    const isNext = Number.isSafeInteger(version) && version > this.#revision && !this.#isRestored
    const revision = isNext ? version : this.#revision + 1
    if (type !== 'DELETED') {
      const isUnchanged = previous !== undefined && isDeepStrictEqual(previous, object)
      if (!isUnchanged) this.#write(collection, object, revision)
    } else if (previous) {
      this.#delete(collection, object, revision)
    }
  }

  /** All objects of a collection at `revision`, sorted by namespace and name; undefined if compacted. */
  list(collection: Collection, revision = this.#revision): KubeObject[] | undefined {
    if (revision < this.#compacted) return undefined
    const path = collectionPath(collection)
    const objects = new Map([...this.#objects].filter(([key]) => key.startsWith(`${path}/`)))
    for (const change of this.#changes.toReversed()) {
      if (change.revision <= revision) break
      if (change.collection !== path) continue
      const key = keyOf(collection, change.object)
      if (change.previous) objects.set(key, change.previous)
      else objects.delete(key)
    }
    return [...objects.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
  }

  /** The changes of a collection after `revision`; undefined if some are compacted. */
  changesSince(collection: Collection, revision: number): Change[] | undefined {
    if (revision < this.#compacted) return undefined
    const path = collectionPath(collection)
    return this.#changes.filter((change) => change.collection === path && change.revision > revision)
  }

  /** Compacts all changes, as etcd does every five minutes. Adds a revision, so all known ones are too old. */
  compact(): void {
    this.#revision += 1
    this.#compacted = this.#revision
    this.#changes = []
  }

  /** Gives all objects new, lower revisions, as the restore of an old backup of etcd does. */
  restore(): void {
    this.#isRestored = true
    this.#revision = 100
    this.#compacted = 0
    this.#changes = []
    for (const object of this.#objects.values()) object.metadata.resourceVersion = String(++this.#revision)
  }

  #write(collection: Collection, object: KubeObject, revision: number): KubeObject {
    const key = keyOf(collection, object)
    const previous = this.#objects.get(key)
    object.metadata.resourceVersion = String(revision)
    this.#objects.set(key, object)
    this.#commit({
      type: previous ? 'MODIFIED' : 'ADDED',
      revision,
      collection: collectionPath(collection),
      object,
      ...(previous && { previous }),
    })
    return copy(object)
  }

  #delete(collection: Collection, last: KubeObject, revision: number): KubeObject {
    const key = keyOf(collection, last)
    const previous = this.#objects.get(key) ?? last
    const object = { ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } }
    this.#objects.delete(key)
    this.#commit({ type: 'DELETED', revision, collection: collectionPath(collection), object, previous })
    return copy(object)
  }

  #commit(change: Change): void {
    this.#revision = change.revision
    this.#changes.push(change)
    for (const listener of this.#listeners) listener(change)
  }
}

/** A JSON copy: undefined fields are absent. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/** RFC 3339 in whole seconds, as in `metav1.Time`. */
function timestamp(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z')
}

/** `group/plural`: identifies a collection in the log of changes. */
export function collectionPath({ group, plural }: Collection): string {
  return `${group}/${plural}`
}

function objectKey(collection: Collection, namespace: string, name: string): string {
  return `${collectionPath(collection)}/${namespace}/${name}`
}

function keyOf(collection: Collection, { metadata }: KubeObject): string {
  return objectKey(collection, metadata.namespace ?? '', metadata.name)
}

function nextGeneration(object: KubeObject, previous: KubeObject | undefined): number | undefined {
  if (object.spec === undefined || WITHOUT_GENERATION.has(object.kind)) return previous?.metadata.generation
  const generation = previous?.metadata.generation ?? 0
  return previous && isDeepStrictEqual(previous.spec, object.spec) ? generation : generation + 1
}

function sameButVersion(previous: KubeObject, object: KubeObject): boolean {
  const { resourceVersion: _, ...metadata } = previous.metadata
  return isDeepStrictEqual({ ...previous, metadata }, object)
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return copy(patch)
  const merged: Record<string, unknown> = isRecord(target) ? copy(target) : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = mergePatch(merged[key], value)
  }
  return merged
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
