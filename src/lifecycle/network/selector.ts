import type { WatchRequest } from '../../cluster/feed.ts'
import type { KubeObject, LabelSelector } from '../../cluster/objects.ts'

/**
 * A label selector in the form of the API's `labelSelector` parameter, as metav1.FormatLabelSelector writes it:
 * `app=web,tier in (a,b),!debug`. A ReplicationController's selector is a bare map of labels. An empty selector selects
 * everything.
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

/** The watch of all objects of a kind that a workload's selector matches. */
export function selectedRequest(
  apiVersion: string,
  kind: string,
  workload: KubeObject & { spec?: { selector?: LabelSelector } },
): WatchRequest {
  const { namespace } = workload.metadata
  return {
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    labelSelector: formatSelector(workload.spec?.selector),
  }
}

/**
 * The watch of a workload's pods. The selector may also match pods of other owners; their owner references show this.
 */
export function podRequest(workload: KubeObject & { spec?: { selector?: LabelSelector } }): WatchRequest {
  return selectedRequest('v1', 'Pod', workload)
}
