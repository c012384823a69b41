import { prometheusOperator } from '../../../../src/lifecycle/custom/catalogue/prometheus.ts'
import { testEntries } from './cases.ts'

const counts = { replicas: 2, updatedReplicas: 2, availableReplicas: 2, unavailableReplicas: 0 }
const condition = (type: string, status = 'True', reason = '', message = '', observedGeneration = 2) => ({
  type,
  status,
  reason,
  message,
  observedGeneration,
})
const ready = [condition('Available'), condition('Reconciled')]
const object = (kind: string, status?: object, spec: object = {}) => ({
  apiVersion: 'monitoring.coreos.com/v1',
  kind,
  metadata: { generation: 2 },
  spec,
  ...(status === undefined ? {} : { status }),
})

testEntries(prometheusOperator, [
  ['a Prometheus with all pods is ready', object('Prometheus', { ...counts, conditions: ready }), { verdict: 'ready' }],
  [
    'an available Prometheus with an old pod progresses',
    object('Prometheus', { ...counts, updatedReplicas: 1, conditions: ready }),
    { verdict: 'progressing' },
  ],
  [
    'a degraded Prometheus names the pod',
    object('Prometheus', {
      ...counts,
      unavailableReplicas: 1,
      conditions: [
        condition(
          'Available',
          'Degraded',
          'SomePodsNotReady',
          'shard 0: pod prometheus-web-1: 0/3 nodes are available',
        ),
        condition('Reconciled'),
      ],
    }),
    { verdict: 'progressing', mentions: 'pod prometheus-web-1: 0/3 nodes are available' },
  ],
  [
    'a Prometheus that names a missing Secret progresses, since the Secret may be created',
    object('Prometheus', {
      ...counts,
      conditions: [
        condition('Available'),
        condition('Reconciled', 'False', 'ReconciliationFailed', 'secret "tls" not found'),
      ],
    }),
    { verdict: 'progressing', mentions: 'secret "tls" not found' },
  ],
  [
    'an Alertmanager whose older generation is available progresses',
    object('Alertmanager', {
      ...counts,
      conditions: [condition('Available', 'True', '', '', 1), condition('Reconciled', 'True', '', '', 1)],
    }),
    { verdict: 'progressing' },
  ],
  [
    'a paused ThanosRuler is paused, and the hint has the command that resumes it',
    object('ThanosRuler', { ...counts, paused: true, conditions: ready }, { paused: true }),
    { verdict: 'suspended', hint: 'kubectl patch thanosruler.monitoring.coreos.com sample -n shop' },
  ],
  [
    'a ServiceMonitor is ready without a status, which is off by default',
    object('ServiceMonitor'),
    { verdict: 'ready' },
  ],
  [
    'a PrometheusRule that a Prometheus accepts is ready',
    object('PrometheusRule', { bindings: [{ name: 'web', conditions: [condition('Accepted')] }] }),
    { verdict: 'ready' },
  ],
  [
    'a PrometheusRule that one of two rejects progresses, and names the reason',
    object('PrometheusRule', {
      bindings: [
        { name: 'web', conditions: [condition('Accepted')] },
        {
          name: 'api',
          conditions: [condition('Accepted', 'False', 'InvalidConfiguration', 'could not parse expression')],
        },
      ],
    }),
    { verdict: 'progressing', mentions: 'could not parse expression' },
  ],
])
