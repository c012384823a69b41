import { conditionsIn } from '../conditions.ts'
import { readCondition } from './polarity.ts'
import { type Fields, isEmpty, type Say, say } from './signal.ts'
import { type Meaning, meaningOf, negationOf, tokensOf } from './status-vocabulary.ts'

/** Status fields that name the object's state by a word. */
const stateKeys = new Set([
  'phase',
  'state',
  'status',
  'health',
  'healthstatus',
  'currentstate',
  'currentphase',
  'lastobservedstate',
])
/** Fields that name a state by a word in some kinds, and something else in others: only words that we know count. */
const perhapsStateKeys = new Set(['stage', 'result', 'outcome', 'verdict'])
/** Status fields that are named like a good condition: `ready: true`, `compliant: NonCompliant`, `ready: 1/2`. */
const goodKeys = new Set([
  'ready',
  'isready',
  'readytouse',
  'pass',
  'passed',
  'healthy',
  'available',
  'succeeded',
  'synced',
  'established',
  'compliant',
  'reconciled',
])
/** Objects within the status that hold its own state: `health.status`, `jobStatus.state`. Others hold that of a part. */
const nested = /(?:state|status|health|phase|result|sync|operation)$/i
/** They speak of another time or of a wish. `lastOperation` is the one that is still true. */
const elsewhen = /^(?:last(?!operation)|previous|prior|old|former|desired|target|expected|requested|initial)/i
/** Fields that say how the change is going, whatever the object's state was before it. */
const change =
  /^(?:last)?(?:operation|update|upgrade|rollout|deploy|deployment|reconcile|reconciliation|reconcilation|sync|install|installation|apply|config|configuration|provisioning)(?=Status|State|Phase|$)/i
/** Lists and maps of what has happened, or is done one after the other, and not of parts. */
const notParts =
  /histor|revision|event|log|record|attempt|retr(?:y|ies)|backup|snapshot|restore|operation|run|task|step|stage|job|result|violation|message/i
const errorKeys = new Set(['error', 'errors', 'err', 'errmsg', 'errormessage', 'failuremessage', 'failurereason'])

/**
 * What one field of the status says: a word, a flag, a ratio, an error, such a thing one level below, or a part.
 * @param status what the field stands in: of a word of failure, its `message` says why
 */
export function fromField(key: string, value: unknown, isWork: boolean, status: Fields): readonly Say[] {
  const name = key.toLowerCase()
  if (name === 'conditions' || isEmpty(value)) return []
  if (errorKeys.has(name)) return fromError(key, value)
  if (elsewhen.test(key)) return []
  if (typeof value === 'boolean') return fromFlag(key, value)
  if (typeof value === 'string') return explained(fromWord(key, value, isWork), status)
  if (typeof value !== 'object') return []
  return [...(Array.isArray(value) ? [] : fromNested(key, value as Fields, isWork)), ...fromParts(key, value as Fields)]
}

function fromNested(key: string, value: Fields, isWork: boolean): readonly Say[] {
  return Object.entries(value).flatMap(([inner, word]) => {
    const path = `${key}.${inner}`
    if (typeof word !== 'string') return []
    if (isRatio(inner, word)) return say(path, word, readGood(word), 'change')
    if (!stateKeys.has(inner.toLowerCase())) return []
    const weight = !nested.test(key) ? 'part' : change.test(key) ? 'change' : 'whole'
    return explained(say(path, word, meaningOf(word, isWork), weight), value)
  })
}

/**
 * The first part in a list or a map that is not good: `components[db].phase is Failed`. Its object is not ready, and does
 * not fail by it: whether the object can do without that part, only its own summary says.
 */
