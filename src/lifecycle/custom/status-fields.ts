import { type Fields, isObject } from '../../cluster/objects.ts'
import { wordSet } from '../../plan/names.ts'
import { conditionsIn, isEmpty, objectsIn } from '../conditions.ts'
import {
  conditionHolders,
  notRequested,
  readCondition,
  readConditionType,
  type Signal,
  summarizeSignals,
} from './status-conditions.ts'
import { activities, hasAnyWord, isEndState, type Meaning, meaningOf, wordsOf } from './words.ts'

/*
 * Reads the signals of status fields: states as words, flags, ratios and errors, also in nested objects (parts).
 */

/** What the name of a field shows about its value. A name may match several patterns. */
export const fieldNames = {
  /** Names of fields with the state of the object as a word. */
  state:
    /^(?:(?:current|overall|lastobserved|lifecycle)?(?:phase|state|status|health)(?:name)?|stage|result|outcome|verdict|conditions?|progress)$/i,
  /** How the names of fields with a state end: `currentStateSummary`. Other fields describe a part. */
  aboutState: /(?:state|status|health|phase|result|sync|operation|summary|stage|process)$/i,
  /** Names of fields about the change in progress. */
  change:
    /^(?:last)?(?:operation|update|upgrade|rollout|deploy|deployment|reconcile|reconciliation|sync|install|installation|apply|config|configuration|provisioning)(?=Status|State|Phase|$)/i,
  /** Names of good conditions, where false means not ready: `ready: true`, `compliant: false`, `ready: 1/2`. */
  good: /^(?:is(?=[A-Z]))?(?:ready|readyToUse|pass|passed|healthy|available|succeeded|synced|inSync|established|compliant|reconciled)$/i,
  /** Names of fields with a ratio of parts: `1/2`, `40%`. */
  ratio: /progress|ready|available|replicas|nodes|members|instances/i,
  /** Names of fields about the past, the future or a request. `lastOperation` is about the present. */
  notCurrent:
    /^(?:last(?!operation|observedstate)|previous|prior|old|former|desired|target(?!s)|expected|requested|initial|constraints$)/i,
  /** Names of fields with the text of an error. */
  error:
    /^(?:(?:last)?(?:error|errors|err|errmsg|errormessage|failuremessage|failurereason|problems)|(?!last)\w+error)$/i,
}
/** Words in the names of fields that describe the past. */
const past = wordSet(`
  history histories revision revisions event events log logs record records attempt attempts retry retries backup backups
  snapshot snapshots restore restores violation violations message messages transition transitions timestamp timestamps
  timeline phases deprecated tombstone
`)
/** Words in the names of lists of steps. An object with steps does work that ends. */
export const steps = wordSet(
  'operation operations run runs task tasks step steps stage stages job jobs action actions result results',
)
/** Matches the texts of error fields that mean that there is no error. */
const noError = /^(?:none|null|nil|ok|no[- ]?errors?)\.?$/i
/** The maximum depth of nested parts: `regions.eu.zones[a].phase`. */
const maxDepth = 4

interface Position {
  /** The object does work that ends, such as a Job. */
  readonly isWork: boolean
  readonly spec?: Fields
  /** The path of the fields, with a dot at the end: `nodes[a].`. Empty for the status itself. */
  readonly path?: string
  readonly depth?: number
}

/** The signal of a field. Empty if the meaning of its value is unknown. */
export function fieldSignal(
  name: string,
  value: unknown,
  meaning: Meaning | undefined,
  scope: Signal['scope'],
): readonly Signal[] {
  return meaning === undefined ? [] : [{ meaning, scope, name, value: String(value) }]
}

/** The signals of the fields of a status, or of an object in it: words, flags, ratios, counts and errors. */
export function readFields(fields: Fields, position: Position): readonly Signal[] {
  const signals = Object.entries(fields).flatMap(([key, value]) => readField(key, value, fields, position))
  return [...signals, ...readCounts(fields, position)]
}

