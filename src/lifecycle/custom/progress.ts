import { type KubeObject, oncePerObject } from '../../cluster/objects.ts'
import { words } from '../../plan/names.ts'
import { conditionsIn } from '../conditions.ts'
import { hasAny, meaningOf, tokensOf } from './words.ts'

/*
 * Progress in a status of any kind, for the stall clock: new states, and numbers that grow.
 */

/** Progress without parts: `currentStepIndex`, `succeeded`, `progress: 40%`. Other numbers may change without end. */
const progressWords = words(`
  step stage iteration iterations weight succeeded successful completed complete finished done processed progress percent
  percentage ready available updated healthy uptodate
`)
/** Numbers that grow without progress: attempts, failures, generations, times and load. */
const otherWords = words(`
  fail failed failure failures error errors restart restarts retry retries attempt attempts backoff generation revision
  at time timestamp seconds duration elapsed since utilization usage used cpu memory disk
  not non unavailable unready degraded unhealthy missing outdated
`)
const maxCounters = 100
/** The maximum number of states; a status of a real controller has fewer. */
const maxStates = 1_000
/** The maximum depth of lists and maps in a status. */
const maxDepth = 8

/** A text, a number or a condition in a status. */
interface Leaf {
  /** `status.phase`; of a condition, with its type. */
  readonly path: string
  readonly key: string
  readonly value: unknown
  readonly reason?: string | undefined
}

const leavesOf = oncePerObject(({ status }: KubeObject): readonly Leaf[] => leavesIn('', status, 'status', 0))

function leavesIn(key: string, value: unknown, path: string, depth: number): readonly Leaf[] {
  if (typeof value !== 'object' || value === null) return [{ path, key, value }]
  const conditions = conditionsIn(value)
  if (conditions.length > 0)
    return conditions.map(({ type, status, reason }) => ({
      path: `${path}.${type}`,
      key: 'status',
      value: status,
      reason,
    }))
  if (depth >= maxDepth) return []
  return Object.entries(value).flatMap(([name, each]) => leavesIn(name, each, `${path}.${name}`, depth + 1))
}

/**
 * The states in a status, of the object and its parts, and the reasons of its conditions. A new state is progress,
 * unless it is a failure.
 * @returns each with its path: `status.phase=Creating`, `status.conditions.Ready=False Scheduling`
 */
export function progressStates(object: KubeObject): readonly string[] {
  return leavesOf(object)
    .flatMap(({ path, key, value, reason = '' }) => {
      const isState = typeof value === 'string' && value !== '' && /(?:phase|state|status|step|stage)$/i.test(key)
      const hasFailed = meaningOf(String(value)) === 'failed' || meaningOf(reason) === 'failed'
      return isState && !hasFailed ? [`${path}=${value} ${reason}`] : []
    })
    .slice(0, maxStates)
}

/** The numbers of a status that show progress when they grow, by path: parts that are as they should be, and steps. */
export function progressCounters(object: KubeObject): ReadonlyMap<string, number> {
  const counters = leavesOf(object).flatMap(({ path, key, value }): [string, number][] => {
    const [, percent, done] = /^(\d+)(?:\.\d+)?%$|^(\d+)\/\d+$/.exec(typeof value === 'string' ? value : '') ?? []
    const count = typeof value === 'number' ? value : Number(percent ?? done)
    if (!(count >= 0)) return []
    const tokens = tokensOf(key)
    return hasAny(tokens, progressWords) && !hasAny(tokens, otherWords) ? [[path, count]] : []
  })
  return new Map(counters.slice(0, maxCounters))
}
