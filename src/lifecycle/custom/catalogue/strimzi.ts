import { type CatalogueGroup, deployments, pods } from './entry.ts'
import { anyOf, hasCondition, isAnnotated, isFalse, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/strimzi/strimzi-kafka-operator/blob/main'
const podSets = { apiVersion: 'core.strimzi.io/v1beta2', kind: 'StrimziPodSet' }
const paused = anyOf(isAnnotated('strimzi.io/pause-reconciliation', 'true'), isTrue('ReconciliationPaused'))
const resume = (resource: string) =>
  `kubectl annotate ${resource} {name} --namespace {namespace} strimzi.io/pause-reconciliation-`

/** The cause is the message of NotReady, which is True, or of Ready, which is False. */
const cause = [`status.conditions.filter(c, c.type == 'NotReady').map(c, c.message)`, messageOf('Ready')]

/**
 * The operator writes the generation and Ready at the end of a reconciliation. It repeats a failed one every two minutes;
 * that does not help if the resource itself is invalid. A resource is also called invalid while another object does not
 * exist or does not fit it: a node pool, a Secret, a ConfigMap. When it does, the old condition stays until the end of the
 * next reconciliation, which includes the start of the pods.
 */
const reconciled = { current: isTrue('Ready'), suspended: paused, cause }
const awaitsOthers =
  "c.message.matches('not (found|exist|contain)|n.t exist|missing in|KafkaNodePool|The Kafka cluster|Kafka cluster config|broker|password')"
const isInvalid = (...reasons: readonly string[]) =>
  hasCondition('NotReady', `c.reason in ['${reasons.join("', '")}']`, `!${awaitsOthers}`)
const component = {
  ...reconciled,
  documentation: `${source}/operator-common/src/main/java/io/strimzi/operator/common/model/StatusUtils.java`,
  failed: isInvalid('InvalidResourceException'),
  owns: [podSets, deployments, pods],
  isWorkload: true,
} as const

/** Strimzi. */
export const strimzi: CatalogueGroup = {
  group: 'kafka.strimzi.io',
  entries: [
    {
      kind: 'Kafka',
      ...component,
      // A rolling update of large brokers takes several reconciliations, of which some time out.
      failed: isInvalid('InvalidResourceException', 'InvalidConfigurationException'),
      resume: resume('kafka'),
    },
    { kind: 'KafkaConnect', ...component, resume: resume('kafkaconnect') },
    { kind: 'KafkaMirrorMaker2', ...component, resume: resume('kafkamirrormaker2') },
    { kind: 'KafkaBridge', ...component, resume: resume('kafkabridge') },
    {
      // Reconciled with its Kafka, which is Ready once the pods of the pool are. The pool has no condition of its own.
      kind: 'KafkaNodePool',
      documentation: `${source}/cluster-operator/src/main/java/io/strimzi/operator/cluster/operator/assembly/KafkaReconciler.java`,
      current: `status.observedGeneration == metadata.generation && status.nodeIds.size() == spec.replicas`,
      owns: [podSets, pods],
      isWorkload: true,
    },
    {
      kind: 'KafkaConnector',
      documentation: `${source}/cluster-operator/src/main/java/io/strimzi/operator/cluster/operator/assembly/KafkaConnectAssemblyOperator.java`,
      ...reconciled,
      // Kafka Connect does not restart a task that failed. A KafkaConnect that does not exist may be created.
      failed: anyOf(
        isTrue('NotReady', 'InvalidResourceException'),
        `${isTrue('NotReady', 'Throwable')} && !spec.?autoRestart.?enabled.orValue(false)`,
      ),
      resume: resume('kafkaconnector'),
    },
    {
      kind: 'KafkaTopic',
      documentation: `${source}/topic-operator/src/main/java/io/strimzi/operator/topic/BatchingTopicController.java`,
      ...reconciled,
      // The annotation strimzi.io/managed=false makes a topic Unmanaged.
      current: anyOf(isTrue('Ready'), isTrue('Unmanaged')),
      // A conflict ends when the other topic is deleted. Too few brokers may be registered while they restart.
      failed: anyOf(
        isFalse('Ready', 'NotSupported'),
        hasCondition(
          'Ready',
          `c.reason == 'KafkaError'`,
          `c.message.matches('errors[.](Invalid|PolicyViolation)') && !c.message.contains('InvalidReplicationFactor')`,
        ),
        isTrue('NotReady', 'InvalidConfigurationException', 'InvalidResourceException'),
      ),
      resume: resume('kafkatopic'),
    },
    {
      kind: 'KafkaUser',
      documentation: `${source}/user-operator/src/main/java/io/strimzi/operator/user/UserControllerLoop.java`,
      ...reconciled,
      // The Secret of its password and the authorization of its Kafka may be applied later.
      failed: isInvalid('InvalidResourceException'),
      resume: resume('kafkauser'),
    },
    {
      kind: 'KafkaRebalance',
      documentation: `${source}/api/src/main/java/io/strimzi/api/kafka/model/rebalance/KafkaRebalanceState.java`,
      // The operator does not process a template.
      current: anyOf(isTrue('Ready'), isAnnotated('strimzi.io/rebalance-template', 'true')),
      // Other errors stay until a user asks for a new proposal (KafkaRebalanceAssemblyOperator.java).
      failed: hasCondition(
        'NotReady',
        `c.reason != 'CruiseControlRetriableConnectionException'`,
        `!c.message.matches('CruiseControlRetriableConnectionException|cluster is not Ready|lacks')`,
      ),
      suspended: anyOf(
        paused,
        isTrue('Stopped'),
        `${isTrue('ProposalReady')}
          && metadata.?annotations[?'strimzi.io/rebalance-auto-approval'].orValue('') != 'true'`,
      ),
      resume: 'kubectl annotate kafkarebalance {name} --namespace {namespace} strimzi.io/rebalance=approve',
      cause,
    },
  ],
}

/** The sets of pods that Strimzi runs. */
export const strimziCore: CatalogueGroup = {
  group: 'core.strimzi.io',
  entries: [
    {
      kind: 'StrimziPodSet',
      documentation: `${source}/cluster-operator/src/main/java/io/strimzi/operator/cluster/operator/assembly/StrimziPodSetController.java`,
      current: `status.readyPods == status.pods && status.currentPods == status.pods`,
      owns: [pods],
      isWorkload: true,
    },
  ],
}
