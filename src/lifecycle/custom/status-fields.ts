import { type Fields, isObject } from '../../cluster/objects.ts'
import { conditionsIn, isEmpty } from '../conditions.ts'
import { summarizeSignals } from './signal-summary.ts'
import { conditionHolders } from './status-conditions.ts'
import { readCounts } from './status-counts.ts'
import {
  fieldSignal,
  isActivity,
  isEnd,
  isGoodWord,
  isNotRequested,
  isStart,
  type Meaning,
  meaningOf,
  negationOf,
  readCondition,
  type Signal,
  tokensOf,
  words,
} from './status-vocabulary.ts'

/** How deep parts may be nested: `regions.eu.zones[a].phase`. */
const maxDepth = 4
/** Status fields that contain the object's state as a word. */
const stateKeys = words(`
  phase state status health healthstatus statename phasename currentstate currentphase currentstatus lastobservedstate overallstate
  overallstatus overallhealth
`)
/** Fields that contain a state in some kinds only, so the gate ignores unknown words. */
const sometimesStateKeys = words('stage result outcome verdict condition progress')
/** Endings of the names of fields that contain a state as a word: `currentStateSummary`. */
export const stateEnding = /(?:status|state|phase|health|summary|stage|result)$/i
/** Status fields named like a good condition: `ready: true`, `compliant: NonCompliant`, `ready: 1/2`. */
const goodKeys = words(`
  ready readytouse pass passed healthy available succeeded synced insync established compliant reconciled
`)
/** Flags of a required step. A step that is done does not show readiness. */
const stepKeys = words(`
  installed provisioned deployed initialized configured created registered joined completed finished running valid
`)
/** Flags of a change in progress: `isRollingUpdate`. */
const changeFlags = words(
  'updating upgrading rolling provisioning processing reconciling migrating restoring initializing',
)
/** Fields whose nested state is about the whole object: `health.status`, `jobStatus.state`. Others are about a part. */
const stateHolders = /(?:state|status|health|phase|result|sync|operation)$/i
/** Fields about another time, or about what was requested. `lastOperation` is about the present. */
const notCurrent =
  /^(?:last(?!operation|observedstate)|previous|prior|old|former|desired|target(?!s)|expected|requested|initial)/i
/** Fields about the change in progress, not the object's previous state. */
const changeKeys =
  /^(?:last)?(?:operation|update|upgrade|rollout|deploy|deployment|reconcile|reconciliation|reconcilation|sync|install|installation|apply|config|configuration|provisioning)(?=Status|State|Phase|$)/i
/** Words in the names of fields about the past. */
const past = words(`
  history histories revision revisions event events log logs record records attempt attempts retry retries backup backups
  snapshot snapshots restore restores violation violations message messages transition transitions timestamp timestamps
  timeline phases deprecated tombstone
`)
/** Words in the names of lists and maps that contain steps instead of parts. */
const steps = words('operation operations run runs task tasks step steps stage stages job jobs result results')
/** States of a part that the object may not need: it was replaced, or not requested. */
const neutralStates = words(
  'disabled inactive unknown terminated deleted removed detached skipped stopped suspended paused',
)
/**
 * Fields that contain a copy of an external object, such as a port of OpenStack that is DOWN without a server: its
 * controller knows whether this state is good.
 */
const copies = words('resource externalresource atprovider')
const errorKeys = words('error errors err errmsg errormessage failuremessage failurereason problems')

const verdicts = /verdict$/i

interface Scope {
  readonly isWork: boolean
  readonly spec?: Fields
  /** The path of the fields, with a dot at its end: `nodes[a].`; empty for the status itself. */
  readonly path?: string
  readonly depth?: number
}

/**
 * The signals of the fields of a status, or of an object in it: words, flags, ratios, counts and errors. An object or
 * list is read in the same way, and is one signal about a part, unless its name shows that it is the state of the whole.
 */
export function readFields(fields: Fields, scope: Scope): readonly Signal[] {
  const { path = '', spec = {} } = scope
  const signals = Object.entries(fields).flatMap(([key, value]) => readField(key, value, fields, scope))
  return [...signals, ...readPairs(fields, path), ...readCounts(fields, spec, path)]
}

/** An empty phase: its controller has not written it yet. */
export function readEmptyState(status: Fields): readonly Signal[] {
  const key = Object.keys(status).find((each) => stateKeys.has(each.toLowerCase()) && status[each] === '')
  return key === undefined ? [] : [{ meaning: 'progressing', weight: 'unknown', name: key, message: 'it is empty' }]
}

/** A value that differs from the desired one: `currentVersion` and `desiredVersion`. */
function readPairs(fields: Fields, path: string): readonly Signal[] {
  return Object.entries(fields).flatMap(([key, desired]) => {
    const [, noun] = /^(?:desired|expected)([A-Z]\w*)$/.exec(key) ?? []
    const found = [`current${noun}`, `actual${noun}`].find((each) => !isEmpty(fields[each]))
    const current = found === undefined ? undefined : fields[found]
    const isText = typeof desired === 'string' && desired !== '' && typeof current === 'string'
    return isText && current.toLowerCase().replace(/^v/, '') !== desired.toLowerCase().replace(/^v/, '')
      ? fieldSignal(`${path}${found}`, current, 'progressing', 'change')
      : []
  })
}

