import type { KubeObject } from '../cluster/objects.ts'
import { presentConditions } from '../lifecycle/conditions.ts'
import { readCondition } from '../lifecycle/custom/polarity.ts'
import { emptyLine, type Line, line } from './line.ts'
import { age, dim, heading, type Mark, mark, marked, ticking } from './marks.ts'
import type { Present } from './scene.ts'

const marks: Readonly<Record<NonNullable<ReturnType<typeof readCondition>>['meaning'], Mark>> = {
  ready: '✓',
  progressing: '…',
  failed: '✗',
  suspended: '!',
}

/** Conditions of a pod that its milestones and containers tell. */
const toldOtherwise: ReadonlySet<string> = new Set([
  'PodScheduled',
  'PodReadyToStartContainers',
  'Initialized',
  'ContainersReady',
])

/** The conditions of its status, each with what it says. */
export function conditionLines(object: KubeObject, { view }: Present): readonly Line[] {
  const shown = presentConditions(object).filter(
    ({ type, status }) => object.kind !== 'Pod' || (status !== 'True' && !toldOtherwise.has(type)),
  )
  if (shown.length === 0) return []
  const width = Math.max(...shown.map(({ type }) => type.length))
  return [
    emptyLine,
    line(0, heading('conditions')),
    ...shown.map((condition) => {
      const { type, status, reason, message, lastTransitionTime } = condition
      const reading = readCondition(condition)
      const as = reading === undefined ? '·' : marks[reading.meaning]
      const since = view.time(lastTransitionTime)
      return line(
        2,
        mark(as),
        { text: type, width },
        marked(status, as),
        reason ? dim(`(${reason})`) : undefined,
        message || undefined,
        since === undefined ? undefined : ticking(`· since ${age(view.now - since)}`),
      )
    }),
  ]
}
