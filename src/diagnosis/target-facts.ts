import { isDeepStrictEqual } from 'node:util'
import { isMissing } from '../cluster/failures.ts'
import type { ContainerRef, Failure, LogText } from '../cluster/feed.ts'
import { type EventObject, isOfKind, isPodSubject, type KubeObject, type Node, type Pod } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { JudgedTargetRecord, TargetRecord } from '../gate/run-record.ts'
import { hasDeployerMark } from '../lifecycle/custom/dependents.ts'
import { findSubject, problemAndCause } from '../lifecycle/evidence-snapshot.ts'
import type { PodContainer } from '../lifecycle/pod-view.ts'
import { lastStateOfDeleted } from '../lifecycle/rules.ts'
import { containersOf, hasStarted, isReadyByCondition, isReplaced } from '../lifecycle/workloads/pod-fields.ts'
import { templateChanges } from '../lifecycle/workloads/pod-template.ts'
import { podTemplateOf, revisionNumber, revisionsOfWorkload } from '../lifecycle/workloads/revision.ts'
import type { Target } from '../plan/target.ts'
import { type Problem, traitsOf } from '../reasons/reasons.ts'
import { maxContainersOfTarget } from '../thresholds.ts'

/** The facts about one target: its objects at the verdict, and the evidence that was read later. */
export class TargetFacts {
  readonly #record: JudgedTargetRecord
  readonly #store: Store

  constructor(judged: JudgedTargetRecord, store: Store) {
    this.#record = judged
    this.#store = store
  }

  /** Finds an object: its version at the verdict, else the present version. */
  get(reference: Parameters<Store['get']>[0]): KubeObject | undefined {
    const isNamed = ({ kind, metadata: { name, namespace = reference.namespace } }: KubeObject) =>
      kind === reference.kind && name === reference.name && namespace === reference.namespace
    return this.#record.basis.snapshot?.find(isNamed) ?? this.#store.get(reference)
  }

  /** Lists the revisions of an object: its ReplicaSets or ControllerRevisions. */
  listOwned(uid: string | undefined, kind: string): readonly KubeObject[] {
    const { snapshot } = this.#record.basis
    if (snapshot === undefined) return this.#store.listOwned(uid, kind)
    return snapshot.filter(
      (object) => object.kind === kind && object.metadata.ownerReferences?.some((owner) => owner.uid === uid),
    )
  }

