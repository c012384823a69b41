import type { WatchRequest } from '../../src/cluster/feed.ts'
import type { EventObject, KubeObject, Pod, Subject } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { assess } from '../../src/lifecycle/assess.ts'
import { type Assessment, assessedStatus } from '../../src/lifecycle/assessment.ts'
import type { PodView } from '../../src/lifecycle/pod-view.ts'
import type { GateTime } from '../../src/lifecycle/proof.ts'
import type { LifecycleSettings, Reader } from '../../src/lifecycle/reader.ts'
import type { Rule } from '../../src/lifecycle/rule.ts'
import { progressStatesOf } from '../../src/lifecycle/rules.ts'
import { createSharedReaders } from '../../src/lifecycle/shared-reader.ts'
import { observeTarget, type TargetHistory } from '../../src/lifecycle/target-history.ts'
import { createPodView } from '../../src/lifecycle/workloads/create-pod-view.ts'
import { observePod, type PodObservations } from '../../src/lifecycle/workloads/observe-pods.ts'
import { classOf, messageOf, type ReasonCode } from '../../src/reasons/reasons.ts'
import type { ProblemClass } from '../../src/reasons/spec.ts'
import { make, moment, start } from './objects.ts'

export interface ReaderOptions {
  /** Seconds since the start of the gate. */
  readonly now?: number
  readonly objects?: readonly KubeObject[]
  /** Kinds that are forbidden or not listed. */
  readonly unseen?: readonly string[]
  readonly settings?: Partial<LifecycleSettings>
  readonly othersProgress?: boolean
  /** Seconds since the start of the gate. */
  readonly othersReadyAt?: number
  /** Whether discovery lists a status subresource for the kind; unknown by default. */
  readonly declaresStatus?: boolean
  /** History of the target; by default it is observed for the first time now. */
  readonly history?: TargetHistory
  readonly lastAssessment?: Assessment
  /** Observations of pods by uid; by default each pod is observed for the first time now. */
  readonly sightings?: ReadonlyMap<string, PodObservations>
  /** Of the workload that the pods belong to. */
  readonly minReadySeconds?: number
  /** Server's clock minus the runner's. */
  readonly serverOffsetMs?: number
  /** Which pods belong to the revision of a gated workload; by default none belongs to any. */
  readonly revisionOf?: Reader['revisionOf']
}

export function createGateTime({ serverOffsetMs = 0, settleTimeMs = 10_000 } = {}): GateTime {
  return {
    startedAt: start,
    settleTimeMs,
    time: (timestamp) => (timestamp ? Date.parse(timestamp) - serverOffsetMs : undefined),
  }
}

function storeOf({ objects = [], now = 0 }: ReaderOptions): Store {
  const store = new Store(() => false)
  for (const object of objects) store.apply({ at: moment(now), type: 'ADDED', object })
  return store
}

function readersOf(options: ReaderOptions) {
  const settings = { settleTimeMs: 10_000, maxRestarts: 2, ...options.settings }
  const gateTime = createGateTime({ serverOffsetMs: options.serverOffsetMs ?? 0, settleTimeMs: settings.settleTimeMs })
  const store = storeOf(options)
  return { store, gateTime, readers: createSharedReaders(store, gateTime, settings) }
}

/** The reader of a rule for these objects. */
export function reader(options: ReaderOptions = {}): Reader {
  const { unseen = [], sightings = new Map(), othersProgress = false, othersReadyAt } = options
  const now = moment(options.now ?? 0)
  const { store, gateTime, readers } = readersOf(options)
  const isSeen = ({ kind }: WatchRequest) => !unseen.includes(kind)
  const shared = readers.at(now)
  const listState = (request: WatchRequest) => (isSeen(request) ? 'complete' : 'unknown')
  return {
    ...shared,
    history: options.history ?? observeTarget(undefined, make.deployment(), now),
    lastAssessment: options.lastAssessment,
    othersProgress: () => othersProgress,
    othersReadyAt: () => (othersReadyAt === undefined ? undefined : moment(othersReadyAt)),
    endedPods: (uid, phase) =>
      (store.listOwned(uid, 'Pod') as readonly Pod[]).filter(
        ({ metadata, status }) =>
          status?.phase === phase && (phase === 'Succeeded' || metadata.deletionTimestamp === undefined),
      ),
    removedAt: () => undefined,
    revisionOf: options.revisionOf ?? (() => undefined),
    podView: (pod) =>
      createPodView(
        pod,
        sightings.get(pod.metadata.uid ?? '') ?? observePod(undefined, pod, now, gateTime),
        store.eventsOf(pod),
        { changedAt: undefined, minReadyMs: (options.minReadySeconds ?? 0) * 1_000 },
        gateTime,
      ),
    declaresStatus: () => options.declaresStatus,
    listState,
    watch: (request, need) => {
      shared.watch(request, need)
      return listState(request)
    },
  }
}

/** What a rule says about an object among others, which was first seen at the start of the gate unless `history` says more. */
export function read<Gated extends KubeObject>(options: ReaderOptions, rule: Rule<Gated>, object: Gated) {
  const history = observeTarget(undefined, object, moment(0), progressStatesOf({}, object))
  return found({ now: 60, history, ...options }, (given) => {
    const assessment = assess(rule, object, given)
    return { ...assessment, status: assessedStatus(assessment) }
  })
}

