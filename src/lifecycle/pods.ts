import { cachePerObject, controllerUidOf, isOfKind, type KubeObject, type Pod } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'

/** The pods of a target, by revision and state. The gated revision is the revision that must become ready. */
export interface Pods {
  /** The pods of the gated revision. */
  readonly new: readonly Pod[]
  /** Pods of an older revision that the controller replaces. */
  readonly old: readonly Pod[]
  /** Pods of an older revision that the controller keeps: below a partition, or with OnDelete. */
  readonly kept: readonly Pod[]
  /** Pods of the gated revision that have ended, and that the controller replaces. */
  readonly ended: readonly Pod[]
  /** Pods of the gated revision that are being deleted. */
  readonly leaving: readonly Pod[]
  /** All other pods that are being deleted. */
  readonly draining: readonly Pod[]
  /** The kept pods must be ready too, because OnDelete replaces no pod. They count as pods of the gated revision. */
  readonly awaitsKept: boolean
}

/** The pods of a target: the pods in its assessment or, if the target is a Pod, the Pod itself. */
export function podsOf(object: KubeObject | undefined, assessed: Pods | undefined): Pods | undefined {
  if (!isOfKind(object, 'Pod')) return assessed
  return { new: [object], old: [], kept: [], ended: [], leaving: [], draining: [], awaitsKept: false }
}

/** The uid of the workload that controls pods: for a ReplicaSet, the uid of its Deployment. */
export function workloadUid(controller: string, store: Pick<Store, 'getByUid'>): string {
  const object = store.getByUid(controller)
  return (isOfKind(object, 'ReplicaSet') ? controllerUidOf(object) : undefined) ?? controller
}

/** The pods that must become ready. */
export function awaitedPods({ new: pods, kept, awaitsKept }: Pods): readonly Pod[] {
  return awaitsKept ? [...pods, ...kept] : pods
}

/** All pods that count for the gated revision, including ended pods and pods that are being deleted. */
export function gatedPods(pods: Pods): readonly Pod[] {
  return [...awaitedPods(pods), ...pods.ended, ...pods.leaving]
}

/** The present versions of the gated pods that still exist. */
export function presentPods(pods: Pods, podWithUid: (uid: string) => KubeObject | undefined): readonly Pod[] {
  const known = gatedPods(pods).map(({ metadata: { uid = '' } }) => podWithUid(uid))
  return known.filter((object) => isOfKind(object, 'Pod'))
}

/**
 * The revision of a pod within its workload. `gated`: the gated revision. `kept`: an older revision that the workload
 * keeps. `other`: another revision, or unknown, because the workload is not gated or not assessed yet.
 */
export type PodRevision = 'gated' | 'kept' | 'other'

/** The revision of each gated or kept pod, by uid. Cached, because a Service reads the map for each of its pods. */
export const revisionsByUid = cachePerObject((pods: Pods): ReadonlyMap<string | undefined, PodRevision> => {
  const revisions = new Map<string | undefined, PodRevision>()
  for (const { metadata } of gatedPods(pods)) revisions.set(metadata.uid, 'gated')
  for (const { metadata } of pods.kept) revisions.set(metadata.uid, 'kept')
  return revisions
})

/** Whether two assessments contain the same pods, in any state. */
export function haveSamePods(a: Pods | undefined, b: Pods | undefined): boolean {
  if (a === b || a === undefined || b === undefined) return a === b
  const areSame = (before: readonly Pod[], after: readonly Pod[]) =>
    before.length === after.length && before.every(({ metadata }, index) => metadata.uid === after[index]?.metadata.uid)
  return areSame(gatedPods(a), gatedPods(b)) && areSame(a.kept, b.kept)
}
