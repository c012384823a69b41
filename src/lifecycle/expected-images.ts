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
import { ownProblem } from './status-problems.ts'
import { containersOf } from './workloads/pod-fields.ts'
import { containersInSpec } from './workloads/template.ts'

/** A terminal problem: a container runs another digest than expected, and will not change by itself. */
function findMismatch(containers: readonly CheckedContainer[], now: number): Problem | undefined {
  const other = containers.find(({ runsExpected }) => !runsExpected)
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

type CheckedContainer = ReturnType<typeof checkedContainers>[number]

/**
 * The containers for which `expected` has a digest. `running`: the digest in the container's `imageID`, if known. For
 * an index, some runtimes write the platform's digest there, so the digest in the pod's own `image` counts as well.
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

/** Adds to a rule: a target that would be ready fails if a pod runs another image than expected. */
export function addImageCheck(rule: Rule, expected: ExpectedImages): Rule {
  if (Object.keys(expected).length === 0) return rule
  return addCheck(rule, (own, object, reader) => {
    if (!own.ready) return own
    const failure = findMismatch(checkedContainers(stayingPods(podsOf(object, own.pods)), expected), reader.now)
    if (failure === undefined) return own
    return { ...own, ready: false, message: messageOf(failure), failure, problems: [failure, ...own.problems] }
  })
}

/** The gated pods that are not being deleted. */
function stayingPods(pods: Pods | undefined): readonly Pod[] {
  return pods === undefined ? [] : [...awaitedPods(pods), ...pods.ended]
}

/**
 * A terminal problem: all targets are ready, but no pod has a container of an expected name. The name may be misspelt,
 * and an image that never ran proves nothing. The problem belongs to the first target.
 * @param all the pods of each target
 */
export function missingContainerProblem(
  first: Target,
  all: readonly (Pods | undefined)[],
  expected: ExpectedImages,
  now: number,
): Problem | undefined {
  const pods = all.flatMap(stayingPods)
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
 * Whether the spec of an object has the expected images (`await-change`). If it contains digests, these are compared. A
 * tag may have been moved, so with tags only, the images must differ from those in the first list.
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
 * Whether the pods of an object run the expected images (`await-change`): their tag was written before the gate began,
 * or the pods were restarted after it was moved. False if no pod shows what it runs; a problem if one runs another image.
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

/** `registry/app@sha256:…`, `sha256:…` → the digest. */
function digestOf(image: string | undefined): string | undefined {
  return /sha256:[0-9a-f]{64}$/.exec(image ?? '')?.[0]
}
