import type { WatchRequest } from '../cluster/feed.ts'

/** More watches of one kind in one namespace than this are one watch of the whole namespace: connections are not free. */
const mostPerKind = 8

/** Each watch once, and many narrow ones of the same kind and namespace as one that sees them all. */
export function consolidate(requests: readonly WatchRequest[]): readonly WatchRequest[] {
  const distinct = new Map(requests.map((request) => [keyOf(request), request]))
  return [
    ...Map.groupBy(distinct.values(), ({ apiVersion, kind, namespace }) =>
      keyOf({ apiVersion, kind, namespace }),
    ).values(),
  ].flatMap((same) => {
    const [first] = same
    if (first === undefined || same.length <= mostPerKind) return same
    const { apiVersion, kind, namespace } = first
    return [{ apiVersion, kind, ...(namespace === undefined ? {} : { namespace }) }]
  })
}

function keyOf({
  apiVersion,
  kind,
  namespace,
  name,
  labelSelector,
}: Omit<WatchRequest, 'namespace'> & { readonly namespace?: string | undefined }): string {
  return JSON.stringify([apiVersion, kind, namespace, name, labelSelector])
}
