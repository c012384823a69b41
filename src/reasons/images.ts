import { notFoundRefusals, unauthorizedRefusals } from '../thresholds.ts'
import { clause, type HintWords, type ReasonFamily, type ReasonSpec } from './spec.ts'
import { clusterCommand, ifPresent, platformHint } from './wording.ts'

/* The reason codes about images, such as `image-not-found`: class, sentences and hint of each. */

interface ImageDetail {
  readonly image: string
}

export interface PullDetail extends ImageDetail {
  /** The answer of the registry or of the node's runtime; empty if unknown. */
  readonly answer: string
  readonly cause?: PullFailureCause
}

/** Why a pull failed, if the answer contains the cause. */
export type PullFailureCause = 'signature' | 'disk-full' | 'broken-layer'

/** Expected containers that no gated pod has, or a container that runs another image than the expected one. */
type ImageMismatch =
  | { readonly missingContainers: readonly string[] }
  | {
      readonly image?: string
      /** The expected digest. `running`: the digest of the running image, if known. */
      readonly expected: string
      readonly running?: string
      /** The image was loaded onto the node without a registry. It has no digest, so `running` is its ID. */
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

/** The reasons whose detail is a `PullDetail`: failed pulls. */
export type PullReason = {
  [Reason in keyof ImageDetails]: ImageDetails[Reason] extends PullDetail ? Reason : never
}[keyof ImageDetails]

const pullSentence: ReasonSpec<PullDetail>['sentence'] = ({ image, answer }, { times }) =>
  `cannot pull image "${image}"${ifPresent`: ${answer}`}${times}`

export const imageReasons: ReasonFamily<ImageDetails> = {
  'image-not-found': {
    class: 'terminal',
    provenAfter: notFoundRefusals,
    title: '{image} not found',
    sentence: pullSentence,
    hint: notFoundHint,
    field: { container: ['image'] },
  },
  'image-platform-missing': {
    class: 'terminal',
    provenAfter: notFoundRefusals,
    title: '{the image} is not built for the platform of the node',
    sentence: pullSentence,
    hint: (_, words) => platformHint(words),
    field: { container: ['image'] },
  },
  'image-unauthorized': {
    class: 'strike',
    provenAfter: unauthorizedRefusals,
    title: 'not allowed to pull {the image}',
    sentence: pullSentence,
    hint: unauthorizedHint,
    field: { container: ['image'] },
  },
  'image-rate-limited': {
    class: 'slow',
    isOutsideTemplate: true,
    title: 'the registry limits pulls of {the image}',
    sentence: pullSentence,
    hint: (_, { theImage }) =>
      `The registry of ${theImage} limits pulls. Pull with credentials (an imagePullSecret), or through a mirror, then try again.`,
    field: { container: ['image'] },
  },
  'image-registry-unreachable': {
    class: 'slow',
    isOutsideTemplate: true,
    title: 'the registry of {the image} cannot be reached',
    sentence: pullSentence,
    hint: (_, { theImage }) =>
      `The node cannot pull from ${registryOf(theImage)}: check its name, port and certificate, that it runs, and the DNS and network of the node.`,
    field: { container: ['image'] },
  },
  'image-name-invalid': {
    class: 'terminal',
    title: 'the name of {the image} is invalid',
    sentence: ({ image }) => clause(`"${image}" is not a valid image name`),
    hint: invalidNameHint,
    field: { container: ['image'] },
  },
  'image-never-pull': {
    class: 'terminal',
    title: '{the image} is not on the node, and pulling it is forbidden',
    sentence: ({ image }) =>
      clause(`image "${image}" is not on the node, and imagePullPolicy Never forbids pulling it`),
    hint: (_, { theImage }) => `Load ${theImage} onto every node, or set imagePullPolicy to IfNotPresent.`,
    field: { container: ['imagePullPolicy'] },
  },
  'image-pull-failed': {
    class: 'slow',
    title: '{the image} could not be pulled',
    sentence: pullSentence,
    hint: pullFailedHint,
    field: { container: ['image'] },
  },
  'image-mismatch': {
    class: 'terminal',
    title: 'the expected image does not run',
    sentence: (detail) => {
      if ('missingContainers' in detail)
        return clause(
          `no gated pod has a container named ${detail.missingContainers.join(', ')}, whose image is expected`,
        )
      const { expected, running, isLoaded } = detail
      const image =
        running === undefined
          ? 'an image whose digest is not known'
          : isLoaded
            ? `an image that was loaded onto the node and has the ID ${running}`
            : running
      return `runs ${image}, but ${expected} was expected`
    },
    hint: (detail, { setting, theImage }) => {
      const input = setting('expect-images')
      if ('missingContainers' in detail)
        return `Correct the container name in ${input}: the pod template contains the names. Or gate the workload that runs the container.`
      return 'isLoaded' in detail && detail.isLoaded
        ? `The image was loaded onto the node, so it has an ID, but no digest. Push it and let the node pull it, or put the ID that the build printed into ${input}.`
        : `Find out what moved the tag of ${theImage} after this workflow pushed it, or deploy by digest (\`image@sha256:…\`), which cannot be moved.`
    },
    field: { container: ['image'] },
  },
}

/** Hint for an image that the registry does not have. */
function notFoundHint(_: Partial<PullDetail>, { theImage }: HintWords): string {
  return `Push ${theImage} before deploying it, or correct the image's name or tag.`
}

/** Hint for a pull that failed on the node itself. */
function pullFailedHint({ cause }: Partial<PullDetail>, { theImage, pod, describePod }: HintWords): string {
  const node = pod?.spec?.nodeName
  if (cause === 'disk-full')
    return `The disk of the node is full. Free space on it, or give it a larger disk: ${clusterCommand('describe', node === undefined ? 'nodes' : `node/${node}`)}.`
  if (cause === 'broken-layer')
    return `The node cannot unpack a layer of ${theImage}. If another node can, the runtime of this node is broken; if none can, push the image again.`
  return `The events of the pod contain the node's error about ${theImage}: ${describePod}.`
}

/** Hint for an invalid image name, usually one with capital letters. */
function invalidNameHint(_: Partial<ImageDetail>, { theImage: image }: HintWords): string {
  const at = image.lastIndexOf('/') + 1
  const tag = /[:@].*$/s.exec(image.slice(at))?.[0] ?? ''
  const lower = `${image.slice(0, image.length - tag.length).toLowerCase()}${tag}`
  if (lower !== image) return `Correct the image's name: it has to be in lower case, \`${lower.replaceAll('`', '')}\`.`
  return `Correct the image's name${image === 'the image' ? '' : ` "${image}"`}: it has the form registry/repository:tag, in lower case.`
}

/** Hint for a refused pull, with the imagePullSecrets of the pod. */
function unauthorizedHint(
  { cause }: Partial<PullDetail>,
  { theImage: image, pod, command, inNamespace }: HintWords,
): string {
  if (cause === 'signature')
    return `The signature policy of the node refuses ${image}: sign the image as the policy requires, or change the policy of the node’s container runtime (containers-policy.json).`
  const secrets = ((pod?.spec ?? {}) as { imagePullSecrets?: { name?: string }[] }).imagePullSecrets ?? []
  const host = registryOf(image)
  const names = secrets.flatMap(({ name }) => name ?? []).join(', ')
  const what =
    pod === undefined
      ? `Give the pods access to the registry of ${image}: an imagePullSecret of the pod, or of its ServiceAccount.`
      : names === ''
        ? `The pod pulls from ${host} without an imagePullSecret: create one${inNamespace} (${command('create', 'secret', 'docker-registry', 'NAME', `--docker-server=${host}`, '--docker-username=USER', '--docker-password=TOKEN')}) and name it under imagePullSecrets of the pod or of its ServiceAccount.`
        : `The pod pulls from ${host} with the imagePullSecret ${names}: check that it exists${inNamespace}, is for this registry, and has not expired.`
  return `${what} Some registries answer the same for an image that does not exist.`
}

/** The registry of an image name, as container runtimes read it. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  if (image === 'the image') return 'the registry'
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : 'docker.io'
}
