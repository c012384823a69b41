import { duration } from '../duration.ts'
import { missingObjectMs, notFoundRefusals, unauthorizedRefusals } from '../thresholds.ts'
import { clause, type HintFacts, type ProblemFields, predicate, type ReasonFamily, type Sentence } from './spec.ts'
import {
  clusterCommand,
  command,
  describePod,
  imageHeadline,
  imageOf,
  inNamespace,
  nameLimit,
  nth,
  platformHint,
  setting,
  timesSoFar,
  withoutMiddle,
} from './wording.ts'

/** An image that cannot be used. */
interface ImageDetail {
  readonly image: string
}

/** A pull that was refused or that failed. */
export interface PullDetail extends ImageDetail {
  /** The answer of the registry or of the node's runtime; empty if unknown. */
  readonly answer: string
  readonly cause?: PullFailureCause
}

/** Why a node cannot reach a registry, or cannot store an image. */
export type PullFailureCause =
  | 'signature'
  | 'disk-full'
  | 'broken-layer'
  | 'unknown-host'
  | 'untrusted-certificate'
  | 'plain-http'
  | 'connection-refused'
  | 'timeout'

/** A pod whose image is not the expected one, or expected containers that no gated pod has. */
type ImageMismatch =
  | { readonly missingContainers: readonly string[] }
  | {
      readonly image?: string
      /** The expected digest, and the running one if known. */
      readonly expected: string
      readonly running?: string
      /** The image was loaded onto the node: `running` is its ID, because no registry gave it a digest. */
      readonly isLoaded: boolean
    }

export interface ImageDetails {
  readonly 'image-not-found': PullDetail
  readonly 'image-platform-missing': PullDetail
  readonly 'image-unauthorized': PullDetail
  readonly 'image-rate-limited': PullDetail
  readonly 'image-registry-unreachable': PullDetail
  readonly 'image-name-invalid': ImageDetail
  readonly 'image-never-pull': ImageDetail
  readonly 'image-pull-failed': PullDetail
  readonly 'image-mismatch': ImageMismatch
}

