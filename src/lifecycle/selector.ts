import type { WatchRequest } from '../cluster/feed.ts'
import type { KubeObject, LabelSelector } from '../cluster/objects.ts'

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

/**
 * Whether a label selector matches these labels (k8s.io/apimachinery pkg/labels: an absent label is not equal, and not in).
 * An empty selector matches everything.
 */
export function matchesSelector(
  selector: LabelSelector | Record<string, string> | undefined,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  const { matchLabels = {}, matchExpressions = [] } = isBareMap(selector) ? { matchLabels: selector } : (selector ?? {})
  const valueOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined)
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key)
      if (operator === 'Exists' || operator === 'DoesNotExist') return (value !== undefined) === (operator === 'Exists')
      return (value !== undefined && values.includes(value)) === (operator === 'In')
    })
  )
}

/**
 * The pods that a built-in controller counts as its own: it releases a pod whose labels no longer match its selector
 * (k8s.io/kubernetes pkg/controller/controller_ref_manager.go, `ClaimPods`), and the pod may outlive that unwatched.
 */
export function withoutReleased<O extends KubeObject>(
  owner: KubeObject | undefined,
  owned: readonly O[],
): readonly O[] {
  const { selector } = (owner?.spec ?? {}) as { selector?: LabelSelector | Record<string, string> }
  if (owner === undefined || selector === undefined || !/^(?:v1|apps\/|batch\/)/.test(owner.apiVersion)) return owned
  return owned.filter(({ kind, metadata }) => kind !== 'Pod' || matchesSelector(selector, metadata.labels))
}

function isBareMap(selector: LabelSelector | Record<string, string> | undefined): selector is Record<string, string> {
  return selector !== undefined && Object.values(selector).some((value) => typeof value === 'string')
}

/** The watch that sees everything of a kind that a workload's selector selects in its namespace. */
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

/** The watch that sees a workload's pods, and others that its selector happens to match: ownership tells them apart. */
export function podRequest(workload: KubeObject & { spec?: { selector?: LabelSelector } }): WatchRequest {
  return selectedRequest('v1', 'Pod', workload)
}
