import { deniesAccess } from '../cluster/feed.ts'
import { type KubeObject, type Pod, shortName } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { type ConcerningCheck, choosePort, podsOfTarget, selectsPodsOf } from '../lifecycle/answers.ts'
import type { Serving } from '../lifecycle/rule.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import { ruleOf } from '../lifecycle/rules.ts'
import type { CheckReference, RequestCheck } from '../plan/checks.ts'
import { pluralOf } from '../plan/kinds.ts'
import { displayName, nameKey, type Target } from '../plan/target.ts'
import { type GatedTarget, objectOf, requestsOf } from './target-state.ts'
import { deniedVerdict, type Verdict } from './timeline.ts'

/** The parts of the gate that the checks read. */
export interface Parts {
  readonly all: readonly GatedTarget[]
  readonly store: Store
  readonly contextOf: (gated: GatedTarget) => RuleContext
}

/** Where a line of `http-checks` asks. */
export type Place =
  | { readonly type: 'target'; readonly index: number; readonly target: Target; readonly serving: Serving }
  /** An object that selects the pods of some of these targets. */
  | {
      readonly type: 'selecting'
      readonly via: NonNullable<ConcerningCheck['via']>
      readonly indexes: readonly number[]
    }
  | { readonly type: 'mistake'; readonly message: string }

/** Whether a line of `http-checks` can reach pods, as far as the cluster shows; with a message if the line has a mistake. */
export type Examined = 'right' | 'unknown' | Verdict | { readonly message: string }

const whatServes = 'Name a Service, or a resource that runs pods.'

/**
 * Where a line of `http-checks` asks, as far as its reference and the targets show.
 *
 * @param servingOf how requests reach the pods of a target; undefined if it has none
 */
export function placeOf(
  reference: CheckReference,
  targets: readonly Target[],
  servingOf: (target: Target) => Serving | undefined,
): Place {
  const name = { ...reference, apiVersion: reference.apiVersion ?? '' }
  const index = targets.findIndex((target) => nameKey(target) === nameKey(name))
  const target = targets[index]
  if (target !== undefined) {
    const serving = servingOf(target)
    if (serving !== undefined) return { type: 'target', index, target, serving }
    const message =
      ruleOf(target).serving === undefined
        ? `A ${target.kind} serves no requests. ${whatServes}`
        : `${displayName(target)} is gated by --for=delete, so it answers nothing once it is ready.`
    return { type: 'mistake', message }
  }
  const { serving } = ruleOf(name)
  const others = targets.flatMap((each, position) => {
    const isBehind = each.namespace === name.namespace && servingOf(each)?.podMetadata !== undefined
    return isBehind ? [position] : []
  })
  if (serving !== undefined && serving.podMetadata === undefined && others.length > 0)
    return { type: 'selecting', via: { name, serving }, indexes: others }
  const where = name.namespace === undefined ? '' : ` in namespace ${name.namespace}`
  const gated = targets.map(displayName).join(', ') || 'nothing'
  const remedy =
    serving === undefined ? '' : ' Name it in resources too, or a Service that selects the pods of what is gated.'
  return { type: 'mistake', message: `${displayName(name)}${where} is not gated. Gated is ${gated}.${remedy}` }
}

/** The targets that a line may concern. */
export function targetsAt(place: Place | undefined, { all }: Parts): readonly GatedTarget[] {
  if (place?.type === 'target') return all.filter(({ index }) => index === place.index)
  return place?.type === 'selecting' ? all.filter(({ index }) => place.indexes.includes(index)) : []
}

/** The pods of the gated revision that a target makes or selects. */
export function podsOf(gated: GatedTarget | undefined, { contextOf }: Parts): readonly Pod[] {
  if (gated === undefined) return []
  const { rule, state } = gated
  const object = objectOf(state)
  if (object === undefined || state.assessment === undefined || rule.serving === undefined) return []
  return podsOfTarget(state.assessment, object, rule.serving, contextOf(gated))
}

/** Whether a line reaches the pods of a target at a port that exists, as far as the objects are known. */
export function examinePlace(check: RequestCheck, place: Place | undefined, parts: Parts): Examined {
  if (place === undefined) return 'right'
  // An operator may still deploy the object that the line names.
  const mayDeploy = parts.all.some(({ rule, state }) => rule.arrival !== undefined && state.type !== 'ready')
  if (place.type === 'mistake') return mayDeploy ? 'unknown' : { message: place.message }
  return place.type === 'target' ? examineTarget(check, place, parts) : examineSelecting(check, place, parts, mayDeploy)
}

