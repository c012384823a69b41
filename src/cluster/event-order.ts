import type { EventObject } from './objects.ts'

/**
 * When an event last occurred: an RFC 3339 timestamp of the server. Legacy events have `lastTimestamp`; events of
 * events.k8s.io have `eventTime` and, if repeated, `series.lastObservedTime`. Undefined if no timestamp is set.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
export function lastOccurrence({
  series,
  lastTimestamp,
  eventTime,
  firstTimestamp,
  metadata,
}: EventObject): string | undefined {
  const timestamps = [series?.lastObservedTime, lastTimestamp, eventTime].flatMap((timestamp) => timestamp || [])
  // Nearly every event has only one of them, and needs no sorting: hundreds of events may be read after each change.
  const [latest] = timestamps.length > 1 ? timestamps.toSorted((a, b) => Date.parse(b) - Date.parse(a)) : timestamps
  return latest ?? firstTimestamp ?? metadata.creationTimestamp
}

/** When an event first occurred: an RFC 3339 timestamp of the server; undefined if no timestamp is set. */
export function firstOccurrence({ firstTimestamp, eventTime, metadata }: EventObject): string | undefined {
  return (firstTimestamp || eventTime || metadata.creationTimestamp) ?? undefined
}

/**
 * Sorts events by their last occurrence, earliest first. Some timestamps have only whole seconds, so events of the same
 * second are sorted by resource version.
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
