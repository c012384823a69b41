import type { EventObject } from '../cluster/objects.ts'

/**
 * How far the controller of an object has come, by its events: the kubelet reports each minute how many files of a volume it
 * has processed (pkg/volume/volume_linux.go).
 */
const eventProgress =
  /\b(?:processed|copied|transferred|restored|downloaded|completed|progress(?: is)?):? (\d{1,18})|(?<![\d.])(\d{1,18})(?:\.\d{1,18})?\s?% (?:complete|done|copied|restored|finished)/i

/** The numbers of an object's events that show progress when they grow. */
export function eventCounters(events: readonly EventObject[]): readonly (readonly [string, number])[] {
  return events.flatMap(({ involvedObject, reason, message = '' }) => {
    const [found, count, percent] = eventProgress.exec(message) ?? []
    if (found === undefined) return []
    return [[`${involvedObject?.uid} ${reason} ${message.replace(found, '')}`, Number(count ?? percent)] as const]
  })
}
