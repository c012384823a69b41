import { isDeepStrictEqual } from 'node:util'
import type { WatchRequest } from '../../cluster/feed.ts'
import { type Fields, groupOf, type KindName, type KubeObject, type ObjectName } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import { isBuiltIn } from '../../plan/kinds.ts'
import { maxApplied, ownedListsMs } from '../../thresholds.ts'
import { assess } from '../assess.ts'
import type { Assessment } from '../assessment.ts'
import { objectsIn } from '../conditions.ts'
import { existsRule } from '../platform/condition-kinds.ts'
import { createWatchFunctions, type Reader } from '../reader.ts'
import type { Rule } from '../rule.ts'
import { isCreatedForPresentSpec } from '../status-age.ts'
import { observeTarget } from '../target-history.ts'

/** How the objects behind a custom resource are found and judged: what the resource owns or has applied. */
export interface DependentRules {
  /** The kinds of the objects that the custom resource owns. */
  readonly kinds: readonly KindName[]
  /** False if the operator is unknown: the kinds are those that most operators create. */
  readonly isKnown: boolean
  /** Whether the operator of a kind lists in the status what it has applied; see `inventoryOf`. */
  hasInventory(kind: KindName): boolean
  /** `all`: objects of older revisions count too. By default, only those of the present revision do. */
  readonly revisions?: 'present' | 'all'
  /** The value of a label that only the objects of the present revision have; undefined if unknown. */
  revisionOf?(object: KubeObject): string | undefined
  /** The custom resource runs pods as a Deployment does: a proven problem of a pod fails it. */
  readonly isWorkload: boolean
  /** Which workloads must be ready first: all, or those written since the spec; see `addOwnedWorkloadCheck`. */
  readonly awaitsWorkloads: 'all' | 'written' | 'none'
  /** The object that its status is about; see `addFollowedObjectCheck`. */
  readonly follows?: HealthCheck['follows']
  /** The rule of an object, and whether its kind is a custom kind. What a custom object owns is behind it too. */
  ruleOf(kind: KindName): { readonly rule: Rule; readonly isCustom: boolean }
}

/** Kinds with many objects in a namespace, each of one revision of its owner. */
export const revisionedKinds: ReadonlySet<string> = new Set(['Pod', 'ReplicaSet'])

/**
 * The watches that find the objects behind a custom resource, without those that its owned workloads need.
 *
 * Pods are watched by the selector in its status. A namespace may have thousands of pods and ReplicaSets: all of them
 * are watched only for a kind that is known to own them. Otherwise the selectors of the owned workloads find the pods.
 * A cluster-scoped object owns objects in any namespace: only known kinds with few objects are watched for it.
 */
export function dependentRequests(object: KubeObject, dependentRules: DependentRules): readonly WatchRequest[] {
  const { kinds, isKnown } = dependentRules
  const { namespace } = object.metadata
  const labelSelector = statusSelector(object)
  const owned = kinds.flatMap((kind) => {
    if (kind.kind === 'Pod' && namespace && labelSelector !== undefined) return [{ ...kind, namespace, labelSelector }]
    const isWatched = revisionedKinds.has(kind.kind) ? isKnown && namespace !== undefined : isKnown || namespace
    return isWatched ? [{ ...kind, namespace }] : []
  })
  return [...owned, ...appliedRequests(object, dependentRules)]
}

/**
 * The watches of the objects that an object names in its status and spec. The author of the object chooses these names,
 * so a named object is used only if it refers back; see `hasReferenceTo`.
 */
function appliedRequests(
  object: KubeObject,
  { hasInventory }: Pick<DependentRules, 'hasInventory'>,
): readonly ObjectName[] {
  return [...(hasInventory(object) ? inventoryOf(object) : []), ...crossplaneReferences(object)].slice(0, maxApplied)
}

/**
 * The objects that a GitOps controller has applied, by the inventory in its status: `shop_web_apps_Deployment`
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory). They have no owner references, and may be in
 * other namespaces.
 */
