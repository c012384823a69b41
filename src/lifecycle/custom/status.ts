import { type Condition, type Fields, isObject, type KubeObject, oncePerObject } from '../../cluster/objects.ts'
import { words } from '../../plan/names.ts'
import {
  type ConditionSignal,
  conditionSignal,
  conditionsIn,
  fieldsOf,
  isEmpty,
  type StatusCondition,
} from '../conditions.ts'
import { isGenerationStale, isOfPresentGeneration, isRequestOpen } from '../status-age.ts'

/*
 * How the status of a kind is read that nobody has described: as kstatus does it, for more shapes. A status is a list of
 * signals, each with a meaning and with what it is about. The sections: words of states; conditions; fields; counts; all
 * signals of an object (`readSignals`) and their combination (`summarizeSignals`); generations (`isUnobserved`).
 */

/** The meaning of a signal: the four states of an object. */
export type Meaning = 'ready' | 'progressing' | 'failed' | 'suspended'

/** One signal of an object's state. */
export interface Signal extends ConditionSignal {
  readonly meaning: Meaning
  /**
   * What it is about. `summary`: it summarizes the whole object (Ready). `accepted`: whether the spec was accepted. `whole`:
   * the whole object, without summarizing it (Available, `phase`). `part`: a part of the object (DatabaseReady).
   * `change`: the change in progress (UpdateStatus, replica counts). `error`: the text of an error. `unknown`: a state
   * without a known meaning, which counts only if nothing else shows the state. `spec`: what the user requested in the spec.
   */
  readonly weight: 'summary' | 'accepted' | 'whole' | 'part' | 'change' | 'error' | 'unknown' | 'spec'
}

/** The meaning and weight of a condition. */
type Reading = Pick<Signal, 'meaning' | 'weight'>

/*
 * Words. No standard exists: these are the words that controllers commonly use (`phase` in the Kubernetes API conventions,
 * "Typical status properties").
 */

const failed = words(`
  failed failure failures fail failing error errors err errored degraded unhealthy crashed crash crashing crashloop lost
  aborted abort cancelled canceled rejected denied invalid broken fatal faulted faulty critical red stalled timeout
  timedout exceeded expired misconfigured unsatisfiable corrupted exhausted declined refused revoked orphaned terminal
  unable cannot
`)
const suspended = words(`
  suspended suspend suspending paused pause pausing hibernated hibernating stopped halted frozen sleeping asleep dormant
  shutdown poweredoff parked onhold
`)
const progressing = words(`
  pending waiting queued unknown partial partially yellow submitted requested start init initialize progress wait below
  undetermined outofsync incomplete inconclusive inactive missing absent awaited conflict conflicted terminated deleted
  detached disconnected warn warning unsupported disabled offline down blocked failingover failingback abnormal unbalanced
  inprogress notready notfound noncompliant forbidden incompatible
`)
const ready = words(`
  ready available active healthy bound succeeded succeed success successful successfully completed complete done finished
  online operational operating ok okay green serving listening working established deployed installed provisioned created
  configured applied synced synchronized synchronised reconciled released published registered joined attached mounted
  connected reachable responding succeeding passing functioning accepted admitted approved issued valid validated
  verified passed pass compliant protected promoted stable steady normal idle exists existing found enabled initialized initialised loaded latest updated upgraded restored
  imported exported resolved programmed uptodate insync running adopted advertised generated elected failedover failedback
  provided satisfied formed balanced injected delivered hydrated realized collected processed downloaded claimed
  activated assigned associated fulfilled alive inuse enforced enforcing converged subscribed propagated distributed
  replicated enrolled onboarded paired peered linked unsealed rotated renewed rolledout nominal unchanged authorized
  authenticated recovered current quiesced selected up archiving monitoring streaming replicating polling mirroring
  logging watching discoverable schedulable resolvable accessible usable addressable
`)
/** Words of work that ends (a Job, a backup), which mean that it has started, not that it is done. */
const startedWords = words('running active started accepted created working scheduled enabled assigned')
/** The words with which such work ends; `Ready` and `Available` may be about what it has prepared. */
const endWords = words(
  'succeeded succeed success successful successfully completed complete done finished passed pass ended',
)
/** The first steps: as a state of several words (`ResourcesCreated`) or as a condition, they are not the goal. */
const stepWords = words('created started launched scheduled submitted prepared applied')
const stepTypes = new Set([...stepWords, 'initialized'])
/** What a controller runs on the way to its goal: `RunningMigrations`, `Build Running`. */
const activities =
  /^(?:build|workflow|test|migration|job|task|hook|command|check|script|step|pipeline|backup|restore|upgrade|update|install|plan)s?(?:status|state)?$/
