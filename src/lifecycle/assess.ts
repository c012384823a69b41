import type { EventObject, KubeObject } from '../cluster/objects.ts'
import { messageOf, nodeOfProblem, type Problem } from '../reasons/reasons.ts'
import { maxApplyAgeMs } from '../thresholds.ts'
import type { Assessment, Milestone } from './assessment.ts'
import type { Reader, Statements } from './reader.ts'
import type { Judgement, Rule } from './rule.ts'
import { nodeRequest } from './selector.ts'
import { readySince, specWrittenAt, staleUntil } from './stale-status.ts'
import { objectProblemFields } from './status-problems.ts'

/**
 * Assesses an object by its rule, then applies the checks of the rule. The object is ready if the rule says so, and
 * failed if a problem is proven. While the object is being deleted or its status is stale, it is in progress.
 */
export function assess<Gated extends KubeObject>(rule: Rule<Gated>, object: Gated, reader: Reader): Assessment {
  const stated = new CollectedStatements()
  const judgement = rule.judge(object, { ...reader, ...stated.statements })
  let assessment = assessByRule(object, reader, stated, rule.milestones, judgement)
  for (const check of rule.checks ?? []) assessment = check(assessment, object, reader)
  return assessment
}

/** Assesses an object by its rule, without the checks of the rule. */
function assessByRule(
  object: KubeObject,
  reader: Reader,
  stated: CollectedStatements,
  names: Rule['milestones'],
  { ready: isReady, message: text, failure: decisive, isEnd, readyConditions, copiesOthers, ...facts }: Judgement,
): Assessment {
  const until =
    isReady && readyConditions !== undefined ? staleUntil(object, readyConditions, reader, copiesOthers) : undefined
  const ready = isReady && until === undefined
  const present = stated.milestonesOf(names, isReady, text)
  const milestones = (until === undefined ? present : reopenForStaleStatus(present, until)).map((each) =>
    addReachedMoment(each, object, reader, readyConditions),
  )
  const terminating = terminatingProblem(object, reader)
  const problems = terminating === undefined ? stated.problems : [terminating, ...stated.problems]
  for (const { name } of problems.flatMap((each) => nodeOfProblem(each) ?? []))
    reader.watch(nodeRequest(name), 'explaining')
  const { notes, warnings, stallHold } = stated
  const counters = new Map([
    ...(facts.counters ?? []),
    ...(ready ? [] : eventCounters(reader.events(object, ({ message }) => eventProgress.test(message ?? '')))),
  ])
  const found = { ...facts, milestones, counters, problems, notes, warnings, stallHold }
  // Ready overrides a proven problem.
  if (ready && terminating === undefined) return { ...found, ready, message: text }
  const failure = decisive ?? stated.problems.find(({ proven }) => proven)
  if (failure !== undefined && failure !== 'none' && (terminating === undefined || isEnd))
    return { ...found, ready: false, message: messageOf(failure), failure }
  const open = milestones.find(({ state }) => state === 'open')
  const message = terminating === undefined ? (open?.message ?? text) : messageOf(terminating)
  return { ...found, ready: false, message }
}

/** Collects what a rule states about an object. */
class CollectedStatements {
  readonly #milestones = new Map<string, Milestone>()
  readonly problems: Problem[] = []
  readonly notes: string[] = []
  readonly warnings: string[] = []
  stallHold: string | undefined

  /** The functions that the rule calls. */
  readonly statements: Statements = {
    milestone: (milestone) => this.#milestones.set(milestone.name, milestone),
    problem: (problem) => this.problems.push(problem),
    note: (text) => this.notes.push(text),
    warning: (text) => this.warnings.push(text),
    hold: (text) => {
      this.stallHold ??= text
    },
  }

  /** The milestones in order. By default, `created` is done, and `ready` has this message. */
  milestonesOf(names: readonly string[], isReady: boolean, message: string): readonly Milestone[] {
    const byDefault: Readonly<Record<string, Milestone>> = {
      created: { name: 'created', state: 'done', message: 'created' },
      ready: { name: 'ready', state: isReady ? 'done' : 'open', message },
    }
    return names.flatMap((name) => this.#milestones.get(name) ?? byDefault[name] ?? [])
  }
}

/**
 * Adds to a done milestone when it was reached: the creation of the object, the write of its spec, or the transition of
 * its ready conditions. If the object is older than the apply, the message of `created` is `exists`.
 */
function addReachedMoment(
  milestone: Milestone,
  object: KubeObject,
  reader: Reader,
  readyConditions: Judgement['readyConditions'],
): Milestone {
  if (milestone.state !== 'done' || milestone.at !== undefined) return milestone
  switch (milestone.name) {
    case 'created': {
      const at = reader.time(object.metadata.creationTimestamp)
      const isOld = at !== undefined && at < reader.startedAt - maxApplyAgeMs
      return { ...milestone, at, ...(isOld ? { message: 'exists' } : {}) }
    }
    case 'observed':
      return { ...milestone, at: specWrittenAt(object, reader) }
    case 'ready':
      return { ...milestone, at: readySince(object, reader, readyConditions) }
    default:
      return milestone
  }
}

/** Opens the milestones `observed` and `ready` until the status is no longer stale (`until`). */
function reopenForStaleStatus(milestones: readonly Milestone[], until: number): readonly Milestone[] {
  const message = 'its status may be older than its spec: waiting for its controller'
  return milestones.map((each) =>
    each.name === 'ready' || (each.name === 'observed' && each.state === 'done')
      ? { name: each.name, state: 'open', message, settlesAt: until }
      : each,
  )
}

function terminatingProblem(object: KubeObject, { now, time }: Reader): Problem | undefined {
  const { deletionTimestamp, finalizers = [] } = object.metadata
  if (deletionTimestamp === undefined) return undefined
  return {
    ...objectProblemFields(object, time(deletionTimestamp) ?? now),
    reason: 'terminating',
    detail: { finalizers },
  }
}

/**
 * Matches a progress number in the message of an event. For example, the kubelet reports each minute how many files of
 * a volume it has processed (pkg/volume/volume_linux.go).
 */
const eventProgress =
  /\b(?:processed|copied|transferred|restored|downloaded|completed|progress(?: is)?):? (\d{1,18})|(?<![\d.])(\d{1,18})(?:\.\d{1,18})?\s?% (?:complete|done|copied|restored|finished)/i

/** The progress numbers in the events of an object. A growing number is progress. */
export function eventCounters(events: readonly EventObject[]): readonly (readonly [string, number])[] {
  return events.flatMap(({ involvedObject, reason, message = '' }) => {
    const [found, count, percent] = eventProgress.exec(message) ?? []
    if (found === undefined) return []
    return [[`${involvedObject?.uid} ${reason} ${message.replace(found, '')}`, Number(count ?? percent)] as const]
  })
}
