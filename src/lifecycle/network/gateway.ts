import type { Fields, KubeObject, ObjectName } from '../../cluster/objects.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import { type ConditionSignal, conditionSignal, conditionsIn, objectsIn } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { hasPresentGeneration, observedMilestoneIf } from '../stale-status.ts'
import { conditionProblem, notReconciledProblem, reportedProblem } from '../status-problems.ts'
import { type Backend, backendProblems } from './backend.ts'

/* The rules of the Gateway API (https://gateway-api.sigs.k8s.io): they judge Gateways and routes by their conditions. */

const group = 'gateway.networking.k8s.io'

/** Conditions that must be True; `Scheduled` and `Ready` are older names (Gateway API 0.5), `Reconciled` is GKE's. */
const goodTypes = new Set(['Accepted', 'Programmed', 'ResolvedRefs', 'Ready', 'Scheduled', 'Reconciled'])
/** Conditions that must not be True; `Detached` is the older opposite of Accepted. */
const badTypes = new Set(['Conflicted', 'PartiallyInvalid', 'Detached'])

/**
 * Reasons for a request that the implementation does not support: only another apply can change this. Other failures
 * may end when a Gateway, Service, Secret or ReferenceGrant is created later.
 */
const finalReasons = new Set([
  'UnsupportedValue',
  'IncompatibleFilters',
  'InvalidKind',
  'InvalidRouteKinds',
  'UnsupportedAddress',
])

/**
 * Judges Gateways: https://gateway-api.sigs.k8s.io/reference/spec/#gatewaystatus
 *
 * A Gateway is ready when its controller reports Accepted and Programmed for the present generation, and no listener
 * has a problem: a Gateway may be programmed without the listener whose certificate is missing. The controller waits
 * for the addresses that the Gateway needs, so the gate only reports a missing address.
 */
export const gatewayRule: Rule = {
  milestones: commonMilestones,
  judge: judgeGateway,
}

/**
 * Judges routes of any protocol: https://gateway-api.sigs.k8s.io/reference/spec/#routestatus
 *
 * A route is ready when every parent in its spec accepts the present generation, and no parent reports a problem:
 * references are resolved (ResolvedRefs), and all rules are used (no PartiallyInvalid). The status of former parents
 * does not count. If a parent does not report ResolvedRefs, the Services and ports of the backends must exist, as far
 * as the gate can read them.
 */
export const routeRule: Rule = {
  milestones: commonMilestones,
  judge: judgeRoute,
}

/** The conditions of a Gateway: first those of its listeners, which are more precise, then its own. */
function gatewaySignals(gateway: KubeObject): readonly ConditionSignal[] {
  const { listeners } = (gateway.status ?? {}) as Fields
  return [
    ...objectsIn(listeners).flatMap((each) => reportedSignals(gateway, each['conditions'], `listener ${each['name']}`)),
    ...gatewayOwnSignals(gateway),
  ]
}

function gatewayOwnSignals(gateway: KubeObject): readonly ConditionSignal[] {
  return reportedSignals(gateway, (gateway.status as Fields | undefined)?.['conditions'])
}

function judgeGateway(gateway: KubeObject, reader: RuleReader): Judgement {
  const { gatewayClassName: gatewayClass = '' } = (gateway.spec ?? {}) as { gatewayClassName?: string }
  const ownSignals = gatewayOwnSignals(gateway)
  const signals = gatewaySignals(gateway)
  const isTrue = (...types: string[]) => ownSignals.some(({ name, value }) => types.includes(name) && value === 'True')
  const problem =
    ownSignals.length === 0
      ? // Most often, no controller is responsible for the GatewayClass of a new Gateway.
        notReconciledProblem(gateway, reader, { awaited: 'controller', owners: [`GatewayClass ${gatewayClass}`] })
      : badConditionsProblem(gateway, signals, reader)
  const ready = problem === undefined && isTrue('Accepted', 'Scheduled') && isTrue('Programmed', 'Ready')
  const addresses = objectsIn((gateway.status as Fields | undefined)?.['addresses']).flatMap(({ value }) => value ?? [])
  const message = `accepted and programmed${addresses.length === 0 ? '' : `, address ${addresses.join(', ')}`}`
  const waiting = problem === undefined ? 'waiting for its controller to accept and program it' : messageOf(problem)
  reader.milestone(observedMilestoneIf(ownSignals.length > 0, waiting))
  if (problem !== undefined) reader.problem(problem)
  if (ready && addresses.length === 0) reader.note('it has no address yet')
  return { ready, message: ready ? message : waiting, readyConditions: signals.map(({ condition }) => condition) }
}

/** A reference of a route to a Gateway, one of its listeners, or a Service in a mesh, with the API's defaults. */
interface ParentRef {
  readonly group: string
  readonly kind: string
  readonly namespace: string | undefined
  readonly name?: string
  readonly sectionName?: string
  readonly port?: number
}

/** A parent of a route, and its conditions of the present generation. */
interface Parent {
  readonly ref: ParentRef
  /** The parent in messages: `gateway/web`, `gateway/web in infra, listener https`. */
  readonly name: string
  readonly signals: readonly ConditionSignal[]
}