export function inventoryOf({ status }: KubeObject): readonly ObjectName[] {
  const { inventory } = (status ?? {}) as { inventory?: { entries?: unknown } | null }
  return objectsIn(inventory?.entries).flatMap(({ id, v }) => {
    const [namespace, ...rest] = typeof id === 'string' ? id.split('_') : []
    const [group, kind] = rest.splice(-2)
    return objectNameFrom({ apiVersion: group ? `${group}/${v}` : v, kind, name: rest.join('_'), namespace })
  })
}

/**
 * The objects of Crossplane that an object refers to
 * (https://docs.crossplane.io/latest/composition/composite-resources/): those that a composite resource composes
 * (`spec.crossplane.resourceRefs`; before version 2 `spec.resourceRefs`), and the composite resource of a claim. A
 * composite resource in a namespace composes only objects of this namespace. The composite resource of a claim has no
 * namespace. A name in the wrong scope for its kind names nothing; see `Cluster.watch`.
 */
function crossplaneReferences({ spec, metadata }: KubeObject): readonly ObjectName[] {
  const { crossplane, resourceRefs, resourceRef } = (spec ?? {}) as Fields
  const nested = objectsIn([crossplane]).flatMap((each) => objectsIn(each['resourceRefs']))
  const composed = [...nested, ...objectsIn(resourceRefs)].filter(
    ({ namespace = metadata.namespace }) => metadata.namespace === undefined || namespace === metadata.namespace,
  )
  return [
    ...composed.map((each) => ({ namespace: metadata.namespace, ...each })),
    ...objectsIn([resourceRef]).filter(({ namespace }) => namespace === undefined),
  ].flatMap(objectNameFrom)
}

/** The name of an object, by these fields of another one; empty if one that each object has is missing or no text. */
export function objectNameFrom({ apiVersion, kind, name, namespace }: Fields): readonly ObjectName[] {
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  if (![apiVersion, kind, name].every(isText)) return []
  return [{ apiVersion, kind, name, ...(isText(namespace) ? { namespace } : {}) } as ObjectName]
}

/**
 * Whether a named object refers back to `owner`: by an owner reference, by the labels of an operator, or, for the
 * composite resource of a claim, by `spec.claimRef`.
 */
function hasReferenceTo(named: KubeObject, owner: KubeObject): boolean {
  const { apiVersion, kind, metadata } = owner
  const { name, namespace } = metadata
  if (isOwnedBy(named, owner) || hasFluxLabels(named, { apiVersion, kind, name, namespace })) return true
  return (
    named.metadata.namespace === undefined &&
    objectsIn([(named.spec as Fields | undefined)?.['claimRef']]).some(
      ({ apiVersion: version, ...claim }) =>
        isDeepStrictEqual(claim, { kind, name, namespace }) && groupOf(String(version)) === groupOf(apiVersion),
    )
  )
}

/**
 * Whether an object has the labels that Flux gives what it applies, `kustomize.toolkit.fluxcd.io/name` and `…/namespace`
 * (https://github.com/fluxcd/pkg/blob/main/ssa/manager.go).
 */
function hasFluxLabels(
  { metadata: { labels = {} } }: KubeObject,
  { apiVersion, namespace, name }: ObjectName,
): boolean {
  const group = groupOf(apiVersion)
  return labels[`${group}/name`] === name && labels[`${group}/namespace`] === namespace
}

/**
 * Whether an object has the mark of the GitOps operator that deploys it: the labels of Flux, or of Argo CD the
 * annotation `argocd.argoproj.io/tracking-id: APP:…` or an instance label with `APP`. For an application outside of
 * Argo CD's own namespace, `APP` is `NAMESPACE_NAME`
 * (https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/).
 */
