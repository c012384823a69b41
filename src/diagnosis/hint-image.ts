import { clusterCommand, command, describedPod, type HintSubject, imageOf, inNamespace } from './hint-subject.ts'

/** An image that the registry does not have. */
export function notFoundHint(subject: HintSubject): string {
  const image = imageOf(subject)
  const isUntagged = image !== 'the image' && !/[:@]/.test(image.slice(image.lastIndexOf('/') + 1))
  const words = `Push ${image} before deploying it, or correct the image's name or tag.`
  return isUntagged ? `${words} It names no tag, which means \`latest\`.` : words
}

/** An image that is built for another platform than that of the node. */
export function platformHint(subject: HintSubject): string {
  return `Build ${imageOf(subject)} for the architecture of the cluster's nodes: \`docker buildx build --platform …\`. ${clusterCommand('get', 'nodes', '-L', 'kubernetes.io/arch')} shows it.`
}

/** A pull that failed on the node itself, by the words of its runtime. */
export function pullFailedHint(subject: HintSubject): string {
  const words = subject.problem?.message ?? ''
  const node = subject.pod?.spec?.nodeName
  if (/no space left on device/i.test(words))
    return `The disk of the node is full. Free space on it, or give it a larger disk: ${clusterCommand('describe', node === undefined ? 'nodes' : `node/${node}`)}.`
  if (/(?:extract|register|unpack) layer/i.test(words))
    return `The node cannot unpack a layer of ${imageOf(subject)}. If another node can, the runtime of this node is broken; if none can, push the image again.`
  return `The node's own words about ${imageOf(subject)}: ${describedPod(subject)}.`
}

/** A name that is no image's: mostly one with capital letters. */
export function invalidNameHint(subject: HintSubject): string {
  const image = imageOf(subject)
  const at = image.lastIndexOf('/') + 1
  const tag = /[:@].*$/.exec(image.slice(at))?.[0] ?? ''
  const lower = `${image.slice(0, image.length - tag.length).toLowerCase()}${tag}`
  if (lower !== image) return `Correct the image's name: it has to be in lower case, \`${lower.replaceAll('`', '')}\`.`
  return `Correct the image's name "${image}": it has the form registry/repository:tag, in lower case.`
}

/** With which Secret it pulls, or that it pulls with none. */
export function unauthorizedHint(subject: HintSubject): string {
  const image = imageOf(subject)
  const secrets = ((subject.pod?.spec ?? {}) as { imagePullSecrets?: { name?: string }[] }).imagePullSecrets ?? []
  const host = hostOf(image)
  const names = secrets.flatMap(({ name }) => name ?? []).join(', ')
  const what =
    subject.pod === undefined
      ? `Give the pods access to the registry of ${image}: an imagePullSecret of the pod, or of its ServiceAccount.`
      : names === ''
        ? `The pod pulls from ${host} without an imagePullSecret: create one${inNamespace(subject)} (${command(subject, 'create', 'secret', 'docker-registry', 'NAME', `--docker-server=${host}`, '--docker-username=USER', '--docker-password=TOKEN')}) and name it under imagePullSecrets of the pod or of its ServiceAccount.`
        : `The pod pulls from ${host} with the imagePullSecret ${names}: check that it exists${inNamespace(subject)}, is for this registry, and has not expired.`
  return `${what} Some registries answer the same for an image that does not exist.`
}

/** Why a registry is not reached, by the words of the node. */
export function unreachableHint(subject: HintSubject): string {
  const host = hostOf(imageOf(subject))
  const words = subject.problem?.message ?? ''
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
