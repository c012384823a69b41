import { requestKey, type WatchRequest } from '../cluster/feed.ts'

/** More watches of one kind in one namespace than this are one watch of the whole namespace: connections are not free. */
const mostPerKind = 8

/**
 * Each watch once, and many narrow ones of the same kind and namespace as one that sees them all, unless that one is
 * refused: RBAC may permit single names only (`resourceNames`).
 */
export function consolidate(
  requests: readonly WatchRequest[],
  isRefused: (wide: WatchRequest) => boolean = () => false,
): readonly WatchRequest[] {
  const distinct = new Map(requests.map((request) => [requestKey(request), request]))
  const byNamespace = Map.groupBy(distinct.values(), (request) => requestKey(wholeNamespace(request)))
  return [...byNamespace.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined || same.length <= mostPerKind) return same
    const wide = wholeNamespace(first)
    return isRefused(wide) ? same.filter((request) => requestKey(request) !== requestKey(wide)) : [wide]
  })
}

function wholeNamespace({ apiVersion, kind, namespace }: WatchRequest): WatchRequest {
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }) }
}
