import { type Condition, type Fields, isObject, type KubeObject, oncePerObject } from '../../cluster/objects.ts'
import {
  type ConditionSignal,
  conditionSignal,
  conditionsIn,
  fieldsOf,
  isEmpty,
  isOfPresentGeneration,
  isStale,
  listOf,
  observedGenerations,
} from '../conditions.ts'

import {
  activities,
  isEnd,
  type Meaning,
  meaningOf,
  notRequested,
  readCondition,
  type Signal,
  tokensOf,
  typeOf,
  words,
} from './status-words.ts'

/*
 * How the status of a kind is read that nobody has described, as kstatus does it, for more shapes: a status is a list of
 * signals, each with a meaning and with what it is about. `readSignals` finds them in conditions (`readCondition`), fields
 * (`readFields`) and counts (`readCounts`); `summarizeSignals` combines them. Names and states are read by their words:
 * `typeOf` reads the name of a condition, `meaningOf` a state. `isUnobserved` compares the generations before that.
 */

/** Status fields of the Gateway API that contain the conditions of parts (GEP-713, Route and Gateway). */
const conditionHolders = ['parents', 'ancestors', 'listeners'] as const

/** The conditions of an object and its parts, of any generation. */
function conditionSignals({ status }: KubeObject): readonly ConditionSignal[] {
  const fields = (status ?? {}) as Readonly<Record<string, Fields | undefined>>
  const { conditions, condition, conditionedStatus } = fields
  const own = [conditions, conditionedStatus?.['conditions'], condition === undefined ? [] : [condition]]
    .flatMap((list) => latestOfEachType(conditionsIn(asList(list))))
    .map((each) => conditionSignal(each))
  const ofParts = conditionHolders.flatMap((holder) =>
    fieldsOf(fields[holder]).flatMap(({ conditions: list, name }) => {
      const part = `${holder.slice(0, -1)}${typeof name === 'string' ? ` ${name}` : ''}`
      return conditionsIn(list).map((each) => conditionSignal(each, part))
    }),
  )
  return [...own, ...ofParts]
}

/** Conditions as a list; some kinds have a map by type: `{Ready: {status: 'True'}}`, `{Ready: 'True'}`. */
function asList(conditions: unknown): unknown {
  if (!isObject(conditions)) return conditions
  return Object.entries(conditions).map(([type, value]) =>
    typeof value === 'object' && value !== null ? { ...value, type } : { type, status: value },
  )
}

/**
 * Some controllers append a condition for each change instead of replacing the one of its type: then the latest counts, by
 * its time and then by its place. Without times, all of them count.
 */
function latestOfEachType(conditions: readonly Condition[]): readonly Condition[] {
  const timeOf = (each: Condition & { readonly lastUpdateTime?: unknown; readonly timestamp?: unknown }) =>
    Date.parse(String(each.lastTransitionTime ?? each.lastUpdateTime ?? each.timestamp))
  return [...Map.groupBy(conditions, ({ type }) => type).values()].flatMap((ofType) => {
    if (ofType.length === 1 || ofType.some((each) => Number.isNaN(timeOf(each)))) return ofType
    return ofType.toSorted((a, b) => timeOf(a) - timeOf(b)).slice(-1)
  })
}

/** The conditions of the present generation. If the status is older, only those with the present generation. */
function presentConditionSignals(object: KubeObject): readonly ConditionSignal[] {
  const isOld = isGenerationStale(object)
  return conditionSignals(object).filter(
    ({ condition }) =>
      condition !== undefined &&
      isOfPresentGeneration(condition, object) &&
      !(isOld && condition.observedGeneration === undefined),
  )
}

