import { secretNames, type WatchRequest } from '../../cluster/feed.ts'
import type { Ingress } from '../../cluster/objects.ts'
import { messageOf, type Problem } from '../../reasons/reasons.ts'
import type { RuleReader } from '../reader.ts'
import type { Judgement, Rule } from '../rule.ts'
import { objectProblemFields } from '../status-problems.ts'
import { type Backend, backendProblems, loadBalancerAddresses, missingAddressReport } from './backend.ts'

/**
 * Judges Ingresses: https://kubernetes.io/docs/concepts/services-networking/ingress/
 *
 * An Ingress is ready when the Services and ports of its backends exist, and none of these Services is being deleted.
 * Many controllers never write an address, so the gate only reports a missing address. Exception: without permission to
 * read Services, the address is the only signal, so the gate waits for the address.
 */
export const ingressRule: Rule<Ingress> = {
  milestones: ['created', 'backends', 'address'],
  judge: judgeIngress,
}

function judgeIngress(ingress: Ingress, reader: RuleReader): Judgement {
  const backends = ingressBackends(ingress)
  const problems = backendProblems(ingress, backends, reader)
  const [first] = problems ?? []
  const addresses = loadBalancerAddresses(ingress)
  const needsAddress = problems === undefined && addresses.length === 0
  for (const problem of problems ?? []) reader.problem(problem)
  reader.milestone(
    problems === undefined
      ? { name: 'backends', state: 'skipped', message: 'Services cannot be read' }
      : first === undefined
        ? { name: 'backends', state: 'done', message: 'backends exist' }
        : { name: 'backends', state: 'open', message: messageOf(first) },
  )
  if (addresses.length > 0) {
    reader.milestone({ name: 'address', state: 'done', message: `address ${addresses.join(', ')}` })
  } else {
    const pending: Problem = {
      ...objectProblemFields(ingress, reader.history.firstSeenAt),
      reason: 'address-pending',
      detail: { isLoadBalancer: false, report: missingAddressReport(ingress, reader) },
    }
    if (needsAddress) reader.problem(pending)
    reader.note(`it ${messageOf(pending)}`)
    reader.milestone(
      needsAddress
        ? { name: 'address', state: 'open', message: 'waiting for its address' }
        : { name: 'address', state: 'skipped', message: 'no address, which is not awaited' },
    )
  }
  warnOfMissingObjects(ingress, reader)
  const address = addresses.length === 0 ? '' : `, address ${addresses.join(', ')}`
  return {
    ready: first === undefined && !needsAddress,
    message: `${backendsText(backends, problems !== undefined)}${address}`,
  }
}

function backendsText(backends: readonly Backend[], canReadServices: boolean): string {
  if (backends.length === 0) return 'names no Service as its backend'
  if (!canReadServices) return 'its backends cannot be read'
  return backends.length === 1 ? 'its backend exists' : `its ${backends.length} backends exist`
}

function ingressBackends({ spec = {} }: Ingress): readonly Backend[] {
  const paths = (spec.rules ?? []).flatMap(({ http }) => http?.paths ?? [])
  return [spec.defaultBackend, ...paths.map(({ backend }) => backend)].flatMap((backend) => {
    if (backend?.service === undefined) return []
    const { name: service = '', port } = backend.service
    // The load balancer controllers of AWS and Alibaba: the name is that of an action in an annotation.
    if (port?.name === 'use-annotation') return []
    return [{ service, port: port?.name ?? port?.number }]
  })
}

/**
 * Classes that Google Cloud serves without an IngressClass (kubernetes/ingress-gce, pkg/annotations). The annotation
 * `kubernetes.io/ingress.class` is not checked, because it never names an IngressClass.
 */
const servedWithoutObject = /^gce(-internal|-multi-cluster)?$/

/** Warns about a missing IngressClass or TLS Secret. The controller may be configured to work without them. */
function warnOfMissingObjects({ metadata: { namespace }, spec = {} }: Ingress, reader: RuleReader): void {
  const isMissing = (request: WatchRequest, name: string) => {
    const named = reader.list(request, ({ metadata }) => metadata.name === name, 'optional')
    return reader.listState(request) === 'complete' && named.length === 0
  }
  const { ingressClassName = '', tls = [] } = spec
  const classes = { apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass' }
  if (ingressClassName !== '' && !servedWithoutObject.test(ingressClassName) && isMissing(classes, ingressClassName))
    reader.warning(`no IngressClass is named ${ingressClassName}: most controllers ignore it`)
  for (const name of new Set(tls.flatMap(({ secretName }) => secretName || [])))
    if (isMissing({ ...secretNames, namespace, name }, name)) reader.warning(`its TLS Secret ${name} does not exist`)
}
