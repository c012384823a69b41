import type { HintFacts, ReasonFamily, Sentence } from './spec.ts'
import { clause, predicate } from './spec.ts'
import { command, counted, described, nameOf } from './wording.ts'

/** Why a Service has no ready endpoint: the first answer that explains it. */
export type EndpointsFinding =
  /** Pods may not be read. */
  | { readonly type: 'pods-unreadable'; readonly endpoints: number }
  | { readonly type: 'no-pods'; readonly workloads: readonly { readonly name: string; readonly replicas?: number }[] }
  /** No container declares a port of this name; `declared`: what the pods declare instead, as `8080 ("http")`. */
  | { readonly type: 'port-name-missing'; readonly port: string; readonly declared: readonly string[] }
  /** Every pod has failed or is being deleted. */
  | { readonly type: 'pods-ended'; readonly pods: number; readonly areAllDeleted: boolean }
  | {
      readonly type: 'pods-not-ready'
      readonly pods: number
      /** Those of the revision that is gated; all, where no workload behind the Service is. */
      readonly newPods: number
      readonly isNoneScheduled?: boolean
      readonly isOldReady?: boolean
      /** The message of a pod's Ready condition, where no problem of a pod is known: `pod/web-x has …`. */
      readonly podMessage?: string
    }
  /** Pods are ready, and the endpoint controller has made no endpoint of them; `endpoints`: of other pods or ports. */
  | {
      readonly type: 'endpoints-not-made'
      readonly pods: number
      readonly newPods: number
      readonly readyPods: number
      readonly endpoints: number
    }

export interface NetworkDetails {
  readonly 'no-endpoints': {
    readonly finding: EndpointsFinding
    /** The ports without an endpoint, by name or number, where other ports have one. */
    readonly ports?: readonly (string | number)[]
  }
  readonly 'selector-matches-nothing': {
    readonly selector: string
    /** The labels most like the selector: of so many pods, or in the template of a workload. */
    readonly similar?: { readonly labels: string; readonly pods: number; readonly workload?: string }
  }
  readonly 'address-pending': { readonly isLoadBalancer: boolean }
  readonly 'backend-missing':
    | { readonly service: string; readonly state: 'missing' | 'terminating' }
    | { readonly service: string; readonly state: 'port-missing'; readonly port: string | number }
}

export const networkReasons: ReasonFamily<NetworkDetails> = {
  'no-endpoints': {
    class: 'slow',
    when: 'no endpoint behind the Service is ready',
    title: 'the Service has no ready endpoints',
    headline: ({ detail: { finding } }) =>
      'newPods' in finding && finding.newPods < finding.pods
        ? 'the Service has no ready endpoints of the new revision'
        : undefined,
    sentence: ({ detail: { finding, ports } }, cause) => {
      const { text, form } = endpointsSentence(finding, cause)
      return ports === undefined
        ? { text, form }
        : predicate(`has no ready endpoint for port ${ports.join(', ')}: ${text}`)
    },
    hint: endpointsHint,
    field: { object: ['spec', 'ports'] },
  },
  'selector-matches-nothing': {
    class: 'slow',
    when: "the Service's selector matches no pod",
    title: 'the selector matches no pods',
    sentence: ({ detail }) => clause(`its ${unmatchedSelector(detail)}`),
    hint: (s) =>
      `Correct spec.selector of the Service, or the labels in the pod template: ${command(s, 'get', 'pods', '--show-labels')}.`,
    field: { object: ['spec', 'selector'] },
  },
  'address-pending': {
    class: 'slow',
    when: 'the load balancer has no address yet',
    title: 'no address assigned yet',
    sentence: ({ detail }) => predicate(`has no ${detail.isLoadBalancer ? 'load balancer ' : ''}address yet`),
    hint: (s) =>
      `No controller has assigned an address yet; a cluster without a load balancer controller never assigns one. Its events: ${described(s)}.`,
  },
  'backend-missing': {
    class: 'slow',
    when: 'a Service or port that an Ingress or route names does not exist',
    title: 'a backend is missing',
    sentence: ({ detail }) => {
      const backend = `its backend service/${detail.service}`
      if (detail.state === 'port-missing') {
        const port = typeof detail.port === 'string' ? `named "${detail.port}"` : detail.port
        return clause(`${backend} has no port ${port}`)
      }
      return clause(`${backend} ${detail.state === 'missing' ? 'does not exist' : 'is being deleted'}`)
    },
    hint: () => 'Create the Service or port that the message names, or correct the reference.',
  },
}

/** `selector app=wbe matches no pod; 3 pods carry app=web` */
export function unmatchedSelector({ selector, similar }: NetworkDetails['selector-matches-nothing']): string {
  const words = `selector ${selector} matches no pod`
  if (similar === undefined) return words
  const { labels, pods, workload } = similar
  if (workload !== undefined) return `${words}; ${workload} makes pods with ${labels}`
  return `${words}; ${counted(pods, 'pod')} ${pods === 1 ? 'carries' : 'carry'} ${labels}`
}