function readConditions(object: KubeObject, isWork: boolean): readonly Signal[] {
  return presentConditionSignals(object).flatMap((signal) => {
    const reading = signal.condition && readCondition(signal.condition, isWork)
    if (reading === undefined) return []
    const weight = signal.part !== undefined && reading.weight !== 'accepted' ? 'part' : reading.weight
    return [{ ...signal, ...reading, weight }]
  })
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

/**
 * A controller that sets `observedGeneration` in its conditions follows the API conventions, which recommend a condition
 * that summarizes the object. While the status contains only conditions of other types, that condition is still missing
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 */
function readUnknownConditions(object: KubeObject): readonly Signal[] {
  const present = presentConditionSignals(object)
  const [first] = present
  const isDated = present.some(({ condition }) => condition?.observedGeneration !== undefined)
  const isUnknown = present.every(({ name }) => typeOf(name) === undefined)
  return first === undefined || !isDated || !isUnknown ? [] : [{ ...first, meaning: 'progressing', weight: 'unknown' }]
}

/*
 * Generations: whether the status is about the present spec at all.
 */

/** Whether the generation in the status is older than the generation of the object. */
function isGenerationStale(object: KubeObject): boolean {
  return observedGenerations(object).some((observed) => isStale(observed, object.metadata.generation))
}

/** Whether the status is about an older generation of the object, or is older than the last request to reconcile. */
export function isStatusStale(object: KubeObject): boolean {
  return isGenerationStale(object) || isRequestOpen(object)
}

/** The names of annotations that request something: `reconcile.fluxcd.io/requestedAt`, `reconcile-now`, `force-sync`. */
const requestNames =
  /^(?:(?:force|reconcile|refresh|re?sync|reset|restart|redeploy|trigger|request(?:ed)?|now|at|time|token|id)[-_]?)+$/i
const requestVerbs = /force|reconcile|refresh|sync|reset|restart|redeploy|trigger|request/i

/**
 * Whether an annotation requests a reconciliation that the status does not contain as handled. Most controllers that
 * support this copy the value of the annotation to the status, as Flux from `reconcile.fluxcd.io/requestedAt` to
 * `lastHandledReconcileAt` (https://fluxcd.io/flux/components/kustomize/kustomizations/#triggering-a-reconcile); others
 * write the time of their last reconciliation. If the status is empty, the kind may have no controller.
 */
function isRequestOpen({ status, metadata: { annotations } }: KubeObject): boolean {
  if (isEmpty(status)) return false
  return Object.entries(annotations ?? {}).some(([key, requested]) => {
    const name = key.split('/').at(-1) ?? ''
    const [verb] = (requestNames.test(name) && requestVerbs.exec(/^request/i.test(name) ? key : name)) || []
    if (verb === undefined) return false
    const handled = Object.entries(status as Fields).find(
      ([field]) => field.startsWith('last') && field.toLowerCase().includes(verb.toLowerCase()),
    )
    if (handled === undefined) return key === 'reconcile.fluxcd.io/requestedAt'
    return isOlder(handled, requested)
  })
}

/** Whether the handled request is older than the present one. Other values than times count in copies of the request. */
function isOlder([field, handled]: readonly [string, unknown], requested: string): boolean {
  const [handledAt = Number.NaN, requestedAt = Number.NaN] = [handled, requested].map((each) =>
    typeof each === 'string' && /^\d{4}-\d\d-\d\dT/.test(each) ? Date.parse(each) : Number.NaN,
  )
  const isDated = !Number.isNaN(handledAt) && !Number.isNaN(requestedAt)
  return handled !== requested && (isDated ? handledAt < requestedAt : /handled|request/i.test(field))
}

/** Whether one of several reporters has not observed the generation: the pods of a webhook (`byPod`). */
function isReporterStale({ status, metadata: { generation } }: KubeObject): boolean {
  return Object.values((status ?? {}) as Fields)
    .flatMap(fieldsOf)
    .some(
      (each) =>
        isStale(each['observedGeneration'], generation) &&
        // The generation beside the name of another object is that of the other object.
        ['name', 'uid', 'kind', 'type', 'resource'].every((key) => each[key] === undefined),
    )
}

/**
 * Whether the status is about an older generation. If neither the status nor Ready has the present generation, one
 * condition of an older generation shows that the controller has not reconciled the present one.
 */
export function isUnobserved(object: KubeObject): boolean {
  if (isRequestOpen(object) || isReporterStale(object)) return true
  const conditions = conditionSignals(object).flatMap(({ condition }) => condition ?? [])
  const isPresent = (each: Condition) => isOfPresentGeneration(each, object)
  const summaries = conditions.filter((each) => typeOf(each.type)?.weight === 'summary' && isPresent(each))
  // The generation of a condition overrides that of the status.
  if (isGenerationStale(object)) return summaries.every(({ observedGeneration }) => observedGeneration === undefined)
  return (
    conditions.some((each) => !isPresent(each) && readCondition(each) !== undefined) &&
    !summaries.some(({ type }) => type === 'Ready')
  )
}

/*
 * The combination of the signals.
 */

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
  const find = (meaning: Meaning, ...weights: Signal['weight'][]) =>
    signals.filter((each) => each.meaning === meaning && weights.includes(each.weight))
  const isReconciling = signals.some(
    ({ part, name, value }) => part === undefined && name === 'Reconciling' && value === 'True',
  )
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  const failedParts = find('failed', 'part')
  const failures = [
    ...find('failed', 'whole', 'change'),
    ...(isGood ? [] : [...failedParts, ...find('failed', 'error')]),
  ]
  const isContradiction = (each: Signal) => each.weight === 'whole' && (each.condition || isBadHealth(each))
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
    ['progressing', isGood ? find('progressing', 'part').filter(({ value }) => value !== 'Unknown') : []],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part', 'error', 'copy')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, decisive] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  if (meaning !== 'progressing') {
    // Stalled=True reports that the controller has given up; a False condition beside it contains the cause.
    const isCause = ({ condition, value, message }: Signal) => condition !== undefined && value === 'False' && message
    const causes = meaning === 'failed' && decisive[0]?.weight === 'summary' ? signals.filter(isCause) : []
    return { meaning, signals: quoteOnce([...decisive, ...causes]), isReconciling }
  }
  // A condition that is True or Unknown, a state or a count shows that the controller is still working.
  const isWorking = signals.some((each) => each.meaning === 'progressing' && !isError(each) && each.value !== 'False')
  // Ready=False (ServerReady=False) is no failure, whatever its reason: many controllers set it at each attempt.
  const errors =
    isReconciling || isWorking ? [] : decisive.filter((each) => isError(each) && !/ready$/i.test(each.name))
  if (errors.length > 0)
    return { meaning: 'failed', signals: quoteOnce(errors.map((each) => ({ ...each, weight: 'error' }))) }
  const quoted = decisive.toSorted((a, b) => Number(isError(b)) - Number(isError(a)))
  return { meaning, signals: quoteOnce(quoted), isReconciling }
}

