import type { LogRequest } from '../cluster/logs.ts'
import type { Container, KubeObject, Pod } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import type { Evidence, ProblemRecord, TargetRecord, Timeline, Verdict } from '../gate/timeline.ts'
import type { ReasonCode } from '../lifecycle/reasons.ts'
import { describePath, type Manifest } from '../plan/manifests/manifest.ts'
import { displayName, type Target } from '../plan/target.ts'
import { whatChanged } from './changes.ts'
import { eventLines } from './events.ts'
import { type HintDetails, hintFor } from './hints.ts'
import { placeOf } from './place.ts'

const mostContainersWithLogs = 12
const longestLastLine = 200

/** Problems of a container that has run: its log may say why. */
const withLogs: ReadonlySet<ReasonCode> = new Set([
  'crash-loop',
  'out-of-memory',
  'init-container-failed',
  'liveness-failing',
  'startup-failing',
  'readiness-failing',
  'pod-failed',
  'job-failed',
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

/**
 * Adds to a timeline what its store can prove: for each target that is not ready a hint, what its change changed, and for
 * each of its problems the chain that leads to it, the line of the manifest, events and logs.
 */
export function explain(
  timeline: Timeline,
  store: Store,
  serverOffsetMs: number,
  manifests: ReadonlyMap<Target, Manifest> = new Map(),
): Timeline {
  const context = { store, serverOffsetMs, startedAt: timeline.startedAt, manifests }
  return {
    ...timeline,
    targets: timeline.targets.map((record) =>
      record.outcome === 'ready' ? record : explainTarget(record, timeline.verdict, context),
    ),
  }
}

interface Context {
  readonly store: Store
  readonly serverOffsetMs: number
  readonly startedAt: number
  readonly manifests: ReadonlyMap<Target, Manifest>
}

function explainTarget(record: TargetRecord, verdict: Verdict | undefined, context: Context): TargetRecord {
  const { target, reason } = record
  const { store } = context
  const manifest = context.manifests.get(target)
  const problems = record.problems.map((problem) => ({
    ...problem,
    chain: chainOf(problem, target, store),
    evidence: [...writtenIn(problem, manifest), ...evidenceFor(problem, record, context)],
  }))
  const deciding = problems.find((problem) => problem.reason === reason) ?? problems[0]
  const place = deciding === undefined || manifest === undefined ? undefined : placeOf(deciding, manifest)
  const changes = whatChanged(target, store)
  return {
    ...record,
    // The line that mends it says more than the line where the object begins.
    ...(place === undefined || manifest === undefined
      ? {}
      : { target: { ...target, source: { file: manifest.file, line: place.line } } }),
    problems,
    ...(changes.length === 0 ? {} : { changes }),
    hint: hintFor(target, reasonFor(record, verdict), {
      problem: deciding,
      ...(deciding === undefined ? {} : detailsOf(deciding, target, store)),
    }),
  }
}

/** `deployment/web → replicaset/web-688 → pod/web-688-x → container app`, by the owners that the cluster names. */
function chainOf({ subject, container }: ProblemRecord, target: Target, store: Store): readonly string[] {
  const top = displayName(target)
  const chain: string[] = []
  let object = findSubject(subject, target, store)
  for (let steps = 0; object !== undefined && steps < 5; steps++) {
    chain.unshift(`${object.kind.toLowerCase()}/${object.metadata.name}`)
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller !== false)
    if (chain[0] === top || owner === undefined) break
    object = store.get({ ...owner, ...(target.namespace === undefined ? {} : { namespace: target.namespace }) })
  }
  if (chain.length === 0 && subject !== top) chain.push(subject)
  return [...(chain[0] === top ? [] : [top]), ...chain, ...(container === undefined ? [] : [`container ${container}`])]
}

/** Of a target that was open when the gate ended without it, the gate's own end is the reason. */
function reasonFor({ outcome, reason }: TargetRecord, verdict: Verdict | undefined): ReasonCode | '' {
  const isCutShort = verdict?.outcome === 'cancelled' || verdict?.outcome === 'unknown'
  return outcome === 'progressing' && reason === '' && isCutShort ? verdict.reason : reason
}

function detailsOf(problem: ProblemRecord, target: Target, store: Store): HintDetails {
  const { subject, container = '' } = problem
  const log = (previous: boolean) => store.log(target.namespace ?? 'default', podName(subject), container, previous)
  const lines = (log(false)?.text || log(true)?.text || '').trimEnd().split('\n')
  const lastLine = lines.at(-1)?.trim().slice(0, longestLastLine) || undefined
  return { spec: findContainer(problem, target, store), lastLine }
}

function findContainer({ subject, container }: ProblemRecord, target: Target, store: Store): Container | undefined {
  const { spec } = (findSubject(subject, target, store) ?? {}) as Pod
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(({ name }) => name === container)
}

/** Where the manifest says what the problem is about. */
function writtenIn(problem: ProblemRecord, manifest: Manifest | undefined): readonly Evidence[] {
  const place = manifest === undefined ? undefined : placeOf(problem, manifest)
  if (manifest === undefined || place === undefined) return []
  return [{ type: 'manifest', title: `${manifest.file}, line ${place.line}`, text: describePath(place.path) }]
}

function evidenceFor(
  problem: ProblemRecord,
  { target }: TargetRecord,
  { store, serverOffsetMs, startedAt }: Context,
): readonly Evidence[] {
  const namespace = target.namespace ?? 'default'
  const subject = findSubject(problem.subject, target, store)
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
  const said = subject === undefined ? undefined : terminationMessage(problem, subject as Pod)
  return [
    ...(said === undefined ? [] : [{ type: 'condition' as const, title: 'Its last words', text: said }]),
    ...(events.length === 0 ? [] : [{ type: 'event' as const, title: 'Events', text: events.join('\n') }]),
    ...logs,
  ]
}

/** What the container itself left as its termination message, beyond what the problem already says. */
function terminationMessage({ container, message }: ProblemRecord, { status }: Pod): string | undefined {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  const found = statuses.find(({ name }) => name === container)
  const words = (found?.state?.terminated?.message ?? found?.lastState?.terminated?.message ?? '').trim()
  return words === '' || message.includes(words) ? undefined : words
}

/** The kinds behind a target that problems are about. */
const kinds: Readonly<Record<string, { apiVersion: string; kind: string }>> = {
  pod: { apiVersion: 'v1', kind: 'Pod' },
  replicaset: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
}

/** The object that a problem is about: the target itself, or one behind it. */
function findSubject(subject: string, target: Target, store: Store): KubeObject | undefined {
  const [word = '', name = ''] = subject.split('/')
  const { namespace = 'default' } = target
  const isTarget = word === target.kind.toLowerCase() && name === target.name
  const kind = isTarget ? target : kinds[word]
  return kind === undefined ? undefined : store.get({ apiVersion: kind.apiVersion, kind: kind.kind, namespace, name })
}

function podName(subject: string): string {
  return subject.slice(subject.indexOf('/') + 1)
}
