import type { Client } from './client.ts'
import { ApiError, ConnectionError, isUnauthorized } from './failures.ts'
import { type ApiResource, findResource } from './feed.ts'
import type { KindName } from './objects.ts'
import { groupOf } from './objects.ts'

/* Reads the resource types that the API server serves. */

/** The resource types that a server serves. */
export interface Discovery {
  /** First the core group, then the other groups in the server's order. In each group, the preferred version is first. */
  readonly resources: readonly ApiResource[]
  /** Group versions with missing resources, because their API server does not answer (`metrics.k8s.io/v1beta1`). */
  readonly stale: readonly string[]
}

/** Requests aggregated discovery (KEP-3352, since Kubernetes 1.27). Older servers choose the last type. */
const accept = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json',
].join(',')

/**
 * Reads the resource types that the server serves, in two requests. Throws if `/api` or `/apis` cannot be read, or if
 * the server is older than Kubernetes 1.27.
 */
export async function discover(client: Client): Promise<Discovery> {
  const groups = await Promise.all(['/api', '/apis'].map((path) => readGroups(client, path)))
  return readResources(groups.flat())
}

async function readGroups(client: Client, path: string): Promise<readonly AggregatedGroup[]> {
  const answer = (await client.requestJson(path, { accept })) as DiscoveryAnswer | null
  if (Array.isArray(answer?.items)) return answer.items
  const message = `the server answered ${path} without aggregated discovery, which Kubernetes 1.27 and newer have`
  throw new ConnectionError('EBADMSG', message)
}

/** The version of the API server, such as `v1.34.4`; undefined if `/version` cannot be read. */
export async function readServerVersion(client: Client): Promise<string | undefined> {
  try {
    const version = (await client.requestJson('/version')) as { gitVersion?: unknown }
    return typeof version?.gitVersion === 'string' ? version.gitVersion : undefined
  } catch (error) {
    if (error instanceof ApiError && !isUnauthorized(error)) return undefined
    throw error
  }
}

/** The answer of the API server: an APIGroupDiscoveryList. */
interface DiscoveryAnswer {
  readonly items?: readonly AggregatedGroup[]
}

interface AggregatedGroup {
  readonly metadata?: { readonly name?: string }
  readonly versions?:
    | readonly {
        readonly version: string
        readonly freshness?: string
        readonly resources?: readonly AggregatedResource[] | null
      }[]
    | null
}

interface AggregatedResource {
  readonly resource: string
  readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind?: string } | null
  readonly scope?: string
  readonly singularResource?: string
  readonly verbs?: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly { readonly subresource: string }[]
}

function readResources(groups: readonly AggregatedGroup[]): Discovery {
  const resources: ApiResource[] = []
  const stale: string[] = []
  for (const each of groups) {
    const { metadata, versions } = each ?? {}
    const group = metadata?.name ?? ''
    for (const { version, freshness, resources: served } of versions ?? []) {
      if (freshness === 'Stale') stale.push(group === '' ? version : `${group}/${version}`)
      for (const resource of served ?? []) {
        const { responseKind, verbs, shortNames, categories } = resource
        const kind = responseKind?.kind
        if (!kind) continue
        resources.push({
          group,
          version,
          kind,
          plural: resource.resource,
          namespaced: resource.scope === 'Namespaced',
          status: (resource.subresources ?? []).some(({ subresource }) => subresource === 'status'),
          singular: resource.singularResource || undefined,
          ...{ verbs, shortNames, categories },
        })
      }
    }
  }
  return { resources, stale }
}

/** Whether discovery contains a kind. `unknown`: the kind is missing, but a version of its group does not answer. */
export type KindState = 'served' | 'other-version' | 'gone' | 'unknown'

/** Whether discovery contains a kind in the requested version, only in another version, or not at all. */
export function findKindState({ resources, stale }: Discovery, request: KindName): KindState {
  if (findResource(resources, request) !== undefined) return 'served'
  const group = groupOf(request.apiVersion)
  if (resources.some((resource) => resource.group === group && resource.kind === request.kind)) return 'other-version'
  return stale.some((groupVersion) => groupOf(groupVersion) === group) ? 'unknown' : 'gone'
}

/** The path of the collection that a request reads: `/apis/apps/v1/namespaces/shop/deployments`. */
export function collectionPath({ group, version, plural, namespaced }: ApiResource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return namespaced && namespace !== undefined
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`
    : `${root}/${plural}`
}
