import { type CatalogueEntry, type CatalogueGroup, daemonSets, pods, statefulSets } from './entry.ts'
import { allOf, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/prometheus-operator/prometheus-operator/blob/main'

/**
 * A kind that the operator runs as StatefulSets. Available: enough pods are ready, and it stays True while they are
 * replaced, so the counts decide. Right after a change, the counts are those of a StatefulSet that has not observed it yet. Reconciled=False: the operator cannot write its objects; it retries, since a Secret
 * may be missing. Both conditions have an `observedGeneration`; a third status of Available is Degraded.
 */
function workload(kind: string, file: string): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/${file}`,
    suspended: 'spec.paused',
    resume: `kubectl patch ${kind.toLowerCase()}.monitoring.coreos.com {name} -n {namespace} --type merge -p '{"spec":{"paused":false}}'`,
    current: allOf(
      isTrue('Reconciled'),
      isTrue('Available'),
      'status.updatedReplicas == status.replicas',
      'status.unavailableReplicas == 0',
    ),
    cause: [messageOf('Reconciled'), messageOf('Available')],
    owns: [statefulSets, daemonSets, pods],
    isWorkload: true,
    awaitsWorkloads: true,
  }
}

/**
 * Configuration of a workload. Its status contains the workloads that use it (`bindings`), if the operator runs with
 * the feature gate `StatusForConfigurationResources`, and is empty otherwise. A rejected one may refer to a Secret that
 * does not exist yet.
 */
function configuration(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/pkg/operator/config_resource.go`,
    inProgress: `status.bindings.exists(b, b.conditions.exists(c, ${isNotAccepted}))`,
    current: 'true',
    cause: [
      `status.bindings.map(b, b.conditions.filter(c, ${isNotAccepted}).map(c, c.message)).filter(m, size(m) > 0)[0]`,
    ],
  }
}

const isNotAccepted = "c.type == 'Accepted' && c.status == 'False'"

const configurations = [
  'ServiceMonitor',
  'PodMonitor',
  'Probe',
  'ScrapeConfig',
  'PrometheusRule',
  'AlertmanagerConfig',
] as const

export const prometheusOperator: CatalogueGroup = {
  group: 'monitoring.coreos.com',
  entries: [
    workload('Prometheus', 'pkg/prometheus/operator.go'),
    workload('PrometheusAgent', 'pkg/prometheus/operator.go'),
    workload('Alertmanager', 'pkg/operator/statefulset_reporter.go'),
    workload('ThanosRuler', 'pkg/operator/statefulset_reporter.go'),
    ...configurations.map(configuration),
  ],
}
