import type { ContainerRef, Failure, LogText } from '../cluster/feed.ts'
import type { EventObject, KubeObject, Pod } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { TargetRecord } from '../gate/timeline.ts'
import { findSubject, withCauses } from '../lifecycle/evidence-snapshot.ts'
import { type Problem, reasons } from '../reasons/reasons.ts'

/** What is known of one target: the objects when its verdict was given, and what was read since. */
export class TargetFacts {
  readonly #record: TargetRecord
  readonly #store: Store

  constructor(record: TargetRecord, store: Store) {
    this.#record = record
    this.#store = store
  }

  /** The object of that kind and name; the version of the verdict is preferred to a later one. */
  get(reference: Parameters<Store['get']>[0]): KubeObject | undefined {
    const { kind, name, namespace } = reference
    const captured = this.#record.snapshot?.find(
      (object) =>
        object.kind === kind && object.metadata.name === name && (object.metadata.namespace ?? namespace) === namespace,
    )
    return captured ?? this.#store.get(reference)
  }

  /** The revisions that an object owns: its ReplicaSets, its ControllerRevisions. */
  ownedBy(uid: string | undefined, kind: string): readonly KubeObject[] {
    const { snapshot } = this.#record
    if (snapshot === undefined) return this.#store.ownedBy(uid, kind)
    return snapshot.filter(
      (object) => object.kind === kind && object.metadata.ownerReferences?.some((owner) => owner.uid === uid),
    )
  }

  /** The object that a problem is about. */
  subject({ subject }: Problem): KubeObject | undefined {
    return findSubject(subject, this.#record.target, this)
  }

  eventsOf(object: KubeObject): readonly EventObject[] {
    return this.#store.eventsOf(object)
  }

  log(pod: string, container: string, previous: boolean): LogText | undefined {
    return this.#store.log(this.#record.target.namespace ?? 'default', pod, container, previous)
  }

  node(name: string): KubeObject | undefined {
    return this.#store.get({ apiVersion: 'v1', kind: 'Node', name })
  }

  /** The reason of the last event about an object of the target's name, whether it exists or not. */
  get lastEvent(): string | undefined {
    const { apiVersion, kind, namespace, name } = this.#record.target
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
    return this.#store.eventsOf({ apiVersion, kind, metadata }).at(-1)?.reason
  }

  /** What keeps the target's namespace from holding it; undefined where nothing is known to. */
  get namespaceState(): 'missing' | 'terminating' | undefined {
    const { namespace } = this.#record.target
    if (namespace === undefined) return undefined
    const request = { apiVersion: 'v1', kind: 'Namespace', name: namespace }
    if (this.#store.refusal(request)?.type === 'MISSING') return 'missing'
    return this.#store.get(request)?.metadata.deletionTimestamp === undefined ? undefined : 'terminating'
  }

  /** Why the objects of a core kind in the target's namespace, or one node, could not be read; undefined where nobody was refused. */
  refusal(kind: 'Pod' | 'Event' | 'Node', name?: string): Failure | undefined {
    const { namespace } = this.#record.target
    const where = kind === 'Node' || namespace === undefined ? {} : { namespace }
    return this.#store.refusal({ apiVersion: 'v1', kind, ...where, ...(name === undefined ? {} : { name }) })
  }
}

/** More containers of one target would add nothing. */
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
export function nodeBehind(problem: Problem, facts: TargetFacts): string | undefined {
  const pod = facts.subject(problem) as Pod | undefined
  if (pod?.kind !== 'Pod' || !pod.spec?.nodeName) return undefined
  // The event that the node lifecycle controller writes when a node no longer reports (pkg/controller/nodelifecycle).
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
