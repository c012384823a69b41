import { cachePerObject, type KubeObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import { signalsText } from '../../reasons/status.ts'
import { isEmpty } from '../conditions.ts'
import type { RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { isStale, isStatusStale, specChangedAt } from '../status-age.ts'
import { applyDecision, type Decision, type Explanation, explanationText, genericRule } from './generic.ts'
import { isUnobserved, readSignals } from './status.ts'
import { type Signal, type SignalSummary, summarizeSignals } from './status-conditions.ts'
import type { Meaning } from './words.ts'

/**
 * The rule of a kind with a health check of the user, evaluated as in Flux
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions), or with an entry in the
 * catalogue of operators. `HealthCheckEntry` describes how it decides. With a check of the user, a status without
 * `observedGeneration` may count as stale for the settle time after a change.
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

/** The common milestones, and before `ready` those that a health check adds (stages). */
export function milestonesWithStages(stages: readonly Pick<StageOf, 'name'>[] = []): Rule['milestones'] {
  const [created, observed, ready] = commonMilestones
  return [created, observed, ...stages.map(({ name }) => name), ready]
}

type StageOf = HealthCheck['milestones'][number]

/** Whether the status is about the present generation. In the catalogue, the generations of its conditions count too. */
function isObservedForCheck(object: KubeObject, { ignoresGeneration, isUsers }: HealthCheck): boolean {
  return ignoresGeneration === true || !(isUsers ? isStatusStale(object) : isUnobserved(object))
}

/** The object without conditions of older generations, as the catalogue reads it. */
const withoutStaleConditions = cachePerObject((object: KubeObject): KubeObject => {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  if (!Array.isArray(conditions)) return object
  const { generation } = object.metadata
  const present = conditions.filter((each) => !isStale(each?.observedGeneration, generation))
  return { ...object, status: { ...object.status, conditions: present } }
})

/** The object as the expressions of a check read it: those of the catalogue read no conditions of older generations. */
function objectForCheck(object: KubeObject, { isUsers }: HealthCheck): KubeObject {
  return isUsers ? object : withoutStaleConditions(object)
}

/**
 * What the status of an object means by a health check. If the status has none of the fields that an entry reads, the
 * operator may still write them: until no field was added for the settle time, the object progresses.
 * @returns undefined if the operator did not write them, so that the general conventions decide
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
  if (isObserved) reader.hold(stallHoldOf(read, check, summary))
  return {
    meaning,
    isObserved: isObserved || isStatic,
    isAwaited,
    ...explanation,
    message: meaning === 'ready' ? readyText(good, check, isStatic) : unmet,
    readyConditions: isStatic ? undefined : good.length === 0 ? [undefined] : good.map(({ condition }) => condition),
    copiesOthers: check.isWorkload,
  }
}

/** Why the stall clock is stopped: by the expression `stallHold`, or because the controller is reconciling. */
function stallHoldOf(
  object: KubeObject,
  { stallHold }: HealthCheck,
  { isReconciling }: SignalSummary,
): string | undefined {
  if (stallHold === undefined) return isReconciling ? 'its controller is reconciling it' : undefined
  return stallHold(object).holds ? 'its status states how long this takes' : undefined
}

/**
 * Why an object is not ready: the signals that decided by the general conventions, and one with a message if they have
 * none. With a check of the user, an object that progresses has no signals.
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

/** The message of a ready object: its good signals, if its status has any. */
function readyText(good: readonly Signal[], { isUsers }: HealthCheck, isStatic: boolean): string {
  if (isUsers) return 'its health check is met'
  return signalsText(good) || (isStatic ? 'exists; no status is needed' : 'its status is that of a ready object')
}

/** The message of an object whose status does not show why it is not ready. */
function notReadyText(object: KubeObject, { isUsers, current }: HealthCheck): string {
  if (!isUsers) return 'waiting for its controller to report that it is ready'
  const { error } = current(object)
  return error === undefined ? 'its health check is not met yet' : `its health check cannot be evaluated yet: ${error}`
}

/** The meaning of an object with a status of an older generation: by the spec alone, which may be suspended. */
function unobservedMeaning(object: KubeObject, check: HealthCheck): Meaning {
  const { status: _, ...withoutStatus } = object
  if (check.suspended?.(withoutStatus).holds === true) return 'suspended'
  return hasNoStatus(object) && check.current(withoutStatus).holds ? 'ready' : 'progressing'
}

/** The meaning by the expressions. Undefined if the entry reads no field of the status: another version wrote it. */
function meaningByExpressions(object: KubeObject, check: HealthCheck): Meaning | undefined {
  const holds = (name: 'inProgress' | 'suspended' | 'failed' | 'current') => check[name]?.(object).holds === true
  if (holds('inProgress')) return 'progressing'
  if (holds('suspended')) return 'suspended'
  if (holds('failed')) return 'failed'
  if (holds('current')) return 'ready'
  return check.isUsers || hasReadField(object, check) ? 'progressing' : undefined
}

/** Whether a status has a field that the expressions of an entry read. */
function hasReadField({ status }: KubeObject, { statusFields }: HealthCheck): boolean {
  return statusFields.length === 0 || statusFields.some((name) => Object.hasOwn(status ?? {}, name))
}

/** Whether no controller has written the status: the CRDs of Flux set `observedGeneration` to -1 by default. */
function hasNoStatus({ status }: KubeObject): boolean {
  const { observedGeneration = -1, ...rest } = (status ?? {}) as { observedGeneration?: unknown }
  return observedGeneration === -1 && isEmpty(rest)
}

/** States the milestones that a check adds. If the object is ready, a milestone that was not reached is skipped. */
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
