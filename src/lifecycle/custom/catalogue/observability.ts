import { type CatalogueGroup, daemonSets, deployments, jobs, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isTrue, messageOf } from './expressions.ts'

const grafanaSource = 'https://github.com/grafana/grafana-operator/blob/master'
const telemetrySource = 'https://github.com/open-telemetry/opentelemetry-operator/blob/main'

/** Kinds whose objects the operator writes into Grafana; each has a condition named after its kind. */
const grafanaContent = [
  'AlertRuleGroup',
  'ContactPoint',
  'Dashboard',
  'Datasource',
  'Folder',
  'LibraryPanel',
  'Manifest',
  'MuteTiming',
  'NotificationPolicy',
  'NotificationTemplate',
  'ServiceAccount',
]

/**
 * InvalidSpec is also True while a URL, a ConfigMap or a Secret of the spec cannot be read, which is retried. For these
 * reasons, only a change of the spec corrects it.
 */
const isInvalid = isTrue(
  'InvalidSpec',
  'InvalidDuration',
  'InvalidContactPoint',
  'CyclicParent',
  'FieldsMutuallyExclusive',
)
/** A loop ends when one of its parts changes. */
const hasLoop = isTrue('NotificationPolicyLoopDetected')

/** Grafana operator. */
export const grafana: CatalogueGroup = {
  group: 'grafana.integreatly.org',
  entries: [
    {
      kind: 'Grafana',
      documentation: `${grafanaSource}/controllers/grafana_controller.go`,
      // GrafanaReady has an observedGeneration; operators before 5.17 write only the stage.
      current: allOf(`status.stage == 'complete'`, `status.stageStatus == 'success'`),
      inProgress: `status.conditions.exists(c, c.type == 'GrafanaReady' && c.status != 'True')`,
      suspended: `spec.suspend`,
      cause: [`status.lastMessage`],
      owns: [deployments, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      // Part of a GrafanaNotificationPolicy, whose status is about it.
      kind: 'GrafanaNotificationPolicyRoute',
      documentation: `${grafanaSource}/controllers/notificationpolicy_controller.go`,
      current: 'true',
      inProgress: hasLoop,
      cause: [messageOf('NotificationPolicyLoopDetected', 'False')],
    },
    ...grafanaContent.map((name) => ({
      kind: `Grafana${name}`,
      documentation: `${grafanaSource}/controllers/controller_shared.go`,
      // Operators before 5.10 write no condition, but the hash of what they applied.
      current: anyOf(
        isTrue(name === 'AlertRuleGroup' ? 'AlertGroupSynchronized' : `${name}Synchronized`),
        `!has(status.conditions) && status.hash != '' && !status.?NoMatchingInstances.orValue(false)`,
      ),
      failed: isInvalid,
      suspended: `spec.suspend`,
      cause: [
        `status.conditions.filter(c, c.type.startsWith('NoMatching') && c.status == 'True').map(c, c.message)`,
        messageOf('InvalidSpec', 'False'),
        messageOf('NotificationPolicyLoopDetected', 'False'),
        `status.conditions.filter(c, c.type.endsWith('Synchronized') && c.status == 'False').map(c, c.message)`,
      ],
    })),
  ],
}

/** OpenTelemetry Operator. */
export const openTelemetry: CatalogueGroup = {
  group: 'opentelemetry.io',
  entries: [
    {
      kind: 'OpenTelemetryCollector',
      documentation: `${telemetrySource}/internal/status/collector/collector.go`,
      // Ready is about the reconciliation; `statusReplicas`, such as 2/3, has the pods that are ready.
      current: allOf(
        `!status.?conditions.orValue([]).exists(c, c.type == 'Ready' && c.status != 'True')`,
        anyOf(
          `spec.mode == 'sidecar'`,
          `spec.replicas == 0`,
          `spec.mode == 'daemonset' && status.scale.statusReplicas == '0/0'`,
          `status.scale.replicas > 0 && status.scale.statusReplicas.startsWith(string(status.scale.replicas) + '/')`,
        ),
      ),
      inProgress: `!has(status.version)`,
      suspended: `spec.managementState == 'unmanaged'`,
      cause: [messageOf('Ready')],
      owns: [deployments, statefulSets, daemonSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      // Its status is never written.
      kind: 'Instrumentation',
      documentation: `${telemetrySource}/apis/v1alpha1/instrumentation_types.go`,
      current: 'true',
    },
  ],
}

/** The components of Loki and Tempo: one condition is True, and the status has no `observedGeneration`. */
const stack = {
  current: isTrue('Ready'),
  suspended: `spec.managementState == 'Unmanaged'`,
  cause: [
    `status.conditions.filter(c, c.status == 'True' && c.type != 'Ready' && c.type != 'Warning').map(c, c.message)`,
  ],
  owns: [deployments, statefulSets, pods],
  isWorkload: true,
  awaitsWorkloads: true,
} as const

/** Tempo Operator. */
export const tempo: CatalogueGroup = {
  group: 'tempo.grafana.com',
  entries: ['TempoStack', 'TempoMonolithic'].map((kind) => ({
    kind,
    documentation: 'https://github.com/grafana/tempo-operator/blob/main/api/tempo/v1alpha1/tempostack_types.go',
    ...stack,
  })),
}

/** Loki Operator. */
export const loki: CatalogueGroup = {
  group: 'loki.grafana.com',
  entries: [
    {
      kind: 'LokiStack',
      documentation: 'https://github.com/grafana/loki/blob/main/operator/internal/status/lokistack.go',
      ...stack,
    },
  ],
}

/** Jaeger Operator. */
export const jaeger: CatalogueGroup = {
  group: 'jaegertracing.io',
  entries: [
    {
      kind: 'Jaeger',
      documentation:
        'https://github.com/jaegertracing/jaeger-operator/blob/main/pkg/controller/jaeger/jaeger_controller.go',
      // Failed is the error of one reconciliation, which is repeated.
      current: `status.phase == 'Running'`,
      owns: [deployments, daemonSets, jobs, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}
