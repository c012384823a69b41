import { type ApiResource, kindNameOf, type WatchRequest } from '../cluster/feed.ts'
import { controllerOf, type KubeObject } from '../cluster/objects.ts'
import { kindsOfRelease } from './helm-release.ts'
import { parseReferences } from './parse-references.ts'
import type { ParsedReferences } from './target.ts'

interface Scope {
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined
  readonly labelSelector: string | undefined
}

/**
 * References to the objects of a namespace that are judged, and that no other of them controls: that one explains them. Of
 * the objects that run once, as the Jobs of a CronJob, the newest of each controller is named too.
 * @param needsMoreThanToExist whether objects of a kind need more than to exist
 * @param list returns the metadata of the objects that match a request; undefined if they cannot be listed
 */
export async function namespaceObjects(
  resources: readonly ApiResource[],
  { namespace, labelSelector }: Scope,
  needsMoreThanToExist: (kind: { readonly apiVersion: string; readonly kind: string }) => boolean,
  list: (request: WatchRequest) => Promise<readonly KubeObject[] | undefined>,
): Promise<ParsedReferences> {
  const isWanted = (resource: ApiResource) => resource.namespaced && needsMoreThanToExist(kindNameOf(resource))
  const kinds = kindsOfRelease(resources, isWanted)
  const lists = await Promise.all(
    kinds.map(async (resource) => {
      const request = { ...kindNameOf(resource), namespace, labelSelector }
      return (await list(request))?.map((object) => ({ resource, object })) ?? []
    }),
  )
  const found = lists.flat()
  const uids = new Set(found.map(({ object }) => object.metadata.uid))
  const newest = newestRuns(found.map(({ object }) => object))
  const lines = found
    .filter(({ object }) => !uids.has(controllerOf(object) ?? '') || newest.has(object))
    .map(({ resource: { group, version, plural }, object: { metadata } }) => {
      const kind = group === '' ? plural : `${plural}.${version}.${group}`
      return `${kind}/${metadata.name} -n ${metadata.namespace}`
    })
  return parseReferences(lines.join('\n'), 'the namespace', { alone: false })
}

function newestRuns(objects: readonly KubeObject[]): ReadonlySet<KubeObject> {
  const jobs = objects.filter((object) => object.kind === 'Job' && controllerOf(object) !== undefined)
  const created = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? ''
  return new Set(
    [...Map.groupBy(jobs, controllerOf).values()].flatMap((ofController) =>
      ofController.toSorted((a, b) => created(b).localeCompare(created(a))).slice(0, 1),
    ),
  )
}