function fromParts(key: string, parts: Fields): readonly Say[] {
  if (notParts.test(key)) return []
  const bad = Object.entries(parts).flatMap(([index, part]) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return []
    const { name, conditions, ...rest } = part as Fields
    const path = `${key}[${typeof name === 'string' ? name : index}]`
    return [
      ...Object.entries(rest).flatMap(([inner, word]) => fromPart(`${path}.${inner}`, inner.toLowerCase(), word)),
      ...conditionsIn(conditions).flatMap((each) =>
        say(`${path}.${each.type}`, each.status, readCondition(each)?.meaning, 'part'),
      ),
    ].filter(({ meaning }) => meaning === 'failed' || meaning === 'progressing')
  })
  return bad.slice(0, 1).map((each) => ({ ...each, meaning: 'progressing' }))
}

function fromPart(path: string, key: string, value: unknown): readonly Say[] {
  if (typeof value === 'boolean' && goodKeys.has(key))
    return say(path, `${value}`, value ? 'ready' : 'progressing', 'part')
  return typeof value === 'string' && stateKeys.has(key) ? say(path, value, meaningOf(value), 'part') : []
}

/** Argo's Workflows and Applications, and many others, put the cause of a word beside it. */
function explained(says: readonly Say[], { message }: Fields): readonly Say[] {
  if (typeof message !== 'string' || message === '') return says
  return says.map((each) => (each.meaning === 'failed' ? { ...each, text: `${each.text}: ${message}` } : each))
}

function fromWord(key: string, value: string, isWork: boolean): readonly Say[] {
  const name = key.toLowerCase()
  if (stateKeys.has(name)) {
    const meaning = meaningOf(value, isWork)
    return meaning === undefined ? say(key, value, 'progressing', 'unknown') : say(key, value, meaning, 'whole')
  }
  if (perhapsStateKeys.has(name)) return say(key, value, meaningOf(value, isWork), 'whole')
  if (goodKeys.has(name)) return say(key, value, readGood(value), 'whole')
  if (isRatio(key, value)) return say(key, value, readGood(value), 'change')
  if (!/(?:Status|State|Phase|Health)$/.test(key)) return []
  return say(key, value, meaningOf(value, isWork), change.test(key) ? 'change' : 'part')
}

/** `readyReplicas: 1/3`: printed like the column of kubectl. */
function isRatio(key: string, value: string): boolean {
  return /ready|available|replicas|nodes|members|instances/i.test(key) && /^\d+\/\d+$/.test(value)
}

/** `True`, `1/2`, `NonCompliant` */
function readGood(value: string): Meaning | undefined {
  if (/^(?:true|false)$/i.test(value)) return /^true$/i.test(value) ? 'ready' : 'progressing'
  const [, done, total] = /^(\d+)\/(\d+)$/.exec(value) ?? []
  return done === undefined ? meaningOf(value) : Number(done) >= Number(total) ? 'ready' : 'progressing'
}

function fromFlag(key: string, value: boolean): readonly Say[] {
  if (goodKeys.has(key.toLowerCase())) return say(key, `${value}`, value ? 'ready' : 'progressing', 'whole')
  const tokens = tokensOf(key)
  const last = tokens.at(-1) ?? ''
  const meaning = meaningOf(last)
  if (negationOf(tokens, tokens.length - 1) !== undefined)
    return last === 'ready' && value ? say(key, 'true', 'progressing', 'part') : []
  if (last === 'pause' || meaning === 'suspended') return value ? say(key, 'true', 'suspended', 'whole') : []
  if (tokens.length === 1 && meaning === 'failed') return value ? say(key, 'true', 'failed', 'whole') : []
  return last === 'ready' ? say(key, `${value}`, value ? 'ready' : 'progressing', 'part') : []
}

function fromError(key: string, value: unknown): readonly Say[] {
  const { message } = (typeof value === 'object' && value !== null ? value : {}) as Fields
  const text = typeof value === 'string' ? value : typeof message === 'string' ? message : JSON.stringify(value)
  if (value === false) return []
  return [{ meaning: 'failed', weight: 'error', key, text: `${key}: ${text}` }]
}