export function hasDeployerMark(object: KubeObject, deployer: ObjectName): boolean {
  if (hasFluxLabels(object, deployer)) return true
  const { labels = {}, annotations = {} } = object.metadata
  const { namespace, name } = deployer
  const [tracked] = annotations['argocd.argoproj.io/tracking-id']?.split(':') ?? []
  const marks = [tracked, labels['app.kubernetes.io/instance'], labels['argocd.argoproj.io/instance']]
  return marks.some((mark) => mark === name || mark === `${namespace}_${name}`)
}

/** Whether an object has an owner reference to another one that is in the same namespace or cluster-scoped. */
function isOwnedBy({ metadata }: KubeObject, { metadata: { uid, namespace } }: KubeObject): boolean {
  const isInScope = namespace === undefined || namespace === metadata.namespace
  return isInScope && (metadata.ownerReferences ?? []).some((each) => each.uid === uid)
}

/**
 * The members of an ApplySet whose parent is the object, in its namespace. Tools such as `kubectl apply --applyset` and
 * kro give members a label instead of an owner reference
 * (https://github.com/kubernetes/enhancements/tree/master/keps/sig-cli/3659-kubectl-apply-prune#applyset-identification).
 */
function applySetMembers({ metadata }: KubeObject, reader: Reader): readonly KubeObject[] {
  const id = metadata.labels?.['applyset.kubernetes.io/id']
  if (id === undefined) return []
  const kinds = metadata.annotations?.['applyset.kubernetes.io/contains-group-kinds'] ?? ''
  return kinds.split(',').flatMap((each) => {
    const [kind = '', ...group] = each.split('.')
    return reader.listKnown(
      { apiVersion: `${group.join('.')}/`, kind, namespace: metadata.namespace },
      (member) =>
        groupOf(member.apiVersion) === group.join('.') &&
        member.metadata.labels?.['applyset.kubernetes.io/part-of'] === id,
    )
  })
}

/** A label selector with a bounded length and safe characters, because it is sent to the server. */
const selectorPattern = /^[\w./=!, ()-]{1,500}$/

/**
 * The label selector that the status of an object contains for its pods: `status.selector` or `status.labelSelector` of
 * the subresource `scale`
 * (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource).
 */
function statusSelector({ status }: KubeObject): string | undefined {
  const { selector, labelSelector } = (status ?? {}) as Fields
  return [selector, labelSelector].find(
    (each): each is string => typeof each === 'string' && selectorPattern.test(each),
  )
}

/**
 * The objects directly behind an object: those that it owns or has applied. An object in another namespace is behind an
 * object without a namespace, or in its inventory. Objects that are being deleted are excluded.
 * @param object the custom resource, or an object that it owns
 */
function findDirectDependents(
  object: KubeObject,
  custom: KubeObject,
  reader: Reader,
  dependentRules: Pick<DependentRules, 'hasInventory' | 'revisionOf' | 'revisions'>,
): readonly KubeObject[] {
  const owned = reader.listKnownOwned(object.metadata.uid).filter((each) => isOwnedBy(each, object))
  const applied = appliedRequests(object, dependentRules).flatMap((request) =>
    reader.listKnown(request, (each) => hasReferenceTo(each, object)),
  )
  const present = [...new Set([...owned, ...applied, ...applySetMembers(object, reader)])].filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  )
  if (dependentRules.revisions === 'all') return present
  const revision = dependentRules.revisionOf?.(custom)
  const byKind = Map.groupBy(present, ({ kind }) => kind)
  const ofPresent = [...byKind.values()].flatMap((objects) => selectPresentRevision(objects, custom, reader, revision))
  const kept = new Set(ofPresent)
  return present.filter((each) => kept.has(each))
}

/**
 * The objects of the present revision among objects of one kind: those with the label of the revision; else those that
 * were created since the spec changed, or are updated in place. If none was created since, all objects.
 */
