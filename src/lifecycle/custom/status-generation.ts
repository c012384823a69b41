import type { Fields, KubeObject } from '../../cluster/objects.ts'
import { fieldsOf, isEmpty, isStale, observedGenerations } from '../conditions.ts'
import { tokensOf, words } from './status-vocabulary.ts'

/** Fields of a part that refers to another object: the generation in this part is that of the other object. */
const identities = ['name', 'uid', 'kind', 'type', 'resource'] as const

/** What an annotation may request. */
const verbs = words('reconcile refresh sync resync force reset restart redeploy trigger request')
/** The other words in the name of such an annotation: `requestedAt`, `reconcile-now`. */
const fillers = words('requested at time now token id')

/**
 * Whether the status is about an older generation of the object or of an object that it references, or is older than
 * the last request to reconcile.
 */
export function isStatusStale(object: KubeObject): boolean {
  return isGenerationStale(object) || isReferenceStale(object) || isRequestOpen(object)
}

/** Whether the generation in the status is older than the generation of the object. */
export function isGenerationStale(object: KubeObject): boolean {
  return observedGenerations(object).some((observed) => isStale(observed, object.metadata.generation))
}

/** Whether one of several reporters has not observed the generation: the pods of a webhook (`byPod`). */
export function isReporterStale({ status, metadata: { generation } }: KubeObject): boolean {
  return Object.values((status ?? {}) as Fields)
    .flatMap(fieldsOf)
    .some(
      (each) => isStale(each['observedGeneration'], generation) && identities.every((key) => each[key] === undefined),
    )
}

/** Argo Rollouts writes the generation of the Deployment that a Rollout references (`workloadRef`) in an annotation. */
export function isReferenceStale({ status, metadata: { annotations } }: KubeObject): boolean {
  const { workloadObservedGeneration } = (status ?? {}) as Fields
  return isStale(workloadObservedGeneration, Number(annotations?.['rollout.argoproj.io/workload-generation'] ?? 0))
}

/**
 * Whether an annotation requests a reconciliation that the status does not contain as handled. Most controllers that
 * support this copy the value of the annotation to the status, as Flux from `reconcile.fluxcd.io/requestedAt` to
 * `lastHandledReconcileAt` (https://fluxcd.io/flux/components/kustomize/kustomizations/#triggering-a-reconcile); others
 * write the time of their last reconciliation. If the status is empty, the kind may have no controller.
 */
export function isRequestOpen({ status, metadata: { annotations } }: KubeObject): boolean {
  if (isEmpty(status)) return false
  return Object.entries(annotations ?? {}).some(([key, requested]) => {
    const verb = requestedVerb(key)
    if (verb === undefined) return false
    const handled = Object.entries(status as Fields).find(
      ([field]) => field.startsWith('last') && tokensOf(field).some((token) => token.startsWith(verb)),
    )
    if (handled === undefined) return key === 'reconcile.fluxcd.io/requestedAt'
    return isOlder(handled, requested)
  })
}

/** The verb of a request, from its name, else from its domain: `reconcile.fluxcd.io/requestedAt` requests to reconcile. */
function requestedVerb(annotation: string): string | undefined {
  const [domain = '', name = ''] = annotation.includes('/') ? annotation.split('/') : ['', annotation]
  const tokens = tokensOf(name)
  if (tokens.length === 0 || !tokens.every((token) => verbs.has(token) || fillers.has(token))) return undefined
  const isVerb = (token: string) => verbs.has(token) && token !== 'request'
  const isRequest = tokens.some((token) => token.startsWith('request'))
  return (
    tokens.find(isVerb) ?? (isRequest ? (tokensOf(domain.split('.')[0] ?? '').find(isVerb) ?? 'request') : undefined)
  )
}

/**
 * Whether the handled request is older than the present one. Times are compared. Other values are compared only in
 * fields that copy the request.
 */
function isOlder([field, handled]: readonly [string, unknown], requested: string): boolean {
  if (handled === requested) return false
  const times = [handled, requested].map((each) =>
    typeof each === 'string' && /^\d{4}-\d\d-\d\dT/.test(each) ? Date.parse(each) : Number.NaN,
  )
  const [handledAt = Number.NaN, requestedAt = Number.NaN] = times
  if (!Number.isNaN(handledAt) && !Number.isNaN(requestedAt)) return handledAt < requestedAt
  return /handled|request/i.test(field)
}
