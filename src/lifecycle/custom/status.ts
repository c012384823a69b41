import { type Condition, cachePerObject, type Fields, isObject, type KubeObject } from '../../cluster/objects.ts'
import { wordSet } from '../../plan/names.ts'
import { type ConditionSignal, conditionsIn, isEmpty, objectsIn } from '../conditions.ts'
import { hasOpenRequest, hasPresentGeneration, isGenerationStale } from '../stale-status.ts'
import {
  conditionSignals,
  presentConditionSignals,
  readCondition,
  readConditions,
  readConditionType,
  readUnknownConditions,
  type Signal,
} from './status-conditions.ts'
import { fieldNames, fieldSignal, readFields, steps } from './status-fields.ts'
import { hasAnyWord, meaningOf, wordsOf } from './words.ts'

/*
 * Reads the status of an unknown kind, similar to kstatus. The result is a list of signals, from conditions (`status-conditions.ts`) and from fields (`status-fields.ts`). `summarizeSignals` combines the signals.
 */

/** Patterns that identify work that ends, such as a Job. */
const work = {
  kinds:
    /(?:Job|JobSet|Batch|Run|Data(?:Load|Migrate|Process)|Workflow|(?:Backup|Restore)(?:Session)?|Migration|Execution|Experiment|Task|Analysis|Operation|Build|Test|(?<!Service)(?:Import|Export)|Request|Transfer|Clone|Upload|Download|Action|ActionSet|Promotion|Upgrade|Scan|Maintenance|Traceflow)$/,
  /** Condition types that only work that ends has. */
  conditions: /^(?:Completed?|Succeeded|Finished)$/,
  /** Spec fields that only work that ends has. */
  specFields: ['backoffLimit', 'completions', 'jobTemplate', 'ttlSecondsAfterFinished'],
  /** Status fields that contain the time when the work ended. */
  endedAt: /^(?:completion|finish|finished|completed)(?:Time|Timestamp|At)$/,
}
const suspensions = wordSet('suspend suspended paused pause hibernate canceled cancelled')
/** Spec fields that may contain a field of `suspensions`: custom workloads pause a rollout in their strategy. */
const rollouts = /^(?:strategy|updateStrategy|rollout)$/
/** Matches annotations that pause the controller: `cluster.x-k8s.io/paused`, `strimzi.io/pause-reconciliation`. */
const pauseAnnotation = /\/(?:paused?|suspend(?:ed)?)(?:-?reconcil\w*)?$/i

/** Reads all signals about the present generation of an object. */
export const readSignals = cachePerObject((object: KubeObject): readonly Signal[] => {
  const status = (typeof object.status === 'string' ? { status: object.status } : (object.status ?? {})) as Fields
  const spec = (object.spec ?? {}) as Fields
  // While a snapshot is taken, its phase is Running.
  const isWork =
    isRunToCompletion(object) || object.kind.endsWith('Snapshot') || (!isSchedule(object) && hasSteps(status))
  const signals = [
    ...suspensionSignals(object),
    ...readConditions(object, isWork),
    // If the status is old, its fields do not count. Conditions may have their own generation.
    ...(isGenerationStale(object) ? [] : readFields(status, { isWork, spec })),
    ...readUnknownConditions(object),
  ]
  const isOpen = isRunToCompletion(object) && signals.some((each) => isOpenWork(each, isJobLike(object)))
  const present = signals.filter(({ meaning, scope }) => !isOpen || meaning !== 'ready' || scope !== 'summary')
  return isJobLike(object) && !isEmpty(status) ? completionSignals(present, status) : present
})

/**
 * Whether a condition reports that work has failed or, of a Job-like kind, runs. Then only what it has prepared is
 * Ready.
 */
function isOpenWork({ condition, meaning, name, value }: Signal, isJob: boolean): boolean {
  if (condition === undefined) return false
  if (meaning === 'failed') return name === 'Failed' || work.conditions.test(name)
  return isJob && meaning === 'progressing' && name === 'Running' && value === 'True'
}

