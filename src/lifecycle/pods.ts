import { cachePerObject, controllerOf, isOfKind, type KubeObject, type Pod } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'

/**
 * The pods of a target, by their revision and by what happens to them. The lists contain each pod at most once. The
 * gated revision is the one that the target waits for.
 */
export interface Pods {
  /** The pods of the gated revision. */
  readonly new: readonly Pod[]
  /** Pods of an older revision, which the controller replaces. */
  readonly old: readonly Pod[]
  /** Pods of an older revision, which the controller keeps: below a partition, or with OnDelete. */
  readonly kept: readonly Pod[]
  /** Pods of the gated revision that have ended: the controller replaces them. */
  readonly ended: readonly Pod[]
  /** Pods of the gated revision that are being deleted. */
  readonly leaving: readonly Pod[]
  /** All other pods that are being deleted. */
  readonly draining: readonly Pod[]
  /** The kept pods must be ready too, so they count as gated ones: OnDelete updates no pod by itself. */
  readonly awaitsKept: boolean
}

/** The pods of a target: those in its assessment; for a target that is a pod, this pod. */
export function podsOf(object: KubeObject | undefined, assessed: Pods | undefined): Pods | undefined {
  if (!isOfKind(object, 'Pod')) return assessed
  return { new: [object], old: [], kept: [], ended: [], leaving: [], draining: [], awaitsKept: false }
}

/** The uid of the workload that a controller of pods belongs to: of the owner of a ReplicaSet, else of the controller itself. */
export function workloadUid(controller: string, store: Pick<Store, 'getByUid'>): string {
  const object = store.getByUid(controller)
  return (isOfKind(object, 'ReplicaSet') ? controllerOf(object) : undefined) ?? controller
}

/** The pods that must become ready. */
export function awaitedPods({ new: pods, kept, awaitsKept }: Pods): readonly Pod[] {
  return awaitsKept ? [...pods, ...kept] : pods
}

/** The pods that count as of the gated revision, also those that have ended or are being deleted. */
export function gatedPods(pods: Pods): readonly Pod[] {
  return [...awaitedPods(pods), ...pods.ended, ...pods.leaving]
}

/** The present versions of the gated pods, without those that no longer exist. */
export function presentPods(pods: Pods, podWithUid: (uid: string) => KubeObject | undefined): readonly Pod[] {
  const known = gatedPods(pods).map(({ metadata: { uid = '' } }) => podWithUid(uid))
  return known.filter((object) => isOfKind(object, 'Pod'))
}

/**
 * How a pod belongs to its workload. `gated`: it has the gated revision. `kept`: it is older, and the workload keeps
 * it, below a partition or with OnDelete. `other`: another older pod, or the workload is not gated or not assessed yet.
 */
export type PodRevision = 'gated' | 'kept' | 'other'

/** How the gated and the kept pods belong to a workload, by uid. Cached: a Service needs it for each of its pods. */
export const revisionsByUid = cachePerObject((pods: Pods): ReadonlyMap<string | undefined, PodRevision> => {
  const revisions = new Map<string | undefined, PodRevision>()
  for (const { metadata } of gatedPods(pods)) revisions.set(metadata.uid, 'gated')
  for (const { metadata } of pods.kept) revisions.set(metadata.uid, 'kept')
  return revisions
})

/** Whether two assessments contain the same pods, in any state. */
export function haveSamePods(a: Pods | undefined, b: Pods | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  const areSame = (before: readonly Pod[], after: readonly Pod[]) =>
    before.length === after.length && before.every(({ metadata }, index) => metadata.uid === after[index]?.metadata.uid)
  return areSame(gatedPods(a), gatedPods(b)) && areSame(a.kept, b.kept)
}