/** The signals of one field, by the type of its value and by its name. */
function readField(key: string, value: unknown, fields: Fields, position: Position): readonly Signal[] {
  const { path = '', depth = 0 } = position
  // The phase is empty: the controller has not written it yet.
  if (value === '' && depth === 0 && fieldNames.state.test(key))
    return fieldSignal(key, 'empty', 'progressing', 'unknown')
  if ((/^conditions$/i.test(key) && typeof value !== 'string') || isEmpty(value)) return []
  if (fieldNames.error.test(key)) return readError(`${path}${key}`, value)
  if (fieldNames.notCurrent.test(key) && !isTargetPart(key, value)) return readDesiredMismatch(key, value, fields, path)
  if (typeof value === 'boolean') return readFlag(key, value, path)
  if (typeof value === 'string') return addMessage(readText(key, value, position), fields)
  return typeof value === 'object' && depth < maxDepth ? readNestedValue(key, value as Fields, position) : []
}

/** A signal if a value differs from its desired value, such as `currentVersion` from `desiredVersion`. */
function readDesiredMismatch(key: string, desired: unknown, fields: Fields, path: string): readonly Signal[] {
  const name = key.replace(/^(?:desired|expected)(?=[A-Z])/, 'current')
  const current = fields[name]
  if (name === key || typeof current !== 'string' || typeof desired !== 'string' || isEmpty(current)) return []
  // `v1.2.3` and `1.2.3` are the same version.
  const [currentText, desiredText] = [current, desired].map((each) => each.toLowerCase().replace(/^v/, ''))
  return currentText === desiredText ? [] : fieldSignal(`${path}${name}`, current, 'progressing', 'change')
}

/** Whether a field is the part that becomes current, with its present state: `targetVersion: { status: Ramping }`. */
function isTargetPart(key: string, value: unknown): boolean {
  const isPart = /^target[A-Z]/.test(key) && !fieldNames.aboutState.test(key)
  return isPart && isObject(value) && Object.keys(value).some((name) => fieldNames.state.test(name))
}

/** The signals of an object or list in a status. They describe a part, unless the name shows a state of the object. */
function readNestedValue(key: string, value: Fields, { path = '', depth = 0, isWork }: Position): readonly Signal[] {
  const tokens = wordsOf(key)
  const position = { isWork, depth: depth + 1, path: `${path}${key}.` }
  if (conditionHolders.includes(key) || hasAnyWord(tokens, past)) return []
  if (!Array.isArray(value) && isStateMap(key, value))
    return Object.entries(value).flatMap(([name, state]) => readMappedState(`${path}${key}.${name}`, String(state)))
  if (!Array.isArray(value) && !fieldNames.aboutState.test(key)) return readPart(value, position)
  if (!Array.isArray(value))
    return readFields(value, position).map((each) =>
      each.scope === 'whole' && fieldNames.change.test(key) ? { ...each, scope: 'change' } : each,
    )
  // The list contains the failed parts: `failedNamespaces`.
  if (tokens.length === 2 && meaningOf(tokens[0] ?? '') === 'failed')
    return fieldSignal(`${path}${key}`, value.length, 'progressing', 'part')
  return objectsIn(value)
    .flatMap((part, index) => {
      const { name } = part
      return readPart(part, { ...position, path: `${path}${key}[${typeof name === 'string' ? name : index}].` })
    })
    .filter(({ meaning }) => meaning !== 'ready')
    .slice(0, 1)
}

/** Whether a map contains only the states of parts, by their names: `nodeStatus: {a: Downloading}`. */
function isStateMap(key: string, value: Fields): boolean {
  const isState = ([name, state]: [string, unknown]) =>
    typeof state === 'string' &&
    meaningOf(state) !== undefined &&
    !Object.values(fieldNames).some((pattern) => pattern.test(name))
  return /stat(?:e|us)(?:e?s)?$/i.test(key) && Object.entries(value).every(isState)
}

