import { maxListBytes, maxListPages } from '../thresholds.ts'
import type { Client } from './client.ts'
import { ConnectionError, isExpired } from './failures.ts'
import { helmRevisions, secretNames, type WatchRequest } from './feed.ts'
import { isObject, type KindName, type KubeObject } from './objects.ts'

/* Lists a collection of the API server once, and defines the requests for each kind. */

export interface List {
  readonly items: readonly KubeObject[]
  /** The version of the list. A watch that starts at this version misses no change. */
  readonly resourceVersion: string
}

interface ListOptions {
  readonly signal?: AbortSignal
  /** Maximum time without a byte. */
  readonly silenceMs?: number
  /** Called after each page. */
  readonly onPage?: (() => void) | undefined
  /** Whether the server sends only metadata. By default only for `secretNames` and `helmRevisions`. */
  readonly metadataOnly?: boolean
}

const pageSize = 500

/**
 * Reads the latest state of a collection, page by page. All pages come from one snapshot. If the snapshot expires,
 * reads the list again in one page, like client-go's pager. Rejects with a `ConnectionError` (E2BIG) if the list
 * exceeds `maxListPages` or `maxListBytes`.
 */
export async function listCollection(
  client: Client,
  path: string,
  request: WatchRequest,
  redact: (object: KubeObject) => KubeObject,
  options: ListOptions = {},
): Promise<List> {
  try {
    return await listPages(client, path, request, redact, pageSize, options)
  } catch (error) {
    if (!isExpired(error)) throw error
    return await listPages(client, path, request, redact, undefined, options)
  }
}

async function listPages(
  client: Client,
  path: string,
  request: WatchRequest,
  redact: (object: KubeObject) => KubeObject,
  limit: number | undefined,
  { metadataOnly, onPage, ...options }: ListOptions,
): Promise<List> {
  const items: KubeObject[] = []
  let continuation = ''
  let listBytes = 0
  const onBytes = (bytes: number) => {
    listBytes += bytes
    if (listBytes > maxListBytes) throw listTooLongError(request, `${maxListBytes >> 20} MiB`)
  }
  for (let pages = 1; ; pages++) {
    if (pages > maxListPages) throw listTooLongError(request, `${maxListPages.toLocaleString('en')} pages`)
    const query = new URLSearchParams({
      ...selectionQuery(request),
      ...(limit === undefined ? {} : { limit: String(limit) }),
      ...(continuation === '' ? {} : { continue: continuation }),
    })
    const page = await client.requestJson(`${path}?${query}`, {
      ...options,
      onBytes,
      accept: acceptHeader(request, 'list', metadataOnly),
    })
    const { metadata, items: objects } = (page ?? {}) as { metadata?: Record<string, unknown>; items?: unknown }
    // `items` may be null: Go writes a nil slice as null.
    if (objects !== null && !Array.isArray(objects)) {
      throw new ConnectionError('EBADMSG', `the server answered ${path} with something that is not a list`)
    }
    for (const object of objects ?? []) {
      if (!hasName(object))
        throw new ConnectionError('EBADMSG', `the server answered ${path} with an item that is no object`)
      items.push(redact(withKind(object, request)))
    }
    onPage?.()
    continuation = typeof metadata?.['continue'] === 'string' ? metadata['continue'] : ''
    if (continuation === '') return { items, resourceVersion: String(metadata?.['resourceVersion'] ?? '') }
  }
}

export function hasName(item: unknown): item is object {
  return isObject(item) && isObject(item['metadata']) && typeof item['metadata']['name'] === 'string'
}

function listTooLongError({ kind }: WatchRequest, limit: string): ConnectionError {
  return new ConnectionError('E2BIG', `the list of ${kind} has more than ${limit}`)
}

/** Adds `apiVersion` and `kind`, which the items of a list lack. For a Secret, keeps only some of the metadata. */
export function withKind(object: object, { apiVersion, kind }: KindName): KubeObject {
  if (!isSecretMetadataKind(kind)) return { apiVersion, kind, ...object } as KubeObject
  // Annotations are not kept: `kubectl apply` writes the whole Secret into an annotation.
  const { metadata } = object as KubeObject
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels = {} } = metadata
  const identity = { namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp }
  if (kind === secretNames.kind) return { apiVersion, kind, metadata: { name, ...identity } }
  const kept = helmLabels.flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]]]))
  const revision = { name: name.replace(helmPrefix, ''), ...identity, labels: Object.fromEntries(kept) }
  return { ...helmRevisions, metadata: revision }
}

const helmPrefix = 'sh.helm.release.v1.'
/** The labels that Helm sets on the Secret of a revision (helm.sh/helm pkg/storage/driver, `newSecretsObject`). */
const helmLabels = ['name', 'owner', 'status', 'version', 'createdAt', 'modifiedAt']

/** Whether a kind stands for the metadata of Secrets: `secretNames` or `helmRevisions`. */
function isSecretMetadataKind(kind: string): boolean {
  return kind === secretNames.kind || kind === helmRevisions.kind
}

/** The kind that the API server serves for a request: `Secret` in place of `secretNames` and `helmRevisions`. */
export function servedKind({ apiVersion, kind }: KindName): KindName {
  return { apiVersion, kind: isSecretMetadataKind(kind) ? 'Secret' : kind }
}

/**
 * The header `Accept` that requests only the metadata of objects. Undefined if whole objects are needed
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).
 */
export function acceptHeader(
  { kind }: KindName,
  verb: 'list' | 'watch',
  metadataOnly = isSecretMetadataKind(kind),
): string | undefined {
  const form = verb === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata'
  return metadataOnly ? `application/json;as=${form};g=meta.k8s.io;v=v1` : undefined
}

/** The query that filters a collection on the server. A role with `resourceNames` permits a field selector by name. */
export function selectionQuery({ kind, name, labelSelector }: WatchRequest): Record<string, string> {
  const served = kind === helmRevisions.kind ? `${helmPrefix}${name}` : name
  return {
    ...(name === undefined ? {} : { fieldSelector: `metadata.name=${served}` }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  }
}
