import { type Fields, isObject, type KubeObject } from '../../cluster/objects.ts'
import { conditionsIn, fieldsOf, isEmpty } from '../conditions.ts'
import { meaningOf } from './status-vocabulary.ts'

const maxDepth = 5
/** The maximum number of states; a status of a real controller has fewer. */
const maxStates = 1_000

/**
 * The states in a status, of the object and its parts, and the reasons of its conditions. A new state is progress,
 * unless it is a failure.
 * @returns each with its path: `phase=Creating`, `Ready=False Scheduling`
 */
export function progressStates({ status }: KubeObject): readonly string[] {
  return statesIn((status ?? {}) as Fields, '', 0).slice(0, maxStates)
}

function statesIn(fields: Fields, path: string, depth: number): readonly string[] {
  if (depth > maxDepth) return []
  return Object.entries(fields).flatMap(([key, value]) => {
    const at = `${path}${key}`
    if (typeof value === 'string') return /(?:phase|state|status|step|stage)$/i.test(key) ? stateAt(at, value) : []
    if (typeof value !== 'object' || value === null) return []
    const conditions = conditionsIn(value)
    return conditions.length > 0
      ? conditions.flatMap(({ type, status, reason }) => stateAt(`${at}.${type}`, status, reason))
      : statesIn(value as Fields, `${at}.`, depth + 1)
  })
}

function stateAt(path: string, value: string, reason = ''): readonly string[] {
  const hasFailed = meaningOf(value) === 'failed' || meaningOf(reason) === 'failed'
  return hasFailed || value === '' ? [] : [`${path}=${value} ${reason}`]
}

/**
 * Whether a paused rollout continues by itself: the present step of its spec is a pause with a duration, or every pause
 * of its steps has one, as in Argo Rollouts and OpenKruise (`steps[].pause.duration`).
 */
export function isTimedPause({ spec, status }: KubeObject): boolean {
  const steps = stepsIn(spec, 0).find((list) => list.some((step) => 'pause' in step)) ?? []
  const { currentStepIndex } = (status ?? {}) as Fields
  const isTimed = ({ pause }: Fields) => !isEmpty(((pause ?? {}) as Fields)['duration'])
  const present = typeof currentStepIndex === 'number' ? steps[currentStepIndex] : undefined
  if (present !== undefined) return isTimed(present)
  const pauses = steps.filter((step) => 'pause' in step)
  return pauses.length > 0 && pauses.every(isTimed)
}

/** The lists `steps` in a spec. */
function stepsIn(spec: unknown, depth: number): readonly (readonly Fields[])[] {
  if (!isObject(spec) || depth > maxDepth) return []
  return Object.entries(spec).flatMap(([key, value]) =>
    key === 'steps' ? [fieldsOf(value)] : stepsIn(value, depth + 1),
  )
}
