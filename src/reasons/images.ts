import type { HintFacts, ReasonFamily } from './spec.ts'
import {
  clusterCommand,
  command,
  describedPod,
  imageHeadline,
  imageOf,
  inNamespace,
  nameLimit,
  type TextDetail,
  textSentence,
} from './wording.ts'

export interface ImageDetails {
  readonly 'image-not-found': TextDetail
  readonly 'image-platform-missing': TextDetail
  readonly 'image-unauthorized': TextDetail
  readonly 'image-rate-limited': TextDetail
  readonly 'image-registry-unreachable': TextDetail
  readonly 'image-name-invalid': TextDetail
  readonly 'image-never-pull': TextDetail
  readonly 'image-pull-failed': TextDetail
  readonly 'image-mismatch': TextDetail
}

export const imageReasons: ReasonFamily<ImageDetails> = {
  'image-not-found': {
    class: 'terminal',
    when: 'the registry answered that it has no such image, for the second time (a push may race the first)',
    title: 'image not found',
    headline: imageHeadline((image) => `image ${image} not found`),
    sentence: textSentence,
    hint: notFoundHint,
    field: { container: ['image'] },
  },
  'image-platform-missing': {
    class: 'terminal',
    when: "the registry has the image, but not for the platform of the pod's node, for the second time (a push may race the first)",
    title: 'the image is not built for the platform of the node',
    headline: imageHeadline((image) => `image ${image} is not built for the platform of the node`),
    sentence: textSentence,
    hint: platformHint,
    field: { container: ['image'] },
  },
  'image-unauthorized': {
    class: 'strike',
    when: 'the registry refused for lack of credentials, for the third time',
    title: 'not allowed to pull the image',
    headline: imageHeadline((image) => `not allowed to pull image ${image}`),
    sentence: textSentence,
    hint: unauthorizedHint,
    field: { container: ['image'] },
  },
  'image-rate-limited': {
    class: 'slow',
    when: 'the registry answered 429: it lets pulls through later',
    title: 'the registry limits the rate of pulls',
    headline: imageHeadline((image) => `the registry limits pulls of image ${image}`),
    sentence: textSentence,
    hint: (s) =>
      `The registry of ${imageOf(s)} limits pulls. Pull with credentials (an imagePullSecret), or through a mirror, then try again.`,
    field: { container: ['image'] },
  },
  'image-registry-unreachable': {
    class: 'slow',
    when: 'the registry could not be reached: network, name, certificate, or it was down',
    title: 'image registry unreachable',
    headline: imageHeadline((image) => `the registry of image ${image} cannot be reached`),
    sentence: textSentence,
    hint: unreachableHint,
    field: { container: ['image'] },
  },
  'image-name-invalid': {
    class: 'terminal',
    when: "the kubelet refuses the image's name before it tries to pull",
    title: 'invalid image name',
    headline: imageHeadline((image) => `invalid image name ${image}`),
    sentence: textSentence,
    hint: invalidNameHint,
    field: { container: ['image'] },
  },
  'image-never-pull': {
    class: 'terminal',
    when: 'the image is not on the node, and imagePullPolicy Never forbids pulling it',
    title: 'image not on the node, and pulling it is forbidden',
    headline: imageHeadline((image) => `image ${image} is not on the node, and pulling it is forbidden`),
    sentence: textSentence,
    hint: (s) => `Load ${imageOf(s)} onto every node, or set imagePullPolicy to IfNotPresent.`,
    field: { container: ['imagePullPolicy'] },
  },
  'image-pull-failed': {
    class: 'slow',
    when: 'a pull failed for any other reason: the disk of the node is full, a layer cannot be unpacked',
    title: 'image could not be pulled',
    headline: imageHeadline((image) => `image ${image} could not be pulled`),
    sentence: textSentence,
    hint: pullFailedHint,
    field: { container: ['image'] },
  },
  'image-mismatch': {
    class: 'terminal',
    when: 'the pods are ready, and run another digest than the one that was built',
    title: 'another image runs than the one expected',
    headline: ({ detail }, shorten) => {
      if (detail.containers === undefined) return undefined
      const names = detail.containers.map((name) => shorten(name, nameLimit)).join(', ')
      return `no pod has the expected container${detail.containers.length === 1 ? '' : 's'} ${names}`
    },
    sentence: textSentence,
    hint: ({ problem }) => {
      if (problem?.detail.containers !== undefined)
        return 'Correct the name in expect-images: it is that of a container, as the pod template has it. Or gate the workload that runs it.'
      return /was loaded onto the node/.test(problem?.detail.text ?? '')
        ? 'The image was not pulled, so only its ID is known, and no digest of a registry. Push it and let the node pull it, or put the ID that the build printed into expect-images.'
        : `Find out who moved the tag of ${problem?.detail.image ?? 'the image'} after this workflow pushed it, or deploy by digest (\`image@sha256:…\`), which no one can move.`
    },
    field: { container: ['image'] },
  },
}

