import type { Condition, KubeObject } from '../cluster/objects.ts'
import { conditionWords, isCondition, isPresent, isStale } from './conditions.ts'
import { readCondition, type Weight } from './polarity.ts'
import { type Meaning, meaningOf, tokensOf } from './words.ts'

/** One thing that an object says of its own state. */
export interface Say {
  readonly meaning: Meaning
  /**
   * How much it weighs (see `Weight`). Besides: `change` is about the change that is being made (updateStatus, replica
   * counts), `error` is an error's text, `unknown` a phase that we have no meaning for, `spec` the user's own wish.
   */
  readonly weight: Weight | 'change' | 'error' | 'unknown' | 'spec'
  /** What it is said with, without what changes while it stands: `Ready=False`, `phase=Failed`. */
  readonly key: string
  /** For people: `Ready is False (NoQuota): …`, `phase is Failed`. */
  readonly text: string
  readonly condition?: Condition
}

type Fields = Readonly<Record<string, unknown>>

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
/** The names under which controllers say which generation their status speaks of. */
const generationKeys = /^(?:observed|reconciled|last(?:Observed|Evaluated|Reconciled|Processed|Handled))Generation$/
/** The Gateway API's places for conditions of parts (GEP-713 and the Route, Gateway types). */
const conditionHolders = ['parents', 'ancestors', 'listeners'] as const
/** Kinds whose objects are a piece of work that ends. */
const work =
  /(?:Job|Run|Task|Workflow|Backup|Restore|Migration|Analysis|Experiment|Operation|Execution|Build|Test|Import|Export|Request|Transfer|Clone|Upload|Download)$/
/** Conditions by which an object tells that it is a piece of work. */
const workConditions = /(?:Completed?|Succeeded|Finished)$/

/** Everything that an object says of itself about its present generation, in the order in which it stands there. */
export function saysOf(object: KubeObject): readonly Say[] {
  const status = (object.status ?? {}) as Fields
  const isWork = isPieceOfWork(object)
  return [
    ...wishes(object),
    ...conditionsOf(object).flatMap(({ condition, where }) => fromCondition(condition, where, isWork)),
    ...unacceptedBy(object),
    ...Object.entries(status)
      .flatMap(([key, value]) => fromField(key, value, isWork))
      .map((each) => asWished(each, object)),
    ...fromCounts(object),
  ]
}

/** A state that the spec itself asks for is reached, not suspended: `spec.job.state: suspended`. */
function asWished(each: Say, { spec }: KubeObject): Say {
  if (each.meaning !== 'suspended') return each
  const word = each.key.slice(each.key.indexOf('=') + 1)
  return wishedStates(spec).some((wish) => tokensOf(wish).join('') === tokensOf(word).join(''))
    ? { ...each, meaning: 'ready' }
    : each
}

function wishedStates(spec: object = {}): readonly string[] {
  const isState = (key: string, value: unknown): value is string => typeof value === 'string' && /state$/i.test(key)
  return Object.entries(spec).flatMap(([key, value]) => {
    if (isState(key, value)) return [value]
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value as Fields).flatMap(([inner, word]) => (isState(inner, word) ? [word] : []))
  })
}

/**
 * Whether what it says is about an older generation. Where neither the status nor its last word (Ready) names the
 * generation of today, a condition of an older one says that the controller has yet to come by.
 */
export function isUnobserved(object: KubeObject): boolean {
  const { generation } = object.metadata
  const status = (object.status ?? {}) as Fields
  if (Object.entries(status).some(([key, value]) => generationKeys.test(key) && isStale(value, generation))) return true
  const conditions = heldConditions(object).map(({ condition }) => condition)
  const stale = conditions.filter((each) => !isPresent(each, object) && readCondition(each) !== undefined)
  return stale.length > 0 && !conditions.some((each) => each.type === 'Ready' && isPresent(each, object))
}

/** Whether its status holds nothing at all, but for empty lists and the like: nobody has written it yet. */
export function isSilent({ status }: KubeObject): boolean {
  return isEmpty(status)
}

/** A schedule does its work later, like a CronJob: that it has no status, or is suspended, is how it was applied. */
export function isSchedule({ kind, spec }: KubeObject): boolean {
  const { schedule, schedules } = (spec ?? {}) as Fields
  return kind.startsWith('Cron') || kind.endsWith('Schedule') || schedule !== undefined || schedules !== undefined
}

function isPieceOfWork(object: KubeObject): boolean {
  return (
    work.test(object.kind) ||
    conditionsOf(object).some(({ condition: { type, status } }) => workConditions.test(type) && status !== 'True')
  )
}

function wishes(object: KubeObject): readonly Say[] {
  if (isSchedule(object)) return []
  const spec = (object.spec ?? {}) as Fields
  const wish = ['suspend', 'suspended', 'paused', 'pause', 'hibernate'].find((key) => spec[key] === true)
  // Workloads beyond the built-in ones pause a rollout in its strategy.
  const strategy = ['strategy', 'updateStrategy', 'rollout'].find(
    (key) => (spec[key] as Fields | null | undefined)?.['paused'] === true,
  )
  const path = wish ?? (strategy === undefined ? undefined : `${strategy}.paused`)
  if (path === undefined) return []
  return [{ meaning: 'suspended', weight: 'spec', key: `spec.${path}`, text: `spec.${path} is true` }]
}

