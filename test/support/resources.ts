import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'

const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

type Traits = Partial<Pick<ApiResource, 'categories' | 'namespaced' | 'shortNames' | 'status' | 'verbs'>>

function resource(groupVersion: string, kind: string, plural: string, traits: Traits = {}): ApiResource {
  const [group, version] = splitGroupVersion(groupVersion)
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    namespaced: true,
    status: false,
    verbs: ALL_VERBS,
    ...traits,
  }
}

/** `apps/v1` → `['apps', 'v1']`, `v1` → `['', 'v1']`. */
export function splitGroupVersion(apiVersion: string): [group: string, version: string] {
  const slash = apiVersion.indexOf('/')
  return slash === -1 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)]
}

/** Built-in kinds that matter for rollouts, as in the discovery of Kubernetes 1.34. */
export const BUILT_IN_RESOURCES: readonly ApiResource[] = Object.entries(
  load(readFileSync(join(import.meta.dirname, 'resources.yaml'), 'utf8')) as Record<
    string,
    Record<string, [plural: string, traits?: Traits]>
  >,
).flatMap(([groupVersion, kinds]) =>
  Object.entries(kinds).map(([kind, [plural, traits]]) => resource(groupVersion, kind, plural, traits)),
)

const BUILT_IN_GROUPS = new Set(BUILT_IN_RESOURCES.map(({ group }) => group))

/** Whether the kind is built in, not defined by a CRD; some responses differ between the two. */
export function isBuiltIn({ group }: { group: string }): boolean {
  return BUILT_IN_GROUPS.has(group)
}

/** A namespaced resource with a status for an unknown kind, with the English plural. */
export function guessResource(apiVersion: string, kind: string): ApiResource {
  const singular = kind.toLowerCase()
  const plural = /(s|x|z|ch|sh)$/.test(singular)
    ? `${singular}es`
    : /[^aeiou]y$/.test(singular)
      ? `${singular.slice(0, -1)}ies`
      : `${singular}s`
  return resource(apiVersion, kind, plural, { status: true })
}

/** The object in this version of its resource. */
export function served(resource: ApiResource, object: KubeObject): KubeObject {
  const { apiVersion: _, kind: __, ...rest } = object
  return { kind: resource.kind, apiVersion: apiVersionOf(resource), ...rest }
}

/**
 * Whether a client asks for the metadata of objects alone
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
 */
export function asksForMetadata(accept: string): boolean {
  return accept.includes(';as=PartialObjectMetadata')
}

/** The metadata of an object, in lists and watches (asPartialObjectMetadata, apiserver `endpoints/handlers/response.go`). */
export function metadataOf({ metadata }: KubeObject): KubeObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

/** `apps/v1`, or `v1` in the core group. */
export function apiVersionOf({ group, version }: Pick<ApiResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}