/** An image that the registry does not have. */
export function notFoundHint(facts: HintFacts<TextDetail>): string {
  const image = imageOf(facts)
  const isUntagged = image !== 'the image' && !/[:@]/.test(image.slice(image.lastIndexOf('/') + 1))
  const words = `Push ${image} before deploying it, or correct the image's name or tag.`
  return isUntagged ? `${words} It names no tag, which means \`latest\`.` : words
}

/** An image that is built for another platform than that of the node. */
export function platformHint(facts: HintFacts<TextDetail>): string {
  return `Build ${imageOf(facts)} for the architecture of the cluster's nodes: \`docker buildx build --platform …\`. ${clusterCommand('get', 'nodes', '-L', 'kubernetes.io/arch')} shows it.`
}

/** A pull that failed on the node itself, by the words of its runtime. */
export function pullFailedHint(facts: HintFacts<TextDetail>): string {
  const words = facts.problem?.detail.text ?? ''
  const node = facts.pod?.spec?.nodeName
  if (/no space left on device/i.test(words))
    return `The disk of the node is full. Free space on it, or give it a larger disk: ${clusterCommand('describe', node === undefined ? 'nodes' : `node/${node}`)}.`
  if (/(?:extract|register|unpack) layer/i.test(words))
    return `The node cannot unpack a layer of ${imageOf(facts)}. If another node can, the runtime of this node is broken; if none can, push the image again.`
  return `The node's own words about ${imageOf(facts)}: ${describedPod(facts)}.`
}

/** A name that is no image's: mostly one with capital letters. */
export function invalidNameHint(facts: HintFacts<TextDetail>): string {
  const image = imageOf(facts)
  const at = image.lastIndexOf('/') + 1
  const tag = /[:@].*$/.exec(image.slice(at))?.[0] ?? ''
  const lower = `${image.slice(0, image.length - tag.length).toLowerCase()}${tag}`
  if (lower !== image) return `Correct the image's name: it has to be in lower case, \`${lower.replaceAll('`', '')}\`.`
  return `Correct the image's name "${image}": it has the form registry/repository:tag, in lower case.`
}

/** With which Secret it pulls, or that it pulls with none. */
export function unauthorizedHint(facts: HintFacts<TextDetail>): string {
  const image = imageOf(facts)
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

/** Why a registry is not reached, by the words of the node. */
export function unreachableHint(facts: HintFacts<TextDetail>): string {
  const host = hostOf(imageOf(facts))
  const words = facts.problem?.detail.text ?? ''
  const why = /no such host|name resolution|server misbehaving/i.test(words)
    ? 'its DNS does not know that name. Correct the name, or the node’s DNS.'
    : /x509|certificate/i.test(words)
      ? 'it does not trust its certificate. Give the node’s container runtime the CA, or renew the certificate.'
      : /HTTP response to HTTPS client/i.test(words)
        ? 'it speaks plain HTTP. Serve it with TLS, or allow HTTP for it in the node’s container runtime.'
        : /connection refused/i.test(words)
          ? 'nothing listens there. Check the name and port, and that the registry runs.'
          : /timeout|timed out|deadline exceeded|no route|unreachable/i.test(words)
            ? 'there is no answer. Check firewalls and proxies between them.'
            : 'check the registry’s name, its certificate, and the node’s network.'
  return `The node cannot pull from ${host}: ${why}`
}

/** The registry of an image, as the runtimes read its name. */
function hostOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  if (image === 'the image') return 'the registry'
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : 'docker.io'
}
