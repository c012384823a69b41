import { type ApiResource, kindNameOf } from '../cluster/feed.ts'
import { groupOf, type KindName } from '../cluster/objects.ts'
import { type MistakeWithReason, throwMistakes } from '../errors.ts'
import { releaseKind, type Selection } from './helm-release.ts'
import { parseReferences } from './parse-references.ts'
import { listRequest, noDefaults, type Resolution, type ResolvedReference, resolveReferences } from './resolve.ts'
import { displayName, type ParsedReferences, type Reference, type Target } from './target.ts'

/* Reads the input `stream-logs` and selects the targets whose logs are shown. */

const input = 'stream-logs'

/**
 * Reads the references of `stream-logs`, which look like those of `resources`. A reference without a namespace selects
 * targets in all namespaces. `--for` and timeouts are mistakes.
 */
export function parseStreamLogs(text: string): Pick<ParsedReferences, 'references' | 'mistakes'> {
  const { references, mistakes } = parseReferences(text, input, { alone: text.trim() !== '' })
  const withClocks = references
    .filter(({ waitFor, clocks }) => waitFor !== undefined || Object.keys(clocks).length > 0)
    .map(({ place }) => ({
      ...place,
      message: 'It takes no --for and no clocks. Write them after the reference in resources.',
    }))
  return { references, mistakes: [...mistakes, ...withClocks] }
}

/**
 * Finds the kinds of the references.
 * @param hasPods returns whether the gate watches the pods of a kind
 * @throws UserError with every mistake in the kinds and names, and for kinds without pods
 */
export function resolveStreamLogs(
  references: readonly Reference[],
  resources: readonly ApiResource[],
  hasPods: (kind: KindName) => boolean,
): Resolution {
  const parsed = { references, skipped: [], mistakes: [] }
  const resolution = resolveReferences(parsed, resources, { ...noDefaults, isInRelease: hasPods })
  const podless = resolution.resolved.filter(({ resource }) => !hasPods(kindNameOf(resource)))
  throwMistakes(
    podless.map(({ reference, resource: { kind } }) =>
      createMistake(
        reference,
        `The gate watches no pods of a ${kind}. Name what runs them: job/NAME, deployment/NAME.`,
      ),
    ),
  )
  return resolution
}

/**
 * Selects the targets whose logs are shown.
 * @param list returns the names of the objects that match a request now
 * @returns the indexes of the selected targets
 * @throws UserError if a reference matches no target, or matches a target with `--for`, whose pods are not watched
 */
export async function selectStreamedTargets(
  { resolved }: Resolution,
  targets: readonly Target[],
  list: (request: Selection) => Promise<readonly string[]>,
): Promise<ReadonlySet<number>> {
  const matches = new Map<ResolvedReference, readonly number[]>()
  for (const entry of resolved) matches.set(entry, await matchingIndexes(entry, targets, list))
  const indexesOf = (entry: ResolvedReference) => matches.get(entry) ?? []
  const excluded = new Set(resolved.filter(({ reference }) => reference.exclude).flatMap(indexesOf))
  const included = resolved.filter(({ reference }) => !reference.exclude)
  // A selector for several kinds, like `deploy,sts -l app=web`, needs a match for only one of the kinds.
  const together = Map.groupBy(included, ({ reference: { place, kind, name }, release }) =>
    JSON.stringify([place, ...(name === undefined ? [release?.name] : [kind, name])]),
  )
  const mistakes: MistakeWithReason[] = []
  for (const [first, ...others] of together.values())
    if (first !== undefined && [first, ...others].flatMap(indexesOf).length === 0)
      mistakes.push(createMistake(first.reference, explainNoMatch([first, ...others])))
  const selected = new Set<number>()
  for (const entry of included) {
    for (const index of indexesOf(entry)) {
      if (excluded.has(index) || selected.has(index)) continue
      selected.add(index)
      const message = explainUnwatchedPods(targets[index] as Target)
      if (message !== undefined) mistakes.push(createMistake(entry.reference, message))
    }
  }
  throwMistakes(mistakes)
  return selected
}

/** The indexes of the targets that a reference matches. Without a namespace, in all namespaces. */
async function matchingIndexes(
  entry: ResolvedReference,
  targets: readonly Target[],
  list: (request: Selection) => Promise<readonly string[]>,
): Promise<readonly number[]> {
  const { name, selector } = entry.reference
  const candidates = candidatesOf(entry, targets)
  if (name !== undefined) return candidates.filter(([, target]) => target.name === name).map(([index]) => index)
  if (selector === '') return candidates.map(([index]) => index)
  const names = new Map<string, readonly string[]>()
  for (const namespace of new Set(candidates.map(([, target]) => target.namespace ?? ''))) {
    names.set(namespace, await list(listRequest({ ...entry, namespace })))
  }
  // A selector in `resources` without a match is a target too. An equal selector here matches this target.
  return candidates
    .filter(([, it]) => it.selector === selector || names.get(it.namespace ?? '')?.includes(it.name))
    .map(([index]) => index)
}

/** The targets with the kind, Helm release and namespace of a reference, each with its index. */
function candidatesOf(
  { reference, resource, release }: ResolvedReference,
  targets: readonly Target[],
): (readonly [number, Target])[] {
  return [...targets.entries()].filter(
    ([, { apiVersion, kind, namespace, name }]) =>
      ((kind === resource.kind && groupOf(apiVersion) === resource.group) ||
        (kind === releaseKind.kind && name === release?.name)) &&
      (reference.namespace === undefined || reference.namespace === namespace),
  )
}

/** The message for a reference without a match. `entries`: the resolved references, one for each of its kinds. */
function explainNoMatch(entries: readonly [ResolvedReference, ...ResolvedReference[]]): string {
  const [{ reference, release }] = entries
  const { name = release?.name ?? '', selector, namespace } = reference
  const kind = [...new Set(entries.map((entry) => entry.reference.kind))].join(',')
  const where = namespace === undefined ? '' : ` in ${namespace}`
  const shown = displayName({ apiVersion: '', kind, name, selector })
  return `${shown}${where} is not among the gated resources. Name it in resources, too.`
}

/** Explains why the pods of a target are not watched; undefined if the pods are watched. */
function explainUnwatchedPods(target: Target): string | undefined {
  const { kind, waitFor } = target
  if (waitFor === undefined || (kind === 'Pod' && waitFor.type !== 'delete')) return undefined
  return `${displayName(target)} has --for, so its pods are not watched. Leave --for out to judge the ${kind} by its own rules.`
}

function createMistake({ place }: Reference, message: string): MistakeWithReason {
  return { ...place, message }
}
