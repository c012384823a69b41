import type { HintFacts, ReasonFamily } from './spec.ts'
import { command, described, fromWords, namedIn, nameOf, type TextDetail, textSentence } from './wording.ts'

export interface NetworkDetails {
  readonly 'no-endpoints': TextDetail
  readonly 'selector-matches-nothing': TextDetail
  readonly 'address-pending': TextDetail
  readonly 'backend-missing': TextDetail
}

export const networkReasons: ReasonFamily<NetworkDetails> = {
  'no-endpoints': {
    class: 'slow',
    when: 'no endpoint behind the Service is ready',
    title: 'the Service has no ready endpoints',
    headline: fromWords([[/of an older revision/, 'the Service has no ready endpoints of the new revision']]),
    sentence: textSentence,
    hint: endpointsHint,
    field: { object: ['spec', 'ports'] },
  },
  'selector-matches-nothing': {
    class: 'slow',
    when: "the Service's selector matches no pod",
    title: 'the selector matches no pods',
    sentence: textSentence,
    hint: (s) =>
      `Correct spec.selector of the Service, or the labels in the pod template: ${command(s, 'get', 'pods', '--show-labels')}.`,
    field: { object: ['spec', 'selector'] },
  },
  'address-pending': {
    class: 'slow',
    when: 'the load balancer has no address yet',
    title: 'no address assigned yet',
    sentence: textSentence,
    hint: (s) =>
      `No controller has given it an address yet; a cluster without one for load balancers never will. Its events: ${described(s)}.`,
  },
  'backend-missing': {
    class: 'slow',
    when: 'a Service or port that an Ingress or route names does not exist',
    title: 'a backend is missing',
    sentence: textSentence,
    hint: () => 'Create the Service or port that the message names, or correct the reference.',
  },
}
/** Why no pod behind a Service is ready: a port's name, or what is wrong with the pods. */
function endpointsHint(facts: HintFacts<TextDetail>): string {
  const port = namedIn(facts.problem?.detail.text, /port named "([^"]+)"/)
  if (port !== undefined)
    return `Name the port "${port}" in the container’s ports, or correct targetPort in ${nameOf(facts)}: by number it needs no name.`
  if (facts.cause !== undefined) return facts.cause.hint
  const { selector = {} } = (facts.object?.spec ?? {}) as { selector?: Record<string, string> }
  const labels = Object.entries(selector).map(([key, value]) => `${key}=${value}`)
  const selected = labels.length === 0 ? [] : ['-l', labels.join(',')]
  return `Look at the pods behind the Service: ${command(facts, 'describe', 'pods', ...selected)}.`
}
