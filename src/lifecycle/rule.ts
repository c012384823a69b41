import type { RequestOf, WatchRequest } from '../cluster/feed.ts'
import type { Condition, EventObject, KubeObject, ObjectMeta, Pod } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import type { MilestoneName } from '../inputs.ts'
import type { Target } from '../plan/target.ts'
import type { RevisionChange } from '../reasons/gate.ts'
import { messageOf, nodeOf, type Problem } from '../reasons/reasons.ts'
import { autoscalerSyncMs, oldObjectMs } from '../thresholds.ts'
import type { AssessedFacts, Assessment, Draft, Milestone } from './assessment.ts'
import { observedGenerations, ownProblem } from './conditions.ts'
import { type GateTime, lastWriteOf, specWrittenAt } from './gate-time.ts'
import { latestOfAll } from './proof.ts'
import type { Amendment, KnownRevision, RuleContext } from './rule-context.ts'

/** What the gate knows of an awaited revision besides the object. */
export interface ArrivalFacts extends Pick<GateTime, 'startedAt' | 'time'> {
  readonly firstSeenAt: number
  /** The object in the first list, before the revision arrived. */
  readonly before?: KubeObject | undefined
  /** What the arrival at the last version of the object was. */
  readonly known?: KnownRevision | undefined
}

/** Whether the awaited revision of an object (`--revision`) is deployed; `text` is for the log. */
export type Arrival = { readonly known: KnownRevision } & (
  | { readonly type: 'awaited'; readonly problem: Problem<'wrong-revision'> }
  /** The operator is deploying the revision, or failed to deploy it. */
  | { readonly type: 'attempted' | 'deployed'; readonly text: string }
  /** The revision was deployed, and a newer or an older one is deployed now. */
  | { readonly type: 'superseded' | 'rolled-back'; readonly detail: RevisionChange }
)

/** What serves while an object is not ready: the newest older revision that has ready pods. */
export interface ServingRevision {
  /** Absent if no pod is ready. */
  readonly revision?: number
  /** The images of its containers. */
  readonly images: readonly string[]
  readonly ready: number
  /** How many pods the object wants. */
  readonly wanted: number
  /** There is no older revision. */
  readonly isFirst?: true
}

/** Whether the undo of a failed object restores what ran before: to this revision, unless there is an obstacle. */
export interface Undo {
  readonly revision?: number
  /** Of a Helm release: when this revision was made, if it is the one before the present one, in milliseconds since the epoch. */
  readonly since?: number
  /** Why not, as a clause: `it is paused`. Raw text: renderers escape it. */
  readonly obstacle?: string
  /** Only metadata differ, such as the checksum of a ConfigMap: the undo of a Helm release restores that too. */
  readonly isOnlyRestart?: true
  /** Absent if the object has no older revision, or if pods of the present one are ready. */
  readonly serving?: ServingRevision
}

/** The facts that show when the present version of an object came. */
export type ChangeContext = Pick<RuleContext, 'time' | 'owned' | 'present' | 'declaresStatus'>

/** A ready target with its gated pods that are not being deleted. */
export interface ReadyTarget {
  readonly target: Target
  readonly pods: readonly Pod[]
}

/** A TCP port by which requests reach the pods behind an object. */
export interface ServedPort {
  readonly name?: string | undefined
  readonly port: number
  /** The port of the pods: its number, or the name to which each pod gives a number. */
  readonly target: number | string
}

/** A pod, or the template of pods. */
export interface Labelled {
  readonly metadata: Pick<ObjectMeta, 'labels'>
}

/** How requests reach the pods behind an object (`http-checks`). */
export interface Serving<Gated extends KubeObject = KubeObject> {
  ports(object: Gated): readonly ServedPort[]
  /** Whether the object selects a pod of any revision, or the pods of a template; absent for kinds that create pods. */
  selects?(object: Gated, pod: Labelled): boolean
  /** The pods of the present revision, for a custom resource: its assessment does not contain them. */
  presentPods?(object: Gated, context: RuleContext): readonly Pod[]
  /** The watches of the pods that serve requests, and of the objects that show whether there should be such pods. */
  requests(object: Gated, context: RuleContext): readonly WatchRequest[]
  /** Whether the object is scaled to zero, and needs no pod. */
  isEmpty(object: Gated, context: RuleContext): boolean
  /** Requests go to one pod after another, in the order of the ordinals. */
  readonly isOrdered?: true
}

