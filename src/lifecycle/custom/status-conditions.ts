import { type Condition, type Fields, isObject, type KubeObject } from '../../cluster/objects.ts'
import { wordSet } from '../../plan/names.ts'
import { type ConditionSignal, conditionSignal, conditionsIn, objectsIn, type StatusCondition } from '../conditions.ts'
import { hasPresentGeneration, isGenerationStale } from '../status-age.ts'
import { hasAnyWord, isEndState, isInProgress, type Meaning, meaningOf, otherWords, wordsOf } from './words.ts'

/** One signal of an object's state. */
export interface Signal extends ConditionSignal {
  readonly meaning: Meaning
  /**
   * What it is about. `summary`: it summarizes the whole object (Ready). `accepted`: whether the spec was accepted. `whole`:
   * the whole object, without summarizing it (Available, `phase`). `part`: a part of the object (DatabaseReady).
   * `change`: the change in progress (UpdateStatus, replica counts). `error`: the text of an error. `unknown`: a state
   * without a known meaning, which counts only if nothing else shows the state. `spec`: what the user requested in the spec.
   */
  readonly scope: 'summary' | 'accepted' | 'whole' | 'part' | 'change' | 'error' | 'unknown' | 'spec'
}

/** The meaning and scope of a condition. */
type Reading = Pick<Signal, 'meaning' | 'scope'>

/*
 * The signals of conditions, whose types may be good or bad (API conventions): types of kstatus (Ready, Reconciling,
 * Stalled; https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus), the Gateway API (Accepted, Programmed,
 * ResolvedRefs), Crossplane (Synced) and Knative (Succeeded).
 */

/** Words in the types of conditions that are not read like the words of other states. */
const conditionTypes = {
  /** Types of kstatus and their opposite, which summarize the object. */
  summary: wordSet('ready notready stalled reconciling'),
  /** They are True once the present spec is accepted; Ready may still be about the previous spec. */
  acceptance: wordSet(`
    accepted admitted applied compliant namesaccepted programmed reconciled resolvedrefs synced valid validated
  `),
  /** First steps: True does not mean ready. */
  step: new Set([...otherWords.step, 'initialized']),
  /** Ready words that name an option, not a state, if they are the type of a condition. */
  option: wordSet('enabled supported existing failedover failedback idle'),
  /** What happens to a part only sometimes: False is normal. */
  event: wordSet('upgraded restored imported exported promoted released elected migrated recovered rotated renewed'),
}
/** Reasons why a part is False that was never requested: `Disabled`, `BackupNotConfigured`. */
export const notRequested =
  /disabled|skipped|optional|^(?:required|requested)$|(?:not|un)[-_ ]?(?:required|applicable|needed|requested|used|enabled|configured)/i
/** Reasons that mean the end: of Progressing=True (a Deployment's NewReplicaSetAvailable), or of Running=False. */
const doneReasons = wordSet('available completed complete succeeded successful finished done healthy expected')

/** The meaning of a type when it is True; undefined for unknown types. The last word decides: `DatabaseReady`. */
export function readConditionType(type: string): Reading | undefined {
  const tokens = wordsOf(type).filter((token, index) => index === 0 || !otherWords.neutral.has(token))
  const [first = '', last = ''] = [tokens[0], tokens.at(-1)]
  const name = tokens.join('')
  if (conditionTypes.summary.has(name)) return { meaning: meaningOf(name) ?? 'progressing', scope: 'summary' }
  if (conditionTypes.acceptance.has(name)) return { meaning: 'ready', scope: 'accepted' }
  // Whether the object could be deleted, or a remark.
  if (tokens.includes('deletion') || last.startsWith('warning')) return undefined
  const scope = tokens.length === 1 ? 'whole' : 'part'
  const meaning = conditionTypes.option.has(last)
    ? undefined
    : conditionTypes.step.has(last)
      ? 'ready'
      : meaningOf(last)
  if (otherWords.negation.has(tokens.at(-2) ?? '')) return negateReading(meaning)
  // An error whose name begins with `No` (`NoSuchHostError`), or a kind of which there is none (`NoUpdateAvailable`).
  if (first === 'no') return undefined
  if (meaning === 'suspended') return { meaning, scope: first.startsWith('reconcil') ? 'whole' : scope }
  if (meaning === 'failed' || meaningOf(first) === 'failed')
    return { meaning: 'failed', scope: /^invalid|error/.test(name) ? 'whole' : scope }
  if (meaning !== undefined) return { meaning, scope }
  // What a controller does to the part that follows: `UpdatingConfig`.
  return isInProgress(first) ? { meaning: 'progressing', scope: 'part' } : undefined
}

