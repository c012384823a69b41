import { strimzi, strimziCore } from '../../../../src/lifecycle/custom/catalogue/strimzi.ts'
import { type EntryCase, type SampleObject, testEntries } from './cases.ts'

const resource = (
  kind: string,
  status: object,
  metadata: SampleObject['metadata'] = {},
  spec: object = {},
): SampleObject => ({
  apiVersion: 'kafka.strimzi.io/v1beta2',
  kind,
  metadata: { generation: 2, ...metadata },
  spec,
  status: { observedGeneration: 2, ...status },
})
const is = (type: string, rest: object = {}) => ({ conditions: [{ type, status: 'True', ...rest }] })
const paused = { annotations: { 'strimzi.io/pause-reconciliation': 'true' } }

testEntries(strimzi, [
  ['a Kafka that is Ready is ready', resource('Kafka', is('Ready')), { verdict: 'ready' }],
  [
    'a new Kafka progresses',
    resource('Kafka', {
      observedGeneration: undefined,
      ...is('NotReady', { reason: 'Creating', message: 'Kafka cluster is being deployed' }),
    }),
    { verdict: 'progressing', mentions: 'Kafka cluster is being deployed' },
  ],
  [
    'a Kafka whose rolling update timed out is reconciled again',
    resource('Kafka', is('NotReady', { reason: 'FatalProblem', message: 'Pod is unschedulable or is not starting' })),
    { verdict: 'progressing', mentions: 'Pod is unschedulable' },
  ],
  [
    'an invalid Kafka has failed',
    resource(
      'Kafka',
      is('NotReady', { reason: 'InvalidResourceException', message: 'Kafka version 9.9.9 is not supported.' }),
    ),
    { verdict: 'failed', mentions: 'Kafka version 9.9.9 is not supported.' },
  ],
  ...(
    [
      ['InvalidConfigurationException', 'No KafkaNodePools found for Kafka cluster main'],
      ['InvalidResourceException', 'The Kafka cluster main is invalid: [needs at least one broker node]'],
      ['InvalidResourceException', 'default.replication.factor should be 1 or less because it has only 1 broker(s)'],
      ['InvalidConfigurationException', 'ConfigMap metrics does not exist'],
      ['InvalidConfigurationException', 'Items with key(s) tls.crt are missing in Secret listener'],
      ['InvalidConfigurationException', 'Secret listener not found in namespace shop'],
      ['InvalidResourceException', 'Cluster CA should not be generated, but the secrets were not found.'],
    ] as const
  ).map(
    ([reason, message]): EntryCase => [
      `a Kafka that waits for another object is reconciled again: ${message}`,
      resource('Kafka', is('NotReady', { reason, message })),
      { verdict: 'progressing', mentions: message },
    ],
  ),
  [
    'a Kafka that was Ready before its change progresses',
    resource('Kafka', { observedGeneration: 1, ...is('Ready') }),
    { verdict: 'progressing' },
  ],
  [
    'a Kafka whose reconciliation is paused is paused, and the hint resumes it',
    resource('Kafka', { observedGeneration: 1, ...is('ReconciliationPaused') }, paused),
    { verdict: 'suspended', hint: 'kubectl annotate kafka sample --namespace shop strimzi.io/pause-reconciliation-' },
  ],
  ...['KafkaConnect', 'KafkaMirrorMaker2', 'KafkaBridge'].flatMap((kind): readonly EntryCase[] => [
    [`a ${kind} that is Ready is ready`, resource(kind, is('Ready')), { verdict: 'ready' }],
    [
      `a ${kind} whose pods are not ready in time is reconciled again`,
      resource(kind, is('NotReady', { reason: 'TimeoutException', message: 'Exceeded timeout of 300000ms' })),
      { verdict: 'progressing', mentions: 'Exceeded timeout of 300000ms' },
    ],
    [
      `an invalid ${kind} has failed`,
      resource(kind, is('NotReady', { reason: 'InvalidResourceException', message: 'the spec is invalid' })),
      { verdict: 'failed', mentions: 'the spec is invalid' },
    ],
    [`a paused ${kind} is paused`, resource(kind, { observedGeneration: 1 }, paused), { verdict: 'suspended' }],
  ]),
  [
    'a KafkaNodePool with all node ids is ready',
    resource('KafkaNodePool', { nodeIds: [0, 1, 2], replicas: 3 }, {}, { replicas: 3 }),
    { verdict: 'ready' },
  ],
  [
    'a KafkaNodePool that scales progresses',
    resource('KafkaNodePool', { nodeIds: [0], replicas: 1 }, {}, { replicas: 3 }),
    { verdict: 'progressing' },
  ],
  [
    'a KafkaConnector with a failed task has failed: the task is not restarted',
    resource('KafkaConnector', is('NotReady', { reason: 'Throwable', message: 'The following tasks have failed: 0' })),
    { verdict: 'failed', mentions: 'tasks have failed: 0' },
  ],
  [
    'a failed task of a KafkaConnector that restarts its tasks progresses',
    resource(
      'KafkaConnector',
      is('NotReady', { reason: 'Throwable', message: 'The following tasks have failed: 0' }),
      {},
      {
        autoRestart: { enabled: true },
      },
    ),
    { verdict: 'progressing', mentions: 'tasks have failed: 0' },
  ],
  [
    'a KafkaConnector whose cluster does not answer yet progresses',
    resource(
      'KafkaConnector',
      is('NotReady', { reason: 'ConnectRestException', message: 'GET /connectors returned 404' }),
    ),
    { verdict: 'progressing', mentions: 'returned 404' },
  ],
  [
    'a KafkaConnector without its KafkaConnect progresses: it may be created',
    resource(
      'KafkaConnector',
      is('NotReady', { reason: 'NoSuchResourceException', message: "KafkaConnect resource 'main' does not exist" }),
    ),
    { verdict: 'progressing', mentions: "KafkaConnect resource 'main'" },
  ],
  ['a KafkaTopic that is Ready is ready', resource('KafkaTopic', is('Ready')), { verdict: 'ready' }],
  ...(
    [
      ['KafkaError', 'org.apache.kafka.common.errors.InvalidReplicationFactorException: only 1 broker(s) registered'],
      ['ResourceConflict', 'Managed by Ref{namespace=shop, name=orders}'],
    ] as const
  ).map(
    ([reason, message]): EntryCase => [
      `a KafkaTopic that waits for other objects progresses: ${reason}`,
      resource('KafkaTopic', { conditions: [{ type: 'Ready', status: 'False', reason, message }] }),
      { verdict: 'progressing', mentions: message },
    ],
  ),
  [
    'a KafkaTopic with an invalid configuration has failed',
    resource('KafkaTopic', {
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'KafkaError',
          message: 'org.apache.kafka.common.errors.InvalidConfigurationException: Invalid value abc for retention.ms',
        },
      ],
    }),
    { verdict: 'failed', mentions: 'Invalid value abc' },
  ],
  ['an unmanaged KafkaTopic is ready', resource('KafkaTopic', is('Unmanaged')), { verdict: 'ready' }],
  [
    'a KafkaTopic with fewer partitions than before has failed',
    resource('KafkaTopic', {
      conditions: [
        { type: 'Ready', status: 'False', reason: 'NotSupported', message: 'Decreasing partitions not supported' },
      ],
    }),
    { verdict: 'failed', mentions: 'Decreasing partitions not supported' },
  ],
  [
    'a KafkaTopic whose brokers do not answer progresses',
    resource('KafkaTopic', {
      conditions: [{ type: 'Ready', status: 'False', reason: 'KafkaError', message: 'timed out' }],
    }),
    { verdict: 'progressing', mentions: 'timed out' },
  ],
  [
    'a KafkaUser without the Secret of its password progresses',
    resource(
      'KafkaUser',
      is('NotReady', { reason: 'InvalidResourceException', message: 'Secret app does not exist.' }),
    ),
    { verdict: 'progressing', mentions: 'Secret app does not exist.' },
  ],
  [
    'an invalid KafkaUser has failed',
    resource(
      'KafkaUser',
      is('NotReady', { reason: 'InvalidResourceException', message: 'a username of up to 64 characters' }),
    ),
    { verdict: 'failed', mentions: 'up to 64 characters' },
  ],
  [
    'a KafkaUser with rules that its Kafka does not authorize yet progresses',
    resource(
      'KafkaUser',
      is('NotReady', {
        reason: 'InvalidResourceException',
        message: 'ACL rules are configured but not supported in the Kafka cluster configuration.',
      }),
    ),
    { verdict: 'progressing', mentions: 'not supported in the Kafka cluster' },
  ],
  [
    'a KafkaRebalance whose proposal needs an approval is paused',
    resource('KafkaRebalance', is('ProposalReady')),
    { verdict: 'suspended', hint: 'strimzi.io/rebalance=approve' },
  ],
  [
    'a KafkaRebalance that is approved automatically progresses',
    resource('KafkaRebalance', is('ProposalReady'), { annotations: { 'strimzi.io/rebalance-auto-approval': 'true' } }),
    { verdict: 'progressing' },
  ],
  [
    'a KafkaRebalance that Cruise Control refuses has failed',
    resource('KafkaRebalance', is('NotReady', { reason: 'IllegalArgumentException', message: 'unknown goal' })),
    { verdict: 'failed', mentions: 'unknown goal' },
  ],
  ...(
    [
      ['RuntimeException', 'Kafka cluster is not Ready'],
      ['InvalidResourceException', "Kafka resource lacks 'cruiseControl' declaration"],
      ['CruiseControlRetriableConnectionException', 'connection refused'],
    ] as const
  ).map(
    ([reason, message]): EntryCase => [
      `a KafkaRebalance that the operator requests again progresses: ${message}`,
      resource('KafkaRebalance', is('NotReady', { reason, message })),
      { verdict: 'progressing', mentions: message },
    ],
  ),
])

const podSet = (status: object): SampleObject => ({
  apiVersion: 'core.strimzi.io/v1beta2',
  kind: 'StrimziPodSet',
  spec: { pods: [{}, {}, {}] },
  status: { observedGeneration: 1, pods: 3, readyPods: 3, currentPods: 3, ...status },
})

testEntries(strimziCore, [
  ['a StrimziPodSet with ready, current pods is ready', podSet({}), { verdict: 'ready' }],
  [
    'a StrimziPodSet with pods of the older revision progresses',
    podSet({ currentPods: 1 }),
    { verdict: 'progressing' },
  ],
])
