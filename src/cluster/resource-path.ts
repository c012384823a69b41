import type { ApiResource, WatchRequest } from './feed.ts'

/** The resource that serves a kind, in exactly this group and version. */
export function findResource(
  resources: readonly ApiResource[],
  { apiVersion, kind }: Pick<WatchRequest, 'apiVersion' | 'kind'>,
): ApiResource | undefined {
  return resources.find(
    (resource) =>
      resource.kind === kind &&
      (resource.group === '' ? resource.version : `${resource.group}/${resource.version}`) === apiVersion,
  )
}

/** The path of the collection that a request reads: `/apis/apps/v1/namespaces/shop/deployments`. */
export function collectionPath({ group, version, plural, namespaced }: ApiResource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return namespaced && namespace !== undefined
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`
    : `${root}/${plural}`
}

/**
 * The query that narrows the collection on the server's side. A name goes by field selector, which is also what a role
 * restricted to `resourceNames` allows.
 */
export function selection({ name, labelSelector }: WatchRequest): Record<string, string> {
  return {
    ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  }
}
