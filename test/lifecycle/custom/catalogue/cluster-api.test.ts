import {
  clusterApi,
  clusterApiBootstrap,
  clusterApiControlPlanes,
  clusterApiInfrastructure,
} from '../../../../src/lifecycle/custom/catalogue/cluster-api.ts'
import { type EntryCase, testEntries } from './cases.ts'

const metadata = { generation: 2 }
const condition = (type: string, status = 'True', reason = type, message = '') => ({ type, status, reason, message })
const old = (type: string, status = 'True', message?: string) => ({ type, status, severity: 'Info', message })

const object = (
  apiVersion: string,
  kind: string,
  status: object,
  { spec = {}, annotations = {} }: { spec?: object; annotations?: Record<string, string> } = {},
) => ({ apiVersion, kind, metadata: { ...metadata, annotations }, spec, status: { observedGeneration: 2, ...status } })

const v1beta2 = 'cluster.x-k8s.io/v1beta2'
const v1beta1 = 'cluster.x-k8s.io/v1beta1'
const cluster = (conditions: readonly object[], rest: object = {}, options = {}) =>
  object(v1beta2, 'Cluster', { phase: 'Provisioned', conditions, ...rest }, options)
const steady = [
  condition('Available'),
  condition('InfrastructureReady'),
  condition('ControlPlaneAvailable'),
  condition('RollingOut', 'False', 'NotRollingOut'),
  condition('ScalingUp', 'False', 'NotScalingUp'),
]

const counts = (count: number) => ({
  replicas: count,
  readyReplicas: count,
  availableReplicas: count,
  upToDateReplicas: count,
})
const deployment = (status: object, options = {}) =>
  object(v1beta2, 'MachineDeployment', { phase: 'Running', ...status }, { spec: { replicas: 3 }, ...options })

/** Cases of the kinds that the annotation pauses, and whose failures are final. */
const sharedCases = (apiVersion: string, kinds: readonly string[], withFailure: readonly string[] = kinds) => [
  ...kinds.map(
    (kind): EntryCase => [
      `a ${kind} with the annotation is paused`,
      object(apiVersion, kind, {}, { annotations: { 'cluster.x-k8s.io/paused': '' } }),
      { verdict: 'suspended' },
    ],
  ),
  ...kinds.map(
    (kind): EntryCase => [
      `a ${kind} of a paused cluster is paused`,
      object(apiVersion, kind, { conditions: [condition('Paused', 'True', 'Paused', 'Cluster spec.paused is set')] }),
      { verdict: 'suspended' },
    ],
  ),
  ...withFailure.map(
    (kind): EntryCase => [
      `a ${kind} that has failed for good has failed`,
      object(apiVersion, kind, { deprecated: { v1beta1: { failureReason: 'X', failureMessage: 'quota exceeded' } } }),
      { verdict: 'failed', mentions: 'quota exceeded' },
    ],
  ),
]