/** The signal of the state of a part that is not ready. */
function readMappedState(name: string, state: string): readonly Signal[] {
  const isBad = /^(?:progressing|failed)$/.test(meaningOf(state) ?? '') && !notRequested.test(state)
  return isBad ? fieldSignal(name, state, 'progressing', 'part') : []
}

/** Combines the signals of a part to one signal. Only a field `verdict` of a part fails the object. */
function readPart(part: Fields, position: Position): readonly Signal[] {
  const conditions = conditionsIn(part['conditions']).flatMap((condition): readonly Signal[] => {
    const reading = readCondition(condition)
    const { type, status, message } = condition
    return reading === undefined ? [] : [{ ...reading, name: `${position.path}${type}`, value: status, message }]
  })
  const fields = readFields(part, position)
  // If a part has succeeded, its error is old.
  const isOver = fields.some((each) => each.meaning === 'ready')
  const present = fields.filter(({ scope }) => scope !== 'error' || !isOver)
  const { meaning, signals } = summarizeSignals([...conditions, ...present])
  if (meaning === undefined || meaning === 'suspended') return []
  return signals.slice(0, 1).map((each) => ({
    ...each,
    meaning: meaning === 'ready' || (meaning === 'failed' && /verdict$/i.test(each.name)) ? meaning : 'progressing',
    scope: 'part',
  }))
}

/** Adds the field `message` to a failed state. In some kinds, the field `reason` contains the sentence. */
function addMessage(signals: readonly Signal[], { message, reason }: Fields): readonly Signal[] {
  const text = [message, reason].find((each) => typeof each === 'string' && /\S\s+\S/.test(each)) ?? message
  if (typeof text !== 'string' || text === '') return signals
  return signals.map((each) => (each.meaning === 'failed' ? { ...each, message: text } : each))
}

/** The signal of a field with a text, such as `phase: Running`. */
function readText(
  key: string,
  value: string,
  { path = '', depth = 0, isWork, spec = {} }: Position,
): readonly Signal[] {
  const at = `${path}${key}`
  if (/^(?:true|false)$/i.test(value)) return readFlag(key, /^true$/i.test(value), path, true)
  if (fieldNames.ratio.test(key) && /^[\d./]+%?$/.test(value)) return fieldSignal(at, value, readRatio(value), 'change')
  const isActivity = wordsOf(key).some((token) => activities.test(token))
  const meaning = readRatio(value) ?? meaningOf(value, isWork || isActivity)
  // A reason alone may show a failure, but no state.
  if (at === 'reason') return fieldSignal(at, value, meaning === 'failed' ? 'progressing' : undefined, 'error')
  const isState = fieldNames.state.test(key)
  const isWhole = isState || fieldNames.good.test(key)
  if (!isWhole && !fieldNames.aboutState.test(key)) return []
  // `replicationState: primary` requests `state: Primary`, and `clusterFence: Fenced` requests `phase: Fenced`.
  const isRequest = (name: string) => meaning === undefined && (/state$/i.test(name) || /ed$/i.test(value))
  const isRequested = Object.entries(spec).some(
    ([name, each]) => (name === key || isRequest(name)) && String(each).toLowerCase() === value.toLowerCase(),
  )
  if (isState && isRequested && (meaning ?? 'suspended') === 'suspended')
    return fieldSignal(at, value, 'ready', 'whole')
  // A first step does not prove readiness.
  if (meaning === 'ready' && /^(?:created|initiali[sz]ed)$/i.test(value)) return []
  if (depth > 0 && notRequested.test(value)) return []
  if (depth === 0 && isState && meaning === undefined) return fieldSignal(at, value, 'progressing', 'unknown')
  const scope = isWhole || (isWork && isEndState(value)) ? 'whole' : fieldNames.change.test(key) ? 'change' : 'part'
  return fieldSignal(at, value, meaning, scope)
}

