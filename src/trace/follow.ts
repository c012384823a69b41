import { type Clock, sleep } from '../cluster/clock.ts'
import { isFailure, type Observation, requestKey, type WatchRequest } from '../cluster/feed.ts'
import { UserError } from '../errors.ts'
import { displayName, type Target, targetWatch } from '../plan/target.ts'
import type { Changes, ObjectChange } from './changes/changes.ts'
import type { Readiness } from './readiness.ts'
import type { Scene } from './scene.ts'
import type { Trace } from './trace.ts'

/** What following takes of a cluster. */
export interface Watched {
  watch(request: WatchRequest, sink: (observation: Observation) => void): void
}

export interface FollowOptions {
  readonly clock: Clock
  /** Aborted by Ctrl-C. */
  readonly cancelled: AbortSignal
}

/** What belongs together comes within this time, and is drawn once. */
const gatherMs = 50
/** Ages grow, and what time alone decides is seen. */
const tickMs = 1_000

/**
 * Follows a resource and draws it: soon after each change, and every second.
 *
 * @param draw is handed every scene; true ends it
 * @returns whether `draw` ended it; else it was cancelled
 * @throws UserError when the resource may not be read
 */
export async function followTrace(
  target: Target,
  trace: Trace,
  cluster: Watched,
  { clock, cancelled }: FollowOptions,
  draw: (scene: Scene) => boolean,
): Promise<boolean> {
  const refused = Promise.withResolvers<never>()
  let wake = Promise.withResolvers<void>()
  const own = JSON.stringify(targetWatch(target))
  const watch = () => {
    for (const request of trace.requests) {
      cluster.watch(request, (observation) => {
        if (isRefusal(observation) && JSON.stringify(request) === own) refused.reject(forbidden(target, observation))
        trace.handle({ ...observation, at: clock.now() })
        watch()
        wake.resolve()
      })
    }
  }
  watch()
  while (!cancelled.aborted) {
    if (draw(trace.scene(clock.now()))) return true
    await Promise.race([wake.promise, sleep(clock, tickMs, cancelled), refused.promise])
    await Promise.race([sleep(clock, gatherMs, cancelled), refused.promise])
    wake = Promise.withResolvers<void>()
  }
  return false
}

/** What is told while changes are followed. */
export interface ChangeListener {
  readonly onChange: (change: ObjectChange) => void
  /** The first list of a request is complete, and holds nothing. */
  readonly onWaiting: (request: WatchRequest) => void
  /** The server could not be heard, or can be again (undefined). */
  readonly onTrouble: (words: string | undefined) => void
}

/**
 * Follows objects and reports their changes, until it is cancelled or all objects are ready.
 * @param readiness judges the objects; without it their state ends nothing
 * @returns whether all objects became ready
 * @throws UserError when objects may not be read
 */
export async function followChanges(
  requests: readonly WatchRequest[],
  changes: Changes,
  cluster: Watched,
  { clock, cancelled }: FollowOptions,
  { onChange, onWaiting, onTrouble }: ChangeListener,
  readiness?: Readiness,
): Promise<boolean> {
  const refused = Promise.withResolvers<never>()
  refused.promise.catch(() => {})
  let wake = Promise.withResolvers<void>()
  const own = new Set(requests.map(requestKey))
  const empty = new Set(own)

  const report = (observation: Observation, request: WatchRequest) => {
    if (isRefusal(observation)) refused.reject(forbidden({ ...request, name: request.name ?? '' }, observation))
    if (isFailure(observation)) onTrouble(observation.message)
    if (observation.type === 'ALIVE') onTrouble(undefined)
    for (const change of changes.handle({ ...observation, at: clock.now() }, request)) {
      empty.delete(requestKey(request))
      onChange(change)
    }
    if (observation.type === 'SYNCED' && empty.has(requestKey(request))) onWaiting(request)
  }
  const follow = () => {
    for (const request of [...requests, ...(readiness?.requests ?? [])]) {
      cluster.watch(request, (observation) => {
        if (own.has(requestKey(request))) report(observation, request)
        readiness?.handle({ ...observation, at: clock.now() }, request)
        follow()
        wake.resolve()
      })
    }
  }
  follow()
  while (!cancelled.aborted) {
    if (readiness?.isReady(clock.now())) return true
    await Promise.race([wake.promise, sleep(clock, tickMs, cancelled), refused.promise])
    await Promise.race([sleep(clock, gatherMs, cancelled), refused.promise])
    wake = Promise.withResolvers<void>()
  }
  return false
}

function isRefusal(observation: Observation): observation is Observation & { type: 'REFUSED' } {
  return observation.type === 'REFUSED' && observation.what === 'access'
}

function forbidden(target: Pick<Target, 'apiVersion' | 'kind' | 'name'>, { message }: { message: string }): UserError {
  const what = target.name === '' ? `${target.kind} objects` : displayName(target)
  return new UserError([{ input: what, message: `It may not be read: ${message}` }], 'forbidden')
}