/** The signals about the end of an object that runs to completion. Ready parts do not mean that the work has ended. */
function completionSignals(signals: readonly Signal[], status: Fields): readonly Signal[] {
  const others = signals.filter(({ meaning, scope }) => meaning !== 'ready' || /^(?:summary|whole)$/.test(scope))
  if (others.length > 0) return others
  const endedAt = Object.keys(status).find((key) => work.endedAt.test(key) && !isEmpty(status[key]))
  if (endedAt === undefined) {
    const message = 'its work has not ended yet'
    return [{ meaning: 'progressing', scope: 'whole', name: 'status', value: 'running', message }]
  }
  const { failed = 0 } = status
  // A number, or a list of the parts that have failed.
  return Number(Array.isArray(failed) ? failed.length : failed) > 0
    ? fieldSignal('failed', failed, 'failed', 'whole')
    : fieldSignal(endedAt, status[endedAt], 'ready', 'whole')
}

/** The signal that the spec or an annotation suspends the object. */
export function suspensionSignals(object: KubeObject): readonly Signal[] {
  const { spec, metadata } = object
  if (isSchedule(object)) return []
  const fields = Object.entries(spec ?? {}).flatMap(([key, value]) =>
    rollouts.test(key) && isObject(value)
      ? Object.entries(value).map(([name, each]) => [`${key}.${name}`, each])
      : [[key, value]],
  )
  const field = fields.find(([key, value]) => value === true && suspensions.has(key.split('.').at(-1)))
  if (field !== undefined) return fieldSignal(`spec.${field[0]}`, true, 'suspended', 'spec')
  const annotation = Object.entries(metadata.annotations ?? {}).find(
    ([key, value]) => pauseAnnotation.test(key) && value !== 'false',
  )
  return annotation === undefined ? [] : fieldSignal(...annotation, 'suspended', 'spec')
}

/** Whether an object is a schedule, such as a CronJob, where an empty status or a suspension is normal. */
export function isSchedule({ kind, spec }: KubeObject): boolean {
  const { schedule, schedules } = (spec ?? {}) as Fields
  return kind.startsWith('Cron') || kind.endsWith('Schedule') || schedule !== undefined || schedules !== undefined
}

/** Whether an object runs to completion, such as a Job, by its kind, spec or status. Then a failed state is final. */
export function isRunToCompletion(object: KubeObject): boolean {
  const conditions = presentConditionSignals(object)
  const hasReady = conditions.some(({ name }) => name === 'Ready')
  const hasFailed = conditions.some(({ name, value }) => name === 'Failed' && value === 'True')
  const isWorkCondition = ({ name, value, reason = '' }: ConditionSignal) =>
    work.conditions.test(name) &&
    // If the object also has Ready, Succeeded describes the last attempt, and the controller tries again.
    !(name === 'Succeeded' && hasReady) &&
    (value !== 'True' || hasFailed || /^fail(?:ed|ure)$/i.test(reason))
  return isJobLike(object) || (conditions.some(isWorkCondition) && !isSchedule(object))
}

/** Whether failed work is tried again: the status has no end, and fewer retries than the spec permits. */
export function hasRetriesLeft({ spec, status }: KubeObject): boolean {
  const [, limit] = Object.entries(spec ?? {}).find(([key]) => /^(?:backoffLimit|maxRetries)$/i.test(key)) ?? []
  const fields = (status ?? {}) as Fields
  const [, retries] = Object.entries(fields).find(([key]) => /^(?!max|remaining)\w*retries$/i.test(key)) ?? []
  return !Object.keys(fields).some((key) => work.endedAt.test(key)) && Number(retries) < Number(limit)
}

function isJobLike(object: KubeObject): boolean {
  const isWork = work.kinds.test(object.kind) || work.specFields.some((key) => Object.hasOwn(object.spec ?? {}, key))
  const { active, startTime } = (object.status ?? {}) as Fields
  // The status may include the fields of a Job.
  const hasJobStatus = typeof active === 'number' && typeof startTime === 'string'
  return (isWork || hasJobStatus) && !isSchedule(object)
}

