import type { ServerResponse } from 'node:http'
import type { ApiResource } from '../../src/cluster/feed.ts'
import type { Cluster } from './cluster.ts'
import { list } from './lists.ts'
import { openWatch } from './open-watch.ts'
import { streamLog } from './pod-log.ts'
import { type ObjectsRoute, parseRoute } from './route.ts'
import { selectionOf } from './selection.ts'
import { ApiError, groupResource } from './status.ts'
import { served } from './versions.ts'

/** A request that is let in, with its body read. */
export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Path and query as they came. */
  readonly url: string
  readonly accept: string
  readonly body: string
}

/** An answer that is sent whole: a JSON document, or plain text. */
export interface Answer {
  readonly body: object | string
  readonly contentType?: string
  /** Default 200. */
  readonly code?: number
}

/**
 * Answers any request: returns what to send, or undefined when it streams the answer itself.
 * Throws an ApiError where the answer is a Status.
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
  // The gate only ever reads; whatever would change the cluster is refused.
  if (!['get', 'list', 'watch'].includes(verb) || !resource.verbs?.includes(verb)) throw new ApiError(405)
  if (name === undefined) {
    const selection = selectionOf(resource, namespace, query)
    if (verb === 'list') return { body: list(store, selection, query) }
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
  const asked = parseBody(body)
  return kind === 'SelfSubjectAccessReview'
    ? access.reviewAccess(asked)
    : access.reviewRules(asked, discovery.resources)
}

/** Reads a JSON document; protobuf, which the real server takes too, is refused like any other format. */
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