/** Words that negate the next one: `NotReady`, `NoErrors`. */
const negations = words('not non un never no without')
/** Words in a type beside those that count: `ErrorOccurred`, `NotYetSynced`, `ScalingUp`. */
const neutralWords = words(`
  occurred occured detected encountered present seen yet currently fully up down in out over back off
`)
/** Compounds of one meaning: in `FailedOver` and `FailSafe`, `fail` is no failure. */
const compounds =
  /\b(?:(?:fail|failed|failing|timed) (?:over|back|safe|fast|open|closed|out)|up to date|in sync|in progress$)\b/gi
/** The maximum number of words in a state: a longer value is a sentence. */
const maxTokens = 5
const maxLength = 200

/** The words of a name in lower case: `RollingUpdate`, `rolling_update` and `Rolling update` are the same. */
export function tokensOf(name: string): readonly string[] {
  const text = name
    .slice(0, maxLength)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .replace(compounds, (found) => found.replaceAll(' ', ''))
    .trim()
    .toLowerCase()
  return text === '' ? [] : text.split(' ')
}

/** Whether one of the words of a name is one of these. */
export function hasAny(tokens: readonly string[], some: ReadonlySet<string>): boolean {
  return tokens.some((token) => some.has(token))
}

/**
 * The meaning of a state such as `Running`, `InProgress`, `FailedToStart` or `up-to-date`; undefined for unknown words. The
 * worst word decides. A word with `-ing` means in progress, unless it is a ready word (`running`).
 * @param isWork whether the object does work that ends: then `Running` is not its goal
 */
export function meaningOf(state: string, isWork = false): Meaning | undefined {
  const tokens = tokensOf(state)
  if (tokens.length === 0 || tokens.length > maxTokens) return undefined
  const has = (some: ReadonlySet<string>) => hasAny([...tokens, tokens.join('')], some)
  const isNegated = negations.has(tokens[0] ?? '')
  if (has(failed)) return isNegated ? undefined : 'failed'
  if (has(suspended)) return isNegated ? undefined : 'suspended'
  const isActivity = tokens.includes('running') && tokens.some((token) => activities.test(token))
  const isOpposite = tokens.some((token) => token.startsWith('un') && ready.has(token.slice(2)))
  if (has(progressing) || isNegated || isOpposite || isActivity || tokens.some(isInProgress)) return 'progressing'
  if (!has(ready)) return undefined
  if (isWork && has(startedWords)) return 'progressing'
  const isStep = tokens.length > 1 && !isEnd(state) && (isWork || stepWords.has(tokens.at(-1) ?? ''))
  return isStep ? 'progressing' : 'ready'
}

/** `creating`, `scaling`: a word with `-ing` that is not a ready word. */
function isInProgress(token: string): boolean {
  return token.length > 5 && token.endsWith('ing') && !ready.has(token)
}

/** Whether a state is one in which work ends successfully: `Succeeded`, `Sync completed`. */
function isEnd(state: string): boolean {
  return hasAny(tokensOf(state), endWords)
}

/*
 * Conditions, of either polarity (API conventions), with the types of kstatus (Ready, Reconciling, Stalled;
 * https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus), the Gateway API (Accepted, Programmed,
 * ResolvedRefs), Crossplane (Synced) and Knative (Succeeded).
 */

/** Types of kstatus and their opposite, which summarize the object. */
const summaryTypes = words('ready notready stalled reconciling')
/** Types that are True once the present spec is accepted; Ready may still be about the previous spec. */
const acceptanceTypes = words(`
  accepted admitted applied compliant namesaccepted programmed reconciled resolvedrefs synced valid validated
`)
/** Ready words that, as a type, name an option and not a state. */
const optionWords = words('enabled supported existing failedover failedback idle')
/** Types of what happens to a part only sometimes: False is normal. */
const events = words('upgraded restored imported exported promoted released elected migrated recovered rotated renewed')
/** Reasons of a False part that was never requested: `Disabled`, `BackupNotConfigured`. */
const notRequested =
  /disabled|skipped|optional|^(?:required|requested)$|(?:not|un)[-_ ]?(?:required|applicable|needed|requested|used|enabled|configured)/i
/** Reasons that mean the end: of Progressing=True (a Deployment's NewReplicaSetAvailable), or of Running=False. */
const doneReasons = words('available completed complete succeeded successful finished done healthy expected')

