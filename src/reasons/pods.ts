import { subjectText } from '../cluster/objects.ts'
import { mountSentence } from './containers.ts'
import { clause, type HintWords, type Occurrence, type ReasonFamily } from './spec.ts'
import { clusterCommand, counted, type Exit, exitText, ifPresent, logHint } from './wording.ts'

/* The reason codes about pods as a whole, such as `unschedulable` and `evicted`: class, sentences and hint of each. */

const taintsCommand = clusterCommand('get', 'nodes', '-o', 'custom-columns=NODE:.metadata.name,TAINTS:.spec.taints')

/** Why a pod has no node: the pod has scheduling gates, its scheduler reports nothing, or no node fits. */
type UnschedulableDetail =
  | { readonly schedulingGates: readonly string[] }
  | { readonly scheduler: string }
  | FoundCauses

export interface FoundCauses {
  /** The number of nodes in the cluster; absent if the scheduler does not report it. */
  readonly nodes?: number
  readonly causes: readonly SchedulingCause[]
  /** The autoscaler's report why it adds no node. */
  readonly autoscaler?: string
}

/** Why nodes do not fit a pod. `nodes`: how many nodes; absent if the pod itself is the cause. */
export type SchedulingCause = { readonly nodes?: number } & (
  | { readonly type: 'resource'; readonly resource: string }
  | { readonly type: 'taint'; readonly key?: string; readonly value?: string }
  | { readonly type: 'pod-affinity'; readonly rule: string }
  | {
      readonly type:
        | 'pod-count'
        | 'cordoned'
        | 'node-selector'
        | 'topology-spread'
        | 'host-port'
        | 'volume-node'
        | 'volume-count'
        | 'volume-in-use'
    }
  | { readonly type: 'missing-claim'; readonly name: string }
  /** The scheduler's message. For a ResourceClaim, its controller may have written the message. */
  | { readonly type: 'unbound-claims' | 'claim' | 'resource-claim' | 'other'; readonly message: string }
)

interface EndedDetail {
  /** The reason in the status of the pod: `Evicted`, `NodeAffinity`. */
  readonly statusReason?: string
  readonly message: string
  /** How the failed container of the pod ended; absent if no container has failed. */
  readonly exit?: Exit & { readonly isOutOfMemory: boolean }
}

/**
 * Why a node does not run its pod. `silent`: its kubelet has not acknowledged the pod. `missing`: the node does not
 * exist either. `lost`: the node is marked as not ready.
 */
export type NodeState = 'silent' | 'missing' | 'lost'

const nodeSentences: Readonly<Record<NodeState, (node: string) => string>> = {
  silent: (node) => `was assigned to node ${node}, but its kubelet has not acknowledged the pod`,
  missing: (node) => `cannot start because its node ${node} does not exist`,
  lost: (node) => `is not ready because its node ${node} is not ready`,
}

export interface PodDetails {
  readonly unschedulable: UnschedulableDetail
  /** `isInUse`: the volume can be attached to one node only, and is attached to the node of another pod. */
  readonly 'volume-not-mounted': { readonly volume?: string; readonly message: string; readonly isInUse?: boolean }
  readonly 'devices-not-prepared': { readonly message: string }
  /**
   * `handler`: the handler of the pod's RuntimeClass, if the container runtime of the node lacks it. `isOfRuntime`: the
   * kubelet or the container runtime has failed, not the network.
   */
  readonly 'sandbox-failed': { readonly message: string; readonly handler?: string; readonly isOfRuntime?: boolean }
  /** The readiness gates that are not True. Their controllers may report no reason and message. */
  readonly 'readiness-gate-pending': { readonly gates: readonly (PodReport & { readonly type: string })[] }
  readonly 'node-unresponsive': { readonly node: string; readonly state: NodeState }
  readonly evicted: EndedDetail
  readonly 'pod-failed': EndedDetail
  /** The state of the first waiting container, and the newest Warning event. */
  readonly 'pod-waiting': { readonly container?: string; readonly waiting?: PodReport; readonly warning?: PodReport }
  readonly 'pod-stuck': { readonly finalizers: readonly string[]; readonly node?: string }
}

/** The reason and message of a state or an event, as the cluster reports them. */
export interface PodReport {
  readonly reason: string
  readonly message: string
}

