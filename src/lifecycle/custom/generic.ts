import { type KubeObject, oncePerObject } from '../../cluster/objects.ts'
import { isBuiltIn } from '../../plan/kinds.ts'
import { words } from '../../plan/names.ts'
import { type Problem, problemOf } from '../../reasons/reasons.ts'
import { signalsText, signalText } from '../../reasons/status.ts'
import { unclearSettles } from '../../thresholds.ts'
import { conditionsIn, isEmpty, signalKey } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { observedMilestone } from '../status-age.ts'
import { conditionProblem, notReconciled, ownProblem, reportedProblem } from '../status-problems.ts'
import {
  endsByItself,
  hasAny,
  isError,
  isSchedule,
  isUnobserved,
  meaningOf,
  readSignals,
  type Signal,
  type SignalSummary,
  specSuspension,
  summarizeSignals,
  tokensOf,
} from './status.ts'

/**
 * The rule for every kind without a rule of its own. It reads the object's status: the observed generation, conditions,
 * `phase`, `state` and `health`, flags, errors and counts. Based on the conventions of the Kubernetes API
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties)
 * and kstatus; `status.ts` reads the signals.
 *
 * An object without a signal is ready once it exists, and its message reports that nothing more can be known. Exception: its
 * controller still has to write the status.
 */
export const genericRule: Rule = {
  milestones: commonMilestones,
  failures: (object) =>
    readSignals(object).flatMap((each) => (each.meaning === 'failed' || isError(each) ? [signalKey(each)] : [])),
  states: progressStates,
  judge: judgeGeneric,
}

function judgeGeneric(object: KubeObject, reader: RuleReader): Judgement {
  const isObserved = !isUnobserved(object)
  const summary = isObserved ? summarizeSignals(readSignals(object)) : unobservedSummary(object)
  const hasSignal = summary.meaning !== undefined
  const isAwaited = isObserved && !hasSignal && isStatusAwaited(object, reader)
  const isReady = hasSignal ? summary.meaning === 'ready' : !awaitsSignal(object, reader)
  const ready = !isAwaited && isReady
  const text = signalsText(summary.signals)
  reader.milestone(observedMilestone(object, isObserved && !isAwaited))
  if (isAwaited) reader.problem(notReconciled(object, reader))
  else if (!ready) for (const problem of problemsOf(object, summary, reader)) reader.problem(problem)
  if (summary.isReconciling) reader.hold('its controller is reconciling it')
  return {
    ready,
    message: text || (ready ? unclearText(object) : 'waiting for its controller to report its state'),
    readyConditions: summary.meaning === 'ready' ? summary.signals.map(({ condition }) => condition) : undefined,
    copiesOthers: !isBuiltIn(object.apiVersion),
    counters: isObserved ? progressCounters(object) : undefined,
  }
}

/** The message of a ready object without a signal. */
function unclearText(object: KubeObject): string {
  return isUnclear(object)
    ? 'exists; nothing in its status shows that it is ready, so nothing more can be known (--for and health-check-exprs define ready)'
    : 'exists; it gives no readiness signal, so nothing more can be known'
}

/** Whether a status without a signal contains states, whose meaning is unknown: `Applied=True`, `mode: Leader`. */
function isUnclear(object: KubeObject): boolean {
  return progressStates(object).length > 0
}

/** Signals of an older generation do not count, except a suspension that the present spec requests. */
function unobservedSummary(object: KubeObject): SignalSummary {
  const suspension = summarizeSignals(specSuspension(object))
  return suspension.meaning === undefined ? { meaning: 'progressing', signals: [] } : suspension
}

/**
 * Whether a controller has not written a status yet. Discovery shows whether the kind has the status subresource.
 * Without discovery (a short recording), a custom object with a `spec` or an empty status is assumed to have a
 * controller: a false "ready" costs more than the wait. A schedule may have no status until its first run.
 */
function isStatusAwaited(object: KubeObject, reader: Reader): boolean {
  if (!isEmpty(object.status) || isSchedule(object) || isBuiltIn(object.apiVersion)) return false
  const { apiVersion: _, kind: __, metadata: ___, ...content } = object
  // Without any content, the spec has only defaults.
  const isBare = Object.keys(content).length === 0
  return reader.declaresStatus(object) ?? (isBare || object.spec !== undefined || object.status !== undefined)
}

/**
 * Whether the gate waits for a status to get a signal: many controllers write other fields before the state. The status
 * is complete when, during the settle time, its set of fields and its states did not change, or nothing wrote the object.
 */