/** The meaning of a ratio: `1/2`, `1/2 ready`, `40%`. Undefined for other texts. */
function readRatio(value: string): Meaning | undefined {
  const [, done, total] = /^(\d+)\/(\d+)(?: |$)/.exec(value) ?? /^(\d+)(?:\.\d+)?(%)$/.exec(value) ?? []
  if (done === undefined) return undefined
  return Number(done) >= (total === '%' ? 100 : Number(total)) ? 'ready' : 'progressing'
}

/**
 * The signal of a boolean field, which is read like a condition of the same name. Most fields with positive names are
 * ignored, because they repeat a setting.
 * @param isText the value is the text `True` or `False`: few of these fields repeat a setting
 */
function readFlag(key: string, value: boolean, path: string, isText = false): readonly Signal[] {
  const at = `${path}${key}`
  const type = readConditionType(key.replace(/^is(?=[A-Z])/, ''))
  const state = value ? 'ready' : 'progressing'
  if (fieldNames.good.test(key) || at === 'status') return fieldSignal(at, value, state, 'whole')
  if (type === undefined)
    return isText && !value && fieldNames.aboutState.test(key) ? fieldSignal(at, value, state, 'part') : []
  if (type.meaning !== 'ready')
    return value && path === ''
      ? fieldSignal(at, value, type.meaning, type.meaning === 'progressing' ? 'change' : 'whole')
      : []
  if (/ready$/i.test(key) || isText) return fieldSignal(at, value, state, 'part')
  return value || path !== '' || type.scope === 'part' ? [] : fieldSignal(at, value, state, 'unknown')
}

/** The signal of a field with an error text. A `lastError` does not fail the object, because it may be over. */
function readError(name: string, value: unknown): readonly Signal[] {
  if (typeof value === 'boolean' || typeof value === 'number' || noError.test(String(value))) return []
  const { message = value } = (isObject(value) ? value : {}) as Fields
  const text = typeof message === 'string' ? message : JSON.stringify(value)
  const isLast = /(?:^|\.)last\w*$/i.test(name)
  return [{ meaning: isLast ? 'progressing' : 'failed', scope: 'error', name, message: text }]
}

/*
 * Reads the counts of parts, such as `readyReplicas`.
 */

/** The parts that may be counted, in the singular. For example, `availableIPs` and `completedJobs` count no parts. */
const partNouns = wordSet(`
  replica node member instance pod machine broker shard cluster server worker partition host rack component peer bundle tablet
`)
/** The words in the name of a count that show what is counted. */
const countWords = {
  /** Words for requested parts: `desiredReplicas`. */
  wanted: wordSet('desired expected wanted size'),
  /** Words for parts that are not ready or not updated: `unavailableReplicas`, `degradedMachineCount`. */
  bad: wordSet('unavailable unready not non degraded failed unhealthy missing outdated'),
  good: wordSet('ready available updated upgraded healthy uptodate current actual running'),
  /** Words for existing parts: `totalReplicas`. A name without any of these words (`replicas`) means the same. */
  exists: wordSet('total matched all'),
  neutral: wordSet('count number num of scheduled'),
}

interface Count {
  readonly key: string
  readonly value: number
  /** The parts in the singular: `replica`, `core node replica`. Empty for a name without a noun: `desired`, `ready`. */
  readonly noun: string
  readonly state: 'wanted' | 'exists' | 'good' | 'bad'
}

function partCounts(fields: Fields): readonly Count[] {
  return Object.entries(fields).flatMap(([key, value]): Count[] => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) return []
    const tokens = wordsOf(key)
    const nouns = tokens.filter((token) => !Object.values(countWords).some((some) => some.has(token)))
    const noun = nouns.map((token) => token.replace(/s$/, '')).join(' ')
    const isOfParts = noun === '' || partNouns.has(noun.split(' ').at(-1) ?? '')
    const [state = 'exists'] = (['wanted', 'bad', 'good'] as const).filter((each) =>
      hasAnyWord(tokens, countWords[each]),
    )
    return isOfParts ? [{ key, value, noun, state }] : []
  })
}

