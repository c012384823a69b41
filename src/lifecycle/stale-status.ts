import { type Condition, type Fields, groupOf, type KindName, type KubeObject } from '../cluster/objects.ts'
import { autoscalerSyncMs } from '../thresholds.ts'
import type { Milestone } from './assessment.ts'
import { conditionsOf, isEmpty } from './conditions.ts'
import { type GateTime, latestIfAllKnown, latestMoment, timestampUnitMs } from './proof.ts'
import type { Reader } from './reader.ts'
import type { Judgement, Rule } from './rule.ts'

/* Decides whether a status is stale: compares generations, reconcile requests and write times. */

/** Whether the controller has observed the present spec. Only for kinds that always write `observedGeneration`. */
export function isObserved(object: KubeObject): boolean {
  const { generation } = object.metadata
  const observed = (object.status as { observedGeneration?: number | string } | undefined)?.observedGeneration
  return observed !== undefined && Number(observed) >= (generation ?? 0)
}

/** The milestone `observed` of a kind with `observedGeneration`. */
export function observedMilestone(object: KubeObject, isDone = isObserved(object)): Milestone {
  const { generation } = object.metadata
  const name = generation === undefined ? 'it' : `generation ${generation}`
  if (!isDone) return { name: 'observed', state: 'open', message: `waiting for the controller to observe ${name}` }
  return { name: 'observed', state: 'done', message: generation === undefined ? 'observed' : `${name} observed` }
}

/** The milestone `observed` of a kind without `observedGeneration`. @param waiting the message while it is open */
export function observedMilestoneIf(isDone: boolean, waiting: string, message = 'observed'): Milestone {
  return isDone ? { name: 'observed', state: 'done', message } : { name: 'observed', state: 'open', message: waiting }
}

/**
 * Whether an observed generation is older than the generation of the object. A text is read as a number. A text that is
 * not a number never counts as older: some controllers write a hash.
 */
export function isStale(observed: unknown, generation = 0): boolean {
  return (typeof observed === 'number' || typeof observed === 'string') && Number(observed) < generation
}

/** Whether a condition describes the present generation, or has no `observedGeneration`. */
export function hasPresentGeneration({ observedGeneration }: Condition, { metadata }: KubeObject): boolean {
  return !isStale(observedGeneration, metadata.generation)
}

/** The valid conditions of an object that describe its present generation. */
export function presentConditions(object: KubeObject): readonly Condition[] {
  return conditionsOf(object).filter((each) => hasPresentGeneration(each, object))
}

/** Status fields that contain the generation that the status describes. */
const generationKeys =
  /^(?:observed|reconciled|processed|last(?:Observed|Evaluated|Reconciled|Processed|Handled|Applied)?)Generation$/
/** The same fields in the map `generations` of some controllers: `generations.reconciled`. */
const generationNames = /^(?:observed|reconciled)$/

function observedGenerations({ status }: KubeObject): readonly unknown[] {
  const fields = (status ?? {}) as Fields
  const valuesOf = (value: unknown, names: RegExp) =>
    Object.entries((value ?? {}) as Fields).flatMap(([key, each]) => (names.test(key) ? [each] : []))
  return [...valuesOf(fields, generationKeys), ...valuesOf(fields['generations'], generationNames)]
}

/** Whether a generation in the status is older than the generation of the object. */
export function isGenerationStale(object: KubeObject): boolean {
  return observedGenerations(object).some((observed) => isStale(observed, object.metadata.generation))
}

/** Whether the status describes an older generation of the object, or is older than the last reconcile request. */
export function isStatusStale(object: KubeObject): boolean {
  return isGenerationStale(object) || hasOpenRequest(object)
}

/** Matches the names of annotations that request an action: `reconcile-request`, `force-sync`, `forceAt`. */
const requestNames =
  /^(force|reconcile|refresh|re?sync|reset|restart|redeploy|trigger|request(?:ed)?)[-_]?(?:request(?:ed)?|sync|now|at|time|id|token)?$/i

/**
 * Whether an annotation requests a reconciliation that the controller has not handled yet. Most controllers copy the
 * value of the annotation to the status: Flux copies `reconcile.fluxcd.io/requestedAt` to `lastHandledReconcileAt`
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#triggering-a-reconcile). Always false if the status is
 * empty, because the kind may have no controller.
 */
