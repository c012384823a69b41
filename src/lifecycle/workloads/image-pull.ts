import type { EventObject } from '../../cluster/objects.ts'
import type { PullFailureCause, PullReason } from '../../reasons/images.ts'
import { traitsOf } from '../../reasons/reasons.ts'
import type { PullFailure } from '../pod-view.ts'

/** The HTTP statuses that runtimes report, and their reasons. */
const httpStatuses: readonly (readonly [PullReason, RegExp])[] = [
  ['image-rate-limited', /\b429\b/],
  ['image-unauthorized', /\b40[13]\b/],
  ['image-registry-unreachable', /\b(?:407|50\d|52\d)\b/],
]

/**
 * The reasons of failed pulls by the messages of containerd, CRI-O and Docker. The order matters. If a node cannot
 * unpack a layer, its paths and sizes may contain any word or number. An HTTP status is more reliable than the text
 * that follows it. Docker Hub answers "pull access denied … may require authorization" for missing and for private
 * repositories. `manifest unknown` and `name unknown` are the registry's own codes
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes).
 */
const patterns: readonly (readonly [PullReason, RegExp])[] = [
  [
    'image-platform-missing',
    /no match for (?:current )?platform|in the manifest list entries|no image found in (?:manifest list|image index) for/i,
  ],
  [
    'image-pull-failed',
    /no space left on device|read-only file system|(?:extract|register|unpack) (?:layer|image on snapshotter)|ApplyLayer|failed commit on ref|failed size validation|pull QPS exceeded/i,
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

/** A proxy that refuses a connection answers instead of the registry, with only the text of its status. */
const refusedByProxy = /(?:Head|Get|Post) "": (?:Forbidden|Unauthorized)\b|proxy authentication required|proxyconnect/i

/** If a registry answers with HTML, CRI-O returns the page: only its status counts. */
const statusOfPage = /\bStatusCode: (\d{3})\b/

/** Matches if `not found` is the whole answer: only the image's name, without quotes, may precede it. */
const notFoundAlone = /^(?:[a-z0-9][\w.-]*[/:@][\w./:@-]*: )?not found$/i

/** Maximum length: the API server limits messages of events to 1 KiB. */
const maxMessageLength = 8_192

/**
 * The text of the kubelet before an error: in its event, its back-off, and its state, which repeats an error of the CRI
 * in other words (evalCRIPullErr, pkg/kubelet/images).
 */
const kubeletPrefix =
  /^(?:Failed to pull image "[^"]*": |Back-off pulling image "[^"]*"(?:: (?:ErrImagePull|RegistryUnavailable|SignatureValidationFailed))?(?:: )?)?(?:rpc error: code = \w+ desc = )?(?:(?:image pull failed for \S+ because the (?:registry is unavailable|signature validation failed)|RegistryUnavailable|SignatureValidationFailed): )?/i

/** The start of each error in an aggregate. */
const aggregated =
  /(?:rpc error: code =|failed to |Failed to |initializing source |reading manifest |image pull failed )/

/**
 * The errors in a message: with several pull secrets, the kubelet tries each, and aggregates their errors: `[…, …]`
 * (PullImage, pkg/kubelet/kuberuntime; NewAggregate, k8s.io/apimachinery).
 */
function errorsIn(message: string): readonly string[] {
  const [, list] = /^\[(.+)\]$/s.exec(message.replace(kubeletPrefix, '')) ?? []
  return list === undefined ? [message] : list.split(new RegExp(`, (?=${aggregated.source})`))
}

/** The error that decides: one that is not terminal, if any, because a registry hides images from some credentials. */
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

/** Maximum number of quoted names in a message. */
const maxNames = 50

/** The message without the image's name, which may contain any word: `registry/denied/app:404` is a valid one. */
function withoutQuotedNames(message: string): string {
  const quoted = [...message.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name).filter((name) => name.length > 2)
  return [...new Set(quoted)]
    .slice(0, maxNames)
    .sort((a, b) => b.length - a.length)
    .reduce((text, name) => text.replaceAll(name, ''), message)
}

/** Tags, hosts and ports without quotes: they may contain any word too, and any number. */
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

/** Whether the kubelet reports a refused attempt. The event "Error: ErrImagePull" that follows does not count. */
export function isPullRefusal(event: EventObject): boolean {
  return event.reason === 'Failed' && /^Failed to pull image/i.test(event.message ?? '')
}

/** A refusal by the signature policy of the node (containers-policy.json), as the kubelet or the runtime words it. */
const signature = /signature ?validation ?failed|Source image rejected/i

/** The answers that show a cause. */
const causes: readonly (readonly [PullFailureCause, RegExp])[] = [
  ['disk-full', /no space left on device/i],
  ['broken-layer', /(?:extract|register|unpack) layer/i],
]

/** What the message of the kubelet shows about a refused pull. */
export function pullFailure(message: string): PullFailure {
  const [error, reason] = decisiveError(message)
  const answer = registryAnswer(error)
  const cause = signature.test(error) ? 'signature' : causes.find(([, pattern]) => pattern.test(answer))?.[0]
  return { reason, answer, cause }
}

/**
 * The registry's answer, without the text of kubelet and runtime: the part after the last `failed to …:`, else the
 * whole error.
 */
function registryAnswer(error: string): string {
  const text = withoutQuotedNames(error.replace(kubeletPrefix, ''))
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