export const podReasons: ReasonFamily<PodDetails> = {
  unschedulable: {
    class: 'slow',
    awaits: 'node',
    title: 'the pods have no node',
    headline: (_, { cause }, title) => ifPresent`${cause?.headline}` || title,
    sentence: (detail, { cause }) => {
      if ('schedulingGates' in detail) {
        const [which, verb] = detail.schedulingGates.length === 1 ? ['gate', 'is'] : ['gates', 'are']
        return `cannot be scheduled before its scheduling ${which} ${detail.schedulingGates.join(', ')} ${verb} removed`
      }
      if ('scheduler' in detail) return `has no node, and its scheduler ${detail.scheduler} does not report why`
      const refusal = ifPresent`; its autoscaler adds no node: ${detail.autoscaler}`
      return `cannot be scheduled: ${schedulingText(detail)}${ifPresent`: ${cause?.sentence}`}${refusal}`
    },
    hint: (detail, words) => words.cause?.hint ?? schedulingHint(detail, words),
    field: { pod: ['spec'] },
  },
  'volume-not-mounted': {
    class: 'slow',
    awaits: 'volume',
    title: '{a volume} could not be mounted',
    sentence: ({ volume, message }) => mountSentence(volume, message),
    hint: ({ isInUse }, { describePod }) =>
      isInUse
        ? `The volume is attached to the node of another pod, and can be attached to one node only. ${oldPodFirst}`
        : `The volume, or what it is made from, is missing or cannot be attached. Its events: ${describePod}.`,
    isOfNode: true,
    field: { pod: ['spec', 'volumes'] },
  },
  'devices-not-prepared': {
    class: 'slow',
    title: 'the devices of the pods could not be prepared',
    sentence: ({ message }) => clause(`the devices of its ResourceClaims cannot be prepared: ${message}`),
    hint: (_, { describePod }) =>
      `Check that the DRA driver of the devices runs on the node of the pod. The events of the pod: ${describePod}.`,
    isOfNode: true,
    field: { pod: ['spec', 'resourceClaims'] },
  },
  'sandbox-failed': {
    class: 'slow',
    isOutsideTemplate: true,
    title: 'the pod sandbox could not be created',
    sentence: ({ message, handler, isOfRuntime }) =>
      clause(`no ${handler === undefined && !isOfRuntime ? 'network sandbox' : 'sandbox'}: ${message}`),
    hint: ({ handler, isOfRuntime }, { describePod }) =>
      isOfRuntime
        ? `Look at the kubelet and the container runtime on the node of the pod. The events of the pod: ${describePod}.`
        : handler === undefined
          ? `The node cannot set up the pod's network: look at the network plugin on that node. Its events: ${describePod}.`
          : `The container runtime of the node has no handler ${handler}: correct runtimeClassName, or run the pod on nodes that have it.`,
    isOfNode: true,
  },
  'readiness-gate-pending': {
    class: 'slow',
    awaits: 'time',
    title: 'a readiness gate of the pods is not True',
    sentence: ({ gates }) => {
      const [gate, is] = gates.length === 1 ? ['gate', 'is'] : ['gates', 'are']
      const reports = gates.map(reportText).filter((each) => each !== '')
      return `runs, but its readiness ${gate} ${gates.map(({ type }) => type).join(', ')} ${is} not True yet${ifPresent`: ${reports.join('; ')}`}`
    },
    hint: (_, { describePod }) =>
      `A controller outside the pod sets readiness gates, most often that of a load balancer. Check that it runs, and correct what it checks, for example path and port: ${describePod}.`,
  },
  'node-unresponsive': {
    node: ({ node, state }) => ({ name: node, isLost: state === 'lost' }),
    class: 'slow',
    isOutsideTemplate: true,
    awaits: 'time',
    title: '{a node} is missing or does not respond',
    sentence: ({ node, state }) => nodeSentences[state](node),
    hint: ({ node = 'NODE', state }) => {
      if (state === 'missing')
        return `If the manifest sets \`nodeName\`, remove it, so that the scheduler chooses a node, or correct it: ${clusterCommand('get', 'nodes')}. If the node was deleted, the pod garbage collector deletes the pod in about a minute, and its controller creates another.`
      return `The kubelet of node ${node} does not respond. Check the node: ${clusterCommand('describe', 'node', node)}. If it will not come back, delete it (${clusterCommand('delete', 'node', node)}), so that its pods are created elsewhere.`
    },
    isOfNode: true,
  },
  'pod-waiting': {
    class: 'slow',
    title: 'a pod is not ready',
    sentence: ({ container, waiting, warning }) => {
      const state = waiting === undefined ? '' : `: container ${container} waits (${reportText(waiting)})`
      return `is not ready${state}${ifPresent`; its newest Warning is ${warning && reportText(warning)}`}`
    },
    hint: (_, { describePod }) => `See its events: ${describePod}.`,
    isOfNode: true,
  },
  evicted: {
    class: 'terminal',
    isOutsideTemplate: true,
    title: 'pods were evicted',
    sentence: (detail, problem) => endedPodSentence('was evicted', detail.message, detail, problem),
    hint: () =>
      'The message contains why the node evicted the pod. If a resource ran low, set requests that cover what the pod uses.',
    isOfNode: true,
  },
  'pod-failed': {
    class: 'terminal',
    title: 'a pod failed',
    sentence: (detail, problem) => endedPodSentence('failed', statusText(detail), detail, problem),
    hint: (_, words) => {
      const { problem, describePod, describeTarget } = words
      return problem?.isReplaced
        ? `The message contains why the node refuses or ends the pods; their controller creates others. Their events: ${describeTarget}.`
        : `Nothing restarts the pod. ${problem?.container === undefined ? `See how it ended: ${describePod}.` : logHint(words)}`
    },
    isOfNode: true,
  },
  'pod-stuck': {
    class: 'slow',
    isOutsideTemplate: true,
    title: 'a deleted pod still exists',
    sentence: ({ finalizers, node }) => {
      const why =
        finalizers.length > 0
          ? `its finalizers hold it: ${finalizers.join(', ')}`
          : node === undefined
            ? 'nothing has ended it'
            : `its node ${node} has not stopped it`
      return `still exists after its grace period, and blocks the others: ${why}`
    },
    hint: ({ finalizers = [] }, words) => {
      const { problem, command } = words
      const about = problem === undefined ? '' : subjectText(problem.subject)
      if (finalizers.length > 0) return finalizerAdvice(words, about, finalizers)
      const force = about === '' ? '' : `: ${command('delete', about, '--force')}`
      return `Bring its node back, or delete the node if it will not come back. Only if you are certain that its containers no longer run, delete the pod by force${force}.`
    },
  },
}

