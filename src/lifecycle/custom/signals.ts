import type { Fields, KubeObject } from '../../cluster/objects.ts'
import {
  type ConditionSignal,
  conditionSignal,
  conditionsIn,
  fieldsOf,
  isEmpty,
  isOfPresentGeneration,
  isStale,
  listOf,
} from '../conditions.ts'
import { readCounts, readField } from './status-fields.ts'
import { type Meaning, readCondition, type Signal, tokensOf } from './status-vocabulary.ts'

/** Status fields that contain the generation that the status describes. */
const generationKeys = /^(?:observed|reconciled|last(?:Observed|Evaluated|Reconciled|Processed|Handled))Generation$/
/** Status fields of the Gateway API that contain the conditions of parts (GEP-713, Route and Gateway). */
const conditionHolders = ['parents', 'ancestors', 'listeners'] as const
/** Kinds whose objects do work that ends, such as Jobs. */
const workKinds =
  /(?:Job|Run|Task|Workflow|Backup|Restore|Migration|Analysis|Experiment|Operation|Execution|Build|Test|Import|Export|Request|Transfer|Clone|Upload|Download)$/
/** Conditions that only such work has. */
const workConditions = /(?:Completed?|Succeeded|Finished)$/

/** Every signal of an object about its present generation, in the order of its spec and status. */
export function readSignals(object: KubeObject): readonly Signal[] {
  const status = typeof object.status === 'string' ? { status: object.status } : ((object.status ?? {}) as Fields)
  const isWork = isPieceOfWork(object)
  return [
    ...specSuspension(object),
    ...presentSignals(object).flatMap((each) => readConditionSignal(each, isWork)),
    ...missingAcceptance(object),
    ...Object.entries(status)
      .flatMap(([key, value]) => readField(key, value, isWork, status))
      .map((each) => (matchesDesiredState(each, object) ? { ...each, meaning: 'ready' as const } : each)),
    ...readCounts(object),
  ]
}

/** The combined result of all signals of an object. */
export interface SignalSummary {
  /** Undefined if there is no signal. */
  readonly meaning: Meaning | undefined
  /** The signals that decided, the most significant first. */
  readonly signals: readonly Signal[]
  /** The condition Reconciling is True. */
  readonly isReconciling?: boolean
}

/**
 * Combines the signals of an object.
 *
 * Ready=True decides, as in other tools. Only these override it: Stalled, Reconciling, a spec that is not accepted, and
 * a contradiction (Degraded=True). Without Ready, the worst signal about the whole object decides. Signals about parts
 * count only if no signal is about the whole object.
 */
export function summarizeSignals(signals: readonly Signal[]): SignalSummary {
  const find = (meaning: Meaning, ...weights: Signal['weight'][]) =>
    signals.filter((each) => each.meaning === meaning && weights.includes(each.weight))
  const isReconciling = signals.some(
    ({ part, name, value }) => part === undefined && name === 'Reconciling' && value === 'True',
  )
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  const failures = [
    ...find('failed', 'whole', 'change'),
    ...(isGood ? [] : [...find('failed', 'part'), ...find('failed', 'error')]),
  ]
  const candidates: readonly (readonly [Meaning, readonly Signal[]])[] = [
    ['suspended', find('suspended', 'spec')],
    ['failed', find('failed', 'summary')],
    // A controller that is reconciling may repair the failure.
    ['failed', isReady || isReconciling ? [] : failures],
    ['suspended', find('suspended', 'whole', 'summary', 'change')],
    ['progressing', find('progressing', 'summary')],
    ['progressing', find('progressing', 'accepted')],
    // Ready=True together with Degraded=True is progressing.
    [
      'progressing',
      isReady ? failures.filter(({ condition, weight }) => condition !== undefined && weight === 'whole') : [],
    ],
    ['ready', find('ready', 'summary')],
    ['progressing', find('progressing', 'whole', 'change')],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, decisive] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  return { meaning, signals: decisive, isReconciling }
}

/**
 * Whether the status is about an older generation. Where neither the status nor Ready names the present generation, one
 * condition of an older generation shows that the controller has not reconciled the present one.
 */
export function isUnobserved(object: KubeObject): boolean {
  if (isRequestOpen(object) || isReferenceStale(object)) return true
  const conditions = conditionSignals(object).flatMap(({ condition }) => condition ?? [])
  const ready = conditions.find((each) => each.type === 'Ready' && isOfPresentGeneration(each, object))
  // The generation of a condition overrides that of the status.
  if (isGenerationStale(object)) return ready?.observedGeneration === undefined
  const stale = conditions.filter((each) => !isOfPresentGeneration(each, object) && readCondition(each) !== undefined)
  return stale.length > 0 && ready === undefined
}

/**
 * Whether the status names an older generation, of the object or of an object that it references, or is older than the last
 * request to reconcile.
 */
export function isStatusStale(object: KubeObject): boolean {
  return isGenerationStale(object) || isReferenceStale(object) || isRequestOpen(object)
}

