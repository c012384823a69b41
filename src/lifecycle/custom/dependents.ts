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
import { isCreatedForPresentSpec } from '../stale-status.ts'
import { observeTarget } from '../target-history.ts'

/** How the dependents of a custom resource (the objects that it owns or has applied) are found and judged. */
export interface DependentRules {
  readonly kinds: readonly KindName[]
  /** False if the operator is unknown. Then `kinds` are the kinds that most operators create. */
  readonly isKnown: boolean
  /** Whether the status of a kind lists the objects that its operator has applied; see `inventoryOf`. */
  hasInventory(kind: KindName): boolean
  /** `all`: objects of older revisions count too. By default, only objects of the present revision count. */
  readonly revisions?: 'present' | 'all'
  /** The label value that only the objects of the present revision have; undefined if unknown. */
  revisionOf?(object: KubeObject): string | undefined
  /** The custom resource runs pods as a Deployment does: a proven problem of a pod fails it. */
  readonly isWorkload: boolean
  /** Which owned workloads must be ready first: all, or those written after the spec. See `addOwnedWorkloadCheck`. */
  readonly awaitsWorkloads: 'all' | 'written' | 'none'
  /** How to find the object that the status describes; see `addFollowedObjectCheck`. */
  readonly follows?: HealthCheck['follows']
  /** The rule of a kind, and whether the kind is custom. The dependents of a custom object are dependents too. */
  ruleOf(kind: KindName): { readonly rule: Rule; readonly isCustom: boolean }
}

/** The kinds with many objects in a namespace. Each object belongs to one revision of its owner. */
export const revisionedKinds: ReadonlySet<string> = new Set(['Pod', 'ReplicaSet'])

/**
 * The watches that find the dependents of a custom resource.
 *
 * Pods are watched by the selector in the status. Without a selector, all pods and ReplicaSets of the namespace are
 * watched only if the kind is known to own them, because there may be thousands. The dependents of a cluster-scoped
 * object are in any namespace, so only known kinds with few objects are watched.
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
 * The watches of the objects that a custom resource names in its status and spec. Its author chooses these names, so a
 * named object counts only if the object refers back; see `hasReferenceTo`.
 */
function appliedRequests(
  object: KubeObject,
  { hasInventory }: Pick<DependentRules, 'hasInventory'>,
): readonly ObjectName[] {
  return [...(hasInventory(object) ? inventoryOf(object) : []), ...crossplaneReferences(object)].slice(0, maxApplied)
}

/**
 * The objects that a GitOps controller has applied, from the inventory in the status: `shop_web_apps_Deployment`
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory). These objects have no owner references.
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
 * The objects that a Crossplane resource refers to
 * (https://docs.crossplane.io/latest/composition/composite-resources/). A composite resource refers to composed objects
 * in its own namespace by `spec.crossplane.resourceRefs` (before version 2: `spec.resourceRefs`). A claim refers to its
 * cluster-scoped composite resource by `spec.resourceRef`.
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

/** The object name in these fields. Empty if `apiVersion`, `kind` or `name` is missing or not a text. */
export function objectNameFrom({ apiVersion, kind, name, namespace }: Fields): readonly ObjectName[] {
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  if (![apiVersion, kind, name].every(isText)) return []
  return [{ apiVersion, kind, name, ...(isText(namespace) ? { namespace } : {}) } as ObjectName]
}