  /** The pods that a stalled or timed-out target waits for: the Pod itself, or all pods that are not ready. */
  get waitingPods(): readonly Pod[] {
    const { outcome, basis } = this.#record
    if (outcome !== 'stalled' && outcome !== 'timed-out') return []
    const object = this.get(basis.target)
    const { uid } = object?.metadata ?? {}
    const owners = [uid, ...this.#store.listOwned(uid, 'ReplicaSet').map(({ metadata }) => metadata.uid)]
    const owned = owners.flatMap((owner) => this.#store.listOwned(owner, 'Pod'))
    return (isOfKind(object, 'Pod') ? [object] : owned).filter(
      (pod) => !isReplaced(pod) && pod.status?.phase !== 'Succeeded' && !isReadyByCondition(pod),
    )
  }

  findSubject(problem: Problem): KubeObject | undefined {
    return findSubject(problem, this)
  }

  findContainer(problem: Problem): PodContainer | undefined {
    const pod = this.findSubject(problem)
    if (!isOfKind(pod, 'Pod')) return undefined
    return containersOf(pod).find(({ container }) => container.name === problem.container)
  }

  eventsOf(object: KubeObject): readonly EventObject[] {
    return this.#store.eventsOf(object)
  }

  /** Finds the log of the container that has a problem. @param previous the log of its previous run */
  findLog({ subject, container = '' }: Problem, previous: boolean): LogText | undefined {
    return this.#store.logOf(subject.namespace ?? 'default', subject.name, container, previous)
  }

  findNode(name: string): Node | undefined {
    return this.#store.list('Node', undefined).find(({ metadata }) => metadata.name === name)
  }

  /** Whether the last event about the target reports its end. The target may no longer exist. */
  get hasEnded(): boolean {
    const { apiVersion, kind, namespace, name } = this.#record
    const object = { apiVersion, kind, metadata: { namespace, name } }
    const lastEvents = this.#store.eventsOf(object).slice(-1)
    return lastStateOfDeleted(object, lastEvents) !== undefined
  }

  /** Whether the namespace of the target is missing or being deleted; undefined if it exists or is unknown. */
  get namespaceState(): 'missing' | 'terminating' | undefined {
    const { namespace } = this.#record
    if (namespace === undefined) return undefined
    const request = { apiVersion: 'v1', kind: 'Namespace', name: namespace }
    if (isMissing(this.#store.refusalOf(request))) return 'missing'
    return this.#store.get(request)?.metadata.deletionTimestamp === undefined ? undefined : 'terminating'
  }

  /** The failed read of a kind in the namespace of the target, or of a node. */
  findFailure(kind: 'Pod' | 'Event' | 'Node', name?: string): Failure | undefined {
    const { namespace } = this.#record
    const where = kind === 'Node' || namespace === undefined ? {} : { namespace }
    return this.#store.refusalOf({ apiVersion: 'v1', kind, ...where, ...(name === undefined ? {} : { name }) })
  }

  /** The containers whose logs may show why the target is not ready, without those that never started. */
  get loggedContainers(): readonly ContainerRef[] {
    const containers = this.#record.problems
      .flatMap(({ basis }) => problemAndCause(basis))
      .flatMap((problem) => {
        const { subject, container } = problem
        const neverRan = this.findSubject(problem) !== undefined && !hasStarted(this.findContainer(problem)?.status)
        if (container === undefined || !isPodSubject(subject) || neverRan) return []
        return [{ namespace: subject.namespace ?? 'default', pod: subject.name, container }]
      })
    const isFirst = (each: ContainerRef, index: number) =>
      containers.findIndex((other) => isDeepStrictEqual(other, each)) === index
    return containers.filter(isFirst).slice(0, maxContainersOfTarget)
  }

  /** The name of the node that may be the cause of a problem. */
  explainingNode(problem: Problem): string | undefined {
    const pod = this.findSubject(problem)
    if (!isOfKind(pod, 'Pod') || !pod.spec?.nodeName) return undefined
    // The node lifecycle controller writes this event when a node no longer reports (pkg/controller/nodelifecycle).
    const isLost = this.eventsOf(pod).some(({ reason }) => reason === 'NodeNotReady')
    return isLost || traitsOf(problem).isOfNode ? pod.spec.nodeName : undefined
  }

  /** The pods that a target without a known cause waits for, and that have a node. */
  get unexplainedPods(): readonly Pod[] {
    const isUnexplained = this.#record.problems.every((problem) => traitsOf(problem).yieldsTo === 'node')
    return isUnexplained ? this.waitingPods.filter(({ spec }) => spec?.nodeName) : []
  }

  /** The namespace of a target that ended without an existing object: it may be missing or being deleted. */
  get explainingNamespace(): string | undefined {
    const { namespace, reason, basis } = this.#record
    const object = this.get(basis.target)
    const exists = object !== undefined && object.metadata.deletionTimestamp === undefined
    return reason === '' || exists ? undefined : namespace
  }
}

/**
 * The differences between the pod template and an older revision, one line each. The older revision is the revision
 * that was available when the gate began, else the latest different revision. Empty if no older revision is known.
 * Values of environment variables and Secrets are never shown.
 */
export function revisionChanges(
  { outcome, basis }: Pick<JudgedTargetRecord, 'outcome' | 'basis'>,
  facts: Pick<TargetFacts, 'get' | 'listOwned'>,
): Pick<TargetRecord, 'changes' | 'changesSince'> {
  const object = facts.get(basis.target)
  const template = object && podTemplateOf(object)
  if (object === undefined || template === undefined) return {}
  // If the target was superseded, the older revision is the gated one.
  const available = outcome === 'superseded' ? undefined : basis.availableRevision
  const sortKey = (revision: KubeObject) =>
    revisionNumber(revision) === available ? Infinity : revisionNumber(revision) || 0
  const older = revisionsOfWorkload(object.metadata.uid, (owner, kind) => facts.listOwned(owner, kind))
    .toSorted((a, b) => sortKey(b) - sortKey(a))
    .map((revision) => {
      const before = podTemplateOf(revision)
      return {
        number: revisionNumber(revision),
        changes: before === undefined ? [] : templateChanges(before, template),
      }
    })
  const { number, changes = [] } = older.find(({ changes }) => changes.length > 0) ?? {}
  if (number === undefined) return {}
  return { changes, ...(!Number.isNaN(number) && { changesSince: number }) }
}

/** Adds to a ready target what this rollout changed in the pod template. */
export function addChanges(judged: JudgedTargetRecord, store: Store): TargetRecord {
  const { target } = judged.basis
  if (judged.change !== 'recent' || !mayQuote(target, store)) return judged
  return { ...judged, ...revisionChanges(judged, new TargetFacts(judged, store)) }
}

/**
 * Whether events and logs of a target may be shown. A deployed object in another namespace must have the label or
 * annotation of its operator, because users may write object names to the operator's status.
 */
export function mayQuote({ deployedBy, ...target }: Target, store: Store): boolean {
  if (deployedBy === undefined || deployedBy.namespace === target.namespace) return true
  const object = store.get(target)
  return object !== undefined && hasDeployerMark(object, deployedBy)
}
