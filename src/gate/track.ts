import type { WatchRequest } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { groupOf, type Store } from '../cluster/store.ts'
import { duration } from '../duration.ts'
import type { Assessment, Milestone } from '../lifecycle/assessment.ts'
import { healthCheckRule } from '../lifecycle/custom/health-check.ts'
import { waitForRule } from '../lifecycle/custom/wait-for.ts'
import type { EvidenceSnapshot } from '../lifecycle/evidence-snapshot.ts'
import type { GateTime } from '../lifecycle/gate-time.ts'
import type { Rule } from '../lifecycle/rule.ts'
import { ruleOf } from '../lifecycle/rules.ts'
import { observeTarget, type TargetHistory } from '../lifecycle/workloads/history.ts'
import { revisionsOf } from '../lifecycle/workloads/revision.ts'
import type { HealthCheck } from '../plan/health-checks.ts'
import { type Target, targetWatch } from '../plan/target.ts'
import { messageOf, type Problem, problemSentence, type ReasonCode } from '../reasons/reasons.ts'
import { Arrival } from './arrival.ts'
import { compareIdentity, type IdentityChange } from './identity.ts'
import { Milestones } from './milestones.ts'
import { ReportedProblems } from './reported-problems.ts'
import type { GateSettings } from './settings.ts'
import { StallClock } from './stall-clock.ts'
import { reachedWords, settlingWords } from './story.ts'
import type { MilestoneRecord, TargetOutcome, Verdict } from './timeline.ts'

/** Problems of a container that runs and may only be slow to become ready. */
const isSlowStart: ReadonlySet<ReasonCode> = new Set(['readiness-failing', 'readiness-gate-pending'])

/** A deleted object has this long to come back under its name: `kubectl replace` and hooks delete and create. */
export const deletedMs = 5_000

/** A moment at which a target ends unless something happens before, and the verdict that it gets then. */
export interface TargetClock {
  readonly at: number
  readonly verdict: () => TargetVerdict
}

/** How a target ends. */
export interface TargetVerdict extends Verdict<TargetOutcome> {
  /** What the log adds to the outcome (`stalled after 5 m: `), where the message repeats the outcome. */
  readonly logText?: string
}

/** What became of one target so far: its object, its milestones, its clocks, its verdict. */
export class Track {
  readonly target: Target
  readonly index: number
  /** What tells it from the other targets, for people. */
  readonly name: string
  readonly rule: Rule
  readonly milestones: Milestones
  readonly stall: StallClock
  /** Since when the object is absent; undefined while it exists. */
  missingSince: number | undefined
  /** It existed, and was deleted. */
  wasDeleted = false
  object: KubeObject | undefined
  history: TargetHistory | undefined
  /** The last version of the object that has the gated template. */
  gated: KubeObject | undefined
  assessment: Assessment | undefined
  ended:
    | { readonly at: number; readonly verdict: Verdict<TargetOutcome>; readonly snapshot: EvidenceSnapshot }
    | undefined
  /** When it last became ready. */
  readyAt: number | undefined
  readonly reported = new ReportedProblems()
  /** That its pods are ready and settle has been logged. */
  #settlingReported = false
  /** It existed when the gate began. */
  #wasThere = false
  /** Until the change that is to be gated has arrived; the object is not judged before. */
  #arrival: Arrival | undefined
  /** Every revision seen, by its uid: a controller may remove one as soon as the next is rolled out. */
  readonly #revisions = new Map<string, KubeObject>()
  readonly #settings: GateSettings

  constructor(target: Target, index: number, name: string, settings: GateSettings) {
    this.target = target
    this.index = index
    this.name = name
    this.rule = chooseRule(target, settings.healthChecks ?? [])
    this.milestones = new Milestones(this.rule.milestones)
    this.stall = new StallClock(settings.startedAt)
    this.missingSince = settings.startedAt
    this.requests = [targetWatch(target)]
    this.#settings = settings
    const isAwaited = settings.awaitChangeMs > 0 && target.waitFor?.type !== 'delete'
    this.#arrival = isAwaited ? new Arrival(target, settings.expectImages) : undefined
  }

  /** Its change has not arrived yet. */
  get isAwaiting(): boolean {
    return this.#arrival !== undefined
  }