/** Examines a line whose reference is a target: its port must exist, and the target must have pods or need none. */
function examineTarget(
  check: RequestCheck,
  { index, serving }: Place & { readonly type: 'target' },
  parts: Parts,
): Examined {
  const gated = parts.all[index]
  const object = gated && objectOf(gated.state)
  if (gated === undefined || object === undefined) return 'unknown'
  const port = examinePort(check, object, serving)
  const pods = port === 'right' ? examinePods(gated, parts) : port
  if (pods !== 'none') return pods
  if (serving.presentPods === undefined) return 'right'
  return { message: `${gated.name} is ready, and no pod is behind it. ${whatServes}` }
}

function examineSelecting(
  check: RequestCheck,
  place: Place & { readonly type: 'selecting' },
  parts: Parts,
  mayDeploy: boolean,
): Examined {
  const { name, serving } = place.via
  const service = parts.store.get(name)
  if (service === undefined) return examineMissing(place, parts)
  const targets = targetsAt(place, parts)
  const selected = targets.filter((gated) => {
    const object = objectOf(gated.state)
    const own = gated.rule.serving
    return (
      object !== undefined && own !== undefined && selectsPodsOf(serving, service, own, object, podsOf(gated, parts))
    )
  })
  const port = selected.length === 0 ? 'right' : examinePort(check, service, serving)
  if (port !== 'right') return port
  const isKnown = (gated: GatedTarget) =>
    gated.state.type === 'ended' ||
    (gated.rule.serving?.presentPods === undefined ? objectOf(gated.state) !== undefined : isReadyItself(gated))
  if (selected.length === 0 && (mayDeploy || !targets.every(isKnown))) return 'unknown'
  const pods = (selected.length === 0 ? targets : selected).map((gated) => examinePods(gated, parts))
  const denied = pods.find((each) => typeof each === 'object')
  if (selected.length === 0)
    return denied ?? { message: `${shortName(service)} selects no pod of what is gated: ${namesOf(targets)}.` }
  if (pods.includes('right')) return 'right'
  return pods.includes('unknown') ? 'unknown' : (denied ?? 'right')
}

/** Whether a target has pods, or needs none. A verdict if the gate may not read the objects that lead to the pods. */
function examinePods(gated: GatedTarget, parts: Parts): 'right' | 'none' | 'unknown' | Verdict {
  const object = objectOf(gated.state)
  if (object === undefined) return 'unknown'
  if (podsOf(gated, parts).length > 0 || gated.rule.serving?.isEmpty(object, parts.contextOf(gated))) return 'right'
  if (!isReadyItself(gated)) return 'unknown'
  const denied = requestsOf(gated)
    .map((request) => parts.store.refusal(request))
    .find((refusal) => refusal !== undefined && deniesAccess(refusal))
  if (denied === undefined) return 'none'
  const { kind = '', message } = denied
  const name = `${pluralOf(kind)} behind ${gated.name}`
  return deniedVerdict('misconfigured', { name, wasReadable: false, message })
}

/** An object that is not gated, such as a Service, and that does not exist or cannot be read. */
function examineMissing(place: Place & { readonly type: 'selecting' }, parts: Parts): Examined {
  const { store } = parts
  const { name } = place.via
  const short = displayName(name)
  const refusal = store.refusal(name)
  if (refusal !== undefined && deniesAccess(refusal))
    return deniedVerdict('misconfigured', { name: short, wasReadable: false, message: refusal.message })
  if (store.listState(name) !== 'complete') return 'unknown'
  const gated = namesOf(targetsAt(place, parts))
  return { message: `There is no ${short} in namespace ${name.namespace}. Gated are ${gated}.` }
}

function examinePort(check: RequestCheck, object: KubeObject, serving: Serving): Examined {
  const port = choosePort(check, object, serving)
  return typeof port === 'string' ? { message: `${shortName(object)}: ${port}` } : 'right'
}

/** Whether only answers to requests are missing until the target is ready: then all its pods are known. */
function isReadyItself({ state }: GatedTarget): boolean {
  return state.assessment?.asks !== undefined
}

function namesOf(gated: readonly GatedTarget[]): string {
  return gated.map(({ name }) => name).join(', ')
}
