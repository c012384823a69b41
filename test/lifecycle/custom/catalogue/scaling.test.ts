import { karpenter, karpenterAws, keda } from '../../../../src/lifecycle/custom/catalogue/scaling.ts'
import { type SampleObject, testEntries } from './cases.ts'

/** KEDA writes neither a generation nor times. */
const scaled = (kind: string, conditions: readonly object[], annotations = {}): SampleObject => ({
  apiVersion: 'keda.sh/v1alpha1',
  kind,
  metadata: { generation: 2, annotations },
  spec: { triggers: [{ type: 'cron' }] },
  status: { conditions },
})

const ready = { type: 'Ready', status: 'True', reason: 'ScaledObjectReady', message: 'is ready for scaling' }
const initial = ['Ready', 'Active', 'Fallback', 'Paused'].map((type) => ({ type, status: 'Unknown' }))
const paused = { type: 'Paused', status: 'True', reason: 'ScaledObjectPaused', message: 'ScaledObject is paused' }
const targetMissing = {
  type: 'Ready',
  status: 'False',
  reason: 'ScaledObjectCheckFailed',
  message: 'deployments.apps "web" not found',
}

testEntries(keda, [
  ...['ScaledObject', 'ScaledJob'].flatMap(
    (kind) =>
      [
        [`a ${kind} that KEDA accepts is ready`, scaled(kind, [ready]), { verdict: 'ready' }],
        [`a ${kind} with initial conditions progresses`, scaled(kind, initial), { verdict: 'progressing' }],
        [
          `a ${kind} without its target is checked again`,
          scaled(kind, [targetMissing]),
          { verdict: 'progressing', mentions: 'deployments.apps "web" not found' },
        ],
        [
          `a paused ${kind} is suspended`,
          scaled(kind, [ready, paused], { 'autoscaling.keda.sh/paused': 'true' }),
          { verdict: 'suspended', hint: 'autoscaling.keda.sh/paused-' },
        ],
        [
          `a ${kind} with the annotation \`false\` is not paused`,
          scaled(kind, [ready], { 'autoscaling.keda.sh/paused': 'false' }),
          { verdict: 'ready' },
        ],
      ] as const,
  ),
  [
    'a ScaledObject with a fixed number of replicas is suspended',
    scaled('ScaledObject', [ready, paused], { 'autoscaling.keda.sh/paused-replicas': '0' }),
    { verdict: 'suspended' },
  ],
  [
    'a ScaledObject that does not scale in still scales out, and is ready',
    scaled('ScaledObject', [ready, paused], { 'autoscaling.keda.sh/paused-scale-in': 'true' }),
    { verdict: 'ready' },
  ],
  [
    'a ScaledObject that fell back to fixed replicas progresses',
    scaled('ScaledObject', [
      ready,
      { type: 'Fallback', status: 'True', reason: 'FallbackExists', message: 'At least one trigger is falling back' },
    ]),
    { verdict: 'progressing', mentions: 'At least one trigger is falling back' },
  ],
  ...['TriggerAuthentication', 'ClusterTriggerAuthentication'].flatMap(
    (kind) =>
      [
        [
          `a ${kind} that no ScaledObject uses is ready`,
          { apiVersion: 'keda.sh/v1alpha1', kind, spec: { secretTargetRef: [] } },
          { verdict: 'ready' },
        ],
        [
          `a ${kind} that a ScaledObject uses is ready`,
          { apiVersion: 'keda.sh/v1alpha1', kind, spec: {}, status: { scaledobjects: 'web' } },
          { verdict: 'ready' },
        ],
      ] as const,
  ),
])

/** Karpenter writes the generation on each condition, and a summary of all as Ready. */
const node = (
  apiVersion: string,
  kind: string,
  conditions: readonly object[],
  observedGeneration = 2,
): SampleObject => ({
  apiVersion,
  kind,
  metadata: { generation: 2 },
  spec: {},
  status: { conditions: conditions.map((each) => ({ observedGeneration, message: '', ...each })) },
})

const summary = (status: string) => ({
  type: 'Ready',
  status,
  reason: status === 'True' ? 'Ready' : 'UnhealthyDependents',
})
const nodePool = (...conditions: readonly object[]) => node('karpenter.sh/v1', 'NodePool', conditions)
const nodeClaim = (...conditions: readonly object[]) => node('karpenter.sh/v1', 'NodeClaim', conditions)
const nodeClass = (...conditions: readonly object[]) => node('karpenter.k8s.aws/v1', 'EC2NodeClass', conditions)

testEntries(karpenter, [
  ['a NodePool with a ready node class is ready', nodePool(summary('True')), { verdict: 'ready' }],
  [
    'a NodePool without its node class progresses',
    nodePool(summary('False'), {
      type: 'NodeClassReady',
      status: 'False',
      reason: 'NodeClassNotFound',
      message: 'NodeClass not found on cluster',
    }),
    { verdict: 'progressing', mentions: 'NodeClass not found on cluster' },
  ],
  [
    'a NodePool with an invalid spec has failed',
    nodePool(summary('False'), {
      type: 'ValidationSucceeded',
      status: 'False',
      reason: 'NodePoolValidationFailed',
      message: 'invalid value: karpenter.sh/nodepool in requirements, restricted',
    }),
    { verdict: 'failed', mentions: 'restricted' },
  ],
  [
    'a NodePool that was ready with its older spec progresses',
    node('karpenter.sh/v1', 'NodePool', [summary('True')], 1),
    { verdict: 'progressing' },
  ],
  ['a NodeClaim whose node has joined is ready', nodeClaim(summary('True')), { verdict: 'ready' }],
  [
    'a NodeClaim that cannot be launched progresses: another one replaces it',
    nodeClaim(summary('False'), {
      type: 'Launched',
      status: 'Unknown',
      reason: 'LaunchFailed',
      message: 'InsufficientInstanceCapacity',
    }),
    { verdict: 'progressing', mentions: 'InsufficientInstanceCapacity' },
  ],
])

testEntries(karpenterAws, [
  ['an EC2NodeClass with all of its dependencies is ready', nodeClass(summary('True')), { verdict: 'ready' }],
  [
    'an EC2NodeClass whose selector matches no subnet progresses, and names the dependency',
    nodeClass(summary('False'), {
      type: 'SubnetsReady',
      status: 'False',
      reason: 'SubnetsNotFound',
      message: 'SubnetSelector did not match any Subnets',
    }),
    { verdict: 'progressing', mentions: 'SubnetSelector did not match any Subnets' },
  ],
])
