import type { ContainerRef } from '../cluster/feed.ts'
import type { Pod } from '../cluster/objects.ts'
import type { TargetRecord } from '../gate/timeline.ts'
import type { Problem } from '../lifecycle/assessment.ts'
import { withCauses } from '../lifecycle/evidence-snapshot.ts'
import type { ReasonCode } from '../reasons.ts'
import type { Facts } from './facts.ts'

/** More containers of one target would say the same again. */
const mostContainers = 3

/** Problems of a container that has run: its log may say why. */
const withLogs: ReadonlySet<ReasonCode> = new Set([
  'crash-loop',
  'out-of-memory',
  'init-container-failed',
  'liveness-failing',
  'startup-failing',
  'readiness-failing',
  'pod-failed',
  'job-failed',
  'bad-command',
  'exec-format',
])

/** Problems that the state of the pod's node may explain. */
const ofNodes: ReadonlySet<ReasonCode> = new Set([
  'evicted',
  'out-of-memory',
  'sandbox-failed',
  'volume-not-mounted',
  'container-create-failed',
  'pod-failed',
])

/** Of targets that are absent: with these reasons their namespace may be absent too. */
const ofNamespaces: ReadonlySet<ReasonCode | ''> = new Set(['not-found', 'deleted', 'change-not-seen'])

/** The containers of a target that is not ready whose logs are worth reading. */
export function loggedContainers({ target, problems }: TargetRecord): readonly ContainerRef[] {
  const containers = problems
    .flatMap(withCauses)
    .flatMap(({ reason, subject, container }) =>
      container !== undefined && withLogs.has(reason)
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
  return isLost || ofNodes.has(problem.reason) ? pod.spec.nodeName : undefined
}

/** `web-x` of `pod/web-x`. */
export function podName(subject: string): string {
  return subject.slice(subject.indexOf('/') + 1)
}

/** The namespace whose absence would explain that a target is absent; undefined where something else explains it. */
export function namespaceBehind({ target, reason }: TargetRecord): string | undefined {
  return ofNamespaces.has(reason) ? target.namespace : undefined
}
