import type { Pod, PodSpec } from '../../cluster/objects.ts'
import type { ExpectedImages } from '../../plan/expected-images.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import type { RuleContext } from '../rule-context.ts'
import { containersOf } from './history.ts'

/**
 * Terminal: a pod that is ready runs another digest than the one that was built; it will not change by itself. What runs is
 * the digest of the container's `imageID`, as its runtime resolved the name; some runtimes write the digest of the platform
 * there where an index was built, so a digest in the pod's own `image` speaks for it as well.
 */
function imageMismatch(
  pods: readonly Pod[],
  expected: ExpectedImages,
  context: Pick<RuleContext, 'now'>,
): Problem | undefined {
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
        firstSeenAt: context.now,
        proven: true,
      }
    }
  }
  return undefined
}

/** A workload or pod that would be ready has failed when one of its pods runs another image than the one expected. */
export function withExpectedImages(
  assessment: Assessment,
  pods: () => readonly Pod[],
  expected: ExpectedImages,
  context: Pick<RuleContext, 'now'>,
): Assessment {
  // Asked of every target at every event, and most gates expect none.
  const isAsked = assessment.status === 'ready' && Object.keys(expected).length > 0
  const failure = isAsked ? imageMismatch(pods(), expected, context) : undefined
  if (failure === undefined) return assessment
  return {
    ...assessment,
    status: 'failed',
    message: messageOf(failure),
    failure,
    problems: [failure, ...assessment.problems],
  }
}

/**
 * Terminal: none of these pods has some of the expected containers: an image that never runs proves nothing, and the name may
 * be misspelt.
 * @param subject the target that the problem is reported of
 */
export function missingContainers(
  subject: string,
  pods: readonly Pod[],
  expected: ExpectedImages,
  context: Pick<RuleContext, 'now'>,
): Problem | undefined {
  const names = new Set(pods.flatMap((pod) => containersOf(pod).map(({ container }) => container.name)))
  const containers = Object.keys(expected).filter((name) => !names.has(name))
  if (containers.length === 0) return undefined
  return {
    reason: 'image-mismatch',
    subject,
    detail: { missingContainers: containers },
    count: 1,
    firstSeenAt: context.now,
    proven: true,
  }
}

/** Whether the template of a workload asks for the expected digests: for all of its containers that are named, at least one. */
export function asksForImages({ containers = [], initContainers = [] }: PodSpec, expected: ExpectedImages): boolean {
  const named = [...containers, ...initContainers].filter(({ name }) => Object.hasOwn(expected, name))
  return named.length > 0 && named.every(({ name, image }) => digestOf(image) === expected[name])
}

/** `registry/app@sha256:…`, `sha256:…` → the digest. */
function digestOf(image: string | undefined): string | undefined {
  return /sha256:[0-9a-f]{64}$/.exec(image ?? '')?.[0]
}
