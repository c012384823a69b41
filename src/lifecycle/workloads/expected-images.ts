import type { KubeObject, Pod, PodSpec, PodTemplate } from '../../cluster/objects.ts'
import { groupOf } from '../../cluster/objects.ts'
import type { ExpectedImages } from '../../inputs.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import { stayingPods } from '../assessment.ts'
import { ownProblem } from '../conditions.ts'
import { amended, type ReadyTarget, type Rule } from '../rule.ts'
import { containersOf } from './pod-fields.ts'

/**
 * A terminal problem: a ready pod runs another digest than expected, and will not change by itself. The running digest is
 * that of the container's `imageID`. For an index, some runtimes write the platform's digest there, so the digest in the
 * pod's own `image` counts as well.
 */
function imageMismatch(pods: readonly Pod[], expected: ExpectedImages, now: number): Problem | undefined {
  for (const pod of pods) {
    for (const { container, status } of containersOf(pod)) {
      const wanted = Object.hasOwn(expected, container.name) ? expected[container.name] : undefined
      const running = digestOf(status?.imageID)
      if (wanted === undefined || running === wanted || digestOf(container.image) === wanted) continue
      return {
        ...ownProblem(pod, now),
        reason: 'image-mismatch',
        container: container.name,
        detail: { image: container.image, expected: wanted, running, isLoaded: !status?.imageID?.includes('@') },
        proven: true,
      }
    }
  }
  return undefined
}

/** Adds to a rule: a target that would be ready fails if a pod runs another image than expected. */
export function withExpectedImages(rule: Rule, expected: ExpectedImages): Rule {
  if (Object.keys(expected).length === 0) return rule
  const withHooks: Rule = {
    ...rule,
    hasExpectedSpec: (object) => hasExpectedImages(podSpecOf(object), expected),
    failureOfAll: (targets, now) => missingContainers(targets, expected, now),
  }
  return amended(withHooks, (draft, object, context) => {
    if (!draft.ready) return draft
    const existing = context.list('Pod', object.metadata.namespace)
    const pods = [...existing, ...context.succeededPods(object.metadata.uid)]
    const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]))
    const staying = stayingPods(object, draft, (uid) => byUid.get(uid))
    const failure = imageMismatch(staying, expected, context.now)
    if (failure === undefined) return draft
    return { ...draft, ready: false, message: messageOf(failure), failure, problems: [failure, ...draft.problems] }
  })
}

/**
 * A terminal problem: all targets are ready, but none of their pods has some expected containers. An image that never runs
 * proves nothing, and the name may be misspelt. The problem belongs to the first target.
 */
function missingContainers(
  targets: readonly ReadyTarget[],
  expected: ExpectedImages,
  now: number,
): Problem | undefined {
  const [first] = targets
  if (first === undefined) return undefined
  const pods = targets.flatMap((each) => each.pods)
  const names = new Set(pods.flatMap((pod) => containersOf(pod).map(({ container }) => container.name)))
  const missing = Object.keys(expected).filter((name) => !names.has(name))
  if (missing.length === 0) return undefined
  return {
    reason: 'image-mismatch',
    subject: { ...first.target, group: groupOf(first.target.apiVersion) },
    detail: { missingContainers: missing },
    count: 1,
    firstSeenAt: now,
    proven: true,
  }
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