/** The lifecycle of a kind: everything that is kind-specific in the gate. */
export interface Rule<Gated extends KubeObject = KubeObject> {
  /** The names of its milestones, in order. They are a contract. */
  readonly milestones: readonly MilestoneName[]
  /** The keys of the object's present failures; the target's history records since when each is reported. */
  failures?(object: Gated): readonly string[]
  /** The states in the object's status. A state that it did not have before is progress for the stall clock. */
  states?(object: Gated): readonly string[]
  /**
   * The last state of a deleted object, if its end can be derived: from its last version, or from its events,
   * because the gate may miss the last status.
   */
  lastState?(object: Gated, events: readonly EventObject[]): Gated | undefined
  /** How requests reach its pods; absent for kinds that serve none. */
  readonly serving?: Serving<Gated>
  /** Objects of this kind are pods or run pods: their logs can be shown. */
  readonly hasPods?: true
  /** If set, the target is ready when the object is absent, with this message. */
  readonly readyWhenAbsent?: string
  /**
   * Whether the expected images have arrived (`await-change`), or the problem that other ones run; undefined if any change of
   * the object is the awaited one.
   * @param listed the object in the first list; undefined if the list does not contain it, or if its manifest is known
   * @param context undefined while only the specs decide, which need no list
   */
  hasExpectedImages?(
    object: Gated,
    listed: KubeObject | undefined,
    context: RuleContext | undefined,
  ): boolean | Problem | undefined
  /** Whether the awaited revision is deployed. With this method, the object is not judged before it is. */
  arrival?(object: Gated, facts: ArrivalFacts): Arrival
  /**
   * When the present version came, in milliseconds since the epoch on the runner's clock; undefined if unknown. A scale, a
   * label or a status makes no version. Without this method, the last write of the spec counts, and `require-change` does not
   * ask for it: it asks for the age of what pods run.
   */
  changedAt?(object: Gated, context: ChangeContext): number | undefined
  /** The number of the newest older revision that is available now. Asked when the object is judged first. */
  availableRevision?(object: Gated, context: RuleContext): number | undefined
  /**
   * What serves in place of an object that has just failed, stalled or timed out, and whether `kubectl rollout undo` restores what
   * ran before.
   * @param revision the answer of `availableRevision`
   * @param problem the problem that failed it
   */
  undo?(object: Gated, revision: number | undefined, problem: Problem | undefined, context: RuleContext): Undo
  /** A terminal problem of all targets together, once each is ready; it belongs to the first. */
  failureOfAll?(targets: readonly ReadyTarget[], now: number): Problem | undefined
  /**
   * Assesses the object. The gate also calls it while a list that it needs is pending, to learn what it reads: then only that
   * counts, so an empty list must not be an error.
   */
  assess(object: Gated, context: RuleContext): Assessment
}

/** The default milestones. */
export const commonMilestones = ['created', 'observed', 'ready'] as const

/** Whether the controller has observed the present spec. Without `observedGeneration` there is no status yet. */
export function isObserved(object: KubeObject): boolean {
  const { generation } = object.metadata
  const observed = (object.status as { observedGeneration?: number | string } | undefined)?.observedGeneration
  return observed !== undefined && Number(observed) >= (generation ?? 0)
}

/** The milestone `observed` of kinds with `observedGeneration`. */
export function observedMilestone(object: KubeObject, isDone = isObserved(object)): Milestone {
  const { generation } = object.metadata
  const name = generation === undefined ? 'it' : `generation ${generation}`
  if (!isDone) return { name: 'observed', state: 'open', message: `waiting for the controller to observe ${name}` }
  return { name: 'observed', state: 'done', message: generation === undefined ? 'observed' : `${name} observed` }
}

export const createdMilestone: Milestone = { name: 'created', state: 'done', message: 'created' }

/** The milestones of a kind without milestones of its own. */
export function statusMilestones(
  observed: Omit<Milestone, 'name'>,
  isReady: boolean,
  message: string,
): readonly Milestone[] {
  return [
    createdMilestone,
    { ...observed, name: 'observed' },
    { name: 'ready', state: isReady ? 'done' : 'open', message },
  ]
}

/** The rule with an amendment, which follows those that the rule has. */
export function amended(rule: Rule, amendment: Amendment): Rule {
  return {
    ...rule,
    assess: (object, context) =>
      rule.assess(object, { ...context, amendments: [amendment, ...(context.amendments ?? [])] }),
  }
}

