import { cachePerObject, type KubeObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import { signalsText } from '../../reasons/status.ts'
import { isEmpty } from '../conditions.ts'
import type { RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { isStale, isStatusStale, specChangedAt } from '../stale-status.ts'
import { applyDecision, type Decision, type Explanation, explanationText, genericRule } from './generic.ts'
import { isUnobserved, readSignals } from './status.ts'
import { type Signal, summarizeSignals } from './status-conditions.ts'
import type { Meaning } from './words.ts'

/**
 * Creates the rule of a kind from a health check: from the user, evaluated as in Flux
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions), or from the catalogue. See
 * `HealthCheckEntry`. With a check of the user, a status without `observedGeneration` may count as stale after a
 * change.
 */
export function healthCheckRule(check: HealthCheck): Rule {
  return {
    milestones: milestonesWithStages(check.milestones),
    judge: (object, reader) => {
      const decision = decideByCheck(object, check, reader)
      const judgement =
        decision === undefined ? genericRule.judge(object, reader) : applyDecision(object, decision, reader, check)
      addStageMilestones(object, check, judgement, reader)
      return judgement
    },
  }
}

/** Adds the milestones of a health check (stages) to the common milestones, before `ready`. */
export function milestonesWithStages(stages: readonly Pick<StageOf, 'name'>[] = []): Rule['milestones'] {
  const [created, observed, ready] = commonMilestones
  return [created, observed, ...stages.map(({ name }) => name), ready]
}

type StageOf = HealthCheck['milestones'][number]

/** Whether the status describes the present generation. Catalogue entries also check its conditions. */
function isObservedForCheck(object: KubeObject, { ignoresGeneration, isUsers }: HealthCheck): boolean {
  return ignoresGeneration === true || !(isUsers ? isStatusStale(object) : isUnobserved(object))
}

/** Removes the conditions of older generations from an object. */
const withoutStaleConditions = cachePerObject((object: KubeObject): KubeObject => {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  if (!Array.isArray(conditions)) return object
  const { generation } = object.metadata
  const present = conditions.filter((each) => !isStale(each?.observedGeneration, generation))
  return { ...object, status: { ...object.status, conditions: present } }
})

/** The object that the expressions of a check read. Catalogue entries read no conditions of older generations. */
function objectForCheck(object: KubeObject, { isUsers }: HealthCheck): KubeObject {
  return isUsers ? object : withoutStaleConditions(object)
}

/**
 * Interprets the status of an object by a health check. While the status has none of the fields that a catalogue entry
 * reads, the object is in progress. If the settle time passes without a new field, the general conventions decide.
 * @returns undefined if the general conventions decide
 */
function decideByCheck(object: KubeObject, check: HealthCheck, reader: RuleReader): Decision | undefined {
  const { settleTimeMs } = reader.settings
  const { fieldsMovedAt, specSeenAt } = reader.history
  const isObserved = isObservedForCheck(object, check)
  const read = objectForCheck(object, check)
  const signals = isObserved ? readSignals(object) : []
  const summary = summarizeSignals(signals)
  const found = isObserved ? meaningByExpressions(read, check) : unobservedMeaning(read, check)
  const isOtherVersion = found === undefined && summary.meaning !== undefined
  if (isOtherVersion && reader.passed(Math.max(fieldsMovedAt, specSeenAt) + settleTimeMs)) return undefined
  const readsStatus = check.statusFields.length > 0
  const isStatic = found === 'ready' && (!readsStatus || hasNoStatus(object))
  // After a change of its spec, a controller may still write the status.
  const mayGetStatus = isStatic && readsStatus && !reader.passed(specChangedAt(object, reader) + settleTimeMs)
  const meaning = found === undefined || mayGetStatus ? 'progressing' : found
  const isAwaited = isObserved && readsStatus && hasNoStatus(object) && found !== 'ready' && found !== 'suspended'
  const explanation = isObserved ? explanationOf(read, check, signals, meaning) : { signals: [] }
  const good = summary.meaning === 'ready' ? summary.signals : []
  const unmet = explanationText(explanation) || notReadyText(read, check)
  const { stallHold } = check
  if (isObserved && stallHold?.(read).holds) reader.hold('its status states how long this takes')
  if (isObserved && stallHold === undefined && summary.isReconciling) reader.hold('its controller is reconciling it')
  return {
    meaning,
    isObserved: isObserved || isStatic,
    isAwaited,
    ...explanation,
    message: meaning === 'ready' ? goodSignalsText(good, check, isStatic) : unmet,
    readyConditions: isStatic ? undefined : good.length === 0 ? [undefined] : good.map(({ condition }) => condition),
    copiesOthers: check.isWorkload,
  }
}

/**
 * Why an object is not ready: the signals that decide by the general conventions. If these have no message, another
 * signal with a message is added. With a check of the user, an object in progress has no signals.
 */
function explanationOf(
  object: KubeObject,
  check: HealthCheck,
  signals: readonly Signal[],
  meaning: Meaning,
): Explanation {
  let cause: string | undefined
  for (const each of check.cause) cause ??= each(object)
  if (check.isUsers && meaning === 'progressing') return { signals: [], cause }
  const summary = summarizeSignals(signals)
  const decisive = summary.meaning === 'ready' ? [] : summary.signals
  const detailed = signals.find((each) => each.meaning !== 'ready' && each.message)
  const isDetailed = detailed === undefined || decisive.some(({ message }) => message)
  return { signals: isDetailed ? decisive : [...decisive, detailed], cause }
}

/** The message of a ready object: the good signals in its status, if there are any. */
function goodSignalsText(good: readonly Signal[], { isUsers }: HealthCheck, isStatic: boolean): string {
  if (isUsers) return 'its health check is met'
  return signalsText(good) || (isStatic ? 'exists; no status is needed' : 'its status is that of a ready object')
}

/** The message of an object whose status does not show why it is not ready. */
function notReadyText(object: KubeObject, { isUsers, current }: HealthCheck): string {
  if (!isUsers) return 'waiting for its controller to report that it is ready'
  const { error } = current(object)
  return error === undefined ? 'its health check is not met yet' : `its health check cannot be evaluated yet: ${error}`
}

/** The meaning of an object with a status of an older generation: only the spec counts, which may be suspended. */
function unobservedMeaning(object: KubeObject, check: HealthCheck): Meaning {
  const { status: _, ...withoutStatus } = object
  if (check.suspended?.(withoutStatus).holds === true) return 'suspended'
  return hasNoStatus(object) && check.current(withoutStatus).holds ? 'ready' : 'progressing'
}

/** Evaluates the expressions. Undefined if a catalogue entry reads no field that is in the status. */
function meaningByExpressions(object: KubeObject, check: HealthCheck): Meaning | undefined {
  const isTrue = (name: 'inProgress' | 'suspended' | 'failed' | 'current') => check[name]?.(object).holds === true
  if (isTrue('inProgress')) return 'progressing'
  if (isTrue('suspended')) return 'suspended'
  if (isTrue('failed')) return 'failed'
  if (isTrue('current')) return 'ready'
  const { isUsers, statusFields } = check
  const hasReadField =
    statusFields.length === 0 || statusFields.some((name) => Object.hasOwn(object.status ?? {}, name))
  return isUsers || hasReadField ? 'progressing' : undefined
}

/** Whether no controller has written a status. By default, the CRDs of Flux set `observedGeneration` to -1. */
function hasNoStatus({ status }: KubeObject): boolean {
  const { observedGeneration = -1, ...rest } = (status ?? {}) as { observedGeneration?: unknown }
  return observedGeneration === -1 && isEmpty(rest)
}

/** States the milestones that a check adds. If the object is ready, milestones that were not reached are skipped. */
function addStageMilestones(
  object: KubeObject,
  check: HealthCheck,
  { ready, message }: Judgement,
  reader: RuleReader,
): void {
  for (const { name, done } of check.milestones) {
    const isDone = isObservedForCheck(object, check) && done(objectForCheck(object, check)).holds
    if (ready && !isDone) reader.milestone({ name, state: 'skipped', message: '' })
    else reader.milestone(isDone ? { name, state: 'done', message: name } : { name, state: 'open', message })
  }
}
