import { type ApiResource, helmRevisions, kindNameOf } from '../cluster/feed.ts'
import { type EventObject, groupOf, isOfKind, type KindName, type KubeObject } from '../cluster/objects.ts'
import { duration } from '../duration.ts'
import type { ExpectedImages } from '../inputs.ts'
import { findEntry, type HealthCheck } from '../plan/health-checks.ts'
import { isBuiltIn } from '../plan/kinds.ts'
import { isDeletionAwaited, type Target } from '../plan/target.ts'
import { addressMovesMs, autoscalerSyncMs } from '../thresholds.ts'
import { addCauseCheck } from './custom/cause.ts'
import type { DependentRules } from './custom/dependents.ts'
import { addFollowedObjectCheck } from './custom/followed-object.ts'
import { genericRule } from './custom/generic.ts'
import { healthCheckRule, milestonesWithStages } from './custom/health-check.ts'
import { addOwnedWorkloadCheck, servingByDependents, servingByKindRule } from './custom/owned-workloads.ts'
import { addRevisionCheck } from './custom/revision.ts'
import { progressStates } from './custom/status.ts'
import { waitForRule } from './custom/wait-for.ts'
import { addImageCheck } from './expected-images.ts'
import { gatewayRule, routeRule } from './network/gateway.ts'
import { ingressRule } from './network/ingress.ts'
import { serviceRule } from './network/service.ts'
import {
  apiServiceRule,
  crdRule,
  csrRule,
  existsRule,
  hpaRule,
  pdbRule,
  resourceQuotaRule,
} from './platform/condition-kinds.ts'
import { helmRevisionRule } from './platform/helm-revision.ts'
import { pvcRule } from './platform/pvc.ts'
import { commonMilestones, type Rule } from './rule.ts'
import { daemonSetRule } from './workloads/daemonset.ts'
import { deploymentRule } from './workloads/deployment.ts'
import { jobRule, lastStateOfJob } from './workloads/job.ts'
import { podRule } from './workloads/pod.ts'
import { replicaSetRule } from './workloads/replicaset.ts'
import { statefulSetRule } from './workloads/statefulset.ts'

/* Finds the rule of a kind and of a target. */

/** A kind with its own rule, and a sentence about the rule for the documentation. */
interface KnownKind extends KindName {
  readonly rule: Rule
  /** For the documentation: completes "It is ready when …". */
  readonly readyWhen: string
  /** The kinds of the objects that this kind owns or selects. `trace` shows these objects too. */
  readonly dependentKinds?: readonly KindName[]
}

const pods: KindName = { apiVersion: 'v1', kind: 'Pod' }
const replicaSets: KindName = { apiVersion: 'apps/v1', kind: 'ReplicaSet' }
const jobs: KindName = { apiVersion: 'batch/v1', kind: 'Job' }

/** The routes of the Gateway API. Their statuses have the same form. */
const routes = [
  ['v1', 'HTTPRoute'],
  ['v1', 'GRPCRoute'],
  ['v1alpha2', 'TLSRoute'],
  ['v1alpha2', 'TCPRoute'],
  ['v1alpha2', 'UDPRoute'],
] as const