function readField(key: string, value: unknown, fields: Fields, scope: Scope): readonly Signal[] {
  const { path = '', depth = 0 } = scope
  const name = key.toLowerCase()
  const isState = stateKeys.has(name)
  if (name === 'conditions' || isEmpty(value)) return []
  if (errorKeys.has(name) || /Errors?$/.test(key)) return readError(`${path}${key}`, value, name.startsWith('last'))
  if (notCurrent.test(key)) return []
  if (typeof value === 'boolean') return readFlag(key, value, path)
  if (typeof value === 'string') {
    if (isState && value === fields['desiredState']) return fieldSignal(`${path}${key}`, value, 'ready', 'whole')
    return withMessage(readWord(key, value, scope), fields)
  }
  if (typeof value !== 'object' || depth >= maxDepth) return []
  return readInner(key, value as Fields, scope)
}

/** The signals of an object or list within a status. */
function readInner(key: string, value: Fields, { path = '', depth = 0, isWork }: Scope): readonly Signal[] {
  const tokens = tokensOf(key)
  const isPast = tokens.some((token) => past.has(token))
  if (conditionHolders.some((holder) => holder === key) || key === 'conditionedStatus') return []
  const inner = { isWork, depth: depth + 1 }
  // `failedNamespaces`: the parts that have failed.
  if (Array.isArray(value) && tokens.length === 2 && !isPast && meaningOf(tokens[0] ?? '') === 'failed')
    return fieldSignal(`${path}${key}`, `${value.length}`, 'progressing', 'part')
  if (Array.isArray(value) || isMap(value)) {
    // Only what is about the whole object may be a step: `lastOperation.state`.
    if (isPast || tokens.some((token) => steps.has(token))) return []
    return Object.entries(value)
      .flatMap(([index, part]) => {
        if (!isObject(part)) return []
        const { name } = part as Fields
        const partPath = `${path}${key}[${typeof name === 'string' ? name : index}].`
        return readPart(part as Fields, { ...inner, path: partPath }, index)
      })
      .filter(({ meaning }) => meaning !== 'ready')
      .slice(0, 1)
  }
  const scope = { ...inner, path: `${path}${key}.` }
  if (copies.has(key.toLowerCase()))
    return readPart(value, scope, key).map((each) => (each.meaning === 'ready' ? each : { ...each, weight: 'copy' }))
  if (!stateHolders.test(key)) return isPast ? [] : readPart(value, scope, key)
  return readFields(value, scope).map((each) =>
    each.weight === 'whole' && changeKeys.test(key) ? { ...each, weight: 'change' } : each,
  )
}

/**
 * The combined result of the signals of a part, as one signal. A part never fails the object, which may not need the
 * part, unless it is a verdict on the object.
 */
function readPart(part: Fields, scope: Scope, type: string): readonly Signal[] {
  const { path = '' } = scope
  const { conditions } = part
  const ownConditions = [
    ...conditionsIn([{ type, ...part }]).filter(({ status }) => isStatus(status)),
    ...conditionsIn(conditions),
  ]
  const signals = ownConditions.flatMap((condition): Signal[] => {
    const reading = readCondition(condition)
    const name = `${path}${condition.type}`
    return reading === undefined ? [] : [{ ...reading, name, value: condition.status, message: condition.message }]
  })
  const fields = readFields(part, scope)
  const hasSucceeded = fields.some((each) => each.meaning === 'ready')
  // The error of a part that has succeeded since is an old one.
  const present = fields.filter(({ weight }) => weight !== 'error' || !hasSucceeded)
  const { meaning, signals: decisive } = summarizeSignals([...signals, ...present])
  if (meaning === undefined || meaning === 'suspended') return []
  return decisive.slice(0, 1).map((each) => ({
    ...each,
    meaning: meaning === 'ready' || (meaning === 'failed' && verdicts.test(each.name)) ? meaning : 'progressing',
    weight: 'part',
  }))
}

function isStatus(value: string): boolean {
  return /^(?:true|false|unknown)$/i.test(value)
}

/** A map of parts by name: all its values are objects. */
function isMap(value: Fields): boolean {
  return Object.values(value).every(isObject)
}

/** `ready`, `isReady`. */
function isGoodKey(key: string): boolean {
  return goodKeys.has(key.replace(/^is(?=[A-Z])/, '').toLowerCase())
}

/** Adds the message beside a failed state, as in Argo's Workflows and Applications. Some name a sentence `reason`. */
function withMessage(signals: readonly Signal[], { message, reason }: Fields): readonly Signal[] {
  const text = [message, reason].find((each) => typeof each === 'string' && /\S\s+\S/.test(each)) ?? message
  if (typeof text !== 'string' || text === '') return signals
  return signals.map((each) => (each.meaning === 'failed' ? { ...each, message: text } : each))
}

