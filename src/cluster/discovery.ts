import { discoveryGroupMs } from '../thresholds.ts'
import type { Client } from './client.ts'
import { ApiError, ConnectionError, isUnauthorized, isUnreadable } from './failures.ts'
import type { ApiResource } from './feed.ts'
import type { KindName } from './objects.ts'
import { groupOf } from './objects.ts'
import { Semaphore } from './semaphore.ts'

export interface Discovery {
  /** The core group first, then the groups in the server's order; within a group the preferred version first. */
  readonly resources: readonly ApiResource[]
  /** Group versions whose aggregated API server does not answer (`metrics.k8s.io/v1beta1`): resources may be missing. */
  readonly stale: readonly string[]
}

/**
 * Asks for aggregated discovery (KEP-3352; beta in 1.27, stable in 1.30). Older servers use the last type, plain JSON.
 */
const accept = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json',
].join(',')

/**
 * Reads the resource types that the server serves. This takes two requests if the server supports aggregated discovery,
 * else one more for each group version. Group versions that cannot be read are listed in `stale`.
 * Throws when `/api` or `/apis` cannot be read.
 */
export async function discover(client: Client): Promise<Discovery> {
  const [core, groups] = await Promise.all(
    ['/api', '/apis'].map(async (path) => read(client, path, (await client.json(path, { accept })) as DiscoveryAnswer)),
  )
  return {
    resources: [...(core?.resources ?? []), ...(groups?.resources ?? [])],
    stale: [...(core?.stale ?? []), ...(groups?.stale ?? [])],
  }
}

/** `v1.34.4`; undefined if `/version` cannot be read. */
export async function serverVersion(client: Client): Promise<string | undefined> {
  try {
    const version = (await client.json('/version')) as { gitVersion?: unknown }
    return typeof version?.gitVersion === 'string' ? version.gitVersion : undefined
  } catch (error) {
    if (error instanceof ApiError && !isUnauthorized(error)) return undefined
    throw error
  }
}

/** An APIGroupDiscoveryList, APIVersions or APIGroupList. */
interface DiscoveryAnswer {
  readonly items?: readonly AggregatedGroup[]
  readonly versions?: readonly string[]
  readonly groups?: readonly LegacyGroup[]
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

interface LegacyGroup {
  readonly versions?: readonly { readonly groupVersion: string }[] | null
  readonly preferredVersion?: { readonly groupVersion?: string }
}

interface LegacyResource {
  readonly name: string
  readonly kind: string
  readonly namespaced?: boolean
  readonly singularName?: string
  readonly verbs?: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
}

function read(client: Client, path: string, answer: DiscoveryAnswer): Discovery | Promise<Discovery> {
  if (![answer?.items, answer?.versions, answer?.groups].some(Array.isArray))
    throw new ConnectionError('EBADMSG', `the server answered ${path} without API groups`)
  if (Array.isArray(answer?.items)) return fromAggregated(answer.items)
  const groupVersions =
    answer?.versions ??
    (answer?.groups ?? []).flatMap(({ versions, preferredVersion }) => {
      const names = (versions ?? []).map(({ groupVersion }) => groupVersion)
      return [...names].sort(
        (a, b) => Number(b === preferredVersion?.groupVersion) - Number(a === preferredVersion?.groupVersion),
      )
    })
  return legacy(client, path, groupVersions)
}

function fromAggregated(groups: readonly AggregatedGroup[]): Discovery {
  const resources: ApiResource[] = []
  const stale: string[] = []
  for (const each of groups) {
    const { metadata, versions } = each ?? {}
    const group = metadata?.name ?? ''
    for (const { version, freshness, resources: served } of versions ?? []) {
      if (freshness === 'Stale') stale.push(group === '' ? version : `${group}/${version}`)
      for (const resource of served ?? []) {
        const { kind } = resource.responseKind ?? {}
        if (!kind) continue
        resources.push({
          group,
          version,
          kind,
          plural: resource.resource,
          namespaced: resource.scope === 'Namespaced',
          status: (resource.subresources ?? []).some(({ subresource }) => subresource === 'status'),
          singular: resource.singularResource || undefined,
          ...names(resource),
        })
      }
    }
  }
  return { resources, stale }
}

/** Number of parallel requests: few enough for the limits of the server's API priority and fairness. */
const legacyRequestsAtOnce = 8

async function legacy(client: Client, path: string, groupVersions: readonly string[]): Promise<Discovery> {
  const slots = new Semaphore(legacyRequestsAtOnce)
  const lists = await Promise.all(
    groupVersions.map((groupVersion) => slots.run(() => legacyResources(client, path, groupVersion))),
  )
  const failures = lists.filter((list) => list instanceof Error)
  // If no request reached the server, the failure does not belong to one group.
  if (failures[0] instanceof ConnectionError && failures.length === lists.length) throw failures[0]
  return {
    resources: lists.flatMap((list) => (list instanceof Error ? [] : list)),
    stale: groupVersions.filter((_, index) => lists[index] instanceof Error),
  }
}

/** The resources of one group version, or why they cannot be read. Throws if all requests are likely to fail. */
async function legacyResources(client: Client, path: string, groupVersion: string): Promise<ApiResource[] | Error> {
  let list: { resources?: readonly LegacyResource[] | null } | null
  try {
    list = (await client.json(`${path}/${groupVersion}`, { timeoutMs: discoveryGroupMs })) as typeof list
  } catch (error) {
    // The aggregated API server of this group may be down, hang or answer in HTML; the other groups can still be read.
    if (error instanceof ApiError ? !isUnauthorized(error) : isUnreadable(error)) return error as Error
    throw error
  }
  const served = list?.resources ?? []
  const withStatus = new Set(served.map(({ name }) => name).filter((name) => name.endsWith('/status')))
  const [version = '', group = ''] = groupVersion.split('/').reverse()
  return served
    .filter(({ name }) => !name.includes('/'))
    .map((resource) => ({
      group,
      version,
      kind: resource.kind,
      plural: resource.name,
      namespaced: resource.namespaced === true,
      status: withStatus.has(`${resource.name}/status`),
      singular: resource.singularName || undefined,
      ...names(resource),
    }))
}

function names({ verbs, shortNames, categories }: Pick<LegacyResource, 'verbs' | 'shortNames' | 'categories'>) {
  return { verbs, shortNames, categories }
}

/** The resource of a kind, in exactly this group and version. */
export function findResource(
  resources: readonly ApiResource[],
  { apiVersion, kind }: KindName,
): ApiResource | undefined {
  return resources.find(
    (resource) =>
      resource.kind === kind &&
      (resource.group === '' ? resource.version : `${resource.group}/${resource.version}`) === apiVersion,
  )
}

/** What discovery contains of a kind. `unknown`: not the kind, but a version of its group does not answer. */
export type KindState = 'served' | 'other-version' | 'gone' | 'unknown'

/** What discovery contains of a kind in this version. */
export function kindState({ resources, stale }: Discovery, request: KindName): KindState {
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