function conditionsOf(object: KubeObject): readonly HeldCondition[] {
  return heldConditions(object).filter(({ condition }) => isPresent(condition, object))
}

interface HeldCondition {
  readonly condition: Condition
  /** Of which part it is: `listener http: `; empty for the object's own. */
  readonly where: string
}

function heldConditions(object: KubeObject): readonly HeldCondition[] {
  const status = (object.status ?? {}) as Fields
  const own = listOf(status['conditions']).map((condition) => ({ condition, where: '' }))
  const held = conditionHolders.flatMap((holder) =>
    listOf(status[holder]).flatMap((each) => {
      const { conditions, name } = (each ?? {}) as Fields
      const where = `${holder.slice(0, -1)}${typeof name === 'string' ? ` ${name}` : ''}: `
      return listOf(conditions).map((condition) => ({ condition, where }))
    }),
  )
  return [...own, ...held].filter((each): each is HeldCondition => isCondition(each.condition))
}

/** The Gateway API's parents and ancestors have each to say whether they accept the object. */
function unacceptedBy({ status }: KubeObject): readonly Say[] {
  return (['parents', 'ancestors'] as const).flatMap((holder) => {
    const silent = listOf(((status ?? {}) as Fields)[holder]).some(
      (each) =>
        !listOf(((each ?? {}) as Fields)['conditions']).some((one) => isCondition(one) && one.type === 'Accepted'),
    )
    const text = `one of its ${holder} has not accepted it yet`
    return silent ? [{ meaning: 'progressing', weight: 'accepted', key: `${holder}=`, text }] : []
  })
}

function fromCondition(condition: Condition, where: string, isWork: boolean): readonly Say[] {
  const reading = readCondition(condition, isWork)
  if (reading === undefined) return []
  const weight = where !== '' && reading.weight !== 'accepted' ? 'part' : reading.weight
  const key = `${where}${condition.type}=${condition.status}`
  return [{ ...reading, weight, key, text: `${where}${conditionWords(condition)}`, condition }]
}

function fromField(key: string, value: unknown, isWork: boolean): readonly Say[] {
  const name = key.toLowerCase()
  if (name === 'conditions' || isEmpty(value)) return []
  if (errorKeys.has(name)) return fromError(key, value)
  if (elsewhen.test(key)) return []
  if (typeof value === 'boolean') return fromFlag(key, value)
  if (typeof value === 'string') return fromWord(key, value, isWork)
  if (typeof value !== 'object' || Array.isArray(value)) return []
  return Object.entries(value as Fields).flatMap(([inner, word]) => {
    const path = `${key}.${inner}`
    if (typeof word !== 'string') return []
    if (isRatio(inner, word)) return say(path, word, readGood(word), 'change')
    if (!stateKeys.has(inner.toLowerCase())) return []
    if (!nested.test(key)) return say(path, word, meaningOf(word, isWork), 'part')
    return say(path, word, meaningOf(word, isWork), change.test(key) ? 'change' : 'whole')
  })
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

/** Fewer than wanted: by the counts that Deployments and DaemonSets have, and by pairs as `expectedNodes`, `availableNodes`. */
function fromCounts({ spec, status }: KubeObject): readonly Say[] {
  const counts = (status ?? {}) as Fields
  const { replicas: asked } = (spec ?? {}) as Fields
  const wanted = typeof asked === 'number' ? asked : counts['replicas']
  const replicas = typeof wanted === 'number' && typeof counts['replicas'] === 'number' ? wanted : undefined
  const short = ['updatedReplicas', 'readyReplicas', 'availableReplicas'].find(
    (key) => replicas !== undefined && typeof counts[key] === 'number' && (counts[key] as number) < replicas,
  )
  const pair = Object.entries(counts).find(([key, total]) => {
    const noun = /^(?:expected|desired)([A-Z]\w*)$/.exec(key)?.[1]
    if (noun === undefined || noun === 'Replicas' || noun === 'NumberScheduled' || typeof total !== 'number')
      return false
    const there = ['available', 'ready', 'current'].map((word) => counts[`${word}${noun}`]).find(isNumber)
    // A zero is often left out; but where other counts are there, they may be what is compared with.
    return there === undefined ? total > 0 && !Object.keys(counts).some((each) => thereKeys.test(each)) : there < total
  })
  const nodes = counts['desiredNumberScheduled']
  const fewer = ['updatedNumberScheduled', 'numberAvailable', 'numberReady'].find(
    (key) => isNumber(nodes) && isNumber(counts[key]) && counts[key] < nodes,
  )
  return [
    ...(fewer === undefined ? [] : say(fewer, `${counts[fewer]} of ${nodes}`, 'progressing', 'change')),
    ...(short === undefined ? [] : say(short, `${counts[short]} of ${replicas}`, 'progressing', 'change')),
    ...(pair === undefined ? [] : say(pair[0], `${pair[1]}, and fewer are there`, 'progressing', 'change')),
  ]
}

const thereKeys = /^(?:available|ready|current|healthy)[A-Z]/

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function say(path: string, word: string, meaning: Meaning | undefined, weight: Say['weight']): readonly Say[] {
  return meaning === undefined ? [] : [{ meaning, weight, key: `${path}=${word}`, text: `${path} is ${word}` }]
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}
