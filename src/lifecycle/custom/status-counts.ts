import type { Fields } from '../../cluster/objects.ts'
import { fieldsOf } from '../conditions.ts'
import { fieldSignal, type Signal, tokensOf, words } from './status-vocabulary.ts'

/** The parts that counts are about, in the singular. `availableIPs` and `completedJobs` count no parts. */
const partNouns = words(`
  replica node member instance pod machine broker shard cluster server worker partition host rack component peer bundle
`)
/** How many parts are requested: `desiredReplicas`, `expectedNodes`, `size`. */
const requestedWords = words('desired expected wanted size')
/** How many parts exist: `totalReplicas`, `matchedPods`; also a noun alone, as `replicas`. */
const existingWords = words('total matched all')
/** How many of the requested or existing parts are as they should be: `readyReplicas`, `updatedReadyReplicas`. */
const goodWords = words('ready available updated healthy uptodate')
/**
 * Beside a requested number, `current` counts the existing parts. In some kinds, it counts the parts of the previous
 * state.
 */
const currentWords = words('current actual running')
/** How many parts are not as they should be: `unavailableReplicas`, `degradedMachineCount`. */
const badWords = words('unavailable unready notready nonready degraded failed unhealthy missing outdated')
/** Words without a meaning of their own: `machineCount`, `numberReady`, `desiredNumberScheduled`. */
const fillers = words('count number num of scheduled')
/** The fields of a spec that request a number of parts. */
const specKeys = ['replicas', 'size', 'instances', 'nodes', 'members', 'nodeCount', 'count'] as const