/** The reading of a negated word (`NotReady`, `NoErrors`): it is about a part, and never a failure. */
function negateReading(meaning: Meaning | undefined): Reading | undefined {
  if (meaning === undefined || meaning === 'suspended') return undefined
  return { meaning: meaning === 'ready' ? 'progressing' : 'ready', scope: 'part' }
}

/**
 * The meaning of a condition: `Ready=False`, `Degraded=True` and `Progressing=True` all mean "not ready".
 * Undefined for the good status of a bad type (Degraded=False), and for unknown types.
 * @param isWork the object is a piece of work that ends, so that `Running=True` is not its goal
 */
export function readCondition(condition: Condition, isWork = false): Reading | undefined {
  const { type, reason = '' } = condition
  const status = condition.status.toLowerCase()
  const known = readConditionType(type)
  const why = meaningOf(reason)
  if (known === undefined) {
    // An unknown type has a meaning only if its reason is one of progress, or if its status is a state: `Install:
    // InProgress`.
    const isUnderway = why === 'progressing' && !hasAnyWord(wordsOf(reason), otherWords.negation)
    const meaning =
      status === 'false' ? (isUnderway ? why : undefined) : status === 'true' ? undefined : meaningOf(status, isWork)
    return meaning && { meaning, scope: 'part' }
  }
  if (known.meaning === 'ready')
    return status === 'true'
      ? readTrueGoodCondition(known, condition, isWork)
      : readUntrueGoodCondition(known, condition, isWork)
  // Some controllers keep Progressing=True after the end, and set False when they give up, as for Deployments.
  const isProgressing = /^progressing$/i.test(type)
  if (isProgressing && why === 'suspended') return { meaning: why, scope: 'whole' }
  if (isProgressing && status === 'false') return why === 'failed' ? { meaning: why, scope: 'whole' } : undefined
  if (status !== 'true') return undefined
  // `Progressing` or `Suspended` with a reason such as `Completed` is over, so it means nothing now.
  return isDoneReason(reason) && known.meaning !== 'failed' ? undefined : known
}

/**
 * The reading of a good condition that is True. If its reason is a failure, work has failed; other objects progress.
 */
