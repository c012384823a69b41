import type { PodSpec } from '../cluster/objects.ts'
import type { HintFacts, ReasonFamily } from './spec.ts'
import {
  clusterCommand,
  command,
  described,
  describedPod,
  imageLimit,
  namedIn,
  readLog,
  type TextDetail,
  textSentence,
} from './wording.ts'

const taintsCommand = clusterCommand('get', 'nodes', '-o', 'custom-columns=NODE:.metadata.name,TAINTS:.spec.taints')

export interface PodDetails {
  readonly unschedulable: TextDetail
  readonly 'volume-not-mounted': TextDetail
  readonly 'sandbox-failed': TextDetail
  readonly 'readiness-gate-pending': TextDetail
  readonly evicted: TextDetail
  readonly 'pod-failed': TextDetail
  readonly 'pod-stuck': TextDetail
}

export const podReasons: ReasonFamily<PodDetails> = {
  unschedulable: {
    class: 'slow',
    when: 'the scheduler found no node: one may come, or be freed',
    title: 'no node can take the pods',
    headline: ({ detail }, shorten, cause) => {
      if (detail.schedulingGates !== undefined) return 'the scheduling gates of the pods are not removed'
      return cause?.reason === 'claim-pending'
        ? `${shorten(cause.subject, imageLimit)}, which the pods need, is not bound`
        : undefined
    },
    sentence: textSentence,
    hint: (s) => (s.cause?.reason === 'claim-pending' ? s.cause.hint : schedulingHint(s)),
    field: { pod: ['spec'] },
  },
  'volume-not-mounted': {
    class: 'slow',
    when: 'the kubelet cannot mount or attach a volume, and tries again',
    title: 'a volume could not be mounted',
    sentence: textSentence,
    hint: (s) =>
      `The volume, or what it is made from, is missing or cannot be attached. Its events: ${describedPod(s)}.`,
    readsNode: true,
    field: { pod: ['spec', 'volumes'] },
  },
  'sandbox-failed': {
    class: 'slow',
    when: "the node cannot set up the pod's network, and tries again",
    title: 'the pod sandbox could not be created',
    sentence: textSentence,
    hint: (s) =>
      `The node cannot set up the pod's network: look at the network plugin on that node. Its events: ${describedPod(s)}.`,
    readsNode: true,
  },
  'readiness-gate-pending': {
    class: 'slow',
    when: 'the containers of a pod are ready, and the condition of one of its readiness gates is not True',
    title: 'a readiness gate of the pods is not open',
    sentence: textSentence,
    hint: (s) =>
      `Readiness gates are opened from outside the pod, most often by the controller of a load balancer: is it running, and does it know the pod? ${describedPod(s)}.`,
  },
  evicted: {
    class: 'terminal',
    when: 'the node evicted a pod that no controller replaces; slow where one does',
    title: 'pods were evicted',
    sentence: textSentence,
    hint: () => 'The node evicted the pod for the pressure that the message names. Set requests that fit what it uses.',
    readsNode: true,
  },
  'pod-failed': {
    class: 'terminal',
    when: 'a pod that no controller replaces has ended in failure; slow where one does, when the kubelet refused or ended it',
    title: 'a pod failed',
    sentence: textSentence,
    hint: (s) =>
      s.problem?.isReplaced
        ? `The message says why the node refuses or ends the pods; their controller makes others. Their events: ${described(s)}.`
        : endedHint(s),
    readsLogs: true,
    readsNode: true,
  },
  'pod-stuck': {
    class: 'slow',
    when: 'a pod that has to go first is still there after its grace period: its node may come back',
    title: 'a deleted pod is still there',
    sentence: textSentence,
    hint: (s) => {
      const about = s.problem?.subject ?? ''
      const force = about === '' ? '' : `: ${command(s, 'delete', about, '--force')}`
      const finalizers = namedIn(s.problem?.detail.text, /finalizers(?: hold it)?: (.+)$/)
      if (finalizers !== undefined) return finalizerAdvice(s, about, finalizers.split(', '))
      const node = s.pod?.spec?.nodeName
      const gone = node === undefined ? '' : ` (${clusterCommand('delete', 'node', node)})`
      return `Bring its node back, or delete the node if it is gone for good${gone}. Only where its containers surely run no more, delete the pod by force${force}.`
    },
  },
}

/** The pod as a whole has ended. */
export function endedHint(facts: HintFacts<TextDetail>): string {
  return `Nothing restarts the pod. ${facts.problem?.container === undefined ? `See how it ended: ${describedPod(facts)}.` : readLog(facts)}`
}