export function hasOpenRequest({ status, metadata: { annotations } }: KubeObject): boolean {
  if (isEmpty(status)) return false
  return Object.entries(annotations ?? {}).some(([key, requested]) => {
    const [group = '', name = group] = key.split('/')
    const [, requestName = ''] = requestNames.exec(name) ?? []
    if (requestName === '') return false
    // `requestedAt` contains no action, but its group does: `reconcile.fluxcd.io`.
    const action = (/^request/i.test(requestName) && /reconcile|force/i.exec(group)?.[0]) || requestName
    const handled = Object.entries(status as Fields).find(
      ([field]) => /^last.*(?:handled|request)/i.test(field) && field.toLowerCase().includes(action.toLowerCase()),
    )
    // A controller may write no such field. Flux always writes the field: while it is missing, the request is open.
    return handled === undefined ? key === 'reconcile.fluxcd.io/requestedAt' : handled[1] !== requested
  })
}

/**
 * When a field manager last wrote an object or, if set, its subresource. From `managedFields`:
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
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
 * When the spec of an object was last written. Undefined if the kind has no status subresource, because then a write of
 * the status looks the same.
 * @returns milliseconds since the epoch on the runner's clock
 */
export function specWrittenAt(
  object: KubeObject,
  { time, declaresStatus }: Pick<GateTime, 'time'> & { declaresStatus(kind: KindName): boolean | undefined },
): number | undefined {
  return object.status !== undefined && declaresStatus(object) === false ? undefined : lastWrittenAt(object, time)
}

/** When the present version of an object began: by `Rule.changedAt`, else by the last write of its spec. */
export function versionChangedAt(
  object: KubeObject,
  { changedAt = specWrittenAt }: Pick<Rule, 'changedAt'>,
  reader: Reader,
): number | undefined {
  return changedAt(object, reader)
}

/**
 * When the spec of a custom resource was last written, in milliseconds since the epoch on the runner's clock. Not later
 * than the moment at which the gate first saw the spec.
 */
export function specChangedAt(custom: KubeObject, { time, history }: Reader): number {
  const { generation, creationTimestamp } = custom.metadata
  const writtenAt = generation === 1 ? time(creationTimestamp) : lastWrittenAt(custom, time)
  return Math.min(writtenAt ?? Infinity, history.specSeenAt)
}

/** Whether an object was created after the last write of the spec of a custom resource. */
export function isCreatedForPresentSpec({ metadata }: KubeObject, custom: KubeObject, reader: Reader): boolean {
  return (reader.time(metadata.creationTimestamp) ?? -Infinity) + timestampUnitMs > specChangedAt(custom, reader)
}

/** Whether the spec or metadata of an object was written since a moment. */
export function wasWrittenSince(object: KubeObject, since: number, { time }: Reader): boolean {
  const writtenAt = lastWrittenAt(object, time) ?? time(object.metadata.creationTimestamp) ?? -Infinity
  return writtenAt + timestampUnitMs > since
}

/**
 * Whether a condition describes the present spec, by its own generation. If only the status has the present generation,
 * the condition must be newer than the spec: for example, the controller of DeploymentConfigs writes
 * `status.observedGeneration` before it updates the condition.
 */
export function isAboutPresentSpec(object: KubeObject, condition: Condition, { time }: Reader): boolean {
  if (condition.observedGeneration !== undefined) return hasPresentGeneration(condition, object)
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: unknown }
  if (observedGeneration === undefined || isStale(observedGeneration, object.metadata.generation)) return false
  return (time(condition.lastTransitionTime) ?? Infinity) >= (lastWrittenAt(object, time) ?? -Infinity)
}

/** Since when all these conditions are True. Undefined if unknown, or if they are older than the spec. */
export function readySince(
  object: KubeObject,
  reader: Reader,
  conditions: Judgement['readyConditions'] = [],
): number | undefined {
  const at = latestIfAllKnown(conditions.map((each) => reader.time(each?.lastTransitionTime)))
  return at !== undefined && at >= (specWrittenAt(object, reader) ?? -Infinity) ? at : undefined
}

/** The sync periods of controllers that reconcile only at regular intervals, in milliseconds. */
const syncPeriodsMs: Readonly<Record<string, number>> = { 'autoscaling/HorizontalPodAutoscaler': autoscalerSyncMs }

/**
 * Until when the status of an object may be older than its spec. Many controllers do not write the generation of their
 * status: right after an apply, "Ready" may describe the previous spec. If the spec was written after the status, the
 * controller has its sync period, or the settle time, to update the status. This time starts at the write of the spec,
 * or earlier, when the gate first saw the present spec.
 * @param conditions the conditions that decided; an undefined entry is a part of the status that is not a condition
 * @param copiesOthers the controller may copy the state of other objects, such as a Deployment, before these objects
 * have observed the change. Then the status is stale until a state changes after the write of the spec.
 * @returns milliseconds since the epoch on the runner's clock; undefined if the status is not stale
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
  // A new object has no older status. An object without a generation is new if only its creation wrote the spec.
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