/**
 * Whether a failed signal is about the health of an object, which is no failed attempt: that of an object whose parts
 * start is bad too.
 */
export function isBadHealth({ name, value = '' }: Signal): boolean {
  return [...tokensOf(name), ...tokensOf(value)].some((token) => /^(?:unhealthy|degraded|critical|red)$/.test(token))
}

/**
 * Whether a signal shows that the present spec is not rolled out yet, where Ready may be about the pods of the previous
 * one: UpToDate=False, `updatedReplicas`, `phase: Upgrading`.
 */
export function isOpenRollout({ meaning, name, value = '', condition }: Signal): boolean {
  const words = /^(?:updat|upgrad|rolling|rollout)/i
  const types =
    /^(?:(?:UpToDate|Updated|Stable|Quiesced)$|(?:Updat|Upgrad)(?:ing|eInProgress)|Rolling|Rollout|Progressing)/
  if (meaning !== 'progressing') return false
  return condition === undefined ? words.test(name) || words.test(value) : types.test(name)
}

/** Whether a condition is not good, and its reason is a failure: Synced=False with the reason `SyncError`. */
export function isError({ meaning, value, reason = '', condition }: Signal): boolean {
  return condition !== undefined && meaning === 'progressing' && value !== 'Unknown' && meaningOf(reason) === 'failed'
}

function quoteOnce(signals: readonly Signal[]): readonly Signal[] {
  const quoted: string[] = []
  return signals.map((each) => {
    const message = String(each.message ?? '')
    if (quoted.some((text) => text.includes(message) || message.includes(text))) return { ...each, message: undefined }
    if (message !== '') quoted.push(message)
    return each
  })
}

/*
 * Fields: states as words, flags, ratios, errors, and the same in parts.
 */

/** Status fields that contain the object's state as a word. */
const stateKeys =
  /^(?:phase|state|status|health|healthstatus|statename|phasename|(?:current|overall|lastobserved)(?:state|phase|status|health))$/i
/** Fields that contain a state in some kinds only, so the gate ignores unknown words. */
const sometimesStateKeys = words('stage result outcome verdict condition progress')
/** Endings of the names of fields that contain a state as a word: `currentStateSummary`. */
const stateEnding = /(?:status|state|phase|health|summary|stage|result)$/i
/** Status fields named like a good condition: `ready: true`, `compliant: NonCompliant`, `ready: 1/2`. */
const goodKeys =
  /^(?:is(?=[A-Z]))?(?:ready|readyToUse|pass|passed|healthy|available|succeeded|synced|inSync|established|compliant|reconciled)$/i
/** Flags of a required step. A step that is done does not show readiness. */
const stepKeys = words(`
  installed provisioned deployed initialized configured created registered joined completed finished running valid
`)
/** Fields whose nested state is about the whole object: `health.status`, `jobStatus.state`. Others are about a part. */
const stateHolders = /(?:state|status|health|phase|result|sync|operation)$/i
/** Fields about another time, or about what was requested. `lastOperation` is about the present. */
const notCurrent =
  /^(?:last(?!operation|observedstate)|previous|prior|old|former|desired|target(?!s)|expected|requested|initial)/i
/** Fields about the change in progress, not the object's previous state. */
const changeKeys =
  /^(?:last)?(?:operation|update|upgrade|rollout|deploy|deployment|reconcile|reconciliation|sync|install|installation|apply|config|configuration|provisioning)(?=Status|State|Phase|$)/i
/** Words in the names of fields about the past, and of lists that contain steps instead of parts. */
const past = words(`
  history histories revision revisions event events log logs record records attempt attempts retry retries backup backups
  snapshot snapshots restore restores violation violations message messages transition transitions timestamp timestamps
  timeline phases deprecated tombstone
`)
const steps = words(
  'operation operations run runs task tasks step steps stage stages job jobs action actions result results',
)
/** States of a part that the object may not need: it was replaced, or not requested. */
const neutralStates = words(
  'disabled inactive unknown terminated deleted removed detached skipped stopped suspended paused',
)
/**
 * Fields that contain a copy of an external object, such as a port of OpenStack that is DOWN without a server: its
 * controller knows whether this state is good.
 */
