import { prometheusOperator } from '../../../../src/lifecycle/custom/catalogue/prometheus.ts'
import { type EntryCase, testEntries } from './cases.ts'

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

/** Cases of a kind that runs pods. */
const workload = (kind: string): readonly EntryCase[] => [
  [`a ${kind} with all pods is ready`, object(kind, { ...counts, conditions: ready }), { verdict: 'ready' }],
  [
    `an available ${kind} with an old pod progresses`,
    object(kind, { ...counts, updatedReplicas: 1, conditions: ready }),
    { verdict: 'progressing' },
  ],
  [
    `a degraded ${kind} names the pod`,
    object(kind, {
      ...counts,
      unavailableReplicas: 1,
      conditions: [
        condition('Available', 'Degraded', 'SomePodsNotReady', 'shard 0: pod web-1: 0/3 nodes are available'),
        condition('Reconciled'),
      ],
    }),
    { verdict: 'progressing', mentions: 'pod web-1: 0/3 nodes are available' },
  ],
  [
    `a ${kind} that names a missing Secret progresses, since the Secret may be created`,
    object(kind, {
      ...counts,
      conditions: [
        condition('Available'),
        condition('Reconciled', 'False', 'ReconciliationFailed', 'secret "tls" not found'),
      ],
    }),
    { verdict: 'progressing', mentions: 'secret "tls" not found' },
  ],
  [
    `a ${kind} whose older generation is available progresses`,
    object(kind, {
      ...counts,
      conditions: [condition('Available', 'True', '', '', 1), condition('Reconciled', 'True', '', '', 1)],
    }),
    { verdict: 'progressing' },
  ],
  [
    `a paused ${kind} is paused, and the hint has the command that resumes it`,
    object(kind, { ...counts, paused: true, conditions: ready }, { paused: true }),
    { verdict: 'suspended', hint: `kubectl patch ${kind.toLowerCase()}.monitoring.coreos.com sample -n shop` },
  ],
]

/** Cases of a kind that workloads use. */
const configuration = (kind: string): readonly EntryCase[] => [
  [`a ${kind} is ready without a status, which is off by default`, object(kind), { verdict: 'ready' }],
  [
    `a ${kind} that a workload accepts is ready`,
    object(kind, { bindings: [{ name: 'web', conditions: [condition('Accepted')] }] }),
    { verdict: 'ready' },
  ],
  [
    `a ${kind} that one of two workloads rejects progresses, and names the reason`,
    object(kind, {
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
]

testEntries(prometheusOperator, [
  ...['Prometheus', 'PrometheusAgent', 'Alertmanager', 'ThanosRuler'].flatMap(workload),
  ...['ServiceMonitor', 'PodMonitor', 'Probe', 'ScrapeConfig', 'PrometheusRule', 'AlertmanagerConfig'].flatMap(
    configuration,
  ),
])
