import type { WatchRequest } from '../../cluster/feed.ts'
import type { Ingress, IngressBackend, KubeObject, Service } from '../../cluster/objects.ts'
import { milestonesOf } from '../../plan/milestones.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { ownProblem } from '../platform/condition-problems.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'

/**
 * An Ingress: https://kubernetes.io/docs/concepts/services-networking/ingress/
 *
 * Ready when the Services and ports of its backends exist, and none of them is being deleted. Many controllers never write
 * an address, so a missing one is told and not waited for; except where Services may not be read: then it is the only sign
 * that there is.
 */
export const ingressRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' }),
  concernedBy: ['Service'],
  relatives: (object) => [serviceRequest(object)],
  assess: (object, context) => assessIngress(object as Ingress, context),
}

function assessIngress(ingress: Ingress, context: RuleContext): Assessment {
  const seesServices = context.listState(serviceRequest(ingress)) === 'complete'
  const missing = seesServices ? backendsOf(ingress).flatMap((backend) => missingWords(ingress, backend, context)) : []
  const addresses = (ingress.status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
  const isAddressed = (ingress.status?.loadBalancer?.ingress ?? []).length > 0
  const needsAddress = !seesServices && !isAddressed
  const own = ownProblem(ingress, context.history.firstSeenAt)
  const problems: readonly Problem[] = [
    ...[...new Set(missing)].map((text) => ({ ...own, reason: 'backend-missing' as const, detail: { text } })),
    ...(needsAddress ? [{ ...own, reason: 'address-pending' as const, detail: { text: 'has no address yet' } }] : []),
  ]
  return conclude(ingress, context, {
    ready: problems.length === 0,
    readyMessage: [
      backendWords(ingress, seesServices),
      ...(addresses.length === 0 ? [] : [`address ${addresses.join(', ')}`]),
    ].join(', '),
    milestones: [
      createdMilestone,
      seesServices
        ? {
            name: 'backends',
            state: problems.length === 0 ? 'done' : 'open',
            message: problems[0] === undefined ? 'backends exist' : messageOf(problems[0]),
          }
        : { name: 'backends', state: 'skipped', message: 'Services cannot be seen' },
      isAddressed
        ? { name: 'address', state: 'done', message: `address ${addresses.join(', ')}` }
        : needsAddress
          ? { name: 'address', state: 'open', message: 'waiting for its address' }
          : { name: 'address', state: 'skipped', message: 'no address, which is not waited for' },
    ],
    problems,
    notes: isAddressed ? [] : ['it has no address yet'],
  })
}

function backendWords(ingress: Ingress, seesServices: boolean): string {
  const backends = backendsOf(ingress).length
  if (backends === 0) return 'names no Service as its backend'
  if (!seesServices) return 'its backends cannot be seen'
  return backends === 1 ? 'its backend exists' : `its ${backends} backends exist`
}

function serviceRequest({ metadata: { namespace } }: KubeObject): WatchRequest {
  return { apiVersion: 'v1', kind: 'Service', ...(namespace === undefined ? {} : { namespace }) }
}

function backendsOf({ spec = {} }: Ingress): readonly IngressBackend[] {
  const paths = (spec.rules ?? []).flatMap(({ http }) => http?.paths ?? [])
  return [
    ...(spec.defaultBackend === undefined ? [] : [spec.defaultBackend]),
    ...paths.flatMap(({ backend }) => backend ?? []),
  ].filter(({ service }) => service !== undefined)
}

function missingWords(ingress: Ingress, { service: wanted }: IngressBackend, context: RuleContext): readonly string[] {
  const services = context.list('Service', ingress.metadata.namespace) as readonly Service[]
  const service = services.find(({ metadata }) => metadata.name === wanted?.name)
  if (service === undefined) return [`its backend service/${wanted?.name ?? ''} does not exist`]
  if (service.metadata.deletionTimestamp !== undefined)
    return [`its backend service/${service.metadata.name} is being deleted`]
  const { name, number } = wanted?.port ?? {}
  if (service.spec?.type === 'ExternalName' || (name === undefined && number === undefined)) return []
  const hasPort = (service.spec?.ports ?? []).some((port) =>
    name === undefined ? port.port === number : port.name === name,
  )
  return hasPort
    ? []
    : [`its backend service/${service.metadata.name} has no port ${name === undefined ? number : `named "${name}"`}`]
}
