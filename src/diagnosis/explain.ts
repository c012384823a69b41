import type { LogRequest } from '../cluster/logs.ts'
import type { EventObject, KubeObject } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { Evidence, ProblemRecord, TargetRecord, Timeline } from '../gate/timeline.ts'
import { eventCount } from '../lifecycle/history.ts'
import type { ReasonCode } from '../lifecycle/reasons.ts'
import { hintFor } from './hints.ts'

/** More would bury the cause. */
const mostEvents = 20
const mostContainersWithLogs = 12
/** Events this long before the gate began still tell of what it found. */
const eventsBeforeMs = 10 * 60_000

/** Problems of a container that has run: its log may say why. */
const withLogs: ReadonlySet<ReasonCode> = new Set([
  'crash-loop',
  'out-of-memory',
  'init-container-failed',
  'liveness-failing',
  'startup-failing',
  'readiness-failing',
  'pod-failed',
  'bad-command',
  'exec-format',
])

/** The log tails worth reading: of every failing container of a target that is not ready, its present and last run. */
export function logsToRead({ targets }: Timeline, tailLines: number): readonly LogRequest[] {
  if (tailLines === 0) return []
  return targets
    .filter(({ outcome }) => outcome !== 'ready')
    .flatMap(({ target, problems }) =>
      problems.flatMap(({ reason, subject, container }) =>
        container !== undefined && withLogs.has(reason)
          ? [{ namespace: target.namespace ?? 'default', pod: podName(subject), container }]
          : [],
      ),
    )
    .slice(0, mostContainersWithLogs)
    .flatMap((log) => [
      { ...log, previous: false, tailLines },
      { ...log, previous: true, tailLines },
    ])
}

/** Adds to a timeline what its store can prove: events and logs for each problem, and a hint for every target not ready. */
export function explain(timeline: Timeline, store: Store, serverOffsetMs: number): Timeline {
  const context = { store, serverOffsetMs, startedAt: timeline.startedAt }
  return {
    ...timeline,
    targets: timeline.targets.map((record) => (record.outcome === 'ready' ? record : explainTarget(record, context))),
  }
}

interface Context {
  readonly store: Store
  readonly serverOffsetMs: number
  readonly startedAt: number
}

function explainTarget(record: TargetRecord, context: Context): TargetRecord {
  const { target, reason } = record
  const problems = record.problems.map((problem) => ({ ...problem, evidence: evidenceFor(problem, record, context) }))
  const deciding = problems.find((problem) => problem.reason === reason) ?? problems[0]
  return { ...record, problems, hint: hintFor(target, reason, deciding) }
}

function evidenceFor(
  problem: ProblemRecord,
  { target }: TargetRecord,
  { store, serverOffsetMs, startedAt }: Context,
): readonly Evidence[] {
  const namespace = target.namespace ?? 'default'
  const subject = findSubject(problem.subject, namespace, store)
  const events = subject === undefined ? [] : eventLines(subject, startedAt, serverOffsetMs, store)
  const logs = [false, true].flatMap((previous): Evidence[] => {
    const log =
      problem.container === undefined
        ? undefined
        : store.log(namespace, podName(problem.subject), problem.container, previous)
    if (log === undefined || log.text.trim() === '') return []
    return [
      {
        type: 'log',
        title: `Last log lines of container ${problem.container}${previous ? ', its run before' : ''}`,
        text: log.text,
      },
    ]
  })
  return [
    ...(events.length === 0 ? [] : [{ type: 'event' as const, title: 'Events', text: events.join('\n') }]),
    ...logs,
  ]
}

const apiVersions: Readonly<Record<string, string>> = { deployment: 'apps/v1', replicaset: 'apps/v1' }

function findSubject(subject: string, namespace: string, store: Store): KubeObject | undefined {
  const [kind = '', name = ''] = subject.split('/')
  const kinds: Readonly<Record<string, string>> = { pod: 'Pod', deployment: 'Deployment', replicaset: 'ReplicaSet' }
  return store.get({ apiVersion: apiVersions[kind] ?? 'v1', kind: kinds[kind] ?? kind, namespace, name })
}

/** The warnings about an object, and what the kubelet did about them, the latest last. */
function eventLines(object: KubeObject, startedAt: number, serverOffsetMs: number, store: Store): readonly string[] {
  const time = (event: EventObject) =>
    Date.parse(
      event.series?.lastObservedTime ??
        event.lastTimestamp ??
        event.eventTime ??
        event.metadata.creationTimestamp ??
        '',
    ) - serverOffsetMs
  return store
    .eventsOf(object)
    .filter((event) => event.type === 'Warning' || event.reason === 'Killing')
    .filter((event) => time(event) > startedAt - eventsBeforeMs)
    .toSorted((a, b) => time(a) - time(b))
    .slice(-mostEvents)
    .map((event) => {
      const count = eventCount(event)
      const elapsed = Math.max(0, Math.round((time(event) - startedAt) / 1000))
      const clock = `${Math.floor(elapsed / 60)}:${String(elapsed % 60).padStart(2, '0')}`
      return `${clock.padStart(5)}  ${event.reason ?? ''}${count > 1 ? ` ×${count}` : ''}  ${event.message ?? ''}`
    })
}

function podName(subject: string): string {
  return subject.slice(subject.indexOf('/') + 1)
}
