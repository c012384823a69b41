import type { KubeObject, Pod, PodSpec, PodTemplate } from '../../cluster/objects.ts'
import type { ExpectedImages } from '../../inputs.ts'
import type { Target } from '../../plan/target.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import type { Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { gatedPods } from './gated-pods.ts'
import { containersOf } from './pod-object.ts'

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

/** A rule under which a target fails when it would be ready and one of its pods runs another image than the expected one. */
export function withExpectedImages(rule: Rule, expected: ExpectedImages): Rule {
  if (Object.keys(expected).length === 0) return rule
  return {
    ...rule,
    hasExpectedSpec: (object) => hasExpectedImages(podSpecOf(object), expected),
    assess: (object, context) => {
      const assessment = rule.assess(object, context)
      if (assessment.status !== 'ready') return assessment
      const pods = context.list('Pod', object.metadata.namespace) as readonly Pod[]
      const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]))
      const failure = imageMismatch(
        stayingPods(object, assessment, (uid) => byUid.get(uid)),
        expected,
        context,
      )
      if (failure === undefined) return assessment
      const problems = [failure, ...assessment.problems]
      return { ...assessment, status: 'failed', message: messageOf(failure), failure, problems }
    },
  }
}

/** A target that is ready, with the object and assessment that it is ready by. */
interface ReadyTarget {
  readonly target: Target
  readonly object: KubeObject | undefined
  readonly assessment: Assessment | undefined
}

/** The problem of the first target when all are ready: no gated pod has a container whose image is expected. */
export function missingContainers(
  targets: readonly ReadyTarget[],
  expected: ExpectedImages,
  podWithUid: (uid: string) => KubeObject | undefined,
  now: number,
): Problem | undefined {
  const [first] = targets
  if (first === undefined || Object.keys(expected).length === 0) return undefined
  const pods = targets.flatMap(({ object, assessment }) =>
    object === undefined || assessment === undefined ? [] : stayingPods(object, assessment, podWithUid),
  )
  return missingContainersProblem(`${first.target.kind.toLowerCase()}/${first.target.name}`, pods, expected, now)
}

function stayingPods(
  object: KubeObject,
  assessment: Assessment,
  podWithUid: (uid: string) => KubeObject | undefined,
): readonly Pod[] {
  return gatedPods(object, assessment, podWithUid).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
}

/**
 * Terminal: none of these pods has some of the expected containers: an image that never runs proves nothing, and the name may
 * be misspelt.
 * @param subject the target that the problem is reported of
 */
function missingContainersProblem(
  subject: string,
  pods: readonly Pod[],
  expected: ExpectedImages,
  now: number,
): Problem | undefined {
  const names = new Set(pods.flatMap((pod) => containersOf(pod).map(({ container }) => container.name)))
  const containers = Object.keys(expected).filter((name) => !names.has(name))
  if (containers.length === 0) return undefined
  return {
    reason: 'image-mismatch',
    subject,
    detail: { missingContainers: containers },
    count: 1,
    firstSeenAt: now,
    proven: true,
  }
}

/** Whether a pod spec names the expected digests: of all its containers that the user listed, at least one. */
function hasExpectedImages({ containers = [], initContainers = [] }: PodSpec, expected: ExpectedImages): boolean {
  const named = [...containers, ...initContainers].filter(({ name }) => Object.hasOwn(expected, name))
  return named.length > 0 && named.every(({ name, image }) => digestOf(image) === expected[name])
}

function podSpecOf(object: KubeObject): PodSpec {
  const spec = object.spec as (PodSpec & { template?: PodTemplate }) | undefined
  return spec?.template?.spec ?? spec ?? {}
}

/** `registry/app@sha256:…`, `sha256:…` → the digest. */
function digestOf(image: string | undefined): string | undefined {
  return /sha256:[0-9a-f]{64}$/.exec(image ?? '')?.[0]
}