/**
 * The signal that parts are missing: fewer parts are ready, available or updated than requested, or some parts are bad.
 * Controllers often omit a count of zero. `replicas: 3` alone is no signal.
 */
function readCounts(fields: Fields, { spec = {}, path = '' }: Position): readonly Signal[] {
  const counts = partCounts(fields).filter(({ key }) => !(/upd|upgr/i.test(key) && hasPartitionOrOnDelete(spec)))
  const signals = [...Map.groupBy(counts, ({ noun }) => noun)].flatMap(([noun, ofNoun]) => {
    const of = (state: Count['state']) => ofNoun.filter((each) => each.state === state)
    const [wanted, good, exist] = [of('wanted'), of('good'), of('exists')]
    const wantedValues = wanted.map(({ value }) => value)
    const requested = [...requestedCounts(spec, noun), ...wantedValues]
    const total = Math.max(...(requested.length > 0 ? requested : exist.map(({ value }) => value)))
    // In a pool, parts that are not `available` may be in use.
    const short = good.find(({ key, value }) => value < (/^available$/i.test(key) ? Math.max(...wantedValues) : total))
    if (short !== undefined)
      return fieldSignal(`${path}${short.key}`, `${short.value} of ${total}`, 'progressing', 'change')
    // Without a noun, the count may be the failures over time: `failed: 2`.
    const bad = of('bad').find(({ key, value }) => value > 0 && (noun !== '' || /^(?:un|no[nt])/i.test(key)))
    if (bad !== undefined) return fieldSignal(`${path}${bad.key}`, bad.value, 'progressing', 'change')
    const isNoneReady = counts.every(
      ({ key, value, state }) => state !== 'good' || value === 0 || /^updated/i.test(key),
    )
    const alone = [...wanted, ...good].find(
      ({ value }) => value > 0 || (counts.length === 1 && mayLackParts(fields, spec)),
    )
    const isOfParts = noun !== '' || /^desired(?:number|count)$/i.test(alone?.key ?? '')
    return isOfParts && isNoneReady && alone !== undefined
      ? fieldSignal(`${path}${alone.key}`, `${alone.value}, and none is ready`, 'progressing', 'unknown')
      : []
  })
  return signals.slice(0, 1)
}

/** Whether `readyReplicas: 0` alone means that parts are missing: no condition decides, and the spec requests parts. */
function mayLackParts({ conditions }: Fields, spec: Fields): boolean {
  return (
    conditionsIn(conditions).length === 0 &&
    !/"\w*(?:replicas|size|instances|nodes|members|count)":0\b/i.test(JSON.stringify(spec))
  )
}

/** How many parts the spec requests. `spec.nodes` belongs to `readyNodes`, and `spec.replicas` to `ready`. */
function requestedCounts(spec: Fields, noun: string): readonly number[] {
  // The sum of `spec.nodeSets[].count` belongs to `availableNodes`.
  const sets = Object.entries(spec).find(([key, value]) => objectsIn(value).length > 0 && wordsOf(key)[0] === noun)
  const counts = objectsIn(sets?.[1]).map(({ count, replicas }) => Number(count ?? replicas))
  if (counts.length > 0) return [counts.reduce((sum, count) => sum + count, 0)]
  return partCounts(spec).flatMap((each) =>
    each.noun === noun || (noun === '' && each.key === 'replicas') ? [each.value] : [],
  )
}

/** Whether the spec leaves pods on an older revision: by OnDelete or a `partition` above 0. */
function hasPartitionOrOnDelete({ updateStrategy, strategy }: Fields): boolean {
  return [updateStrategy, strategy].some((each) => {
    // The strategy may be a text: `updateStrategy: OnDelete`.
    const { type = each, partition, rollingUpdate } = (each ?? {}) as Fields
    return type === 'OnDelete' || Boolean(partition ?? ((rollingUpdate ?? {}) as Fields)['partition'])
  })
}
