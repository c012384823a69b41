import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'

/** The object as that version of its resource shows it. */
export function served(resource: ApiResource, object: KubeObject): KubeObject {
  const { apiVersion: _, kind: __, ...rest } = object
  return { kind: resource.kind, apiVersion: apiVersionOf(resource), ...rest }
}

/** `apps/v1`, or `v1` in the core group. */
export function apiVersionOf({ group, version }: Pick<ApiResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}
