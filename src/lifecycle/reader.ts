import type { RequestOf, TimedAnswer, WatchRequest } from '../cluster/feed.ts'
import type { EventObject, KindName, KubeObject, ObjectOf, Pod } from '../cluster/objects.ts'
import type { ListState } from '../cluster/store.ts'
import type { WantedRevision } from '../plan/revision.ts'
import type { Problem } from '../reasons/reasons.ts'
import type { Assessment, Milestone } from './assessment.ts'
import type { PodView } from './pod-view.ts'
import type { PodRevision } from './pods.ts'
import type { GateTime, Moment } from './proof.ts'
import type { Need, Reads } from './reads.ts'
import type { TargetHistory } from './target-history.ts'

/** What the gate knows of an awaited revision (`--revision`). It is kept when the object changes. */
export interface KnownRevision {
  /** The gate has seen that the revision was deployed. */
  readonly wasDeployed: boolean
  /** The gate has seen that the operator deployed the revision, or tried to. */
  readonly wasAttempted: boolean
  /** The awaited revisions. If the operator makes other commits from them, these commits. */
  readonly wanted: readonly WantedRevision[]
  /** What the operator had deployed while it reported the revision: a newer revision may have the same content. */
  readonly content?: string | undefined
}

/** The time for which everything must stay ready (`hold`), in milliseconds since the epoch. */
export interface Hold {
  readonly since: number
  readonly until: number
}

/**
 * The facts that a rule may read besides the object itself: related objects, their histories, the time and the
 * settings. A new one is built for each assessment.
 */
export interface Reader extends Moment, Pick<GateTime, 'startedAt' | 'time'> {
  readonly settings: LifecycleSettings
  /** The history of the target itself. */
  readonly history: TargetHistory
  /** Whether another target still progresses without a problem. A crashing container may wait for that target. */
  othersProgress(): boolean
  /** When another target last became ready: a container that waited for it can start from then on. */
  othersReadyAt(): number | undefined
  /** Records what is read through this reader. */
  readonly reads: Reads
  /** The awaited revision, once it has arrived (`--revision`). */
  readonly knownRevision?: KnownRevision | undefined
  /** The last assessment of the target. */
  readonly lastAssessment?: Assessment | undefined
  /** The hold, once it has begun. */
  readonly holding?: Hold | undefined
  /**
   * Asks for a watch. A rule calls it first, whatever the object contains, so that all lists are requested at once.
   * @returns whether its list is complete
   */
  watch(request: WatchRequest, need?: Need): ListState
  /** The objects of a kind that this uid owns. Asks for the watch of the request. */
  owned<Kind extends string>(request: RequestOf<Kind>, uid: string | undefined): readonly ObjectOf<Kind>[]
  /** The known objects of a kind, or of every kind, that this uid owns. No watch is asked for. */
  listKnownOwned<Kind extends string>(uid: string | undefined, kind?: Kind): readonly ObjectOf<Kind>[]
  /**
   * The pods of this controller that ended in this phase, also those deleted later. Pods that ended during their deletion do
   * not count.
   */
  endedPods(uid: string | undefined, phase: 'Failed' | 'Succeeded'): readonly Pod[]
  /** When the last deletion of a pod began. `revision`: that of a StatefulSet; a ReplicaSet has only one. */
  removedAt(uid: string | undefined, revision?: string): number | undefined
  /**
   * The objects of a request's kind, namespace and name. Asks for the watch of the request. Objects that its label
   * selector does not match are included if another watch reports them.
   * @param where which objects count, as a pure function of the object, and of values known when the list was read:
   * only a change of such an object requires a new assessment
   */
  list<Kind extends string>(
    request: RequestOf<Kind>,
    where?: (object: ObjectOf<Kind>) => boolean,
    need?: Need,
  ): readonly ObjectOf<Kind>[]
  /** Like `list`, but no watch is asked for: only objects that the gate already knows are found. */
  listKnown<Kind extends string>(
    request: RequestOf<Kind>,
    where?: (object: ObjectOf<Kind>) => boolean,
  ): readonly ObjectOf<Kind>[]
  /** How a pod belongs to the gated workloads behind the object; undefined if no gated workload is behind it. */
  revisionOf(pod: Pod): PodRevision | undefined
  /**
   * The events about an object, the latest last.
   * @param where which events count: only these require a new assessment
   */
  events(object: KubeObject, where?: (event: EventObject) => boolean): readonly EventObject[]
  /** A pod, with what the gate has observed of it since it first saw the pod. */
  podView(pod: Pod): PodView
  /**
   * The answers of a pod to a check of `http-checks`, the oldest first. `reads` does not record them: a new answer
   * requires a new assessment of each target whose last assessment names the pod in `answering`. `check`: its index.
   */
  answers(check: number, pod: Pod): readonly TimedAnswer[]
  /** Whether a kind has a status subresource, by discovery; undefined without discovery. */
  declaresStatus(kind: KindName): boolean | undefined
  /** Whether the first list of a request is complete: only a complete list proves that an object is absent. */
  listState(request: WatchRequest): ListState
}

/** How a rule states what it finds. */
export interface Statements {
  /** The state of a milestone of the rule. `created` and `ready` have one by default; see `Judgement`. */
  milestone(milestone: Milestone): void
  /** A problem of the object, or of an object behind it. A proven problem fails the object. */
  problem(problem: Problem): void
  /** A fact that does not affect the status: `2 old pods still draining`. */
  note(text: string): void
  /** A fact that does not affect the status, but is probably a mistake: `its TLS Secret web-tls does not exist`. */
  warning(text: string): void
  /** Why the stall clock is stopped: the object itself states how long this may take. The first reason counts. */
  hold(text: string | undefined): void
}

/** What a rule reads and states through. One is made for each assessment. */
export type RuleReader = Reader & Statements

export interface LifecycleSettings {
  /** How long a container that has no readiness probe, or that has died, must be ready before it counts. */
  readonly settleTimeMs: number
  /** How often a container may be restarted. */
  readonly maxRestarts: number
  /** The gate checks the state once (`why`): a problem lasts since the timestamps of its object, not since the gate first saw it. */
  readonly isSingleCheck?: boolean
}

/** The functions of a reader that ask for watches: they call `watch`, then read what the gate already knows. */
export function createWatchFunctions(
  watch: Reader['watch'],
  { listKnown, listKnownOwned }: Pick<Reader, 'listKnown' | 'listKnownOwned'>,
): Pick<Reader, 'watch' | 'list' | 'owned'> {
  return {
    watch,
    list: (request, where, need) => {
      watch(request, need)
      return listKnown(request, where)
    },
    owned: (request, uid) => {
      watch(request)
      return listKnownOwned(uid, request.kind)
    },
  }
}
