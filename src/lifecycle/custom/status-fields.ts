import type { Fields, KubeObject } from '../../cluster/objects.ts'
import { conditionsIn, isEmpty } from '../conditions.ts'
import {
  fieldSignal,
  type Meaning,
  meaningOf,
  negationOf,
  readCondition,
  type Signal,
  tokensOf,
  words,
} from './status-vocabulary.ts'

/** Status fields that contain the object's state as a word. */
const stateKeys = words(`
  phase state status health healthstatus currentstate currentphase lastobservedstate
`)
/** Fields that contain a state in some kinds only, so the gate ignores unknown words. */
const sometimesStateKeys = words('stage result outcome verdict')
/** Status fields named like a good condition: `ready: true`, `compliant: NonCompliant`, `ready: 1/2`. */
const goodKeys = words(`
  ready isready readytouse pass passed healthy available succeeded synced established compliant reconciled
`)
/** Fields whose nested state is about the whole object: `health.status`, `jobStatus.state`. Others are about a part. */
const stateHolders = /(?:state|status|health|phase|result|sync|operation)$/i
/** Fields about another time, or about what was requested. `lastOperation` is about the present. */
const notCurrent = /^(?:last(?!operation)|previous|prior|old|former|desired|target|expected|requested|initial)/i
/** Fields about the change in progress, not the object's previous state. */
const changeKeys =
  /^(?:last)?(?:operation|update|upgrade|rollout|deploy|deployment|reconcile|reconciliation|reconcilation|sync|install|installation|apply|config|configuration|provisioning)(?=Status|State|Phase|$)/i
/** Lists and maps that contain past events or steps instead of parts. */
const notParts =
  /histor|revision|event|log|record|attempt|retr(?:y|ies)|backup|snapshot|restore|operation|run|task|step|stage|job|result|violation|message/i
const errorKeys = words('error errors err errmsg errormessage failuremessage failurereason')

/**
 * The signals of one status field: a word, a flag, a ratio, an error or a part. Words and ratios count one level deeper
 * too.
 * @param status the object that contains the field: its `message` explains a failure
 */
export function readField(key: string, value: unknown, isWork: boolean, status: Fields): readonly Signal[] {
  const name = key.toLowerCase()
  if (name === 'conditions' || isEmpty(value)) return []
  if (errorKeys.has(name)) return readError(key, value)
  if (notCurrent.test(key)) return []
  if (typeof value === 'boolean') return readFlag(key, value)
  if (typeof value === 'string') return withMessage(readWord(key, value, isWork), status)
  if (typeof value !== 'object') return []
  return [...(Array.isArray(value) ? [] : readNested(key, value as Fields, isWork)), ...readParts(key, value as Fields)]
}

function readNested(key: string, value: Fields, isWork: boolean): readonly Signal[] {
  return Object.entries(value).flatMap(([inner, word]) => {
    const path = `${key}.${inner}`
    if (typeof word !== 'string') return []
    if (isRatio(inner, word)) return fieldSignal(path, word, readGood(word), 'change')
    if (!stateKeys.has(inner.toLowerCase())) return []
    const weight = !stateHolders.test(key) ? 'part' : changeKeys.test(key) ? 'change' : 'whole'
    return withMessage(fieldSignal(path, word, meaningOf(word, isWork), weight), value)
  })
}

/**
 * The first bad part in a list or map: `components[db].phase is Failed`. It never makes the object fail: only the
 * object's own summary shows whether the object needs the part.
 */
function readParts(key: string, parts: Fields): readonly Signal[] {
  if (notParts.test(key)) return []
  const bad = Object.entries(parts).flatMap(([index, part]) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return []
    const { name, conditions, ...rest } = part as Fields
    const path = `${key}[${typeof name === 'string' ? name : index}]`
    return [
      ...Object.entries(rest).flatMap(([inner, word]) => readPart(`${path}.${inner}`, inner.toLowerCase(), word)),
      ...conditionsIn(conditions).flatMap((each) =>
        fieldSignal(`${path}.${each.type}`, each.status, readCondition(each)?.meaning, 'part'),
      ),
    ].filter(({ meaning }) => meaning === 'failed' || meaning === 'progressing')
  })
  return bad.slice(0, 1).map((each) => ({ ...each, meaning: 'progressing' }))
}

function readPart(path: string, key: string, value: unknown): readonly Signal[] {
  if (typeof value === 'boolean' && goodKeys.has(key))
    return fieldSignal(path, `${value}`, value ? 'ready' : 'progressing', 'part')
  return typeof value === 'string' && stateKeys.has(key) ? fieldSignal(path, value, meaningOf(value), 'part') : []
}

/** Adds the message beside a failed state, as in Argo's Workflows and Applications. */
function withMessage(signals: readonly Signal[], { message }: Fields): readonly Signal[] {
  if (typeof message !== 'string' || message === '') return signals
  return signals.map((each) => (each.meaning === 'failed' ? { ...each, message } : each))
}