/** The findings of a rule about an object. */
interface Found extends Omit<AssessedFacts, 'message' | 'problems' | 'notes'> {
  readonly failure?: Problem | undefined
  readonly problems?: readonly Problem[]
  readonly notes?: readonly string[]
  readonly ready: boolean
  readonly readyMessage: string
  /** A failure of the object is final even during its deletion, as for a Job. */
  readonly isEnd?: boolean
  /** The conditions that make the object ready; an undefined entry stands for another part of the status. */
  readonly signals?: readonly (Condition | undefined)[]
  /** The controller may copy the state of other objects; see `staleUntil`. */
  readonly copiesOthers?: boolean | undefined
}

/**
 * Builds an assessment: failed if a problem is proven, ready if the rule found it ready, else progressing with the
 * message of the first open milestone. A deleted object progresses, unless its failure is final. An object with a stale
 * status progresses too. The amendments of the context decide last.
 */
export function conclude(object: KubeObject, context: RuleContext, found: Found): Assessment {
  const [facts, end] = factsOf(object, context, found)
  const { amendments = [] } = context
  // Most gates have none: the facts are copied only for an amendment.
  if (amendments.length === 0) return assessmentOf(facts, end)
  let draft: Draft = { ...facts, ...end }
  for (const amend of amendments) draft = amend(draft, object, context)
  const { ready, failure, ...amended } = draft
  return assessmentOf(amended, { ready, failure })
}

/** What decides the status of an assessment. */
type End = Pick<Draft, 'ready' | 'failure'>

function assessmentOf(facts: AssessedFacts, { ready, failure }: End): Assessment {
  if (ready) return { ...facts, status: 'ready' }
  return failure === undefined ? { ...facts, status: 'progressing' } : { ...facts, status: 'failed', failure }
}

function factsOf(object: KubeObject, context: RuleContext, found: Found): readonly [AssessedFacts, End] {
  const {
    ready,
    readyMessage,
    signals: _,
    copiesOthers: __,
    isEnd,
    failure,
    ...rest
  } = awaitFreshStatus(object, context, found)
  const { problems: own = [], notes = [] } = rest
  const terminating = terminatingProblem(object, context)
  const problems = terminating === undefined ? own : [terminating, ...own]
  for (const { name } of problems.flatMap((each) => nodeOf(each) ?? [])) context.watch(nodeRequest(name), 'explaining')
  const milestones = rest.milestones.map((each) => withMoment(each, object, context, found.signals))
  const counters = new Map([...(rest.counters ?? []), ...(ready ? [] : eventCounters(object, context))])
  const conclusion = (message: string, end: End) =>
    [{ ...rest, milestones, counters, problems, notes, message }, end] as const
  // Ready beats failed when both arrive together.
  if (ready && terminating === undefined) return conclusion(readyMessage, { ready })
  if (failure !== undefined && (terminating === undefined || isEnd))
    return conclusion(messageOf(failure), { ready: false, failure })
  const open = rest.milestones.find(({ state }) => state === 'open')
  const message = terminating === undefined ? (open?.message ?? readyMessage) : messageOf(terminating)
  return conclusion(message, { ready: false })
}

/**
 * How far the controller of an object has come, by its events: the kubelet reports each minute how many files of a volume it
 * has processed (pkg/volume/volume_linux.go).
 */
const eventProgress =
  /\b(?:processed|copied|transferred|restored|downloaded|completed|progress(?: is)?):? (\d{1,18})|(?<![\d.])(\d{1,18})(?:\.\d{1,18})?\s?% (?:complete|done|copied|restored|finished)/i

/** The numbers of an object's events that show progress when they grow. */
export function eventCounters(object: KubeObject, context: RuleContext): readonly (readonly [string, number])[] {
  return context.events(object).flatMap(({ reason, message = '' }) => {
    const [found, count, percent] = eventProgress.exec(message) ?? []
    if (found === undefined) return []
    return [[`${object.metadata.uid} ${reason} ${message.replace(found, '')}`, Number(count ?? percent)] as const]
  })
}

/**
 * A done milestone with the moment that the object itself shows: its creation, the write of its spec, or the transition of
 * the conditions that make it ready. If the object is older than the apply, its milestone `created` reads `exists`.
 */
