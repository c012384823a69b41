import { byLastOccurrence, lastOccurrence } from '../cluster/event-order.ts'
import type { Failure } from '../cluster/feed.ts'
import type { EventObject, KubeObject, Node } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { Evidence } from '../gate/timeline.ts'
import { concernsContainer, eventCount } from '../lifecycle/workloads/pod-object.ts'
import type { Target } from '../plan/target.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { TargetFacts } from './target-facts.ts'

/** More events would hide the cause. */
const maxEvents = 20
/** Older events do not explain the state at the gate's start. */
const eventsBeforeMs = 10 * 60_000

/**
 * One line for each warning about an object and for each `Killing` event of the kubelet, the latest last. A repeated
 * event is one line with a count.
 * @param startedAt the gate's start, in milliseconds
 * @param container if set, only events about this container or the whole pod are shown
 */
export function eventLines(
  object: KubeObject,
  startedAt: number,
  serverOffsetMs: number,
  store: Store,
  container?: string,
): readonly string[] {
  const events = store
    .eventsOf(object)
    .filter((event) => container === undefined || concernsContainer(event, container))
    .filter((event) => event.type === 'Warning' || event.reason === 'Killing')
  return linesOf(events, startedAt, serverOffsetMs)
}

/** The words of a reason that controllers also give to normal events. */
const failureReason = /Fail|Error|NotFound|Missing|Invalid|Denied|Refused|Timeout|BackOff/

/**
 * One line for each event that reports a failure of an object which the gate has not read, and whose name begins with that
 * of the target: the target may own it.
 */
export function namesakeEventLines(
  { name, namespace }: Pick<Target, 'name' | 'namespace'>,
  startedAt: number,
  serverOffsetMs: number,
  store: Store,
): readonly string[] {
  const events = store
    .eventsOfUnread(namespace)
    .filter(({ involvedObject }) => involvedObject?.name?.startsWith(`${name}-`))
    .filter(({ type, reason = '' }) => type === 'Warning' || failureReason.test(reason))
    .toSorted(byLastOccurrence)
  return linesOf(events, startedAt, serverOffsetMs, ({ involvedObject: { kind = '', name = '' } = {} }) => {
    return `${kind.toLowerCase()}/${name}: `
  })
}

function linesOf(
  events: readonly EventObject[],
  startedAt: number,
  serverOffsetMs: number,
  subjectOf: (event: EventObject) => string = () => '',
): readonly string[] {
  const found = events
    .map((event) => ({
      at: Date.parse(lastOccurrence(event) ?? '') - serverOffsetMs,
      reason: event.reason ?? '',
      subject: subjectOf(event),
      message: withoutNoise(event.message ?? ''),
      count: eventCount(event),
    }))
    .filter(({ at }) => at > startedAt - eventsBeforeMs)
  const hasDetails = found.some(({ message }) => !isBare(message))
  const groups = Map.groupBy(
    found.filter(({ message }) => !(hasDetails && isBare(message))),
    ({ reason, message }) => `${reason} ${withoutNames(message)}`,
  )
  return [...groups.values()]
    .flatMap((group) => {
      const last = group.at(-1)
      return last === undefined ? [] : [{ ...last, count: group.reduce((sum, { count }) => sum + count, 0) }]
    })
    .toSorted((a, b) => a.at - b.at)
    .slice(-maxEvents)
    .map(({ at, reason, subject, message, count }) => {
      const times = count > 1 ? ` ×${count}` : ''
      return `${momentOf(at - startedAt).padStart(5)}  ${reason}${times}  ${subject}${shortened(message)}`.trimEnd()
    })
}

/** An event may contain a whole log, such as that of Helm. Its first lines name the failure, the last ones the cause. */
const firstLines = 3
const lastLines = 3
/** The kubelet's messages about pulls have up to 500 characters. */
const longestLine = 800

function shortened(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '')
  const omitted = lines.length - firstLines - lastLines
  const shown =
    omitted > 1 ? [...lines.slice(0, firstLines), `… ${omitted} lines omitted`, ...lines.slice(-lastLines)] : lines
  return shown
    .map((line) => {
      const rest = line.length - longestLine
      return rest > 0
        ? `${line.slice(0, longestLine).toWellFormed()}… ${rest.toLocaleString('en-US')} more characters`
        : line
    })
    .join(`\n${' '.repeat(7)}`)
}

/** The time from the gate's start to an event: `1:05`; `-1:05` if the event came before the start. */
function momentOf(ms: number): string {
  return ms <= -1_000 ? `-${elapsedClock(-ms)}` : elapsedClock(ms)
}

