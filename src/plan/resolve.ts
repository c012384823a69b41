import type { ApiResource, WatchRequest } from '../cluster/feed.ts'
import type { KindName } from '../cluster/objects.ts'
import {
  type AddMistake,
  didYouMean,
  type MistakeReason,
  type MistakeWithReason,
  quote,
  throwMistakes,
} from '../errors.ts'
import { apiVersionOf, definedKinds, explainUnknownKind, explainUnservedKind, findKind } from './kinds.ts'
import { duplicateOf, type Manifest } from './manifests/manifest.ts'
import { checkName, checkNamespace } from './names.ts'
import type { ParsedReferences, Reference, SkippedLine } from './reference.ts'
import { definedClocks, nameKey, type Target, type WaitFor } from './target.ts'

/** Values for references that do not contain them. */
export interface PlanDefaults {
  /** The input `namespace`, else the namespace of the kubeconfig's context. */
  readonly namespace: string
  /** The milestones of the input `milestone-timeouts`. */
  readonly milestones: readonly string[]
  /** The names of a kind's milestones. */
  milestonesOf(kind: KindName): readonly string[]
}

/** A reference with its resource type on the server. */
export interface ResolvedReference {
  readonly reference: Reference
  readonly resource: ApiResource
  readonly namespace: string | undefined
}

/** All references with their resource types, before the selectors are matched. */
export interface Resolution {
  readonly parsed: ParsedReferences
  readonly resolved: readonly ResolvedReference[]
  /** The list requests of all selectors, without duplicates. They return the targets. */
  readonly selections: readonly WatchRequest[]
}

/** The targets of the gate. */
export interface Plan {
  /** In the order of the lines; empty if all lines were skipped or excluded. */
  readonly targets: readonly Target[]
  /** Messages about how the lines were read, one sentence each. */
  readonly notices: readonly string[]
}

export interface ResolvedPlan extends Plan {
  /** The manifest of each target that has one. */
  readonly manifests: ReadonlyMap<Target, Manifest>
}

/**
 * Finds the kind of each reference among the kinds of the server and those that CustomResourceDefinitions in the
 * manifests define.
 *
 * @param resources the server's resource types, in the order of discovery
 * @throws UserError with every mistake of the lines and of their kinds, names and milestones
 */
export function resolveReferences(
  parsed: ParsedReferences,
  resources: readonly ApiResource[],
  defaults: PlanDefaults,
): Resolution {
  const { input, references } = parsed
  const mistakes: MistakeWithReason[] = [...parsed.mistakes]
  const resolved: ResolvedReference[] = []
  const kindOf = cacheKinds([...resources, ...definedKinds(references)])

  for (const reference of references) {
    const { name, manifest } = reference
    const place = { input: manifest?.file ?? input, line: manifest?.lineOf(['kind']) ?? reference.line }
    const addMistake = (message: string, reason?: MistakeReason) => {
      // A line with several names repeats its mistakes.
      const isKnown = mistakes.some(
        (it) => it.input === place.input && it.line === place.line && it.message === message,
      )
      if (!isKnown) mistakes.push({ ...place, message, reason })
    }
    const resource = kindOf(reference)
    if (typeof resource === 'string') {
      addMistake(resource, 'kind-unknown')
      continue
    }
    checkWaitFor(reference.waitFor, resource, addMistake)
    // The name in a manifest was checked when it was read.
    if (name !== undefined && manifest === undefined) checkName(name, resource.group, addMistake)
    checkMilestones(Object.keys(reference.clocks.milestoneTimeoutsMs ?? {}), [resource], defaults, addMistake)
    const namespace = resource.namespaced ? (reference.namespace ?? defaults.namespace) : undefined
    resolved.push({ reference, resource, namespace })
  }

  if (resolved.some(({ reference, namespace }) => namespace !== undefined && reference.namespace === undefined))
    checkNamespace(defaults.namespace, (message) => mistakes.push({ input: 'namespace', message }))
  const gated = resolved.filter(({ reference }) => !reference.exclude).map(({ resource }) => resource)
  if (mistakes.length === 0 && gated.length > 0)
    checkMilestones(defaults.milestones, gated, defaults, (message) =>
      mistakes.push({ input: 'milestone-timeouts', message }),
    )
  throwMistakes(mistakes)

  // `!secret --all` excludes every reference to a Secret, also without permission to list Secrets.
  const selecting = resolved.filter(({ reference }) => reference.selector !== undefined && !excludesKind(reference))
  const selections = new Map(selecting.map(listRequest).map((request) => [JSON.stringify(request), request]))
  return { parsed, resolved, selections: [...selections.values()] }
}

