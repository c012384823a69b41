import type { Condition, KubeObject } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment, Awaited, Milestone } from '../assessment.ts'
import { type Fields, fieldsOf } from '../custom/signal.ts'
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

const group = 'gateway.networking.k8s.io'

/**
 * A route of the Gateway API, of whatever protocol: https://gateway-api.sigs.k8s.io/reference/spec/#routestatus
 *
 * Ready when every parent that its spec names says of the present generation that it accepts it, and nothing stands against
 * it: its references are resolved (ResolvedRefs) and none of its rules is left out (PartiallyInvalid). What the status says
 * of parents that the spec no longer names, or what a controller that is gone has left there, does not count.
 */
export const routeRule: Rule = {
  milestones: milestonesOf({ apiVersion: `${group}/v1`, kind: 'HTTPRoute' }),
  relatives: () => [],
  failures: (route) => failuresAgainst(partsOf(saidBy(route))),
  assess: assessRoute,
}

/** Which Gateway (or, in a mesh, Service) a route wants to be attached to, and by which of its listeners. */
interface ParentRef {
  readonly group?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  readonly sectionName?: string
  readonly port?: number
}

/** What is said of the present generation for one of the parents that a route names. */
interface Parent {
  readonly name: string
  readonly conditions: readonly Condition[]
}

function parentRefsOf({ spec }: KubeObject): readonly ParentRef[] {
  return fieldsOf((spec as Fields | undefined)?.['parentRefs']) as readonly ParentRef[]
}

function saidBy(route: KubeObject): readonly Parent[] {
  const { parents } = (route.status ?? {}) as { parents?: unknown }
  return parentRefsOf(route).map((ref) => ({
    name: nameOf(ref, route),
    conditions: fieldsOf(parents)
      .filter(({ parentRef }) => parentRef && isSameParent(ref, parentRef, route))
      .flatMap(({ conditions }) => spokenConditions(route, conditions)),
  }))
}

function partsOf(said: readonly Parent[]): readonly PartCondition[] {
  return said.flatMap(({ name, conditions }) =>
    conditions.map((condition) => ({ where: said.length > 1 ? `${name}: ` : '', condition })),
  )
}

function assessRoute(route: KubeObject, context: RuleContext): Assessment {
  const said = saidBy(route)
  const silent = said.filter(({ conditions }) => !conditions.some(({ type }) => type === 'Accepted'))
  const problem = againstProblem(route, partsOf(said).filter(isAgainst), context)
  const problems: readonly Problem[] = [
    ...(problem === undefined ? [] : [problem]),
    ...(silent.length === 0 ? [] : [unheard(route, silent, context)]),
  ]
  const ready = problems.length === 0
  const words = said.length === 0 ? 'names no parent to accept it' : `accepted by ${listed(said)}`
  const waiting = problems[0] === undefined ? '' : messageOf(problems[0])
  const observed: Milestone =
    silent.length === 0
      ? { name: 'observed', state: 'done', message: 'observed' }
      : { name: 'observed', state: 'open', message: waiting }
  return conclude(route, context, {
    ready,
    readyMessage: words,
    signals: partsOf(said).map(({ condition }) => condition),
    milestones: [
      createdMilestone,
      observed,
      { name: 'ready', state: ready ? 'done' : 'open', message: ready ? words : waiting },
    ],
    problems,
    ...(problem?.proven ? { failure: problem } : {}),
    ...(ready ? {} : { awaits: parentRefsOf(route).map((ref) => parentOf(ref, route)) }),
    notes: said.length === 0 ? ['it names no parent, so nothing takes its traffic'] : [],
  })
}

/** Slow: only the controller of a parent writes of it, and not before the parent exists. */
function unheard(route: KubeObject, silent: readonly { readonly name: string }[], context: RuleContext): Problem {
  return {
    ...notReconciled(route, context),
    detail: {
      text: `no controller has said yet whether ${listed(silent)} accepts it: that must exist, and its controller run`,
    },
  }
}

function listed(parents: readonly { readonly name: string }[]): string {
  return parents.map(({ name }) => name).join(' and ')
}

/**
 * What is left out of a group, kind and namespace has a default: a Gateway in the namespace of the route. The rest some
 * controllers leave out where the spec has it, and others fill in where it has not.
 */
function isSameParent(a: ParentRef, b: ParentRef, { metadata }: KubeObject): boolean {
  const agree = (key: 'name' | 'sectionName' | 'port') =>
    a[key] === undefined || b[key] === undefined || a[key] === b[key]
  return (
    (a.group ?? group) === (b.group ?? group) &&
    (a.kind ?? 'Gateway') === (b.kind ?? 'Gateway') &&
    (a.namespace ?? metadata.namespace) === (b.namespace ?? metadata.namespace) &&
    agree('name') &&
    agree('sectionName') &&
    agree('port')
  )
}

function parentOf(
  { group: of = group, kind = 'Gateway', namespace, name = '' }: ParentRef,
  route: KubeObject,
): Awaited {
  const where = namespace ?? route.metadata.namespace
  const apiVersion = of === '' ? 'v1' : `${of}/v1`
  return { apiVersion, kind, name, ...(where === undefined ? {} : { namespace: where }) }
}

/** `gateway/web`, `gateway/web in infra, listener https`. */
function nameOf({ kind = 'Gateway', namespace, name, sectionName }: ParentRef, { metadata }: KubeObject): string {
  const where = namespace === undefined || namespace === metadata.namespace ? '' : ` in ${namespace}`
  return `${kind.toLowerCase()}/${name}${where}${sectionName === undefined ? '' : `, listener ${sectionName}`}`
}