/** `of 3 nodes, 2 lack cpu, 1 is cordoned`, `the only node lacks cpu`. */
function schedulingText({
  nodes,
  causes,
}: {
  readonly nodes?: number
  readonly causes: readonly SchedulingCause[]
}): string {
  const [first, ...others] = causes
  if (nodes === 1 && first?.nodes === 1 && others.length === 0 && !('message' in first))
    return `the only node ${causeText(first)}`
  const of = nodes === undefined ? '' : `of ${counted(nodes, 'node')}, `
  return of + causes.map((each) => ifPresent`${each.nodes} ` + causeText(each)).join(', ')
}

/** The cause for one node (`lacks cpu`) or several nodes (`lack cpu`). */
function causeText(cause: SchedulingCause): string {
  const [has, is, does, lacks] = cause.nodes === 1 ? ['has', 'is', 'does', 'lacks'] : ['have', 'are', 'do', 'lack']
  switch (cause.type) {
    case 'resource':
      return `${lacks} ${cause.resource}`
    case 'pod-count':
      return `${is} full of pods`
    case 'taint': {
      const taint = cause.value === undefined ? cause.key : `${cause.key}=${cause.value}`
      return `${has} a taint that the pod does not tolerate${ifPresent` (${taint})`}`
    }
    case 'cordoned':
      return `${is} cordoned`
    case 'node-selector':
      return `${does} not match its node selector or affinity`
    case 'pod-affinity':
      return `${does} not match the ${cause.rule} between pods`
    case 'topology-spread':
      return `${does} not match its topology spread constraints`
    case 'host-port':
      return `${has} the host port taken`
    case 'volume-node':
      return 'cannot reach its volume'
    case 'volume-count':
      return `${has} no room for another volume`
    case 'volume-in-use':
      return `${has} its ReadWriteOncePod claim in use by another pod`
    case 'missing-claim':
      return `persistentvolumeclaim/${cause.name} does not exist`
    default:
      return cause.message
  }
}

function reportText({ reason, message }: PodReport): string {
  return [reason, message].filter((each) => each !== '').join(': ')
}

/** The sentence about a pod that has ended. `count`: how many pods the controller has replaced so far. */
function endedPodSentence(verb: string, why: string, detail: EndedDetail, { isReplaced, count }: Occurrence): string {
  if (isReplaced) {
    const pods = count > 1 ? ` (${count} pods so far)` : ''
    return `${verb} and is replaced${pods}${ifPresent`: ${why}`}`
  }
  const { exit } = detail
  if (exit === undefined) return `failed${ifPresent`: ${statusText(detail)}`}`
  const how = exit.isOutOfMemory ? 'was killed for using too much memory' : exitText(exit)
  return `${how}, and nothing restarts it`
}