function withMoment(
  milestone: Milestone,
  object: KubeObject,
  context: RuleContext,
  signals: Found['signals'],
): Milestone {
  if (milestone.state !== 'done' || milestone.at !== undefined) return milestone
  switch (milestone.name) {
    case 'created': {
      const at = context.time(object.metadata.creationTimestamp)
      const isOld = at !== undefined && at < context.startedAt - oldObjectMs
      return { ...milestone, at, ...(isOld ? { message: 'exists' } : {}) }
    }
    case 'observed':
      return { ...milestone, at: specWrittenAt(object, context) }
    case 'ready':
      return { ...milestone, at: readySince(object, context, signals) }
    default:
      return milestone
  }
}

/** Since when the conditions make an object ready; undefined if one was True before the last write of the spec. */
function readySince(object: KubeObject, context: RuleContext, signals: Found['signals'] = []): number | undefined {
  const at = latestOfAll(signals.map((each) => context.time(each?.lastTransitionTime)))
  return at !== undefined && at >= (specWrittenAt(object, context) ?? -Infinity) ? at : undefined
}

/** The watch of a node that may explain why a pod of it does not start. */
export function nodeRequest(name: string): RequestOf<'Node'> {
  return { apiVersion: 'v1', kind: 'Node', name }
}

function awaitFreshStatus(object: KubeObject, context: RuleContext, found: Found): Found {
  const { ready, signals, copiesOthers } = found
  const until = ready && signals !== undefined ? staleUntil(object, signals, context, copiesOthers) : undefined
  if (until === undefined) return found
  const message = 'its status may be older than its spec: waiting for its controller'
  return {
    ...found,
    ready: false,
    milestones: found.milestones.map((each) =>
      each.name === 'ready' || (each.name === 'observed' && each.state === 'done')
        ? { name: each.name, state: 'open', message, settlesAt: until }
        : each,
    ),
  }
}

/** The sync periods of controllers that reconcile by time, in milliseconds. */
const syncPeriodsMs: Readonly<Record<string, number>> = { 'autoscaling/HorizontalPodAutoscaler': autoscalerSyncMs }

/**
 * Until when the status of an object may be older than its spec. Many controllers do not write the generation of their
 * status: right after an apply, "Ready" may be about the previous spec. If the spec was written after the status, the
 * controller has its sync period, or the settle time, to update the status. This time starts at that write, but not
 * later than the first sight of the present spec, because other writers may have written last.
 * @param signals the conditions that decided; an undefined entry stands for another part of the status
 * @param copiesOthers whether the controller may copy the state of other objects, such as a Deployment, that it read
 * before these observed the change. Then only a state that has changed since the write of the spec is not stale,
 * whatever generation it has.
 * @returns milliseconds since the epoch on the runner's clock; undefined when the status is not stale
 */
function staleUntil(
  object: KubeObject,
  signals: readonly (Condition | undefined)[],
  context: RuleContext,
  copiesOthers = false,
): number | undefined {
  const { time, history, settings } = context
  const { generation, creationTimestamp } = object.metadata
  const isDated =
    observedGenerations(object).length > 0 || signals.every((each) => each?.observedGeneration !== undefined)
  if (isDated && !copiesOthers) return undefined
  const statusAt = lastWriteOf(object, time, 'status')
  const specAt = lastWriteOf(object, time) ?? -Infinity
  // A new object has no older status; kinds without a generation are dated by their creation.
  const isNew = generation === undefined ? specAt <= (time(creationTimestamp) ?? -Infinity) : generation <= 1
  // Without a status subresource, the controller cannot be distinguished from the writer of the spec.
  if (isNew || statusAt === undefined) return undefined
  const hasChanged =
    history.statesMovedAt > history.specSeenAt ||
    signals.some((each) => (time(each?.lastTransitionTime) ?? -Infinity) >= specAt)
  if (copiesOthers ? hasChanged : statusAt > specAt) return undefined
  const periodMs = syncPeriodsMs[`${groupOf(object.apiVersion)}/${object.kind}`] ?? settings.settleTimeMs
  const until = Math.min(specAt, history.specSeenAt) + periodMs
  return context.passed(until) ? undefined : until
}

function terminatingProblem(object: KubeObject, { now, time }: RuleContext): Problem | undefined {
  const { deletionTimestamp, finalizers = [] } = object.metadata
  if (deletionTimestamp === undefined) return undefined
  return { ...ownProblem(object, time(deletionTimestamp) ?? now), reason: 'terminating', detail: { finalizers } }
}