/** Progress without parts: `currentStepIndex`, `succeeded`, `progress: 40%`. Other numbers may change without end. */
const progressWords = words(`
  step stage iteration iterations weight succeeded successful completed complete finished done processed progress percent
  percentage
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
  readonly states: readonly string[]
}

/**
 * A count which shows that parts are missing: fewer are ready, available or updated than requested or than exist, or
 * some are not. Zero is often omitted. In `replicas: 3` alone, another object scales by the number.
 * @param spec the spec, for the counts of the whole object
 * @param path the path of the object, with a dot at its end: `racks[a].`
 */
export function readCounts(fields: Fields, spec: Fields = {}, path = ''): readonly Signal[] {
  const counts = countsOf(fields).filter(({ states }) => !(states.includes('updated') && keepsOldParts(spec)))
  const found = shortCount(counts, spec) ?? badCount(counts)
  const omitted = found === undefined ? omittedCount(counts) : undefined
  const [key, text] = found ?? omitted ?? []
  if (key === undefined || text === undefined) return []
  // A state may show that the parts are ready without their number.
  return fieldSignal(`${path}${key}`, text, 'progressing', omitted === undefined ? 'change' : 'unknown')
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
    const number = typeof value === 'string' ? /^(\d+)(?:\.\d+)?%$|^(\d+)\/\d+$/.exec(value) : undefined
    const count = typeof value === 'number' ? value : Number(number?.[1] ?? number?.[2])
    const tokens = countTokens(key)
    const isProgress = tokens.some((token) => goodWords.has(token) || progressWords.has(token))
    if (count >= 0 && isProgress && !has(tokens, otherWords) && !has(tokens, badWords)) counters.set(path, count)
  }
  read('', status, 'status', 0)
  return counters
}

/** A count that shows missing parts: its name, and the text for the message. */
type ShownCount = readonly [key: string, text: string]

function shortCount(counts: readonly Count[], spec: Fields): ShownCount | undefined {
  for (const count of counts.filter(({ states }) => states.length > 0 && !has(states, requestedWords))) {
    const { key, value, noun, states } = count
    if (has(states, badWords) || !(has(states, goodWords) || has(states, currentWords))) continue
    const others = counts.filter((each) => each.noun === noun && each !== count)
    // `total` and `available` of the same parts, or `size` and `available` of a volume: the rest is in use.
    const isCapacity = !['ready', 'updated', 'healthy', 'uptodate'].some((state) => states.includes(state))
    const requested =
      (isCapacity && noun === '' ? undefined : specCount(spec, noun)) ??
      largest(others.filter((each) => has(each.states, requestedWords)))
    const existing = others.filter(
      (each) => (each.states.length === 0 && noun !== '') || (has(each.states, existingWords) && !isCapacity),
    )
    const total = requested ?? (has(states, goodWords) ? largest(existing) : undefined)
    if (total !== undefined && value < total) return [key, `${value} of ${total}`]
  }
  return undefined
}

function badCount(counts: readonly Count[]): ShownCount | undefined {
  // Without a noun, failures are counted over time: `failed: 2`.
  const bad = counts.find(
    ({ value, noun, states }) =>
      value > 0 && has(states, badWords) && (noun !== '' || /^(?:un|not)/.test(states.join(''))),
  )
  return bad && [bad.key, `${bad.value}`]
}

/** A requested number, or `updatedReplicas`, without any count of ready parts. */
function omittedCount(counts: readonly Count[]): ShownCount | undefined {
  if (counts.some(({ states }) => has(states, goodWords) && !states.includes('updated'))) return undefined
  const updated = counts.find(({ key, value }) => key === 'updatedReplicas' && value > 0)
  if (updated !== undefined) return ['readyReplicas', `0 of ${updated.value}`]
  const requested = counts.find(
    ({ value, noun, states }) =>
      value > 0 &&
      noun !== '' &&
      has(states, requestedWords) &&
      !states.includes('size') &&
      counts.every((each) => each.noun !== noun || each.value < value || has(each.states, requestedWords)),
  )
  return requested && [requested.key, `${requested.value}, and fewer exist`]
}

/** `readyReplicas: 0`, which is the only count, unless the spec requests zero parts. */
export function readNoneReady(status: Fields, spec: Fields): readonly Signal[] {
  const [only, ...others] = countsOf(status)
  const isNone = only?.value === 0 && only.noun !== '' && has(only.states, goodWords)
  return isNone && others.length === 0 && !requestsZero(spec)
    ? fieldSignal(only.key, '0', 'progressing', 'unknown')
    : []
}

function requestsZero(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || depth > maxCounterDepth) return false
  return Object.entries(value).some(
    ([key, each]) => (each === 0 && toCount(key, each).length > 0) || requestsZero(each, depth + 1),
  )
}

/**
 * How many parts the spec requests: `spec.nodes` belongs to `readyNodes`, `spec.size` to `ready`, and the sum of
 * `spec.nodeSets[].count` to `availableNodes`.
 */
function specCount(spec: Fields, noun: string): number | undefined {
  const sets = Object.entries(spec).find(([key, value]) => fieldsOf(value).length > 0 && tokensOf(key)[0] === noun)
  const counts = fieldsOf(sets?.[1]).map(({ count, replicas }) => count ?? replicas)
  if (counts.length > 0 && counts.every((count) => typeof count === 'number'))
    return counts.reduce((sum, count) => sum + count, 0)
  const requested = specKeys
    .flatMap((key) => toCount(key, spec[key]))
    .filter((each) => each.noun === noun || (noun === '' && each.key === 'replicas'))
  return largest(requested)
}

/** Whether the spec keeps parts at their revision: `updateStrategy.partition`, `rollingUpdate.partition`, OnDelete. */
function keepsOldParts({ updateStrategy, strategy }: Fields): boolean {
  return [updateStrategy, strategy].some((each) => {
    const { type = each, partition, rollingUpdate } = (each ?? {}) as Fields
    return type === 'OnDelete' || Boolean(partition ?? ((rollingUpdate ?? {}) as Fields)['partition'])
  })
}

function countsOf(fields: Fields): readonly Count[] {
  return Object.entries(fields).flatMap(([key, value]) => toCount(key, value))
}

function toCount(key: string, value: unknown): readonly Count[] {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) return []
  const tokens = countTokens(key)
  const isState = (token: string) =>
    [requestedWords, existingWords, goodWords, currentWords, badWords].some((some) => some.has(token))
  const nouns = tokens.filter((token) => !isState(token) && !fillers.has(token)).map((token) => token.replace(/s$/, ''))
  // `hostsUpdated` is how many the last change updated.
  const states = tokens.filter(
    (token, index) => isState(token) && !(token === 'updated' && index === tokens.length - 1 && index > 0),
  )
  const isOfParts = nouns.length === 0 ? tokens.length > 0 : partNouns.has(nouns.at(-1) ?? '')
  return isOfParts ? [{ key, value, noun: nouns.join(' '), states }] : []
}

/** The words of a name, with `up to date` and `not ready` as one word each. */
function countTokens(key: string): readonly string[] {
  return tokensOf(key.replace(/up-?to-?date/i, 'Uptodate').replace(/no[nt]-?ready/i, 'Notready'))
}

function has(states: readonly string[], some: ReadonlySet<string>): boolean {
  return states.some((state) => some.has(state))
}

function largest(counts: readonly Count[]): number | undefined {
  return counts.length === 0 ? undefined : Math.max(...counts.map(({ value }) => value))
}
