import type { KubeObject } from '../cluster/objects.ts'
import { presentConditions } from '../lifecycle/conditions.ts'
import { emptyLine, type Line, line } from './line.ts'
import { age, dim, heading, type Mark, mark, marked, ticking } from './marks.ts'
import type { Present } from './scene.ts'

/** Conditions that are bad, or a sign of work going on, when they are true. */
const badWhenTrue =
  /(?:failure|failed|failing|stalled|degraded|pressure|unavailable|deadline|terminating|disruption|suspended|conflict|dangling|lost|paused)/i
const busyWhenTrue = /^(?:Reconciling|Progressing|Pending|Issuing|Upgrading|Updating|Resizing|FileSystemResizePending)$/

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
    ...shown.map(({ type, status, reason, message, lastTransitionTime }) => {
      const as = markOf(type, status, reason)
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

function markOf(type: string, status: string, reason: string | undefined): Mark {
  if (status === 'Unknown') return '!'
  // A Deployment goes on saying Progressing=True when it is done.
  if (reason === 'NewReplicaSetAvailable') return '✓'
  if (badWhenTrue.test(type)) return status === 'True' ? '✗' : '·'
  if (busyWhenTrue.test(type)) return status === 'True' ? '…' : reason === 'ProgressDeadlineExceeded' ? '✗' : '·'
  return status === 'True' ? '✓' : '…'
}