export const knownKinds: readonly KnownKind[] = [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    rule: deploymentRule,
    dependentKinds: [replicaSets, pods],
    readyWhen:
      'the present generation is observed, all replicas are of the new revision and available, no active pod of an older one and none more than wanted is left (terminating pods do not count and are reported), and its pods have settled',
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    rule: statefulSetRule,
    dependentKinds: [pods],
    readyWhen:
      'the present generation is observed, all replicas are ready, those from the partition on are updated, and they have settled; with OnDelete, all existing pods are ready',
  },
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    rule: daemonSetRule,
    dependentKinds: [pods],
    readyWhen:
      'the present generation is observed and the pods of all its nodes are updated, available and settled; nodes that are not ready, cordoned, gone, just joined or have a taint that its pods do not tolerate are reported, not awaited; with OnDelete, all existing pods are ready',
  },
  {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    rule: replicaSetRule,
    dependentKinds: [pods],
    readyWhen: 'the present generation is observed, and all replicas are available and settled',
  },
  {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    rule: replicaSetRule,
    dependentKinds: [pods],
    readyWhen: 'the present generation is observed, and all replicas are available and settled',
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    rule: podRule,
    dependentKinds: [],
    readyWhen: 'it runs, is Ready and has settled, or it has succeeded',
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    rule: jobRule,
    dependentKinds: [pods],
    readyWhen: 'Complete is True',
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    rule: existsRule,
    dependentKinds: [jobs, pods],
    readyWhen: 'it exists',
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    rule: serviceRule,
    dependentKinds: [pods, { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' }],
    readyWhen: `each port has a ready endpoint whose pod matches the present selector and port, has settled and, where a gated workload owns it, is of the new revision; or no pod matches the selector and every workload behind it is scaled to zero; a LoadBalancer also has its address, and for ${duration(addressMovesMs)} after a request of another one, that one; headless, ExternalName and selectorless Services are ready at once`,
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    rule: pvcRule,
    readyWhen:
      'it is Bound, or waits for its first consumer (WaitForFirstConsumer), nothing uses it and it names no volume',
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    rule: ingressRule,
    readyWhen:
      'the Services and ports of its backends exist and are not being deleted; a missing address is reported, not awaited, and so are a missing IngressClass and missing TLS Secrets',
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    rule: gatewayRule,
    readyWhen:
      'its controller reports Accepted and Programmed for the present generation, and nothing bad about any listener; a missing address is reported, not awaited',
  },
  ...routes.map(([version, kind]) => ({
    apiVersion: `gateway.networking.k8s.io/${version}`,
    kind,
    rule: routeRule,
    readyWhen:
      'every parent that it names accepts the present generation, with all references resolved and no rule left out; if its controller reports nothing about references, the Services and ports of its backends exist',
  })),
  {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    rule: hpaRule,
    readyWhen: `it is able to scale and reads its metric, or is disabled by zero replicas; after a change, its controller has ${duration(autoscalerSyncMs)} to reconcile`,
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    rule: pdbRule,
    readyWhen: 'its controller has observed the present generation',
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    rule: crdRule,
    readyWhen: 'it is Established',
  },
  {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    rule: apiServiceRule,
    readyWhen: 'it is Available',
  },
  {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    rule: csrRule,
    readyWhen: 'it is approved, and its certificate is issued',
  },
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    rule: existsRule,
    readyWhen: 'it exists and is not being deleted',
  },
  {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    rule: resourceQuotaRule,
    readyWhen: 'its limits are enforced: its status contains them',
  },
]

const byKey = new Map<string, Pick<KnownKind, 'rule' | 'dependentKinds'>>([
  ...knownKinds.map((known) => [groupKindKey(known), known] as const),
  // The API group of Ingress before `networking.k8s.io` (Kubernetes 1.14).
  ['extensions/Ingress', { rule: ingressRule }],
  [groupKindKey(helmRevisions), { rule: helmRevisionRule, dependentKinds: [] }],
])

/** Built-in kinds that are ready once they exist, by group and kind. */
export const kindsReadyOnceCreated: ReadonlySet<string> = new Set([
  '/ConfigMap',
  '/Secret',
  '/ServiceAccount',
  '/LimitRange',
  '/Endpoints',
  'discovery.k8s.io/EndpointSlice',
  'networking.k8s.io/NetworkPolicy',
  'networking.k8s.io/IngressClass',
  'rbac.authorization.k8s.io/Role',
  'rbac.authorization.k8s.io/RoleBinding',
  'rbac.authorization.k8s.io/ClusterRole',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/StorageClass',
])

/** The rule of a kind in any API version: its own rule, else the generic rule. */
export function ruleOf(kind: KindName): Rule {
  const key = groupKindKey(kind)
  return byKey.get(key)?.rule ?? (kindsReadyOnceCreated.has(key) ? existsRule : genericRule)
}

