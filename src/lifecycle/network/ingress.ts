import { secretNames, type WatchRequest } from '../../cluster/feed.ts'
import type { Ingress } from '../../cluster/objects.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { Reader, RuleReader } from '../reader.ts'
import type { Judgement, Rule } from '../rule.ts'
import { ownProblem } from '../status-problems.ts'
import { addressesOf, addressReport, type Backend, missingBackends, servicesRequest } from './backend.ts'

/**
 * An Ingress: https://kubernetes.io/docs/concepts/services-networking/ingress/
 *
 * Ready when the Services and ports of its backends exist, and no Service is being deleted. Many controllers never write an
 * address, so a missing address is reported and the gate does not wait for it. Exception: without permission to read
 * Services, the address is the only signal, so the gate waits for it.
 */
export const ingressRule: Rule<Ingress> = {
  milestones: ['created', 'backends', 'address'],
  judge: judgeIngress,
}

function judgeIngress(ingress: Ingress, reader: RuleReader): Judgement {
  const canReadServices = reader.watch(servicesRequest(ingress)) === 'complete'
  const missing = canReadServices ? missingBackends(ingress, backendsOf(ingress), reader) : []
  const addresses = addressesOf(ingress)
  const isAddressed = addresses.length > 0
  const needsAddress = !canReadServices && !isAddressed
  const own = ownProblem(ingress, reader.history.firstSeenAt)
  const problems = missing.map((detail): Problem => ({ ...own, reason: 'backend-missing', detail }))
  for (const problem of problems) reader.problem(problem)
  reader.milestone(
    canReadServices
      ? {
          name: 'backends',
          state: problems.length === 0 ? 'done' : 'open',
          message: problems[0] === undefined ? 'backends exist' : messageOf(problems[0]),
        }
      : { name: 'backends', state: 'skipped', message: 'Services cannot be read' },
  )
  if (isAddressed) {
    reader.milestone({ name: 'address', state: 'done', message: `address ${addresses.join(', ')}` })
  } else {
    const report = addressReport(ingress, reader)
    const pending: Problem = { ...own, reason: 'address-pending', detail: { isLoadBalancer: false, report } }
    if (needsAddress) reader.problem(pending)
    reader.note(`it ${messageOf(pending)}`)
    reader.milestone(
      needsAddress
        ? { name: 'address', state: 'open', message: 'waiting for its address' }
        : { name: 'address', state: 'skipped', message: 'no address, which is not awaited' },
    )
  }
  for (const text of warningsOf(ingress, reader)) reader.warning(text)
  const address = addresses.length === 0 ? '' : `, address ${addresses.join(', ')}`
  return {
    ready: problems.length === 0 && !needsAddress,
    message: `${backendsMessage(ingress, canReadServices)}${address}`,
  }
}

function backendsMessage(ingress: Ingress, canReadServices: boolean): string {
  const backends = backendsOf(ingress).length
  if (backends === 0) return 'names no Service as its backend'
  if (!canReadServices) return 'its backends cannot be read'
  return backends === 1 ? 'its backend exists' : `its ${backends} backends exist`
}

function backendsOf({ spec = {} }: Ingress): readonly Backend[] {
  const paths = (spec.rules ?? []).flatMap(({ http }) => http?.paths ?? [])
  return [spec.defaultBackend, ...paths.map(({ backend }) => backend)].flatMap((backend) => {
    if (backend?.service === undefined) return []
    const { name: service = '', port } = backend.service
    return [{ service, port: port?.name ?? port?.number }]
  })
}

/**
 * The classes that Google Cloud serves without an IngressClass (kubernetes/ingress-gce, pkg/annotations). The annotation
 * `kubernetes.io/ingress.class` names the class of a controller, and never an IngressClass.
 */
const servedWithoutObject = /^gce(-internal|-multi-cluster)?$/

function classRequests({ spec: { ingressClassName = '' } = {} }: Ingress): readonly WatchRequest[] {
  return ingressClassName === '' || servedWithoutObject.test(ingressClassName)
    ? []
    : [{ apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass' }]
}

function tlsRequests({ metadata: { namespace }, spec: { tls = [] } = {} }: Ingress): readonly WatchRequest[] {
  const names = new Set(tls.flatMap(({ secretName = '' }) => (secretName === '' ? [] : secretName)))
  return [...names].map((name) => ({ ...secretNames, namespace, name }))
}

/** What the Ingress names although it does not exist. Its controller may be configured to work without it. */
function warningsOf(ingress: Ingress, reader: Reader): readonly string[] {
  const isMissing = (request: WatchRequest, name: string | undefined) =>
    reader.known(request, ({ metadata }) => metadata.name === name).length === 0
  const isListed = (request: WatchRequest) => reader.watch(request, 'optional') === 'complete'
  const { ingressClassName } = ingress.spec ?? {}
  const classes = classRequests(ingress).filter((each) => isListed(each) && isMissing(each, ingressClassName))
  const secrets = tlsRequests(ingress).filter((each) => isListed(each) && isMissing(each, each.name))
  return [
    ...classes.map(() => `no IngressClass is named ${ingressClassName}: most controllers ignore it`),
    ...secrets.map(({ name }) => `its TLS Secret ${name} does not exist`),
  ]
}
