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

/* The types through which a rule reads objects and the time, and states what it finds. */

/** What the gate knows about an awaited revision (`--revision`), from all versions of the object so far. */
export interface KnownRevision {
  /** The revision was deployed at some time. */
  readonly wasDeployed: boolean
  /** The operator deployed the revision at some time, or tried to. */
  readonly wasAttempted: boolean
  /** The awaited revisions, or the commits that the operator made from these revisions. */
  readonly wanted: readonly WantedRevision[]
  /** Identifies the deployed content of the revision: a newer revision may have the same content. */
  readonly content?: string | undefined
}

/** The start and end of the time for which everything must stay ready (`hold`), in milliseconds since the epoch. */
export interface Hold {
  readonly since: number
  readonly until: number
}

/** The facts that a rule may read besides the object: related objects, their histories, the time and the settings. */
export interface Reader extends Moment, Pick<GateTime, 'startedAt' | 'time'> {
  readonly settings: LifecycleSettings
  readonly history: TargetHistory
  /** Whether another target is in progress without a problem. A crashing container may wait for that target. */
  othersProgress(): boolean
  /** When another target last became ready: a container that waited for the target can start from then on. */
  othersReadyAt(): number | undefined
  readonly reads: Reads
  /** The awaited revision, once it has arrived (`--revision`). */
  readonly knownRevision?: KnownRevision | undefined
  readonly lastAssessment?: Assessment | undefined
  readonly holding?: Hold | undefined
  /**
   * Requests a watch. A rule first requests all its watches, so that the gate lists all kinds at the same time.
   * @returns whether the first list of the watch is complete
   */
  watch(request: WatchRequest, need?: Need): ListState
  /** Lists the objects of a kind that this uid owns. Requests their watch. */
  owned<Kind extends string>(request: RequestOf<Kind>, uid: string | undefined): readonly ObjectOf<Kind>[]
  /** Lists the known objects of a kind, or of every kind, that this uid owns. Requests no watch. */
  listKnownOwned<Kind extends string>(uid: string | undefined, kind?: Kind): readonly ObjectOf<Kind>[]
  /** The pods of a controller that ended in this phase before their deletion, even if they no longer exist. */
  endedPods(uid: string | undefined, phase: 'Failed' | 'Succeeded'): readonly Pod[]
  /** When the latest deletion of a pod of this controller began. `revision`: only pods of this revision count. */
  removedAt(uid: string | undefined, revision?: string): number | undefined
  /**
   * Lists the objects with the kind, namespace and name in a request. Also requests their watch. The label selector is
   * ignored: the list may contain objects from other watches.
   * @param where a pure filter: only changes of matching objects cause a new assessment
   */
  list<Kind extends string>(
    request: RequestOf<Kind>,
    where?: (object: ObjectOf<Kind>) => boolean,
    need?: Need,
  ): readonly ObjectOf<Kind>[]
  /** Like `list`, but requests no watch: lists only objects that the gate already knows. */
  listKnown<Kind extends string>(
    request: RequestOf<Kind>,
    where?: (object: ObjectOf<Kind>) => boolean,
  ): readonly ObjectOf<Kind>[]
  /** The revision of a pod within the gated workloads that the object selects; undefined if it selects none. */
  revisionOf(pod: Pod): PodRevision | undefined
  /**
   * The events about an object, the latest last.
   * @param where filters the events; only a matching event requires a new assessment
   */
  events(object: KubeObject, where?: (event: EventObject) => boolean): readonly EventObject[]
  /** A pod with its history since the gate first saw the pod. */
  podView(pod: Pod): PodView
  /**
   * The answers of a pod to a check of `http-checks`, the oldest first. `reads` does not record this read: see
   * `Assessment.answering`. @param check the index of the check
   */
  answers(check: number, pod: Pod): readonly TimedAnswer[]
  /** Whether a kind has a status subresource. Undefined without API discovery. */
  declaresStatus(kind: KindName): boolean | undefined
  /** Whether the first list of a request is complete. Only a complete list proves that an object is absent. */
  listState(request: WatchRequest): ListState
}

/** The functions by which a rule states what it finds. */
export interface Statements {
  /** States a milestone of the rule. `created` and `ready` have default states; see `Judgement`. */
  milestone(milestone: Milestone): void
  /** States a problem of the object or of a related object, such as a pod. A proven problem fails the object. */
  problem(problem: Problem): void
  /** States a fact that does not affect the status: `2 old pods still draining`. */
  note(text: string): void
  /** States a probable mistake that does not affect the status: `its TLS Secret web-tls does not exist`. */
  warning(text: string): void
  /** Stops the stall clock for this reason. If a rule states several reasons, the first counts. */
  hold(text: string | undefined): void
}

/** What a rule receives for an assessment: the reader, and the functions to state what the rule finds. */
export type RuleReader = Reader & Statements

export interface LifecycleSettings {
  /** How long a container without a readiness probe, or after a death, must be ready until it counts as ready. */
  readonly settleTimeMs: number
  /** How many restarts of a container are permitted. */
  readonly maxRestarts: number
  /** The gate checks the state only once (`why`). Then a problem began at the timestamp in its object. */
  readonly isSingleCheck?: boolean
}

/** Creates the functions of a reader that request a watch, then list what the gate already knows. */
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
