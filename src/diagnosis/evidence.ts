import { type KubeObject, lastOccurrence, type Node, type Pod, subjectText } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import type { Evidence } from '../gate/run-record.ts'
import { runtimeError } from '../lifecycle/workloads/kubelet-messages.ts'
import { eventCount, isAboutContainer } from '../lifecycle/workloads/pod-fields.ts'
import { messageOf, type Problem } from '../reasons/reasons.ts'
import { signalText } from '../reasons/status.ts'
import { maxEvidenceEvents, shownHistoryMs } from '../thresholds.ts'
import { explainingNode, type TargetFacts } from './target-facts.ts'

/* The evidence of a problem as lines of text: conditions, the node, events and logs. */

/** The objects that were read, and what is needed to compare their times with the times of the gate. */
interface ReadFacts {
  readonly store: Store
  readonly serverOffsetMs: number
  /** The gate's start and its end, in milliseconds. */
  readonly startedAt: number
  readonly finishedAt: number
}

/** The facts that the evidence of every problem depends on. */
export interface EvidenceContext extends ReadFacts {
  /** The `placeKey` of each target's own problems. */
  readonly own: ReadonlySet<string>
}

/** Subject and container of a problem. */
export function placeKey({ subject, container = '' }: Problem): string {
  return `${subjectText(subject)} ${container}`
}

/** What the cluster reports about a problem: termination message, node, events and logs; also of its cause. */
export function evidenceFor(problem: Problem, facts: TargetFacts, context: EvidenceContext): readonly Evidence[] {
  const { container, cause } = problem
  const subject = facts.findSubject(problem)
  const events = subject === undefined ? [] : eventLines(subject, context, container)
  const node = explainingNode(problem, facts)
  return [
    ...evidencePiece('condition', 'Termination message', terminationMessage(problem, facts, events.length > 0)),
    ...(node === undefined ? [] : evidencePiece('condition', 'Node', nodeLines(node, facts, context))),
    ...eventPiece('Events', events),
    ...(container === undefined ? [] : logEvidence(problem, facts)),
    // A target that reports the cause itself shows the evidence of the cause.
    ...(cause === undefined || context.own.has(placeKey(cause)) ? [] : evidenceFor(cause, facts, context)),
  ]
}

/** The conditions of a pod that are not True. */
export function conditionEvidence({ status: { conditions = [] } = {} }: Pod): readonly Evidence[] {
  const open = conditions.filter(({ status }) => status !== 'True')
  const lines = open.map(({ type, status, reason, message }) =>
    signalText({ name: type, value: status, reason, message }),
  )
  return evidencePiece('condition', 'Conditions', lines)
}

/** One piece of evidence; none without lines. */
function evidencePiece(type: Evidence['type'], title: string, lines: readonly string[]): readonly Evidence[] {
  return lines.length === 0 ? [] : [{ type, title, text: lines.join('\n') }]
}

type EventLine = NonNullable<Evidence['events']>[number]

function eventPiece(title: string, events: readonly EventLine[]): readonly Evidence[] {
  return evidencePiece(
    'event',
    title,
    events.map(({ text }) => text),
  ).map((each) => ({ ...each, events }))
}

/**
 * The container's termination message, unless the problem contains it. If a container never started, the runtime wrote
 * the message, and the events repeat it.
 */
function terminationMessage(problem: Problem, facts: TargetFacts, hasEvents: boolean): readonly string[] {
  const { status } = facts.findContainer(problem) ?? {}
  const end = status?.state?.terminated ?? status?.lastState?.terminated
  const message = (end?.message ?? '').trim()
  if (hasEvents && end?.reason === 'StartError') return []
  return message === '' || messageOf(problem).includes(runtimeError(message).message) ? [] : [message]
}

/**
 * One line for each warning about an object and for each `Killing` event of the kubelet, the latest last. A repeated
 * event is one line with a count.
 * @param container if set, only events about this container or the whole pod are shown
 */
export function eventLines(object: KubeObject, context: ReadFacts, container?: string): readonly EventLine[] {
  const { store, startedAt, serverOffsetMs } = context
  const found = store
    .eventsOf(object)
    .filter((event) => container === undefined || isAboutContainer(event, container))
    .filter((event) => event.type === 'Warning' || event.reason === 'Killing')
    .map((event) => ({
      at: Date.parse(lastOccurrence(event) ?? '') - serverOffsetMs,
      reason: event.reason ?? '',
      message: removeNoise(event.message ?? ''),
      count: eventCount(event),
    }))
    .filter(({ at }) => at > startedAt - shownHistoryMs)
  const hasDetails = found.some(({ message }) => !isStatusOnly(message))
  const groups = Map.groupBy(
    found.filter(({ message }) => !(hasDetails && isStatusOnly(message))),
    ({ reason, message }) => `${reason} ${removePodNames(message)}`,
  )
  return [...groups.values()]
    .flatMap((group) => {
      const last = group.at(-1)
      return last === undefined ? [] : [{ ...last, count: group.reduce((sum, { count }) => sum + count, 0) }]
    })
    .toSorted((a, b) => a.at - b.at)
    .slice(-maxEvidenceEvents)
    .map(({ at, reason, message, count }) => {
      const times = count > 1 ? ` ×${count}` : ''
      return { at, text: `${reason}${times}  ${shortenMessage(message)}`.trimEnd() }
    })
}