const copies = /^(?:resource|externalResource|atProvider)$/i
const errorKeys = /^(?:last)?(?:error|errors|err|errmsg|errormessage|failuremessage|failurereason|problems)$|Errors?$/i
/** Texts for the absence of an error. */
const noError = /^(?:none|null|nil|ok|no[- ]?errors?)\.?$/i
/** How deep parts may be nested: `regions.eu.zones[a].phase`. */
const maxDepth = 4

interface Scope {
  readonly isWork: boolean
  readonly spec?: Fields
  /** The path of the fields, with a dot at its end: `nodes[a].`; empty for the status itself. */
  readonly path?: string
  readonly depth?: number
}

/** The signal of a field; empty if its value has no known meaning. */
function fieldSignal(
  name: string,
  value: string,
  meaning: Meaning | undefined,
  weight: Signal['weight'],
): readonly Signal[] {
  return meaning === undefined ? [] : [{ meaning, weight, name, value }]
}

/** The signals of the fields of a status, or of an object in it: words, flags, ratios, counts and errors. */
function readFields(fields: Fields, scope: Scope): readonly Signal[] {
  const signals = Object.entries(fields).flatMap(([key, value]) => readField(key, value, fields, scope))
  return [...signals, ...readCounts(fields, scope)]
}

function readField(key: string, value: unknown, fields: Fields, scope: Scope): readonly Signal[] {
  const { path = '', depth = 0 } = scope
  if (/^(?:conditions|conditionedStatus)$/i.test(key) || isEmpty(value)) return []
  if (errorKeys.test(key)) return readError(`${path}${key}`, value, /^last/i.test(key))
  if (notCurrent.test(key)) return readDesired(key, value, fields, path)
  if (typeof value === 'boolean') return readFlag(key, value, path)
  if (typeof value === 'string') return withMessage(readWord(key, value, scope), fields)
  return typeof value === 'object' && depth < maxDepth ? readInner(key, value as Fields, scope) : []
}

/** A value that differs from the desired one: `currentVersion` and `desiredVersion`. */
function readDesired(key: string, desired: unknown, fields: Fields, path: string): readonly Signal[] {
  const name = key.replace(/^(?:desired|expected)(?=[A-Z])/, 'current')
  const current = fields[name]
  const isOther = name !== key && typeof current === 'string' && current !== '' && typeof desired === 'string'
  return isOther && current.toLowerCase().replace(/^v/, '') !== desired.toLowerCase().replace(/^v/, '')
    ? fieldSignal(`${path}${name}`, current, 'progressing', 'change')
    : []
}

/** An object or list is one signal about a part, unless its name shows that it is the state of the whole. */
function readInner(key: string, value: Fields, { path = '', depth = 0, isWork }: Scope): readonly Signal[] {
  const tokens = tokensOf(key)
  const isPast = tokens.some((token) => past.has(token))
  if (conditionHolders.some((holder) => holder === key)) return []
  // `failedNamespaces`: the parts that have failed.
  if (Array.isArray(value) && tokens.length === 2 && !isPast && meaningOf(tokens[0] ?? '') === 'failed')
    return fieldSignal(`${path}${key}`, `${value.length}`, 'progressing', 'part')
  const inner = { isWork, depth: depth + 1, path: `${path}${key}.` }
  if (copies.test(key))
    return readPart(value, inner).map((each) => (each.meaning === 'ready' ? each : { ...each, weight: 'copy' }))
  if (Array.isArray(value) || Object.values(value).every(isObject)) {
    if (isPast || tokens.some((token) => steps.has(token))) return []
    const signals = Object.entries(value).flatMap(([index, part]) => {
      if (!isObject(part)) return []
      const { name = index } = part as Fields
      return readPart(part as Fields, { ...inner, path: `${path}${key}[${String(name)}].` })
    })
    return signals.filter(({ meaning }) => meaning !== 'ready').slice(0, 1)
  }
  if (!stateHolders.test(key)) return isPast ? [] : readPart(value, inner)
  return readFields(value, inner).map((each) =>
    each.weight === 'whole' && changeKeys.test(key) ? { ...each, weight: 'change' } : each,
  )
}

/**
 * The combined result of the signals of a part, as one signal. A part never fails the object, which may not need the
 * part, unless it is a verdict on the object.
 */
