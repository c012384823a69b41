import { byLastOccurrence, lastOccurrence } from '../cluster/event-order.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { eventCount } from '../lifecycle/workloads/history.ts'
import { emptyLine, type Line, line } from './line.ts'
import { age, dim, heading, ticking } from './marks.ts'
import type { Present } from './scene.ts'

/** The latest events about these objects, the newest last, as a log reads. Ordinary ones are no news by themselves. */
export function eventLines(objects: readonly KubeObject[], most: number, present: Present): readonly Line[] {
  const { view } = present
  const events = objects
    .flatMap((object) => present.events(object))
    .toSorted(byLastOccurrence)
    .slice(-most)
  if (most === 0 || events.length === 0) return []
  return [
    emptyLine,
    line(0, heading('events')),
    ...events.map((event) => {
      const at = view.time(lastOccurrence(event)) ?? view.startedAt
      const { kind = '', name = '' } = event.involvedObject ?? {}
      const isAboutItself = kind === present.object.kind && name === present.object.metadata.name
      const count = eventCount(event)
      const quiet = event.type === 'Warning' ? {} : { quiet: true }
      return line(
        2,
        ticking(`${age(view.now - at)} ago`.padStart(9)),
        isAboutItself ? undefined : { ...dim(`${kind.toLowerCase()}/${name}`), ...quiet },
        { text: event.reason ?? '', style: event.type === 'Warning' ? 'yellow' : 'bold', ...quiet },
        count > 1 ? ticking(`×${count}`) : undefined,
        { text: event.message ?? '', ...quiet },
      )
    }),
  ]
}
