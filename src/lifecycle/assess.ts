import type { Condition, KubeObject } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import { messageOf, nodeOf, type Problem } from '../reasons/reasons.ts'
import { autoscalerSyncMs, oldObjectMs } from '../thresholds.ts'
import type { Assessment, Draft, Milestone } from './assessment.ts'
import { observedGenerations, ownProblem } from './conditions.ts'
import { lastWriteOf, specWrittenAt } from './gate-time.ts'
import { latestOfAll } from './proof.ts'
import type { Judgement, Rule } from './rule.ts'
import type { RuleContext, Statements } from './rule-context.ts'
import { nodeRequest } from './selector.ts'

/**
 * Assesses an object by its rule: failed if a problem is proven, ready if the rule found it ready, else progressing with the
 * message of the first open milestone. A deleted object progresses, unless its failure is final. An object with a stale status
 * progresses too. The checks of the rule decide last.
 */
export function assess<Gated extends KubeObject>(rule: Rule<Gated>, object: Gated, context: RuleContext): Assessment {
  const stated = new Stated()
  const judgement = rule.judge(object, { ...context, ...stated.statements })
  let draft = draftOf(object, context, stated, rule.milestones, judgement)
  for (const check of rule.checks ?? []) draft = check(draft, object, context)
  const { ready, failure, ...facts } = draft
  if (ready) return { ...facts, status: 'ready' }
  return failure === undefined ? { ...facts, status: 'progressing' } : { ...facts, status: 'failed', failure }
}

function draftOf(
  object: KubeObject,
  context: RuleContext,
  stated: Stated,
  names: Rule['milestones'],
  { ready: isReady, message: text, failure: decisive, isEnd, signals, copiesOthers, ...facts }: Judgement,
): Draft {
  const until = isReady && signals !== undefined ? staleUntil(object, signals, context, copiesOthers) : undefined
  const ready = isReady && until === undefined
  const present = stated.milestonesOf(names, isReady, text)
  const milestones = (until === undefined ? present : awaitingFreshStatus(present, until)).map((each) =>
    withMoment(each, object, context, signals),
  )
  const terminating = terminatingProblem(object, context)
  const problems = terminating === undefined ? stated.problems : [terminating, ...stated.problems]
  for (const { name } of problems.flatMap((each) => nodeOf(each) ?? [])) context.watch(nodeRequest(name), 'explaining')
  const { notes, warnings, stallHold } = stated
  const counters = new Map([...(facts.counters ?? []), ...(ready ? [] : eventCounters(object, context))])
  const draft = { ...facts, milestones, counters, problems, notes, warnings, stallHold }
  // Ready beats failed when both arrive together.
  if (ready && terminating === undefined) return { ...draft, ready, message: text }
  const failure = decisive ?? stated.problems.find(({ proven }) => proven)
  if (failure !== undefined && failure !== 'none' && (terminating === undefined || isEnd))
    return { ...draft, ready: false, message: messageOf(failure), failure }
  const open = milestones.find(({ state }) => state === 'open')
  const message = terminating === undefined ? (open?.message ?? text) : messageOf(terminating)
  return { ...draft, ready: false, message }
}

/** What a rule has stated of an object. */
class Stated {
  readonly #milestones = new Map<string, Milestone>()
  readonly problems: Problem[] = []
  readonly notes: string[] = []
  readonly warnings: string[] = []
  stallHold: string | undefined

  /** The functions by which the rule states what it finds. */
  readonly statements: Statements = {
    milestone: (milestone) => this.#milestones.set(milestone.name, milestone),
    problem: (problem) => this.problems.push(problem),
    note: (text) => this.notes.push(text),
    warning: (text) => this.warnings.push(text),
    hold: (text) => {
      this.stallHold ??= text
    },
  }

  /**
   * The milestones in their order. An object that is judged is created, and the milestone `ready` has the judgement's message,
   * unless the rule states more about them.
   */
  milestonesOf(names: readonly string[], isReady: boolean, message: string): readonly Milestone[] {
    const byDefault: Readonly<Record<string, Milestone>> = {
      created: { name: 'created', state: 'done', message: 'created' },
      ready: { name: 'ready', state: isReady ? 'done' : 'open', message },
    }
    return names.flatMap((name) => this.#milestones.get(name) ?? byDefault[name] ?? [])
  }
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
  signals: Judgement['signals'],
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
function readySince(object: KubeObject, context: RuleContext, signals: Judgement['signals'] = []): number | undefined {
  const at = latestOfAll(signals.map((each) => context.time(each?.lastTransitionTime)))
  return at !== undefined && at >= (specWrittenAt(object, context) ?? -Infinity) ? at : undefined
}

/** The milestones of an object whose status may be older than its spec until this moment. */
function awaitingFreshStatus(milestones: readonly Milestone[], until: number): readonly Milestone[] {
  const message = 'its status may be older than its spec: waiting for its controller'
  return milestones.map((each) =>
    each.name === 'ready' || (each.name === 'observed' && each.state === 'done')
      ? { name: each.name, state: 'open', message, settlesAt: until }
      : each,
  )
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
