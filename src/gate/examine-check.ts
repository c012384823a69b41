import { deniesAccess } from '../cluster/feed.ts'
import { type Pod, shortName } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { choosePort, podsOfTarget } from '../lifecycle/answers.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import type { RequestCheck } from '../plan/checks.ts'
import { pluralOf } from '../plan/kinds.ts'
import { displayName } from '../plan/target.ts'
import { deniedVerdict, type Verdict } from './run-record.ts'
import { type GatedTarget, objectOf, requestsOf } from './target-state.ts'

/** The parts of the gate that the checks read. */
export interface Parts {
  readonly all: readonly GatedTarget[]
  readonly store: Store
  readonly contextOf: (gated: GatedTarget) => RuleContext
}

/** Whether a line of `http-checks` can reach pods, as far as the objects are known; with a message if the line has a mistake. */
export type Examined = 'right' | 'unknown' | Verdict | { readonly message: string }

const whatServes = 'Name a Service, or a resource that runs pods.'

/** The pods of the gated revision that a target makes or selects. */
export function podsOf(gated: GatedTarget, { contextOf }: Parts): readonly Pod[] {
  const { rule, state } = gated
  const object = objectOf(state)
  if (object === undefined || state.assessment === undefined || rule.serving === undefined) return []
  return podsOfTarget(state.assessment, object, rule.serving, contextOf(gated))
}

/**
 * Examines a line of `http-checks`: its port must exist, and its target must have pods or need none.
 * @param gated the target that the line names; undefined if there is none
 */
export function examineCheck(check: RequestCheck, gated: GatedTarget | undefined, parts: Parts): Examined {
  if (gated === undefined) return examineMissing(check, parts)
  const { name, target, rule, state } = gated
  const { serving } = rule
  if (serving === undefined) {
    const isDeletion = rule.readyWhenAbsent !== undefined
    return {
      message: isDeletion
        ? `${displayName(target)} is gated by --for=delete, so it answers nothing once it is ready.`
        : `A ${target.kind} serves no requests. ${whatServes}`,
    }
  }
  const object = objectOf(state)
  if (object === undefined) return 'unknown'
  const port = choosePort(check, object, serving)
  if (typeof port === 'string') return { message: `${shortName(object)}: ${port}` }
  if (podsOf(gated, parts).length > 0 || serving.isEmpty(object, parts.contextOf(gated))) return 'right'
  // All its pods are known once only answers are missing.
  if (state.assessment?.asks === undefined) return 'unknown'
  const denied = requestsOf(gated)
    .map((request) => parts.store.refusal(request))
    .find((refusal) => refusal !== undefined && deniesAccess(refusal))
  if (denied === undefined)
    return serving.presentPods === undefined
      ? 'right'
      : { message: `${name} is ready, and no pod is behind it. ${whatServes}` }
  const { kind = '', message } = denied
  return deniedVerdict('misconfigured', { name: `${pluralOf(kind)} behind ${name}`, wasReadable: false, message })
}

function examineMissing({ reference }: RequestCheck, { all }: Parts): Examined {
  // An operator may still deploy it.
  if (all.some(({ rule, state }) => rule.arrival !== undefined && state.type !== 'ready')) return 'unknown'
  const { namespace } = reference
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  const gated = all.map(({ name }) => name).join(', ')
  return { message: `${displayName(reference)}${where} is not gated. Name it in resources too. Gated is ${gated}.` }
}
