import type { Condition, KubeObject } from '../../cluster/objects.ts'
import { conditionsIn, conditionWords, isPresent, isStale } from '../conditions.ts'
import { fromCounts } from './counts.ts'
import { fromField } from './fields.ts'
import { readCondition } from './polarity.ts'
import { type Fields, isEmpty, listOf, type Say } from './signal.ts'
import { asWished, wishes } from './spec-suspension.ts'

/** The names under which controllers say which generation their status speaks of. */
const generationKeys = /^(?:observed|reconciled|last(?:Observed|Evaluated|Reconciled|Processed|Handled))Generation$/
/** The Gateway API's places for conditions of parts (GEP-713 and the Route, Gateway types). */
const conditionHolders = ['parents', 'ancestors', 'listeners'] as const
/** Kinds whose objects are a piece of work that ends. */
const work =
  /(?:Job|Run|Task|Workflow|Backup|Restore|Migration|Analysis|Experiment|Operation|Execution|Build|Test|Import|Export|Request|Transfer|Clone|Upload|Download)$/
/** Conditions by which an object tells that it is a piece of work. */
const workConditions = /(?:Completed?|Succeeded|Finished)$/

/** Everything that an object says of itself about its present generation, in the order in which it stands there. */
export function saysOf(object: KubeObject): readonly Say[] {
  const status = typeof object.status === 'string' ? { status: object.status } : ((object.status ?? {}) as Fields)
  const isWork = isPieceOfWork(object)
  return [
    ...wishes(object),
    ...conditionsOf(object).flatMap(({ condition, where }) => fromCondition(condition, where, isWork)),
    ...unacceptedBy(object),
    ...Object.entries(status)
      .flatMap(([key, value]) => fromField(key, value, isWork, status))
      .map((each) => asWished(each, object)),
    ...fromCounts(object),
  ]
}

/**
 * Whether what it says is about an older generation. Where neither the status nor its last word (Ready) names the
 * generation of today, a condition of an older one says that the controller has yet to come by.
 */
export function isUnobserved(object: KubeObject): boolean {
  if (isRequestOpen(object) || isReferenceStale(object)) return true
  const conditions = heldConditions(object).map(({ condition }) => condition)
  const ready = conditions.find((each) => each.type === 'Ready' && isPresent(each, object))
  // A condition's own generation wins over that of the status.
  if (isGenerationStale(object)) return ready?.observedGeneration === undefined
  const stale = conditions.filter((each) => !isPresent(each, object) && readCondition(each) !== undefined)
  return stale.length > 0 && ready === undefined
}

/**
 * Whether its status says itself that it is about an older generation, of the object or of one that it refers to, or that
 * it is older than the last request to reconcile.
 */
export function isStatusStale(object: KubeObject): boolean {
  return isGenerationStale(object) || isReferenceStale(object) || isRequestOpen(object)
}

function isGenerationStale({ status, metadata: { generation } }: KubeObject): boolean {
  return Object.entries((status ?? {}) as Fields).some(
    ([key, value]) => generationKeys.test(key) && isStale(value, generation),
  )
}

/** Argo Rollouts name the generation of the Deployment that a Rollout refers to (`workloadRef`) in an annotation. */
function isReferenceStale({ status, metadata: { annotations } }: KubeObject): boolean {
  const { workloadObservedGeneration } = (status ?? {}) as Fields
  return isStale(workloadObservedGeneration, Number(annotations?.['rollout.argoproj.io/workload-generation'] ?? 0))
}

/**
 * Flux: `flux reconcile` writes the moment of its request into an annotation, and the controller repeats it in the status
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#triggering-a-reconcile). An empty status is that of a kind
 * that no controller acts on.
 */
function isRequestOpen({ status, metadata: { annotations } }: KubeObject): boolean {
  const requested = annotations?.['reconcile.fluxcd.io/requestedAt']
  if (requested === undefined || isEmpty(status)) return false
  const { lastHandledReconcileAt: handled } = status as Fields
  return handled !== requested && !(Date.parse(requested) <= Date.parse(String(handled)))
}

/** Whether its status names the generation that it speaks of. */
export function namesGeneration({ status }: KubeObject): boolean {
  return Object.keys((status ?? {}) as Fields).some((key) => generationKeys.test(key))
}

/** Whether its status holds nothing at all, but for empty lists and the like: nobody has written it yet. */
export function isSilent({ status }: KubeObject): boolean {
  return isEmpty(status)
}

function isPieceOfWork(object: KubeObject): boolean {
  return (
    work.test(object.kind) ||
    conditionsOf(object).some(({ condition: { type, status } }) => workConditions.test(type) && status !== 'True')
  )
}

function conditionsOf(object: KubeObject): readonly HeldCondition[] {
  return heldConditions(object).filter(({ condition }) => isPresent(condition, object))
}

interface HeldCondition {
  readonly condition: Condition
  /** Of which part it is: `listener http: `; empty for the object's own. */
  readonly where: string
}

function heldConditions(object: KubeObject): readonly HeldCondition[] {
  const status = (object.status ?? {}) as Fields
  const own = conditionsIn(listed(status['conditions'])).map((condition) => ({ condition, where: '' }))
  const held = conditionHolders.flatMap((holder) =>
    listOf(status[holder]).flatMap((each) => {
      const { conditions, name } = (each ?? {}) as Fields
      const where = `${holder.slice(0, -1)}${typeof name === 'string' ? ` ${name}` : ''}: `
      return conditionsIn(conditions).map((condition) => ({ condition, where }))
    }),
  )
  return [...own, ...held]
}

/** Conditions as a list, also where they are a map by their types: `{Ready: {status: 'True'}}`, `{Ready: 'True'}`. */
function listed(conditions: unknown): unknown {
  if (typeof conditions !== 'object' || conditions === null || Array.isArray(conditions)) return conditions
  return Object.entries(conditions).map(([type, value]) =>
    typeof value === 'object' && value !== null ? { ...value, type } : { type, status: value },
  )
}

/** The Gateway API's parents and ancestors have each to say whether they accept the object. */
function unacceptedBy({ status }: KubeObject): readonly Say[] {
  return (['parents', 'ancestors'] as const).flatMap((holder) => {
    const silent = listOf(((status ?? {}) as Fields)[holder]).some(
      (each) => !conditionsIn(((each ?? {}) as Fields)['conditions']).some(({ type }) => type === 'Accepted'),
    )
    const text = `one of its ${holder} has not accepted it yet`
    return silent ? [{ meaning: 'progressing', weight: 'accepted', key: `${holder}=`, text }] : []
  })
}

function fromCondition(condition: Condition, where: string, isWork: boolean): readonly Say[] {
  const reading = readCondition(condition, isWork)
  if (reading === undefined) return []
  const weight = where !== '' && reading.weight !== 'accepted' ? 'part' : reading.weight
  const key = `${where}${condition.type}=${condition.status}`
  return [{ ...reading, weight, key, text: `${where}${conditionWords(condition)}`, condition }]
}
