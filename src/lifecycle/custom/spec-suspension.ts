import type { KubeObject } from '../../cluster/objects.ts'
import type { Fields, Say } from './signal.ts'
import { tokensOf } from './status-vocabulary.ts'

/** What the spec says of how the object is to be: that nobody is to act on it. */
export function wishes(object: KubeObject): readonly Say[] {
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

/** A state that the spec itself asks for is reached, not suspended: `spec.job.state: suspended`. */
export function asWished(each: Say, { spec }: KubeObject): Say {
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

/** A schedule does its work later, like a CronJob: that it has no status, or is suspended, is how it was applied. */
export function isSchedule({ kind, spec }: KubeObject): boolean {
  const { schedule, schedules } = (spec ?? {}) as Fields
  return kind.startsWith('Cron') || kind.endsWith('Schedule') || schedule !== undefined || schedules !== undefined
}
