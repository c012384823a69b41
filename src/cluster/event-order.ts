import type { EventObject } from './objects.ts'

/**
 * When an event last occurred, as an RFC 3339 timestamp of the server. Legacy events carry `lastTimestamp`, those of
 * events.k8s.io `eventTime` and, once they repeat, `series.lastObservedTime`; undefined when none of them is set.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
export function lastOccurrence({
  series,
  lastTimestamp,
  eventTime,
  firstTimestamp,
  metadata,
}: EventObject): string | undefined {
  const [latest] = [series?.lastObservedTime, lastTimestamp, eventTime]
    .flatMap((timestamp) => (timestamp ? [{ timestamp, at: Date.parse(timestamp) }] : []))
    .toSorted((a, b) => b.at - a.at)
  return latest?.timestamp ?? firstTimestamp ?? metadata.creationTimestamp
}

/**
 * Orders events by their last occurrence, the earliest first. Some timestamps are whole seconds and some are not, so
 * within one second the resource versions decide.
 */
export function byLastOccurrence(a: EventObject, b: EventObject): number {
  return secondOf(a) - secondOf(b) || versionOf(a) - versionOf(b)
}

function secondOf(event: EventObject): number {
  const at = Date.parse(lastOccurrence(event) ?? '')
  return Number.isNaN(at) ? 0 : Math.floor(at / 1000)
}

function versionOf({ metadata: { resourceVersion } }: EventObject): number {
  const version = Number(resourceVersion ?? 0)
  return Number.isSafeInteger(version) ? version : 0
}
