import type { KindName, KubeObject } from '../../cluster/objects.ts'
import { ownedListsMs } from '../../thresholds.ts'
import { assess } from '../assess.ts'
import type { Assessment } from '../assessment.ts'
import { existsRule } from '../platform/condition-kinds.ts'
import { type Reader, watchingBy } from '../reader.ts'
import type { Rule } from '../rule.ts'
import { observeTarget } from '../target-history.ts'
import { appliedRequests, directlyBehind, type KindsBehind, ownedRequests } from './owned-objects.ts'

/** How the objects behind a custom resource are found and judged. */
export interface Behind extends KindsBehind {
  /** It runs pods as a Deployment does: a proven problem of its pods fails it. */
  readonly isWorkload: boolean
  /**
   * Which workloads behind it must be ready before it is: all, or those that were written since its spec; see
   * `withOwnedWorkloads`.
   */
  readonly awaitsWorkloads: 'all' | 'written' | 'none'
  /** The rule of an owned object, and whether its kind is a custom kind, whose owned objects are behind it too. */
  ruleOf(kind: KindName): { readonly rule: Rule; readonly isCustom: boolean }
}

/** An object behind a custom resource. */
export interface ObjectBehind {
  readonly object: KubeObject
  readonly rule: Rule
  readonly isCustom: boolean
  /** The objects directly behind it; none if its kind is no custom kind. */
  behind(): readonly ObjectBehind[]
}

/**
 * The maximum number of objects from a custom resource to one behind it: owner references may form a cycle. The deepest
 * usual chain: Service → Configuration → Revision → Deployment.
 */
const maxDepth = 5

/** The objects directly behind a custom resource, each with those behind it. The reader asks for their watches. */
export function objectsBehind(custom: KubeObject, behind: Behind, reader: Reader): readonly ObjectBehind[] {
  for (const request of ownedRequests(custom, behind)) reader.watch(request)
  const below = (owner: KubeObject, depth: number): readonly ObjectBehind[] =>
    directlyBehind(owner, custom, reader, behind).map((object) => {
      const { rule, isCustom } = behind.ruleOf(object)
      const isEntered = isCustom && depth < maxDepth
      return {
        object,
        rule,
        isCustom,
        behind: () => {
          if (!isEntered) return []
          for (const request of appliedRequests(object, behind)) reader.watch(request)
          return below(object, depth + 1)
        },
      }
    })
  return below(custom, 1)
}

/** The objects behind a custom resource, at any depth. */
export function allBehind(custom: KubeObject, behind: Behind, reader: Reader): readonly ObjectBehind[] {
  const withDeeper = (each: ObjectBehind): readonly ObjectBehind[] => [each, ...each.behind().flatMap(withDeeper)]
  return objectsBehind(custom, behind, reader).flatMap(withDeeper)
}

/**
 * Assesses an object that the gate does not gate, by its rule. Its history is unknown, so it counts as unchanged since
 * its creation.
 */
export function assessOwned(object: KubeObject, rule: Rule, reader: Reader): Assessment {
  const since = reader.time(object.metadata.creationTimestamp) ?? reader.startedAt
  const history = observeTarget(undefined, object, since, rule.failures?.(object))
  return assess(rule, object, { ...reader, history })
}

/**
 * The reader for objects that only explain: what their rules need only explains too, and of the rest nothing is watched.
 * Kinds that are ready once they exist explain nothing.
 */
export function explainingReader(reader: Reader, { ruleOf }: Pick<Behind, 'ruleOf'>): Reader {
  const watch: Reader['watch'] = (request, need = 'needed') =>
    need === 'needed' && ruleOf(request).rule !== existsRule
      ? reader.watch(request, 'explaining')
      : reader.listState(request)
  return { ...reader, ...watchingBy(watch, reader) }
}

/** The reader for an assessment that asks for no watch. */
export function unwatchingReader(reader: Reader): Reader {
  return { ...reader, ...watchingBy(reader.listState, reader) }
}

/** Whether the lists that explain are awaited: shortly after the first sight of an object or of its spec, not longer. */
export function awaitsLists(reader: Reader): boolean {
  const { firstSeenAt, specSeenAt } = reader.history
  const isListing = reader.reads.requests.explaining.some((request) => reader.listState(request) === 'pending')
  return isListing && !reader.passed(Math.max(firstSeenAt, specSeenAt) + ownedListsMs)
}