function readTrueGoodCondition(
  good: Reading,
  { type, reason = '', message = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const last = wordsOf(type).at(-1) ?? ''
  if (meaningOf(reason) === 'failed') return { ...good, meaning: isWork ? 'failed' : 'progressing' }
  if (conditionTypes.step.has(last) && good.scope !== 'accepted') return undefined
  if (isWork && otherWords.started.has(last)) return { meaning: 'progressing', scope: 'part' }
  // `Running` of an operator whose message is its present step: "Creating the database".
  const isStep = last === 'running' && /^\w+ing\b/.test(message) && !isDoneReason(reason)
  return isStep ? { ...good, meaning: 'progressing' } : good
}

/** The reading of a good condition that is False or Unknown. */
function readUntrueGoodCondition(
  good: Reading,
  { type, status, reason = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const last = wordsOf(type).at(-1) ?? ''
  const isFalse = /^false$/i.test(status)
  const isStarted = otherWords.started.has(last)
  const isUnused = good.scope === 'part' && (notRequested.test(reason) || conditionTypes.event.has(last))
  if (isFalse && (isUnused || (isDoneReason(reason) && (isWork || isStarted)))) return undefined
  if (isWork && isStarted) return undefined
  // Knative: Succeeded=False is final; while the work is in progress, it is Unknown.
  if (type === 'Succeeded' && isFalse && meaningOf(reason, true) !== 'progressing')
    return { ...good, meaning: 'failed' }
  const isSuspended = meaningOf(reason) === 'suspended' && good.scope !== 'part'
  return { ...good, meaning: isSuspended ? 'suspended' : 'progressing' }
}

/** Whether a reason means the end: `Completed`. */
function isDoneReason(reason: string): boolean {
  const tokens = wordsOf(reason)
  return doneReasons.has(tokens.at(-1) ?? '') && !hasAnyWord(tokens, otherWords.negation)
}

/** Status fields of the Gateway API that contain the conditions of parts (GEP-713, Route and Gateway). */
export const conditionHolders = ['parents', 'ancestors', 'listeners']

/** The conditions of an object and its parts, of any generation. */
export function conditionSignals({ status }: KubeObject): readonly StatusCondition[] {
  const fields = (status ?? {}) as Fields
  const own = conditionsIn(toConditionList(fields['conditions'])).map((each) => conditionSignal(each))
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

/** Conditions as a list; some kinds have a map by type: `{Ready: {status: 'True'}}`, `{Ready: 'True'}`. */
function toConditionList(conditions: unknown): unknown {
  if (!isObject(conditions)) return conditions
  return Object.entries(conditions).map(([type, value]) => ({ ...(isObject(value) ? value : { status: value }), type }))
}

/** The conditions of the present generation. If the status is older, a condition must have its own generation. */
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
 * The signal that the condition which summarizes the object is still missing: the status contains only conditions of
 * unknown types, and the controller follows the API conventions, because its conditions have `observedGeneration`
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 */
export function readUnknownConditions(object: KubeObject): readonly Signal[] {
  const present = presentConditionSignals(object)
  const [first] = present
  const isDated = present.some(({ condition }) => condition.observedGeneration !== undefined)
  const isUnknown = present.every(({ name }) => readConditionType(name) === undefined)
  return first === undefined || !isDated || !isUnknown ? [] : [{ ...first, meaning: 'progressing', scope: 'unknown' }]
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
 * Ready=True decides, as in other tools. Only these override it: Stalled, Reconciling, a spec that is not accepted, a
 * rollout in progress (UpToDate=False), and a contradiction (Degraded=True). Without Ready, the worst signal decides, of the
 * object or of a part: a phase may predate the change. If the object is good otherwise, the failure of a part does not fail
 * it.
 */
export function summarizeSignals(signals: readonly Signal[]): SignalSummary {
  const find = (meaning: Meaning, ...scopes: Signal['scope'][]) =>
    signals.filter((each) => each.meaning === meaning && scopes.includes(each.scope))
  const isReconciling = signals.some(
    ({ part, name, value }) => part === undefined && name === 'Reconciling' && value === 'True',
  )
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  // After the end, parts that are still in progress do not matter: Running=True may remain.
  const isEnded = find('ready', 'whole').some(({ name, value = '', condition }) =>
    isEndState(condition !== undefined ? name : /^(?:phase|state)$/i.test(name) ? value : ''),
  )
  const failedParts = find('failed', 'part')
  const failures = [
    ...find('failed', 'whole', 'change'),
    ...(isGood ? [] : [...failedParts, ...find('failed', 'error')]),
  ]
  const isContradiction = (each: Signal) => each.scope === 'whole' && (each.condition || isBadHealth(each))
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
    ['progressing', [...find('progressing', 'whole', 'change'), ...failedParts]],
    // Many controllers never set the conditions of parts that are not used.
    ['progressing', isGood && !isEnded ? find('progressing', 'part').filter(({ value }) => value !== 'Unknown') : []],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part', 'error')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, decisive] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  if (meaning !== 'progressing') {
    // Stalled=True reports that the controller has given up; a False condition beside it contains the cause.
    const isStalled = meaning === 'failed' && decisive[0]?.scope === 'summary'
    const causes = signals.filter(({ condition, value, message }) => condition && value === 'False' && message)
    return { meaning, signals: isStalled ? [...decisive, ...causes] : decisive, isReconciling }
  }
  // A condition that is True or Unknown, a state or a count shows that the controller is still working.
  const isWorking = signals.some((each) => each.meaning === 'progressing' && !isError(each) && each.value !== 'False')
  // Ready=False (ServerReady=False) is no failure, whatever its reason: many controllers set it at each attempt.
  const errors =
    isReconciling || isWorking ? [] : decisive.filter((each) => isError(each) && !/ready$/i.test(each.name))
  if (errors.length > 0) return { meaning: 'failed', signals: errors.map((each) => ({ ...each, scope: 'error' })) }
  return { meaning, signals: decisive.toSorted((a, b) => Number(isError(b)) - Number(isError(a))), isReconciling }
}

/** Whether a failed signal is only about bad health, which an object also has while its parts start. */
function isBadHealth({ name, value = '' }: Signal): boolean {
  return [...wordsOf(name), ...wordsOf(value)].some((token) => /^(?:unhealthy|degraded|critical|red)$/.test(token))
}

/**
 * Whether a signal shows that the present spec is not rolled out yet, where Ready may be about the pods of the previous
 * one: UpToDate=False, `updatedReplicas`, `phase: Upgrading`.
 */
function isOpenRollout({ meaning, name, value = '', condition }: Signal): boolean {
  const words = /^(?:updat|upgrad|rolling|rollout)/i
  const types =
    /^(?:(?:UpToDate|Updated|Stable|Quiesced)$|(?:Updat|Upgrad)(?:ing|eInProgress)|Rolling|Rollout|Progressing)/
  if (meaning !== 'progressing') return false
  return condition === undefined ? words.test(name) || words.test(value) : types.test(name)
}

/** Whether a condition is not good, and its reason is a failure: Synced=False with the reason `SyncError`. */
function isError({ meaning, value, reason = '', condition }: Signal): boolean {
  return condition !== undefined && meaning === 'progressing' && value !== 'Unknown' && meaningOf(reason) === 'failed'
}
