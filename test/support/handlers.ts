import type { ServerResponse } from 'node:http'
import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import type { Cluster } from './cluster.ts'
import { streamLog } from './logs.ts'
import { apiVersionOf, asksForMetadata, isBuiltIn, metadataOf, served } from './resources.ts'
import { revisionOf, type Selection, selectionOf, selects } from './selection.ts'
import { ApiError, groupResource } from './status.ts'
import type { Store } from './store.ts'
import { openWatch } from './watch.ts'

/** An authenticated request with its body. */
export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Path and query. */
  readonly url: string
  readonly accept: string
  readonly body: string
}

/** A complete response: a JSON document or plain text. */
export interface Answer {
  readonly body: object | string
  readonly contentType?: string
  /** Default 200. */
  readonly code?: number
}

/**
 * Handles a request: returns the response, or undefined if the handler streams it.
 * Throws an ApiError if the response is a Status.
 */
export function handle(cluster: Cluster, request: ApiRequest, response: ServerResponse): Answer | undefined {
  const route = parseRoute(request.path)
  if (route === undefined) return { code: 404, contentType: 'text/plain; charset=utf-8', body: '404 page not found\n' }
  const { discovery } = cluster
  switch (route.to) {
    case 'version':
      return { body: versionInfo(cluster.version) }
    case 'root':
      return discovery.root(route.path, request.accept)
    case 'group':
      return { body: { kind: 'APIGroup', apiVersion: 'v1', ...discovery.group(route.group) } }
    case 'resources':
      return { body: discovery.resourceList(route.group, route.version) }
    case 'objects':
      return handleObjects(cluster, route, request, response)
  }
}

function versionInfo(gitVersion: string): object {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? []
  return { major, minor, gitVersion, platform: 'linux/amd64' }
}

function handleObjects(
  cluster: Cluster,
  route: ObjectsRoute,
  request: ApiRequest,
  response: ServerResponse,
): Answer | undefined {
  const { access, discovery, store } = cluster
  const { group, version, namespace, plural, name, subresource } = route
  const { query } = request
  if (discovery.isStale(group, version)) throw new ApiError(503)
  const resource = discovery.find(group, version, plural)
  if (!resource || (namespace !== '' && !resource.namespaced)) throw new ApiError(404, undefined, {})
  const verb = verbOf(request.method, name, ['1', 'true'].includes(query.get('watch') ?? ''))
  access.check({
    verb,
    group,
    resource: subresource === undefined ? plural : `${plural}/${subresource}`,
    namespace,
    ...(name !== undefined && { name }),
  })
  if (verb === 'create' && group === 'authorization.k8s.io') {
    return { body: review(cluster, resource, request.body), code: 201 }
  }
  // The gate only reads, so writes are refused.
  if (!['get', 'list', 'watch'].includes(verb) || !resource.verbs?.includes(verb)) throw new ApiError(405)
  if (name === undefined) {
    const selection = selectionOf(resource, namespace, query)
    if (verb === 'list') return { body: list(store, selection, query, asksForMetadata(request.accept)) }
    openWatch(cluster, selection, request, response)
    return undefined
  }
  const object = store.get(resource, namespace, name)
  if (!object) throw notFound(resource, name)
  if (subresource === 'log' && group === '' && plural === 'pods') {
    streamLog(cluster, object, query, response)
    return undefined
  }
  if (subresource !== undefined && subresource !== 'status') throw new ApiError(404)
  return { body: served(resource, object) }
}

function verbOf(method: string, name: string | undefined, watches: boolean): string {
  switch (method) {
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete'
    default:
      if (name !== undefined) return 'get'
      return watches ? 'watch' : 'list'
  }
}

function review({ access, discovery }: Cluster, { kind }: ApiResource, body: string): object {
  const requested = parseBody(body)
  return kind === 'SelfSubjectAccessReview'
    ? access.reviewAccess(requested)
    : access.reviewRules(requested, discovery.resources)
}

