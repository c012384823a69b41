import { isDeepStrictEqual } from 'node:util'
import { type Container, isOfKind, type KubeObject, type Pod, type PodTemplate } from '../../cluster/objects.ts'
import { type Problem, traitsOf } from '../../reasons/reasons.ts'
import type { Rule, Undo } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { condition, isReplaced } from './pod-fields.ts'
import { examinePod } from './pod-state.ts'
import { hashLabel, newestOf, numberOf, revisionsOf, templateOf } from './revision.ts'
import { isOnlyRestarted, isSameTemplate } from './template.ts'

/** `kubectl rollout undo` of a Deployment, StatefulSet or DaemonSet (pkg/polymorphichelpers/rollback.go in kubectl). */
export const undoHooks = { availableRevision, undo } satisfies Partial<Rule>

/** The number of the newest older revision whose pods are all available. */
function availableRevision(object: KubeObject, context: RuleContext): number | undefined {
  if (condition(object, 'Available')?.status === 'False') return undefined
  const number = newestOf(olderRevisions(object, context).filter((revision) => isAvailable(revision, object, context)))
  return number && numberOf(number)
}

/**
 * Whether the undo of a failed object restores what ran.
 * @param number the revision that was available when the object was first judged
 * @param problem the problem that failed it
 */
function undo(
  object: KubeObject,
  number: number | undefined,
  problem: Problem | undefined,
  context: RuleContext,
): Undo {
  const revision = olderRevisions(object, context).find((each) => numberOf(each) === number)
  if (number === undefined || revision === undefined)
    return { obstacle: 'no older revision of it was available when the gate began' }
  const [before, after] = [templateOf(revision), templateOf(object)]
  const areReady = podsOf(revision, object, context).every((pod) => examinePod(pod, context).ready)
  const blocked =
    ownerObstacle(object) ??
    strategyObstacle(object) ??
    (areReady ? undefined : `its revision ${number} is not ready any more either, so this change may not be the cause`)
  const isOnlyRestart = blocked === undefined && isOnlyRestarted(before, after)
  const obstacle =
    blocked ??
    (isOnlyRestart ? 'its containers are the same in both revisions' : changeObstacle(before, after, problem))
  return {
    revision: number,
    ...(obstacle !== undefined && { obstacle }),
    ...(isOnlyRestart && { isOnlyRestart }),
  }
}

/** The revisions with another template than the present one, which may have no revision yet. */
function olderRevisions(object: KubeObject, context: RuleContext): readonly KubeObject[] {
  const template = templateOf(object)
  return revisionsOf(object.metadata.uid, context.owned).filter(
    (revision) => !Number.isNaN(numberOf(revision)) && !isSameTemplate(templateOf(revision), template),
  )
}

/** Whether a revision has pods that are all available. If the revision is a ReplicaSet, its counts must show this too. */
function isAvailable(revision: KubeObject, object: KubeObject, context: RuleContext): boolean {
  const pods = podsOf(revision, object, context)
  const areSettled = pods.every((pod) => examinePod(pod, context).settled)
  if (!isOfKind(revision, 'ReplicaSet')) return areSettled && pods.length > 0
  const { spec = {}, status = {} } = revision
  const wanted = Math.max(1, spec.replicas ?? 1, status.replicas ?? 0)
  return areSettled && (status.availableReplicas ?? 0) >= wanted
}

/** The pods of a revision that stay. The label has the name of a StatefulSet's revision, the hash of a DaemonSet's. */
function podsOf(revision: KubeObject, object: KubeObject, context: RuleContext): readonly Pod[] {
  const { name, uid, labels } = revision.metadata
  const pods = isOfKind(revision, 'ReplicaSet')
    ? context.owned(uid, 'Pod')
    : context.owned(object.metadata.uid, 'Pod').filter(({ metadata }) => {
        const hash = metadata.labels?.[hashLabel]
        return hash !== undefined && (hash === name || hash === labels?.[hashLabel])
      })
  return pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && !isReplaced(pod))
}

/** The labels and annotations of objects that a GitOps operator applies again. */
const operatorKey = /^(?:(?:kustomize|helm)\.toolkit\.fluxcd\.io|argocd\.argoproj\.io)\//

/** Why another controller would replace the template that an undo restores. */
function ownerObstacle({ metadata }: KubeObject): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  if (owner !== undefined) return `${owner.kind} ${owner.name} writes it: undo the change there`
  const isApplied = Object.keys({ ...metadata.labels, ...metadata.annotations }).some((key) => operatorKey.test(key))
  return isApplied ? 'a GitOps operator applies it: revert the commit' : undefined
}

interface WorkloadSpec {
  readonly paused?: boolean
  readonly podManagementPolicy?: string
  readonly updateStrategy?: { readonly type?: string }
}

/** Why the controller would not roll the older template out. */
function strategyObstacle({ kind, spec }: KubeObject): string | undefined {
  const { paused, podManagementPolicy, updateStrategy } = (spec ?? {}) as WorkloadSpec
  if (paused) return 'it is paused: resume it, then undo it'
  if (updateStrategy?.type === 'OnDelete') return 'its pods are replaced when they are deleted (OnDelete)'
  // https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback
  if (kind === 'StatefulSet' && podManagementPolicy !== 'Parallel')
    return 'after an undo, its broken pod must be deleted too: an ordered StatefulSet waits for it'
  return undefined
}

/** Why the failure is no proof about the change between two templates. */
function changeObstacle(
  before: PodTemplate | undefined,
  after: PodTemplate | undefined,
  problem: Problem | undefined,
): string | undefined {
  const { container: name = '', ...failed } = problem?.cause?.container === undefined ? (problem ?? {}) : problem.cause
  const [old, present] = [before, after].map((template) => containerOf(template, name))
  if (old === undefined || present === undefined) return undefined
  const isOfImage = 'reason' in failed && traitsOf(failed).field?.container?.[0] === 'image'
  if (isOfImage && old.image === present.image) return `its container ${name} has the same image in both revisions`
  const isSame =
    isDeepStrictEqual(old, present) && isDeepStrictEqual(withoutContainers(before), withoutContainers(after))
  return isSame ? `its container ${name} is the same in both revisions` : undefined
}

function containerOf(template: PodTemplate | undefined, name: string): Container | undefined {
  const { containers = [], initContainers = [] } = template?.spec ?? {}
  return [...containers, ...initContainers].find((container) => container.name === name)
}

function withoutContainers({ spec = {} }: PodTemplate = {}): object {
  const { containers: _, initContainers: __, ...rest } = spec
  return rest
}
