import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { isBuiltIn } from './resources.ts'
import { revisionOf, type Selection, selects } from './selection.ts'
import { ApiError } from './status.ts'
import type { Store } from './store.ts'
import { apiVersionOf, served } from './versions.ts'

/** Where the next page begins: after the object `start` in the list as it was at `revision`. */
interface Continuation {
  readonly revision: number
  readonly start: string
}

/** The list that a query asks for: now, or as it was when its first page was read. */
export function list(store: Store, selection: Selection, query: URLSearchParams): object {
  const { resource } = selection
  const asked = revisionOf(query)
  const token = query.get('continue') ?? ''
  const continued = token === '' ? undefined : readToken(token)
  if (continued && asked) throw new ApiError(400, 'specifying resource version is not allowed when using continue')
  if (asked !== undefined && asked > store.revision) throw tooLargeRevision(asked, store.revision)

  const exact = query.get('resourceVersionMatch') === 'Exact' ? asked : undefined
  const revision = continued?.revision ?? exact ?? store.revision
  const objects = store.list(resource, revision)
  if (!objects) {
    throw continued
      ? new ApiError(410, 'The provided continue parameter is too old to display a consistent list result.')
      : new ApiError(410, 'The resourceVersion for the provided list is too old.')
  }
  const all = objects.filter(
    (object) => selects(selection, object) && (continued === undefined || pageKey(object) > continued.start),
  )
  // Version 0 is answered from the watch cache, which does not page.
  const limit = asked === 0 ? 0 : Number(query.get('limit') ?? 0)
  const items = limit > 0 ? all.slice(0, limit) : all
  const last = items.at(-1)
  const more = last !== undefined && items.length < all.length
  return {
    kind: `${resource.kind}List`,
    apiVersion: apiVersionOf(resource),
    metadata: {
      resourceVersion: String(revision),
      ...(more && {
        continue: writeToken({ revision, start: pageKey(last) }),
        remainingItemCount: all.length - items.length,
      }),
    },
    items: items.map((object) => listItem(resource, object)),
  }
}

/** Items of built-in kinds carry neither kind nor apiVersion, those of custom resources do. */
function listItem(resource: ApiResource, object: KubeObject): object {
  const item = served(resource, object)
  if (!isBuiltIn(resource)) return item
  const { kind: _, apiVersion: __, ...rest } = item
  return rest
}

function pageKey({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

function writeToken(continuation: Continuation): string {
  return Buffer.from(JSON.stringify(continuation)).toString('base64url')
}

function readToken(token: string): Continuation {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString()) as Continuation
  } catch {
    throw new ApiError(400, `continue key is not valid: ${token}`)
  }
}

function tooLargeRevision(asked: number, current: number): ApiError {
  return new ApiError(504, `Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}
