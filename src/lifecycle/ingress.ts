import type { WatchRequest } from '../cluster/feed.ts'
import type { Ingress, IngressBackend, KubeObject, Service } from '../cluster/objects.ts'
import { milestonesOf } from '../plan/milestones.ts'
import type { Assessment, Problem } from './assessment.ts'
import { conclude, createdMilestone, type Rule } from './rule.ts'
import type { View } from './view.ts'

/**
 * An Ingress: https://kubernetes.io/docs/concepts/services-networking/ingress/
 *
 * Ready when the Services and ports of its backends exist. Many controllers never write an address, so a missing one is
 * told and not waited for.
 */
export const ingressRule: Rule = {
  milestones: milestonesOf({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' }),
  concernedBy: ['Service'],
  relatives: (object) => [serviceRequest(object)],
  assess: (object, view) => assessIngress(object as Ingress, view),
}

function assessIngress(ingress: Ingress, view: View): Assessment {
  const seesServices = view.knowledge(serviceRequest(ingress)) === 'complete'
  const missing = seesServices ? backendsOf(ingress).flatMap((backend) => missingWords(ingress, backend, view)) : []
  const addresses = (ingress.status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? [])
  const problems: readonly Problem[] = [...new Set(missing)].map((message) => ({
    reason: 'backend-missing',
    class: 'slow',
    subject: `ingress/${ingress.metadata.name}`,
    message,
    count: 1,
    firstSeenAt: view.history.firstSeenAt,
    proven: false,
  }))
  const backends = backendsOf(ingress).length
  return conclude(ingress, view, {
    ready: problems.length === 0,
    readyMessage: `${backends === 1 ? 'its backend exists' : `its ${backends} backends exist`}${addresses.length === 0 ? '' : `, address ${addresses.join(', ')}`}`,
    milestones: [
      createdMilestone,
      seesServices
        ? {
            name: 'backends',
            state: problems.length === 0 ? 'done' : 'open',
            message: problems[0]?.message ?? 'backends exist',
          }
        : { name: 'backends', state: 'skipped', message: 'Services cannot be seen' },
      addresses.length > 0
        ? { name: 'address', state: 'done', message: `address ${addresses.join(', ')}` }
        : { name: 'address', state: 'skipped', message: 'no address, which is not waited for' },
    ],
    problems,
    notes: addresses.length === 0 ? ['it has no address yet'] : [],
  })
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

function missingWords(ingress: Ingress, { service: wanted }: IngressBackend, view: View): readonly string[] {
  const services = view.list('Service', ingress.metadata.namespace) as readonly Service[]
  const service = services.find(({ metadata }) => metadata.name === wanted?.name)
  if (service === undefined) return [`its backend service/${wanted?.name ?? ''} does not exist`]
  const { name, number } = wanted?.port ?? {}
  if (service.spec?.type === 'ExternalName' || (name === undefined && number === undefined)) return []
  const hasPort = (service.spec?.ports ?? []).some((port) =>
    name === undefined ? port.port === number : port.name === name,
  )
  return hasPort
    ? []
    : [`its backend service/${service.metadata.name} has no port ${name === undefined ? number : `named "${name}"`}`]
}
