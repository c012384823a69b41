import { type ApiResource, kindNameOf } from '../cluster/feed.ts'
import { groupOf, type KindName } from '../cluster/objects.ts'
import { type Mistake, throwMistakes } from '../errors.ts'
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
  const podless = resolution.resolved.flatMap(({ reference: { place }, resources }) =>
    resources
      .filter((resource) => !hasPods(kindNameOf(resource)))
      .map(({ kind }) => {
        const message = `The gate watches no pods of a ${kind}. Name what runs them: job/NAME, deployment/NAME.`
        return { ...place, message }
      }),
  )
  throwMistakes(podless)
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
  const matched = await Promise.all(
    resolved.map(async (entry) => ({ ...entry, indexes: await matchingIndexes(entry, targets, list) })),
  )
  const excluded = new Set(matched.flatMap(({ reference, indexes }) => (reference.exclude ? indexes : [])))
  const included = matched.filter(({ reference }) => !reference.exclude)
  const mistakes = included.filter(({ indexes }) => indexes.length === 0).map(explainNoMatch)
  const selected = new Set<number>()
  for (const { reference, indexes } of included) {
    for (const index of indexes) {
      if (excluded.has(index) || selected.has(index)) continue
      selected.add(index)
      const message = explainUnwatchedPods(targets[index] as Target)
      if (message !== undefined) mistakes.push({ ...reference.place, message })
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
  const { reference, resources, release } = entry
  const { name, selector } = reference
  const candidates = resources.flatMap((resource) =>
    [...targets.entries()]
      .filter(
        ([, target]) =>
          ((target.kind === resource.kind && groupOf(target.apiVersion) === resource.group) ||
            (target.kind === releaseKind.kind && target.name === release?.name)) &&
          (reference.namespace === undefined || reference.namespace === target.namespace) &&
          (name === undefined || target.name === name),
      )
      .map(([index, target]) => ({
        index,
        target,
        request: listRequest({ ...entry, namespace: target.namespace ?? '' }, resource),
      })),
  )
  const requests = new Map(candidates.map(({ request }) => [JSON.stringify(request), request]))
  const names = new Map<string, readonly string[]>()
  if (selector) for (const [key, request] of requests) names.set(key, await list(request))
  // A selector in `resources` without a match is a target too. An equal selector here matches this target.
  const isMatch = ({ target, request }: (typeof candidates)[number]) =>
    !selector || target.selector === selector || names.get(JSON.stringify(request))?.includes(target.name)
  return candidates.filter(isMatch).map(({ index }) => index)
}

/** The mistake for a reference without a match. */
function explainNoMatch({ reference, release }: ResolvedReference): Mistake {
  const { place, kind, name = release?.name ?? '', selector, namespace } = reference
  const where = namespace === undefined ? '' : ` in ${namespace}`
  const shown = displayName({ apiVersion: '', kind, name, selector })
  return { ...place, message: `${shown}${where} is not among the gated resources. Name it in resources, too.` }
}

/** Explains why the pods of a target are not watched; undefined if the pods are watched. */
function explainUnwatchedPods(target: Target): string | undefined {
  const { kind, waitFor } = target
  if (waitFor === undefined || (kind === 'Pod' && waitFor.type !== 'delete')) return undefined
  return `${displayName(target)} has --for, so its pods are not watched. Leave --for out to judge the ${kind} by its own rules.`
}
