import type { RequestOf } from '../cluster/feed.ts'
import { cachePerObject, type KubeObject, type LabelSelector, type PodTemplate } from '../cluster/objects.ts'
import type { Labelled } from './rule.ts'

/* Creates watch requests from the selectors and namespaces of objects. */

/**
 * Formats a label selector for the API parameter `labelSelector`, as metav1.FormatLabelSelector does:
 * `app=web,tier in (a,b),!debug`. The selector of a ReplicationController is a bare map of labels. An empty selector
 * selects everything.
 */
export function formatSelector(selector: LabelSelector | Record<string, string> | undefined): string {
  if (isBareMap(selector)) return formatSelector({ matchLabels: selector })
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`)
  const expressions = (selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'In':
        return `${key} in (${values.join(',')})`
      case 'NotIn':
        return `${key} notin (${values.join(',')})`
      case 'DoesNotExist':
        return `!${key}`
      default:
        return key
    }
  })
  return [...labels, ...expressions].sort().join(',')
}

function isBareMap(selector: LabelSelector | Record<string, string> | undefined): selector is Record<string, string> {
  return selector !== undefined && Object.values(selector).some((value) => typeof value === 'string')
}

type Selecting = KubeObject & { spec?: { selector?: LabelSelector | Record<string, string> } }

/** The watch of all objects of a kind that the selector of an object matches. */
export function selectedRequest<Kind extends string>(
  apiVersion: string,
  kind: Kind,
  { metadata, spec }: Selecting,
): RequestOf<Kind> {
  return { apiVersion, kind, namespace: metadata.namespace, labelSelector: formatSelector(spec?.selector) }
}

/** The watch of all objects of a kind in the namespace of an object. */
export function namespaceRequest<Kind extends string>(
  apiVersion: string,
  kind: Kind,
  { metadata: { namespace } }: KubeObject,
): RequestOf<Kind> {
  return { apiVersion, kind, namespace }
}

export function jobsRequest(object: KubeObject): RequestOf<'Job'> {
  return namespaceRequest('batch/v1', 'Job', object)
}

export const controllerRevisionRequest = cachePerObject((selecting: Selecting) =>
  selectedRequest('apps/v1', 'ControllerRevision', selecting),
)

/** The watch of the pods that the selector of an object matches. The pods may have any owner, or none. */
export const podRequest = cachePerObject((selecting: Selecting) => selectedRequest('v1', 'Pod', selecting))

/** The metadata that a workload gives its pods, for comparison with a selector. */
export function podTemplateMetadata({ spec }: KubeObject): Labelled {
  const { template } = (spec ?? {}) as { readonly template?: PodTemplate }
  return { metadata: template?.metadata ?? {} }
}

/** The watch of a node: the state of the node may explain why its pods do not start. */
export function nodeRequest(name: string): RequestOf<'Node'> {
  return { apiVersion: 'v1', kind: 'Node', name }
}