/** Whether a status contains a list of steps with states. Then `Running` is not the goal of the object. */
function hasSteps(status: Fields): boolean {
  return Object.entries(status).some(
    ([key, value]) =>
      hasAnyWord(wordsOf(key), steps) &&
      objectsIn(value).some((step) => Object.keys(step).some((name) => fieldNames.aboutState.test(name))),
  )
}

/* Whether the status describes the present generation. */

/** Whether the status describes an older generation, by the generations of the status and of its conditions. */
export function isUnobserved(object: KubeObject): boolean {
  if (hasOpenRequest(object)) return true
  const conditions = conditionSignals(object).map(({ condition }) => condition)
  const isPresent = (each: Condition) => hasPresentGeneration(each, object)
  const summaries = conditions.filter((each) => readConditionType(each.type)?.scope === 'summary' && isPresent(each))
  // The generation of a condition overrides that of the status.
  if (isGenerationStale(object)) return summaries.every(({ observedGeneration }) => observedGeneration === undefined)
  return (
    conditions.some((each) => !isPresent(each) && readCondition(each) !== undefined) &&
    !summaries.some(({ type }) => type === 'Ready')
  )
}

/*
 * Progress in a status of any kind, for the stall clock: new states, and numbers that grow.
 */

/** Words in the names of numbers that grow with progress: `currentStepIndex`, `succeeded`, `progress: 40%`. */
const progressWords = wordSet(`
  step stage iteration iterations weight succeeded successful completed complete finished done processed progress percent
  percentage ready available updated healthy uptodate
`)
/** Words in the names of numbers that grow without progress: attempts, failures, generations, times and load. */
const noProgressWords = wordSet(`
  fail failed failure failures error errors restart restarts retry retries attempt attempts backoff generation revision
  at time timestamp seconds duration elapsed since utilization usage used cpu memory disk
  not non unavailable unready degraded unhealthy missing outdated
`)
const maxCounters = 100
/** The maximum number of states. The status of a real controller has fewer states. */
const maxStates = 1_000
const maxDepth = 8

/** A text, a number or a condition in a status. */
interface Leaf {
  /** The path of the value: `status.phase`; for a condition, `status.conditions.Ready`. */
  readonly path: string
  readonly key: string
  readonly value: unknown
  readonly reason?: string | undefined
}

const statusLeaves = cachePerObject(({ status }: KubeObject): readonly Leaf[] => collectLeaves('', status, 'status', 0))

function collectLeaves(key: string, value: unknown, path: string, depth: number): readonly Leaf[] {
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
  return Object.entries(value).flatMap(([name, each]) => collectLeaves(name, each, `${path}.${name}`, depth + 1))
}

/**
 * The states in a status whose change is progress: all states and conditions except failures.
 * @returns the states with their paths: `status.phase=Creating`, `status.conditions.Ready=False Scheduling`
 */
export function progressStates(object: KubeObject): readonly string[] {
  return statusLeaves(object)
    .flatMap(({ path, key, value, reason = '' }) => {
      const isState = typeof value === 'string' && value !== '' && /(?:phase|state|status|step|stage)$/i.test(key)
      const hasFailed = meaningOf(String(value)) === 'failed' || meaningOf(reason) === 'failed'
      return isState && !hasFailed ? [`${path}=${value} ${reason}`] : []
    })
    .slice(0, maxStates)
}

/** The numbers in a status that grow with progress, by path: counts of good parts and of steps. */
export function progressCounters(object: KubeObject): ReadonlyMap<string, number> {
  const counters = statusLeaves(object).flatMap(({ path, key, value }): [string, number][] => {
    const [, percent, done] = /^(\d+)(?:\.\d+)?%$|^(\d+)\/\d+$/.exec(typeof value === 'string' ? value : '') ?? []
    const count = typeof value === 'number' ? value : Number(percent ?? done)
    if (!(count >= 0)) return []
    const tokens = wordsOf(key)
    return hasAnyWord(tokens, progressWords) && !hasAnyWord(tokens, noProgressWords) ? [[path, count]] : []
  })
  return new Map(counters.slice(0, maxCounters))
}