function readPart(part: Fields, scope: Scope): readonly Signal[] {
  const conditions = conditionsIn(part['conditions']).flatMap((condition): Signal[] => {
    const reading = readCondition(condition)
    const signal = { name: `${scope.path}${condition.type}`, value: condition.status, message: condition.message }
    return reading === undefined ? [] : [{ ...reading, ...signal }]
  })
  const fields = readFields(part, scope)
  // The error of a part that has succeeded since is an old one.
  const isOver = fields.some((each) => each.meaning === 'ready')
  const present = fields.filter(({ weight }) => weight !== 'error' || !isOver)
  const { meaning, signals } = summarizeSignals([...conditions, ...present])
  if (meaning === undefined || meaning === 'suspended') return []
  return signals.slice(0, 1).map((each) => ({
    ...each,
    meaning: meaning === 'ready' || (meaning === 'failed' && /verdict$/i.test(each.name)) ? meaning : 'progressing',
    weight: 'part',
  }))
}

/** Adds the message beside a failed state. Some name a sentence `reason`. */
function withMessage(signals: readonly Signal[], { message, reason }: Fields): readonly Signal[] {
  const text = [message, reason].find((each) => typeof each === 'string' && /\S\s+\S/.test(each)) ?? message
  if (typeof text !== 'string' || text === '') return signals
  return signals.map((each) => (each.meaning === 'failed' ? { ...each, message: text } : each))
}

/** A word in a status, or in an object within it. */
function readWord(key: string, value: string, { path = '', depth = 0, isWork }: Scope): readonly Signal[] {
  const at = `${path}${key}`
  const tokens = tokensOf(key)
  if (/^(?:true|false)$/i.test(value)) return readFlag(key, /^true$/i.test(value), path, true)
  if (goodKeys.test(key)) return fieldSignal(at, value, readRatio(value) ?? meaningOf(value), 'whole')
  if (/progress|ready|available|replicas|nodes|members|instances/i.test(key) && /^[\d./]+%?$/.test(value))
    return fieldSignal(at, value, readRatio(value), 'change')
  const meaning = readRatio(value) ?? meaningOf(value, isWork || tokens.some((token) => activities.test(token)))
  // A failure without a state.
  if (at === 'reason') return fieldSignal(at, value, meaning === 'failed' ? 'progressing' : undefined, 'error')
  const isState = stateKeys.test(key)
  const isWhole = isState || sometimesStateKeys.has(key.toLowerCase())
  const isPast = !isWork && tokens.some((token) => past.has(token))
  if (!isWhole && (isPast || !stateEnding.test(key))) return []
  if (isNeutral(value, meaning, { depth, isWork })) return []
  if (depth === 0 && isState && meaning === undefined) return fieldSignal(at, value, 'progressing', 'unknown')
  const weight = isWhole || (isWork && isEnd(value)) ? 'whole' : changeKeys.test(key) ? 'change' : 'part'
  return fieldSignal(at, value, meaning, weight)
}

/** Whether a state shows nothing: work has only started, a part is not needed, or it is ready before the work ends. */
function isNeutral(value: string, meaning: Meaning | undefined, { depth = 0, isWork }: Scope): boolean {
  if (meaning === 'ready' && /^(?:created|initiali[sz]ed)$/i.test(value)) return true
  const isUnneeded = neutralStates.has(value.toLowerCase()) || notRequested.test(value)
  return depth > 0 && (isUnneeded || (isWork && meaning === 'ready' && !isEnd(value)))
}

/** The meaning of a ratio: `1/2`, `1/2 ready`, `40%`; undefined for other texts. */
function readRatio(value: string): Meaning | undefined {
  const [, done, total] = /^(\d+)\/(\d+)(?: |$)/.exec(value) ?? /^(\d+)(?:\.\d+)?(%)$/.exec(value) ?? []
  if (done === undefined) return undefined
  return Number(done) >= (total === '%' ? 100 : Number(total)) ? 'ready' : 'progressing'
}

/**
 * A flag is read as a condition of its name, but a good one that is not set only for few names: most are options.
 * @param isText the flag is the text `True` or `False`: few of these are options
 */
function readFlag(key: string, value: boolean, path: string, isText = false): readonly Signal[] {
  const signal = (meaning: Meaning, weight: Signal['weight']) =>
    fieldSignal(`${path}${key}`, `${value}`, meaning, weight)
  if (goodKeys.test(key) || key === 'health') return signal(value ? 'ready' : 'progressing', 'whole')
  const name = key.replace(/^is(?=[A-Z])/, '')
  const type = typeOf(name)
  if (stepKeys.has(name.toLowerCase())) return value || path !== '' ? [] : signal('progressing', 'unknown')
  if (type?.meaning === 'ready' && (/ready$/i.test(name) || isText))
    return signal(value ? 'ready' : 'progressing', 'part')
  if (value && type !== undefined && type.meaning !== 'ready')
    return path === '' ? signal(type.meaning, type.meaning === 'progressing' ? 'change' : 'whole') : []
  return isText && !value && stateEnding.test(key) ? signal('progressing', 'part') : []
}