function readWord(key: string, value: string, isWork: boolean): readonly Signal[] {
  const name = key.toLowerCase()
  if (stateKeys.has(name)) {
    const meaning = meaningOf(value, isWork)
    return meaning === undefined
      ? fieldSignal(key, value, 'progressing', 'unknown')
      : fieldSignal(key, value, meaning, 'whole')
  }
  if (sometimesStateKeys.has(name)) return fieldSignal(key, value, meaningOf(value, isWork), 'whole')
  if (goodKeys.has(name)) return fieldSignal(key, value, readGood(value), 'whole')
  if (isRatio(key, value)) return fieldSignal(key, value, readGood(value), 'change')
  if (!/(?:Status|State|Phase|Health)$/.test(key)) return []
  return fieldSignal(key, value, meaningOf(value, isWork), changeKeys.test(key) ? 'change' : 'part')
}

/** Whether a field contains a ratio, as kubectl prints it: `readyReplicas: 1/3`. */
function isRatio(key: string, value: string): boolean {
  return /ready|available|replicas|nodes|members|instances/i.test(key) && /^\d+\/\d+$/.test(value)
}

/** The meaning of a value of `goodKeys`: `True`, `1/2`, `NonCompliant`. */
function readGood(value: string): Meaning | undefined {
  if (/^(?:true|false)$/i.test(value)) return /^true$/i.test(value) ? 'ready' : 'progressing'
  const [, done, total] = /^(\d+)\/(\d+)$/.exec(value) ?? []
  return done === undefined ? meaningOf(value) : Number(done) >= Number(total) ? 'ready' : 'progressing'
}

function readFlag(key: string, value: boolean): readonly Signal[] {
  if (goodKeys.has(key.toLowerCase())) return fieldSignal(key, `${value}`, value ? 'ready' : 'progressing', 'whole')
  const tokens = tokensOf(key)
  const last = tokens.at(-1) ?? ''
  const meaning = meaningOf(last)
  if (negationOf(tokens, tokens.length - 1) !== undefined)
    return last === 'ready' && value ? fieldSignal(key, 'true', 'progressing', 'part') : []
  if (last === 'pause' || meaning === 'suspended') return value ? fieldSignal(key, 'true', 'suspended', 'whole') : []
  if (tokens.length === 1 && meaning === 'failed') return value ? fieldSignal(key, 'true', 'failed', 'whole') : []
  return last === 'ready' ? fieldSignal(key, `${value}`, value ? 'ready' : 'progressing', 'part') : []
}

function readError(key: string, value: unknown): readonly Signal[] {
  const { message } = (typeof value === 'object' && value !== null ? value : {}) as Fields
  const text = typeof value === 'string' ? value : typeof message === 'string' ? message : JSON.stringify(value)
  if (value === false) return []
  return [{ meaning: 'failed', weight: 'error', name: key, message: text }]
}

/**
 * Counts below the desired number: those of Deployments and DaemonSets, and pairs such as `expectedNodes`,
 * `availableNodes`.
 */
export function readCounts({ spec, status }: KubeObject): readonly Signal[] {
  const counts = (status ?? {}) as Fields
  const { replicas: desired } = (spec ?? {}) as Fields
  const wanted = typeof desired === 'number' ? desired : counts['replicas']
  const replicas = isNumber(wanted) ? wanted : undefined
  const short = ['updatedReplicas', 'readyReplicas', 'availableReplicas'].find(
    (key) => replicas !== undefined && isNumber(counts[key]) && counts[key] < replicas,
  )
  // Zero is often omitted, but not beside `updatedReplicas`.
  const isZeroOmitted =
    isNumber(counts['updatedReplicas']) && !('readyReplicas' in counts) && !('availableReplicas' in counts)
  const none = short === undefined && (replicas ?? 0) > 0 && isZeroOmitted
  const { unavailableReplicas: missing } = counts
  const pair = Object.entries(counts).find(([key, total]) => {
    const noun = /^(?:expected|desired)([A-Z]\w*)$/.exec(key)?.[1]
    if (noun === undefined || noun === 'Replicas' || noun === 'NumberScheduled' || typeof total !== 'number')
      return false
    const there = ['available', 'ready', 'current'].map((word) => counts[`${word}${noun}`]).find(isNumber)
    // Zero is often omitted; if other counts exist, one of them may belong to this pair.
    return there === undefined
      ? total > 0 && !Object.keys(counts).some((each) => existingCountKeys.test(each))
      : there < total
  })
  const nodes = counts['desiredNumberScheduled']
  const fewer = ['updatedNumberScheduled', 'numberAvailable', 'numberReady'].find(
    (key) => isNumber(nodes) && isNumber(counts[key]) && counts[key] < nodes,
  )
  return [
    ...(fewer === undefined ? [] : fieldSignal(fewer, `${counts[fewer]} of ${nodes}`, 'progressing', 'change')),
    ...(short === undefined ? [] : fieldSignal(short, `${counts[short]} of ${replicas}`, 'progressing', 'change')),
    ...(none ? fieldSignal('readyReplicas', `0 of ${replicas}`, 'progressing', 'change') : []),
    ...(isNumber(missing) && missing > 0
      ? fieldSignal('unavailableReplicas', `${missing}`, 'progressing', 'change')
      : []),
    ...(pair === undefined ? [] : fieldSignal(pair[0], `${pair[1]}, and fewer exist`, 'progressing', 'change')),
  ]
}

const existingCountKeys = /^(?:available|ready|current|healthy)[A-Z]/

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
