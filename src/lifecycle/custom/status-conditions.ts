import { type Condition, type Fields, isObject, type KubeObject } from '../../cluster/objects.ts'
import { wordSet } from '../../plan/names.ts'
import { type ConditionSignal, conditionSignal, conditionsIn, objectsIn, type StatusCondition } from '../conditions.ts'
import { hasPresentGeneration, isGenerationStale } from '../stale-status.ts'
import { hasAnyWord, isEndState, isInProgress, type Meaning, meaningOf, otherWords, wordsOf } from './words.ts'

/*
 * Reads the signals of conditions. A type may be good or bad (Ready, Degraded). The types are from kstatus
 * (https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus: Ready, Reconciling, Stalled), the Gateway API
 * (Accepted, Programmed, ResolvedRefs), Crossplane (Synced) and Knative (Succeeded).
 */

/** A statement in a status about the state of an object: a condition or a field. */
export interface Signal extends ConditionSignal {
  readonly meaning: Meaning
  /**
   * What the signal describes. `summary`: all aspects of the object (Ready). `accepted`: whether the spec was accepted.
   * `whole`: one aspect of the whole object (Available, `phase`). `part`: a part of the object (DatabaseReady).
   * `change`: the change in progress (UpdateStatus, replica counts). `error`: an error text. `unknown`: a state with an
   * unknown meaning, which counts only without other signals. `spec`: a request in the spec.
   */
  readonly scope: 'summary' | 'accepted' | 'whole' | 'part' | 'change' | 'error' | 'unknown' | 'spec'
}

type Reading = Pick<Signal, 'meaning' | 'scope'>

/** Words that have a special meaning in the types of conditions. */
const conditionTypes = {
  /** Types that summarize the object, from kstatus. */
  summary: wordSet('ready notready stalled reconciling'),
  /** Types that are True once the present spec is accepted. Ready may still describe the previous spec then. */
  acceptance: wordSet(`
    accepted admitted applied compliant namesaccepted programmed reconciled resolvedrefs synced valid validated
  `),
  /** Words for first steps: True does not mean ready. */
  step: new Set([...otherWords.step, 'initialized']),
  /** Words that mean ready in a state, but an option in the type of a condition. */
  option: wordSet('enabled supported existing failedover failedback idle'),
  /** Words for events that do not always happen to a part: False is normal. */
  event: wordSet('upgraded restored imported exported promoted released elected migrated recovered rotated renewed'),
}
/** Matches the reasons of conditions about parts that the user did not request: `Disabled`, `BackupNotConfigured`. */
export const notRequested =
  /disabled|skipped|optional|^(?:required|requested)$|(?:not|un)[-_ ]?(?:required|applicable|needed|requested|used|enabled|configured)/i
/** Words in reasons that mean that the work is done: Progressing=True with the reason NewReplicaSetAvailable. */
const doneReasons = wordSet('available completed complete succeeded successful finished done healthy')