function selectPresentRevision(
  objects: readonly KubeObject[],
  custom: KubeObject,
  reader: Reader,
  revision: string | undefined,
): readonly KubeObject[] {
  if (revision !== undefined) {
    const labelled = objects.filter(({ metadata }) => Object.values(metadata.labels ?? {}).includes(revision))
    if (labelled.length > 0 || objects.some(({ kind }) => revisionedKinds.has(kind))) return labelled
  }
  const created = objects.filter((each) => isCreatedForPresentSpec(each, custom, reader))
  return created.length === 0 ? objects : [...created, ...objects.filter(isUpdatedInPlace)]
}

/** Whether controllers update an object of this kind in place. For many other kinds, they create a new one instead. */
function isUpdatedInPlace({ apiVersion, kind }: KubeObject): boolean {
  return isBuiltIn(apiVersion) && !revisionedKinds.has(kind) && kind !== 'Job'
}

/** An object behind a custom resource. */
export interface Dependent {
  readonly object: KubeObject
  readonly rule: Rule
  readonly isCustom: boolean
  /** The objects directly behind it; none if its kind is no custom kind. */
  dependents(): readonly Dependent[]
}

/**
 * The maximum number of objects from a custom resource to one behind it: owner references may form a cycle. The deepest
 * usual chain: Service → Configuration → Revision → Deployment.
 */
const maxDepth = 5

/** The objects directly behind a custom resource, each with the objects behind it. Asks for their watches. */
export function listDependents(
  custom: KubeObject,
  dependentRules: DependentRules,
  reader: Reader,
): readonly Dependent[] {
  for (const request of dependentRequests(custom, dependentRules)) reader.watch(request)
  const below = (owner: KubeObject, depth: number): readonly Dependent[] =>
    findDirectDependents(owner, custom, reader, dependentRules).map((object) => {
      const { rule, isCustom } = dependentRules.ruleOf(object)
      const isEntered = isCustom && depth < maxDepth
      return {
        object,
        rule,
        isCustom,
        dependents: () => {
          if (!isEntered) return []
          for (const request of appliedRequests(object, dependentRules)) reader.watch(request)
          return below(object, depth + 1)
        },
      }
    })
  return below(custom, 1)
}

/** The objects behind a custom resource, at any depth. */
export function listAllDependents(
  custom: KubeObject,
  dependentRules: DependentRules,
  reader: Reader,
): readonly Dependent[] {
  const withDeeper = (each: Dependent): readonly Dependent[] => [each, ...each.dependents().flatMap(withDeeper)]
  return listDependents(custom, dependentRules, reader).flatMap(withDeeper)
}

/** Assesses an object that is no target. Its history is unknown, so it counts as unchanged since its creation. */
export function assessNonTarget(object: KubeObject, rule: Rule, reader: Reader): Assessment {
  const since = reader.time(object.metadata.creationTimestamp) ?? reader.startedAt
  const history = observeTarget(undefined, object, since)
  return assess(rule, object, { ...reader, history })
}

/**
 * A reader for objects that only explain a target. Only the lists that their rules need are watched, as `explaining`;
 * those of kinds that are ready once they exist are not.
 */
export function explainingReader(reader: Reader, { ruleOf }: Pick<DependentRules, 'ruleOf'>): Reader {
  const watch: Reader['watch'] = (request, need = 'needed') =>
    need === 'needed' && ruleOf(request).rule !== existsRule
      ? reader.watch(request, 'explaining')
      : reader.listState(request)
  return { ...reader, ...createWatchFunctions(watch, reader) }
}

/** A reader for an assessment that asks for no watch. */
export function readerWithoutWatches(reader: Reader): Reader {
  return { ...reader, ...createWatchFunctions(reader.listState, reader) }
}

/** Whether the gate waits for a pending list that only explains: at most for `ownedListsMs` after a new spec. */
export function isWaitingForLists(reader: Reader): boolean {
  const { firstSeenAt, specSeenAt } = reader.history
  const isListing = reader.reads.requests.explaining.some((request) => reader.listState(request) === 'pending')
  return isListing && !reader.passed(Math.max(firstSeenAt, specSeenAt) + ownedListsMs)
}