/** The text of an error. The last error (`lastError`) may be over. */
function readError(key: string, value: unknown, isLast: boolean): readonly Signal[] {
  if (typeof value === 'boolean' || typeof value === 'number' || noError.test(String(value))) return []
  const { message } = (isObject(value) ? value : {}) as Fields
  const text = typeof value === 'string' ? value : typeof message === 'string' ? message : JSON.stringify(value)
  return [{ meaning: isLast ? 'progressing' : 'failed', weight: 'error', name: key, message: text }]
}

/*
 * Counts.
 */

/** The parts that counts are about, in the singular. `availableIPs` and `completedJobs` count no parts. */
const partNouns = words(`
  replica node member instance pod machine broker shard cluster server worker partition host rack component peer bundle
`)
/** How many parts are requested (`desiredReplicas`) or exist (`totalReplicas`, a noun alone); the next are parts of them. */
const wantedWords = words('desired expected wanted size')
const existingWords = words('total matched all')
const goodWords = words('ready available updated healthy uptodate current actual running')
/** How many parts are not as they should be: `unavailableReplicas`, `degradedMachineCount`. */
const badWords = words('unavailable unready notready nonready degraded failed unhealthy missing outdated')
/** Words without a meaning of their own: `machineCount`, `numberReady`, `desiredNumberScheduled`. */
const countWords = words('count number num of scheduled')
const specKeys = words('replicas size instances nodes members nodeCount count')
/** Progress without parts: `currentStepIndex`, `succeeded`, `progress: 40%`. Other numbers may change without end. */
const progressWords = words(`
  step stage iteration iterations weight succeeded successful completed complete finished done processed progress percent
  percentage ready available updated healthy uptodate
`)
/** Numbers that grow without progress: attempts, failures, generations, times and load. */
const otherWords = words(`
  fail failed failure failures error errors restart restarts retry retries attempt attempts backoff generation revision
  at time timestamp seconds duration elapsed since utilization usage used cpu memory disk
`)
const maxCounters = 100
/** The maximum depth of lists and maps in the spec and status. */
const maxCounterDepth = 8

interface Count {
  readonly key: string
  readonly value: number
  /** The parts, in the singular: `replica`, `core node replica`; empty without a noun: `desired` and `ready`. */
  readonly noun: string
  readonly state: 'wanted' | 'exists' | 'good' | 'bad'
}

function countsOf(fields: Fields): readonly Count[] {
  return Object.entries(fields).flatMap(([key, value]): Count[] => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) return []
    const tokens = countTokens(key)
    const has = (some: ReadonlySet<string>) => tokens.some((token) => some.has(token))
    const nouns = tokens
      .filter((token) => ![wantedWords, existingWords, goodWords, badWords, countWords].some((some) => some.has(token)))
      .map((token) => token.replace(/s$/, ''))
    // `hostsUpdated` is how many the last change updated.
    if ((nouns.length > 0 && !partNouns.has(nouns.at(-1) ?? '')) || /[a-z]Updated$/.test(key)) return []
    const state = has(wantedWords) ? 'wanted' : has(badWords) ? 'bad' : has(goodWords) ? 'good' : 'exists'
    return [{ key, value, noun: nouns.join(' '), state }]
  })
}

/** The words of a name, with `not ready` as one word. */
function countTokens(key: string): readonly string[] {
  return tokensOf(key.replace(/no[nt]-?ready/i, 'Notready'))
}

/**
 * A count which shows that parts are missing: fewer are ready, available or updated than requested or than exist, or
 * some are not. Zero is often omitted. In `replicas: 3` alone, another object scales by the number.
 */
function readCounts(fields: Fields, { spec = {}, path = '' }: Scope): readonly Signal[] {
  const counts = countsOf(fields).filter(({ key }) => !(/updated/i.test(key) && keepsOldParts(spec)))
  const missing = (key: string, text: string, isOmitted = false) =>
    fieldSignal(`${path}${key}`, text, 'progressing', isOmitted ? 'unknown' : 'change')
  for (const { key, value, noun } of counts.filter(({ state }) => state === 'good')) {
    const others = counts.filter((each) => each.noun === noun && each.key !== key)
    const sizes = (state: Count['state']) => others.flatMap((each) => (each.state === state ? [each.value] : []))
    // `total` and `available` of the same parts, or `size` and `available` of a volume: the rest is in use.
    const isCapacity = /^available$/i.test(key)
    const isPrevious = /current|actual|running/i.test(key)
    const wanted = [...(isCapacity ? [] : specCounts(spec, noun)), ...sizes('wanted')]
    const existing = isCapacity || isPrevious ? [] : sizes('exists')
    const total = Math.max(...(wanted.length > 0 ? wanted : existing))
    if (value < total) return missing(key, `${value} of ${total}`)
  }
  // Without a noun, failures are counted over time: `failed: 2`.
  const bad = counts.find(
    ({ key, value, noun, state }) => state === 'bad' && value > 0 && (noun !== '' || /^(?:un|no[nt])/i.test(key)),
  )
  if (bad !== undefined) return missing(bad.key, `${bad.value}`)
  if (counts.some(({ key, state }) => state === 'good' && !/^updated/i.test(key))) return []
  const updated = counts.find(({ key, value }) => key === 'updatedReplicas' && value > 0)
  if (updated !== undefined) return missing('readyReplicas', `0 of ${updated.value}`, true)
  const alone = counts.find(({ value, noun, state }) => state === 'wanted' && noun !== '' && value > 0)
  const isShort = counts.every((each) => each === alone || each.noun !== alone?.noun || each.value < alone.value)
  return alone !== undefined && isShort ? missing(alone.key, `${alone.value}, and fewer exist`, true) : []
}

