import { isDeepStrictEqual } from 'node:util'
import { type Clock, sleep } from '../cluster/clock.ts'
import { kindNameOf } from '../cluster/feed.ts'
import { shortName } from '../cluster/objects.ts'
import { describePlace, type MistakeWithReason, type Place, throwMistakes } from '../errors.ts'
import type { Inputs } from '../inputs.ts'
import { selectorCompleteMs, selectorPollMs } from '../thresholds.ts'
import { type Release, releaseKind, type Selection } from './helm-release.ts'
import { isKindExcluded, listRequest, type Resolution, type ResolvedReference } from './resolve.ts'
import {
  annotationOf,
  describeAnnotation,
  describeDuplicate,
  displayName,
  type Manifest,
  nameKey,
  type ParsedReferences,
  type Reference,
  type ReleaseHistory,
  type SkippedLine,
  type Source,
  type Target,
} from './target.ts'

/* Finds the objects of each reference: the second step from references to targets. `resolve.ts` is the first. */

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
  const isUnmatched = (line: SelectingLine) => line.every((entry) => namesOf(listRequest(entry)).length === 0)
  const waiting = groupByWrittenSelector(resolved).filter(
    (line) => line[0].reference.waitFor?.type !== 'delete' && isUnmatched(line),
  )
  const requests = waiting.flatMap((line) => line.map(listRequest))
  const matchCount = () => requests.reduce((sum, request) => sum + namesOf(request).length, 0)
  const startedAt = clock.now()
  let changedAt = Number.NEGATIVE_INFINITY
  const isAnyWaiting = () =>
    waiting.some((line) => isUnmatched(line) && clock.now() - startedAt < matchLimitMs(line[0].reference, inputs))
  if (isAnyWaiting()) onWaiting([...new Set(waiting.flat().map((entry) => displayName(createDraft(entry, '').target)))])
  while ((isAnyWaiting() || clock.now() - changedAt < selectorCompleteMs) && !signal.aborted) {
    await sleep(clock, selectorPollMs, signal)
    const before = matchCount()
    await listAll(requests)
    if (matchCount() !== before) changedAt = clock.now()
  }
  return namesOf
}

function releaseKey({ release }: ResolvedReference): string {
  return JSON.stringify([release?.namespace, release?.name])
}

/** A reference with the names of its objects: the name in the reference, or the names that its selector matches. */
interface MatchedReference extends ResolvedReference {
  readonly names: readonly string[]
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
    return { ...entry, names: selector === undefined ? [name] : [...namesOf(listRequest(entry))].sort() }
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
    annotations: [...skipped.flatMap(({ annotation }) => annotation ?? []), ...kept.flatMap(describeAnnotatedWait)],
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
  const lineOf = new Map(groupByWrittenSelector(matched).flatMap((line) => line.map((entry) => [entry, line] as const)))
  const excludedReleases = new Set(
    matched.flatMap((entry) => (entry.reference.exclude && entry.release ? releaseKey(entry) : [])),
  )
  const drafts = matched.flatMap((entry): Draft[] => {
    const { names, reference, release } = entry
    if (reference.exclude) return []
    const isMatched = (lineOf.get(entry) ?? [entry]).some((other) => other.names.length > 0)
    const history = release && !excludedReleases.has(releaseKey(entry)) ? historyOf(release) : undefined
    const revision = history && createRevisionDraft(entry, history, isMatched)
    // A selector without a match becomes a target without a name, unless Helm deploys its objects now.
    const isOpen = !isMatched && reference.waitFor?.type !== 'delete'
    const objects = isOpen ? (revision === undefined ? [''] : []) : names
    return [...(revision === undefined ? [] : [revision]), ...objects.map((name) => createDraft(entry, name, history))]
  })
  const mistakes: MistakeWithReason[] = []
  const byKey = new Map<string, Draft>()
  for (const [key, [first, ...further]] of Map.groupBy(drafts, ({ target }) => targetKey(target)))
    if (first !== undefined) byKey.set(key, combineDrafts(first, further, mistakes))
  throwMistakes(mistakes)
  return byKey
}

/** The references of a selector that the user wrote: `deploy,sts -l app=web` has one for each kind. */
type SelectingLine<T extends ResolvedReference = ResolvedReference> = readonly [T, ...T[]]

function groupByWrittenSelector<T extends ResolvedReference>(entries: readonly T[]): readonly SelectingLine<T>[] {
  const selecting = entries.filter(({ reference }) => reference.selector !== undefined && !reference.exclude)
  return [...Map.groupBy(selecting, writtenSelectorKey).values()] as unknown as readonly SelectingLine<T>[]
}

/** The key of a selector that the user wrote: the line, and the Helm release, because a line may name several. */
function writtenSelectorKey({ reference, release }: ResolvedReference): string {
  return JSON.stringify([reference.place, release?.name])
}

/** The keys of the targets that a line with `!` excludes. For a whole kind, the only key has an empty name. */
function excludedKeys(entry: MatchedReference): readonly string[] {
  if (isKindExcluded(entry.reference)) return [nameKey(createDraft(entry, '').target)]
  return entry.names.map((name) => targetKey(createDraft(entry, name).target))
}

