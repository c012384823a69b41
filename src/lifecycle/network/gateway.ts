import type { KubeObject } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { fieldsOf } from '../custom/signal.ts'
import { notReconciled } from '../platform/condition-problems.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import {
  againstProblem,
  failuresAgainst,
  isAgainst,
  type PartCondition,
  spokenConditions,
} from './gateway-conditions.ts'

/**
 * A Gateway of the Gateway API: https://gateway-api.sigs.k8s.io/reference/spec/#gatewaystatus
 *
 * Ready when its controller says, of the present generation, that it is Accepted and Programmed, and nothing stands against
 * any of its listeners: a Gateway may be programmed without the listener whose certificate is missing. The controller
 * waits itself for the addresses that it cannot do without, so a missing one is told and not waited for.
 */
export const gatewayRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' }),
  relatives: () => [],
  failures: (gateway) => failuresAgainst(partsOf(gateway)),
  assess: assessGateway,
}

interface GatewayStatus {
  readonly conditions?: unknown
  readonly addresses?: unknown
  readonly listeners?: unknown
}

/** The conditions of its listeners, which say more precisely what is wrong than the Gateway does, and then its own. */
function partsOf(gateway: KubeObject): readonly PartCondition[] {
  const status = (gateway.status ?? {}) as GatewayStatus
  return [
    ...fieldsOf(status.listeners).flatMap(({ name, conditions }) =>
      spokenConditions(gateway, conditions).map((condition) => ({ where: `listener ${name}: `, condition })),
    ),
    ...spokenConditions(gateway, status.conditions).map((condition) => ({ where: '', condition })),
  ]
}

function assessGateway(gateway: KubeObject, context: RuleContext): Assessment {
  const status = (gateway.status ?? {}) as GatewayStatus
  const own = spokenConditions(gateway, status.conditions)
  const isTrue = (...types: string[]) => own.some((each) => types.includes(each.type) && each.status === 'True')
  const problem =
    own.length === 0 ? unheard(gateway, context) : againstProblem(gateway, partsOf(gateway).filter(isAgainst), context)
  const ready = problem === undefined && isTrue('Accepted', 'Scheduled') && isTrue('Programmed', 'Ready')
  const addresses = fieldsOf(status.addresses).flatMap(({ value }) => value ?? [])
  const words = `accepted and programmed${addresses.length === 0 ? '' : `, address ${addresses.join(', ')}`}`
  const waiting = problem === undefined ? 'waiting for its controller to accept and program it' : messageOf(problem)
  return conclude(gateway, context, {
    ready,
    readyMessage: words,
    signals: partsOf(gateway).map(({ condition }) => condition),
    milestones: [
      createdMilestone,
      own.length === 0
        ? { name: 'observed', state: 'open', message: waiting }
        : { name: 'observed', state: 'done', message: 'observed' },
      { name: 'ready', state: ready ? 'done' : 'open', message: ready ? words : waiting },
    ],
    problems: problem === undefined ? [] : [problem],
    ...(problem?.proven ? { failure: problem } : {}),
    notes: ready && addresses.length === 0 ? ['it has no address yet'] : [],
  })
}

/** Nobody has spoken of the present generation; of a new Gateway, most often because nobody serves its class. */
function unheard(gateway: KubeObject, context: RuleContext): Problem {
  const { gatewayClassName = '' } = (gateway.spec ?? {}) as { gatewayClassName?: string }
  const text = `no controller has acted on it yet: GatewayClass ${gatewayClassName} has to exist, and its controller to run`
  return { ...notReconciled(gateway, context), detail: { text } }
}
