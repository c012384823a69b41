import { isAccessDenied, isUnavailable } from '../cluster/failures.ts'
import { distinctRequests, type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { isSupersetOf } from '../cluster/store.ts'
import { Gate } from '../gate/gate.ts'
import { type GateSettings, settingsForPurpose } from '../gate/settings.ts'
import { type GatedTarget, isTargetReady } from '../gate/target-state.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import type { Reader } from '../lifecycle/reader.ts'
import { dependentKindsOf, type TargetChecks } from '../lifecycle/rules.ts'
import { pluralOf } from '../plan/kinds.ts'
import { type Target, watchRequestOf } from '../plan/target.ts'
import { wayBackLines } from '../report/rollback.ts'
import { singleCheckRecord } from './single-check.ts'
import { forbiddenError, View, type ViewSource } from './view.ts'

/* The state of one resource and its dependent objects over time, for the command `trace`. */

/** The content of a trace at one time. Times are milliseconds since the epoch on this machine's clock. */
export interface TraceState {
  readonly target: Target
  readonly startedAt: number
  readonly now: number
  /** Absent while the resource does not exist, or its lists are incomplete. */
  readonly traced?: TracedObject
  /** Whether the resource is ready by the rules of the gate. */
  readonly isReady: boolean
  /** The kinds that cannot be read, with the server's message, and why the resource cannot be judged. */
  readonly problems: readonly string[]
  /** Which version serves in place of a failing resource, and how to go back. Raw text: renderers escape it. */
  readonly wayBack: readonly string[]
  /** Why the server does not answer now. */
  readonly connectionError?: string
  /** Whether a first list has not arrived yet. */
  readonly isLoading: boolean
}

/** An existing resource, its assessment, and the reader of its dependent objects. */
export interface TracedObject {
  readonly object: KubeObject
  readonly assessment: Assessment
  readonly reader: Reader
  /** The checks that replace the rules of kinds. */
  readonly checks: TargetChecks
}

/**
 * Follows one resource with a gate that never ends: a failed resource may recover, and a deleted resource may be
 * created again. `View` calls `observe` with each event, and `draw` after changes and every second. Only `draw`
 * advances the time of the gate.
 */
export class Trace extends View {
  readonly #target: Target
  readonly #settings: GateSettings
  readonly #draw: (state: TraceState) => boolean
  readonly #isLive: boolean
  readonly #gate: Gate
  #connectionError: string | undefined

  /** @param draw draws a state; returns true to end the view */
  constructor(target: Target, settings: GateSettings, source: ViewSource, draw: (state: TraceState) => boolean) {
    super(source)
    this.#target = target
    this.#settings = settings
    this.#draw = draw
    this.#isLive = source.isLive
    this.#gate = new Gate([target], settingsForPurpose('view', settings), (request) => source.willSync(request))
  }

  /** The watches that the view needs now. */
  get requests(): readonly WatchRequest[] {
    const wide = dependentRequests(this.#target, this.#settings)
    const others = this.#gate.requests.filter((request) => !wide.some((each) => isSupersetOf(each, request)))
    return [...wide, ...others]
  }

  protected draw(now: number): boolean {
    return this.#draw(this.state(now))
  }

  /** @throws UserError if the resource cannot be read */
  protected observe(event: FeedEvent): void {
    const isOwn = () => requestKey(event as Partial<WatchRequest>) === requestKey(watchRequestOf(this.#target))
    if (this.#isLive && isAccessDenied(event) && isOwn()) throw forbiddenError(this.#target, event)
    this.#connectionError = event.type === 'ERROR' && isUnavailable(event) ? event.message : undefined
    this.#gate.handle([event])
  }

  get #traced(): Readonly<GatedTarget> {
    return this.#gate.targets[0] as Readonly<GatedTarget>
  }

  state(now: number): TraceState {
    this.#gate.advance(now)
    const { state, readerOf } = this.#traced
    const { store } = this.#gate
    const object = store.get(this.#target)
    const { assessment, seen } = state
    const isPending = this.#neededWatches.some((request) => store.listState(request) === 'pending')
    const isLoading = isPending || (state.type === 'present' && assessment === undefined)
    const isJudged = !isLoading && object !== undefined && assessment !== undefined && seen !== undefined
    return {
      target: this.#target,
      startedAt: this.#settings.startedAt,
      now,
      isLoading,
      isReady: isTargetReady(state),
      traced: isJudged ? { object, assessment, reader: readerOf(object, now), checks: this.#settings } : undefined,
      problems: [...this.#unreadableKinds(), ...(state.type === 'ended' ? [state.verdict.message] : [])],
      wayBack: this.#wayBack(now),
      connectionError: this.#connectionError,
    }
  }

  /** See `TraceState.wayBack`. Empty if the first problem is `slow`, because such a problem may end by itself. */
  #wayBack(now: number): readonly string[] {
    const record = singleCheckRecord(this.#gate, now)
    const [problem] = record.targets.flatMap(({ problems }) => problems)
    return problem === undefined || problem.class === 'slow' ? [] : wayBackLines(record)
  }

  /** The watches whose objects are drawn. */
  get #neededWatches(): readonly WatchRequest[] {
    return [...dependentRequests(this.#target, this.#settings), ...this.#traced.requests.needed]
  }

  /** The needed kinds that cannot be read, with the server's message. */
  #unreadableKinds(): readonly string[] {
    const refusals = this.#neededWatches.flatMap((request) => this.#gate.store.refusalOf(request) ?? [])
    const texts = refusals
      .filter((refusal) => !isUnavailable(refusal))
      .map(({ kind = 'object', message }) => `${pluralOf(kind)} cannot be read: ${message}`)
    return [...new Set(texts)]
  }
}

/**
 * The watches for the dependent kinds of a resource. They have no selectors, to show pods whose labels change, and pods
 * that a selector nearly matches.
 */
function dependentRequests(target: Target, settings: GateSettings): readonly WatchRequest[] {
  const { namespace, name } = target
  if (namespace === undefined) return []
  const { kinds } = dependentKindsOf(target, settings)
  // The tree shows indirectly owned objects too.
  const indirect = kinds.map((kind) => dependentKindsOf(kind)).filter(({ isKnown }) => isKnown)
  const requests = [...kinds, ...indirect.flatMap((dependents) => dependents.kinds)].map((kind) => {
    const labelSelector = kind.kind === 'EndpointSlice' ? `kubernetes.io/service-name=${name}` : undefined
    return { ...kind, namespace, labelSelector }
  })
  return distinctRequests(requests)
}