function endpointsSentence(finding: EndpointsFinding, cause: string | undefined): Sentence {
  switch (finding.type) {
    case 'pods-unreadable':
      return predicate(`has ${counted(finding.endpoints, 'endpoint')}, none of them ready`)
    case 'no-pods':
      return predicate(`has no pods behind it: ${absentPods(finding)}`)
    case 'port-name-missing':
      return clause(missingPortName(finding))
    case 'pods-ended':
      return predicate(`selects ${counted(finding.pods, 'pod')}, ${endedPods(finding)}`)
    case 'pods-not-ready':
      return predicate(`${selectedPods(finding)}${unreadyPods(finding)}${cause === undefined ? '' : `: ${cause}`}`)
    case 'endpoints-not-made':
      return predicate(`${selectedPods(finding)}; ${unservedPods(finding)}`)
  }
}

/** The failed check of a finding: its sentence in the words of the check, with what the pods and endpoints are like. */
export function endpointsCheck(finding: EndpointsFinding, cause: string | undefined): string {
  switch (finding.type) {
    case 'pods-unreadable':
      return `it has ${counted(finding.endpoints, 'endpoint')}, none of them ready`
    case 'no-pods':
      return absentPods(finding)
    case 'port-name-missing': {
      const declared = finding.declared.length === 0 ? 'none' : finding.declared.join(' or ')
      return `${missingPortName(finding)}: they declare ${declared}`
    }
    case 'pods-ended':
      return `${endedPods(finding)}: none is left to serve`
    case 'pods-not-ready': {
      const none = finding.pods === 1 ? 'it is not' : 'none of them is'
      const why = cause === undefined ? '' : `: ${cause}`
      if (finding.isNoneScheduled) return `${none} scheduled to a node${why}`
      if (finding.isOldReady) return `only pods of an older revision are ready${why}`
      return `${none} ready${why || (finding.podMessage === undefined ? '' : `: ${finding.podMessage}`)}`
    }
    case 'endpoints-not-made': {
      const { endpoints } = finding
      const made =
        endpoints === 0 ? 'none was made' : `there are ${counted(endpoints, 'endpoint')}, of other pods or ports`
      return `${unservedPods(finding)}: ${made}`
    }
  }
}

type Finding<Type extends EndpointsFinding['type']> = EndpointsFinding & { readonly type: Type }

/** Why the workloads that a Service selects have no pods. */
function absentPods({ workloads }: Finding<'no-pods'>): string {
  return workloads
    .map(({ name, replicas }) => {
      if (replicas === 0) return `${name} is scaled to zero`
      return replicas === undefined ? `${name} has no pods` : `${name} wants ${counted(replicas, 'pod')} and has none`
    })
    .join(', ')
}

function missingPortName({ port }: Finding<'port-name-missing'>): string {
  return `no container of the pods that it selects has a port named "${port}"`
}

function endedPods({ areAllDeleted }: Finding<'pods-ended'>): string {
  return areAllDeleted ? 'all of them being deleted' : 'all of them failed or being deleted'
}

/** How many pods there are, and how many of them are of an older revision than the one that is gated. */
function selectedPods({ pods, newPods }: Finding<'pods-not-ready' | 'endpoints-not-made'>): string {
  const selects = `selects ${counted(pods, 'pod')}`
  if (newPods === pods) return selects
  if (newPods > 0) return `${selects}, ${pods - newPods} of them of an older revision`
  return pods === 1 ? `${selects}, of an older revision` : `${selects}, all of them of an older revision`
}

/** That none of the new pods is ready; old pods may be, and do not count. */
function unreadyPods({ pods, newPods }: Finding<'pods-not-ready'>): string {
  if (newPods === 0) return '; no new one is there yet'
  if (newPods < pods) return newPods === 1 ? ', the new one not ready' : ', none of the new ones ready'
  return pods === 1 ? ', which is not ready' : ', none of them ready'
}

function unservedPods({ readyPods }: Finding<'endpoints-not-made'>): string {
  return `no endpoint takes traffic to the ${readyPods === 1 ? 'ready pod' : `${readyPods} ready pods`} yet`
}

/** Why no pod behind a Service is ready: a port's name, or what is wrong with the pods. */
function endpointsHint(facts: HintFacts<NetworkDetails['no-endpoints']>): string {
  const finding = facts.problem?.detail.finding
  if (finding?.type === 'port-name-missing')
    return `Name the port "${finding.port}" in the container’s ports, or correct targetPort in ${nameOf(facts)}: by number it needs no name.`
  if (facts.cause !== undefined) return facts.cause.hint
  const { selector = {} } = (facts.object?.spec ?? {}) as { selector?: Record<string, string> }
  const labels = Object.entries(selector).map(([key, value]) => `${key}=${value}`)
  const selected = labels.length === 0 ? [] : ['-l', labels.join(',')]
  return `Look at the pods behind the Service: ${command(facts, 'describe', 'pods', ...selected)}.`
}
