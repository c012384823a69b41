import { isDeepStrictEqual } from 'node:util'
import { type Clock, sleep } from '../cluster/clock.ts'
import { type ApiResource, findResource, kindNameOf } from '../cluster/feed.ts'
import type { KindName } from '../cluster/objects.ts'
import {
  type AddMistake,
  describePlace,
  didYouMean,
  type MistakeReason,
  type MistakeWithReason,
  type Place,
  quote,
  throwMistakes,
} from '../errors.ts'
import type { Inputs } from '../inputs.ts'
import { selectorCompleteMs, selectorPollMs } from '../thresholds.ts'
import {
  checkReleaseName,
  kindsOfRelease,
  type Release,
  releaseKind,
  releaseSelector,
  type Selection,
} from './helm-release.ts'
import { explainUnknownKind, explainUnservedKind, findKind, kindsOfCrds } from './kinds.ts'
import { checkName, checkNamespace } from './names.ts'
import { isRevisionKind } from './revision.ts'
import {
  displayName,
  type Manifest,
  nameKey,
  type ParsedReferences,
  type Reference,
  type ReleaseHistory,
  type SkippedLine,
  type Source,
  type Target,
  type WaitFor,
} from './target.ts'

/* From references to targets: finds the kinds of each reference, then the objects. */

/** Default values for references, and the milestones of each kind. */
export interface PlanDefaults {
  /** The input `namespace`, else the namespace of the kubeconfig's context. */
  readonly namespace: string
  /** The milestones in the input `milestone-timeouts`. */
  readonly milestones: readonly string[]
  milestonesOf(kind: KindName): readonly string[]
  /** Whether a Helm release selects objects of a kind. If undefined, a reference to a release is a mistake. */
  isInRelease?(kind: KindName): boolean
}

/** The defaults for references in `http-checks` and `stream-logs`, which need no namespace and no milestones here. */
export const noDefaults: PlanDefaults = { namespace: 'default', milestones: [], milestonesOf: () => [] }

/** A reference, and its kinds on the server: a selector may have several, and a Helm release all that it may contain. */
export interface ResolvedReference {
  readonly reference: Reference
  readonly resources: readonly ApiResource[]
  /** The namespace of the objects whose kind has one. */
  readonly namespace: string
  /** Set if the reference names a Helm release. Then the reference selects objects of this release. */
  readonly release?: Release
}

/** All references with their kinds. The objects that selectors match are not yet known. */
export interface Resolution {
  readonly parsed: ParsedReferences
  readonly resolved: readonly ResolvedReference[]
  /** The list requests of all selectors, without duplicates. */
  readonly selections: readonly Selection[]
}

/**
 * Finds the kinds of each reference among those of the server and of the CustomResourceDefinitions in the manifests.
 * @param resources the server's resource types, in the order of discovery
 * @throws UserError with every mistake in the lines, kinds, names and milestones
 */
export function resolveReferences(
  parsed: ParsedReferences,
  resources: readonly ApiResource[],
  defaults: PlanDefaults,
): Resolution {
  const { references } = parsed
  const mistakes: MistakeWithReason[] = [...parsed.mistakes]
  const kinds = [...resources, ...kindsOfCrds(references)]
  const resolved = references.flatMap((reference): readonly ResolvedReference[] => {
    const { kind, manifest, namespace = defaults.namespace } = reference
    const place = manifest === undefined ? reference.place : { input: manifest.file, line: manifest.lineOf(['kind']) }
    const addMistake = (message: string, reason?: MistakeReason) => mistakes.push({ ...place, message, reason })
    const words = manifest === undefined ? kind.split(',') : [kind]
    if (manifest === undefined && words.some((word) => word.toLowerCase() === releaseKind.word))
      return resolveRelease(reference, kinds, defaults, addMistake)
    const found = words.flatMap((word) => findGateableKind(word, manifest, kinds, addMistake) ?? [])
    for (const resource of found) checkReference(reference, resource, defaults, addMistake)
    return [{ reference, resources: found, namespace }]
  })

  const usesDefault = ({ reference, resources }: ResolvedReference) =>
    reference.namespace === undefined && resources.some(({ namespaced }) => namespaced)
  if (resolved.some(usesDefault))
    checkNamespace(defaults.namespace, (message) => mistakes.push({ input: 'namespace', message }))
  const gated = resolved.flatMap(({ reference, resources }) => (reference.exclude ? [] : resources))
  if (mistakes.length === 0 && gated.length > 0)
    checkMilestones(defaults.milestones, gated, defaults, (message) =>
      mistakes.push({ input: 'milestone-timeouts', message }),
    )
  throwMistakes(mistakes)

  // `!secret --all` works without permission to list Secrets: for a whole kind, no list is needed.
  const selecting = resolved.filter(({ reference }) => reference.selector !== undefined && !isKindExcluded(reference))
  const selections = selecting.flatMap(listRequests).map((request) => [JSON.stringify(request), request] as const)
  return { parsed, resolved, selections: [...new Map(selections).values()] }
}

