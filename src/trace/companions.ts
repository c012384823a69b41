import type { WatchRequest } from '../cluster/feed.ts'
import { groupOf } from '../cluster/store.ts'
import type { Target } from '../plan/target.ts'

/** What may stand behind a kind, besides what its lifecycle rule asks for. */
const behind: Readonly<Record<string, readonly string[]>> = {
  '/Pod': [],
  '/Service': ['v1/Pod', 'discovery.k8s.io/v1/EndpointSlice'],
  'apps/Deployment': ['apps/v1/ReplicaSet', 'v1/Pod'],
  'apps/ReplicaSet': ['v1/Pod'],
  '/ReplicationController': ['v1/Pod'],
  'apps/StatefulSet': ['v1/Pod'],
  'apps/DaemonSet': ['v1/Pod'],
  'batch/Job': ['v1/Pod'],
  'batch/CronJob': ['batch/v1/Job', 'v1/Pod'],
}

/** Built-in kinds that own nothing. */
const alone: ReadonlySet<string> = new Set([
  '',
  'autoscaling',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
])

/** What an operator's resource usually owns. */
const workloads = [
  'apps/v1/Deployment',
  'apps/v1/StatefulSet',
  'apps/v1/DaemonSet',
  'apps/v1/ReplicaSet',
  'batch/v1/Job',
  'v1/Pod',
]

/**
 * The watches that show what stands behind a resource. They take whole kinds of the namespace and no selectors, so that
 * a pod is still seen when its labels change, and what a selector nearly matches is seen too.
 */
export function companions({ apiVersion, kind, namespace, name }: Target): readonly WatchRequest[] {
  if (namespace === undefined) return []
  const group = groupOf(apiVersion)
  const kinds = behind[`${group}/${kind}`] ?? (alone.has(group) ? [] : workloads)
  return kinds.map((each) => {
    const slash = each.lastIndexOf('/')
    const request = { apiVersion: each.slice(0, slash), kind: each.slice(slash + 1), namespace }
    return request.kind === 'EndpointSlice'
      ? { ...request, labelSelector: `kubernetes.io/service-name=${name}` }
      : request
  })
}