/** How many parts the spec requests: `spec.nodes` belongs to `readyNodes`, `spec.replicas` to `ready`. */
function specCounts(spec: Fields, noun: string): readonly number[] {
  // The sum of `spec.nodeSets[].count` belongs to `availableNodes`.
  const sets = Object.entries(spec).find(([key, value]) => fieldsOf(value).length > 0 && tokensOf(key)[0] === noun)
  const counts = fieldsOf(sets?.[1]).map(({ count, replicas }) => Number(count ?? replicas))
  if (counts.length > 0) return [counts.reduce((sum, count) => sum + count, 0)]
  return countsOf(spec).flatMap((each) =>
    specKeys.has(each.key) && (each.noun === noun || (noun === '' && each.key === 'replicas')) ? [each.value] : [],
  )
}

/** The only count is one of good parts, which is zero: `readyReplicas: 0`, unless the spec requests zero parts. */
function readNoneReady(status: Fields, spec: Fields): readonly Signal[] {
  const [only, ...others] = countsOf(status)
  const isNone = only?.value === 0 && only.noun !== '' && only.state === 'good' && others.length === 0
  return isNone && !/"\w*(?:replicas|size|instances|nodes|members|count)":0\b/i.test(JSON.stringify(spec))
    ? fieldSignal(only.key, '0', 'progressing', 'unknown')
    : []
}

/** Whether the spec keeps parts at their revision: `updateStrategy.partition`, `rollingUpdate.partition`, OnDelete. */
function keepsOldParts({ updateStrategy, strategy }: Fields): boolean {
  return [updateStrategy, strategy].some((each) => {
    const { type = each, partition, rollingUpdate } = (each ?? {}) as Fields
    return type === 'OnDelete' || Boolean(partition ?? ((rollingUpdate ?? {}) as Fields)['partition'])
  })
}

/**
 * The numbers of a status that show progress when they grow, by path: parts that are as they should be, and steps.
 * Numbers in lists and maps are included.
 */
export function progressCounters(status: unknown): ReadonlyMap<string, number> {
  const counters = new Map<string, number>()
  const read = (key: string, value: unknown, path: string, depth: number) => {
    if (counters.size >= maxCounters || depth > maxCounterDepth) return
    if (typeof value === 'object' && value !== null) {
      for (const [name, each] of Object.entries(value)) read(name, each, `${path}.${name}`, depth + 1)
      return
    }
    const [, percent, done] = /^(\d+)(?:\.\d+)?%$|^(\d+)\/\d+$/.exec(typeof value === 'string' ? value : '') ?? []
    const count = typeof value === 'number' ? value : Number(percent ?? done)
    const has = (some: ReadonlySet<string>) => countTokens(key).some((token) => some.has(token))
    if (count >= 0 && has(progressWords) && !has(otherWords) && !has(badWords)) counters.set(path, count)
  }
  read('', status, 'status', 0)
  return counters
}

/*
 * All signals of an object.
 */

/** Kinds whose objects do work that ends, such as Jobs. */
const workKinds = /(?:Job|JobSet|Run|Workflow|(?:Backup|Restore)(?:Session)?|Migration|Execution|Experiment)$/
/** Kinds that in some groups do such work, and in others describe it. */
const sometimesWorkKinds =
  /(?:Task|Analysis|Operation|Build|Test|Import|Export|Request|Transfer|Clone|Upload|Download|Action|ActionSet|Promotion|Upgrade|Scan|Maintenance)$/
/** Conditions that only such work has. */
const workConditions = /^(?:Completed?|Succeeded|Finished)$/
/** Fields of a spec that only such work has, as in a Job. */
const workSpecKeys = ['backoffLimit', 'completions', 'jobTemplate', 'ttlSecondsAfterFinished']
/** Fields of a status that contain when such work ended. */
const endKeys = /^(?:completion|finish|finished|completed)(?:Time|Timestamp|At)$/
/** Fields of a spec that suspend the object. Custom workloads pause a rollout in their strategy. */
const suspensions = [
  ...words('suspend suspended paused pause hibernate canceled cancelled'),
  ...words('strategy.paused updateStrategy.paused rollout.paused'),
]
/** `cluster.x-k8s.io/paused`, `strimzi.io/pause-reconciliation`: the controller ignores the object. */
const pauseAnnotation = /\/(?:paused?|suspend(?:ed)?)(?:-?reconcil\w*)?$/i