/** Parses a JSON document. Other formats fail, also protobuf, which the real server accepts. */
function parseBody(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    throw new ApiError(
      415,
      'the body of the request was in an unknown format - accepted media types include: application/json',
      undefined,
      'UnsupportedMediaType',
    )
  }
}

function notFound(resource: ApiResource, name: string): ApiError {
  return new ApiError(404, `${groupResource(resource)} "${name}" not found`, {
    name,
    ...(resource.group !== '' && { group: resource.group }),
    kind: resource.plural,
  })
}

/** The next page starts after the object `start` in the list at `revision`. */
interface Continuation {
  readonly revision: number
  readonly start: string
}

/** The list for a query: the present one, or the one of its first page. */
function list(store: Store, selection: Selection, query: URLSearchParams, isMetadata: boolean): object {
  const { resource } = selection
  const requested = revisionOf(query)
  const token = query.get('continue') ?? ''
  const continued = token === '' ? undefined : readToken(token)
  if (continued && requested) throw new ApiError(400, 'specifying resource version is not allowed when using continue')
  if (requested !== undefined && requested > store.revision) throw tooLargeRevision(requested, store.revision)

  const exact = query.get('resourceVersionMatch') === 'Exact' ? requested : undefined
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
  // Version 0 is served from the watch cache, which does not page.
  const limit = requested === 0 ? 0 : Number(query.get('limit') ?? 0)
  const items = limit > 0 ? all.slice(0, limit) : all
  const last = items.at(-1)
  const more = last !== undefined && items.length < all.length
  return {
    kind: isMetadata ? 'PartialObjectMetadataList' : `${resource.kind}List`,
    apiVersion: isMetadata ? 'meta.k8s.io/v1' : apiVersionOf(resource),
    metadata: {
      resourceVersion: String(revision),
      ...(more && {
        continue: writeToken({ revision, start: pageKey(last) }),
        remainingItemCount: all.length - items.length,
      }),
    },
    items: items.map((object) => (isMetadata ? metadataOf(object) : listItem(resource, object))),
  }
}

/** List items of built-in kinds have no kind and apiVersion; custom resources have both. */
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

function tooLargeRevision(requested: number, current: number): ApiError {
  return new ApiError(504, `Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}

/** The target of an API path. */
export type Route =
  | { readonly to: 'version' }
  | { readonly to: 'root'; readonly path: 'api' | 'apis' }
  | { readonly to: 'group'; readonly group: string }
  | { readonly to: 'resources'; readonly group: string; readonly version: string }
  | ({ readonly to: 'objects' } & ObjectsRoute)

/** A collection, an object in it, or a subresource of that. */
export interface ObjectsRoute {
  readonly group: string
  readonly version: string
  /** Empty at the cluster scope. */
  readonly namespace: string
  readonly plural: string
  readonly name?: string
  readonly subresource?: string
}

/** Parses a path like the API server's `RequestInfoFactory`; undefined for an unknown path. */
function parseRoute(path: string): Route | undefined {
  const [root, ...rest] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent)
  if (root === 'version' && rest.length === 0) return { to: 'version' }
  if (root !== 'api' && root !== 'apis') return undefined
  if (rest.length === 0) return { to: 'root', path: root }
  const [group = '', version, ...names] = root === 'api' ? ['', ...rest] : rest
  if (version === undefined) return { to: 'group', group }
  if (names.length === 0) return { to: 'resources', group, version }
  const objects = parseNames(names)
  return objects && { to: 'objects', group, version, ...objects }
}

/** `namespaces/shop` and `namespaces/shop/status` are about the Namespace itself; `namespaces/shop/pods` is in it. */
function parseNames(
  names: readonly string[],
): Pick<ObjectsRoute, 'namespace' | 'plural' | 'name' | 'subresource'> | undefined {
  const inNamespace = names[0] === 'namespaces' && names.length > 2 && names[2] !== 'status' && names[2] !== 'finalize'
  const [plural, name, subresource, ...more] = inNamespace ? names.slice(2) : names
  if (plural === undefined || more.length > 0) return undefined
  return {
    namespace: inNamespace ? (names[1] ?? '') : '',
    plural,
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  }
}