/** Resolves a reference to a Helm release. Empty after a mistake. */
function resolveRelease(
  reference: Reference,
  resources: readonly ApiResource[],
  defaults: PlanDefaults,
  addMistake: AddMistake,
): readonly ResolvedReference[] {
  const { name, clocks, waitFor, revisions, namespace = defaults.namespace } = reference
  const { isInRelease } = defaults
  if (name === undefined) {
    addMistake(`A Helm release is named: write ${releaseKind.word}/NAME, without -l and --all.`)
    return []
  }
  if (isInRelease === undefined) {
    addMistake(`A Helm release is many resources. Name one of them, like deployment/${name}.`)
    return []
  }
  if (revisions !== undefined)
    addMistake('A Helm release takes no --revision: helm upgrade ends once it has applied its own. Leave it out.')
  checkReleaseName(name, addMistake)
  const kinds = kindsOfRelease(resources, (resource) => isInRelease(kindNameOf(resource)))
  checkMilestones(Object.keys(clocks.milestoneTimeoutsMs ?? {}), kinds, defaults, addMistake)
  const release = { name, namespace, includesTerminating: waitFor?.type === 'delete' }
  const selecting = { ...reference, name: undefined, selector: releaseSelector }
  return [{ reference: selecting, resources: kinds, namespace, release }]
}

/** Finds the kind for a word. For a manifest, `apiVersion` must be equal. Undefined if the kind cannot be gated. */
function findGateableKind(
  word: string,
  manifest: Manifest | undefined,
  resources: readonly ApiResource[],
  addMistake: (message: string, reason: MistakeReason) => void,
): ApiResource | undefined {
  const apiVersion = manifest?.object.apiVersion
  const resource =
    apiVersion === undefined ? findKind(word, resources) : findResource(resources, { apiVersion, kind: word })
  if (resource !== undefined && resource.verbs?.includes('list') !== false) return resource
  const unknown =
    apiVersion === undefined ? explainUnknownKind(word, resources) : explainUnservedKind(apiVersion, word, resources)
  const message = `Objects of kind ${quote(word)} cannot be listed, so there is nothing to watch. Leave the line out.`
  addMistake(resource === undefined ? unknown : message, 'kind-unknown')
  return undefined
}

/** Adds the mistakes in the name and flags of a reference that its kind shows. */
function checkReference(
  { name, manifest, waitFor, revisions, clocks }: Reference,
  resource: ApiResource,
  defaults: PlanDefaults,
  addMistake: AddMistake,
): void {
  checkWaitFor(waitFor, resource, addMistake)
  if (revisions !== undefined && !isRevisionKind(kindNameOf(resource)))
    addMistake(
      `${[resource.plural, resource.group].filter(Boolean).join('.')} have no revision to deploy. --revision is for applications.argoproj.io of Argo CD, and for kustomizations and helmreleases of Flux.`,
    )
  // The name in a manifest was checked when the manifest was read.
  if (name !== undefined && manifest === undefined) checkName(name, resource.group, addMistake)
  checkMilestones(Object.keys(clocks.milestoneTimeoutsMs ?? {}), [resource], defaults, addMistake)
}

