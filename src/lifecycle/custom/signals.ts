import { type Fields, type KubeObject, oncePerObject } from '../../cluster/objects.ts'
import { fieldsOf, isEmpty } from '../conditions.ts'
import { hasPresentCondition, readConditions, readUnknownConditions } from './status-conditions.ts'
import { readNoneReady } from './status-counts.ts'
import { readEmptyState, readFields, stateEnding } from './status-fields.ts'
import { isGenerationStale } from './status-generation.ts'
import { isEnd, type Signal, tokensOf, words } from './status-vocabulary.ts'

/** Kinds whose objects do work that ends, such as Jobs. */
const workKinds = /(?:Job|JobSet|Run|Workflow|(?:Backup|Restore)(?:Session)?|Migration|Execution|Experiment)$/
/** Kinds that in some groups do such work, and in others describe it. */
const sometimesWorkKinds =
  /(?:Task|Analysis|Operation|Build|Test|Import|Export|Request|Transfer|Clone|Upload|Download|Action|ActionSet|Promotion|Upgrade|Scan|Maintenance)$/
/** Conditions that only such work has. */
const workConditions = /^(?:Completed?|Succeeded|Finished)$/
/** Fields of a spec that only such work has, as in a Job. */
const workSpecKeys = ['backoffLimit', 'completions', 'jobTemplate', 'ttlSecondsAfterFinished']
/** Words in the names of lists in a status that contain the steps of such work, each with its state. */
const stepWords = words('step steps stage stages task tasks action actions')
/** Fields of a status that contain when such work ended. */
const endKeys = /^(?:completion|finish|finished|completed)(?:Time|Timestamp|At)$/

/** Every signal of an object about its present generation, in the order of its spec and status. */
export const readSignals = oncePerObject((object: KubeObject): readonly Signal[] => {
  const status = typeof object.status === 'string' ? { status: object.status } : ((object.status ?? {}) as Fields)
  const spec = (object.spec ?? {}) as Fields
  const isWork = isPieceOfWork(object)
  // Only conditions have their own observedGeneration.
  const fields = isGenerationStale(object) ? [] : readFields(status, { isWork, spec })
  const signals = [
    ...specSuspension(object),
    ...readConditions(object, isWork),
    ...fields.map((each) => (matchesDesiredState(each, object) ? asReady(each) : each)),
  ]
  const isJob = !isSchedule(object) && isJobLike(object, status) && !isEmpty(object.status)
  const found = isJob ? untilEnd(signals, status) : sinceEnd(signals.filter((each) => !isScheduled(each, object)))
  if (found.length > 0) return found
  return [...readEmptyState(status), ...readUnknownConditions(object), ...readNoneReady(status, spec)]
})

/** A schedule in the state `Scheduled` waits for its next run. */
function isScheduled({ value = '' }: Signal, object: KubeObject): boolean {
  return isSchedule(object) && tokensOf(value).join() === 'scheduled'
}

/**
 * The signals of a Job-like object, which runs until its status contains an end. Acceptance, ready parts and counts are
 * not an end.
 */
function untilEnd(signals: readonly Signal[], status: Fields): readonly Signal[] {
  const isOpen = signals.some(
    ({ name, value, condition }) => condition && workConditions.test(name) && value !== 'True',
  )
  const others = signals.filter(
    ({ meaning, weight }) => meaning !== 'ready' || (weight === 'summary' && !isOpen) || weight === 'whole',
  )
  if (others.some(({ meaning }) => meaning === 'ready')) return withoutOpenParts(others)
  if (others.length > 0) return others
  const endedAt = Object.keys(status).find((key) => endKeys.test(key) && !isEmpty(status[key]))
  if (endedAt === undefined) {
    const message = 'its work has not ended yet'
    return [{ meaning: 'progressing', weight: 'whole', name: 'status', value: 'running', message }]
  }
  const failed = Number(status['failed'] ?? 0)
  return failed > 0
    ? [{ meaning: 'failed', weight: 'whole', name: 'failed', value: `${failed}` }]
    : [{ meaning: 'ready', weight: 'whole', name: endedAt, value: String(status[endedAt]) }]
}

/** The signals of an object of another kind: `phase: Succeeded` and the condition Successful=True are an end too. */
function sinceEnd(signals: readonly Signal[]): readonly Signal[] {
  const isWholeEnd = ({ meaning, weight, name, value = '', condition }: Signal) => {
    const word = condition !== undefined ? name : /^(?:phase|state)$/i.test(name) ? value : ''
    return meaning === 'ready' && weight === 'whole' && tokensOf(word).length === 1 && isEnd(word)
  }
  return signals.some(isWholeEnd) ? withoutOpenParts(signals) : signals
}