/** Elapsed milliseconds as minutes and seconds: `1:05`; negative counts as zero. */
export function elapsedClock(ms: number): string {
  const elapsed = Math.max(0, Math.round(ms / 1000))
  return `${Math.floor(elapsed / 60)}:${String(elapsed % 60).padStart(2, '0')}`
}

/**
 * Removes noise from a message: the namespace and uid that follow a pod's name, the prefix of combined events, and the
 * scheduler's sentences about preemption, which repeat its reasons.
 */
function withoutNoise(message: string): string {
  return message
    .replace(/^\(combined from similar events\):\s*/, '')
    .replace(/ in pod ([^\s_]+)_[^\s(]+\([0-9a-f-]{36}\)$/, ' in pod $1')
    .replace(/^(\w+ probe failed):\s*$/, '$1') // the probe returned no message
    .replace(/(\bnodes are available: .*?\.) (?:no new claims to deallocate, )?preemption: .*$/s, '$1')
    .trim()
}

/** Whether a message is only a status, such as `Error: ImagePullBackOff`; another event explains it. */
function isBare(message: string): boolean {
  return /^Error: \w+$/.test(message)
}

/** Removes pod names: events with the same cause differ only in the name of the pod to create. */
function withoutNames(message: string): string {
  return message.replace(/\bpods? "[^"]+"/gi, 'pod')
}

/** The last log lines of the present and the previous run of a container, or why a log could not be read. */
export function logEvidence(problem: Problem, facts: TargetFacts): readonly Evidence[] {
  const { container } = problem
  const logs = [false, true].flatMap((previous) => facts.log(problem, previous) ?? [])
  const tails = logs
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, previous }): Evidence => {
      const title = `Last log lines of container ${container}${previous ? ', previous run' : ''}`
      return { type: 'log', title, text }
    })
  const refused = logs.filter(({ why }) => why !== undefined)
  // Mostly, both runs are refused for the same reason.
  const isOne = new Set(refused.map(({ why }) => why)).size === 1 && refused.length > 1
  const missing = (isOne ? refused.slice(0, 1) : refused).map(({ why, previous }): Evidence => {
    const title = `Log of container ${container}${previous ? ', previous run' : ''}`
    return { type: 'log', title, text: `could not be read: ${why}` }
  })
  return [...tails, ...missing]
}

/** Conditions that are not True on a healthy node (k8s.io/api/core/v1, NodeConditionType). */
const pressures: readonly string[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable']

/** Taints that repeat a condition or cordoning (k8s.io/api/core/v1/well_known_taints.go). */
const redundantTaints: readonly string[] = [
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/network-unavailable',
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/unschedulable',
]

/** Taints that Kubernetes, clouds and autoscalers add to nodes that are unhealthy or being removed. */
const abnormalTaints =
  /^(node\.kubernetes\.io\/|node\.cloudprovider\.kubernetes\.io\/|ToBeDeletedByClusterAutoscaler$|DeletionCandidateOfClusterAutoscaler$|karpenter\.sh\/disrupt)/

/**
 * The abnormalities of a problem's node in one line, or why it could not be read; empty for a healthy node.
 * @param since renders a timestamp of the cluster as a moment of the rollout
 */
export function nodeEvidence(
  name: string,
  node: Node | undefined,
  refusal: Failure | undefined,
  since: (timestamp: string | undefined) => string,
): readonly Evidence[] {
  const title = 'Node'
  if (node !== undefined) {
    const wrong = abnormalities(node, since)
    return wrong.length === 0 ? [] : [{ type: 'condition', title, text: `node ${name}: ${wrong.join(', ')}` }]
  }
  if (refusal === undefined) return []
  const why = refusal.type === 'MISSING' ? 'does not exist any more' : `could not be read: ${refusal.message}`
  return [{ type: 'condition', title, text: `node ${name} ${why}` }]
}

function abnormalities({ metadata, spec, status }: Node, since: (timestamp: string | undefined) => string): string[] {
  const conditions = (status?.conditions ?? []).filter(({ type, status: value }) =>
    type === 'Ready' ? value !== 'True' : pressures.includes(type) && value === 'True',
  )
  return [
    ...conditions.map(({ type, status: value, message, lastTransitionTime }) => {
      const state = type !== 'Ready' ? type : value === 'Unknown' ? 'does not report its status' : 'not ready'
      return `${state}${since(lastTransitionTime)}${message ? ` (${message})` : ''}`
    }),
    ...(metadata.deletionTimestamp === undefined ? [] : ['being deleted']),
    ...(spec?.unschedulable ? ['cordoned'] : []),
    ...(spec?.taints ?? [])
      .filter(({ key }) => abnormalTaints.test(key) && !redundantTaints.includes(key))
      .map(({ key, effect }) => `tainted ${key}${effect === undefined ? '' : `:${effect}`}`),
  ]
}
