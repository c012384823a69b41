import type { Pod } from '../cluster/objects.ts'
import type { Evidence } from '../gate/timeline.ts'
import { containersOf } from '../lifecycle/history.ts'
import type { Facts } from './facts.ts'

/** What the container of a pod logged last, in its present run and in the one before; where that could not be read, why. */
export function logEvidence(
  pod: string,
  container: string,
  object: Pod | undefined,
  facts: Facts,
): readonly Evidence[] {
  const present = facts.log(pod, container, false)
  const previous = facts.log(pod, container, true)
  const logs = [present, previous].flatMap((log): Evidence[] => {
    if (log === undefined || log.text.trim() === '') return []
    const title = `Last log lines of container ${container}${log.previous ? ', its run before' : ''}`
    return [{ type: 'log', title, text: log.text }]
  })
  // A run before that never was has no log to miss.
  const missing = [present, hasRunBefore(object, container) ? previous : undefined]
  const whys = new Set(missing.flatMap((log) => log?.why ?? []))
  const title = `Log of container ${container}`
  return [...logs, ...[...whys].map((why): Evidence => ({ type: 'log', title, text: `could not be read: ${why}` }))]
}

function hasRunBefore(pod: Pod | undefined, container: string): boolean {
  const status = pod && containersOf(pod).find((each) => each.container.name === container)?.status
  return (status?.restartCount ?? 0) > 0 || status?.lastState?.terminated !== undefined
}