/** After the end, parts that are still in progress do not matter: Running=True may remain. */
function withoutOpenParts(signals: readonly Signal[]): readonly Signal[] {
  return signals.filter(({ meaning, weight }) => meaning !== 'progressing' || weight !== 'part')
}

/** `cluster.x-k8s.io/paused`, `strimzi.io/pause-reconciliation`: the controller ignores the object. */
const pauseAnnotation = /\/(?:paused?|suspend(?:ed)?)(?:-?reconcil\w*)?$/i

/** The suspension that the spec or an annotation requests: the controller does not act on the object. */
export function specSuspension(object: KubeObject): readonly Signal[] {
  if (isSchedule(object)) return []
  const spec = (object.spec ?? {}) as Fields
  const field = ['suspend', 'suspended', 'paused', 'pause', 'hibernate', 'canceled', 'cancelled'].find(
    (key) => spec[key] === true,
  )
  // Custom workloads pause a rollout in their strategy.
  const strategy = ['strategy', 'updateStrategy', 'rollout'].find(
    (key) => (spec[key] as Fields | null | undefined)?.['paused'] === true,
  )
  const path = field ?? (strategy === undefined ? undefined : `${strategy}.paused`)
  const annotation = Object.entries(object.metadata.annotations ?? {}).find(
    ([key, value]) => pauseAnnotation.test(key) && value !== 'false',
  )
  const found = path === undefined ? annotation : ([`spec.${path}`, 'true'] as const)
  return found === undefined ? [] : [{ meaning: 'suspended', weight: 'spec', name: found[0], value: String(found[1]) }]
}

/** Whether a suspended or unknown state is the state that the spec requests: `spec.job.state: suspended`. */
function matchesDesiredState({ meaning, weight, value = '' }: Signal, { spec }: KubeObject): boolean {
  if (meaning !== 'suspended' && weight !== 'unknown') return false
  return desiredStates(spec).some((state) => tokensOf(state).join('') === tokensOf(value).join(''))
}

function asReady(signal: Signal): Signal {
  return { ...signal, meaning: 'ready', weight: signal.weight === 'unknown' ? 'whole' : signal.weight }
}

function desiredStates(spec: object | null | undefined): readonly string[] {
  const isState = (key: string, value: unknown): value is string => typeof value === 'string' && /state$/i.test(key)
  return Object.entries(spec ?? {}).flatMap(([key, value]) => {
    if (isState(key, value)) return [value]
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value as Fields).flatMap(([inner, word]) => (isState(inner, word) ? [word] : []))
  })
}

/** A schedule works later, like a CronJob: an empty status or a suspension is normal. */
export function isSchedule({ kind, spec }: KubeObject): boolean {
  const { schedule, schedules } = (spec ?? {}) as Fields
  return kind.startsWith('Cron') || kind.endsWith('Schedule') || schedule !== undefined || schedules !== undefined
}

/** Whether an object does work that ends, such as a Job, a backup or a test. */
function isPieceOfWork(object: KubeObject): boolean {
  return endsByItself(object) || (!isSchedule(object) && hasSteps((object.status ?? {}) as Fields))
}

/** Whether the kind or the status of an object shows that its work ends: a failed state is its end. */
export function endsByItself(object: KubeObject): boolean {
  if (isSchedule(object)) return false
  return (
    sometimesWorkKinds.test(object.kind) ||
    isJobLike(object, (object.status ?? {}) as Fields) ||
    hasPresentCondition(object, ({ name, value }) => workConditions.test(name) && value !== 'True')
  )
}

/** Whether an object is Job-like: by its kind, or by the fields of a Job or of a set of Jobs. */
function isJobLike({ kind, spec }: KubeObject, status: Fields): boolean {
  const isCount = (value: unknown) => typeof value === 'number'
  const hasCounts = ({ active, succeeded, failed }: Fields) =>
    isCount(succeeded) && (isCount(active) || isCount(failed))
  const parts = Object.values(status).flatMap((value) =>
    fieldsOf(Array.isArray(value) ? value : Object.values(value ?? {})),
  )
  return (
    workKinds.test(kind) ||
    workSpecKeys.some((key) => (spec as Fields | null | undefined)?.[key] !== undefined) ||
    Object.keys(status).some((key) => endKeys.test(key)) ||
    [status, ...parts].some(hasCounts)
  )
}

/** Whether a status contains a list of steps, each with its state: `Running` beside them is not the goal. */
function hasSteps(status: Fields): boolean {
  const hasState = (step: Fields) => Object.keys(step).some((name) => stateEnding.test(name))
  return Object.entries(status).some(
    ([key, value]) => tokensOf(key).some((token) => stepWords.has(token)) && fieldsOf(value).some(hasState),
  )
}