  /** Whether this version of the object carries the change that is awaited; from then on it is judged. */
  arrive(object: KubeObject, isFirstSight: boolean, now: number, gateTime: GateTime): boolean {
    if (this.#arrival?.hasArrived(object, isFirstSight, gateTime) === false) return false
    this.#arrival = undefined
    this.stall.restart(now)
    return true
  }

  get isReady(): boolean {
    return this.ended === undefined && this.readyAt !== undefined
  }

  /** Neither ready nor ended. */
  get isOpen(): boolean {
    return this.ended === undefined && this.readyAt === undefined
  }

  /** Progresses, and nothing is wrong with it; whose container runs and is not ready yet may just be slow to start. */
  get isHealthyProgress(): boolean {
    if (this.isAwaiting) return this.isOpen
    const isSlow = this.assessment?.problems.every(({ reason }) => isSlowStart.has(reason)) ?? false
    return this.isOpen && isSlow
  }

  /** The watches that judging it takes, as far as they are known by now. */
  requests: readonly WatchRequest[]

  /**
   * Takes a new version of the object; `isFirstSight` until the first list of the target is complete. Returns whether it
   * replaced an object with another uid, which is then gated from its first milestone.
   */
  see(object: KubeObject, now: number, isFirstSight: boolean): boolean {
    const isReplaced = this.gated !== undefined && this.gated.metadata.uid !== object.metadata.uid
    if (this.gated === undefined) this.#wasThere = isFirstSight
    if (isReplaced) {
      this.#wasThere = false
      this.#revisions.clear()
      this.history = undefined
      this.assessment = undefined
      this.readyAt = undefined
      this.milestones.reset()
      this.reported.clear()
      this.#settlingReported = false
      this.stall.restart(now)
    }
    if (this.gated === undefined || isReplaced) this.gated = object
    this.object = object
    this.requests = [targetWatch(this.target), ...this.rule.relatives(object)]
    this.history = observeTarget(this.history, object, now, this.rule.failures?.(object))
    this.missingSince = undefined
    this.wasDeleted = false
    return isReplaced
  }

  /**
   * Whether the object that is to be deleted is gone, and this is another one of its name: absence, as `kubectl wait
   * --for=delete` has it.
   */
  isSuccessor(object: KubeObject | undefined): boolean {
    if (this.target.waitFor?.type !== 'delete' || this.gated === undefined || object === undefined) return false
    return object.metadata.uid !== this.gated.metadata.uid
  }

  /** Gates the present template from now on: new pods replace all that were counted. */
  follow(object: KubeObject, now: number): void {
    this.gated = object
    this.reported.clear()
    this.#settlingReported = false
    this.milestones.restart(now)
    this.stall.restart(now)
  }

  /** What this version of the object means for the template that is gated, by the revisions that are or were known. */
  compare(object: KubeObject, store: Store, gateTime: GateTime): IdentityChange {
    for (const revision of revisionsOf(object.metadata.uid, (uid, kind) => store.ownedBy(uid, kind)))
      this.#revisions.set(revision.metadata.uid ?? revision.metadata.name, revision)
    if (this.gated === undefined || this.gated === object) return { type: 'same' }
    return compareIdentity(this.gated, object, [...this.#revisions.values()], gateTime)
  }

  /** The moment to give to milestones reached now: the gate's start for what stood at first sight (DESIGN §4). */
  reachedAt(now: number): number {
    const isFirst = this.milestones.lastReachedAt === undefined
    return isFirst && this.#wasThere ? this.#settings.startedAt : now
  }

  /** A target that was ready is no longer. */
  fallBack(assessment: Assessment, now: number): void {
    this.#settlingReported = false
    this.readyAt = undefined
    this.milestones.fallBack(assessment, now)
    this.stall.restart(now)
  }

  lose(now: number): void {
    this.#arrival?.lose()
    this.object = undefined
    this.missingSince = now
    this.wasDeleted = true
  }

  /** The clock that ends this target next, and how; undefined while it is ready, over, or nothing ticks. */
  nextClock(): TargetClock | undefined {
    if (!this.isOpen) return undefined
    if (this.isAwaiting) return this.#arrivalClock()
    const clocks = [this.#deletedClock(), this.#milestoneClock(), this.#stallClock(), this.#timeoutClock()]
    return clocks.reduce(
      (first, clock) => (clock !== undefined && clock.at < (first?.at ?? Infinity) ? clock : first),
      undefined,
    )
  }

  /**
   * Whether it still waits for something that it itself says takes time, or for another target of the gate; a stall timeout
   * of the user's own is literal.
   */
  isPatient(awaitsOther: boolean): boolean {
    const isLiteral = this.target.clocks.stallTimeoutMs !== undefined || this.#settings.stallIsLiteral
    return !isLiteral && (awaitsOther || this.assessment?.stallHold !== undefined)
  }

  records(): readonly MilestoneRecord[] {
    if (this.readyAt !== undefined && this.ended === undefined) return this.milestones.records('ready')
    const isFailed = this.ended !== undefined && this.ended.verdict.outcome !== 'progressing'
    return this.milestones.records(isFailed ? 'failed' : 'open')
  }

  /** The verdict of a clock that ran out: the problem that stands in the way is its reason. */
  overdue(
    outcome: 'stalled' | 'timed-out',
    without: Pick<TargetVerdict, 'message' | 'logText'> & { readonly reason: 'no-progress' | 'still-running' },
  ): TargetVerdict {
    if (this.isAwaiting) return { ...this.#arrivalClock().verdict(), outcome }
    if (this.object === undefined) return { outcome, reason: 'not-found', message: 'does not exist' }
    const [problem] = this.problems
    if (problem === undefined) return { outcome, ...without }
    return { outcome, reason: problem.reason, message: this.describeEnd(problem) }
  }

  /** The verdict of a timeout, the target's own or the gate's. */
  timedOut(timeoutMs: number): TargetVerdict {
    const { standing } = this
    const message = `was not ready after ${duration(timeoutMs)}: ${standing}`
    return this.overdue('timed-out', { reason: 'still-running', message, logText: standing })
  }

  get problems(): readonly Problem[] {
    return this.assessment?.problems ?? []
  }

  /** A problem that ends the target, with how many of its pods are ready all the same: `… (2 of 3 pods ready)`. */
  describeEnd(problem: Problem): string {
    const { count } = this.assessment?.milestones.find(({ name }) => name === 'ready') ?? {}
    const { done = 0, total = 0 } = count ?? {}
    const others = done > 0 && done < total ? ` (${done} of ${total} pods ready)` : ''
    return `${describe(problem, this.target)}${others}`
  }

  /** One line for the milestones reached now, and for settling when that begins; empty when there is nothing to report. */
  progressWords(reached: readonly Milestone[], now: number): string {
    const settling = this.assessment === undefined ? undefined : settlingWords(this.assessment, now)
    const isNews = settling !== undefined && !this.#settlingReported
    this.#settlingReported ||= isNews
    return [reachedWords(reached), ...(isNews ? [settling] : [])].filter((words) => words !== '').join(' · ')
  }

  /** What it says of itself, for people. */
  get standing(): string {
    if (this.isAwaiting) return 'waiting for its change to arrive'
    if (this.object === undefined) return this.wasDeleted ? 'was deleted' : 'waiting for it to be created'
    return this.assessment?.message ?? 'looking'
  }

  #arrivalClock(): TargetClock {
    const { startedAt, awaitChangeMs } = this.#settings
    return {
      at: startedAt + awaitChangeMs,
      verdict: () => ({
        outcome: 'stalled',
        reason: 'change-not-seen',
        message: `its change did not arrive in ${duration(awaitChangeMs)}`,
      }),
    }
  }

  #deletedClock(): TargetClock | undefined {
    if (!this.wasDeleted || this.missingSince === undefined) return undefined
    return {
      at: this.missingSince + deletedMs,
      verdict: () => ({ outcome: 'failed', reason: 'deleted', message: 'was deleted during the wait' }),
    }
  }

  #milestoneClock(): TargetClock | undefined {
    const { current } = this.milestones
    const isAbsenceFine = this.wasDeleted || this.target.waitFor?.type === 'delete'
    if (current === undefined || (this.object === undefined && isAbsenceFine)) return undefined
    if (current === 'created' && this.object !== undefined) return undefined
    const own = this.target.clocks.milestoneTimeoutsMs ?? {}
    const timeouts = Object.hasOwn(own, current) ? own : this.#settings.milestoneTimeoutsMs
    const timeoutMs = Object.hasOwn(timeouts, current) ? (timeouts[current] ?? 0) : 0
    if (timeoutMs === 0) return undefined
    const verdict = (): TargetVerdict => {
      if (current === 'created') {
        const message = `does not exist, ${duration(timeoutMs)} after the gate began`
        return { outcome: 'failed', reason: 'not-found', message, logText: 'does not exist' }
      }
      const message = `did not reach "${current}" in ${duration(timeoutMs)}: ${this.standing}`
      return this.overdue('timed-out', { reason: 'still-running', message, logText: message })
    }
    return { at: (this.milestones.waitingSince ?? this.#settings.startedAt) + timeoutMs, verdict }
  }

  #stallClock(): TargetClock | undefined {
    const timeoutMs = this.target.clocks.stallTimeoutMs ?? this.#settings.stallTimeoutMs
    const at = this.stall.dueAt(timeoutMs)
    if (at === undefined) return undefined
    const verdict = () => {
      const { standing } = this
      const message = `made no progress for ${duration(timeoutMs)}: ${standing}`
      return this.overdue('stalled', { reason: 'no-progress', message, logText: standing })
    }
    return { at, verdict }
  }

  #timeoutClock(): TargetClock | undefined {
    const { timeoutMs } = this.target.clocks
    if (timeoutMs === undefined || timeoutMs === 0) return undefined
    return { at: this.#settings.startedAt + timeoutMs, verdict: () => this.timedOut(timeoutMs) }
  }
}

/** What the user says of a reference goes before what he says of its kind, and that before what we know of the kind. */
function chooseRule(target: Target, healthChecks: readonly HealthCheck[]): Rule {
  if (target.waitFor !== undefined) return waitForRule(target.waitFor, ruleOf(target))
  const check = healthChecks.find(
    ({ apiVersion, kind }) => kind === target.kind && groupOf(apiVersion) === groupOf(target.apiVersion),
  )
  return check === undefined ? ruleOf(target) : healthCheckRule(check)
}

/** A problem in one line; the target's own name is not repeated. */
export function describe(problem: Problem, target: Target): string {
  const own = problem.subject === `${target.kind.toLowerCase()}/${target.name}`
  return own && problem.container === undefined ? messageOf(problem) : problemSentence(problem)
}
