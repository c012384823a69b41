import { distinctRequests, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { Store } from '../cluster/store.ts'
import { assess } from '../lifecycle/assess.ts'
import { createGateTime } from '../lifecycle/proof.ts'
import type { Rule } from '../lifecycle/rule.ts'
import { dependentKindsOf, ruleOf } from '../lifecycle/rules.ts'
import { createSharedReaders } from '../lifecycle/shared-reader.ts'
import { observeTarget } from '../lifecycle/target-history.ts'
import { maxCheckedRequests, maxWatchesOfKind } from '../thresholds.ts'

/* Creates and combines the watch requests of a gate. */

/** The kind Event. The gate always watches Events, because they contain facts that no status contains. */
export const eventKind = { apiVersion: 'v1', kind: 'Event' } as const

/**
 * Removes duplicate requests, and replaces many watches of one kind in a namespace with one watch of the namespace.
 * @param isRefused whether RBAC refuses a watch of a namespace: it may permit only single names (`resourceNames`)
 * @param isForeign whether a namespace contains no target: there, single objects are watched
 */
export function consolidateRequests(
  requests: readonly WatchRequest[],
  isRefused: (wide: WatchRequest) => boolean = () => false,
  isForeign: (namespace: string | undefined) => boolean = () => false,
): readonly WatchRequest[] {
  const byNamespace = Map.groupBy(distinctRequests(requests), (request) => requestKey(namespaceWatch(request)))
  return [...byNamespace.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined || same.length <= maxWatchesOfKind) return same
    const wide = namespaceWatch(first)
    if (isForeign(wide.namespace) && !same.some((each) => requestKey(each) === requestKey(wide))) return same
    return isRefused(wide) ? same.filter((request) => requestKey(request) !== requestKey(wide)) : [wide]
  })
}

function namespaceWatch({ apiVersion, kind, namespace }: WatchRequest): WatchRequest {
  return { apiVersion, kind, namespace }
}

/** Finds the watches that a rule needs, by an assessment with an empty store. */
function neededRequests(rule: Rule, object: KubeObject): readonly WatchRequest[] {
  const now = 0
  const time = createGateTime({ startedAt: now, settleTimeMs: 0, serverOffsetMs: 0 })
  const reader = createSharedReaders(new Store(() => true), time, { settleTimeMs: 0, maxRestarts: 0 }).at(now)
  const alone = { othersProgress: () => false, othersReadyAt: () => undefined, revisionOf: () => undefined }
  assess(rule, object, { ...reader, ...alone, history: observeTarget(undefined, object, now) })
  return reader.reads.requests.needed
}

/**
 * The requests of a gate for these targets: the targets, the objects that their rules need, their dependents, and
 * Events. The requests are for whole namespaces, because the selectors are unknown before the targets are read.
 * Cluster-scoped dependents are omitted, because they only explain a target.
 * @param targets the requests for the targets
 */
export function gateRequests(targets: readonly WatchRequest[]): readonly WatchRequest[] {
  const requests = targets.flatMap((target) => {
    const { apiVersion, kind, name = '', namespace } = target
    const spec = { selector: { matchLabels: { app: name } } }
    const needed = neededRequests(ruleOf(target), { apiVersion, kind, metadata: { name, namespace }, spec })
    const { kinds, isKnown } = dependentKindsOf(target)
    const related = [...needed, ...(isKnown ? kinds.map((each) => ({ ...each, namespace })) : [])]
    return [
      target,
      ...related.filter((each) => each.namespace !== undefined).map(namespaceWatch),
      { ...eventKind, namespace: namespace ?? 'default' },
    ]
  })
  return distinctRequests(requests).slice(0, maxCheckedRequests)
}