/** The manifest of a target, if it has the annotation `rollout-gate/for`. */
function annotatedManifest({ reference: { manifest } }: Draft): Manifest | undefined {
  return manifest && annotationOf('for', manifest.object) !== undefined ? manifest : undefined
}

/** Describes the annotation `rollout-gate/for` of a manifest, if the annotation decides when the target is ready. */
function describeAnnotatedWait(draft: Draft): readonly string[] {
  const manifest = annotatedManifest(draft)
  if (manifest === undefined || draft.target.waitFor === undefined) return []
  return [describeAnnotation('for', manifest.object)]
}

/** The message about an annotation `rollout-gate/for` that has no effect, because a line in `resources` overrides it. */
function unusedWaitNotice(draft: Draft): readonly string[] {
  const manifest = annotatedManifest(draft)
  if (manifest === undefined || draft.target.waitFor !== undefined) return []
  const place = describePlace({ input: manifest.file, line: manifest.line })
  return [`${place}: rollout-gate/for is not used: ${shortName(manifest.object)} is also named without --for.`]
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
    ...groupByWrittenSelector(matched).flatMap(unmatchedNotice),
    ...matched.flatMap((entry) => {
      const { exclude, name, kind, place } = entry.reference
      if (!exclude || name === undefined || drafts.has(targetKey(createDraft(entry, name).target))) return []
      return [`${describePlace(place)}: excludes ${kind}/${name}, which no line names.`]
    }),
  ]
}

/** The notice about kinds without a match for a selector. If no kind has a match, only `--for=delete` needs a notice. */
function unmatchedNotice(entries: readonly MatchedReference[]): readonly string[] {
  const unmatched = entries.filter(({ names }) => names.length === 0)
  const [first] = unmatched
  if (first === undefined) return []
  const { selector, waitFor, place } = first.reference
  const at = describePlace(place)
  if (unmatched.length === entries.length)
    return waitFor?.type === 'delete' ? [`${at}: nothing matches, so nothing is left to be deleted.`] : []
  // No notice: a release contains objects of few kinds only.
  if (first.release !== undefined) return []
  const missingKindsText = unmatched.map(({ resource }) => `no ${resource.kind.toLowerCase()}`).join(' and ')
  return [`${at}: ${missingKindsText} matches ${selector ? `-l ${selector}` : '--all'}.`]
}

/** The mistake for a skipped object of a manifest, if nothing else remains to gate. */
function nothingLeftMistake({ place, text, annotation, hasGeneratedName }: SkippedLine): MistakeWithReason[] {
  const createMistakes = (why: string) => [{ ...place, message: `Nothing is left to gate: ${why}` }]
  if (hasGeneratedName)
    return createMistakes(`the server generates the name of ${text}. Pass the output of kubectl create in resources.`)
  if (annotation === undefined) return []
  return createMistakes(
    `rollout-gate/skip excludes ${text}. Remove the annotation, or name in resources what must be ready.`,
  )
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
  { reference, resource, namespace, release }: ResolvedReference,
  name: string,
  history?: ReleaseHistory,
): Draft {
  const { place, selector, clocks, waitFor, revisions, applied, hook } = reference
  const object = { ...kindNameOf(resource), namespace, name }
  const { apiVersion, kind } = releaseKind
  return {
    target: {
      ...(name === '' && release !== undefined
        ? { apiVersion, kind, namespace: release.namespace, name: release.name }
        : object),
      selector: name === '' ? selector : undefined,
      ...(history !== undefined && { release: history }),
      clocks,
      waitFor,
      ...(revisions && { revisions }),
      applied,
      ...(hook && { hook }),
      source: sourceOf(place),
    },
    reference,
  }
}

/**
 * Combines the drafts of a target that several lines select. The flags come from a line with the target's name, else
 * from a line with a selector. If two such lines have different flags, adds a mistake.
 */
function combineDrafts(first: Draft, further: readonly Draft[], mistakes: MistakeWithReason[]): Draft {
  if (further.length === 0) return first
  const drafts = [first, ...further]
  const [ofManifest, ...duplicates] = drafts.filter(({ reference }) => reference.manifest !== undefined)
  const manifest = ofManifest?.reference.manifest
  for (const { reference } of duplicates)
    if (reference.manifest && manifest)
      mistakes.push({ ...reference.place, message: describeDuplicate(reference.manifest, manifest) })
  // If the user names the object in a line, the annotation `rollout-gate/for` of its manifest has no effect.
  const isWritten = drafts.some(
    ({ reference: { selector, manifest, applied } }) => selector === undefined && !manifest && !applied,
  )
  const flagsOf = ({ reference: { manifest, clocks, waitFor, revisions } }: Draft) => ({
    clocks,
    waitFor: manifest && isWritten ? undefined : waitFor,
    ...(revisions && { revisions }),
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
  return { reference, target: { ...first.target, ...flagsOf(chosen), ...(hook && { hook }), applied, source } }
}

function sourceOf({ input, line }: Place): Source | undefined {
  return line === undefined ? undefined : { file: input, line }
}
