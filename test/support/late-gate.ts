import { isAccessDenied } from '../../src/cluster/failures.ts'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'

/** The events of a gate that starts at `cutAt`: first the objects of that moment, then what the recording has later. */
export function lateEvents(events: readonly FeedEvent[], cutAt: number): readonly FeedEvent[] {
  const present = new Map<string, KubeObject>()
  const before = events.filter(({ at }) => at <= cutAt)
  for (const event of before) {
    if (!('object' in event)) continue
    const { uid, name, namespace } = event.object.metadata
    const key = `${event.object.kind} ${uid ?? `${namespace}/${name}`}`
    if (event.type === 'DELETED') present.delete(key)
    else present.set(key, event.object)
  }
  // A kind that could not be read stays unreadable; an outage has ended.
  const lists = before.filter((event) => event.type === 'DISCOVERY' || event.type === 'SYNCED' || isAccessDenied(event))
  const added = [...present.values()].map((object): FeedEvent => ({ at: cutAt, type: 'ADDED', object }))
  const [discovery, listed] = [
    lists.filter(({ type }) => type === 'DISCOVERY'),
    lists.filter(({ type }) => type !== 'DISCOVERY'),
  ]
  const atCut = (event: FeedEvent): FeedEvent => ({ ...event, at: cutAt })
  return [...discovery.map(atCut), ...added, ...listed.map(atCut), ...events.filter(({ at }) => at > cutAt)]
}
