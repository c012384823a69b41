import { isDeepStrictEqual } from 'node:util'
import type { KubeObject, Pod, PodSpec, PodTemplate } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import type { ExpectedImages } from '../inputs.ts'
import type { Target } from '../plan/target.ts'
import { messageOf, type Problem } from '../reasons/reasons.ts'
import { assess } from './assess.ts'
import { awaitedPods, type Pods, podsOf } from './pods.ts'
import type { Reader } from './reader.ts'
import { addCheck, type Rule } from './rule.ts'
import { objectProblemFields } from './status-problems.ts'
import { containersOf } from './workloads/pod-fields.ts'
import { containersInSpec } from './workloads/pod-template.ts'

/* Checks `expect-images`: whether the containers run the expected image digests. */

/** The problem `image-mismatch`: a container runs another digest than expected. */
function findMismatch(containers: ReturnType<typeof checkedContainers>, now: number): Problem | undefined {
  const other = containers.find(({ runsExpected }) => !runsExpected)
  if (other === undefined) return undefined
  const { pod, container, status, wanted, running } = other
  return {
    ...objectProblemFields(pod, now),
    reason: 'image-mismatch',
    container: container.name,
    detail: { image: container.image, expected: wanted, running, isLoaded: !status?.imageID?.includes('@') },
    proven: true,
  }
}

/**
 * The containers for which `expected` has a digest. Some runtimes write the digest of the platform image to `imageID`
 * if the expected digest is of an image index. So the digest in the `image` of the pod spec counts as well.
 */
function checkedContainers(pods: readonly Pod[], expected: ExpectedImages) {
  return pods.flatMap((pod) =>
    containersOf(pod).flatMap(({ container, status }) => {
      const wanted = Object.hasOwn(expected, container.name) ? expected[container.name] : undefined
      if (wanted === undefined) return []
      const running = digestOf(status?.imageID)
      return [
        {
          pod,
          container,
          status,
          wanted,
          running,
          runsExpected: [running, digestOf(container.image)].includes(wanted),
        },
      ]
    }),
  )
}

/** Adds a check to a rule: a ready target fails if a pod runs another image than expected. */
export function addImageCheck(rule: Rule, expected: ExpectedImages): Rule {
  if (Object.keys(expected).length === 0) return rule
  return addCheck(rule, (assessment, object, reader) => {
    if (!assessment.ready) return assessment
    const failure = findMismatch(checkedContainers(stayingPods(podsOf(object, assessment.pods)), expected), reader.now)
    if (failure === undefined) return assessment
    return {
      ...assessment,
      ready: false,
      message: messageOf(failure),
      failure,
      problems: [failure, ...assessment.problems],
    }
  })
}

/** The gated pods that are not being deleted. */
function stayingPods(pods: Pods | undefined): readonly Pod[] {
  return pods === undefined ? [] : [...awaitedPods(pods), ...pods.ended]
}

/**
 * The problem `image-mismatch` after all targets are ready: no pod has a container with an expected name. The problem
 * belongs to the first target.
 * @param podsOfTargets the pods of each target
 */
export function missingContainerProblem(
  first: Target,
  podsOfTargets: readonly (Pods | undefined)[],
  expected: ExpectedImages,
  now: number,
): Problem | undefined {
  const pods = podsOfTargets.flatMap(stayingPods)
  const names = new Set(pods.flatMap((pod) => containersOf(pod).map(({ container }) => container.name)))
  const missing = Object.keys(expected).filter((name) => !names.has(name))
  if (missing.length === 0) return undefined
  return {
    reason: 'image-mismatch',
    subject: { ...first, group: groupOf(first.apiVersion) },
    detail: { missingContainers: missing },
    count: 1,
    firstSeenAt: now,
    proven: true,
  }
}

/**
 * Whether the spec of an object has the expected images (`await-change`). Digests in the spec are compared. If the spec
 * has only tags, the images must differ from the first list, because a tag may have been moved.
 * @param listed the object in the first list; undefined if the list does not contain it, or if its manifest is known
 * @returns undefined if there is nothing to compare: then any change counts
 */
export function hasExpectedImagesInSpec(
  object: KubeObject,
  listed: KubeObject | undefined,
  expected: ExpectedImages,
): boolean | undefined {
  const images = imagesToCompare(podSpecOf(object), expected)
  const pinned = images.filter(([, image]) => digestOf(image) !== undefined)
  if (pinned.length > 0) return pinned.every(([name, image]) => digestOf(image) === expected[name])
  return listed === undefined || images.length === 0
    ? undefined
    : !isDeepStrictEqual(images, imagesToCompare(podSpecOf(listed), expected))
}

/**
 * Whether the pods of an object run the expected images (`await-change`). Used if the spec has not changed, because the
 * tag may have been written before the gate began. False if no pod reports its digest; a problem if a pod runs another
 * image.
 */
export function hasExpectedImagesInPods(
  rule: Rule,
  object: KubeObject,
  expected: ExpectedImages,
  reader: Reader,
): boolean | Problem {
  const pods = stayingPods(podsOf(object, assess(rule, object, reader).pods))
  const shown = checkedContainers(pods, expected).filter(
    ({ running, runsExpected }) => runsExpected || running !== undefined,
  )
  if (shown.length === 0) return false
  return findMismatch(shown, reader.now) ?? true
}

/** The names and images of the containers for which `expected` has a digest. */
function imagesToCompare(spec: PodSpec, expected: ExpectedImages) {
  return containersInSpec(spec).flatMap(({ name, image }) =>
    Object.hasOwn(expected, name) ? [[name, image] as const] : [],
  )
}

function podSpecOf(object: KubeObject): PodSpec {
  const spec = object.spec as (PodSpec & { template?: PodTemplate }) | undefined
  return spec?.template?.spec ?? spec ?? {}
}

/** The digest at the end of an image or `imageID`: `registry/app@sha256:…`. */
function digestOf(image: string | undefined): string | undefined {
  return /sha256:[0-9a-f]{64}$/.exec(image ?? '')?.[0]
}
