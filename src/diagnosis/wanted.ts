import type { ContainerRef } from '../cluster/feed.ts'
import type { Pod } from '../cluster/objects.ts'
import type { TargetRecord } from '../gate/timeline.ts'
import { withCauses } from '../lifecycle/evidence-snapshot.ts'
import { type Problem, reasons } from '../reasons/reasons.ts'
import type { Facts } from './facts.ts'

/** More containers of one target would say the same again. */
const mostContainers = 3

/** The containers of a target that is not ready whose logs are worth reading. */
export function loggedContainers({ target, problems }: TargetRecord): readonly ContainerRef[] {
  const containers = problems
    .flatMap(withCauses)
    .flatMap(({ reason, subject, container }) =>
      container !== undefined && reasons[reason].readsLogs
        ? [{ namespace: target.namespace ?? 'default', pod: podName(subject), container }]
        : [],
    )
  const isFirst = ({ pod, container }: ContainerRef, index: number) =>
    containers.findIndex((other) => other.pod === pod && other.container === container) === index
  return containers.filter(isFirst).slice(0, mostContainers)
}

/** The node whose state may explain a problem; undefined where it would not, or where the pod has none. */
export function nodeBehind(problem: Problem, facts: Facts): string | undefined {
  const pod = facts.subject(problem) as Pod | undefined
  if (pod?.kind !== 'Pod' || !pod.spec?.nodeName) return undefined
  // What the node lifecycle controller says of the pods of a node that no longer reports (pkg/controller/nodelifecycle).
  const isLost = facts.eventsOf(pod).some(({ reason }) => reason === 'NodeNotReady')
  return isLost || reasons[problem.reason].readsNode ? pod.spec.nodeName : undefined
}

/** `web-x` of `pod/web-x`. */
export function podName(subject: string): string {
  return subject.slice(subject.indexOf('/') + 1)
}

/** The namespace whose absence would explain that a target is absent; undefined where something else explains it. */
export function namespaceBehind({ target, reason }: TargetRecord): string | undefined {
  return reason !== '' && reasons[reason].readsNamespace ? target.namespace : undefined
}