/** Whether a new or changed object concerns a target that its rule has assessed among others. */
export function concerns<Gated extends KubeObject>(
  options: ReaderOptions,
  rule: Rule<Gated>,
  object: Gated,
  other: KubeObject,
): boolean {
  const given = reader({ now: 60, ...options })
  assess(rule, object, given)
  return given.reads.isAffectedBy(readersOf(options).readers.observe({ after: other }, given.now))
}

/** The watches for which a rule asks when it assesses an object, by what they are needed for. */
export function requested<Gated extends KubeObject>(rule: Rule<Gated>, object: Gated, options: ReaderOptions = {}) {
  const given = reader({ now: 60, ...options })
  assess(rule, object, given)
  return given.reads.requests
}

/**
 * What is found in a reader, with its problems as they are reported, when that is looked at again, and which watches would
 * explain it.
 */
export function found<Value extends object>(options: ReaderOptions, find: (given: Reader) => Value) {
  const given = reader(options)
  const value = reported(find(given))
  const { explaining } = given.reads.requests
  return { ...value, recheckAt: given.nextMoment(), ...(explaining.length > 0 && { explainedBy: explaining }) }
}

/** The container of a pod among these Events, as its rules see it. */
export function containerIn(pod: Pod, { container = 'app', ...options }: ReaderOptions & { container?: string } = {}) {
  const { containers } = reader(options).podView(pod)
  const found = containers.find((each) => each.container.name === container)
  if (found === undefined) throw new Error(`The pod has no container ${container}.`)
  return found
}

/** Observations of a pod with these versions, each at its second. */
export function sightings(...versions: readonly (readonly [seconds: number, pod: Pod])[]): PodObservations {
  const seen = versions.reduce<PodObservations | undefined>(
    (before, [seconds, pod]) => observePod(before, pod, moment(seconds), createGateTime()),
    undefined,
  )
  if (seen === undefined) throw new Error('A pod that was never seen has no history.')
  return seen
}

/** View of a pod from its observations and the events about it; `changedAt` is the second of the last template change, if known. */
export function counted(
  seen: PodObservations,
  pod = make.pod(),
  changedAt?: number,
  minReadySeconds = 0,
  events: readonly EventObject[] = [],
): PodView {
  const terms = {
    changedAt: changedAt === undefined ? undefined : moment(changedAt),
    minReadyMs: minReadySeconds * 1_000,
  }
  return createPodView(pod, seen, events, terms, createGateTime())
}

/** History of a target with these versions, each at its second. */
export function seenTarget(...versions: readonly (readonly [seconds: number, object: KubeObject])[]): TargetHistory {
  const seen = versions.reduce<TargetHistory | undefined>(
    (history, [seconds, object]) => observeTarget(history, object, moment(seconds), progressStatesOf({}, object)),
    undefined,
  )
  if (seen === undefined) throw new Error('A target that was never seen has no history.')
  return seen
}

/** History and last assessment of a target with these versions, each assessed at its second. */
export function assessedTarget(
  rule: Rule,
  ...versions: readonly (readonly [seconds: number, object: KubeObject])[]
): Pick<ReaderOptions, 'history' | 'lastAssessment'> {
  let history: TargetHistory | undefined
  let lastAssessment: Assessment | undefined
  for (const [now, object] of versions) {
    history = observeTarget(history, object, moment(now), progressStatesOf({}, object))
    const given = reader({ now, history, ...(lastAssessment && { lastAssessment }) })
    lastAssessment = assess(rule, object, given)
  }
  return { ...(history && { history }), ...(lastAssessment && { lastAssessment }) }
}

/** A problem, or what contains problems, with each problem's class and message as they are reported. */
export type Reported<Value> = Value extends { readonly subject: Subject; readonly reason: ReasonCode }
  ? Value & { readonly class: ProblemClass; readonly message: string }
  : Value extends readonly (infer Each)[]
    ? readonly Reported<Each>[]
    : Value extends object
      ? {
          [Key in keyof Value]: Key extends 'problem' | 'problems' | 'failure' | 'cause'
            ? Reported<Value[Key]>
            : Value[Key]
        }
      : Value

/** Adds class and message to each problem of a finding, a list or an assessment. */
export function reported<Value>(value: Value): Reported<Value> {
  if (Array.isArray(value)) return value.map(reported) as Reported<Value>
  if (typeof value !== 'object' || value === null) return value as Reported<Value>
  const isProblem = 'subject' in value && 'reason' in value
  const own = isProblem ? { class: classOf(value as never), message: messageOf(value as never) } : {}
  const inner = Object.entries(value).flatMap(([key, each]) => {
    if (each === undefined) return []
    if (key === 'detail') return isProblem ? detailBesidesText(each) : [[key, each]]
    return [[key, ['problem', 'problems', 'failure', 'cause'].includes(key) ? reported(each) : each]]
  })
  return { ...Object.fromEntries(inner), ...own }
}

/** The detail without its `text`, which repeats the message; empty if nothing else remains. */
function detailBesidesText({ text: _, ...detail }: Record<string, unknown>): [string, unknown][] {
  const facts = Object.entries(detail).filter(([, value]) => value !== undefined && value !== false)
  return facts.length === 0 ? [] : [['detail', Object.fromEntries(facts)]]
}
