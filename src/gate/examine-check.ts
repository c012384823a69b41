import { deniesAccess } from '../cluster/feed.ts'
import type { Pod } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { Mistake } from '../errors.ts'
import { podsOfTarget, whatServes } from '../lifecycle/answers.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import type { RequestCheck } from '../plan/checks.ts'
import { pluralOf } from '../plan/kinds.ts'
import { displayName, type NamedTarget } from '../plan/target.ts'
import { deniedVerdict, type Verdict } from './run-record.ts'
import { type GatedTarget, objectOf, requestsOf } from './target-state.ts'

/** The parts of the gate that the checks read. */
export interface Parts {
  readonly all: readonly GatedTarget[]
  readonly store: Store
  readonly named: (reference: NamedTarget) => readonly GatedTarget[]
  readonly contextOf: (gated: GatedTarget) => RuleContext
}

/** The pods of the gated revision that a target makes or selects. */
export function podsOf(gated: GatedTarget, { contextOf }: Parts): readonly Pod[] {
  const { rule, state } = gated
  const object = objectOf(state)
  if (object === undefined || state.assessment === undefined || rule.serving === undefined) return []
  return podsOfTarget(state.assessment, object, rule.serving, contextOf(gated))
}

/**
 * What is wrong with a line of `http-checks`, as far as the objects are known: it must name a target that runs or selects pods, and
 * a port; access to the pods must not be refused.
 */
export function examineCheck(check: RequestCheck, parts: Parts): Mistake | Verdict | undefined {
  const place = { input: 'http-checks', line: check.line }
  const [gated] = parts.named(check.reference)
  if (gated === undefined) {
    const message = missingTarget(check, parts)
    return message === undefined ? undefined : { ...place, message }
  }
  const { name, target, rule, state } = gated
  if (rule.readyWhenAbsent !== undefined)
    return {
      ...place,
      message: `${displayName(target)} is gated by --for=delete, so it answers nothing once it is ready.`,
    }
  if (rule.serving === undefined) return { ...place, message: `A ${target.kind} serves no requests. ${whatServes}` }
  const mistake = state.assessment?.mistakes?.find(({ line }) => line === check.line)
  const refusals = mistake?.hasNoPods ? requestsOf(gated).flatMap((request) => parts.store.refusal(request) ?? []) : []
  const denied = refusals.find(deniesAccess)
  // The pods of a workload may still be created.
  const mayGetPods = mistake?.hasNoPods === true && rule.serving.presentPods === undefined
  if (denied === undefined) return mayGetPods ? undefined : mistake
  const { kind = '', message } = denied
  return deniedVerdict('misconfigured', { name: `${pluralOf(kind)} behind ${name}`, wasReadable: false, message })
}

/** Undefined while an operator may still deploy the target. */
function missingTarget({ reference }: RequestCheck, { all }: Parts): string | undefined {
  if (all.some(({ rule, state }) => rule.arrival !== undefined && state.type !== 'ready')) return undefined
  const { namespace } = reference
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  const gated = all.map(({ name }) => name).join(', ')
  return `${displayName(reference)}${where} is not gated. Name it in resources too. Gated is ${gated}.`
}
