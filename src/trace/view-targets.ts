import type { ApiResource, WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { UserError } from '../errors.ts'
import { isJudged, milestonesOf } from '../lifecycle/rules.ts'
import { isOfRelease, type Release } from '../plan/helm-release.ts'
import { apiVersionOf } from '../plan/kinds.ts'
import type { ParsedReferences } from '../plan/reference.ts'
import { listRequest, resolveReferences } from '../plan/resolve.ts'
import { matchSelections, resolveTargets } from '../plan/resolve-targets.ts'
import { displayName, type Target, targetWatch } from '../plan/target.ts'

const maxNames = 5

/**
 * Finds the one resource that `trace` shows.
 * @param namespace the namespace of references that name none
 * @param list returns the names of the objects that match the label selector of a request now
 * @throws UserError for several resources, for a selector without a match, and for every mistake in the reference
 */
export async function traceTarget(
  parsed: ParsedReferences,
  resources: readonly ApiResource[],
  namespace: string,
  list: (request: WatchRequest) => Promise<readonly string[]>,
): Promise<Target> {
  const resolution = resolveReferences(parsed, resources, { namespace, milestones: [], milestonesOf })
  const { targets } = resolveTargets(resolution, await matchSelections(resolution, list))
  return onlyTarget(targets, parsed)
}

/**
 * The one resource that `trace` shows.
 * @throws UserError if there are several or none, or a selector matches nothing
 */
export function onlyTarget(targets: readonly Target[], { input: ofAll }: Pick<ParsedReferences, 'input'>): Target {
  const [target] = targets
  const { file: input = ofAll, line } = target?.source ?? {}
  const mistake = (message: string) => new UserError([{ input, line, message }])
  if (target === undefined) throw mistake('trace shows one resource, and none is named. Write deployment/web.')
  if (target.selector !== undefined) throw mistake(`${displayName(target)} matches nothing.`)
  if (targets.length === 1) return target
  const shown = targets.slice(0, maxNames).map(displayName).join(', ')
  const more = targets.length > maxNames ? ', …' : ''
  throw mistake(
    `trace shows one resource, and ${targets.length} are named: ${shown}${more}. Write one of them, or use changes or status for all.`,
  )
}

/** The watch for one kind of one reference. */
export interface FollowedRequest {
  /** Line of the reference; a reference with several kinds has several requests. */
  readonly line: number
  readonly request: WatchRequest
  /** Only objects of this Helm release are shown, among those that the request reports. */
  readonly release?: Release | undefined
}

/** The objects whose changes are shown. */
export interface FollowedObjects {
  readonly requests: readonly FollowedRequest[]
  /** Whether a reference with `!` excludes the object. */
  isExcluded(object: KubeObject): boolean
}

/**
 * The objects that `status` and `changes` follow: named ones, and all that match a selector now or later.
 * @throws UserError with every mistake of the references
 */
export function followedObjects(
  parsed: ParsedReferences,
  resources: readonly ApiResource[],
  namespace: string,
): FollowedObjects {
  const defaults = { namespace, milestones: [], milestonesOf, isInRelease: isJudged }
  const { resolved } = resolveReferences(parsed, resources, defaults)
  const requests = resolved
    .filter(({ reference }) => !reference.exclude)
    .map((entry): FollowedRequest => {
      const { reference, resource } = entry
      const { line, name } = reference
      if (name === undefined) {
        const { release, ...request } = listRequest(entry)
        return { line, request, release }
      }
      return {
        line,
        request: { apiVersion: apiVersionOf(resource), kind: resource.kind, namespace: entry.namespace, name },
      }
    })
  const excluded = resolved.filter(({ reference }) => reference.exclude)
  return {
    requests,
    isExcluded: ({ kind, metadata }) =>
      excluded.some(
        ({ reference, resource, namespace, release }) =>
          resource.kind === kind &&
          namespace === metadata.namespace &&
          (release === undefined ? reference.name === metadata.name : isOfRelease({ metadata }, release)),
      ),
  }
}

/** Whether a reference means an object that its watch reports. */
export function isMeant({ release }: FollowedRequest, object: KubeObject): boolean {
  return release === undefined || isOfRelease(object, release)
}

/** The targets as the objects that a view follows. */
export function followTargets(targets: readonly Target[]): FollowedObjects {
  const requests = targets.map((target, index) => ({ line: index + 1, request: targetWatch(target) }))
  return { requests, isExcluded: () => false }
}
