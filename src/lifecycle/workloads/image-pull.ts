import type { EventObject } from '../../cluster/objects.ts'
import type { PullFailureCause, PullReason } from '../../reasons/images.ts'
import { traitsOf } from '../../reasons/reasons.ts'
import type { PullFailure } from '../pod-view.ts'

/* Why the pull of an image failed, from the messages of the kubelet and the container runtime. */

/** The HTTP statuses in messages of runtimes, each with the reason of the failed pull. */
const httpStatuses: readonly (readonly [PullReason, RegExp])[] = [
  ['image-rate-limited', /\b429\b/],
  ['image-unauthorized', /\b40[13]\b/],
  ['image-registry-unreachable', /\b(?:407|50\d|52\d)\b/],
]

/**
 * Messages of containerd, CRI-O and Docker about failed pulls. The first pattern that matches decides. Errors about
 * unpacking come first, because their paths and sizes may contain any word or number. An HTTP status is more reliable
 * than the text that follows it. Docker Hub answers "pull access denied … may require authorization" for missing and
 * for private repositories. `manifest unknown` and `name unknown` are error codes of the registry
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes).
 */
const patterns: readonly (readonly [PullReason, RegExp])[] = [
  [
    'image-platform-missing',
    /no match for (?:current )?platform|in the manifest list entries|no image found in (?:manifest list|image index) for|cannot be used on this platform/i,
  ],
  [
    'image-pull-failed',
    /no space left on device|read-only file system|dial unix|(?:extract|register|unpack) (?:layer|image on snapshotter)|ApplyLayer|failed commit on ref|failed size validation|pull QPS exceeded/i,
  ],
  ['image-rate-limited', /too many requests|toomanyrequests|rate limit|quota exceeded/i],
  ...httpStatuses,
  [
    'image-unauthorized',
    /\b(?:unauthorized|unauthenticated|denied)\b|authentication required|authorization failed|no basic auth credentials|authorization token has expired|signature ?validation ?failed|Source image rejected/i,
  ],
  ['image-not-found', /\b(?:manifest|name) unknown\b/i],
  [
    'image-registry-unreachable',
    /connection refused|no such host|i\/o timeout|TLS handshake|x509|certificate|HTTP response to HTTPS client|deadline exceeded|Client\.Timeout|timed out|timeout awaiting|name resolution|connection reset|connection lost|network is unreachable|no route to host|cannot assign requested address|server misbehaving|stream error|\bEOF\b|Registry ?Unavailable/i,
  ],
]

/** The answer of a proxy that refuses the connection: only the text of an HTTP status. */
const refusedByProxy = /(?:Head|Get|Post) "": (?:Forbidden|Unauthorized)\b|proxy authentication required|proxyconnect/i

/** If a registry answers with an HTML page, CRI-O reports the page. Only its HTTP status counts. */
const statusOfPage = /\bStatusCode: (\d{3})\b/

/** Matches an answer that is only `not found`, also after the unquoted name of the image. */
const notFoundAlone = /^(?:[a-z0-9][\w.-]*[/:@][\w./:@-]*: )?not found$/i

/** Longer messages are cut before parsing. Events have at most 1 KiB, but a container's status may have more. */
const maxMessageLength = 8_192

/**
 * The text that the kubelet writes before an error, in an Event or in the state of a container. In the state, the
 * kubelet may also reword the error of the CRI (evalCRIPullErr, pkg/kubelet/images).
 */
const kubeletPrefix =
  /^(?:Failed to (?:pull|inspect) image "[^"]*": |Back-off pulling image "[^"]*"(?:: (?:ErrImagePull|RegistryUnavailable|SignatureValidationFailed))?(?:: )?)?(?:rpc error: code = \w+ desc = )?(?:(?:image pull failed for \S+ because the (?:registry is unavailable|signature validation failed)|RegistryUnavailable|SignatureValidationFailed): )?/i

/** The first words of each error in a list of errors. */
const aggregated =
  /(?:rpc error: code =|failed to |Failed to |initializing source |reading manifest |image pull failed )/

/**
 * The errors in a message. With several pull secrets, the kubelet tries each one and lists all errors: `[…, …]`
 * (PullImage, pkg/kubelet/kuberuntime; NewAggregate, k8s.io/apimachinery).
 */
function errorsIn(message: string): readonly string[] {
  const [, list] = /^\[(.+)\]$/s.exec(message.replace(kubeletPrefix, '')) ?? []
  return list === undefined ? [message] : list.split(new RegExp(`, (?=${aggregated.source})`))
}