function isGenerationStale({ status, metadata: { generation } }: KubeObject): boolean {
  return Object.entries((status ?? {}) as Fields).some(
    ([key, value]) => generationKeys.test(key) && isStale(value, generation),
  )
}

/** Argo Rollouts write the generation of the Deployment that a Rollout references (`workloadRef`) in an annotation. */
function isReferenceStale({ status, metadata: { annotations } }: KubeObject): boolean {
  const { workloadObservedGeneration } = (status ?? {}) as Fields
  return isStale(workloadObservedGeneration, Number(annotations?.['rollout.argoproj.io/workload-generation'] ?? 0))
}

/**
 * `flux reconcile` writes the time of its request in an annotation, and the controller copies it to the status
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#triggering-a-reconcile). An empty status is that of a kind
 * without a controller.
 */
function isRequestOpen({ status, metadata: { annotations } }: KubeObject): boolean {
  const requested = annotations?.['reconcile.fluxcd.io/requestedAt']
  if (requested === undefined || isEmpty(status)) return false
  const { lastHandledReconcileAt: handled } = status as Fields
  return handled !== requested && !(Date.parse(requested) <= Date.parse(String(handled)))
}

/** Whether the status names the generation that it is about. */
export function namesGeneration({ status }: KubeObject): boolean {
  return Object.keys((status ?? {}) as Fields).some((key) => generationKeys.test(key))
}

/** The suspension that the spec requests: the controller does not act on the object. */
export function specSuspension(object: KubeObject): readonly Signal[] {
  if (isSchedule(object)) return []
  const spec = (object.spec ?? {}) as Fields
  const field = ['suspend', 'suspended', 'paused', 'pause', 'hibernate'].find((key) => spec[key] === true)
  // Custom workloads pause a rollout in their strategy.
  const strategy = ['strategy', 'updateStrategy', 'rollout'].find(
    (key) => (spec[key] as Fields | null | undefined)?.['paused'] === true,
  )
  const path = field ?? (strategy === undefined ? undefined : `${strategy}.paused`)
  return path === undefined ? [] : [{ meaning: 'suspended', weight: 'spec', name: `spec.${path}`, value: 'true' }]
}

/** Whether a suspended state is the requested one, and so reached: `spec.job.state: suspended`. */
function matchesDesiredState({ meaning, value = '' }: Signal, { spec }: KubeObject): boolean {
  if (meaning !== 'suspended') return false
  return desiredStates(spec).some((state) => tokensOf(state).join('') === tokensOf(value).join(''))
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

function isPieceOfWork(object: KubeObject): boolean {
  return (
    workKinds.test(object.kind) ||
    presentSignals(object).some(({ name, value }) => workConditions.test(name) && value !== 'True')
  )
}

/** The conditions of an object and its parts, of any generation. */
function conditionSignals(object: KubeObject): readonly ConditionSignal[] {
  const status = (object.status ?? {}) as Fields
  const own = conditionsIn(asList(status['conditions'])).map((condition) => conditionSignal(condition))
  const ofParts = conditionHolders.flatMap((holder) =>
    fieldsOf(status[holder]).flatMap(({ conditions, name }) => {
      const part = `${holder.slice(0, -1)}${typeof name === 'string' ? ` ${name}` : ''}`
      return conditionsIn(conditions).map((condition) => conditionSignal(condition, part))
    }),
  )
  return [...own, ...ofParts]
}

function presentSignals(object: KubeObject): readonly ConditionSignal[] {
  return conditionSignals(object).filter(
    ({ condition }) => condition !== undefined && isOfPresentGeneration(condition, object),
  )
}

/** Conditions as a list; some kinds have a map by type: `{Ready: {status: 'True'}}`, `{Ready: 'True'}`. */
function asList(conditions: unknown): unknown {
  if (typeof conditions !== 'object' || conditions === null || Array.isArray(conditions)) return conditions
  return Object.entries(conditions).map(([type, value]) =>
    typeof value === 'object' && value !== null ? { ...value, type } : { type, status: value },
  )
}

/** Each parent and ancestor of the Gateway API must report whether it accepts the object. */
function missingAcceptance({ status }: KubeObject): readonly Signal[] {
  return (['parents', 'ancestors'] as const).flatMap((holder): readonly Signal[] => {
    const isMissing = listOf(((status ?? {}) as Fields)[holder]).some(
      (each) => !conditionsIn(((each ?? {}) as Fields)['conditions']).some(({ type }) => type === 'Accepted'),
    )
    const message = 'one of them has not accepted it yet'
    return isMissing ? [{ meaning: 'progressing', weight: 'accepted', name: holder, message }] : []
  })
}

function readConditionSignal(signal: ConditionSignal, isWork: boolean): readonly Signal[] {
  const reading = signal.condition && readCondition(signal.condition, isWork)
  if (reading === undefined) return []
  const weight = signal.part !== undefined && reading.weight !== 'accepted' ? 'part' : reading.weight
  return [{ ...signal, ...reading, weight }]
}
