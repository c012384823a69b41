import { isDeepStrictEqual } from 'node:util'
import { isOfKind, type KubeObject, type Pod, type PodSpec, type PodTemplate } from '../../cluster/objects.ts'
import type { ExpectedImages } from '../../inputs.ts'
import type { Target } from '../../plan/target.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import type { Rule } from '../rule.ts'
import { condition, containersOf } from './pod-object.ts'

/** The pods of the gated revision; for a bare pod, the pod itself. */
export function gatedPods(
  object: KubeObject | undefined,
  assessment: Assessment | undefined,
  podWithUid: (uid: string) => KubeObject | undefined,
): readonly Pod[] {
  if (isOfKind(object, 'Pod')) return [object]
  return [...(assessment?.pods ?? [])].map(podWithUid).filter((object) => isOfKind(object, 'Pod'))
}

/** Why a pod of the gated revision is removed and replaced; undefined while it stays. */
export function removalMessage(before: Pod, after: Pod | undefined): string | undefined {
  const { name, deletionTimestamp, ownerReferences = [] } = before.metadata
  const owner = ownerReferences.find(({ controller }) => controller)?.kind ?? 'controller'
  // A failed pod is deleted later; its failure is already logged.
  if (deletionTimestamp !== undefined || before.status?.phase === 'Failed') return undefined
  // Deleted by force, or between two watches. An object whose labels no longer match is reported as changed.
  if (after === undefined) return `pod/${name} was deleted`
  if (after.metadata.deletionTimestamp !== undefined) {
    const isForced = after.metadata.deletionGracePeriodSeconds === 0 && isGraceful(before)
    return `pod/${name} ${isForced ? 'was deleted by force' : 'is being deleted'}${disruptionOf(after)}`
  }
  const isReleased = (after.metadata.ownerReferences ?? []).length < ownerReferences.length
  if (!isReleased) return undefined
  // A deletion of the owner that leaves its pods releases them too.
  const isRelabelled = !isDeepStrictEqual(before.metadata.labels, after.metadata.labels)
  return `pod/${name} left its ${owner}${isRelabelled ? ': its labels no longer match' : ''}`
}

/** Whether a deletion has a grace period: a pod without a node has none. */
function isGraceful({ spec }: Pod): boolean {
  return (spec?.nodeName ?? '') !== '' && spec?.terminationGracePeriodSeconds !== 0
}

/** The cause of a pod's removal, by its condition DisruptionTarget: ` (Taint manager: deleting due to …)`. */
function disruptionOf(pod: Pod): string {
  const disruption = condition(pod, 'DisruptionTarget')
  const words = disruption?.message || disruption?.reason
  return disruption?.status === 'True' && words ? ` (${words})` : ''
}

/**
 * A terminal problem: a ready pod runs another digest than expected, and will not change by itself. The running digest is that of
 * the container's `imageID`. For an index, some runtimes write the platform's digest there, so the digest in the pod's
 * own `image` counts as well.
 */
function imageMismatch(pods: readonly Pod[], expected: ExpectedImages, now: number): Problem | undefined {
  for (const pod of pods) {
    for (const { container, status } of containersOf(pod)) {
      const wanted = Object.hasOwn(expected, container.name) ? expected[container.name] : undefined
      const running = digestOf(status?.imageID)
      if (wanted === undefined || running === wanted || digestOf(container.image) === wanted) continue
      return {
        reason: 'image-mismatch',
        subject: `pod/${pod.metadata.name}`,
        container: container.name,
        detail: { image: container.image, expected: wanted, running, isLoaded: !status?.imageID?.includes('@') },
        count: 1,
        firstSeenAt: now,
        proven: true,
      }
    }
  }
  return undefined
}

/** Adds to a rule: a target that would be ready fails if a pod runs another image than expected. */
export function withExpectedImages(rule: Rule, expected: ExpectedImages): Rule {
  if (Object.keys(expected).length === 0) return rule
  return {
    ...rule,
    hasExpectedSpec: (object) => hasExpectedImages(podSpecOf(object), expected),
    assess: (object, context) => {
      const assessment = rule.assess(object, context)
      if (assessment.status !== 'ready') return assessment
      const existing = context.list('Pod', object.metadata.namespace)
      const pods = [...existing, ...context.succeededPods(object.metadata.uid)]
      const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]))
      const staying = stayingPods(object, assessment, (uid) => byUid.get(uid))
      const failure = imageMismatch(staying, expected, context.now)
      if (failure === undefined) return assessment
      const problems = [failure, ...assessment.problems]
      return { ...assessment, status: 'failed', message: messageOf(failure), failure, problems }
    },
  }
}

/** A ready target with its gated pods that are not being deleted. */
interface ReadyTarget {
  readonly target: Target
  readonly pods: readonly Pod[]
}

/**
 * A terminal problem: all targets are ready, but none of their pods has some expected containers. An image that never runs proves
 * nothing, and the name may be misspelt. The problem belongs to the first target.
 */
export function missingContainers(
  targets: readonly ReadyTarget[],
  expected: ExpectedImages,
  now: number,
): Problem | undefined {
  const [first] = targets
  if (first === undefined || Object.keys(expected).length === 0) return undefined
  const pods = targets.flatMap((each) => each.pods)
  const names = new Set(pods.flatMap((pod) => containersOf(pod).map(({ container }) => container.name)))
  const missing = Object.keys(expected).filter((name) => !names.has(name))
  if (missing.length === 0) return undefined
  return {
    reason: 'image-mismatch',
    subject: `${first.target.kind.toLowerCase()}/${first.target.name}`,
    detail: { missingContainers: missing },
    count: 1,
    firstSeenAt: now,
    proven: true,
  }
}

/** The gated pods that are not being deleted. */
export function stayingPods(
  object: KubeObject | undefined,
  assessment: Assessment | undefined,
  podWithUid: (uid: string) => KubeObject | undefined,
): readonly Pod[] {
  return gatedPods(object, assessment, podWithUid).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
}

/** Whether a pod spec has the expected digests; undefined if none of these images has a digest in the spec. */
function hasExpectedImages(
  { containers = [], initContainers = [] }: PodSpec,
  expected: ExpectedImages,
): boolean | undefined {
  const pinned = [...containers, ...initContainers].flatMap(({ name, image }) => {
    const digest = digestOf(image)
    return Object.hasOwn(expected, name) && digest !== undefined ? [digest === expected[name]] : []
  })
  return pinned.length === 0 ? undefined : pinned.every((isExpected) => isExpected)
}

function podSpecOf(object: KubeObject): PodSpec {
  const spec = object.spec as (PodSpec & { template?: PodTemplate }) | undefined
  return spec?.template?.spec ?? spec ?? {}
}

/** `registry/app@sha256:…`, `sha256:…` → the digest. */
function digestOf(image: string | undefined): string | undefined {
  return /sha256:[0-9a-f]{64}$/.exec(image ?? '')?.[0]
}