/** Finds each kind once. Returns an error message for a kind that cannot be gated. */
function cacheKinds(resources: readonly ApiResource[]): (reference: Reference) => ApiResource | string {
  const cache = new Map<string, ApiResource | string>()
  return ({ kind, manifest }) => {
    const apiVersion = manifest?.object.apiVersion
    const key = `${apiVersion ?? ''} ${kind}`
    const found = cache.get(key) ?? findGateableKind(kind, apiVersion, resources)
    cache.set(key, found)
    return found
  }
}

/** @param apiVersion of a manifest: matches exactly */
function findGateableKind(
  word: string,
  apiVersion: string | undefined,
  resources: readonly ApiResource[],
): ApiResource | string {
  const resource =
    apiVersion === undefined
      ? findKind(word, resources)
      : resources.find((it) => it.kind === word && apiVersionOf(it) === apiVersion)
  if (resource === undefined) {
    return apiVersion === undefined
      ? explainUnknownKind(word, resources)
      : explainUnservedKind(apiVersion, word, resources)
  }
  if (resource.verbs?.includes('list') === false)
    return `Objects of kind ${quote(word)} cannot be listed, so there is nothing to watch. Leave the line out.`
  return resource
}

/** Values of ConfigMaps and Secrets are redacted on arrival, so `--for` would never match. */
function checkWaitFor(waitFor: WaitFor | undefined, { group, kind }: ApiResource, addMistake: AddMistake): void {
  const isRedacted = group === '' && (kind === 'ConfigMap' || kind === 'Secret')
  if (!isRedacted || waitFor?.type !== 'jsonpath' || waitFor.value === undefined) return
  if (/^\{\s*\$?\.?\[?['"]?(?:data|binaryData|stringData)\b/.test(waitFor.path))
    addMistake(`Values of a ${kind} are redacted, so --for cannot compare them. Omit the value to wait for the key.`)
}

/** The milestones for which references have timeouts. */
export function writtenMilestones({ references }: ParsedReferences): readonly string[] {
  return references.flatMap(({ clocks }) => Object.keys(clocks.milestoneTimeoutsMs ?? {}))
}

function checkMilestones(
  names: readonly string[],
  resources: readonly ApiResource[],
  { milestonesOf }: PlanDefaults,
  addMistake: AddMistake,
): void {
  const known = new Set(
    resources.flatMap((resource) => milestonesOf({ apiVersion: apiVersionOf(resource), kind: resource.kind })),
  )
  const kinds = [...new Set(resources.map(({ kind }) => kind))].join(', ')
  for (const name of names) {
    if (known.has(name)) continue
    const hint = didYouMean(name, known) || ` There are ${[...known].join(', ')}.`
    addMistake(`${quote(name)} is not a milestone of ${kinds}.${hint}`)
  }
}

/** Whether a reference excludes all objects of its kind and namespace. */
function excludesKind({ exclude, selector }: Reference): boolean {
  return exclude && selector === ''
}

/** The list request for a reference with a selector. */
export function listRequest({ reference, resource, namespace }: ResolvedReference): WatchRequest {
  const labelSelector = reference.selector || undefined
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, namespace, labelSelector }
}

/**
 * Resolves the targets. A target in two lines is gated once, at its first place, with the flags of both lines; flags of a
 * line with its name take precedence over those of a selector.
 *
 * @param namesOf returns the names of the objects that one of `resolution.selections` matches
 * @throws UserError if two lines have different values for the same flag of a target
 */
export function resolveTargets(
  { parsed, resolved, selections }: Resolution,
  namesOf: (selection: WatchRequest) => readonly string[],
): ResolvedPlan {
  const { input } = parsed
  const placeOf = (line: number, file?: string) =>
    (file === undefined ? parsed.places?.[line - 1] : undefined) ?? `${file ?? input}, line ${line}`
  const notices = parsed.skipped.map(
    ({ file, line, why, text }) => `${placeOf(line, file)} is skipped (${why}): ${text}`,
  )
  const mistakes: MistakeWithReason[] = []
  const drafts = new Map<string, Draft>()
  const excluded = new Set<string>()
  const excludedKinds = new Set<string>()
  const listed = new Map(selections.map((selection) => [JSON.stringify(selection), [...namesOf(selection)].sort()]))
  const matchesOf = (entry: ResolvedReference) => listed.get(JSON.stringify(listRequest(entry))) ?? []
  const selecting = resolved.filter(({ reference }) => reference.selector !== undefined && !reference.exclude)
  // `deploy,sts -l app=web` is one line with a reference for each kind.
  const byLine = Map.groupBy(selecting, ({ reference }) => reference.line)

  for (const entry of resolved) {
    const { reference, resource } = entry
    const { line, selector, manifest, exclude, waitFor } = reference
    if (reference.namespace !== undefined && !resource.namespaced) {
      const place = placeOf(line, manifest?.file)
      notices.push(`${place}: ${resource.plural} have no namespace, so ${reference.namespace} is not used.`)
    }
    if (excludesKind(reference)) {
      excludedKinds.add(nameKey(draftOf(entry, input, '').target))
      continue
    }
    const names = selector === undefined ? [reference.name ?? ''] : matchesOf(entry)
    const hasMatch = names.length > 0 || byLine.get(line)?.some((other) => matchesOf(other).length > 0)
    const named = names.map((name) => draftOf(entry, input, name))
    if (exclude) for (const { target } of named) excluded.add(keyOf(target))
    else if (hasMatch) for (const draft of named) addDraft(drafts, draft, mistakes)
    else if (waitFor?.type !== 'delete') addDraft(drafts, draftOf(entry, input, ''), mistakes)
  }
  throwMistakes(mistakes)
  for (const [line, entries] of byLine) {
    const notice = unmatchedNotice(entries, matchesOf)
    if (notice !== undefined) notices.push(`${placeOf(line)}: ${notice}`)
  }
  for (const entry of resolved) {
    const { exclude, name, kind, line } = entry.reference
    if (exclude && name !== undefined && !drafts.has(keyOf(draftOf(entry, input, name).target)))
      notices.push(`${placeOf(line)}: excludes ${kind}/${name}, which no line names.`)
  }
  const kept = [...drafts.values()].filter(
    ({ target }) => !excluded.has(keyOf(target)) && !excludedKinds.has(nameKey({ ...target, name: '' })),
  )
  if (kept.length === 0) {
    throwMistakes(parsed.skipped.filter(({ hasGeneratedName }) => hasGeneratedName).map(generatedNameMistake))
    const line = resolved.find(({ reference }) => reference.exclude)?.reference.line
    const message = 'The excludes leave nothing to gate. Remove "!" before a resource to gate.'
    if (drafts.size > 0 && line !== undefined) throwMistakes([{ input, line, message }])
  }
  return {
    targets: kept.map(({ target }) => target),
    notices,
    manifests: new Map(kept.flatMap(({ target, manifest }) => (manifest === undefined ? [] : [[target, manifest]]))),
  }
}

/**
 * The notice about kinds without a match of the line's selector; undefined if all match, or if none matches and the target
 * is `not-found`.
 */
function unmatchedNotice(
  entries: readonly ResolvedReference[],
  matchesOf: (entry: ResolvedReference) => readonly string[],
): string | undefined {
  const unmatched = entries.filter((entry) => matchesOf(entry).length === 0)
  const [first] = unmatched
  if (first === undefined) return undefined
  const { selector, waitFor } = first.reference
  if (unmatched.length === entries.length)
    return waitFor?.type === 'delete' ? 'nothing matches, so nothing is left to be deleted.' : undefined
  const kinds = unmatched.map(({ resource }) => `no ${resource.kind.toLowerCase()}`).join(' and ')
  return selector ? `${kinds} matches -l ${selector}.` : `there is ${kinds}.`
}

function generatedNameMistake({ file = '', line, text }: SkippedLine): MistakeWithReason {
  const message = `Nothing is left to gate: the server generates the name of ${text}. Pass the output of kubectl create in resources.`
  return { input: file, line, message }
}

/** Identifies a target in any version. A selector without a match is a separate target. */
function keyOf(target: Target): string {
  return `${nameKey(target)} ${target.selector ?? ''}`
}

/** A target that later lines may extend. */
interface Draft {
  readonly target: Target & Required<Pick<Target, 'source'>>
  /** Whether a line contains its name, not a selector. */
  readonly byName: boolean
  readonly manifest: Manifest | undefined
}

/** @param name empty for a selector without a match */
function draftOf({ reference, resource, namespace }: ResolvedReference, input: string, name: string): Draft {
  const { line, selector, clocks, waitFor, manifest } = reference
  return {
    target: {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      namespace,
      name,
      selector: name === '' ? selector : undefined,
      clocks,
      waitFor,
      source: { file: manifest?.file ?? input, line },
    },
    byName: selector === undefined,
    manifest,
  }
}

function addDraft(drafts: Map<string, Draft>, draft: Draft, mistakes: MistakeWithReason[]): void {
  const key = keyOf(draft.target)
  const earlier = drafts.get(key)
  if (earlier === undefined) {
    drafts.set(key, draft)
    return
  }
  const message = contradiction(earlier, draft)
  if (message !== undefined) {
    const { file, line } = draft.target.source
    mistakes.push({ input: file, line, message })
    return
  }
  const [winner, other] =
    draft.byName && !earlier.byName ? [draft.target, earlier.target] : [earlier.target, draft.target]
  // The line of a manifest is more specific than that of the input.
  const { manifest, target } = draft.manifest === undefined ? earlier : draft
  drafts.set(key, {
    byName: draft.byName || earlier.byName,
    manifest,
    target: {
      ...earlier.target,
      clocks: mergeClocks(winner.clocks, other.clocks),
      waitFor: winner.waitFor ?? other.waitFor,
      source: target.source,
    },
  })
}

/** Why two lines of a target contradict each other; undefined if they do not. */
function contradiction(earlier: Draft, draft: Draft): string | undefined {
  if (draft.manifest !== undefined && earlier.manifest !== undefined)
    return duplicateOf(draft.manifest, earlier.manifest)
  const flag = earlier.byName === draft.byName ? differentFlag(earlier.target, draft.target) : undefined
  if (flag === undefined) return undefined
  const { kind, name, source } = earlier.target
  const place = `${source.file === draft.target.source.file ? '' : `${source.file}, `}line ${source.line}`
  return `${kind.toLowerCase()}/${name} is named in ${place} too, with another ${flag}. Keep one of them.`
}

/** The flag that two lines set to different values. */
function differentFlag({ clocks: a, ...first }: Target, { clocks: b, ...second }: Target): string | undefined {
  const differ = (x: unknown, y: unknown): boolean =>
    x !== undefined && y !== undefined && JSON.stringify(x) !== JSON.stringify(y)
  if (differ(first.waitFor, second.waitFor)) return '--for'
  if (differ(a.timeoutMs, b.timeoutMs)) return '--timeout'
  if (differ(a.stallTimeoutMs, b.stallTimeoutMs)) return '--stall-timeout'
  const milestones = Object.entries(a.milestoneTimeoutsMs ?? {})
  return milestones.some(([name, ms]) => differ(ms, b.milestoneTimeoutsMs?.[name])) ? '--milestone-timeouts' : undefined
}

function mergeClocks(winner: Target['clocks'], other: Target['clocks']): Target['clocks'] {
  const milestones = { ...other.milestoneTimeoutsMs, ...winner.milestoneTimeoutsMs }
  const milestoneTimeoutsMs = Object.keys(milestones).length === 0 ? undefined : milestones
  return definedClocks({ ...other, ...winner, milestoneTimeoutsMs })
}