/** The meaning of a type when it is True; undefined for unknown types. The last word decides: `DatabaseReady`. */
function typeOf(type: string): Reading | undefined {
  const tokens = tokensOf(type).filter((token, index) => index === 0 || !neutralWords.has(token))
  const [first = '', last = ''] = [tokens[0], tokens.at(-1)]
  const name = tokens.join('')
  if (summaryTypes.has(name)) return { meaning: meaningOf(name) ?? 'progressing', weight: 'summary' }
  if (acceptanceTypes.has(name)) return { meaning: 'ready', weight: 'accepted' }
  // Whether the object could be deleted, or a remark.
  if (tokens.includes('deletion') || last.startsWith('warning')) return undefined
  const weight = tokens.length === 1 ? 'whole' : 'part'
  const meaning = optionWords.has(last) ? undefined : stepTypes.has(last) ? 'ready' : meaningOf(last)
  if (negations.has(tokens.at(-2) ?? '')) return negated(meaning)
  // An error whose name begins with `No` (`NoSuchHostError`), or a kind of which there is none (`NoUpdateAvailable`).
  if (first === 'no') return undefined
  if (meaning === 'suspended') return { meaning, weight: first.startsWith('reconcil') ? 'whole' : weight }
  if (meaning === 'failed' || meaningOf(first) === 'failed')
    return { meaning: 'failed', weight: /^invalid|error/.test(name) ? 'whole' : weight }
  if (meaning !== undefined) return { meaning, weight }
  // What a controller does to the part that follows: `UpdatingConfig`.
  return isInProgress(first) ? { meaning: 'progressing', weight: 'part' } : undefined
}

/** The opposite of a meaning. An absent error is about a part; its opposite alone is no failure. */
function negated(meaning: Meaning | undefined): Reading | undefined {
  if (meaning === undefined || meaning === 'suspended') return undefined
  return { meaning: meaning === 'ready' ? 'progressing' : 'ready', weight: 'part' }
}

/**
 * The meaning of a condition: `Ready=False`, `Degraded=True` and `Progressing=True` all mean "not ready".
 * Undefined for the good status of a bad type (Degraded=False), and for unknown types.
 * @param isWork the object is a piece of work that ends, so that `Running=True` is not its goal
 */
export function readCondition(condition: Condition, isWork = false): Reading | undefined {
  const { type, reason = '' } = condition
  const status = condition.status.toLowerCase()
  const known = typeOf(type)
  const why = meaningOf(reason)
  if (known === undefined) {
    // An unknown type has a meaning only if its reason is one of progress, or if its status is a state: `Install:
    // InProgress`.
    const isUnderway = why === 'progressing' && !hasAny(tokensOf(reason), negations)
    const meaning =
      status === 'false' ? (isUnderway ? why : undefined) : status === 'true' ? undefined : meaningOf(status, isWork)
    return meaning && { meaning, weight: 'part' }
  }
  if (known.meaning === 'ready')
    return status === 'true' ? readGoodTrue(known, condition, isWork) : readGoodNotTrue(known, condition, isWork)
  // Some controllers keep Progressing=True after the end, and set False when they give up, as for Deployments.
  const isProgressing = /^progressing$/i.test(type)
  if (isProgressing && why === 'suspended') return { meaning: why, weight: 'whole' }
  if (isProgressing && status === 'false') return why === 'failed' ? { meaning: why, weight: 'whole' } : undefined
  if (status !== 'true') return undefined
  // `Progressing` or `Suspended` with a reason such as `Completed` is over, so it means nothing now.
  return isDone(reason) && known.meaning !== 'failed' ? undefined : known
}

