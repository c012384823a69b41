import type { ApiResource } from '../../src/cluster/feed.ts'
import { splitGroupVersion } from './resources.ts'
import { ApiError } from './status.ts'

/** The media type of aggregated discovery: all groups in one document (KEP-3352). */
const AGGREGATED = /application\/json;g=apidiscovery\.k8s\.io;v=(v2|v2beta1);as=APIGroupDiscoveryList/

interface Subresource {
  readonly name: string
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly verbs: readonly string[]
}

/** The served resources and their discovery documents. */
export class Discovery {
  #resources: ApiResource[]
  /** `group/version`s whose extension API server does not answer. */
  #stale = new Set<string>()

  constructor(resources: readonly ApiResource[]) {
    this.#resources = [...resources]
  }

  get resources(): readonly ApiResource[] {
    return this.#resources
  }

  /** Adds a resource, or replaces the one with the same group, version and plural. */
  serve(resource: ApiResource): void {
    this.unserve(resource)
    this.#resources.push(resource)
  }

  /** Removes a resource, as after the deletion of its CRD. */
  unserve({ group, version, plural }: Pick<ApiResource, 'group' | 'version' | 'plural'>): void {
    this.#resources = this.#resources.filter(
      (known) => known.group !== group || known.version !== version || known.plural !== plural,
    )
  }

  /** Takes the extension API server of `group/version` down: discovery lists it without resources, requests get 503. */
  markStale(groupVersion: string): void {
    this.#stale.add(groupVersion)
  }

  /** Whether the extension API server of `group/version` is down. */
  isStale(group: string, version: string): boolean {
    return this.#stale.has(groupVersion(group, version))
  }

  find(group: string, version: string, plural: string): ApiResource | undefined {
    return this.#resources.find(
      (known) => known.group === group && known.version === version && known.plural === plural,
    )
  }

  findKind(apiVersion: string, kind: string): ApiResource | undefined {
    return this.#resources.find(
      (known) => known.kind === kind && groupVersion(known.group, known.version) === apiVersion,
    )
  }

  /** The document at `/api` or `/apis`, with its content type. */
  root(path: 'api' | 'apis', accept: string): { contentType: string; body: object } {
    const aggregated = AGGREGATED.exec(accept)
    const groups = path === 'api' ? [''] : this.#groups()
    if (aggregated) return { contentType: aggregated[0], body: this.#aggregatedList(groups, aggregated[1] ?? 'v2') }
    const contentType = 'application/json'
    if (path === 'apis') {
      return { contentType, body: { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((g) => this.group(g)) } }
    }
    return { contentType, body: { kind: 'APIVersions', versions: this.#versions('') } }
  }

  /** The document at `/apis/GROUP`. */
  group(group: string): object {
    const versions = this.#versions(group).map((version) => ({ groupVersion: groupVersion(group, version), version }))
    if (versions.length === 0) throw new ApiError(404)
    return { name: group, versions, preferredVersion: versions[0] }
  }

  /** The document at `/api/v1` and `/apis/GROUP/VERSION`. */
  resourceList(group: string, version: string): object {
    if (this.isStale(group, version)) throw new ApiError(503)
    if (!this.#versions(group).includes(version)) throw new ApiError(404)
    return {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: groupVersion(group, version),
      resources: this.#of(group, version).flatMap((resource) => [
        {
          name: resource.plural,
          singularName: resource.singular ?? '',
          namespaced: resource.namespaced,
          kind: resource.kind,
          verbs: resource.verbs ?? [],
          ...names(resource),
        },
        ...subresources(resource).map((sub) => ({
          name: `${resource.plural}/${sub.name}`,
          singularName: '',
          namespaced: resource.namespaced,
          ...(sub.group !== group && { group: sub.group, version: sub.version }),
          kind: sub.kind,
          verbs: sub.verbs,
        })),
      ]),
    }
  }

  #aggregatedList(groups: readonly string[], version: string): object {
    return {
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: groups.map((group) => ({
        metadata: { ...(group !== '' && { name: group }), creationTimestamp: null },
        versions: this.#versions(group).map((groupsVersion) => {
          const stale = this.isStale(group, groupsVersion)
          return {
            version: groupsVersion,
            ...(!stale && { resources: this.#of(group, groupsVersion).map(aggregatedResource) }),
            freshness: stale ? 'Stale' : 'Current',
          }
        }),
      })),
    }
  }

  #of(group: string, version: string): ApiResource[] {
    return this.#resources.filter((resource) => resource.group === group && resource.version === version)
  }

  #groups(): string[] {
    const served = this.#resources.map(({ group }) => group)
    const stale = [...this.#stale].map((name) => splitGroupVersion(name)[0])
    return [...new Set([...served, ...stale])].filter((group) => group !== '')
  }

  #versions(group: string): string[] {
    const served = this.#resources.filter((resource) => resource.group === group).map(({ version }) => version)
    const stale = [...this.#stale]
      .map(splitGroupVersion)
      .flatMap(([name, version]) => (name === group ? [version] : []))
    return [...new Set([...served, ...stale])].sort(byVersionPriority)
  }
}

function groupVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

function names({ shortNames, categories }: ApiResource): object {
  return { ...(shortNames?.length && { shortNames }), ...(categories?.length && { categories }) }
}

function subresources({ group, version, kind, plural, status }: ApiResource): Subresource[] {
  const scalable = ['deployments', 'replicasets', 'replicationcontrollers', 'statefulsets'].includes(plural)
  return [
    ...(plural === 'pods' && group === '' ? [{ name: 'log', group, version, kind, verbs: ['get'] }] : []),
    ...(scalable
      ? [{ name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] }]
      : []),
    ...(status ? [{ name: 'status', group, version, kind, verbs: ['get', 'patch', 'update'] }] : []),
  ]
}

function aggregatedResource(resource: ApiResource): object {
  const subs = subresources(resource).map(({ name, group, version, kind, verbs }) => ({
    subresource: name,
    responseKind: { group, version, kind },
    verbs,
  }))
  return {
    resource: resource.plural,
    responseKind: { group: resource.group, version: resource.version, kind: resource.kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular ?? '',
    verbs: resource.verbs ?? [],
    ...names(resource),
    ...(subs.length > 0 && { subresources: subs }),
  }
}

/** Stable before beta before alpha, later before earlier (apimachinery `version.CompareKubeAwareVersionStrings`). */
function byVersionPriority(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => {
    const [, major = '0', stage = 'stable', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
    return ['alpha', 'beta', 'stable'].indexOf(stage) * 1e6 + Number(major) * 1e3 + Number(minor)
  })
  return (right ?? 0) - (left ?? 0)
}
