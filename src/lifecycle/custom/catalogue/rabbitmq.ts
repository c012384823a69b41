import { type CatalogueGroup, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isFalse, isTrue, messageOf } from './expressions.ts'

/** RabbitMQ: the operators of clusters and of their topology. */
export const rabbitMq: CatalogueGroup = {
  group: 'rabbitmq.com',
  entries: [
    {
      kind: 'RabbitmqCluster',
      documentation:
        'https://github.com/rabbitmq/cluster-operator/blob/main/internal/controller/rabbitmqcluster_controller.go',
      // ReconcileSuccess and the generation are written once all replicas are updated, by the status of a StatefulSet
      // that may not have observed the change (reconcile_cli.go). AllReplicasReady may be older.
      current: allOf(
        isTrue('ReconcileSuccess'),
        anyOf(isTrue('AllReplicasReady'), isFalse('AllReplicasReady', 'ScaledToZero')),
      ),
      failed: isFalse('ReconcileSuccess', 'UnsupportedOperation', 'InvalidConfiguration'),
      suspended: `metadata.labels['rabbitmq.com/pauseReconciliation'] == 'true'`,
      resume: 'kubectl label rabbitmqcluster {name} --namespace {namespace} rabbitmq.com/pauseReconciliation-',
      cause: [messageOf('ReconcileSuccess'), messageOf('AllReplicasReady'), messageOf('ClusterAvailable')],
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      // Queue, Exchange, Binding, User, Vhost, Permission, Policy … The operator repeats a failed declaration.
      kind: '*',
      documentation:
        'https://github.com/rabbitmq/messaging-topology-operator/blob/main/internal/controller/topology_controller.go',
      current: isTrue('Ready'),
      cause: [messageOf('Ready')],
    },
  ],
}