/** Every signal of an object about its present generation, in the order of its spec and status. */
export const readSignals = oncePerObject((object: KubeObject): readonly Signal[] => {
  const status = typeof object.status === 'string' ? { status: object.status } : ((object.status ?? {}) as Fields)
  const spec = (object.spec ?? {}) as Fields
  const isScheduled = isSchedule(object)
  const isWork = endsByItself(object) || (!isScheduled && hasSteps(status))
  const signals = [
    ...specSuspension(object),
    ...readConditions(object, isWork),
    ...missingAcceptance(object),
    // Only conditions have their own observedGeneration.
    ...(isGenerationStale(object) ? [] : asRequested(readFields(status, { isWork, spec }), spec)),
  ]
  const isJob = !isScheduled && isJobLike(object) && !isEmpty(status)
  const found = isJob
    ? untilEnd(signals, status)
    : // A schedule in the state `Scheduled` waits for its next run.
      sinceEnd(signals.filter(({ value = '' }) => !(isScheduled && value.toLowerCase() === 'scheduled')))
  if (found.length > 0) return found
  // An empty phase: its controller has not written it yet.
  const empty = Object.keys(status).find((key) => stateKeys.test(key) && status[key] === '')
  const unwritten = empty === undefined ? [] : fieldSignal(empty, 'empty', 'progressing', 'unknown')
  return [...unwritten, ...readUnknownConditions(object), ...readNoneReady(status, spec)]
})

/** The signals, of which those with the state that the spec requests are ready: `spec.job.state: suspended`. */
function asRequested(signals: readonly Signal[], spec: Fields): readonly Signal[] {
  const fields = [spec, ...Object.values(spec).filter(isObject)].flatMap((each) => Object.entries(each))
  const requested = fields.flatMap(([key, value]) => (/state$/i.test(key) ? [String(value).toLowerCase()] : []))
  return signals.map((each) => {
    const isOpen = each.meaning === 'suspended' || each.weight === 'unknown'
    const isRequested = isOpen && requested.includes((each.value ?? '').toLowerCase())
    return isRequested ? { ...each, meaning: 'ready', weight: 'whole' } : each
  })
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
  return Number(status['failed'] ?? 0) > 0
    ? fieldSignal('failed', `${String(status['failed'])}`, 'failed', 'whole')
    : fieldSignal(endedAt, String(status[endedAt]), 'ready', 'whole')
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

/** The suspension that the spec or an annotation requests: the controller does not act on the object. */
export function specSuspension(object: KubeObject): readonly Signal[] {
  if (isSchedule(object)) return []
  const spec = (object.spec ?? {}) as Fields
  const valueAt = (path: string) =>
    path.split('.').reduce<unknown>((value, key) => (isObject(value) ? (value as Fields)[key] : undefined), spec)
  const field = suspensions.find((path) => valueAt(path) === true)
  const annotation = Object.entries(object.metadata.annotations ?? {}).find(
    ([key, value]) => pauseAnnotation.test(key) && value !== 'false',
  )
  const found = field === undefined ? annotation : ([`spec.${field}`, 'true'] as const)
  return found === undefined ? [] : fieldSignal(found[0], String(found[1]), 'suspended', 'spec')
}

/** A schedule works later, like a CronJob: an empty status or a suspension is normal. */
export function isSchedule({ kind, spec }: KubeObject): boolean {
  const { schedule, schedules } = (spec ?? {}) as Fields
  return kind.startsWith('Cron') || kind.endsWith('Schedule') || schedule !== undefined || schedules !== undefined
}

/** Whether the kind or the status of an object shows that its work ends, as of a Job: a failed state is its end. */
export function endsByItself(object: KubeObject): boolean {
  const isOpen = ({ name, value }: ConditionSignal) => workConditions.test(name) && value !== 'True'
  if (isSchedule(object)) return false
  return sometimesWorkKinds.test(object.kind) || isJobLike(object) || presentConditionSignals(object).some(isOpen)
}

function isJobLike({ kind, spec }: KubeObject): boolean {
  return workKinds.test(kind) || workSpecKeys.some((key) => ((spec ?? {}) as Fields)[key] !== undefined)
}

/** Whether a status contains a list of steps, each with its state: `Running` beside them is not the goal. */
function hasSteps(status: Fields): boolean {
  const hasState = (step: Fields) => Object.keys(step).some((name) => stateEnding.test(name))
  return Object.entries(status).some(
    ([key, value]) => tokensOf(key).some((token) => steps.has(token)) && fieldsOf(value).some(hasState),
  )
}
