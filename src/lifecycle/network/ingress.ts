import type { WatchRequest } from '../../cluster/feed.ts'
import type { Ingress, IngressBackend, KubeObject, Service } from '../../cluster/objects.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { ownProblem } from '../conditions.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'

/**
 * An Ingress: https://kubernetes.io/docs/concepts/services-networking/ingress/
 *
 * Ready when the Services and ports of its backends exist, and no Service is being deleted. Many controllers never write an
 * address, so a missing address is reported and the gate does not wait for it. Exception: without permission to read
 * Services, the address is the only signal, so the gate waits for it.
 */
export const ingressRule: Rule = {
  milestones: ['created', 'backends', 'address'],
  concernedBy: ['Service'],
  relatives: (object) => [serviceRequest(object)],
  assess: (object, context) => assessIngress(object as Ingress, context),
}

function assessIngress(ingress: Ingress, context: RuleContext): Assessment {
  const canReadServices = context.listState(serviceRequest(ingress)) === 'complete'
  const missing = canReadServices
    ? backendsOf(ingress).flatMap((backend) => missingBackend(ingress, backend, context))
    : []
  const entries = ingress.status?.loadBalancer?.ingress ?? []
  const addresses = entries.flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
  const isAddressed = entries.length > 0
  const needsAddress = !canReadServices && !isAddressed
  const own = ownProblem(ingress, context.history.firstSeenAt)
  const reason = 'backend-missing' as const
  const problems: readonly Problem[] = [
    // Several paths may have the same backend.
    ...new Map(missing.map((detail) => [JSON.stringify(detail), { ...own, reason, detail }])).values(),
    ...(needsAddress ? [{ ...own, reason: 'address-pending' as const, detail: { isLoadBalancer: false } }] : []),
  ]
  return conclude(ingress, context, {
    ready: problems.length === 0,
    readyMessage: [
      backendsMessage(ingress, canReadServices),
      ...(addresses.length === 0 ? [] : [`address ${addresses.join(', ')}`]),
    ].join(', '),
    milestones: [
      createdMilestone,
      canReadServices
        ? {
            name: 'backends',
            state: problems.length === 0 ? 'done' : 'open',
            message: problems[0] === undefined ? 'backends exist' : messageOf(problems[0]),
          }
        : { name: 'backends', state: 'skipped', message: 'Services cannot be read' },
      isAddressed
        ? { name: 'address', state: 'done', message: `address ${addresses.join(', ')}` }
        : needsAddress
          ? { name: 'address', state: 'open', message: 'waiting for its address' }
          : { name: 'address', state: 'skipped', message: 'no address, which is not awaited' },
    ],
    problems,
    notes: isAddressed ? [] : ['it has no address yet'],
  })
}

function backendsMessage(ingress: Ingress, canReadServices: boolean): string {
  const backends = backendsOf(ingress).length
  if (backends === 0) return 'names no Service as its backend'
  if (!canReadServices) return 'its backends cannot be read'
  return backends === 1 ? 'its backend exists' : `its ${backends} backends exist`
}

function serviceRequest({ metadata: { namespace } }: KubeObject): WatchRequest {
  return { apiVersion: 'v1', kind: 'Service', namespace }
}

function backendsOf({ spec = {} }: Ingress): readonly IngressBackend[] {
  const paths = (spec.rules ?? []).flatMap(({ http }) => http?.paths ?? [])
  return [
    ...(spec.defaultBackend === undefined ? [] : [spec.defaultBackend]),
    ...paths.flatMap(({ backend }) => backend ?? []),
  ].filter(({ service }) => service !== undefined)
}

/** The missing Service or port of a backend; empty if both exist. */
function missingBackend(
  { metadata: { namespace } }: Ingress,
  { service: reference }: IngressBackend,
  context: RuleContext,
): readonly Problem<'backend-missing'>['detail'][] {
  const service = reference?.name ?? ''
  const found = (context.list('Service', namespace) as readonly Service[]).find(
    ({ metadata }) => metadata.name === service,
  )
  if (found === undefined) return [{ service, state: 'missing' }]
  if (found.metadata.deletionTimestamp !== undefined) return [{ service, state: 'terminating' }]
  const { name, number } = reference?.port ?? {}
  const port = name ?? number
  if (found.spec?.type === 'ExternalName' || port === undefined) return []
  const hasPort = (found.spec?.ports ?? []).some((each) => (name === undefined ? each.port : each.name) === port)
  return hasPort ? [] : [{ service, state: 'port-missing', port }]
}