/** A word in a status, or in an object within it. */
function readWord(key: string, value: string, { path = '', depth = 0, isWork }: Scope): readonly Signal[] {
  const at = `${path}${key}`
  const name = key.toLowerCase()
  if (/^(?:true|false)$/i.test(value)) return readFlag(key, /^true$/i.test(value), path, true)
  if (isGoodKey(key)) return fieldSignal(at, value, readGood(value), 'whole')
  if (isRatio(key, value)) return fieldSignal(at, value, readGood(value), 'change')
  const ratio = /^\d+\/\d+(?= )/.exec(value)?.[0]
  const meaning = ratio === undefined ? meaningOf(value, isWork || isActivity(key)) : readGood(ratio)
  if (meaning === 'ready' && isStart(value)) return []
  // A failure without a state.
  if (name === 'reason' && path === '')
    return meaning === 'failed' ? fieldSignal(at, value, 'progressing', 'error') : []
  const isState = stateKeys.has(name)
  const isPast = !isWork && tokensOf(key).some((token) => past.has(token))
  if (!isState && !sometimesStateKeys.has(name) && (isPast || !stateEnding.test(key))) return []
  if (depth === 0 && isState && meaning === undefined) return fieldSignal(at, value, 'progressing', 'unknown')
  if (depth > 0 && (neutralStates.has(value.toLowerCase()) || isNotRequested(value))) return []
  // Resources of a Job-like object may be ready before it ends.
  if (depth > 0 && meaning === 'ready' && isWork && !isEnd(value)) return []
  const isWhole = isState || sometimesStateKeys.has(name) || (isWork && isEnd(value))
  return fieldSignal(at, value, meaning, isWhole ? 'whole' : changeKeys.test(key) ? 'change' : 'part')
}

/** Whether a field contains a ratio: `readyReplicas: 1/3` as kubectl prints it, or `progress: 40%`. */
function isRatio(key: string, value: string): boolean {
  if (/progress/i.test(key)) return /^\d+\/\d+$|^\d+(?:\.\d+)?%$/.test(value)
  return /ready|available|replicas|nodes|members|instances/i.test(key) && /^\d+\/\d+$/.test(value)
}

/** The meaning of a value of `goodKeys`, and of a ratio: `True`, `1/2`, `40%`, `NonCompliant`. */
function readGood(value: string): Meaning | undefined {
  if (/^(?:true|false)$/i.test(value)) return /^true$/i.test(value) ? 'ready' : 'progressing'
  const [, done, total] = /^(\d+)\/(\d+)$/.exec(value) ?? /^(\d+)(?:\.\d+)?(%)$/.exec(value) ?? []
  if (done === undefined) return meaningOf(value)
  return Number(done) >= (total === '%' ? 100 : Number(total)) ? 'ready' : 'progressing'
}

/** @param isText the flag is the text `True` or `False`: few of these are options */
function readFlag(key: string, value: boolean, path: string, isText = false): readonly Signal[] {
  const signal = (meaning: Meaning, weight: Signal['weight']) =>
    fieldSignal(`${path}${key}`, `${value}`, meaning, weight)
  const name = key.toLowerCase()
  if (isGoodKey(key) || name === 'health') return signal(value ? 'ready' : 'progressing', 'whole')
  if (path === '' && stepKeys.has(name)) return value ? [] : signal('progressing', 'unknown')
  const tokens = tokensOf(key)
  const last = tokens.at(-1) ?? ''
  const meaning = meaningOf(last)
  if (negationOf(tokens, tokens.length - 1) !== undefined)
    return last === 'ready' && value ? signal('progressing', 'part') : []
  if (last === 'pause' || meaning === 'suspended') return value && path === '' ? signal('suspended', 'whole') : []
  // `failed`, `failedProvisioning`; but `failOpen` is an option.
  if (meaningOf(tokens[0] ?? '') === 'failed' && (tokens.length === 1 || tokens[0] === 'failed'))
    return value ? signal('failed', 'whole') : []
  if (path === '' && tokens.some((token) => changeFlags.has(token))) return value ? signal('progressing', 'change') : []
  if (last === 'ready' || (isText && isGoodWord(last))) return signal(value ? 'ready' : 'progressing', 'part')
  return isText && !value && stateEnding.test(key) ? signal('progressing', 'part') : []
}

/** Texts for the absence of an error. */
const noError = /^(?:none|null|nil|ok|no[- ]?errors?)\.?$/i

/** The text of an error. The last error (`lastError`) may be over. */
function readError(key: string, value: unknown, isLast: boolean): readonly Signal[] {
  if (value === false || typeof value === 'number' || noError.test(String(value))) return []
  const { message } = (typeof value === 'object' && value !== null ? value : {}) as Fields
  const text = typeof value === 'string' ? value : typeof message === 'string' ? message : JSON.stringify(value)
  return [{ meaning: isLast ? 'progressing' : 'failed', weight: 'error', name: key, message: text }]
}
