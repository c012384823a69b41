import { clause, type HintWords, type ReasonFamily, type Sentence } from './spec.ts'
import { counted, ifPresent, labelsText } from './wording.ts'

/* The reason codes about Services, routes and addresses, such as `no-endpoints`: class, sentences and hint of each. */

/** The number of pods that a Service selects. Pods that have ended do not count. */
interface PodCounts {
  readonly pods: number
  /** The number of pods of the gated revision; equal to `pods` if no gated workload owns them. */
  readonly newPods: number
}

/** Why a Service has no ready endpoint. */
type EndpointsFinding =
  /** Pods cannot be read. */
  | { readonly type: 'pods-unreadable'; readonly endpoints: number }
  | { readonly type: 'no-pods'; readonly workloads: readonly { readonly name: string; readonly replicas?: number }[] }
  /** No container declares a port with this name. `declared`: the ports that the pods declare: `8080 (http)`. */
  | { readonly type: 'port-name-missing'; readonly port: string; readonly declared: readonly string[] }
  /** Every pod has failed or is being deleted. */
  | { readonly type: 'pods-ended'; readonly pods: number }
  | ({ readonly type: 'pods-not-ready' } & PodCounts)
  /** Pods are ready, but the endpoint controller has made no endpoints for them. */
  | ({ readonly type: 'endpoints-not-made'; readonly readyPods: number } & PodCounts)

/** The addresses of a load balancer that has none of the requested addresses. */
interface OtherAddress {
  readonly has: readonly string[]
  readonly requested: readonly string[]
}

export interface NetworkDetails {
  readonly 'no-endpoints': {
    readonly finding: EndpointsFinding
    /** The ports without an endpoint, by name or number; absent if no port has an endpoint. */
    readonly ports?: readonly (string | number)[]
  }
  readonly 'selector-matches-nothing': {
    readonly selector: string
    /** The labels that pods and pod templates have for the selector's keys, the most common first. */
    readonly present: readonly string[]
  }
  readonly 'address-pending': {
    readonly isLoadBalancer: boolean
    readonly other?: OtherAddress | undefined
    /** The controller's newest Warning, which contains why it assigns no address. */
    readonly report?: string | undefined
  }
  readonly 'backend-missing':
    | { readonly service: string; readonly state: 'missing' | 'terminating' }
    | { readonly service: string; readonly state: 'port-missing'; readonly port: string | number }
}

export const networkReasons: ReasonFamily<NetworkDetails> = {
  'no-endpoints': {
    class: 'slow',
    yieldsTo: 'awaited',
    title: 'the Service has no ready endpoints',
    headline: ({ finding }, _, title) =>
      'newPods' in finding && finding.newPods < finding.pods ? `${title} of the new revision` : title,
    sentence: ({ finding, ports }, { cause }) => {
      const sentence = endpointsSentence(finding, cause?.sentence)
      if (ports === undefined) return sentence
      return `has no ready endpoint for port ${ports.join(', ')}: ${typeof sentence === 'string' ? sentence : sentence.text}`
    },
    hint: endpointsHint,
    isUnaffectedByOthers: ({ finding: { type } }) => type === 'port-name-missing' || type === 'endpoints-not-made',
    field: { object: ['spec', 'ports'] },
  },
  'selector-matches-nothing': {
    class: 'slow',
    title: 'the selector matches no pods',
    sentence: ({ selector, present }) => {
      const text = `its selector ${selector} matches no pod`
      const shown = present.slice(0, 3).join(' or ')
      const more = present.length > 3 ? ' or others' : ''
      return clause(shown === '' ? text : `${text}; pods and templates have ${shown}${more}`)
    },
    hint: (_, { command }) =>
      `Correct spec.selector of the Service, or the labels in the pod template: ${command('get', 'pods', '--show-labels')}.`,
    field: { object: ['spec', 'selector'] },
  },
  'address-pending': {
    class: 'slow',
    title: 'the requested address is not assigned yet',
    sentence: ({ isLoadBalancer, other, report }) => {
      const state =
        other === undefined
          ? `has no ${isLoadBalancer ? 'load balancer ' : ''}address yet`
          : `has the address ${otherAddressText(other)}`
      return `${state}${ifPresent`: ${report}`}`
    },
    hint: ({ report, other }, { describeTarget }) =>
      report !== undefined
        ? `The message is that of the controller that assigns the address: correct what it contains. The controller tries again by itself.`
        : other
          ? `The load balancer has another address than the Service requests: it may be in use, or the load balancer ignores the request. The events of the Service: ${describeTarget}.`
          : `No controller has assigned an address yet; a cluster without a load balancer controller never assigns one. Its events: ${describeTarget}.`,
  },
  'backend-missing': {
    class: 'slow',
    title: 'a backend is missing',
    sentence: (detail) => {
      const backend = `its backend service/${detail.service}`
      if (detail.state === 'port-missing') {
        const port = typeof detail.port === 'string' ? `named "${detail.port}"` : detail.port
        return clause(`${backend} has no port ${port}`)
      }
      return clause(`${backend} ${detail.state === 'missing' ? 'does not exist' : 'is being deleted'}`)
    },
    hint: () => 'Create the Service or port that the message names, or correct the reference.',
    otherSubjects: ({ service, state }, { subject: { namespace } }) =>
      state === 'port-missing' ? [] : [{ group: '', kind: 'Service', namespace, name: service }],
  },
}

