import {
  grafana,
  jaeger,
  loki,
  openTelemetry,
  tempo,
} from '../../../../src/lifecycle/custom/catalogue/observability.ts'
import { type SampleObject, testEntries } from './cases.ts'

const grafanaObject = (kind: string, status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'grafana.integreatly.org/v1beta1',
  kind,
  metadata: { generation: 2 },
  spec,
  status,
})
const condition = (type: string, status: string, message = '', observedGeneration?: number) => ({
  type,
  status,
  reason: type,
  message,
  ...(observedGeneration === undefined ? {} : { observedGeneration }),
})
const complete = { stage: 'complete', stageStatus: 'success' }

testEntries(grafana, [
  [
    'a Grafana whose stages are complete is ready',
    grafanaObject('Grafana', { ...complete, conditions: [condition('GrafanaReady', 'True', '', 2)] }),
    { verdict: 'ready' },
  ],
  ['a Grafana of an older operator has no condition', grafanaObject('Grafana', complete), { verdict: 'ready' }],
  [
    'a Grafana whose Deployment is not ready progresses, with its message',
    grafanaObject('Grafana', { stage: 'deployment', stageStatus: 'in progress', lastMessage: 'deployment not ready' }),
    { verdict: 'progressing', mentions: 'deployment not ready' },
  ],
  [
    'a Grafana that was complete before its change progresses',
    grafanaObject('Grafana', { ...complete, conditions: [condition('GrafanaReady', 'True', '', 1)] }),
    { verdict: 'progressing' },
  ],
  ['a suspended Grafana is suspended', grafanaObject('Grafana', complete, { suspend: true }), { verdict: 'suspended' }],
  [
    'a dashboard that is applied is ready',
    grafanaObject('GrafanaDashboard', { conditions: [condition('DashboardSynchronized', 'True', '', 2)] }),
    { verdict: 'ready' },
  ],
  [
    'a dashboard of an old operator has no condition',
    grafanaObject('GrafanaDashboard', { hash: 'f00' }),
    { verdict: 'ready' },
  ],
  [
    'a dashboard of an old operator without a Grafana progresses',
    grafanaObject('GrafanaDashboard', { hash: 'f00', NoMatchingInstances: true }),
    { verdict: 'progressing' },
  ],
  [
    'a dashboard without a Grafana progresses, with the message',
    grafanaObject('GrafanaDashboard', {
      conditions: [condition('NoMatchingInstance', 'True', 'no instances match', 2)],
    }),
    { verdict: 'progressing', mentions: 'no instances match' },
  ],
  [
    'a datasource whose Secret does not exist yet is tried again: the operator calls its spec invalid',
    grafanaObject('GrafanaDatasource', {
      conditions: [{ ...condition('InvalidSpec', 'True', 'secret "db" not found', 2), reason: 'InvalidModel' }],
    }),
    { verdict: 'progressing', mentions: 'secret "db" not found' },
  ],
  [
    'a folder that is its own parent has failed',
    grafanaObject('GrafanaFolder', {
      conditions: [
        { ...condition('InvalidSpec', 'True', 'must not be the current folder', 2), reason: 'CyclicParent' },
      ],
    }),
    { verdict: 'failed', mentions: 'must not be the current folder' },
  ],
  [
    'a GrafanaNotificationPolicyRoute is a part of a policy',
    grafanaObject('GrafanaNotificationPolicyRoute', {}),
    { verdict: 'ready' },
  ],
  [
    'a GrafanaNotificationPolicyRoute in a loop waits for a change of one of them',
    grafanaObject('GrafanaNotificationPolicyRoute', {
      conditions: [condition('NotificationPolicyLoopDetected', 'True', 'a selects b selects a', 2)],
    }),
    { verdict: 'progressing', mentions: 'a selects b selects a' },
  ],
  [
    'a folder that was applied before its change progresses',
    grafanaObject('GrafanaFolder', { conditions: [condition('FolderSynchronized', 'True', '', 1)] }),
    { verdict: 'progressing' },
  ],
])