/** The meaning of a condition type if the status is True. The last word decides: `DatabaseReady`. */
export function readConditionType(type: string): Reading | undefined {
  // A type may begin with a domain: `secrets.example.com/SyncReady`.
  const tokens = wordsOf(type.replace(/^.*\//, '')).filter(
    (token, index) => index === 0 || !otherWords.neutral.has(token),
  )
  const [first = '', last = ''] = [tokens[0], tokens.at(-1)]
  const name = tokens.join('')
  if (conditionTypes.summary.has(name)) return { meaning: meaningOf(name) ?? 'progressing', scope: 'summary' }
  if (conditionTypes.acceptance.has(name)) return { meaning: 'ready', scope: 'accepted' }
  // The condition is about the deletion of the object, or only a remark.
  if (tokens.includes('deletion') || last.startsWith('warning')) return undefined
  const scope = tokens.length === 1 ? 'whole' : 'part'
  const meaning = conditionTypes.option.has(last)
    ? undefined
    : conditionTypes.step.has(last)
      ? 'ready'
      : meaningOf(last)
  if (otherWords.negation.has(tokens.at(-2) ?? '')) return negateReading(meaning)
  // The meaning is unclear: `NoSuchHostError` is an error, but `NoUpdateAvailable` is not.
  if (first === 'no') return tokens[1] === 'matching' ? { meaning: 'progressing', scope: 'part' } : undefined
  if (meaning === 'suspended') return { meaning, scope: first.startsWith('reconcil') ? 'whole' : scope }
  if (meaning === 'failed' || meaningOf(first) === 'failed')
    return { meaning: 'failed', scope: /^invalid|error/.test(name) ? 'whole' : scope }
  if (meaning !== undefined) return { meaning, scope }
  // The first word is the activity of a controller, and the next words are the part: `UpdatingConfig`.
  return isInProgress(first) && !/^stat(?:e|us)$/.test(last) ? { meaning: 'progressing', scope: 'part' } : undefined
}

/** The reading of a negated word (`NotReady`, `NoErrors`). It describes a part, and is never a failure. */
function negateReading(meaning: Meaning | undefined): Reading | undefined {
  if (meaning === undefined || meaning === 'suspended') return undefined
  return { meaning: meaning === 'ready' ? 'progressing' : 'ready', scope: 'part' }
}

/**
 * The meaning of a condition of unknown type. It has one only if its status is a state (`Install: InProgress`), if its reason
 * is InProgress, or if it is False and its reason means progress or a failure. A type such as `Upgradeable` is about the future.
 */
function readUnknownType({ type, status, reason = '' }: Condition, isWork: boolean): Reading | undefined {
  const why = meaningOf(reason)
  const isBad = why === 'progressing' || (why === 'failed' && !/able$/i.test(type))
  const isUnderway = /^false$/i.test(status) && isBad && !hasAnyWord(wordsOf(reason), otherWords.negation)
  const meaning =
    isUnderway || /^in-?progress$/i.test(reason)
      ? 'progressing'
      : /^(?:true|false)$/i.test(status)
        ? undefined
        : meaningOf(status, isWork)
  return meaning && { meaning, scope: 'part' }
}

/**
 * The meaning of a condition: `Ready=False` and `Progressing=True` mean "progressing", and `Degraded=True` "failed".
 * Undefined for the good status of a bad type (Degraded=False), and for unknown types.
 * @param isWork the object does work that ends, such as a Job: `Running=True` is not its goal
 */
export function readCondition(condition: Condition, isWork = false): Reading | undefined {
  const { type, reason = '', message = '' } = condition
  const status = condition.status.toLowerCase()
  // Unknown with a number as its message is a count: `IPsAvailable`.
  if (status === 'unknown' && /^\d+$/.test(message)) return undefined
  const known = readConditionType(type)
  const why = meaningOf(reason)
  if (known === undefined) return /^No[A-Z]/.test(type) ? undefined : readUnknownType(condition, isWork)
  if (known.meaning === 'ready')
    return status === 'true'
      ? readTrueGoodCondition(known, condition, isWork)
      : readFalseGoodCondition(known, condition, isWork)
  // As in Deployments, Progressing may stay True after the end, and False means that the controller has given up.
  const isProgressing = /^progressing$/i.test(type)
  if (isProgressing && why === 'suspended') return { meaning: why, scope: 'whole' }
  if (isProgressing && status === 'false') return why === 'failed' ? { meaning: why, scope: 'whole' } : undefined
  if (status === 'false' && known.meaning === 'progressing' && why === 'failed') return known
  if (status !== 'true') return undefined
  // `Progressing` or `Suspended` with a reason such as `Completed` describes the past.
  return isDoneReason(reason) && known.meaning !== 'failed' ? undefined : known
}

/** The reading of a good condition that is True. If its reason is a failure, work that ends has failed. */
function readTrueGoodCondition(
  good: Reading,
  { type, reason = '', message = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const last = wordsOf(type).at(-1) ?? ''
  if (meaningOf(reason) === 'failed') return { ...good, meaning: isWork ? 'failed' : 'progressing' }
  if (conditionTypes.step.has(last) && good.scope !== 'accepted') return undefined
  if (isWork && otherWords.started.has(last)) return { meaning: 'progressing', scope: 'part' }
  // An operator may report its present step in the message of `Running`: "Creating the database".
  const isStep = last === 'running' && /^\w+ing\b/.test(message) && !isDoneReason(reason)
  return isStep ? { ...good, meaning: 'progressing' } : good
}

/** The reading of a good condition that is False or Unknown. */
function readFalseGoodCondition(
  good: Reading,
  { type, status, reason = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const last = wordsOf(type).at(-1) ?? ''
  const isFalse = /^false$/i.test(status)
  const isStarted = otherWords.started.has(last)
  const isUnused = good.scope === 'part' && (notRequested.test(reason) || conditionTypes.event.has(last))
  // OpenShift: False is the normal status of this condition.
  const isNormal = /^AsExpected$/i.test(reason)
  if (isFalse && (isUnused || isNormal || (isDoneReason(reason) && (isWork || isStarted || last.endsWith('ing')))))
    return undefined
  if (isWork && isStarted) return undefined
  // Knative: Succeeded=False is final; while the work is in progress, it is Unknown.
  if (type === 'Succeeded' && isFalse && meaningOf(reason, true) !== 'progressing')
    return { ...good, meaning: 'failed' }
  const isSuspended = meaningOf(reason) === 'suspended' && good.scope !== 'part'
  return { ...good, meaning: isSuspended ? 'suspended' : 'progressing' }
}

function isDoneReason(reason: string): boolean {
  const tokens = wordsOf(reason)
  return doneReasons.has(tokens.at(-1) ?? '') && !hasAnyWord(tokens, otherWords.negation)
}

/** The status fields of the Gateway API that contain the conditions of parts (GEP-713, Route and Gateway). */
export const conditionHolders = ['parents', 'ancestors', 'listeners']

/** The conditions of an object and its parts, of any generation. */
export function conditionSignals({ status }: KubeObject): readonly StatusCondition[] {
  const fields = (status ?? {}) as Fields
  const own = withoutHistory(conditionsIn(toConditionList(fields['conditions']))).map((each) => conditionSignal(each))
  const ofParts = conditionHolders.flatMap((holder) =>
    objectsIn(fields[holder]).flatMap(({ conditions, name = '' }) => {
      const list = conditionsIn(conditions)
      // Each parent and ancestor must report whether it accepts the object.
      const isMissing = holder !== 'listeners' && !list.some(({ type }) => type === 'Accepted')
      const all = isMissing ? [...list, { type: 'Accepted', status: 'Unknown', message: 'not reported yet' }] : list
      return all.map((each) => conditionSignal(each, `${holder.slice(0, -1)} ${String(name)}`.trim()))
    }),
  )
  return [...own, ...ofParts]
}

/** The newest of the conditions with the same type: some controllers keep older ones (KubeletConfig of OpenShift). */
function withoutHistory(conditions: readonly Condition[]): readonly Condition[] {
  const timeOf = ({ lastTransitionTime = '' }: Condition) => Date.parse(lastTransitionTime)
  const newest = new Map<string, number>()
  for (const each of conditions) newest.set(each.type, Math.max(newest.get(each.type) ?? 0, timeOf(each) || 0))
  return conditions.filter((each) => !(timeOf(each) < (newest.get(each.type) ?? 0)))
}

/** Converts conditions to a list with types, from a map (`{Ready: {status: 'True'}}`, `{Ready: 'True'}`) or from states. */
function toConditionList(list: unknown): unknown {
  if (!isObject(list)) return objectsIn(list).map((each) => ({ type: 'State', status: each['state'], ...each }))
  return Object.entries(list).map(([type, value]) => ({ ...(isObject(value) ? value : { status: value }), type }))
}

/** The conditions of the present generation. If the status has an older generation, a condition needs its own. */
export function presentConditionSignals(object: KubeObject): readonly StatusCondition[] {
  const isOld = isGenerationStale(object)
  return conditionSignals(object).filter(
    ({ condition }) =>
      hasPresentGeneration(condition, object) && !(isOld && condition.observedGeneration === undefined),
  )
}

export function readConditions(object: KubeObject, isWork: boolean): readonly Signal[] {
  return presentConditionSignals(object).flatMap((signal) => {
    const reading = readCondition(signal.condition, isWork)
    if (reading === undefined) return []
    const scope = signal.part !== undefined && reading.scope !== 'accepted' ? 'part' : reading.scope
    return [{ ...signal, ...reading, scope }]
  })
}

/**
 * The signal that a summary condition is still missing: all conditions have unknown types. Only for controllers that
 * follow the API conventions, because their conditions have `observedGeneration`
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 */
export function readUnknownConditions(object: KubeObject): readonly Signal[] {
  const present = presentConditionSignals(object)
  const [first] = present
  const isDated = present.some(({ name, condition }) => name !== 'State' && condition.observedGeneration !== undefined)
  const isFirstStep = ({ name, value }: ConditionSignal) => name === 'Initialized' && value === 'True'
  const isUnknown = present.every((each) => isFirstStep(each) || readConditionType(each.name) === undefined)
  return first === undefined || !(isDated || present.every(isFirstStep)) || !isUnknown
    ? []
    : [{ ...first, meaning: 'progressing', scope: 'unknown' }]
}

export interface SignalSummary {
  /** Undefined if there is no signal. */
  readonly meaning: Meaning | undefined
  /** The signals that decided, the most important first. */
  readonly signals: readonly Signal[]
  readonly isReconciling?: boolean
}

/**
 * Combines the signals of an object. Ready=True decides, as in other tools. Only these signals override Ready: Stalled,
 * Reconciling, a spec that is not accepted, a rollout in progress (UpToDate=False), and a contradiction
 * (Degraded=True). Without Ready, the worst signal decides. A failed part fails the object only if no signal of the
 * object is good.
 */
export function summarizeSignals(signals: readonly Signal[]): SignalSummary {
  const find = (meaning: Meaning, ...scopes: Signal['scope'][]) =>
    signals.filter((each) => each.meaning === meaning && scopes.includes(each.scope))
  const isReconciling = signals.some(
    ({ part, name, value }) => part === undefined && name === 'Reconciling' && value === 'True',
  )
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  // After the end of the work, parts in progress do not matter: Running=True may remain.
  const isEnded = find('ready', 'whole').some(({ name, value = '', condition }) =>
    isEndState(condition !== undefined ? name : /^(?:phase|state)$/i.test(name) ? value : ''),
  )
  // Nor does it matter then that Running is False.
  const isOver = ({ name, value, condition }: Signal) =>
    isEnded && condition !== undefined && value === 'False' && otherWords.started.has(wordsOf(name).at(-1) ?? '')
  const failedParts = find('failed', 'part')
  const failures = [
    ...find('failed', 'whole', 'change'),
    ...(isGood ? [] : [...failedParts, ...find('failed', 'error')]),
  ]
  const isContradiction = (each: Signal) =>
    each.scope === 'whole' && (each.condition || isBadHealth(each) || /^(?:result|outcome)$/i.test(each.name))
  const candidates: readonly (readonly [Meaning, readonly Signal[]])[] = [
    ['suspended', find('suspended', 'spec')],
    ['failed', find('failed', 'summary')],
    // A controller that is reconciling may repair the failure.
    ['failed', isReady || isReconciling ? [] : failures],
    ['suspended', find('suspended', 'whole', 'summary', 'change')],
    ['progressing', find('progressing', 'summary')],
    ['progressing', find('progressing', 'accepted')],
    // Ready=True together with Degraded=True or a bad health is progressing.
    ['progressing', isReady ? failures.filter(isContradiction) : []],
    ['progressing', isReady ? signals.filter(isOpenRollout) : []],
    ['ready', find('ready', 'summary')],
    ['progressing', [...find('progressing', 'whole', 'change').filter((each) => !isOver(each)), ...failedParts]],
    // Unknown does not count: many controllers never set the conditions of unused parts.
    ['progressing', isGood && !isEnded ? find('progressing', 'part').filter(({ value }) => value !== 'Unknown') : []],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part', 'error')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, decisive] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  if (meaning !== 'progressing') {
    // Stalled=True means that the controller has given up. The False conditions contain the cause.
    const isStalled = meaning === 'failed' && decisive[0]?.scope === 'summary'
    const causes = signals.filter(({ condition, value, message }) => condition && value === 'False' && message)
    return { meaning, signals: isStalled ? [...decisive, ...causes] : decisive, isReconciling }
  }
  // A condition that is True or Unknown, a state or a count shows that the controller is still working.
  const isWorking = signals.some(
    (each) => each.meaning === 'progressing' && !isFailedCondition(each) && each.value !== 'False',
  )
  // Ready=False (or ServerReady=False) is never a failure: many controllers set it at each attempt.
  const errors =
    isReconciling || isWorking ? [] : decisive.filter((each) => isFailedCondition(each) && !/ready$/i.test(each.name))
  if (errors.length > 0) return { meaning: 'failed', signals: errors.map((each) => ({ ...each, scope: 'error' })) }
  return {
    meaning,
    signals: decisive.toSorted((a, b) => Number(isFailedCondition(b)) - Number(isFailedCondition(a))),
    isReconciling,
  }
}

/** Whether a signal reports bad health. An object may have bad health while its parts start. */
export function isBadHealth({ name, value = '' }: Signal): boolean {
  return [...wordsOf(name), ...wordsOf(value)].some((token) => /^(?:unhealthy|degraded|critical|red)$/.test(token))
}

/** Whether a signal shows a rollout in progress (UpToDate=False): then Ready may describe the old pods. */
function isOpenRollout({ meaning, name, value = '', condition }: Signal): boolean {
  const words = /^(?:updat|upgrad|rolling|rollout)/i
  const upToDate = /^(?:Config(?:uration)?|Spec|Schema|ClusterSize|All[A-Z]\w*)?(?:UpToDate|Updated|InSync|Aligned)$/
  const types = /^(?:(?:Stable|Quiesced)$|(?:Updat|Upgrad)(?:ing|eInProgress)|Rolling|Rollout|Progressing)/
  if (meaning !== 'progressing') return false
  return condition === undefined ? words.test(name) || words.test(value) : upToDate.test(name) || types.test(name)
}

/** Whether a condition is not good and its reason is a failure: Synced=False with the reason `SyncError`. */
function isFailedCondition({ meaning, value, reason = '', condition }: Signal): boolean {
  return condition !== undefined && meaning === 'progressing' && value !== 'Unknown' && meaningOf(reason) === 'failed'
}
