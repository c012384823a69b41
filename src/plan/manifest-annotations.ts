import { isObject } from '../cluster/objects.ts'
import { parseDuration } from '../duration.ts'
import { type AddMistake, nearestWords, quote } from '../errors.ts'
import { parseWaitFor } from './reference-flags.ts'
import { annotationPrefix, type Hook, omitUndefinedClocks, type TargetClocks, type WaitFor } from './target.ts'

/* Reads the annotations of manifests that are settings for Rollout Gate (`rollout-gate/…`) or that define hooks. */

/** The settings in the annotations of a manifest. */
interface GateAnnotations {
  readonly clocks: Pick<TargetClocks, 'timeoutMs' | 'stallTimeoutMs'>
  readonly waitFor?: WaitFor
  readonly skip?: boolean
}

const names = ['timeout', 'stall-timeout', 'for', 'skip']
const known = names.map((name) => `${annotationPrefix}${name}`)

/**
 * Reads the annotations whose keys begin with `rollout-gate/`.
 * @param annotations `metadata.annotations`, not yet validated
 * @param addMistake called with the key of the annotation and the message
 */
export function readGateAnnotations(
  annotations: unknown,
  addMistake: (key: string, message: string) => void,
): GateAnnotations {
  if (typeof annotations !== 'object' || annotations === null) return { clocks: {} }
  const written = new Map<string, string>()
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(annotationPrefix)) continue
    if (!known.includes(key)) {
      const [near] = nearestWords(key.slice(annotationPrefix.length), names, 1)
      const hint = near === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${annotationPrefix}${near}?`
      addMistake(key, `There is no annotation ${quote(key)}. ${hint}`)
    } else if (typeof value !== 'string') {
      addMistake(key, `${key} is not a string. Write its value in quotes: "${value}".`)
    } else {
      written.set(key, value)
    }
  }

  const parseAnnotation = <T>(
    name: string,
    parse: (text: string, addMistake: AddMistake) => T | undefined,
  ): T | undefined => {
    const key = `${annotationPrefix}${name}`
    const text = written.get(key)
    return text === undefined ? undefined : parse(text, (message) => addMistake(key, `${key}: ${message}`))
  }
  return {
    clocks: omitUndefinedClocks({
      timeoutMs: parseAnnotation('timeout', parseDuration),
      stallTimeoutMs: parseAnnotation('stall-timeout', parseDuration),
    }),
    waitFor: parseAnnotation('for', parseWaitFor),
    skip: parseAnnotation('skip', parseSkip),
  }
}

function parseSkip(text: string, addMistake: AddMistake): boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  addMistake(`${quote(text)} is neither "true" nor "false". Write one of them.`)
  return undefined
}

/** The annotations of Helm and Argo CD for the events that run a hook, and for the removal of the hook. */
const tools = [
  { events: 'helm.sh/hook', removal: 'helm.sh/hook-delete-policy' },
  { events: 'argocd.argoproj.io/hook', removal: 'argocd.argoproj.io/hook-delete-policy' },
] as const

/** Hook events outside of a deploy, in lower case (helm.sh/helm pkg/release, `HookEvent`; gitops-engine, `HookType`). */
const eventsOutsideDeploys: ReadonlySet<string> = new Set([
  ...['test', 'test-success', 'test-failure', 'pre-delete', 'post-delete', 'pre-rollback', 'post-rollback'],
  ...['predelete', 'postdelete', 'syncfail', 'skip'],
])
/** The policies that remove a hook after success. Without a policy, a hook is removed only before its next run. */
const removalPolicies: ReadonlySet<string> = new Set(['hook-succeeded', 'hooksucceeded'])

/**
 * Reads the annotations of Helm and Argo CD that make an object a hook.
 * @param annotations `metadata.annotations`, not yet validated
 * @returns undefined if the object is not a hook
 */
export function readHook(annotations: unknown): Hook | undefined {
  const written = isObject(annotations) ? annotations : {}
  const wordsOf = (key: string) =>
    String(written[key] ?? '')
      .split(',')
      .map((word) => word.trim().toLowerCase())
  const annotationText = (key: string) => `${key}=${written[key]}`
  const used = tools.filter(({ events }) => written[events] !== undefined)
  if (used.length === 0) return undefined
  const removing = tools.find(({ removal }) => wordsOf(removal).some((word) => removalPolicies.has(word)))
  const isSkipped = used.every(({ events }) => wordsOf(events).every((word) => eventsOutsideDeploys.has(word)))
  return {
    annotation: used.map(({ events }) => annotationText(events)).join(', '),
    ...(removing && { removal: annotationText(removing.removal) }),
    ...(isSkipped && { isSkipped }),
  }
}