const collector = (status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'opentelemetry.io/v1beta1',
  kind: 'OpenTelemetryCollector',
  metadata: { generation: 2 },
  spec: { mode: 'deployment', ...spec },
  status: {
    observedGeneration: 2,
    version: '0.130.0',
    conditions: [condition('Ready', 'True', 'Successfully reconciled', 2)],
    ...status,
  },
})
const scale = (replicas: number, statusReplicas: string) => ({ scale: { replicas, statusReplicas } })

testEntries(openTelemetry, [
  ['a collector whose pods are ready is ready', collector(scale(2, '2/2')), { verdict: 'ready' }],
  [
    'a collector that is reconciled, with pods that start, progresses',
    collector(scale(2, '1/2')),
    { verdict: 'progressing' },
  ],
  ['a collector without pods progresses', collector(scale(0, '0/0')), { verdict: 'progressing' }],
  [
    'a collector of an old operator has no condition',
    collector({ ...scale(2, '2/2'), conditions: undefined }),
    { verdict: 'ready' },
  ],
  ['a DaemonSet may have no node', collector(scale(0, '0/0'), { mode: 'daemonset' }), { verdict: 'ready' }],
  ['a sidecar has no pods of its own', collector({}, { mode: 'sidecar' }), { verdict: 'ready' }],
  [
    'a collector that cannot be reconciled progresses, with the error',
    collector({ ...scale(2, '2/2'), conditions: [condition('Ready', 'False', 'no such exporter: jaeger', 2)] }),
    { verdict: 'progressing', mentions: 'no such exporter: jaeger' },
  ],
  [
    'a collector of the older generation progresses',
    collector({ ...scale(2, '2/2'), observedGeneration: 1, conditions: [condition('Ready', 'True', '', 1)] }),
    { verdict: 'progressing' },
  ],
  [
    'an unmanaged collector is suspended',
    collector(scale(2, '2/2'), { managementState: 'unmanaged' }),
    { verdict: 'suspended' },
  ],
  [
    'an Instrumentation never has a status',
    { apiVersion: 'opentelemetry.io/v1alpha1', kind: 'Instrumentation', spec: {} },
    { verdict: 'ready' },
  ],
])

const stack = (group: string, kind: string, conditions: readonly object[], spec: object = {}): SampleObject => ({
  apiVersion: `${group}.grafana.com/v1`,
  kind,
  spec,
  status: { conditions },
})
const ready = condition('Ready', 'True', 'All components are operational')

testEntries(tempo, [
  ['a stack whose components are ready is ready', stack('tempo', 'TempoStack', [ready]), { verdict: 'ready' }],
  [
    'a stack with pending components progresses',
    stack('tempo', 'TempoStack', [
      condition('Pending', 'True', 'Some TempoStack components are pending'),
      condition('Ready', 'False'),
    ]),
    { verdict: 'progressing', mentions: 'components are pending' },
  ],
  [
    'an unmanaged stack is suspended',
    stack('tempo', 'TempoStack', [ready], { managementState: 'Unmanaged' }),
    { verdict: 'suspended' },
  ],
])

testEntries(loki, [
  [
    'a stack whose components are ready is ready, with a warning too',
    stack('loki', 'LokiStack', [condition('Warning', 'True', 'old schema'), ready]),
    { verdict: 'ready' },
  ],
  [
    'a stack without its storage Secret progresses, with the cause',
    stack('loki', 'LokiStack', [
      condition('Degraded', 'True', 'Missing object storage secret'),
      condition('Ready', 'False'),
    ]),
    { verdict: 'progressing', mentions: 'Missing object storage secret' },
  ],
])

const jaegerObject = (phase: string): SampleObject => ({
  apiVersion: 'jaegertracing.io/v1',
  kind: 'Jaeger',
  spec: {},
  status: { phase, version: '1.65.0' },
})

testEntries(jaeger, [
  ['a Jaeger that runs is ready', jaegerObject('Running'), { verdict: 'ready' }],
  ['a Jaeger that could not be reconciled is reconciled again', jaegerObject('Failed'), { verdict: 'progressing' }],
  ['a Jaeger without a phase progresses', jaegerObject(''), { verdict: 'progressing' }],
])
