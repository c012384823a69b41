import type { FeedEvent } from '../cluster/feed.ts'
import type { Inputs } from '../inputs.ts'
import { type ParsedReferences, parseReferences } from '../plan/references.ts'
import { type Plan, resolveReferences, resolveTargets } from '../plan/resolve.ts'
import type { Target } from '../plan/target.ts'
import type { RecordingHeader } from './format.ts'
import { isKind, type Survey } from './survey.ts'

/** What a replay is to judge, and how the objects of its recording are to be read. */
export interface ReplayPlan extends Plan {
  /** Gives an object that was written without its namespace the one that it must lie in. */
  readonly place: (event: FeedEvent) => FeedEvent
}

/**
 * Names the targets of a recording: those of its header; where it has none, what the header's `resources` name among
 * the kinds that the recording knows. References that the user wrote himself go before both.
 *
 * @param written the user's own references, if any
 * @throws UserError when no target can be told
 */
export function planReplay(
  survey: Survey,
  header: RecordingHeader,
  inputs: Inputs,
  written?: ParsedReferences,
): ReplayPlan {
  const { kinds } = survey
  const namespace = inputs.namespace ?? survey.onlyNamespace ?? 'default'
  const milestones = Object.keys(inputs.milestoneTimeoutsMs)
  const isNamespaced = ({ apiVersion, kind }: Pick<Target, 'apiVersion' | 'kind'>) =>
    kinds.find((each) => isKind(each, apiVersion, kind))?.namespaced

  const recorded = written === undefined ? recordedTargets(header) : undefined
  const plan =
    recorded === undefined
      ? resolveTargets(
          resolveReferences(written ?? parseReferences(inputs.resources), kinds, { namespace, milestones }),
          (selection) => survey.namesOf(selection),
        )
      : { targets: recorded.map((target) => inScope(target, isNamespaced(target), namespace)), notices: [] }

  const namespaces = new Set(plan.targets.map((target) => target.namespace))
  const [only = namespace] = namespaces.size === 1 ? namespaces : []
  const place = (event: FeedEvent): FeedEvent => {
    if (!('object' in event)) return event
    const { object } = event
    const metadata = inScope(object.metadata, isNamespaced(object), only)
    return metadata === object.metadata ? event : { ...event, object: { ...object, metadata } }
  }
  return { ...plan, place }
}

/**
 * Recordings made by other hands leave a namespace out, or write one where there can be none: it is given to what must
 * have one and taken from what cannot. Of a kind that is not known, what is written holds.
 */
function inScope<T extends { readonly namespace?: string }>(
  named: T,
  isNamespaced: boolean | undefined,
  namespace: string,
): T {
  if (isNamespaced === undefined || isNamespaced === (named.namespace !== undefined)) return named
  if (isNamespaced) return { ...named, namespace }
  const { namespace: _none, ...rest } = named
  return rest as T
}

/** The header's targets; undefined when it has none that are whole. */
function recordedTargets({ targets }: RecordingHeader): readonly Target[] | undefined {
  if (!Array.isArray(targets) || targets.length === 0) return undefined
  const isWhole = targets.every((target) => target?.apiVersion && target.kind && target.name !== undefined)
  return isWhole ? targets.map((target) => ({ ...target, clocks: target.clocks ?? {} })) : undefined
}