testEntries(clusterApi, [
  ...sharedCases(
    v1beta2,
    ['MachineSet', 'MachinePool', 'Machine', 'MachineHealthCheck', 'ClusterClass'],
    ['MachineSet', 'MachinePool', 'Machine'],
  ),
  [
    'a MachineDeployment with all machines is not ready while one of them is updated in place',
    deployment({ ...counts(3), conditions: [condition('Available'), condition('RollingOut')] }),
    { verdict: 'progressing' },
  ],
  [
    'a MachineDeployment in the phase Failed has failed',
    deployment({ ...counts(3), phase: 'Failed', conditions: [old('Ready', 'False', 'cannot create the machines')] }),
    { verdict: 'failed', mentions: 'cannot create the machines' },
  ],
  [
    'a MachineSet with all machines is ready',
    object(
      v1beta2,
      'MachineSet',
      { ...counts(2), conditions: [condition('MachinesReady')] },
      { spec: { replicas: 2 } },
    ),
    { verdict: 'ready' },
  ],
  [
    'a ClusterClass with resolved variables and references is ready',
    object(v1beta1, 'ClusterClass', { conditions: [old('RefVersionsUpToDate'), old('VariablesReconciled')] }),
    { verdict: 'ready' },
  ],
  ['an available Cluster is ready', cluster(steady), { verdict: 'ready' }],
  [
    'an available Cluster that is rolled out to a new version progresses',
    cluster([
      condition('Available'),
      condition('RollingOut', 'True', 'RollingOut', 'Rolling out 2 not up-to-date replicas'),
    ]),
    { verdict: 'progressing', mentions: 'Rolling out 2 not up-to-date replicas' },
  ],
  [
    'a Cluster without a control plane names the reason, and has reached its infrastructure',
    cluster([
      condition('Available', 'False', 'NotAvailable', '* ControlPlaneAvailable: Control plane not yet initialized'),
      condition('InfrastructureReady'),
      condition('ControlPlaneAvailable', 'False', 'NotAvailable'),
    ]),
    {
      verdict: 'progressing',
      mentions: 'Control plane not yet initialized',
      reached: ['observed', 'infrastructure'],
    },
  ],
  [
    'a Cluster whose older generation is available progresses',
    cluster(steady, { observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a paused Cluster is paused, and the hint has the command that resumes it',
    cluster(steady, {}, { spec: { paused: true } }),
    { verdict: 'suspended', hint: 'kubectl patch cluster.cluster.x-k8s.io sample -n shop' },
  ],
  [
    'a ready Cluster of v1beta1 is ready',
    object(v1beta1, 'Cluster', { phase: 'Provisioned', conditions: [old('Ready'), old('ControlPlaneReady')] }),
    { verdict: 'ready' },
  ],
  [
    'a Cluster of v1beta1 whose infrastructure has failed for good has failed',
    object(v1beta1, 'Cluster', {
      phase: 'Failed',
      failureReason: 'CreateError',
      failureMessage: 'the network cannot be created: quota exceeded',
      conditions: [old('Ready', 'False')],
    }),
    { verdict: 'failed', mentions: 'quota exceeded' },
  ],
  [
    'a MachineDeployment with all machines is ready',
    deployment({ ...counts(3), conditions: [condition('Available')] }),
    { verdict: 'ready' },
  ],
  [
    'an available MachineDeployment with an old machine progresses',
    deployment({
      ...counts(3),
      replicas: 4,
      conditions: [condition('Available'), condition('RollingOut', 'True', 'RollingOut', 'Rolling out 1 replica')],
    }),
    { verdict: 'progressing', mentions: 'Rolling out 1 replica' },
  ],
  [
    'an available MachineDeployment with fewer machines than wanted progresses',
    deployment({ ...counts(2), conditions: [condition('Available')] }),
    { verdict: 'progressing' },
  ],
  [
    'a MachineDeployment of v1beta1 with all machines is ready',
    object(
      v1beta1,
      'MachineDeployment',
      {
        phase: 'Running',
        replicas: 3,
        updatedReplicas: 3,
        readyReplicas: 3,
        availableReplicas: 3,
        conditions: [old('Ready')],
      },
      { spec: { replicas: 3 } },
    ),
    { verdict: 'ready' },
  ],
  [
    'a MachineDeployment that is scaled to zero is ready',
    deployment({ phase: 'Running', conditions: [condition('Available')] }, { spec: { replicas: 0 } }),
    { verdict: 'ready' },
  ],
  [
    'a MachineDeployment with the annotation is paused',
    deployment(
      { ...counts(3), conditions: [condition('Available')] },
      { spec: { replicas: 3 }, annotations: { 'cluster.x-k8s.io/paused': '' } },
    ),
    { verdict: 'suspended' },
  ],
  [
    'a MachineSet with an unready machine progresses, and names it',
    object(
      v1beta2,
      'MachineSet',
      {
        ...counts(1),
        conditions: [condition('MachinesReady', 'False', 'NotReady', '* Machine web-x: waiting for the node')],
      },
      { spec: { replicas: 2 } },
    ),
    { verdict: 'progressing', mentions: 'Machine web-x: waiting for the node' },
  ],
  [
    'a MachinePool that runs with all replicas is ready',
    object(v1beta1, 'MachinePool', { phase: 'Running', replicas: 2, readyReplicas: 2 }, { spec: { replicas: 2 } }),
    { verdict: 'ready' },
  ],
  [
    'a Machine with a healthy node is ready',
    object(v1beta2, 'Machine', {
      phase: 'Running',
      nodeRef: { name: 'node-1' },
      conditions: [condition('Ready'), condition('NodeHealthy'), condition('InfrastructureReady')],
    }),
    { verdict: 'ready', reached: ['observed', 'infrastructure', 'node', 'ready'] },
  ],
  [
    'a Machine of v1beta1 that is Ready and whose node is not healthy progresses',
    object(v1beta1, 'Machine', {
      phase: 'Running',
      nodeRef: { name: 'node-1' },
      conditions: [old('Ready'), old('NodeHealthy', 'False', 'the kubelet is not ready')],
    }),
    { verdict: 'progressing', mentions: 'the kubelet is not ready' },
  ],
  [
    'a MachineHealthCheck is ready while machines are unhealthy',
    object(v1beta1, 'MachineHealthCheck', {
      expectedMachines: 3,
      currentHealthy: 1,
      remediationsAllowed: 1,
      conditions: [old('RemediationAllowed')],
    }),
    { verdict: 'ready' },
  ],
  [
    'a ClusterClass whose variables are not resolved progresses',
    object(v1beta2, 'ClusterClass', {
      conditions: [
        condition('RefVersionsUpToDate'),
        condition('VariablesReady', 'False', 'VariableDiscoveryFailed', 'the extension does not answer'),
      ],
    }),
    { verdict: 'progressing', mentions: 'the extension does not answer' },
  ],
])

/** Another provider than kubeadm. */
const controlPlaneCases: readonly EntryCase[] = [
  ...sharedCases('controlplane.cluster.x-k8s.io/v1beta2', ['K0sControlPlane']),
  [
    'a control plane of a provider is ready when it is initialized',
    object('controlplane.cluster.x-k8s.io/v1beta2', 'K0sControlPlane', {
      initialization: { controlPlaneInitialized: true },
    }),
    { verdict: 'ready' },
  ],
]

const controlPlane = (conditions: readonly object[], status: object) =>
  object(
    'controlplane.cluster.x-k8s.io/v1beta2',
    'KubeadmControlPlane',
    { conditions, ...status },
    { spec: { replicas: 3 } },
  )

testEntries(clusterApiControlPlanes, [
  ...controlPlaneCases,
  ...sharedCases('controlplane.cluster.x-k8s.io/v1beta2', ['KubeadmControlPlane']),
  [
    'a control plane with all machines is not ready while it is scaled down',
    controlPlane(
      [condition('Available'), condition('ScalingDown', 'True', 'ScalingDown', 'Scaling down from 4')],
      counts(3),
    ),
    { verdict: 'progressing', mentions: 'Scaling down from 4' },
  ],
  [
    'a control plane with all machines is ready',
    controlPlane([condition('Available')], counts(3)),
    { verdict: 'ready' },
  ],
  [
    'an available control plane whose machines are replaced progresses',
    controlPlane(
      [condition('Available'), condition('RollingOut', 'True', 'RollingOut', '* Version v1.33, v1.34 required')],
      {
        ...counts(3),
        upToDateReplicas: 1,
      },
    ),
    { verdict: 'progressing', mentions: 'v1.34 required' },
  ],
  [
    'an available control plane with one of three machines progresses',
    controlPlane([condition('Available')], counts(1)),
    { verdict: 'progressing' },
  ],
])

/** Cases of the contracts of providers. */
const providerCases = (group: string, kind: string, done: string): readonly EntryCase[] => [
  ...sharedCases(`${group}/v1beta2`, [kind]),
  [
    `a ${kind} of v1beta1 that is ready is ready`,
    object(`${group}/v1beta1`, kind, { ready: true, conditions: [old('Ready')] }),
    { verdict: 'ready' },
  ],
  [
    `a ${kind} of v1beta2 that is provisioned is ready without conditions`,
    object(`${group}/v1beta2`, kind, { initialization: { [done]: true } }),
    { verdict: 'ready' },
  ],
  [
    `a ${kind} that is provisioned and not Ready progresses, and names the reason`,
    object(`${group}/v1beta2`, kind, {
      initialization: { [done]: true },
      conditions: [condition('Ready', 'False', 'InstanceNotReady', 'waiting for the instance')],
    }),
    { verdict: 'progressing', mentions: 'waiting for the instance' },
  ],
  [
    `a ${kind} whose creation is retried progresses`,
    object(`${group}/v1beta1`, kind, {
      ready: false,
      conditions: [
        { ...old('Ready', 'False', 'quota exceeded'), severity: 'Error', reason: 'InstanceProvisionFailed' },
      ],
    }),
    { verdict: 'progressing', mentions: 'quota exceeded' },
  ],
]

testEntries(clusterApiBootstrap, providerCases('bootstrap.cluster.x-k8s.io', 'KubeadmConfig', 'dataSecretCreated'))
testEntries(clusterApiInfrastructure, [
  ...providerCases('infrastructure.cluster.x-k8s.io', 'DockerMachine', 'provisioned'),
  [
    'a template is ready once it exists',
    { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2', kind: 'DockerMachineTemplate', spec: {} },
    { verdict: 'ready' },
  ],
  [
    'an identity is ready once it exists',
    { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2', kind: 'AWSClusterRoleIdentity', spec: {} },
    { verdict: 'ready' },
  ],
  ...(['True', 'False'] as const).map((status) => {
    const conditions = [{ type: 'Ready', status, reason: 'Roles' }]
    const kind = 'ROSARoleConfig'
    const sample = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2', kind, spec: {}, status: { conditions } }
    const verdict = status === 'True' ? 'ready' : 'progressing'
    return [`a kind beside the contract with Ready=${status} is ${verdict}`, sample, { verdict }] as const
  }),
  [
    'a cluster whose conditions so far are good, without an initialized infrastructure, progresses',
    {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
      kind: 'AWSCluster',
      spec: {},
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
    { verdict: 'progressing' },
  ],
])