/** What would let a node take the pod, for each reason that the scheduler gives. The words are those of `scheduling.ts`. */
export function schedulingHint(facts: HintFacts<TextDetail>): string {
  const { text: message = '', schedulingGates } = facts.problem?.detail ?? {}
  if (schedulingGates !== undefined)
    return 'Scheduling gates are removed by whoever set them, most often the controller of a queue or a quota: check that it runs, and that there is room.'
  const advice = [...resourceAdvice(message, facts), ...selectorAdvice(message, facts), ...taintAdvice(message)]
  if (/is cordoned|are cordoned/.test(message))
    advice.push(
      `Nodes are cordoned: ${clusterCommand('get', 'nodes')} shows them, \`kubectl uncordon NODE\` opens one.`,
    )
  if (/unbound immediate PersistentVolumeClaims|persistentvolumeclaim/i.test(message))
    advice.push(`Its PersistentVolumeClaims have to be bound first: ${command(facts, 'get', 'pvc')}.`)
  if (/host port taken/.test(message))
    advice.push(
      'Another pod has the host port. If that is the old one, let it go first (strategy Recreate, or maxSurge 0 with maxUnavailable 1); if not, change hostPort, or do without it.',
    )
  if (/full of pods/.test(message)) advice.push('Add a node, or remove pods: a node takes only so many.')
  if (/topology spread|affinity between pods/.test(message))
    advice.push('Loosen its affinity or topology spread constraints, or add nodes that satisfy them.')
  return advice.length === 0
    ? 'Free or add capacity, or correct the pod’s requests, node selector, affinity or tolerations.'
    : advice.join(' ')
}

function resourceAdvice(message: string, { pod }: HintFacts<TextDetail>): string[] {
  return [...message.matchAll(/\black(?:s)? ([\w./-]+)/g)].map(([, resource = '']) => {
    const asked = requestsOf(pod?.spec, resource)
    const amount = asked === '' ? 'too much' : asked
    return `The pod asks for ${amount} ${resource}: lower \`resources.requests\`, or add a node with that much free (${clusterCommand('describe', 'nodes')} shows what is taken).`
  })
}

/** What its containers ask for of a resource: `500m + 100m`. */
function requestsOf(spec: PodSpec | undefined, resource: string): string {
  return (spec?.containers ?? []).flatMap(({ resources }) => resources?.requests?.[resource] ?? []).join(' + ')
}

function selectorAdvice(message: string, { pod }: HintFacts<TextDetail>): string[] {
  if (!/node selector or affinity/.test(message)) return []
  const spec = (pod?.spec ?? {}) as { nodeSelector?: Record<string, string>; affinity?: { nodeAffinity?: object } }
  const labels = Object.entries(spec.nodeSelector ?? {}).map(([key, value]) => `${key}=${value}`)
  const isSelected = labels.length > 0
  const both = isSelected && spec.affinity?.nodeAffinity !== undefined ? ' and its node affinity' : ''
  return isSelected
    ? [
        `The pod wants a node with the labels ${labels.join(', ')}${both}: correct nodeSelector, or label a node (${clusterCommand('label', 'node', 'NODE', ...labels)}).`,
      ]
    : [`Correct the pod’s node affinity, or label a node so that it matches.`]
}

/** Since Kubernetes 1.34 the scheduler does not say which taint. */
function taintAdvice(message: string): string[] {
  if (!/a taint that the pod does not tolerate/.test(message)) return []
  const taints = [...message.matchAll(/does not tolerate \(([^)]+)\)/g)].map(([, taint = '']) => taint)
  if (taints.length === 0)
    return [
      `Where a taint is in the way, tolerate it in the pod or remove it from the node: ${taintsCommand} lists them.`,
    ]
  return taints.map((taint) => {
    const [key = '', value] = taint.split('=')
    if (key.startsWith('node.kubernetes.io/'))
      return `A node is marked ${key.slice(19)}: ${clusterCommand('describe', 'nodes')}.`
    const toleration = value === undefined ? `{key: ${key}, operator: Exists}` : `{key: ${key}, value: ${value}}`
    return `Tolerate the taint ${taint} in the pod: \`tolerations: [${toleration.replaceAll('`', '')}]\`.`
  })
}

/** Finalizers that protect what is in use, or wait for what an object owns: nothing to take off by hand. */
const ofKubernetes = /^(?:foregroundDeletion|orphan|(?:[\w.-]+\.)?kubernetes\.io\/\S+)$/

/** What keeps a deleted object in the cluster, and how it goes. */
export function finalizerAdvice(facts: HintFacts<unknown>, about: string, finalizers: readonly string[]): string {
  const list = finalizers.join(', ')
  if (finalizers.every((each) => ofKubernetes.test(each)))
    return `Kubernetes takes ${list} off once nothing uses it any more, and what it owns is gone.`
  const force = command(facts, 'patch', about, '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]')
  return `The controller that set ${list} has to take it off: does that run? Only where it is gone for good, do so by hand: ${force}.`
}
