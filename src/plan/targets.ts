import type { WatchRequest } from '../cluster/feed.ts'
import { type MistakeWithReason, throwMistakes } from '../errors.ts'
import { apiVersionOf } from './kinds.ts'
import { duplicateOf, type Manifest } from './manifests/manifest.ts'
import type { SkippedLine } from './references.ts'
import { excludesKind, type Resolution, type Resolved, requestOf } from './resolve.ts'
import type { Source, Target, TargetClocks } from './target.ts'

/** What the gate is to watch. */
export interface Plan {
  /** In the order in which they were named; empty when all lines were skipped or excluded. */
  readonly targets: readonly Target[]
  /** What the user should hear of how his lines were read, one sentence each. */
  readonly notices: readonly string[]
}

/** A plan with what stands behind its targets. */
export interface ResolvedPlan extends Plan {
  /** The manifest of each target that has one. */
  readonly manifests: ReadonlyMap<Target, Manifest>
}

/**
 * Names the targets. One that is named twice is gated once, at its first place; what the lines say of it is put
 * together, and a line with its name goes before a selector.
 *
 * @param namesOf the names of the objects that one of `resolution.selections` matches
 * @throws UserError when two lines contradict each other about a target
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
  const found: MistakeWithReason[] = []
  const listed = new Map(selections.map((selection) => [JSON.stringify(selection), [...namesOf(selection)].sort()]))
  const drafts = new Map<string, Draft>()
  const excluded = new Set<string>()
  const excludedKinds = new Set<string>()
  const matchesOf = (entry: Resolved) => listed.get(JSON.stringify(requestOf(entry))) ?? []
  const selecting = resolved.filter(({ reference }) => reference.selector !== undefined && !reference.exclude)
  // `deploy,sts -l app=web` is one line with a reference for each kind.
  const byLine = Map.groupBy(selecting, ({ reference }) => reference.line)

  for (const entry of resolved) {
    const { reference, resource } = entry
    const { line, selector, manifest } = reference
    const place = placeOf(line, manifest?.file)
    if (reference.namespace !== undefined && !resource.namespaced) {
      notices.push(`${place}: ${resource.plural} have no namespace, so ${reference.namespace} is not used.`)
    }

    if (excludesKind(reference)) {
      excludedKinds.add(kindKeyOf(entry))
      continue
    }
    const names = selector === undefined ? [reference.name ?? ''] : matchesOf(entry)
    const hasMatch = names.length > 0 || byLine.get(line)?.some((other) => matchesOf(other).length > 0)
    if (reference.exclude) {
      for (const name of names) excluded.add(keyOf(entry, name))
    } else if (hasMatch) {
      for (const name of names) addDraft(drafts, draftOf(entry, input, name), found)
    } else if (reference.waitFor?.type !== 'delete') {
      addDraft(drafts, draftOf(entry, input, ''), found)
    }
  }
  throwMistakes(found)
  for (const [line, entries] of byLine) {
    const notice = unmatchedNotice(entries, matchesOf)
    if (notice !== undefined) notices.push(`${placeOf(line)}: ${notice}`)
  }

  for (const { reference, resource, namespace } of resolved) {
    if (!reference.exclude || reference.name === undefined) continue
    if (!drafts.has(keyOf({ reference, resource, namespace }, reference.name))) {
      notices.push(`${placeOf(reference.line)}: excludes ${reference.kind}/${reference.name}, which no line names.`)
    }
  }
  const kept = [...drafts.values()].filter(({ key, kindKey }) => !excluded.has(key) && !excludedKinds.has(kindKey))
  if (kept.length === 0) {
    throwMistakes(parsed.skipped.filter(({ hasGeneratedName }) => hasGeneratedName).map(unnamedMistake))
    const exclude = resolved.find(({ reference }) => reference.exclude)
    if (drafts.size > 0 && exclude !== undefined) {
      const message = 'The excludes leave nothing to gate. Leave out "!" before something that is to be gated.'
      throwMistakes([{ input, line: exclude.reference.line, message, reason: 'input-invalid' }])
    }
  }
  const manifests = new Map(
    kept.flatMap(({ target, manifest }) => (manifest === undefined ? [] : [[target, manifest]])),
  )
  return { targets: kept.map(({ target }) => target), notices, manifests }
}

/**
 * What a line's selector lacks, as a sentence: nothing when every kind has a match, or when no kind has one and the line
 * is gated as not-found.
 */
