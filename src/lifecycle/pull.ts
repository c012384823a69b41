import type { EventObject } from '../cluster/objects.ts'

export type PullReason =
  | 'image-not-found'
  | 'image-unauthorized'
  | 'image-rate-limited'
  | 'image-registry-unreachable'
  | 'image-pull-failed'

/**
 * What a registry's refusal means, from the words of containerd, CRI-O and Docker. The order matters: rate limits come
 * as 429 inside longer texts, and Docker Hub answers "pull access denied … may require authorization" for a repository
 * that does not exist as well as for one that is private.
 */
const wordings: readonly (readonly [PullReason, RegExp])[] = [
  ['image-rate-limited', /\b429\b|too many requests|toomanyrequests|rate limit|RegistryUnavailable.*429/i],
  [
    'image-unauthorized',
    /\b401\b|\b403\b|unauthorized|forbidden|authentication required|authorization failed|access denied|\bis denied\b|denied:|no basic auth credentials|authorization token has expired|SignatureValidationFailed/i,
  ],
  [
    'image-not-found',
    /\bnot found\b|manifest unknown|name unknown|repository .* does not exist|\b404\b|no match for platform/i,
  ],
  [
    'image-registry-unreachable',
    /connection refused|no such host|i\/o timeout|TLS handshake|x509|certificate|HTTP response to HTTPS client|deadline exceeded|Client\.Timeout|connection timed out|name resolution|connection reset|network is unreachable|no route to host|server misbehaving|\b50[0234]\b|\bEOF\b|RegistryUnavailable/i,
  ],
]

/** Classifies the words of a failed pull. */
export function pullReason(message: string): PullReason {
  const words = withoutNames(message)
  return wordings.find(([, pattern]) => pattern.test(words))?.[0] ?? 'image-pull-failed'
}

/** The message without the image's name, which may hold any word: `registry/denied/app:404` is a valid one. */
function withoutImage(message: string): string {
  const quoted = [...message.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name).filter((name) => name.length > 2)
  return quoted.sort((a, b) => b.length - a.length).reduce((words, name) => words.replaceAll(name, ''), message)
}

/** Where runtimes name tags, hosts and ports without quotes: they may hold any word too, and any number. */
const unquotedNames =
  /\[manifests [^\]]*\]|reading manifest \S+ in \S+|manifest for \S+|from host \S+|lookup \S+|pinging (?:container|docker) registry \S+|(?:https?|docker):\/\/\S+|(?:dial|read|write) tcp \S+/gi

/** The message without all that is only a name in it. */
function withoutNames(message: string): string {
  return withoutImage(message).replace(unquotedNames, '')
}

/** The kubelet's event for one refused attempt; "Error: ErrImagePull" follows it and would count it twice. */
export function isPullRefusal(event: EventObject): boolean {
  return event.reason === 'Failed' && /^Failed to pull image/i.test(event.message ?? '')
}

/**
 * The registry's own words, without the layers that kubelet and runtime wrap around them: what follows the last
 * `failed to …:`, kept whole where nothing of the kind is found.
 */
export function registryWords(message: string): string {
  const words = withoutImage(message.replace(/^Back-off pulling image "[^"]*"(?::\s*ErrImagePull)?:?\s*/i, ''))
  const core =
    /^.*failed to (?:resolve reference|resolve image|do request|pull and unpack image|pull image|fetch)[^:]*:\s*(.+)$/is.exec(
      words,
    )?.[1] ?? words
  return core
    .replace(/^(?:Head|Get) "":\s*/, '') // the request, whose address went with the names
    .replace(/^[\s:"]+/, '')
    .replace(/\s+/g, ' ')
    .trim()
}
