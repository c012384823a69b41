import { type Condition, type Fields, groupOf, type KindName, type KubeObject } from '../cluster/objects.ts'
import { autoscalerSyncMs } from '../thresholds.ts'
import type { Milestone } from './assessment.ts'
import { conditionsOf, isEmpty } from './conditions.ts'
import { type GateTime, latestIfAllKnown, latestMoment, timestampUnitMs } from './proof.ts'
import type { Reader } from './reader.ts'
import type { Judgement, Rule } from './rule.ts'

/*
 * Whether a status is about the present spec: by generations, by requests to reconcile, and by when both were written.
 */

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

/** The milestone `observed` of kinds whose conditions show that the controller has observed the spec. */
export function observedMilestoneIf(isDone: boolean, waiting: string, message = 'observed'): Milestone {
  return isDone ? { name: 'observed', state: 'done', message } : { name: 'observed', state: 'open', message: waiting }
}

/**
 * Whether an observed generation is older than the object's. A text is read as a number. A text that is no number, such
 * as the hash that some controllers write, is never older.
 */
export function isStale(observed: unknown, generation = 0): boolean {
  return (typeof observed === 'number' || typeof observed === 'string') && Number(observed) < generation
}

/** Whether a condition is about the present generation, or has no `observedGeneration`. */
export function hasPresentGeneration({ observedGeneration }: Condition, { metadata }: KubeObject): boolean {
  return !isStale(observedGeneration, metadata.generation)
}

/** The conditions of the present generation; malformed ones are skipped. */
export function presentConditions(object: KubeObject): readonly Condition[] {
  return conditionsOf(object).filter((each) => hasPresentGeneration(each, object))
}

/** Status fields that contain the generation that the status describes. */
const generationKeys =
  /^(?:observed|reconciled|last(?:Observed|Evaluated|Reconciled|Processed|Handled|Applied)?)Generation$/
/** Such fields in the map `generations`, which some controllers write: `generations.reconciled`. */
const generationNames = /^(?:observed|reconciled)$/

/** The generations that the status is about. */
function observedGenerations({ status }: KubeObject): readonly unknown[] {
  const fields = (status ?? {}) as Fields
  const valuesOf = (value: unknown, names: RegExp) =>
    Object.entries((value ?? {}) as Fields).flatMap(([key, each]) => (names.test(key) ? [each] : []))
  return [...valuesOf(fields, generationKeys), ...valuesOf(fields['generations'], generationNames)]
}

/** Whether the generation in the status is older than the generation of the object. */
export function isGenerationStale(object: KubeObject): boolean {
  return observedGenerations(object).some((observed) => isStale(observed, object.metadata.generation))
}

/** Whether the status is about an older generation of the object, or is older than the last request to reconcile. */
export function isStatusStale(object: KubeObject): boolean {
  return isGenerationStale(object) || hasOpenRequest(object)
}

/** The names of annotations that request an action, and the action: `reconcile-request`, `force-sync`, `forceAt`. */
const requestNames =
  /^(force|reconcile|refresh|re?sync|reset|restart|redeploy|trigger|request(?:ed)?)[-_]?(?:request(?:ed)?|sync|now|at|time|id|token)?$/i

/**
 * Whether an annotation requests a reconciliation that the controller has not handled. Most controllers that support
 * such requests copy the value of the annotation to the status, as Flux from `reconcile.fluxcd.io/requestedAt` to
 * `lastHandledReconcileAt` (https://fluxcd.io/flux/components/kustomize/kustomizations/#triggering-a-reconcile). If the
 * status is empty, no request is open: the kind may have no controller.
 */
export function hasOpenRequest({ status, metadata: { annotations } }: KubeObject): boolean {
  if (isEmpty(status)) return false
  return Object.entries(annotations ?? {}).some(([key, requested]) => {
    const [group = '', name = group] = key.split('/')
    const [, requestName = ''] = requestNames.exec(name) ?? []
    if (requestName === '') return false
    // `requestedAt` names no action; its group does: `reconcile.fluxcd.io`.
    const action = (/^request/i.test(requestName) && /reconcile|force/i.exec(group)?.[0]) || requestName
    const handled = Object.entries(status as Fields).find(
      ([field]) => /^last.*(?:handled|request)/i.test(field) && field.toLowerCase().includes(action.toLowerCase()),
    )
    // A controller may record nothing. Only Flux always does: without the field, its request is open.
    return handled === undefined ? key === 'reconcile.fluxcd.io/requestedAt' : handled[1] !== requested
  })
}

/**
 * The last write of an object's spec and metadata, or of one subresource, by any manager. The API server records the
 * time: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
 * @returns milliseconds since the epoch on the runner's clock; undefined if unknown
 */
export function lastWrittenAt(
  { metadata: { managedFields = [] } }: KubeObject,
  time: GateTime['time'],
  subresource?: 'status',
): number | undefined {
  const written = managedFields.filter((entry) => entry.subresource === subresource)
  return latestMoment(written.map((entry) => time(entry.time)))
}

/**
 * The last write of an object's spec. Undefined if unknown: without a status subresource, a controller writes the status as
 * clients write the spec.
 * @returns milliseconds since the epoch on the runner's clock
 */
