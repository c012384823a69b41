import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { fieldMatcher, labelMatcher, type Matcher } from './selectors.ts'
import { ApiError } from './status.ts'

/** What a list or watch asks for. */
export interface Selection {
  readonly resource: ApiResource
  /** Empty: all namespaces. */
  readonly namespace: string
  readonly matches: Matcher
}

/** Reads the selectors of a query. */
export function selectionOf(resource: ApiResource, namespace: string, query: URLSearchParams): Selection {
  const labels = labelMatcher(query.get('labelSelector') ?? '')
  const fields = fieldMatcher(query.get('fieldSelector') ?? '', resource.kind)
  return { resource, namespace, matches: (object) => labels(object) && fields(object) }
}

/** Whether the selection holds the object; its collection is taken for granted. */
export function selects({ namespace, matches }: Selection, object: KubeObject): boolean {
  return (namespace === '' || object.metadata.namespace === namespace) && matches(object)
}

/** A revision from a query, undefined when none is asked for. */
export function revisionOf(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? ''
  if (text === '') return undefined
  if (!/^\d+$/.test(text)) throw new ApiError(400, `invalid resource version "${text}"`)
  return Number(text)
}