export const imageReasons: ReasonFamily<ImageDetails> = {
  'image-not-found': {
    class: 'terminal',
    provenAfter: notFoundRefusals,
    when: `the registry answered that it has no such image, for the ${nth(notFoundRefusals)} time (a push may race the first)`,
    title: 'image not found',
    headline: imageHeadline((image) => `image ${image} not found`),
    sentence: pullSentence,
    hint: notFoundHint,
    field: { container: ['image'] },
  },
  'image-platform-missing': {
    class: 'terminal',
    provenAfter: notFoundRefusals,
    when: `the registry has the image, but not for the platform of the pod's node, for the ${nth(notFoundRefusals)} time (a push may race the first)`,
    title: 'the image is not built for the platform of the node',
    headline: imageHeadline((image) => `image ${image} is not built for the platform of the node`),
    sentence: pullSentence,
    hint: platformHint,
    field: { container: ['image'] },
  },
  'image-unauthorized': {
    class: 'strike',
    provenAfter: unauthorizedRefusals,
    when: `the registry refused the pull as unauthorized, or the node because of its signature, for the ${nth(unauthorizedRefusals)} time; while a pull secret is missing, ${duration(missingObjectMs)} after the first time at the earliest`,
    title: 'not allowed to pull the image',
    headline: imageHeadline((image) => `not allowed to pull image ${image}`),
    sentence: pullSentence,
    hint: unauthorizedHint,
    field: { container: ['image'] },
  },
  'image-rate-limited': {
    class: 'slow',
    isOutsideTemplate: true,
    when: 'the registry answered 429: it accepts pulls again later',
    title: 'the registry limits the rate of pulls',
    headline: imageHeadline((image) => `the registry limits pulls of image ${image}`),
    sentence: pullSentence,
    hint: (s) =>
      `The registry of ${imageOf(s)} limits pulls. Pull with credentials (an imagePullSecret), or through a mirror, then try again.`,
    field: { container: ['image'] },
  },
  'image-registry-unreachable': {
    class: 'slow',
    isOutsideTemplate: true,
    when: 'the registry could not be reached: network, name, certificate, or it was down',
    title: 'image registry unreachable',
    headline: imageHeadline((image) => `the registry of image ${image} cannot be reached`),
    sentence: pullSentence,
    hint: unreachableHint,
    field: { container: ['image'] },
  },
  'image-name-invalid': {
    class: 'terminal',
    when: "the kubelet refuses the image's name before it tries to pull",
    title: 'invalid image name',
    headline: imageHeadline((image) => `invalid image name ${image}`),
    sentence: ({ detail: { image } }) => clause(`"${image}" is not a valid image name`),
    hint: invalidNameHint,
    field: { container: ['image'] },
  },
  'image-never-pull': {
    class: 'terminal',
    when: 'the image is not on the node, and imagePullPolicy Never forbids pulling it',
    title: 'image not on the node, and pulling it is forbidden',
    headline: imageHeadline((image) => `image ${image} is not on the node, and pulling it is forbidden`),
    sentence: ({ detail: { image } }) =>
      clause(`image "${image}" is not on the node, and imagePullPolicy Never forbids pulling it`),
    hint: (s) => `Load ${imageOf(s)} onto every node, or set imagePullPolicy to IfNotPresent.`,
    field: { container: ['imagePullPolicy'] },
  },
  'image-pull-failed': {
    class: 'slow',
    when: 'a pull failed for any other reason: the disk of the node is full, a layer cannot be unpacked',
    title: 'image could not be pulled',
    headline: imageHeadline((image) => `image ${image} could not be pulled`),
    sentence: pullSentence,
    hint: pullFailedHint,
    field: { container: ['image'] },
  },
  'image-mismatch': {
    class: 'terminal',
    when: 'the pods are ready, and run another digest than the one that was built',
    title: 'another image runs than the one expected',
    headline: ({ detail }) => {
      if (!('missingContainers' in detail)) return undefined
      const names = detail.missingContainers.map((name) => withoutMiddle(name, nameLimit))
      return `no pod has the expected container${names.length === 1 ? '' : 's'} ${names.join(', ')}`
    },
    sentence: mismatchSentence,
    hint: mismatchHint,
    field: { container: ['image'] },
  },
}

function pullSentence({ detail: { image, answer }, count }: ProblemFields<PullDetail>): Sentence {
  return predicate(`cannot pull image "${image}"${answer === '' ? '' : `: ${answer}`}${timesSoFar(count)}`)
}

function mismatchSentence({ detail }: ProblemFields<ImageMismatch>): Sentence {
  if ('missingContainers' in detail)
    return clause(`no gated pod has a container named ${detail.missingContainers.join(', ')}, whose image is expected`)
  const { expected, running, isLoaded } = detail
  const image =
    running === undefined
      ? 'an image whose digest is not known'
      : isLoaded
        ? `an image that was loaded onto the node and has the ID ${running}`
        : running
  return predicate(`runs ${image}, but ${expected} was expected`)
}

function mismatchHint(facts: HintFacts<ImageMismatch>): string {
  const { detail } = facts.problem ?? {}
  const input = setting(facts, 'expect-images')
  if (detail !== undefined && 'missingContainers' in detail)
    return `Correct the container name in ${input}: the pod template contains the names. Or gate the workload that runs the container.`
  return detail?.isLoaded
    ? `The image was loaded onto the node, so it has an ID, but no digest. Push it and let the node pull it, or put the ID that the build printed into ${input}.`
    : `Find out what moved the tag of ${detail?.image ?? 'the image'} after this workflow pushed it, or deploy by digest (\`image@sha256:…\`), which cannot be moved.`
}

/** An image that the registry does not have. */
function notFoundHint(facts: HintFacts<PullDetail>): string {
  const image = imageOf(facts)
  const isUntagged = image !== 'the image' && !/[:@]/.test(image.slice(image.lastIndexOf('/') + 1))
  const push = `Push ${image} before deploying it, or correct the image's name or tag.`
  return isUntagged ? `${push} It names no tag, which means \`latest\`.` : push
}

