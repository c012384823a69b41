import type { Cluster } from '../cluster/cluster.ts'
import type { ApiResource } from '../cluster/feed.ts'
import { UserError } from '../errors.ts'
import { isJudged, milestonesOf } from '../lifecycle/rules.ts'
import { selectionReader } from '../plan/helm-release.ts'
import { type ParsedReferences, placeOf } from '../plan/reference.ts'
import { resolveReferences } from '../plan/resolve.ts'
import { matchSelections, resolveTargets } from '../plan/resolve-targets.ts'
import { displayName, type Target } from '../plan/target.ts'

const maxNames = 5

export type WrittenLines = Pick<ParsedReferences, 'input' | 'places'>

/**
 * Finds the objects that a view shows: named ones, and those that a selector matches now.
 * @throws UserError with every mistake of the references
 */
export async function viewTargets(
  parsed: ParsedReferences,
  kinds: readonly ApiResource[],
  cluster: Pick<Cluster, 'namespace' | 'select' | 'selectPresent'>,
): Promise<readonly Target[]> {
  const { namespace } = cluster
  const resolution = resolveReferences(parsed, kinds, {
    namespace,
    milestones: [],
    milestonesOf,
    isInRelease: isJudged,
  })
  const { namesOf } = selectionReader(resolution.selections, cluster)
  const { targets } = resolveTargets(resolution, await matchSelections(resolution, namesOf))
  return existingTargets(targets, parsed)
}

/** @throws UserError if a selector matches nothing */
export function existingTargets(targets: readonly Target[], parsed: WrittenLines): readonly Target[] {
  const unmatched = targets.find(({ selector }) => selector !== undefined)
  if (unmatched !== undefined) throw mistake(unmatched, parsed, `${displayName(unmatched)} matches nothing.`)
  return targets
}

/**
 * The one resource that `trace` shows.
 * @throws UserError if there are several or none
 */
export function onlyTarget(targets: readonly Target[], parsed: WrittenLines): Target {
  const [target] = targets
  if (target === undefined)
    throw mistake(target, parsed, 'trace shows one resource, and none is named. Write deployment/web.')
  if (targets.length === 1) return target
  const shown = targets.slice(0, maxNames).map(displayName).join(', ')
  const more = targets.length > maxNames ? ', …' : ''
  const message = `trace shows one resource, and ${targets.length} are named: ${shown}${more}. Write one of them, or use changes or status for all.`
  throw mistake(target, parsed, message)
}

function mistake(target: Target | undefined, parsed: WrittenLines, message: string): UserError {
  const { file: input = parsed.input, line } = target?.source ?? {}
  const isLine = line !== undefined && input === parsed.input
  return new UserError([{ ...(isLine ? placeOf(parsed, line) : { input, line }), message }])
}