/** `192.0.2.1, and not 192.0.2.7 as requested` */
export function otherAddressText({ has, requested }: OtherAddress): string {
  return `${has.join(', ')}, and not ${requested.join(' or ')} as requested`
}

/** The sentence about a Service without ready endpoints. */
function endpointsSentence(finding: EndpointsFinding, cause: string | undefined): string | Sentence {
  switch (finding.type) {
    case 'pods-unreadable':
      return `has ${counted(finding.endpoints, 'endpoint')}, none of them ready`
    case 'no-pods':
      return `has no pods behind it: ${finding.workloads.map(noPodsText).join(', ')}`
    case 'port-name-missing': {
      const declared = finding.declared.join(' or ')
      const text = `no container of the pods that it selects has a port named "${finding.port}"`
      return clause(declared === '' ? text : `${text}: they declare ${declared}`)
    }
    case 'pods-ended':
      return `selects ${counted(finding.pods, 'pod')}, all of them failed or being deleted`
    case 'pods-not-ready':
      return `${selectedPodsText(finding)}${unreadyPodsText(finding)}${ifPresent`: ${cause}`}`
    case 'endpoints-not-made': {
      const ready = finding.readyPods === 1 ? 'the ready pod' : `the ${finding.readyPods} ready pods`
      return `${selectedPodsText(finding)}; no endpoint takes traffic to ${ready} yet`
    }
  }
}

/** Why the Service has no pods from this workload: it is scaled to zero, or its pods are missing. */
function noPodsText({ name, replicas }: { readonly name: string; readonly replicas?: number }): string {
  if (replicas === 0) return `${name} is scaled to zero`
  return replicas === undefined ? `${name} has no pods` : `${name} should have ${counted(replicas, 'pod')} and has none`
}

/** The number of selected pods, and how many of them are of an older revision. */
function selectedPodsText({ pods, newPods }: PodCounts): string {
  const selects = `selects ${counted(pods, 'pod')}`
  if (newPods === pods) return selects
  if (newPods > 0) return `${selects}, ${pods - newPods} of them of an older revision`
  return pods === 1 ? `${selects}, of an older revision` : `${selects}, all of them of an older revision`
}

/** That none of the new pods is ready: the end of the sentence that `selectedPodsText` begins. */
function unreadyPodsText({ pods, newPods }: PodCounts): string {
  if (newPods === 0) return '; no new one is there yet'
  if (newPods < pods) return newPods === 1 ? ', the new one not ready' : ', none of the new ones ready'
  return pods === 1 ? ', which is not ready' : ', none of them ready'
}

/** Hint for a Service without ready endpoints: add the missing port name, solve the cause, or look at the pods. */
function endpointsHint(
  { finding }: Partial<NetworkDetails['no-endpoints']>,
  { name, cause, object, command }: HintWords,
): string {
  if (finding?.type === 'port-name-missing')
    return `Add the name "${finding.port}" to a port of the container, or correct targetPort in ${name}: a port number needs no name.`
  if (cause !== undefined) return cause.hint
  const { selector = {} } = (object?.spec ?? {}) as { selector?: Record<string, string> }
  const labels = labelsText(selector)
  const selected = labels === '' ? [] : ['-l', labels]
  return `Look at the pods behind the Service: ${command('describe', 'pods', ...selected)}.`
}