/** A pull that failed on the node itself. */
function pullFailedHint(facts: HintFacts<PullDetail>): string {
  const cause = facts.problem?.detail.cause
  const node = facts.pod?.spec?.nodeName
  if (cause === 'disk-full')
    return `The disk of the node is full. Free space on it, or give it a larger disk: ${clusterCommand('describe', node === undefined ? 'nodes' : `node/${node}`)}.`
  if (cause === 'broken-layer')
    return `The node cannot unpack a layer of ${imageOf(facts)}. If another node can, the runtime of this node is broken; if none can, push the image again.`
  return `The events of the pod contain the node's error about ${imageOf(facts)}: ${describePod(facts)}.`
}

/** An invalid image name, usually one with capital letters. */
function invalidNameHint(facts: HintFacts<ImageDetail>): string {
  const image = imageOf(facts)
  const at = image.lastIndexOf('/') + 1
  const tag = /[:@].*$/s.exec(image.slice(at))?.[0] ?? ''
  const lower = `${image.slice(0, image.length - tag.length).toLowerCase()}${tag}`
  if (lower !== image) return `Correct the image's name: it has to be in lower case, \`${lower.replaceAll('`', '')}\`.`
  return `Correct the image's name${image === 'the image' ? '' : ` "${image}"`}: it has the form registry/repository:tag, in lower case.`
}

/** Hint for a refused pull: names the imagePullSecrets of the pod, or states that the pod has none. */
function unauthorizedHint(facts: HintFacts<PullDetail>): string {
  const image = imageOf(facts)
  if (facts.problem?.detail.cause === 'signature')
    return `The signature policy of the node refuses ${image}: sign the image as the policy requires, or change the policy of the node’s container runtime (containers-policy.json).`
  const secrets = ((facts.pod?.spec ?? {}) as { imagePullSecrets?: { name?: string }[] }).imagePullSecrets ?? []
  const host = hostOf(image)
  const names = secrets.flatMap(({ name }) => name ?? []).join(', ')
  const what =
    facts.pod === undefined
      ? `Give the pods access to the registry of ${image}: an imagePullSecret of the pod, or of its ServiceAccount.`
      : names === ''
        ? `The pod pulls from ${host} without an imagePullSecret: create one${inNamespace(facts)} (${command(facts, 'create', 'secret', 'docker-registry', 'NAME', `--docker-server=${host}`, '--docker-username=USER', '--docker-password=TOKEN')}) and name it under imagePullSecrets of the pod or of its ServiceAccount.`
        : `The pod pulls from ${host} with the imagePullSecret ${names}: check that it exists${inNamespace(facts)}, is for this registry, and has not expired.`
  return `${what} Some registries answer the same for an image that does not exist.`
}

/** Why a node cannot reach a registry, and what to do about it. */
const unreachableCauses: Readonly<Partial<Record<PullFailureCause, string>>> = {
  'unknown-host': 'its DNS does not resolve that name. Correct the name, or the node’s DNS.',
  'untrusted-certificate':
    'it does not trust its certificate. Give the node’s container runtime the CA, or renew the certificate.',
  'plain-http': 'it serves plain HTTP. Serve it with TLS, or allow HTTP for it in the node’s container runtime.',
  'connection-refused': 'nothing listens there. Check the name and port, and that the registry runs.',
  timeout: 'there is no answer. Check firewalls and proxies between them.',
}

function unreachableHint(facts: HintFacts<PullDetail>): string {
  const cause = facts.problem?.detail.cause
  const why = cause && unreachableCauses[cause]
  return `The node cannot pull from ${hostOf(imageOf(facts))}: ${why ?? 'check the registry’s name, its certificate, and the node’s network.'}`
}

/** The registry of an image name, as container runtimes read it. */
function hostOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  if (image === 'the image') return 'the registry'
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : 'docker.io'
}