function awaitsSignal(object: KubeObject, reader: Reader): boolean {
  if (isEmpty(object.status) || isBuiltIn(object.apiVersion)) return false
  const { time, history, settings } = reader
  const writes = (object.metadata.managedFields ?? []).map((entry) => time(entry.time) ?? Infinity)
  const lastWrite = writes.length === 0 ? Infinity : Math.max(...writes)
  const since = Math.min(lastWrite, Math.max(history.fieldsMovedAt, history.statesMovedAt, history.specSeenAt))
  return !reader.passed(since + settings.settleTimeMs * (isUnclear(object) ? unclearSettles : 1))
}

/**
 * A strike problem: a failure of a controller that has given up. A slow problem: a suspension, and any other failure or
 * condition that is False, because many controllers retry.
 */
function problemsOf(object: KubeObject, { meaning, signals }: SignalSummary, reader: Reader): readonly Problem[] {
  const [first, ...others] = signals
  if (first === undefined) return []
  if (meaning === 'failed' && hasGivenUp(first, object)) return [reportedProblem(object, [first, ...others], reader)]
  if (meaning !== 'suspended') return [conditionProblem(object, signals, reader)]
  return [
    problemOf({
      ...ownProblem(object, reader.history.firstSeenAt),
      reason: /pause/i.test(signalText(first)) ? 'paused' : 'suspended',
      detail: { signals: signalsText(signals) },
    }),
  ]
}

/** Whether a failure is the end by convention: Stalled=True, and the failed end of a Job-like object. */
function hasGivenUp({ weight }: Signal, object: KubeObject): boolean {
  return weight === 'summary' || (weight === 'whole' && endsByItself(object))
}

/** Progress without parts: `currentStepIndex`, `succeeded`, `progress: 40%`. Other numbers may change without end. */
const progressWords = words(`
  step stage iteration iterations weight succeeded successful completed complete finished done processed progress percent
  percentage ready available updated healthy uptodate
`)
/** Numbers that grow without progress: attempts, failures, generations, times and load. */
const otherWords = words(`
  fail failed failure failures error errors restart restarts retry retries attempt attempts backoff generation revision
  at time timestamp seconds duration elapsed since utilization usage used cpu memory disk
  not non unavailable unready degraded unhealthy missing outdated
`)
const maxCounters = 100
/** The maximum number of states; a status of a real controller has fewer. */
const maxStates = 1_000
/** The maximum depth of lists and maps in a status. */
const maxDepth = 8

/** A text, a number or a condition in a status. */
interface Leaf {
  /** `status.phase`; of a condition, with its type. */
  readonly path: string
  readonly key: string
  readonly value: unknown
  readonly reason?: string | undefined
}

const leavesOf = oncePerObject(({ status }: KubeObject): readonly Leaf[] => leavesIn('', status, 'status', 0))

function leavesIn(key: string, value: unknown, path: string, depth: number): readonly Leaf[] {
  if (typeof value !== 'object' || value === null) return [{ path, key, value }]
  const conditions = conditionsIn(value)
  if (conditions.length > 0)
    return conditions.map(({ type, status, reason }) => ({
      path: `${path}.${type}`,
      key: 'status',
      value: status,
      reason,
    }))
  if (depth >= maxDepth) return []
  return Object.entries(value).flatMap(([name, each]) => leavesIn(name, each, `${path}.${name}`, depth + 1))
}

/**
 * The states in a status, of the object and its parts, and the reasons of its conditions. A new state is progress,
 * unless it is a failure.
 * @returns each with its path: `status.phase=Creating`, `status.conditions.Ready=False Scheduling`
 */
export function progressStates(object: KubeObject): readonly string[] {
  return leavesOf(object)
    .flatMap(({ path, key, value, reason = '' }) => {
      const isState = typeof value === 'string' && value !== '' && /(?:phase|state|status|step|stage)$/i.test(key)
      const hasFailed = meaningOf(String(value)) === 'failed' || meaningOf(reason) === 'failed'
      return isState && !hasFailed ? [`${path}=${value} ${reason}`] : []
    })
    .slice(0, maxStates)
}

/** The numbers of a status that show progress when they grow, by path: parts that are as they should be, and steps. */
export function progressCounters(object: KubeObject): ReadonlyMap<string, number> {
  const counters = leavesOf(object).flatMap(({ path, key, value }): [string, number][] => {
    const [, percent, done] = /^(\d+)(?:\.\d+)?%$|^(\d+)\/\d+$/.exec(typeof value === 'string' ? value : '') ?? []
    const count = typeof value === 'number' ? value : Number(percent ?? done)
    if (!(count >= 0)) return []
    const tokens = tokensOf(key)
    return hasAny(tokens, progressWords) && !hasAny(tokens, otherWords) ? [[path, count]] : []
  })
  return new Map(counters.slice(0, maxCounters))
}
