import type { PodSpec } from '../cluster/objects.ts'
import { clusterCommand, command, describedPod, type HintSubject, inNamespace, namedIn } from './hint-subject.ts'

const taintsCommand = clusterCommand('get', 'nodes', '-o', 'custom-columns=NODE:.metadata.name,TAINTS:.spec.taints')

/** What would let a node take the pod, for each reason that the scheduler gives. The words are those of `scheduling.ts`. */
export function schedulingHint(subject: HintSubject): string {
  const { message = '', detail } = subject.problem ?? {}
  if (detail?.schedulingGates !== undefined)
    return 'Scheduling gates are removed by whoever set them, most often the controller of a queue or a quota: check that it runs, and that there is room.'
  const advice = [...resourceAdvice(message, subject), ...selectorAdvice(message, subject), ...taintAdvice(message)]
  if (/is cordoned|are cordoned/.test(message))
    advice.push(
      `Nodes are cordoned: ${clusterCommand('get', 'nodes')} shows them, \`kubectl uncordon NODE\` opens one.`,
    )
  if (/unbound immediate PersistentVolumeClaims|persistentvolumeclaim/i.test(message))
    advice.push(`Its PersistentVolumeClaims have to be bound first: ${command(subject, 'get', 'pvc')}.`)
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

function resourceAdvice(message: string, { pod }: HintSubject): string[] {
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

function selectorAdvice(message: string, { pod }: HintSubject): string[] {
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

/** Which quota, and what of it. */
export function quotaHint(subject: HintSubject): string {
  const message = subject.problem?.message ?? ''
  const [, quota, wanted, used, limited] =
    /exceeded quota: (\S+), requested: (.+?), used: (.+?), limited: (.+?)(?:\.|$)/.exec(message) ?? []
  if (quota !== undefined) {
    const edit = command(subject, 'edit', `resourcequota/${quota}`)
    return `ResourceQuota ${quota} allows ${limited}, ${used} is used, and a new pod asks for ${wanted}: raise the quota (${edit}), or ask for less of it. An update needs room for old and new pods at once, unless maxSurge is 0.`
  }
  const [, demanding, demands] = /failed quota: (\S+): must specify (.+)$/.exec(message) ?? []
  if (demanding !== undefined)
    return `ResourceQuota ${demanding} wants every container to set ${demands}: set them under \`resources\`, or give the namespace a LimitRange with defaults.`
  return 'Raise the namespace’s ResourceQuota, or lower the pods’ requests, limits or number.'
}

/** Who denied, and what to change. */
export function denialHint(subject: HintSubject): string {
  const message = subject.problem?.message ?? ''
  const level = namedIn(message, /violates PodSecurity "([^":]+)/)
  if (level !== undefined)
    return `The namespace enforces the Pod Security standard "${level}": set in securityContext what the message lists, or relax the label pod-security.kubernetes.io/enforce of the namespace.`
  if (/(?:maximum|minimum|max limit to request ratio) .*per (?:Pod|Container) is/.test(message))
    return `A LimitRange${inNamespace(subject)} sets these bounds: change the pod’s \`resources\`, or the LimitRange (${command(subject, 'describe', 'limitrange')}).`
  const policy = namedIn(message, /ValidatingAdmissionPolicy '([^']+)'/)
  const webhook = namedIn(message, /admission webhook "([^"]+)"/)
  const who =
    policy !== undefined ? `the policy ${policy}` : webhook !== undefined ? `the webhook ${webhook}` : 'the policy'
  const wish = namedIn(message, /denied (?:the )?request(?: because)?: (.+?)\.?$/s)
  return `Change the pod template so that ${who} accepts it${wish === undefined ? '' : `: ${wish}`}.`
}

/** Anything else that keeps a controller from creating pods. */
export function creationHint(subject: HintSubject): string {
  const message = subject.problem?.message ?? ''
  const priority = namedIn(message, /no PriorityClass with name (\S+) was found/)
  if (priority !== undefined)
    return `Create PriorityClass ${priority}, or correct priorityClassName. ${clusterCommand('get', 'priorityclass')} lists what is there.`
  if (/ is invalid: /.test(message))
    return 'Correct the field of the pod template that the message names, and apply again.'
  return `The API server refuses the pods, and its message says why. ${describedPod(subject)} shows how often.`
}
