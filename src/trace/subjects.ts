import type { ApiResource, WatchRequest } from '../cluster/feed.ts'
import { UserError } from '../errors.ts'
import { apiVersionOf } from '../plan/kinds.ts'
import type { ParsedReferences } from '../plan/references.ts'
import { requestOf, resolveReferences } from '../plan/resolve.ts'
import type { Target } from '../plan/target.ts'
import { resolveTargets } from '../plan/targets.ts'

/**
 * The one resource that a view is of.
 * @param namespace where references without one lie
 * @throws UserError for a selector, for several resources, and for every mistake in the reference
 */
export function traceTarget(parsed: ParsedReferences, resources: readonly ApiResource[], namespace: string): Target {
  const resolution = resolveReferences(parsed, resources, { namespace, milestones: [] })
  const { targets } = resolveTargets(resolution, () => [])
  const [target] = targets
  if (target === undefined || targets.length > 1 || target.selector !== undefined) {
    const message =
      'trace shows one resource, named like deployment/web. For several, or for those of a selector, use changes or status.'
    throw new UserError([{ input: parsed.input, message }])
  }
  return target
}

/** The watches of the objects whose changes are followed. */
export interface Subjects {
  readonly requests: readonly WatchRequest[]
  /** The names that `!` excludes, with kind and namespace. */
  isExcluded(object: { kind: string; metadata: { name: string; namespace?: string } }): boolean
}

/**
 * What `status` and `changes` follow: names and selectors, and all that comes to match them later.
 * @throws UserError with every mistake of the references
 */
export function changeSubjects(
  parsed: ParsedReferences,
  resources: readonly ApiResource[],
  namespace: string,
): Subjects {
  const { resolved } = resolveReferences(parsed, resources, { namespace, milestones: [] })
  const requests = resolved
    .filter(({ reference }) => !reference.exclude)
    .map((entry): WatchRequest => {
      const { reference, resource } = entry
      if (reference.name === undefined) return requestOf(entry)
      const { namespace } = entry
      const place = namespace === undefined ? {} : { namespace }
      return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...place, name: reference.name }
    })
  const excluded = resolved.filter(({ reference }) => reference.exclude)
  return {
    requests,
    isExcluded: ({ kind, metadata }) =>
      excluded.some(
        ({ reference, resource, namespace }) =>
          resource.kind === kind && namespace === metadata.namespace && reference.name === metadata.name,
      ),
  }
}
