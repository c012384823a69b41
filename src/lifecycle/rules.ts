import { groupOf } from '../cluster/store.ts'
import { apiServiceRule } from './api-service.ts'
import { autoscalerRule } from './autoscaler.ts'
import { claimRule } from './claim.ts'
import { daemonSetRule } from './daemonset.ts'
import { definitionRule } from './definition.ts'
import { deploymentRule } from './deployment.ts'
import { disruptionBudgetRule } from './disruption-budget.ts'
import { genericRule } from './generic.ts'
import { ingressRule } from './ingress.ts'
import { jobRule } from './job.ts'
import { namespaceRule } from './namespace.ts'
import { podRule } from './pod.ts'
import { replicaSetRule } from './replicaset.ts'
import type { Rule } from './rule.ts'
import { seenRule } from './seen.ts'
import { serviceRule } from './service.ts'
import { statefulSetRule } from './statefulset.ts'

/** Kinds with rules of their own, by group and kind. */
const rules: ReadonlyMap<string, Rule> = new Map([
  ['apps/Deployment', deploymentRule],
  ['apps/ReplicaSet', replicaSetRule],
  ['/ReplicationController', replicaSetRule],
  ['apps/StatefulSet', statefulSetRule],
  ['apps/DaemonSet', daemonSetRule],
  ['/Pod', podRule],
  ['batch/Job', jobRule],
  ['/Service', serviceRule],
  ['/PersistentVolumeClaim', claimRule],
  ['networking.k8s.io/Ingress', ingressRule],
  ['autoscaling/HorizontalPodAutoscaler', autoscalerRule],
  ['policy/PodDisruptionBudget', disruptionBudgetRule],
  ['apiextensions.k8s.io/CustomResourceDefinition', definitionRule],
  ['apiregistration.k8s.io/APIService', apiServiceRule],
  ['/Namespace', namespaceRule],
])

/** Built-in kinds that are ready once they are seen. */
const seen: ReadonlySet<string> = new Set([
  'batch/CronJob',
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

/** The rule of a kind, whatever its version; the generic one for kinds without a rule of their own. */
export function ruleOf({ apiVersion, kind }: { apiVersion: string; kind: string }): Rule {
  const key = `${groupOf(apiVersion)}/${kind}`
  return rules.get(key) ?? (seen.has(key) ? seenRule : genericRule)
}
