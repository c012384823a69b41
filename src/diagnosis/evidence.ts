import { isMissing } from '../cluster/failures.ts'
import { type KubeObject, lastOccurrence, type Node, type Pod, subjectText } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import type { Evidence } from '../gate/run-record.ts'
import { runtimeError } from '../lifecycle/workloads/kubelet-messages.ts'
import { eventCount, isAboutContainer } from '../lifecycle/workloads/pod-fields.ts'
import { messageOf, type Problem } from '../reasons/reasons.ts'
import { signalText } from '../reasons/status.ts'
import { maxEvidenceEvents, shownHistoryMs } from '../thresholds.ts'
import type { TargetFacts } from './target-facts.ts'

/* Renders the evidence for a problem as lines of text: conditions, the node, events and logs. */

/** The facts that the evidence of every problem depends on. Moments are milliseconds since the epoch. */
export interface EvidenceContext {
  readonly store: Store
  readonly serverOffsetMs: number
  /** The start and the end of the gate. */
  readonly startedAt: number
  readonly finishedAt: number
  /** The `problemPlaceKey` of the problems of all targets. */
  readonly problemPlaces: ReadonlySet<string>
}

/** Identifies the object and the container of a problem. */
export function problemPlaceKey({ subject, container = '' }: Problem): string {
  return `${subjectText(subject)} ${container}`
}

/** The evidence for a problem and its cause: termination message, node, events and logs. */
export function evidenceFor(problem: Problem, facts: TargetFacts, context: EvidenceContext): readonly Evidence[] {
  const { container, cause } = problem
  const subject = facts.findSubject(problem)
  const events = subject === undefined ? [] : eventLines(subject, context, container)
  const eventTexts = events.map(({ text }) => text)
  const node = facts.explainingNode(problem)
  return [
    ...evidencePiece('condition', 'Termination message', terminationMessage(problem, facts, events.length > 0)),
    ...(node === undefined ? [] : evidencePiece('condition', 'Node', nodeLines(node, facts, context))),
    ...evidencePiece('event', 'Events', eventTexts).map((piece) => ({ ...piece, events })),
    ...(container === undefined ? [] : logEvidence(problem, facts)),
    // If a target has the cause as its own problem, that target shows the evidence of the cause.
    ...(cause === undefined || context.problemPlaces.has(problemPlaceKey(cause))
      ? []
      : evidenceFor(cause, facts, context)),
  ]
}

/** Evidence: the conditions of a pod that are not True. */
export function conditionEvidence({ status: { conditions = [] } = {} }: Pod): readonly Evidence[] {
  const open = conditions.filter(({ status }) => status !== 'True')
  const lines = open.map(({ type, status, reason, message }) =>
    signalText({ name: type, value: status, reason, message }),
  )
  return evidencePiece('condition', 'Conditions', lines)
}

/** One piece of evidence; empty without lines. */
function evidencePiece(type: Evidence['type'], title: string, lines: readonly string[]): readonly Evidence[] {
  return lines.length === 0 ? [] : [{ type, title, text: lines.join('\n') }]
}

type EventLine = NonNullable<Evidence['events']>[number]

/**
 * The termination message of a container, unless the problem already contains it. If the container never started and
 * there are events, the message is omitted, because the events contain it.
 */
function terminationMessage(problem: Problem, facts: TargetFacts, hasEvents: boolean): readonly string[] {
  const { status } = facts.findContainer(problem) ?? {}
  const end = status?.state?.terminated ?? status?.lastState?.terminated
  const message = (end?.message ?? '').trim()
  if (hasEvents && end?.reason === 'StartError') return []
  return message === '' || messageOf(problem).includes(runtimeError(message).message) ? [] : [message]
}

/**
 * One line for each warning about an object and each `Killing` event, the latest last. Repeated events share a line.
 * @param container if set, only events about this container or the whole pod are shown
 */
export function eventLines(
  object: KubeObject,
  { store, startedAt, serverOffsetMs }: Pick<EvidenceContext, 'store' | 'startedAt' | 'serverOffsetMs'>,
  container?: string,
): readonly EventLine[] {
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
    // Events with the same cause may differ only in the name of the pod to create.
    ({ reason, message }) => `${reason} ${message.replace(/\bpods? "[^"]+"/gi, 'pod')}`,
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
 * How many lines at the start and at the end of a message are shown. An event may contain a whole Helm log: the first
 * lines contain the failure, and the last lines contain the cause.
 */
const shownFirstLines = 3
const shownLastLines = 3
/** The maximum length of a line in a message. The kubelet's messages about pulls have up to 500 characters. */
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
 * Removes noise from a message: the namespace and uid after a pod name, and the scheduler's sentences about preemption,
 * which only repeat its reasons.
 */
function removeNoise(message: string): string {
  return message
    .replace(/ in pod ([^\s_]+)_[^\s(]+\([0-9a-f-]{36}\)$/, ' in pod $1')
    .replace(/^(\w+ probe failed):\s*$/, '$1') // the probe returned no message
    .replace(/(\bnodes are available: .*?\.) (?:no new claims to deallocate, )?preemption: .*$/s, '$1')
    .trim()
}

/** Whether a message is only a status, such as `Error: ImagePullBackOff`, which another event explains. */
function isStatusOnly(message: string): boolean {
  return /^Error: \w+$/.test(message)
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
  // Usually, the logs of both runs cannot be read for the same reason.
  const isOne = new Set(refused.map(({ why }) => why)).size === 1 && refused.length > 1
  const missing = (isOne ? refused.slice(0, 1) : refused).map(({ why, previous }): Evidence => {
    const title = `Log of container ${container}${previous ? ', previous run' : ''}`
    return { type: 'log', title, text: `could not be read: ${why}`, isUnread: true }
  })
  return [...tails, ...missing]
}

/** The conditions that are not True on a healthy node (k8s.io/api/core/v1, NodeConditionType). */
const pressures: readonly string[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable']

/** Matches taints for nodes that are unhealthy or being removed. Other taints only repeat conditions. */
const abnormalTaints =
  /^(node\.kubernetes\.io\/out-of-service$|node\.cloudprovider\.kubernetes\.io\/|ToBeDeletedByClusterAutoscaler$|DeletionCandidateOfClusterAutoscaler$|karpenter\.sh\/disrupt)/

/** The abnormalities of a node in one line, or why the node could not be read. Empty for a healthy node. */
function nodeLines(name: string, facts: TargetFacts, context: EvidenceContext): readonly string[] {
  const node = facts.findNode(name)
  if (node !== undefined) {
    const wrong = listAbnormalities(node, context)
    return wrong.length === 0 ? [] : [`node ${name}: ${wrong.join(', ')}`]
  }
  const refusal = facts.findFailure('Node', name)
  if (refusal === undefined) return []
  const why = isMissing(refusal) ? 'does not exist any more' : `could not be read: ${refusal.message}`
  return [`node ${name} ${why}`]
}

/** The age of a timestamp at the end of the gate: ` for 41 s`. Empty without a timestamp. */
function ageText(timestamp: string | undefined, { finishedAt, serverOffsetMs }: EvidenceContext): string {
  const ageMs = finishedAt - (Date.parse(timestamp ?? '') - serverOffsetMs)
  return Number.isNaN(ageMs) ? '' : ` for ${duration(Math.max(0, ageMs))}`
}

function listAbnormalities({ metadata, spec, status }: Node, context: EvidenceContext): string[] {
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