/**
 * How many lines at the start and at the end of a message are shown. An event may contain a whole log, such as that of
 * Helm: its first lines name the failure, the last ones the cause.
 */
const shownFirstLines = 3
const shownLastLines = 3
/** The maximum length of a line of a message. The kubelet's messages about pulls have up to 500 characters. */
const longestLine = 800

function shortenMessage(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '')
  const omitted = lines.length - shownFirstLines - shownLastLines
  const shown =
    omitted > 1
      ? [...lines.slice(0, shownFirstLines), `… ${omitted} lines omitted`, ...lines.slice(-shownLastLines)]
      : lines
  return shown
    .map((line) => {
      const rest = line.length - longestLine
      return rest > 0
        ? `${line.slice(0, longestLine).toWellFormed()}… ${rest.toLocaleString('en-US')} more characters`
        : line
    })
    .join(`\n${' '.repeat(7)}`)
}

/**
 * Removes noise from a message: the namespace and uid that follow a pod's name, the prefix of combined events, and the
 * scheduler's sentences about preemption, which repeat its reasons.
 */
function removeNoise(message: string): string {
  return message
    .replace(/^\(combined from similar events\):\s*/, '')
    .replace(/ in pod ([^\s_]+)_[^\s(]+\([0-9a-f-]{36}\)$/, ' in pod $1')
    .replace(/^(\w+ probe failed):\s*$/, '$1') // the probe returned no message
    .replace(/(\bnodes are available: .*?\.) (?:no new claims to deallocate, )?preemption: .*$/s, '$1')
    .trim()
}

/** Whether a message is only a status, such as `Error: ImagePullBackOff`; another event explains it. */
function isStatusOnly(message: string): boolean {
  return /^Error: \w+$/.test(message)
}

/** Removes pod names: events with the same cause differ only in the name of the pod to create. */
function removePodNames(message: string): string {
  return message.replace(/\bpods? "[^"]+"/gi, 'pod')
}

/** The last log lines of the present and the previous run of a container, or why a log could not be read. */
function logEvidence(problem: Problem, facts: TargetFacts): readonly Evidence[] {
  const { container } = problem
  const logs = [false, true].flatMap((previous) => facts.findLog(problem, previous) ?? [])
  const tails = logs
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, previous }): Evidence => {
      const title = `Last log lines of container ${container}${previous ? ', previous run' : ''}`
      return { type: 'log', title, text }
    })
  const refused = logs.filter(({ why }) => why !== undefined)
  // Most often, the logs of both runs cannot be read for the same reason.
  const isOne = new Set(refused.map(({ why }) => why)).size === 1 && refused.length > 1
  const missing = (isOne ? refused.slice(0, 1) : refused).map(({ why, previous }): Evidence => {
    const title = `Log of container ${container}${previous ? ', previous run' : ''}`
    return { type: 'log', title, text: `could not be read: ${why}`, isUnread: true }
  })
  return [...tails, ...missing]
}

/** Conditions that are not True on a healthy node (k8s.io/api/core/v1, NodeConditionType). */
const pressures: readonly string[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable']

/** Taints that clouds and autoscalers add to nodes that are unhealthy or being removed. Others repeat conditions. */
const abnormalTaints =
  /^(node\.kubernetes\.io\/out-of-service$|node\.cloudprovider\.kubernetes\.io\/|ToBeDeletedByClusterAutoscaler$|DeletionCandidateOfClusterAutoscaler$|karpenter\.sh\/disrupt)/

/** The listAbnormalities of a node in one line, or why it could not be read; empty for a healthy node. */
function nodeLines(name: string, facts: TargetFacts, context: ReadFacts): readonly string[] {
  const node = facts.findNode(name)
  if (node !== undefined) {
    const wrong = listAbnormalities(node, context)
    return wrong.length === 0 ? [] : [`node ${name}: ${wrong.join(', ')}`]
  }
  const refusal = facts.refusal('Node', name)
  if (refusal === undefined) return []
  const why = refusal.type === 'MISSING' ? 'does not exist any more' : `could not be read: ${refusal.message}`
  return [`node ${name} ${why}`]
}

/** ` for 41 s`: how long ago a timestamp of the cluster was when the gate ended; empty without one. */
function ageText(timestamp: string | undefined, { finishedAt, serverOffsetMs }: ReadFacts): string {
  const ageMs = finishedAt - (Date.parse(timestamp ?? '') - serverOffsetMs)
  return Number.isNaN(ageMs) ? '' : ` for ${duration(Math.max(0, ageMs))}`
}

function listAbnormalities({ metadata, spec, status }: Node, context: ReadFacts): string[] {
  const conditions = (status?.conditions ?? []).filter(({ type, status: value }) =>
    type === 'Ready' ? value !== 'True' : pressures.includes(type) && value === 'True',
  )
  return [
    ...conditions.map(({ type, status: value, message, lastTransitionTime }) => {
      const state = type !== 'Ready' ? type : value === 'Unknown' ? 'does not report its status' : 'not ready'
      return `${state}${ageText(lastTransitionTime, context)}${message ? ` (${message})` : ''}`
    }),
    ...(metadata.deletionTimestamp === undefined ? [] : ['being deleted']),
    ...(spec?.unschedulable ? ['cordoned'] : []),
    ...(spec?.taints ?? [])
      .filter(({ key }) => abnormalTaints.test(key))
      .map(({ key, effect }) => `tainted ${key}${effect === undefined ? '' : `:${effect}`}`),
  ]
}
