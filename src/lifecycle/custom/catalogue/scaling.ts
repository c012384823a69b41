import type { CatalogueGroup } from './entry.ts'
import { allOf, anyOf, isFalse, isTrue, messageOf } from './expressions.ts'

/** KEDA writes no generation. It tries again after each failure, since the scaled object or a source of metrics may appear. */
export const keda: CatalogueGroup = {
  group: 'keda.sh',
  entries: [
    {
      kind: 'ScaledObject',
      documentation: 'https://github.com/kedacore/keda/blob/main/controllers/keda/scaledobject_controller.go',
      current: allOf(isTrue('Ready'), `!status.conditions.exists(c, c.type == 'Fallback' && c.status == 'True')`),
      // A pause of one direction leaves the scaling active.
      suspended: anyOf(
        `metadata.annotations['autoscaling.keda.sh/paused'].lowerAscii() in ['false', 'f', '0'] == false`,
        `'autoscaling.keda.sh/paused-replicas' in metadata.annotations`,
      ),
      resume:
        'kubectl annotate scaledobject {name} -n {namespace} autoscaling.keda.sh/paused- autoscaling.keda.sh/paused-replicas-',
      cause: [messageOf('Ready'), `status.conditions.filter(c, c.type == 'Fallback' && c.status == 'True')[0].message`],
      owns: [{ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' }],
    },
    {
      kind: 'ScaledJob',
      documentation: 'https://github.com/kedacore/keda/blob/main/controllers/keda/scaledjob_controller.go',
      current: isTrue('Ready'),
      suspended: `metadata.annotations['autoscaling.keda.sh/paused'].lowerAscii() in ['false', 'f', '0'] == false`,
      resume: 'kubectl annotate scaledjob {name} -n {namespace} autoscaling.keda.sh/paused-',
      cause: [messageOf('Ready')],
    },
    ...['TriggerAuthentication', 'ClusterTriggerAuthentication'].map((kind) => ({
      kind,
      documentation: 'https://github.com/kedacore/keda/blob/main/apis/keda/v1alpha1/triggerauthentication_types.go',
      // Its status lists the objects that use it, and is not written before there is one.
      current: 'true',
    })),
  ],
}

/** The messages of the conditions that Ready summarizes. */
const causes = (...types: readonly string[]) => [...types.map((type) => messageOf(type)), messageOf('Ready')]

export const karpenter: CatalogueGroup = {
  group: 'karpenter.sh',
  entries: [
    {
      kind: 'NodePool',
      documentation: 'https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/apis/v1/nodepool_status.go',
      current: isTrue('Ready'),
      // A missing or unready node class may become ready.
      failed: isFalse('ValidationSucceeded'),
      cause: causes('ValidationSucceeded', 'NodeClassReady'),
    },
    {
      // A node that cannot be launched is replaced by another one.
      kind: 'NodeClaim',
      documentation: 'https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/apis/v1/nodeclaim_status.go',
      current: isTrue('Ready'),
      cause: causes('Launched', 'Registered', 'Initialized'),
    },
  ],
}

export const karpenterAws: CatalogueGroup = {
  group: 'karpenter.k8s.aws',
  entries: [
    {
      // What it selects in the account is read again every few minutes.
      kind: 'EC2NodeClass',
      documentation: 'https://github.com/aws/karpenter-provider-aws/blob/main/pkg/apis/v1/ec2nodeclass_status.go',
      current: isTrue('Ready'),
      cause: causes(
        'SubnetsReady',
        'SecurityGroupsReady',
        'AMIsReady',
        'InstanceProfileReady',
        'CapacityReservationsReady',
        'PlacementGroupReady',
        'ValidationSucceeded',
      ),
    },
  ],
}
