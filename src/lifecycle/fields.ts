import { type Fields, isEmpty, type Say, say } from './say.ts'
import { type Meaning, meaningOf, negationOf, tokensOf } from './words.ts'

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
const errorKeys = new Set(['error', 'errors', 'err', 'errmsg', 'errormessage', 'failuremessage', 'failurereason'])

/**
 * What one field of the status says: a word, a flag, a ratio, an error, or such a thing one level below.
 * @param status what the field stands in: of a word of failure, its `message` says why
 */
export function fromField(key: string, value: unknown, isWork: boolean, status: Fields): readonly Say[] {
  const name = key.toLowerCase()
  if (name === 'conditions' || isEmpty(value)) return []
  if (errorKeys.has(name)) return fromError(key, value)
  if (elsewhen.test(key)) return []
  if (typeof value === 'boolean') return fromFlag(key, value)
  if (typeof value === 'string') return explained(fromWord(key, value, isWork), status)
  if (typeof value !== 'object' || Array.isArray(value)) return []
  return Object.entries(value as Fields).flatMap(([inner, word]) => {
    const path = `${key}.${inner}`
    if (typeof word !== 'string') return []
    if (isRatio(inner, word)) return say(path, word, readGood(word), 'change')
    if (!stateKeys.has(inner.toLowerCase())) return []
    const weight = !nested.test(key) ? 'part' : change.test(key) ? 'change' : 'whole'
    return explained(say(path, word, meaningOf(word, isWork), weight), value as Fields)
  })
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