/** A good condition with the reason of a failure contradicts itself: work has failed, the rest progresses. */
function readGoodTrue(
  good: Reading,
  { type, reason = '', message = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const last = tokensOf(type).at(-1) ?? ''
  if (meaningOf(reason) === 'failed') return { ...good, meaning: isWork ? 'failed' : 'progressing' }
  if (stepTypes.has(last) && good.weight !== 'accepted') return undefined
  if (isWork && startedWords.has(last)) return { meaning: 'progressing', weight: 'part' }
  // `Running` of an operator whose message is its present step: "Creating the database".
  const isStep = last === 'running' && /^\w+ing\b/.test(message) && !isDone(reason)
  return isStep ? { ...good, meaning: 'progressing' } : good
}

/** A good condition that is False or Unknown. */
function readGoodNotTrue(
  good: Reading,
  { type, status, reason = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const last = tokensOf(type).at(-1) ?? ''
  const isFalse = /^false$/i.test(status)
  const isStarted = startedWords.has(last)
  const isUnused = good.weight === 'part' && (notRequested.test(reason) || events.has(last))
  if (isFalse && (isUnused || (isDone(reason) && (isWork || isStarted)))) return undefined
  if (isWork && isStarted) return undefined
  // Knative: Succeeded=False is final; while the work is in progress, it is Unknown.
  if (type === 'Succeeded' && isFalse && meaningOf(reason, true) !== 'progressing')
    return { ...good, meaning: 'failed' }
  const isSuspended = meaningOf(reason) === 'suspended' && good.weight !== 'part'
  return { ...good, meaning: isSuspended ? 'suspended' : 'progressing' }
}

function isDone(reason: string): boolean {
  const tokens = tokensOf(reason)
  return doneReasons.has(tokens.at(-1) ?? '') && !hasAny(tokens, negations)
}

/** Status fields of the Gateway API that contain the conditions of parts (GEP-713, Route and Gateway). */
const conditionHolders = ['parents', 'ancestors', 'listeners']

/** The conditions of an object and its parts, of any generation. */
function conditionSignals({ status }: KubeObject): readonly StatusCondition[] {
  const fields = (status ?? {}) as Readonly<Record<string, Fields | undefined>>
  const own = [fields['conditions'], fields['conditionedStatus']?.['conditions']].flatMap((list) =>
    conditionsIn(asList(list)).map((each) => conditionSignal(each)),
  )
  const ofParts = conditionHolders.flatMap((holder) =>
    fieldsOf(fields[holder]).flatMap(({ conditions, name = '' }) => {
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
function asList(conditions: unknown): unknown {
  if (!isObject(conditions)) return conditions
  return Object.entries(conditions).map(([type, value]) => ({ ...(isObject(value) ? value : { status: value }), type }))
}

/** The conditions of the present generation. If the status is older, only those with the present generation. */
function presentConditionSignals(object: KubeObject): readonly StatusCondition[] {
  const isOld = isGenerationStale(object)
  return conditionSignals(object).filter(
    ({ condition }) =>
      isOfPresentGeneration(condition, object) && !(isOld && condition.observedGeneration === undefined),
  )
}

function readConditions(object: KubeObject, isWork: boolean): readonly Signal[] {
  return presentConditionSignals(object).flatMap((signal) => {
    const reading = readCondition(signal.condition, isWork)
    if (reading === undefined) return []
    const weight = signal.part !== undefined && reading.weight !== 'accepted' ? 'part' : reading.weight
    return [{ ...signal, ...reading, weight }]
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
  const isDated = present.some(({ condition }) => condition.observedGeneration !== undefined)
  const isUnknown = present.every(({ name }) => typeOf(name) === undefined)
  return first === undefined || !isDated || !isUnknown ? [] : [{ ...first, meaning: 'progressing', weight: 'unknown' }]
}

/*
 * Fields: states as words, flags, ratios, errors, and the same in parts.
 */

/** Fields that contain the object's state as a word. */
const stateKeys =
  /^(?:(?:current|overall|lastobserved)?(?:phase|state|status|health)(?:name)?|stage|result|outcome|verdict|condition|progress)$/i
/** Endings of the names of fields about a state: `currentStateSummary`, `health.status`. Other fields are about a part. */
const stateEnding = /(?:state|status|health|phase|result|sync|operation|summary|stage)$/i
/** Fields about the change in progress, not the object's previous state. */
const changeKeys =
  /^(?:last)?(?:operation|update|upgrade|rollout|deploy|deployment|reconcile|reconciliation|sync|install|installation|apply|config|configuration|provisioning)(?=Status|State|Phase|$)/i
/** Fields named like a good condition, whose false is no option: `ready: true`, `compliant: NonCompliant`, `ready: 1/2`. */
const goodKeys =
  /^(?:is(?=[A-Z]))?(?:ready|readyToUse|pass|passed|healthy|available|succeeded|synced|inSync|established|compliant|reconciled)$/i
/** Fields that contain a ratio of parts: `1/2`, `40%`. */
const ratioKeys = /progress|ready|available|replicas|nodes|members|instances/i
/** Fields about another time, or about what was requested. `lastOperation` is about the present. */
const notCurrent =
  /^(?:last(?!operation|observedstate)|previous|prior|old|former|desired|target(?!s)|expected|requested|initial)/i
/** Words in the names of fields about the past. */
const past = words(`
  history histories revision revisions event events log logs record records attempt attempts retry retries backup backups
  snapshot snapshots restore restores violation violations message messages transition transitions timestamp timestamps
  timeline phases deprecated tombstone
`)
/** Words in the names of lists of steps: work that ends. */
const steps = words(
  'operation operations run runs task tasks step steps stage stages job jobs action actions result results',
)
const errorKeys = /^(?:last)?(?:error|errors|err|errmsg|errormessage|failuremessage|failurereason|problems)$/i
/** Texts for the absence of an error. */
const noError = /^(?:none|null|nil|ok|no[- ]?errors?)\.?$/i
/** Fields with a copy of an external object, such as a port of OpenStack that is DOWN without a server. */
const copies = /^(?:resource|externalResource|atProvider)$/i
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
  value: unknown,
  meaning: Meaning | undefined,
  weight: Signal['weight'],
): readonly Signal[] {
  return meaning === undefined ? [] : [{ meaning, weight, name, value: String(value) }]
}

/** The signals of the fields of a status, or of an object in it: words, flags, ratios, counts and errors. */
function readFields(fields: Fields, scope: Scope): readonly Signal[] {
  const signals = Object.entries(fields).flatMap(([key, value]) => readField(key, value, fields, scope))
  return [...signals, ...readCounts(fields, scope)]
}

function readField(key: string, value: unknown, fields: Fields, scope: Scope): readonly Signal[] {
  const { path = '', depth = 0 } = scope
  // An empty phase: its controller has not written it yet.
  if (value === '' && depth === 0 && stateKeys.test(key)) return fieldSignal(key, 'empty', 'progressing', 'unknown')
  if (/^(?:conditions|conditionedStatus)$/i.test(key) || isEmpty(value)) return []
  if (errorKeys.test(key)) return readError(`${path}${key}`, value)
  if (notCurrent.test(key)) return readDesired(key, value, fields, path)
  if (typeof value === 'boolean') return readFlag(key, value, path)
  if (typeof value === 'string') return withMessage(readWord(key, value, scope), fields)
  return typeof value === 'object' && depth < maxDepth ? readInner(key, value as Fields, scope) : []
}

/** A value that differs from the desired one: `currentVersion` and `desiredVersion`. */
function readDesired(key: string, desired: unknown, fields: Fields, path: string): readonly Signal[] {
  const name = key.replace(/^(?:desired|expected)(?=[A-Z])/, 'current')
  const current = fields[name]
  const isOther =
    name !== key && typeof current === 'string' && typeof desired === 'string' && !isSame(current, desired)
  return isOther && !isEmpty(current) ? fieldSignal(`${path}${name}`, current, 'progressing', 'change') : []
}

/** Whether two versions are the same: `v1.2.3` and `1.2.3`. */
function isSame(...versions: readonly [string, string]): boolean {
  const [one, other] = versions.map((each) => each.toLowerCase().replace(/^v/, ''))
  return one === other
}

/** An object or list is one signal about a part, unless its name shows that it is the state of the whole. */
function readInner(key: string, value: Fields, { path = '', depth = 0, isWork }: Scope): readonly Signal[] {
  const tokens = tokensOf(key)
  const scope = { isWork, depth: depth + 1, path: `${path}${key}.` }
  if (conditionHolders.includes(key) || hasAny(tokens, past)) return []
  if (!Array.isArray(value) && copies.test(key))
    return readPart(value, scope).map((each) => (each.meaning === 'ready' ? each : { ...each, weight: 'unknown' }))
  if (!Array.isArray(value) && !stateEnding.test(key)) return readPart(value, scope)
  if (!Array.isArray(value))
    return readFields(value, scope).map((each) =>
      each.weight === 'whole' && changeKeys.test(key) ? { ...each, weight: 'change' } : each,
    )
  // `failedNamespaces`: the parts that have failed.
  if (tokens.length === 2 && meaningOf(tokens[0] ?? '') === 'failed')
    return fieldSignal(`${path}${key}`, value.length, 'progressing', 'part')
  return fieldsOf(value)
    .flatMap((part, index) => {
      const { name } = part
      return readPart(part, { ...scope, path: `${path}${key}[${typeof name === 'string' ? name : index}].` })
    })
    .filter(({ meaning }) => meaning !== 'ready')
    .slice(0, 1)
}

/**
 * The combined result of the signals of a part, as one signal. A part never fails the object, which may not need the
 * part, unless it is a verdict on the object.
 */
function readPart(part: Fields, scope: Scope): readonly Signal[] {
  const conditions = conditionsIn(part['conditions']).flatMap((condition): readonly Signal[] => {
    const reading = readCondition(condition)
    const { type, status, message } = condition
    return reading === undefined ? [] : [{ ...reading, name: `${scope.path}${type}`, value: status, message }]
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
function readWord(key: string, value: string, { path = '', depth = 0, isWork, spec = {} }: Scope): readonly Signal[] {
  const at = `${path}${key}`
  if (/^(?:true|false)$/i.test(value)) return readFlag(key, /^true$/i.test(value), path, true)
  if (ratioKeys.test(key) && /^[\d./]+%?$/.test(value)) return fieldSignal(at, value, readRatio(value), 'change')
  const isActivity = tokensOf(key).some((token) => activities.test(token))
  const meaning = readRatio(value) ?? meaningOf(value, isWork || isActivity)
  // A failure without a state.
  if (at === 'reason') return fieldSignal(at, value, meaning === 'failed' ? 'progressing' : undefined, 'error')
  const isState = stateKeys.test(key)
  const isWhole = isState || goodKeys.test(key)
  if (!isWhole && !stateEnding.test(key)) return []
  const isRequested = String(spec[key]).toLowerCase() === value.toLowerCase()
  if (isState && isRequested && (meaning ?? 'suspended') === 'suspended')
    return fieldSignal(at, value, 'ready', 'whole')
  // A step of the work, or a part that the object does not need.
  if (meaning === 'ready' && /^(?:created|initiali[sz]ed)$/i.test(value)) return []
  if (depth > 0 && notRequested.test(value)) return []
  if (depth === 0 && isState && meaning === undefined) return fieldSignal(at, value, 'progressing', 'unknown')
  const weight = isWhole || (isWork && isEnd(value)) ? 'whole' : changeKeys.test(key) ? 'change' : 'part'
  return fieldSignal(at, value, meaning, weight)
}

/** The meaning of a ratio: `1/2`, `1/2 ready`, `40%`; undefined for other texts. */
function readRatio(value: string): Meaning | undefined {
  const [, done, total] = /^(\d+)\/(\d+)(?: |$)/.exec(value) ?? /^(\d+)(?:\.\d+)?(%)$/.exec(value) ?? []
  if (done === undefined) return undefined
  return Number(done) >= (total === '%' ? 100 : Number(total)) ? 'ready' : 'progressing'
}

/**
 * A flag is read as a condition of its name, but a good one counts only for few names: most are options.
 * @param isText the flag is the text `True` or `False`: few of these are options
 */
function readFlag(key: string, value: boolean, path: string, isText = false): readonly Signal[] {
  const at = `${path}${key}`
  const type = typeOf(key.replace(/^is(?=[A-Z])/, ''))
  const state = value ? 'ready' : 'progressing'
  if (goodKeys.test(key)) return fieldSignal(at, value, state, 'whole')
  if (type === undefined) return isText && !value && stateEnding.test(key) ? fieldSignal(at, value, state, 'part') : []
  if (type.meaning !== 'ready')
    return value && path === ''
      ? fieldSignal(at, value, type.meaning, type.meaning === 'progressing' ? 'change' : 'whole')
      : []
  if (/ready$/i.test(key) || isText) return fieldSignal(at, value, state, 'part')
  return value || path !== '' || type.weight === 'part' ? [] : fieldSignal(at, value, state, 'unknown')
}

/** The text of an error. The last error (`lastError`) may be over. */
function readError(name: string, value: unknown): readonly Signal[] {
  if (typeof value === 'boolean' || typeof value === 'number' || noError.test(String(value))) return []
  const { message = value } = (isObject(value) ? value : {}) as Fields
  const text = typeof message === 'string' ? message : JSON.stringify(value)
  const isLast = /(?:^|\.)last\w*$/i.test(name)
  return [{ meaning: isLast ? 'progressing' : 'failed', weight: 'error', name, message: text }]
}

/*
 * Counts.
 */

/** The parts that counts are about, in the singular. `availableIPs` and `completedJobs` count no parts. */
const partNouns = words(`
  replica node member instance pod machine broker shard cluster server worker partition host rack component peer bundle
`)
/** What a count is about, by the words in its name. Words without a meaning of their own: `numberReady`, `machineCount`. */
const countWords = {
  /** How many parts are requested: `desiredReplicas`. */
  wanted: words('desired expected wanted size'),
  /** How many are not as they should be: `unavailableReplicas`, `degradedMachineCount`. */
  bad: words('unavailable unready not non degraded failed unhealthy missing outdated'),
  good: words('ready available updated healthy uptodate current actual running'),
  /** How many exist: `totalReplicas`, a noun alone. */
  exists: words('total matched all'),
  neutral: words('count number num of scheduled'),
}

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
    const tokens = tokensOf(key)
    const nouns = tokens.filter((token) => !Object.values(countWords).some((some) => some.has(token)))
    const noun = nouns.map((token) => token.replace(/s$/, '')).join(' ')
    const isOfParts = noun === '' || partNouns.has(noun.split(' ').at(-1) ?? '')
    const [state = 'exists'] = (['wanted', 'bad', 'good'] as const).filter((each) => hasAny(tokens, countWords[each]))
    // `hostsUpdated` is how many the last change updated.
    return isOfParts && !/[a-z]Updated$/.test(key) ? [{ key, value, noun, state }] : []
  })
}

/**
 * Counts which show that parts are missing: fewer are ready, available or updated than requested or than exist, or some are
 * not. Zero is often omitted. In `replicas: 3` alone, another object scales by the number.
 */
function readCounts(fields: Fields, { spec = {}, path = '' }: Scope): readonly Signal[] {
  const counts = countsOf(fields).filter(({ key }) => !(/updated/i.test(key) && keepsOldParts(spec)))
  const signals = [...Map.groupBy(counts, ({ noun }) => noun)].flatMap(([noun, ofNoun]) => {
    const of = (state: Count['state']) => ofNoun.filter((each) => each.state === state)
    const [wanted, good, exist] = [of('wanted'), of('good'), of('exists')]
    const wantedValues = wanted.map(({ value }) => value)
    const requested = [...specCounts(spec, noun), ...wantedValues]
    const total = Math.max(...(requested.length > 0 ? requested : exist.map(({ value }) => value)))
    // The rest of `available` and `total` may be in use, as in a pool.
    const short = good.find(({ key, value }) => value < (/^available$/i.test(key) ? Math.max(...wantedValues) : total))
    if (short !== undefined)
      return fieldSignal(`${path}${short.key}`, `${short.value} of ${total}`, 'progressing', 'change')
    // Without a noun, failures are counted over time: `failed: 2`.
    const bad = of('bad').find(({ key, value }) => value > 0 && (noun !== '' || /^(?:un|no[nt])/i.test(key)))
    if (bad !== undefined) return fieldSignal(`${path}${bad.key}`, bad.value, 'progressing', 'change')
    const isNoneReady = counts.every(
      ({ key, value, state }) => state !== 'good' || value === 0 || /^updated/i.test(key),
    )
    const alone = [...wanted, ...good].find(
      ({ value }) => value > 0 || (counts.length === 1 && mayNeedParts(fields, spec)),
    )
    return noun !== '' && isNoneReady && alone !== undefined
      ? fieldSignal(`${path}${alone.key}`, `${alone.value}, and none is ready`, 'progressing', 'unknown')
      : []
  })
  return signals.slice(0, 1)
}

/** Whether `readyReplicas: 0` alone means that parts are missing: no condition decides, and the spec does not request none. */
function mayNeedParts({ conditions }: Fields, spec: Fields): boolean {
  return isEmpty(conditions) && !/"\w*(?:replicas|size|instances|nodes|members|count)":0\b/i.test(JSON.stringify(spec))
}

/** How many parts the spec requests: `spec.nodes` belongs to `readyNodes`, `spec.replicas` to `ready`. */
function specCounts(spec: Fields, noun: string): readonly number[] {
  // The sum of `spec.nodeSets[].count` belongs to `availableNodes`.
  const sets = Object.entries(spec).find(([key, value]) => fieldsOf(value).length > 0 && tokensOf(key)[0] === noun)
  const counts = fieldsOf(sets?.[1]).map(({ count, replicas }) => Number(count ?? replicas))
  if (counts.length > 0) return [counts.reduce((sum, count) => sum + count, 0)]
  return countsOf(spec).flatMap((each) =>
    each.noun === noun || (noun === '' && each.key === 'replicas') ? [each.value] : [],
  )
}

/** Whether the spec keeps parts at their revision: `updateStrategy.partition`, `rollingUpdate.partition`, OnDelete. */
function keepsOldParts({ updateStrategy, strategy }: Fields): boolean {
  return [updateStrategy, strategy].some((each) => {
    const { type = each, partition, rollingUpdate } = (each ?? {}) as Fields
    return type === 'OnDelete' || Boolean(partition ?? ((rollingUpdate ?? {}) as Fields)['partition'])
  })
}

/*
 * All signals of an object, and their combination.
 */

/** Kinds whose objects do work that ends, such as Jobs. */
const workKinds =
  /(?:Job|JobSet|Run|Workflow|(?:Backup|Restore)(?:Session)?|Migration|Execution|Experiment|Task|Analysis|Operation|Build|Test|(?<!Service)(?:Import|Export)|Request|Transfer|Clone|Upload|Download|Action|ActionSet|Promotion|Upgrade|Scan|Maintenance)$/
/** Conditions that only such work has. */
const workConditions = /^(?:Completed?|Succeeded|Finished)$/
/** Fields of a spec that only such work has, as in a Job. */
const workSpecKeys = ['backoffLimit', 'completions', 'jobTemplate', 'ttlSecondsAfterFinished']
/** Fields of a status that contain when such work ended. */
const endKeys = /^(?:completion|finish|finished|completed)(?:Time|Timestamp|At)$/
/** Fields of a spec that suspend the object. */
const suspensions = words('suspend suspended paused pause hibernate canceled cancelled')
/** Custom workloads pause a rollout in their strategy. */
const rollouts = /^(?:strategy|updateStrategy|rollout)$/
/** `cluster.x-k8s.io/paused`, `strimzi.io/pause-reconciliation`: the controller ignores the object. */
const pauseAnnotation = /\/(?:paused?|suspend(?:ed)?)(?:-?reconcil\w*)?$/i

/** Every signal of an object about its present generation, in the order of its spec and status. */
export const readSignals = oncePerObject((object: KubeObject): readonly Signal[] => {
  const status = (typeof object.status === 'string' ? { status: object.status } : (object.status ?? {})) as Fields
  const spec = (object.spec ?? {}) as Fields
  const isWork = endsByItself(object) || (!isSchedule(object) && hasSteps(status))
  const signals = [
    ...specSuspension(object),
    ...readConditions(object, isWork),
    // Only conditions have their own observedGeneration.
    ...(isGenerationStale(object) ? [] : readFields(status, { isWork, spec })),
    ...readUnknownConditions(object),
  ]
  return isJobLike(object) && !isEmpty(status) ? untilEnd(signals, status) : signals
})

/**
 * The signals of a Job-like object, which runs until its status contains an end. Acceptance, ready parts and counts are
 * not an end.
 */
function untilEnd(signals: readonly Signal[], status: Fields): readonly Signal[] {
  const others = signals.filter(({ meaning, weight }) => meaning !== 'ready' || /^(?:summary|whole)$/.test(weight))
  if (others.length > 0) return others
  const endedAt = Object.keys(status).find((key) => endKeys.test(key) && !isEmpty(status[key]))
  if (endedAt === undefined) {
    const message = 'its work has not ended yet'
    return [{ meaning: 'progressing', weight: 'whole', name: 'status', value: 'running', message }]
  }
  return Number(status['failed'] ?? 0) > 0
    ? fieldSignal('failed', status['failed'], 'failed', 'whole')
    : fieldSignal(endedAt, status[endedAt], 'ready', 'whole')
}

/** The suspension that the spec or an annotation requests: the controller does not act on the object. */
export function specSuspension(object: KubeObject): readonly Signal[] {
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

/** A schedule works later, like a CronJob: an empty status or a suspension is normal. */
export function isSchedule({ kind, spec }: KubeObject): boolean {
  const { schedule, schedules } = (spec ?? {}) as Fields
  return kind.startsWith('Cron') || kind.endsWith('Schedule') || schedule !== undefined || schedules !== undefined
}

/** Whether the kind, the spec or the status of an object shows that its work ends, as of a Job: a failed state is its end. */
export function endsByItself(object: KubeObject): boolean {
  const isOpen = ({ name, value }: ConditionSignal) => workConditions.test(name) && value !== 'True'
  return isJobLike(object) || (presentConditionSignals(object).some(isOpen) && !isSchedule(object))
}

function isJobLike(object: KubeObject): boolean {
  const isWork = workKinds.test(object.kind) || workSpecKeys.some((key) => Object.hasOwn(object.spec ?? {}, key))
  return isWork && !isSchedule(object)
}

/** Whether a status contains a list of steps, each with its state: `Running` beside them is not the goal. */
function hasSteps(status: Fields): boolean {
  return Object.entries(status).some(
    ([key, value]) =>
      hasAny(tokensOf(key), steps) &&
      fieldsOf(value).some((step) => Object.keys(step).some((name) => stateEnding.test(name))),
  )
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
  const find = (meaning: Meaning, ...weights: Signal['weight'][]) =>
    signals.filter((each) => each.meaning === meaning && weights.includes(each.weight))
  const isReconciling = signals.some(
    ({ part, name, value }) => part === undefined && name === 'Reconciling' && value === 'True',
  )
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  // After the end, parts that are still in progress do not matter: Running=True may remain.
  const isEnded = find('ready', 'whole').some(({ name, value = '', condition }) =>
    isEnd(condition !== undefined ? name : /^(?:phase|state)$/i.test(name) ? value : ''),
  )
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
    ['progressing', isGood && !isEnded ? find('progressing', 'part').filter(({ value }) => value !== 'Unknown') : []],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part', 'error')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, decisive] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  if (meaning !== 'progressing') {
    // Stalled=True reports that the controller has given up; a False condition beside it contains the cause.
    const isStalled = meaning === 'failed' && decisive[0]?.weight === 'summary'
    const causes = signals.filter(({ condition, value, message }) => condition && value === 'False' && message)
    return { meaning, signals: isStalled ? [...decisive, ...causes] : decisive, isReconciling }
  }
  // A condition that is True or Unknown, a state or a count shows that the controller is still working.
  const isWorking = signals.some((each) => each.meaning === 'progressing' && !isError(each) && each.value !== 'False')
  // Ready=False (ServerReady=False) is no failure, whatever its reason: many controllers set it at each attempt.
  const errors =
    isReconciling || isWorking ? [] : decisive.filter((each) => isError(each) && !/ready$/i.test(each.name))
  if (errors.length > 0) return { meaning: 'failed', signals: errors.map((each) => ({ ...each, weight: 'error' })) }
  return { meaning, signals: decisive.toSorted((a, b) => Number(isError(b)) - Number(isError(a))), isReconciling }
}

/**
 * Whether a failed signal is about the health of an object, which is no failed attempt: that of an object whose parts
 * start is bad too.
 */
function isBadHealth({ name, value = '' }: Signal): boolean {
  return [...tokensOf(name), ...tokensOf(value)].some((token) => /^(?:unhealthy|degraded|critical|red)$/.test(token))
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
export function isError({ meaning, value, reason = '', condition }: Signal): boolean {
  return condition !== undefined && meaning === 'progressing' && value !== 'Unknown' && meaningOf(reason) === 'failed'
}

/*
 * Generations: whether the status is about the present spec at all.
 */

/**
 * Whether the status is about an older generation. If neither the status nor Ready has the present generation, one
 * condition of an older generation shows that the controller has not reconciled the present one.
 */
export function isUnobserved(object: KubeObject): boolean {
  if (isRequestOpen(object)) return true
  const conditions = conditionSignals(object).map(({ condition }) => condition)
  const isPresent = (each: Condition) => isOfPresentGeneration(each, object)
  const summaries = conditions.filter((each) => typeOf(each.type)?.weight === 'summary' && isPresent(each))
  // The generation of a condition overrides that of the status.
  if (isGenerationStale(object)) return summaries.every(({ observedGeneration }) => observedGeneration === undefined)
  return (
    conditions.some((each) => !isPresent(each) && readCondition(each) !== undefined) &&
    !summaries.some(({ type }) => type === 'Ready')
  )
}
