import { findResource } from '../cluster/discovery.ts'
import type { ApiResource, WatchRequest } from '../cluster/feed.ts'
import { didYouMean, type MistakeReason, type MistakeWithReason, quote, throwMistakes } from '../errors.ts'
import { apiVersionOf, definedKinds, explainUnknownKind, explainUnservedKind, findKind } from './kinds.ts'
import { milestonesOf } from './milestones.ts'
import { checkName, checkNamespace } from './names.ts'
import type { ParsedReferences, Reference } from './references.ts'
import type { WaitFor } from './target.ts'

/** What holds where a reference says nothing. */
export interface PlanDefaults {
  /** The `namespace` input, else the context's. */
  readonly namespace: string
  /** The milestones that the input `milestone-timeouts` names. */
  readonly milestones: readonly string[]
}

/** A reference whose kind the server knows. */
export interface Resolved {
  readonly reference: Reference
  readonly resource: ApiResource
  readonly namespace: string | undefined
}

/** References understood; what their selectors match is still to be asked. */
export interface Resolution {
  readonly parsed: ParsedReferences
  readonly resolved: readonly Resolved[]
  /** What must be listed to know the targets; each but once. */
  readonly selections: readonly WatchRequest[]
}

/**
 * Finds each reference's kind among those that the server serves, or will serve once a CustomResourceDefinition of the
 * manifests is established.
 *
 * @param resources what discovery lists, in its order
 * @throws UserError with every mistake of the lines and of their kinds, names and milestones
 */
export function resolveReferences(
  parsed: ParsedReferences,
  resources: readonly ApiResource[],
  defaults: PlanDefaults,
): Resolution {
  const { input, references } = parsed
  const found: MistakeWithReason[] = parsed.mistakes.map((mistake) => ({ ...mistake, reason: 'input-invalid' }))
  const resolved: Resolved[] = []
  const kindOf = rememberKinds([...resources, ...definedKinds(references)])

  for (const reference of references) {
    const { name, manifest } = reference
    const place = { input: manifest?.file ?? input, line: manifest?.lineOf(['kind']) ?? reference.line }
    const note = (message: string, reason: MistakeReason = 'input-invalid') => {
      // One mistake of a line with many names is told once.
      const isTold = found.some((it) => it.input === place.input && it.line === place.line && it.message === message)
      if (!isTold) found.push({ ...place, message, reason })
    }
    const answer = kindOf(reference)
    if (typeof answer === 'string') {
      note(answer, 'kind-unknown')
      continue
    }
    checkWish(reference.waitFor, answer, note)
    // The name in a manifest was checked where it stands.
    if (name !== undefined && manifest === undefined) checkName(name, answer.group, note)
    checkMilestones(Object.keys(reference.clocks.milestoneTimeoutsMs ?? {}), [answer], note)
    const namespace = answer.namespaced ? (reference.namespace ?? defaults.namespace) : undefined
    resolved.push({ reference, resource: answer, namespace })
  }

  if (resolved.some(({ reference, namespace }) => namespace !== undefined && reference.namespace === undefined)) {
    checkNamespace(defaults.namespace, (message) =>
      found.push({ input: 'namespace', message, reason: 'input-invalid' }),
    )
  }
  const gated = resolved.filter(({ reference }) => !reference.exclude).map(({ resource }) => resource)
  if (found.length === 0 && gated.length > 0) {
    checkMilestones(defaults.milestones, gated, (message) =>
      found.push({ input: 'milestone-timeouts', message, reason: 'input-invalid' }),
    )
  }
  throwMistakes(found)

  const selections = new Map<string, WatchRequest>()
  for (const entry of resolved) {
    // `!secret --all` means every reference to one, whatever is there and whether or not it may be listed.
    if (entry.reference.selector === undefined || excludesKind(entry.reference)) continue
    const request = requestOf(entry)
    selections.set(JSON.stringify(request), request)
  }
  return { parsed, resolved, selections: [...selections.values()] }
}

/** Looks a word up once, however many lines use it; a sentence when there is no such kind to gate. */
function rememberKinds(resources: readonly ApiResource[]): (reference: Reference) => ApiResource | string {
  const known = new Map<string, ApiResource | string>()
  return ({ kind, manifest }) => {
    const apiVersion = manifest?.object.apiVersion
    const key = `${apiVersion ?? ''} ${kind}`
    const answer = known.get(key) ?? lookUp(kind, apiVersion, resources)
    known.set(key, answer)
    return answer
  }
}

/** @param apiVersion set when the kind is meant exactly, as a manifest means it */
function lookUp(word: string, apiVersion: string | undefined, resources: readonly ApiResource[]): ApiResource | string {
  const resource =
    apiVersion === undefined ? findKind(word, resources) : findResource(resources, { apiVersion, kind: word })
  if (resource === undefined) {
    return apiVersion === undefined
      ? explainUnknownKind(word, resources)
      : explainUnservedKind(apiVersion, word, resources)
  }
  if (resource.verbs?.includes('list') === false) {
    return `Objects of kind ${quote(word)} cannot be listed, so there is nothing to watch. Leave the line out.`
  }
  return resource
}

/** The values of these kinds are hashes as soon as they arrive: a comparison would wait for ever. */
function checkWish(
  waitFor: WaitFor | undefined,
  { group, kind }: ApiResource,
  addMistake: (message: string) => void,
): void {
  const holdsValues = group === '' && (kind === 'ConfigMap' || kind === 'Secret')
  if (!holdsValues || waitFor?.type !== 'jsonpath' || waitFor.value === undefined) return
  if (/^\{\s*\$?\.?\[?['"]?(?:data|binaryData|stringData)\b/.test(waitFor.path))
    addMistake(
      `The gate keeps no values of a ${kind}, so --for cannot compare one. Leave its value out to wait for the key.`,
    )
}

function checkMilestones(
  names: readonly string[],
  resources: readonly ApiResource[],
  addMistake: (message: string) => void,
): void {
  const known = new Set(
    resources.flatMap((resource) => milestonesOf({ apiVersion: apiVersionOf(resource), kind: resource.kind })),
  )
  const kinds = [...new Set(resources.map(({ kind }) => kind))].join(', ')
  for (const name of names) {
    if (known.has(name)) continue
    addMistake(
      `${quote(name)} is no milestone of ${kinds}.${didYouMean(name, known) || ` There are ${[...known].join(', ')}.`}`,
    )
  }
}

/** Whether a reference excludes all objects of its kind and namespace. */
export function excludesKind({ exclude, selector }: Reference): boolean {
  return exclude && selector === ''
}

/** What to list for a reference with a selector. */
export function requestOf({ reference, resource, namespace }: Resolved): WatchRequest {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    ...(namespace === undefined ? {} : { namespace }),
    ...(reference.selector ? { labelSelector: reference.selector } : {}),
  }
}