function parentsOf(route: KubeObject): readonly Parent[] {
  const { parents } = (route.status ?? {}) as Fields
  return readParentRefs((route.spec as Fields | undefined)?.['parentRefs'], route).map((ref) => ({
    ref,
    name: parentName(ref, route),
    signals: objectsIn(parents)
      .filter(({ parentRef }) => readParentRefs([parentRef], route).some((each) => isSameParent(ref, each)))
      .flatMap(({ conditions }) => reportedSignals(route, conditions)),
  }))
}

/** References in a spec or status, with the defaults of the API for absent fields. */
function readParentRefs(written: unknown, { metadata: { namespace } }: KubeObject): readonly ParentRef[] {
  return objectsIn(written).map((each) => {
    const valid = Object.entries(each).filter(([key, value]) => typeof value === (key === 'port' ? 'number' : 'string'))
    return { group, kind: 'Gateway', namespace, ...Object.fromEntries(valid) }
  })
}

/** Whether two references name the same parent. Controllers may omit fields, so absent fields are not compared. */
function isSameParent(a: ParentRef, b: ParentRef): boolean {
  const isOfSameKind = a.group === b.group && a.kind === b.kind && a.namespace === b.namespace
  const fields = ['name', 'sectionName', 'port'] as const
  return isOfSameKind && fields.every((key) => a[key] === undefined || b[key] === undefined || a[key] === b[key])
}

function parentName({ kind, namespace, name = '?', sectionName }: ParentRef, { metadata }: KubeObject): string {
  const where = namespace === metadata.namespace ? '' : ` in ${namespace}`
  return `${kind.toLowerCase()}/${name}${where}${sectionName === undefined ? '' : `, listener ${sectionName}`}`
}

function judgeRoute(route: KubeObject, reader: RuleReader): Judgement {
  const parents = parentsOf(route)
  const names = parents.map(({ name }) => name)
  const signals = parents.flatMap(({ name, signals }) =>
    signals.map((each) => ({ ...each, part: parents.length > 1 ? name : undefined })),
  )
  const backends = routeBackends(route)
  const missing = backends.length === 0 ? [] : (backendProblems(route, backends, reader, 'optional') ?? [])
  const unanswered = parents.filter((each) => !each.signals.some(({ name }) => name === 'Accepted'))
  const areResolved = parents.every((each) => each.signals.some(({ name }) => name === 'ResolvedRefs'))
  const bad = badConditionsProblem(route, signals, reader)
  const problems: readonly Problem[] = [
    ...(bad === undefined ? [] : [bad]),
    // Not a failure: the controller of a parent reports only once the parent exists.
    ...(unanswered.length === 0
      ? []
      : [notReconciledProblem(route, reader, { awaited: 'controller', owners: unanswered.map(({ name }) => name) })]),
    ...(bad === undefined && !areResolved ? missing : []),
  ]
  const ready = problems.length === 0
  const message = parents.length === 0 ? 'names no parent to accept it' : `accepted by ${names.join(' and ')}`
  const waiting = problems[0] === undefined ? '' : messageOf(problems[0])
  reader.milestone(observedMilestoneIf(unanswered.length === 0, waiting))
  for (const problem of problems) reader.problem(problem)
  if (parents.length === 0) reader.note('it names no parent, so nothing takes its traffic')
  if (bad === undefined && areResolved) for (const problem of missing) reader.warning(messageOf(problem))
  return {
    ready,
    message: ready ? message : waiting,
    readyConditions: signals.map(({ condition }) => condition),
    awaits: ready ? undefined : parents.map(({ ref }) => parentObjectName(ref)),
  }
}

function parentObjectName({ group, kind, name = '', namespace }: ParentRef): ObjectName {
  return { apiVersion: group === '' ? 'v1' : `${group}/v1`, kind, name, namespace }
}

/** The backends of a route that are Services in the route's namespace. */
function routeBackends({ metadata, spec }: KubeObject): readonly Backend[] {
  const rules = objectsIn((spec as Fields | undefined)?.['rules'])
  return rules
    .flatMap(({ backendRefs }) => objectsIn(backendRefs))
    .flatMap(({ group: backendGroup = '', kind = 'Service', namespace = metadata.namespace, name, port }) =>
      backendGroup === '' && kind === 'Service' && namespace === metadata.namespace && typeof name === 'string'
        ? [{ service: name, port: typeof port === 'number' ? port : undefined }]
        : [],
    )
}

/**
 * The conditions of the present generation. The API server adds defaults to a new Gateway, which do not count: Unknown
 * since 1970, "Waiting for controller".
 */
function reportedSignals(object: KubeObject, conditions: unknown, part?: string): readonly ConditionSignal[] {
  return conditionsIn(conditions)
    .filter((each) => hasPresentGeneration(each, object) && Date.parse(each.lastTransitionTime ?? '') !== 0)
    .map((each) => conditionSignal(each, part))
}

/** The problem that bad conditions report; undefined without any. Unsupported requests have priority. */
function badConditionsProblem(
  object: KubeObject,
  signals: readonly ConditionSignal[],
  reader: Reader,
): Problem | undefined {
  const bad = signals.filter(({ name, value }) =>
    goodTypes.has(name) ? value !== 'True' : badTypes.has(name) && value === 'True',
  )
  const [first, ...others] = bad.filter(({ reason = '' }) => finalReasons.has(reason))
  if (first !== undefined) return reportedProblem(object, [first, ...others], reader)
  return bad.length === 0 ? undefined : conditionProblem(object, bad, reader)
}
