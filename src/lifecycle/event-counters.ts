import type { KubeObject } from '../cluster/objects.ts'
import type { Reader } from './reader.ts'

/**
 * How far the controller of an object has come, by its events: the kubelet reports each minute how many files of a volume it
 * has processed (pkg/volume/volume_linux.go).
 */
const eventProgress =
  /\b(?:processed|copied|transferred|restored|downloaded|completed|progress(?: is)?):? (\d{1,18})|(?<![\d.])(\d{1,18})(?:\.\d{1,18})?\s?% (?:complete|done|copied|restored|finished)/i

/** The numbers of an object's events that show progress when they grow. */
export function eventCounters(object: KubeObject, reader: Reader): readonly (readonly [string, number])[] {
  return reader.events(object).flatMap(({ reason, message = '' }) => {
    const [found, count, percent] = eventProgress.exec(message) ?? []
    if (found === undefined) return []
    return [[`${object.metadata.uid} ${reason} ${message.replace(found, '')}`, Number(count ?? percent)] as const]
  })
}