/** Whether an object refers back to `owner`: by an owner reference, by Flux labels or, in Crossplane, by `claimRef`. */
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
 * Whether an object has the labels that Flux adds to applied objects, `kustomize.toolkit.fluxcd.io/name` and
 * `…/namespace` (https://github.com/fluxcd/pkg/blob/main/ssa/manager.go).
 */
function hasFluxLabels(
  { metadata: { labels = {} } }: KubeObject,
  { apiVersion, namespace, name }: ObjectName,
): boolean {
  const group = groupOf(apiVersion)
  return labels[`${group}/name`] === name && labels[`${group}/namespace`] === namespace
}

/**
 * Whether an object is labelled as deployed by this Flux or Argo CD object. Argo CD writes the annotation
 * `argocd.argoproj.io/tracking-id: APP:…` or an instance label with `APP`. `APP` is the name of the Application, or
 * `NAMESPACE_NAME` (https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/).
 */
export function hasDeployerMark(object: KubeObject, deployer: ObjectName): boolean {
  if (hasFluxLabels(object, deployer)) return true
  const { labels = {}, annotations = {} } = object.metadata
  const { namespace, name } = deployer
  const [tracked] = annotations['argocd.argoproj.io/tracking-id']?.split(':') ?? []
  const marks = [tracked, labels['app.kubernetes.io/instance'], labels['argocd.argoproj.io/instance']]
  return marks.some((mark) => mark === name || mark === `${namespace}_${name}`)
}

/** Whether an object has an owner reference to an owner in the same namespace or to a cluster-scoped owner. */
function isOwnedBy({ metadata }: KubeObject, { metadata: { uid, namespace } }: KubeObject): boolean {
  const isInScope = namespace === undefined || namespace === metadata.namespace
  return isInScope && (metadata.ownerReferences ?? []).some((each) => each.uid === uid)
}

/**
 * The members of an ApplySet, by the label that `kubectl apply --applyset` and kro write instead of an owner reference
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

/** Limits the length and characters of a selector in a status, because the selector is sent to the API server. */
const selectorPattern = /^[\w./=!, ()-]{1,500}$/

/**
 * The label selector for the pods in a status: `status.selector` or `status.labelSelector`
 * (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource).
 */
function statusSelector({ status }: KubeObject): string | undefined {
  const { selector, labelSelector } = (status ?? {}) as Fields
  return [selector, labelSelector].find(
    (each): each is string => typeof each === 'string' && selectorPattern.test(each),
  )
}

/**
 * Finds the objects that an object owns or has applied, except objects that are being deleted.
 * @param object the custom resource, or one of its dependents
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
 * Selects the objects of the present revision from objects of one kind. Without a revision label, these are the objects
 * that were created since the spec changed and those that are updated in place. If none was created since, all objects.
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
  if (created.length === 0) return objects
  // Controllers update objects of these kinds in place. For other kinds, they may create new objects instead.
  const updated = objects.filter(
    ({ apiVersion, kind }) => isBuiltIn(apiVersion) && !revisionedKinds.has(kind) && kind !== 'Job',
  )
  return [...created, ...updated]
}

/** An object that a custom resource owns or has applied. */
export interface Dependent {
  readonly object: KubeObject
  readonly rule: Rule
  readonly isCustom: boolean
  /** Lists the direct dependents; none if the kind is not custom. */
  dependents(): readonly Dependent[]
}

/** The maximum depth of dependents, because owner references may form a cycle. Chains of Knative have four objects. */
const maxDepth = 5

/** Lists the direct dependents of a custom resource. Requests their watches. */
export function listDependents(
  custom: KubeObject,
  dependentRules: DependentRules,
  reader: Reader,
): readonly Dependent[] {
  for (const request of dependentRequests(custom, dependentRules)) reader.watch(request)
  const listBelow = (owner: KubeObject, depth: number): readonly Dependent[] =>
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
          return listBelow(object, depth + 1)
        },
      }
    })
  return listBelow(custom, 1)
}

/** Lists the dependents of a custom resource, at any depth. Requests their watches. */
export function listAllDependents(
  custom: KubeObject,
  dependentRules: DependentRules,
  reader: Reader,
): readonly Dependent[] {
  const withAllDependents = (each: Dependent): readonly Dependent[] => [
    each,
    ...each.dependents().flatMap(withAllDependents),
  ]
  return listDependents(custom, dependentRules, reader).flatMap(withAllDependents)
}

/** Assesses an object that is not a target. Its history is unknown, so it counts as unchanged since its creation. */
export function assessNonTarget(object: KubeObject, rule: Rule, reader: Reader): Assessment {
  const since = reader.time(object.metadata.creationTimestamp) ?? reader.startedAt
  const history = observeTarget(undefined, object, since)
  return assess(rule, object, { ...reader, history })
}

/** A reader for objects that only explain a target. It requests their needed watches as `explaining`, and no others. */
export function explainingReader(reader: Reader, { ruleOf }: Pick<DependentRules, 'ruleOf'>): Reader {
  const watch: Reader['watch'] = (request, need = 'needed') =>
    need === 'needed' && ruleOf(request).rule !== existsRule
      ? reader.watch(request, 'explaining')
      : reader.listState(request)
  return { ...reader, ...createWatchFunctions(watch, reader) }
}

export function readerWithoutWatches(reader: Reader): Reader {
  return { ...reader, ...createWatchFunctions(reader.listState, reader) }
}

/** Whether the gate still waits for a pending `explaining` list: at most for `ownedListsMs` after a new spec. */
export function isWaitingForLists(reader: Reader): boolean {
  const { firstSeenAt, specSeenAt } = reader.history
  const isListing = reader.reads.requests.explaining.some((request) => reader.listState(request) === 'pending')
  return isListing && !reader.passed(Math.max(firstSeenAt, specSeenAt) + ownedListsMs)
}
