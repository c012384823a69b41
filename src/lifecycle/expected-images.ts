import { isDeepStrictEqual } from 'node:util'
import type { KubeObject, Pod, PodSpec, PodTemplate } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import type { ExpectedImages } from '../inputs.ts'
import type { Target } from '../plan/target.ts'
import { messageOf, type Problem } from '../reasons/reasons.ts'
import { assess } from './assess.ts'
import { awaitedPods, type Pods, podsOf } from './pods.ts'
import type { Reader } from './reader.ts'
import { type Rule, withCheck } from './rule.ts'
import { ownProblem } from './status-problems.ts'
import { containersOf } from './workloads/pod-fields.ts'
import { containersIn } from './workloads/template.ts'

/**
 * A terminal problem: a ready pod runs another digest than expected, and will not change by itself. The running digest is
 * that of the container's `imageID`. For an index, some runtimes write the platform's digest there, so the digest in the
 * pod's own `image` counts as well.
 */
function mismatchOf(containers: readonly ExpectedContainer[], now: number): Problem | undefined {
  const other = containers.find(({ isExpected }) => !isExpected)
  if (other === undefined) return undefined
  const { pod, container, status, wanted, running } = other
  return {
    ...ownProblem(pod, now),
    reason: 'image-mismatch',
    container: container.name,
    detail: { image: container.image, expected: wanted, running, isLoaded: !status?.imageID?.includes('@') },
    proven: true,
  }
}

type ExpectedContainer = ReturnType<typeof expectedContainers>[number]

/** The containers whose image is expected, with the digest that each runs; undefined if it is unknown. */
function expectedContainers(pods: readonly Pod[], expected: ExpectedImages) {
  return pods.flatMap((pod) =>
    containersOf(pod).flatMap(({ container, status }) => {
      const wanted = Object.hasOwn(expected, container.name) ? expected[container.name] : undefined
      if (wanted === undefined) return []
      const running = digestOf(status?.imageID)
      return [
        { pod, container, status, wanted, running, isExpected: [running, digestOf(container.image)].includes(wanted) },
      ]
    }),
  )
}

/** Adds to a rule: a target that would be ready fails if a pod runs another image than expected. */
export function withExpectedImages(rule: Rule, expected: ExpectedImages): Rule {
  if (Object.keys(expected).length === 0) return rule
  return withCheck(rule, (draft, object, reader) => {
    if (!draft.ready) return draft
    const failure = mismatchOf(expectedContainers(stayingPods(podsOf(object, draft.pods)), expected), reader.now)
    if (failure === undefined) return draft
    return { ...draft, ready: false, message: messageOf(failure), failure, problems: [failure, ...draft.problems] }
  })
}

/**
 * Whether the expected images have arrived (`await-change`), or the problem that other ones run; undefined if any change of
 * the object is the awaited one.
 * @param listed the object in the first list; undefined if the list does not contain it, or if its manifest is known
 * @param reader undefined while only the specs decide, which need no list
 */
export function haveImagesArrived(
  rule: Rule,
  object: KubeObject,
  listed: KubeObject | undefined,
  expected: ExpectedImages,
  reader: Reader | undefined,
): boolean | Problem | undefined {
  const found = hasArrivedBySpec(podSpecOf(object), listed && podSpecOf(listed), expected)
  if (found !== false || reader === undefined) return found
  return hasArrivedByPods(stayingPods(podsOf(object, assess(rule, object, reader).pods)), expected, reader.now)
}

/** The gated pods that are not being deleted. */
function stayingPods(pods: Pods | undefined): readonly Pod[] {
  return pods === undefined ? [] : [...awaitedPods(pods), ...pods.ended]
}

/** A ready target with its pods. */
interface ReadyTarget {
  readonly target: Target
  readonly pods: Pods | undefined
}

/**
 * A terminal problem: all targets are ready, but none of their pods has some expected containers. An image that never runs
 * proves nothing, and the name may be misspelt. The problem belongs to the first target.
 */
export function missingContainers(
  targets: readonly ReadyTarget[],
  expected: ExpectedImages,
  now: number,
): Problem | undefined {
  const [first] = targets
  if (first === undefined) return undefined
  const pods = targets.flatMap((each) => stayingPods(each.pods))
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

/**
 * Whether the spec shows that the awaited change has arrived. A digest decides. A tag does not: it may have been moved, and a
 * scale or a restart leaves it as it is. With a tag, the change is another image of the container.
 * @param listed the pod spec in the first list
 */
function hasArrivedBySpec(
  present: PodSpec,
  listed: PodSpec | undefined,
  expected: ExpectedImages,
): boolean | undefined {
  const images = imagesOf(present, expected)
  const pinned = images.filter(([, image]) => digestOf(image) !== undefined)
  if (pinned.length > 0) return pinned.every(([name, image]) => digestOf(image) === expected[name])
  return listed === undefined || images.length === 0
    ? undefined
    : !isDeepStrictEqual(images, imagesOf(listed, expected))
}

/**
 * Whether some of these pods show which of the expected images they run, and none runs another one: somebody wrote the tag
 * before the gate began, or restarted what has a moved tag.
 */
function hasArrivedByPods(pods: readonly Pod[], expected: ExpectedImages, now: number): boolean | Problem {
  const shown = expectedContainers(pods, expected).filter(
    ({ running, isExpected }) => isExpected || running !== undefined,
  )
  if (shown.length === 0) return false
  return mismatchOf(shown, now) ?? true
}

/** The names and images of the containers whose image is expected. */
function imagesOf(spec: PodSpec, expected: ExpectedImages) {
  return containersIn(spec).flatMap(({ name, image }) =>
    Object.hasOwn(expected, name) ? [[name, image] as const] : [],
  )
}

function podSpecOf(object: KubeObject): PodSpec {
  const spec = object.spec as (PodSpec & { template?: PodTemplate }) | undefined
  return spec?.template?.spec ?? spec ?? {}
}

/** `registry/app@sha256:…`, `sha256:…` → the digest. */
function digestOf(image: string | undefined): string | undefined {
  return /sha256:[0-9a-f]{64}$/.exec(image ?? '')?.[0]
}