/** The last state of a deleted Job, by its events. Undefined for other kinds, or if the events do not show its end. */
export function lastStateOfDeleted(object: KubeObject, events: readonly EventObject[]): KubeObject | undefined {
  return isOfKind(object, 'Job') && ruleOf(object) === jobRule ? lastStateOfJob(object, events) : undefined
}

/** The states in a status that show progress. Empty with `--for`, and for kinds with their own rule. */
export function progressStatesOf({ waitFor }: Pick<Target, 'waitFor'>, object: KubeObject): readonly string[] {
  return waitFor === undefined && ruleOf(object) === genericRule ? progressStates(object) : []
}

/** Whether the objects of a kind are pods or run pods, so that logs can be shown. */
export function hasPods(kind: KindName): boolean {
  return ruleOf(kind).changedAt !== undefined
}

/** Whether an object of a kind must meet criteria to be ready. Other kinds are ready once they exist. */
export function hasReadinessCriteria(kind: KindName): boolean {
  return byKey.has(groupKindKey(kind)) || !isBuiltIn(kind.apiVersion)
}

export function milestonesOf(kind: KindName): readonly string[] {
  return ruleOf(kind).milestones
}

/**
 * Loads the milestones that health checks of the user or the catalogue add to kinds.
 * @param written the names in the user's input: if all are common milestones, the catalogue is not read
 * @param resources the kinds that the cluster serves
 * @returns a function that returns the names of a kind's milestones
 */
export async function loadMilestoneNames(
  written: readonly string[],
  resources: readonly ApiResource[],
  healthChecks: readonly HealthCheck[],
): Promise<typeof milestonesOf> {
  if (written.every((name) => commonMilestones.some((common) => common === name))) return milestonesOf
  const { findEntries } = await importCatalogue()
  const found = await findEntries(resources.map(kindNameOf))
  const staged = new Map(found.map(({ kind, entry }) => [groupKindKey(kind), milestonesWithStages(entry.milestones)]))
  return (kind) => {
    const check = findEntry(kind, healthChecks)
    return check === undefined
      ? (staged.get(groupKindKey(kind)) ?? milestonesOf(kind))
      : milestonesWithStages(check.milestones)
  }
}

/** Imports the catalogue of operators only if it is needed: a gate of built-in kinds starts faster. */
const importCatalogue = () => import('./custom/catalogue.ts')

/** The kinds that the custom resources of most operators own. */
const workloads: readonly KindName[] = [
  ...['Deployment', 'StatefulSet', 'DaemonSet'].map((kind) => ({ apiVersion: 'apps/v1', kind })),
  replicaSets,
  jobs,
  pods,
]

/** The checks that decide about a target besides the rule of its kind. */
export interface TargetChecks {
  readonly healthChecks?: readonly HealthCheck[]
  /** The catalogue entries for the kinds of the targets, and for the kinds that these kinds own. */
  readonly catalogue?: readonly HealthCheck[]
  readonly expectImages?: ExpectedImages
}

/**
 * The kinds that an object of this kind owns or selects. The first source with this kind decides: `knownKinds`, the
 * user's health check, then the catalogue. For other custom kinds, the kinds that most operators own.
 */
export function dependentKindsOf(
  kind: KindName,
  { healthChecks = [], catalogue = [] }: TargetChecks = {},
): Pick<DependentRules, 'kinds' | 'isKnown'> {
  const entry = findEntry(kind, catalogue)
  const { dependentKinds = findEntry(kind, healthChecks)?.owns ?? (entry && (entry.owns ?? [])) } =
    byKey.get(groupKindKey(kind)) ?? {}
  if (dependentKinds !== undefined) return { kinds: dependentKinds, isKnown: true }
  return { kinds: isBuiltIn(kind.apiVersion) ? [] : workloads, isKnown: false }
}

/**
 * The rule of a target: its `--for`, else the rule of its kind. For a custom resource, checks are added that read its
 * dependents, to explain why the custom resource is not ready.
 */
