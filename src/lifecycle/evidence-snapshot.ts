import { isAccessDenied } from '../cluster/failures.ts'
import type { FeedEvent } from '../cluster/feed.ts'
import type { KubeObject, ObjectName } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { Problem } from '../reasons/reasons.ts'

/**
 * The objects that explain a verdict, in their version at the verdict: the target, its revisions, and the objects with
 * problems. The snapshot keeps these objects, because the cluster may delete them before the gate ends.
 */
export type EvidenceSnapshot = readonly KubeObject[]

/** Takes the evidence snapshot of a target. @param object the target itself, if it exists */
export function takeEvidenceSnapshot(
  object: KubeObject | undefined,
  problems: readonly Problem[],
  store: Store,
): EvidenceSnapshot {
  const revisions = ['ReplicaSet', 'ControllerRevision'].flatMap((kind) => store.listOwned(object?.metadata.uid, kind))
  const subjects = problems.flatMap(problemAndCause).flatMap((problem) => findSubject(problem, store) ?? [])
  return [...new Set([...(object === undefined ? [] : [object]), ...revisions, ...subjects])]
}

/** The kinds that the gate reads by name, without a watch, to explain a target. */
const kindsRead: ReadonlySet<string | undefined> = new Set(['Node', 'Namespace'])

/**
 * Whether an event only explains a target: it is a log, or a failed read of a Node or Namespace.
 * @param isTarget whether a target has this name
 */
export function isOnlyEvidence(event: FeedEvent, isTarget: (reference: ObjectName) => boolean): boolean {
  if (event.type === 'LOG') return true
  if (event.type !== 'ERROR' || event.name === undefined || event.kind === undefined || !kindsRead.has(event.kind))
    return false
  return !isTarget({ apiVersion: 'v1', kind: event.kind, name: event.name })
}

/** Whether an event after the verdict explains the verdict: a Node, a Namespace, or denied access. */
export function isLateEvidence(event: FeedEvent): boolean {
  return isAccessDenied(event) || (event.type === 'ADDED' && kindsRead.has(event.object.kind))
}

/** The object that has a problem: the target, or a related object such as a pod. */
export function findSubject(
  { subject: { group, ...name } }: Pick<Problem, 'subject'>,
  store: Pick<Store, 'get'>,
): KubeObject | undefined {
  return store.get({ ...name, apiVersion: `${group}/` })
}

/** The problem, then its cause if it has one. */
export function problemAndCause(problem: Problem): readonly Problem[] {
  return problem.cause === undefined ? [problem] : [problem, problem.cause]
}