/** Adds a mistake for a `--for` that can never match, because the values of ConfigMaps and Secrets are redacted. */
function checkWaitFor(waitFor: WaitFor | undefined, { group, kind }: ApiResource, addMistake: AddMistake): void {
  const isRedacted = group === '' && (kind === 'ConfigMap' || kind === 'Secret')
  if (!isRedacted || waitFor?.type !== 'jsonpath' || waitFor.value === undefined) return
  if (/^\{\s*\$?\.?\[?['"]?(?:data|binaryData|stringData)\b/.test(waitFor.path))
    addMistake(`Values of a ${kind} are redacted, so --for cannot compare them. Omit the value to wait for the key.`)
}

export function milestonesInReferences({ references }: ParsedReferences): readonly string[] {
  return references.flatMap(({ clocks }) => Object.keys(clocks.milestoneTimeoutsMs ?? {}))
}

function checkMilestones(
  names: readonly string[],
  resources: readonly ApiResource[],
  { milestonesOf }: PlanDefaults,
  addMistake: AddMistake,
): void {
  const known = new Set(resources.flatMap((resource) => milestonesOf(kindNameOf(resource))))
  const kinds = [...new Set(resources.map(({ kind }) => kind))].join(', ')
  for (const name of names) {
    if (known.has(name)) continue
    const hint = didYouMean(name, known) || ` There are ${[...known].join(', ')}.`
    addMistake(`${quote(name)} is not a milestone of ${kinds}.${hint}`)
  }
}

/** Whether a reference is an exclude for all objects of its kind and namespace. */
function isKindExcluded({ exclude, selector }: Reference): boolean {
  return exclude && selector === ''
}

/** The list requests of a reference, one for each of its kinds. */
export function listRequests(entry: ResolvedReference): readonly Selection[] {
  return entry.resources.map((resource) => listRequest(entry, resource))
}

export function listRequest({ reference, namespace, release }: ResolvedReference, resource: ApiResource): Selection {
  const place = resource.namespaced ? namespace : undefined
  const request = { ...kindNameOf(resource), namespace: place, labelSelector: reference.selector || undefined }
  return release === undefined ? request : { ...request, release: { ...release, namespace } }
}

/** The targets of the gate. */
export interface Plan {
  /** The targets, in the order of the lines. Empty if all lines were skipped or excluded. */
  readonly targets: readonly Target[]
  /** Messages about skipped lines, and about selectors and excludes without a match. */
  readonly notices: readonly string[]
  /** Annotations that changed what is gated, such as `rollout-gate/skip of deployment/db`. */
  readonly annotations: readonly string[]
  /** The manifest of each target that has one, by `nameKey`. */
  readonly manifests: ReadonlyMap<string, Manifest>
}

/** A plan without targets. */
export const noPlan: Plan = { targets: [], notices: [], annotations: [], manifests: new Map() }

type NamesOf = (selection: Selection) => readonly string[]

type WaitInputs = Pick<Inputs, 'awaitChangeMs' | 'milestoneTimeoutsMs' | 'timeoutMs'>

/** How to wait for the first match of a selector. (For a name, the gate waits until the object is created.) */
interface MatchWait {
  readonly inputs: WaitInputs
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called once with the selectors that match nothing yet: `deployment -l app=web`. */
  readonly onWaiting: (selectors: readonly string[]) => void
}

/**
 * How long a line with a selector waits for its first match, in milliseconds: the duration of `await-change`, else the
 * time limit of the milestone `created`, but at most the timeout of the line.
 */
export function matchLimitMs(
  { clocks }: Pick<Reference, 'clocks'>,
  { awaitChangeMs, milestoneTimeoutsMs, timeoutMs }: WaitInputs,
): number {
  const createdMs = clocks.milestoneTimeoutsMs?.['created'] ?? milestoneTimeoutsMs['created']
  return Math.min(awaitChangeMs || createdMs || Infinity, (clocks.timeoutMs ?? timeoutMs) || Infinity)
}

/**
 * Lists the objects that each selector matches. If a selector matches nothing yet, waits for its first match, and then
 * until the number of matches stays the same for `selectorCompleteMs`.
 * @param list returns the names of the objects that match a request now
 * @param wait by default, no line waits
 */
export async function matchSelections(
  { resolved, selections }: Resolution,
  list: (selection: Selection) => Promise<readonly string[]>,
  wait?: MatchWait,
): Promise<NamesOf> {
  const names = new Map<string, readonly string[]>()
  const namesOf: NamesOf = (selection) => names.get(JSON.stringify(selection)) ?? []
  const listAll = (requests: readonly Selection[]) =>
    Promise.all(requests.map(async (request) => names.set(JSON.stringify(request), await list(request))))
  await listAll(selections)
  if (wait === undefined) return namesOf
  const { inputs, clock, signal, onWaiting } = wait
  const isUnmatched = (entry: ResolvedReference) =>
    listRequests(entry).every((request) => namesOf(request).length === 0)
  const waiting = resolved.filter(
    (entry) => isSelecting(entry) && entry.reference.waitFor?.type !== 'delete' && isUnmatched(entry),
  )
  const requests = waiting.flatMap(listRequests)
  const matchCount = () => requests.reduce((sum, request) => sum + namesOf(request).length, 0)
  const startedAt = clock.now()
  let changedAt = Number.NEGATIVE_INFINITY
  const isAnyWaiting = () =>
    waiting.some((entry) => isUnmatched(entry) && clock.now() - startedAt < matchLimitMs(entry.reference, inputs))
  if (isAnyWaiting()) {
    const targets = waiting.flatMap((entry) =>
      entry.resources.map((resource) => createDraft(entry, resource, '').target),
    )
    onWaiting([...new Set(targets.map(displayName))])
  }
  while ((isAnyWaiting() || clock.now() - changedAt < selectorCompleteMs) && !signal.aborted) {
    await sleep(clock, selectorPollMs, signal)
    const before = matchCount()
    await listAll(requests)
    if (matchCount() !== before) changedAt = clock.now()
  }
  return namesOf
}

/** Whether a reference selects targets. A reference to a Helm release selects the objects of the release. */
function isSelecting({ reference: { selector, exclude } }: ResolvedReference): boolean {
  return selector !== undefined && !exclude
}

function releaseKey({ release }: ResolvedReference): string {
  return JSON.stringify([release?.namespace, release?.name])
}

/** A reference with the names of its objects, by kind: the name in the reference, or those that its selector matches. */
interface MatchedReference extends ResolvedReference {
  readonly matches: readonly { readonly resource: ApiResource; readonly names: readonly string[] }[]
}

/**
 * Resolves the targets. If two lines name the same target, the target is gated once; see `combineDrafts`.
 * @param namesOf returns the names of the objects that one of `resolution.selections` matches
 * @param historyOf returns the history of a Helm release, or undefined
 * @throws UserError if two lines have different flags for a target
 */
export function resolveTargets(
  { parsed, resolved }: Resolution,
  namesOf: NamesOf,
  historyOf: (release: Release) => ReleaseHistory | undefined = () => undefined,
): Plan {
  const { skipped } = parsed
  const matched = resolved.map((entry): MatchedReference => {
    const { name = '', selector } = entry.reference
    const matches = entry.resources.map((resource) => ({
      resource,
      names: selector === undefined ? [name] : [...namesOf(listRequest(entry, resource))].sort(),
    }))
    return { ...entry, matches }
  })
  const drafts = collectDrafts(matched, historyOf)
  const excluded = new Set(matched.filter(({ reference }) => reference.exclude).flatMap(excludedKeys))
  const kept = [...drafts.values()].filter(
    ({ target }) => !excluded.has(targetKey(target)) && !excluded.has(nameKey({ ...target, name: '' })),
  )
  if (kept.length === 0) {
    throwMistakes(skipped.flatMap(nothingLeftMistake))
    const exclude = resolved.find(({ reference }) => reference.exclude)?.reference
    const message = 'The excludes leave nothing to gate. Remove "!" before a resource to gate.'
    if (drafts.size > 0 && exclude !== undefined) throwMistakes([{ ...exclude.place, message }])
  }
  return {
    targets: kept.map(({ target }) => target),
    notices: createNotices(parsed, matched, drafts),
    annotations: [
      ...skipped.flatMap(({ annotation }) => annotation ?? []),
      ...kept.flatMap(({ target, reference }) => (target.waitFor && reference.annotation) ?? []),
    ],
    manifests: new Map(
      kept.flatMap(({ target, reference: { manifest } }) => (manifest ? [[nameKey(target), manifest]] : [])),
    ),
  }
}

/** Collects the targets of all lines without `!`, by `targetKey`. */
function collectDrafts(
  matched: readonly MatchedReference[],
  historyOf: (release: Release) => ReleaseHistory | undefined,
): ReadonlyMap<string, Draft> {
  const excludedReleases = new Set(
    matched.flatMap((entry) => (entry.reference.exclude && entry.release ? releaseKey(entry) : [])),
  )
  const drafts = matched.flatMap((entry): readonly Draft[] => {
    const { matches, reference, release } = entry
    if (reference.exclude) return []
    const isMatched = matches.some(({ names }) => names.length > 0)
    const history = release && !excludedReleases.has(releaseKey(entry)) ? historyOf(release) : undefined
    const revision = history && createRevisionDraft(entry, history, isMatched)
    // A selector without a match becomes a target without a name, unless Helm deploys its objects now.
    const isOpen = !isMatched && reference.waitFor?.type !== 'delete'
    const objects = matches.flatMap(({ resource, names }) =>
      (isOpen ? [''] : names).map((name) => createDraft(entry, resource, name, history)),
    )
    if (revision === undefined) return objects
    return isOpen ? [revision] : [revision, ...objects]
  })
  const mistakes: MistakeWithReason[] = []
  const byKey = new Map<string, Draft>()
  for (const [key, [first, ...further]] of Map.groupBy(drafts, ({ target }) => targetKey(target)))
    if (first !== undefined) byKey.set(key, combineDrafts(first, further, mistakes))
  throwMistakes(mistakes)
  return byKey
}

/** The keys of the targets that a line with `!` excludes. For a whole kind, the key has an empty name. */
function excludedKeys(entry: MatchedReference): readonly string[] {
  const isKind = isKindExcluded(entry.reference)
  return entry.matches.flatMap(({ resource, names }) => {
    if (isKind) return [nameKey(createDraft(entry, resource, '').target)]
    return names.map((name) => targetKey(createDraft(entry, resource, name).target))
  })
}

/** The message about an annotation `rollout-gate/for` that has no effect, because a line in `resources` overrides it. */
function unusedWaitNotice({ target, reference: { annotation, place } }: Draft): readonly string[] {
  if (annotation === undefined || target.waitFor !== undefined) return []
  return [`${describePlace(place)}: rollout-gate/for is not used: ${displayName(target)} is also named without --for.`]
}

/** Creates the messages about skipped lines, and about selectors and excludes without a match. */
function createNotices(
  parsed: ParsedReferences,
  matched: readonly MatchedReference[],
  drafts: ReadonlyMap<string, Draft>,
): readonly string[] {
  return [
    ...parsed.skipped.map(({ place, why, text }) => `${describePlace(place)} is skipped (${why}): ${text}`),
    ...[...drafts.values()].flatMap(unusedWaitNotice),
    ...matched.filter(isSelecting).flatMap(unmatchedNotice),
    ...matched.flatMap((entry) => {
      const { exclude, name, kind, place } = entry.reference
      if (!exclude || name === undefined || excludedKeys(entry).some((key) => drafts.has(key))) return []
      return [`${describePlace(place)}: excludes ${kind}/${name}, which no line names.`]
    }),
  ]
}

/** The notice about kinds without a match for a selector. If no kind has a match, only `--for=delete` needs a notice. */
function unmatchedNotice({ reference, matches, release }: MatchedReference): readonly string[] {
  const unmatched = matches.filter(({ names }) => names.length === 0)
  if (unmatched.length === 0) return []
  const at = describePlace(reference.place)
  if (unmatched.length === matches.length)
    return reference.waitFor?.type === 'delete' ? [`${at}: nothing matches, so nothing is left to be deleted.`] : []
  // No notice: a release contains objects of few kinds only.
  if (release !== undefined) return []
  const missingKindsText = unmatched.map(({ resource }) => `no ${resource.kind.toLowerCase()}`).join(' and ')
  return [`${at}: ${missingKindsText} matches ${reference.selector ? `-l ${reference.selector}` : '--all'}.`]
}

/** The mistake for a skipped object of a manifest, if nothing else remains to gate. */
function nothingLeftMistake({ place, text, annotation, hasGeneratedName }: SkippedLine): MistakeWithReason[] {
  if (!hasGeneratedName && annotation === undefined) return []
  const why = hasGeneratedName
    ? `the server generates the name of ${text}. Pass the output of kubectl create in resources.`
    : `rollout-gate/skip excludes ${text}. Remove the annotation, or name in resources what must be ready.`
  return [{ ...place, message: `Nothing is left to gate: ${why}` }]
}

/** The key of a target, without its API version. Contains the selector, because a selector without match is a target. */
function targetKey(target: Target): string {
  return `${nameKey(target)} ${target.selector ?? ''}`
}

/** A target, and the reference that names or selects it. `combineDrafts` combines the drafts of several lines. */
interface Draft {
  readonly target: Target
  readonly reference: Reference
}

/** The target for the last revision of a release. Undefined if it is deployed and the release has other targets. */
function createRevisionDraft(
  { reference, release }: ResolvedReference,
  history: ReleaseHistory,
  isMatched: boolean,
): Draft | undefined {
  const last = history.revisions.at(-1)
  const isOver = last === undefined || (isMatched && last.status === 'deployed') || last.status.startsWith('uninstall')
  if (isOver || reference.waitFor !== undefined || release === undefined) return undefined
  const { apiVersion, kind } = releaseKind
  const name = `${history.name}.v${last.number}`
  const { namespace } = history
  const { clocks, place } = reference
  return { target: { apiVersion, kind, namespace, name, release: history, clocks, source: sourceOf(place) }, reference }
}

/**
 * Creates the draft of one object.
 * @param name empty for a selector without a match; then the target of a Helm release is the release itself
 * @param history the history of the release, if the object belongs to one
 */
function createDraft(
  { reference, namespace, release }: ResolvedReference,
  resource: ApiResource,
  name: string,
  history?: ReleaseHistory,
): Draft {
  const { place, selector, clocks, waitFor, revisions, applied, hook } = reference
  const object = { ...kindNameOf(resource), namespace: resource.namespaced ? namespace : undefined, name }
  const { apiVersion, kind } = releaseKind
  const target = {
    ...(name === '' && release !== undefined
      ? { apiVersion, kind, namespace: release.namespace, name: release.name }
      : object),
    selector: name === '' ? selector : undefined,
    ...{ release: history, clocks, waitFor, revisions, applied, hook, source: sourceOf(place) },
  }
  return { target, reference }
}

/**
 * Combines the drafts of a target that several lines select. The flags come from a line with the target's name, else
 * from a line with a selector. If two such lines have different flags, adds a mistake.
 */
function combineDrafts(first: Draft, further: readonly Draft[], mistakes: MistakeWithReason[]): Draft {
  if (further.length === 0) return first
  const drafts = [first, ...further]
  const [ofManifest, ...duplicates] = drafts.filter(({ reference }) => reference.manifest !== undefined)
  for (const { target, reference } of duplicates) {
    const { input, line } = ofManifest?.reference.place ?? reference.place
    const earlier = input === reference.place.input ? `line ${line}` : `${input}, line ${line}`
    const message = `${displayName(target)} is in ${earlier} too. Keep one of them, or exclude a file with "!".`
    mistakes.push({ ...reference.place, message })
  }
  // If the user names the object in a line, the annotation `rollout-gate/for` of its manifest has no effect.
  const isWritten = drafts.some(
    ({ reference: { selector, manifest, applied } }) => selector === undefined && !manifest && !applied,
  )
  const flagsOf = ({ reference: { manifest, clocks, waitFor, revisions } }: Draft) => ({
    clocks,
    waitFor: manifest && isWritten ? undefined : waitFor,
    revisions,
  })
  const withFlags = drafts.filter((draft) => JSON.stringify(flagsOf(draft)) !== '{"clocks":{}}')
  const named = withFlags.filter(({ reference }) => reference.selector === undefined)
  const [chosen = first, ...others] = named.length > 0 ? named : withFlags
  const other = others.find((draft) => !isDeepStrictEqual(flagsOf(draft), flagsOf(chosen)))
  if (other !== undefined) {
    const message = `${displayName(first.target)} is named in ${describePlace(chosen.reference.place)} too, with other flags. Write all of them in one line.`
    mistakes.push({ ...other.reference.place, message })
  }
  const { reference, target } = ofManifest ?? first
  const { hook, source } = target
  const { applied } = drafts.find((draft) => draft.target.applied)?.target ?? {}
  return { reference, target: { ...first.target, ...flagsOf(chosen), hook, applied, source } }
}

function sourceOf({ input, line }: Place): Source | undefined {
  return line === undefined ? undefined : { file: input, line }
}