export function targetRule(target: Target, checks: TargetChecks = {}): Rule {
  const { waitFor } = target
  const rule =
    waitFor === undefined
      ? kindRule(target, checks)
      : waitForRule(waitFor, (object) => lastStateOfDeleted(object, []) !== undefined)
  const isExplained = isCustomKind(target, checks) && !isDeletionAwaited(target)
  const dependentRules = dependentRulesOf(target, checks)
  // `--for` and a health check do not find the pods, but the rule of the kind does.
  const needsNoPods = rule.serving !== undefined || isDeletionAwaited(target)
  const ofKind = needsNoPods ? undefined : servingByKindRule(ruleOf(target))
  const serving = isExplained ? servingByDependents(dependentRules) : ofKind
  const own = isExplained
    ? addFollowedObjectCheck(addCauseCheck(addOwnedWorkloadCheck(rule, dependentRules), dependentRules), dependentRules)
    : rule
  const explained = { ...own, ...(serving && { serving }) }
  const awaited = target.revisions === undefined ? explained : addRevisionCheck(explained, target, hasReadinessCriteria)
  const { changedAt } = ruleOf(target)
  return addImageCheck({ ...awaited, ...(changedAt && { changedAt }) }, checks.expectImages ?? {})
}

/**
 * Loads the catalogue entries for the kinds of these targets, and for the kinds that these kinds own. If a target
 * awaits a revision, loads the entries of all kinds, because its operator may deploy any kind.
 * @param resources the kinds that the cluster serves
 */
export async function loadChecks(
  targets: readonly Target[],
  resources: readonly ApiResource[],
): Promise<Pick<TargetChecks, 'catalogue'>> {
  const deployed = targets.some(({ revisions }) => revisions !== undefined) ? resources.map(kindNameOf) : []
  const custom = [...targets, ...deployed].filter(({ apiVersion }) => !isBuiltIn(apiVersion))
  return { catalogue: custom.length === 0 ? [] : await (await importCatalogue()).loadCatalogue(custom) }
}

/** The rule of a kind: the user's health check, else the catalogue entry, else `ruleOf`. */
export function kindRule(kind: KindName, checks: TargetChecks = {}): Rule {
  const check = findHealthCheck(kind, checks)
  return check === undefined ? ruleOf(kind) : healthCheckRule(check)
}

function findHealthCheck(kind: KindName, { healthChecks = [], catalogue = [] }: TargetChecks): HealthCheck | undefined {
  return findEntry(kind, healthChecks) ?? findEntry(kind, catalogue)
}

/** Whether a kind is not built in and uses the generic rule or a health check. */
function isCustomKind(kind: KindName, checks: TargetChecks): boolean {
  return !isBuiltIn(kind.apiVersion) && (ruleOf(kind) === genericRule || findHealthCheck(kind, checks) !== undefined)
}

function dependentRulesOf(target: Target, checks: TargetChecks): DependentRules {
  const check = findHealthCheck(target, checks)
  // With `--for`, the gate does not wait for the workloads of the target, and problems of pods do not fail the target.
  const entry = target.waitFor === undefined ? check : undefined
  return {
    ...dependentKindsOf(target, checks),
    follows: entry?.follows,
    isWorkload: entry?.isWorkload === true,
    awaitsWorkloads: entry?.awaitsWorkloads ? 'all' : entry?.isWorkload ? 'written' : 'none',
    hasInventory: (kind) =>
      [checks.healthChecks, checks.catalogue].some((entries) => findEntry(kind, entries ?? [])?.applies !== undefined),
    revisionOf: (object) => (check?.revision ?? findEntry(target, checks.catalogue ?? [])?.revision)?.(object),
    ruleOf: (object) => ({ rule: kindRule(object, checks), isCustom: isCustomKind(object, checks) }),
  }
}

function groupKindKey({ apiVersion, kind }: KindName): string {
  return `${groupOf(apiVersion)}/${kind}`
}