/** The error that decides. An error that is not terminal has priority: some credentials may not see the image. */
function decisiveError(message: string): readonly [string, PullReason] {
  const errors = errorsIn(message.slice(0, maxMessageLength)).map((each) => [each, pullReasonOf(each)] as const)
  return (errors.find(([, reason]) => traitsOf({ reason }).class !== 'terminal') ??
    errors[0]) as (typeof errors)[number]
}

function pullReasonOf(message: string): PullReason {
  const text = withoutNames(message)
  const page = statusOfPage.exec(text)?.[1]
  if (page !== undefined) return firstMatchingReason(httpStatuses, page)
  if (refusedByProxy.test(text)) return 'image-registry-unreachable'
  return notFoundAlone.test(withoutErrorPrefixes(text)) ? 'image-not-found' : firstMatchingReason(patterns, text)
}

function firstMatchingReason(table: typeof patterns, text: string): PullReason {
  return table.find(([, pattern]) => pattern.test(text))?.[0] ?? 'image-pull-failed'
}

/** The maximum number of quoted names that are removed from a message. */
const maxNames = 50

/** Matches a quoted error, which is no name. */
const quotedError = /: /

/** Matches the quoted name of an image with its registry, and a URL, but no path of a file and no media type. */
const reference = /^(?!application\/)[^/\s]+\/\S/

/** The message without quoted names: the name of an image may contain any word, such as `registry/denied/app:404`. */
function withoutQuotedNames(message: string, isName = (quoted: string) => !quotedError.test(quoted)): string {
  const quoted = [...message.matchAll(/"([^"]+)"/g)]
    .map(([, name = '']) => name)
    .filter((name) => name.length > 2 && isName(name))
  return [...new Set(quoted)]
    .slice(0, maxNames)
    .sort((a, b) => b.length - a.length)
    .reduce((text, name) => text.replaceAll(name, ''), message)
}

/** Unquoted tags, hosts and ports, which may also contain any word or number. */
const unquotedNames =
  /\[manifests [^\]]*\]|reading manifest \S+ in \S+|manifest for \S+|repository \S+ not found|with (?:name|id) '[^']*'|from host \S+|lookup \S+|pinging (?:container|docker) registry \S+|(?:https?|docker):\/\/\S+|(?:dial|read|write) tcp \S+|sha256:[0-9a-f]+/gi

function withoutNames(message: string): string {
  return withoutQuotedNames(message).replace(unquotedNames, '')
}

/** A text that the kubelet or the runtime writes before the registry's answer. A message may start with several. */
const errorPrefix =
  /^[\s:]*(?:Back-off pulling image ""|ErrImagePull|Failed to pull image ""|rpc error: code = \w+ desc =|failed to pull and unpack image ""|failed to resolve (?:reference|image)(?: "")?|Error response from daemon)/i

function withoutErrorPrefixes(text: string): string {
  let rest = text
  while (errorPrefix.test(rest)) rest = rest.replace(errorPrefix, '')
  return rest.replace(/^[\s:]+/, '').trim()
}

/** Whether an Event reports a refused pull. The Event `Error: ErrImagePull` that follows does not count. */
export function isPullRefusal(event: EventObject): boolean {
  return event.reason === 'Failed' && /^Failed to pull image/i.test(event.message ?? '')
}

/** Messages about a refusal by the node's signature policy (containers-policy.json). */
const signature = /signature ?validation ?failed|Source image rejected/i

/** Answers that show why the node cannot store the image. */
const causes: readonly (readonly [PullFailureCause, RegExp])[] = [
  ['disk-full', /no space left on device/i],
  ['broken-layer', /(?:extract|register|unpack) layer/i],
]

/** The reason, answer and cause of a refused pull, from the kubelet's message. */
export function pullFailure(message: string): PullFailure {
  const [error, reason] = decisiveError(message)
  const answer = registryAnswer(error)
  const cause = signature.test(error) ? 'signature' : causes.find(([, pattern]) => pattern.test(answer))?.[0]
  return { reason, answer, cause }
}

/** The registry's answer: the part after the last `failed to …:`, or the whole error without the kubelet's text. */
function registryAnswer(error: string): string {
  const text = withoutQuotedNames(error.replace(kubeletPrefix, ''), (quoted) => reference.test(quoted))
  const core =
    /^.*failed to (?:resolve reference|resolve image|do request|pull and unpack image|pull image|fetch)[^:]*:\s*(.+)$/is.exec(
      text,
    )?.[1] ?? text
  return core
    .replace(/^(?:Head|Get) "":\s*/, '') // the request, whose address went with the names
    .replace(/^[\s:"]+/, '')
    .replace(/\s+/g, ' ')
    .trim()
}