export function specWrittenAt(
  object: KubeObject,
  { time, declaresStatus }: Pick<GateTime, 'time'> & { declaresStatus(kind: KindName): boolean | undefined },
): number | undefined {
  return object.status !== undefined && declaresStatus(object) === false ? undefined : lastWrittenAt(object, time)
}

/** When an object got its present version, by its rule or by the last write of its spec; see `Rule.changedAt`. */
export function versionChangedAt(
  object: KubeObject,
  { changedAt = specWrittenAt }: Pick<Rule, 'changedAt'>,
  reader: Reader,
): number | undefined {
  return changedAt(object, reader)
}

/**
 * When the spec of a custom resource was last written, in milliseconds since the epoch on the runner's clock; at the latest,
 * when it was first seen. The API server dates the last write of each manager; see `staleUntil`.
 */
export function specChangedAt(custom: KubeObject, { time, history }: Reader): number {
  const { generation, creationTimestamp } = custom.metadata
  const writtenAt = generation === 1 ? time(creationTimestamp) : lastWrittenAt(custom, time)
  return Math.min(writtenAt ?? Infinity, history.specSeenAt)
}

/** Whether an object was created for the present spec of a custom resource: not before the last write of this spec. */
export function isCreatedForPresentSpec({ metadata }: KubeObject, custom: KubeObject, reader: Reader): boolean {
  return (reader.time(metadata.creationTimestamp) ?? -Infinity) + timestampUnitMs > specChangedAt(custom, reader)
}

/** Whether an object, apart from its status, was written since a moment. */
export function wasWrittenSince(object: KubeObject, since: number, { time }: Reader): boolean {
  const writtenAt = lastWrittenAt(object, time) ?? time(object.metadata.creationTimestamp) ?? -Infinity
  return writtenAt + timestampUnitMs > since
}

/**
 * Whether a condition is about the present spec: it has the present generation. If only the status has that generation,
 * a condition that changed before the last write of the spec does not count: some controllers, as that of a
 * DeploymentConfig, write `status.observedGeneration` before they renew the condition.
 */
export function isAboutPresentSpec(object: KubeObject, condition: Condition, { time }: Reader): boolean {
  if (condition.observedGeneration !== undefined) return hasPresentGeneration(condition, object)
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: unknown }
  if (observedGeneration === undefined || isStale(observedGeneration, object.metadata.generation)) return false
  return (time(condition.lastTransitionTime) ?? Infinity) >= (lastWrittenAt(object, time) ?? -Infinity)
}

/** Since when all these conditions are True; undefined if unknown, or if it is before the last write of the spec. */
export function readySince(
  object: KubeObject,
  reader: Reader,
  conditions: Judgement['readyConditions'] = [],
): number | undefined {
  const at = latestIfAllKnown(conditions.map((each) => reader.time(each?.lastTransitionTime)))
  return at !== undefined && at >= (specWrittenAt(object, reader) ?? -Infinity) ? at : undefined
}

/** How often controllers reconcile that do so only at regular times, in milliseconds. */
const syncPeriodsMs: Readonly<Record<string, number>> = { 'autoscaling/HorizontalPodAutoscaler': autoscalerSyncMs }

/**
 * Until when the status of an object may be older than its spec. Many controllers do not write the generation of their
 * status: right after an apply, "Ready" may be about the previous spec. If the spec was written after the status, the
 * controller has its sync period, or the settle time, to update the status. This time starts at that write, but not
 * later than the first sight of the present spec, because other writers may have written last.
 * @param conditions the conditions that decided; an undefined entry stands for another part of the status
 * @param copiesOthers whether the controller may copy the state of other objects, such as a Deployment, before these
 * have observed the change. Then a state of any generation is stale until it changes after the write of the spec.
 * @returns milliseconds since the epoch on the runner's clock; undefined when the status is not stale
 */
export function staleUntil(
  object: KubeObject,
  conditions: readonly (Condition | undefined)[],
  reader: Reader,
  copiesOthers = false,
): number | undefined {
  const { time, history, settings } = reader
  const { generation, creationTimestamp } = object.metadata
  const isDated =
    observedGenerations(object).length > 0 || conditions.every((each) => each?.observedGeneration !== undefined)
  if (isDated && !copiesOthers) return undefined
  const statusAt = lastWrittenAt(object, time, 'status')
  const specAt = lastWrittenAt(object, time) ?? -Infinity
  // A new object has no older status; kinds without a generation are dated by their creation.
  const isNew = generation === undefined ? specAt <= (time(creationTimestamp) ?? -Infinity) : generation <= 1
  // Without a status subresource, the controller cannot be distinguished from the writer of the spec.
  if (isNew || statusAt === undefined) return undefined
  const hasChanged =
    history.statesMovedAt > history.specSeenAt ||
    conditions.some((each) => (time(each?.lastTransitionTime) ?? -Infinity) >= specAt)
  if (copiesOthers ? hasChanged : statusAt > specAt) return undefined
  const periodMs = syncPeriodsMs[`${groupOf(object.apiVersion)}/${object.kind}`] ?? settings.settleTimeMs
  const until = Math.min(specAt, history.specSeenAt) + periodMs
  return reader.passed(until) ? undefined : until
}
