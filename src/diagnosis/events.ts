import { lastOccurrence } from '../cluster/event-order.ts'
import type { KubeObject } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { concernsContainer, eventCount } from '../lifecycle/workloads/history.ts'

/** More would bury the cause. */
const mostEvents = 20
/** Events this long before the gate began still tell of what it found. */
const eventsBeforeMs = 10 * 60_000

/**
 * The warnings about an object, and what the kubelet did about them, one line each, the latest last: what was said again
 * (of other pods, or after a while) is told once, with how often. `startedAt` is the gate's start, in milliseconds.
 * @param container of the events of a pod, only those about this container or about the pod as a whole
 */
export function eventLines(
  object: KubeObject,
  startedAt: number,
  serverOffsetMs: number,
  store: Store,
  container?: string,
): readonly string[] {
  const told = store
    .eventsOf(object)
    .filter((event) => container === undefined || concernsContainer(event, container))
    .filter((event) => event.type === 'Warning' || event.reason === 'Killing')
    .map((event) => ({
      at: Date.parse(lastOccurrence(event) ?? '') - serverOffsetMs,
      reason: event.reason ?? '',
      message: withoutNoise(event.message ?? ''),
      count: eventCount(event),
    }))
    .filter(({ at }) => at > startedAt - eventsBeforeMs)
  const saysMore = told.some(({ message }) => !isBare(message))
  const groups = Map.groupBy(
    told.filter(({ message }) => !(saysMore && isBare(message))),
    ({ reason, message }) => `${reason} ${withoutNames(message)}`,
  )
  return [...groups.values()]
    .flatMap((group) => {
      const last = group.at(-1)
      return last === undefined ? [] : [{ ...last, count: group.reduce((sum, { count }) => sum + count, 0) }]
    })
    .toSorted((a, b) => a.at - b.at)
    .slice(-mostEvents)
    .map(({ at, reason, message, count }) => {
      return `${momentOf(at - startedAt).padStart(5)}  ${reason}${count > 1 ? ` ×${count}` : ''}  ${message}`.trimEnd()
    })
}

/** The moment of an event on the rollout's clock: `1:05`, or `-1:05` when it was before the gate began. */
function momentOf(ms: number): string {
  return ms <= -1_000 ? `-${elapsedClock(-ms)}` : elapsedClock(ms)
}

/** Elapsed milliseconds as minutes and seconds: `1:05`. What was before counts as zero. */
export function elapsedClock(ms: number): string {
  const elapsed = Math.max(0, Math.round(ms / 1000))
  return `${Math.floor(elapsed / 60)}:${String(elapsed % 60).padStart(2, '0')}`
}

/**
 * Without what nobody can use: the namespace and uid that the kubelet writes behind a pod's name, the mark of events that
 * were combined, and the scheduler's sentences on preemption, which repeat the reasons before them.
 */
function withoutNoise(message: string): string {
  return message
    .replace(/^\(combined from similar events\):\s*/, '')
    .replace(/ in pod (\S+?)_\S+?\([0-9a-f-]{36}\)$/, ' in pod $1')
    .replace(/^(\w+ probe failed):\s*$/, '$1') // a probe that says nothing
    .replace(/(\bnodes are available: .*?\.) (?:no new claims to deallocate, )?preemption: .*$/s, '$1')
    .trim()
}

/** `Error: ImagePullBackOff`: the word of a status, which another event explains. */
function isBare(message: string): boolean {
  return /^Error: \w+$/.test(message)
}

/** Events of one cause differ in the pod that a controller tried to create. */
function withoutNames(message: string): string {
  return message.replace(/\bpods? "[^"]+"/gi, 'pod')
}