/** The reason and the message in the status of a pod that has ended. */
function statusText({ statusReason = '', message }: EndedDetail): string {
  return reportText({ reason: statusReason, message })
}

/** In a rolling update, an old pod may use a volume or port that the new pod needs. */
const oldPodFirst = 'If it is the old pod, let it end first (strategy Recreate, or maxSurge 0 with maxUnavailable 1).'

/** The hint for each cause. */
const schedulingAdvice: Readonly<Partial<Record<SchedulingCause['type'], (words: HintWords) => string>>> = {
  resource: () =>
    `Lower \`resources.requests\`, or add a node with enough free resources: ${clusterCommand('describe', 'nodes')} shows what is in use.`,
  'node-selector': () =>
    `Correct the nodeSelector or the node affinity of the pod, or label a node: ${clusterCommand('get', 'nodes', '--show-labels')}.`,
  taint: () =>
    `If a taint excludes the pod, tolerate it in the pod, or end its cause on the node: ${taintsCommand} lists the taints.`,
  cordoned: () =>
    `Nodes are cordoned: ${clusterCommand('get', 'nodes')} shows them, \`kubectl uncordon NODE\` allows pods on one again.`,
  'missing-claim': ({ command }) =>
    `Create the claim, or correct claimName: ${command('get', 'pvc')} lists what is there.`,
  'unbound-claims': claimAdvice,
  claim: claimAdvice,
  'resource-claim': ({ command }) =>
    `Its ResourceClaims must exist, and the nodes must have free devices for them: ${command('get', 'resourceclaims,resourceclaimtemplates')}.`,
  'host-port': () => `Another pod has the host port. ${oldPodFirst} Otherwise change hostPort, or remove it.`,
  'volume-node': () =>
    'Its volume can be reached from other nodes only: free room there, or give the pod another volume.',
  'volume-in-use': () => `Another pod uses the claim. ${oldPodFirst}`,
  'pod-count': () => 'Add a node, or remove pods: each node has a maximum number of pods.',
  'topology-spread': () => 'Loosen its topology spread constraints, or add nodes that satisfy them.',
  'pod-affinity': () =>
    `Loosen its affinity to other pods, or add nodes that satisfy it. If another pod excludes it from a node: ${oldPodFirst}`,
}

function claimAdvice({ command }: HintWords): string {
  return `Its PersistentVolumeClaims have to be bound first: ${command('get', 'pvc')}.`
}

/** Hint for a pod without a node: advice for each cause. */
function schedulingHint(detail: Partial<UnschedulableDetail>, words: HintWords): string {
  if ('schedulingGates' in detail)
    return 'The controller that set the scheduling gates must remove them, most often that of a queue or a quota: check that it runs, and that the queue has room.'
  if ('scheduler' in detail)
    return `Does a scheduler named ${detail.scheduler} run in the cluster? If not, start it, or correct \`schedulerName\`.`
  const { causes = [], autoscaler } = detail as Partial<FoundCauses>
  const ofAutoscaler =
    'Raise the limit of the autoscaler, or change what it reports as incompatible: it adds no node for this pod.'
  const advice = [
    ...(autoscaler === undefined ? [] : [ofAutoscaler]),
    ...causes.flatMap(({ type }) => schedulingAdvice[type]?.(words) ?? []),
  ]
  return advice.length === 0
    ? 'Free or add capacity, or correct the pod’s requests, node selector, affinity or tolerations.'
    : [...new Set(advice)].join(' ')
}

/** Finalizers of Kubernetes itself protect used objects or wait for dependents: users should not remove them. */
const kubernetesFinalizers = /^(?:foregroundDeletion|orphan|(?:[\w.-]+\.)?kubernetes\.io\/\S+)$/

/** How to remove the finalizers of a deleted object. @param about the object as kubectl names it */
export function finalizerAdvice({ command }: HintWords, about: string, finalizers: readonly string[]): string {
  const names = finalizers.join(', ')
  if (finalizers.every((each) => kubernetesFinalizers.test(each)))
    return `Kubernetes removes ${names} once nothing uses the object, and its dependents are gone.`
  const force = command('patch', about, '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]')
  return `The controller that set ${names} must remove it: check that it runs. Only if that controller no longer exists, remove it by hand: ${force}.`
}