function unmatchedNotice(
  entries: readonly Resolved[],
  matchesOf: (entry: Resolved) => readonly string[],
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

function unnamedMistake({ file = '', line, text }: SkippedLine): MistakeWithReason {
  const message = `Nothing is left to gate: the server makes up the name of ${text}. Hand over what kubectl create printed, in resources.`
  return { input: file, line, message, reason: 'input-invalid' }
}

/** What makes two names the same target: the version is none of it. A selector without a match is its own target. */
function keyOf({ reference, resource, namespace }: Resolved, name: string): string {
  const { group, kind } = resource
  return JSON.stringify([group, kind, namespace ?? '', name, name === '' ? reference.selector : ''])
}

/** What the targets of one kind in one namespace have in common. */
function kindKeyOf({ resource: { group, kind }, namespace }: Resolved): string {
  return JSON.stringify([group, kind, namespace ?? ''])
}

/** A target on its way, with the reference that decides where two differ. */
interface Draft {
  readonly key: string
  readonly kindKey: string
  readonly target: Target
  readonly source: Source
  readonly byName: boolean
  readonly manifest: Manifest | undefined
}

function draftOf(entry: Resolved, input: string, name: string): Draft {
  const { reference, resource, namespace } = entry
  const { line, selector, clocks, waitFor, manifest } = reference
  const source = { file: manifest?.file ?? input, line }
  return {
    key: keyOf(entry, name),
    kindKey: kindKeyOf(entry),
    source,
    byName: selector === undefined,
    manifest,
    target: {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      ...(namespace === undefined ? {} : { namespace }),
      name,
      ...(name === '' && selector !== undefined ? { selector } : {}),
      clocks,
      ...(waitFor === undefined ? {} : { waitFor }),
      source,
    },
  }
}

function addDraft(drafts: Map<string, Draft>, draft: Draft, found: MistakeWithReason[]): void {
  const earlier = drafts.get(draft.key)
  if (earlier === undefined) {
    drafts.set(draft.key, draft)
    return
  }
  const addMistake = (message: string) =>
    found.push({ input: draft.source.file, line: draft.source.line, message, reason: 'input-invalid' })
  if (draft.manifest !== undefined && earlier.manifest !== undefined) {
    addMistake(duplicateOf(draft.manifest, earlier.manifest))
    return
  }
  const [winner, other] = draft.byName && !earlier.byName ? [draft, earlier] : [earlier, draft]
  const difference = winner.byName === other.byName ? contradiction(earlier.target, draft.target) : undefined
  if (difference !== undefined) {
    const { kind, name } = draft.target
    const before = earlier.source.file === draft.source.file ? '' : `${earlier.source.file}, `
    addMistake(
      `${kind.toLowerCase()}/${name} is named in ${before}line ${earlier.source.line} too, with another ${difference}. Keep one of them.`,
    )
    return
  }
  const waitFor = winner.target.waitFor ?? other.target.waitFor
  // A manifest's line says more than that of the input.
  const { manifest, source } = draft.manifest === undefined ? earlier : draft
  drafts.set(draft.key, {
    ...winner,
    manifest,
    source,
    target: {
      ...earlier.target,
      clocks: mergeClocks(winner.target.clocks, other.target.clocks),
      ...(waitFor === undefined ? {} : { waitFor }),
      source,
    },
  })
}

/** The flag about which two lines say different things. */
function contradiction(a: Target, b: Target): string | undefined {
  const differ = (x: unknown, y: unknown): boolean =>
    x !== undefined && y !== undefined && JSON.stringify(x) !== JSON.stringify(y)
  const [ours, theirs] = [a.clocks.milestoneTimeoutsMs ?? {}, b.clocks.milestoneTimeoutsMs ?? {}]
  if (differ(a.waitFor, b.waitFor)) return '--for'
  if (differ(a.clocks.timeoutMs, b.clocks.timeoutMs)) return '--timeout'
  if (differ(a.clocks.stallTimeoutMs, b.clocks.stallTimeoutMs)) return '--stall-timeout'
  return Object.keys(ours).some((name) => differ(ours[name], theirs[name])) ? '--milestone-timeouts' : undefined
}

function mergeClocks(winner: TargetClocks, other: TargetClocks): TargetClocks {
  const milestones = { ...other.milestoneTimeoutsMs, ...winner.milestoneTimeoutsMs }
  return {
    ...other,
    ...winner,
    ...(Object.keys(milestones).length === 0 ? {} : { milestoneTimeoutsMs: milestones }),
  }
}
