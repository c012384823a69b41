import {
  openshiftApps,
  openshiftBuilds,
  openshiftConfig,
  openshiftMachines,
  openshiftRoutes,
  operatorLifecycle,
} from '../../../../src/lifecycle/custom/catalogue/openshift.ts'
import { type EntryCase, testEntries } from './cases.ts'

const object = (apiVersion: string, kind: string, status: object, spec: object = {}) => ({
  apiVersion,
  kind,
  metadata: { generation: 2 },
  spec,
  status,
})
const condition = (type: string, status = 'True', reason = '', message = '') => ({ type, status, reason, message })

const subscription = (status: object, spec: object = {}) =>
  object('operators.coreos.com/v1alpha1', 'Subscription', status, { channel: 'stable', ...spec })
const latest = { state: 'AtLatestKnown', installedCSV: 'web.v2', currentCSV: 'web.v2' }
const waitsForApproval = [condition('InstallPlanPending', 'True', 'RequiresApproval', 'install-7x needs approval')]
const unresolved = (message: string) => [condition('ResolutionFailed', 'True', 'ConstraintsNotSatisfiable', message)]
const lifecycle = (kind: string, status: object) => object('operators.coreos.com/v1alpha1', kind, status)

const group = (status: object) => object('operators.coreos.com/v1', 'OperatorGroup', status)

testEntries(operatorLifecycle, [
  ['a Subscription at the latest version is ready', subscription(latest), { verdict: 'ready' }],
  [
    'a Subscription that installs progresses',
    subscription({
      state: 'UpgradePending',
      currentCSV: 'web.v2',
      conditions: [condition('InstallPlanPending', 'True', 'Installing')],
    }),
    { verdict: 'progressing' },
  ],
  [
    'a Subscription whose InstallPlan needs approval waits for a person',
    subscription({ state: 'UpgradePending', currentCSV: 'web.v2', conditions: waitsForApproval }),
    { verdict: 'suspended', mentions: 'install-7x needs approval' },
  ],
  [
    'a Subscription with the version that it names is ready, while a later one needs approval',
    subscription(
      { state: 'UpgradePending', installedCSV: 'web.v1', currentCSV: 'web.v2', conditions: waitsForApproval },
      { startingCSV: 'web.v1', installPlanApproval: 'Manual' },
    ),
    { verdict: 'ready' },
  ],
  [
    'a Subscription whose InstallPlan failed has failed',
    subscription({
      state: 'UpgradePending',
      conditions: [condition('InstallPlanFailed', 'True', 'InstallComponentFailed', 'error creating the CRD widgets')],
    }),
    { verdict: 'failed', mentions: 'error creating the CRD widgets' },
  ],
  [
    'a Subscription that cannot be resolved progresses, since a catalogue may change',
    subscription({ conditions: unresolved('no operators found in channel stable') }),
    { verdict: 'progressing', mentions: 'no operators found in channel stable' },
  ],
  [
    'a Subscription with the version before progresses while the bundle of the new one is unpacked',
    subscription({ ...latest, conditions: [condition('BundleUnpacking', 'True', 'UnpackingInProgress')] }),
    { verdict: 'progressing' },
  ],
  [
    'a Subscription with the version before progresses after the bundle of the new one could not be unpacked',
    subscription({
      ...latest,
      conditions: [condition('BundleUnpackFailed', 'True', 'BundleUnpackFailed', 'the job was active too long')],
    }),
    { verdict: 'progressing', mentions: 'the job was active too long' },
  ],
  [
    'a Subscription with the version before progresses while its new channel cannot be resolved',
    subscription({ ...latest, conditions: unresolved('channel beta is missing, subscription sample exists') }),
    { verdict: 'progressing', mentions: 'channel beta is missing' },
  ],
  [
    'a Subscription at the latest version is ready while another one of its namespace cannot be resolved',
    subscription({ ...latest, conditions: unresolved('channel beta is missing, subscription sample-2 exists') }),
    { verdict: 'ready' },
  ],
  [
    'a ClusterServiceVersion that succeeded is ready',
    lifecycle('ClusterServiceVersion', { phase: 'Succeeded' }),
    { verdict: 'ready' },
  ],
  [
    'a ClusterServiceVersion without a requirement names it',
    lifecycle('ClusterServiceVersion', {
      phase: 'Pending',
      message: 'one or more requirements couldn’t be found',
      requirementStatus: [
        { kind: 'ServiceAccount', name: 'web', status: 'Present', message: '' },
        { kind: 'CustomResourceDefinition', name: 'widgets.test', status: 'NotPresent', message: 'CRD is not present' },
      ],
    }),
    { verdict: 'progressing', mentions: 'CustomResourceDefinition widgets.test: CRD is not present' },
  ],
  [
    'a ClusterServiceVersion whose Deployment is not available progresses: OLM repeats the installation',
    lifecycle('ClusterServiceVersion', { phase: 'Failed', reason: 'InstallCheckFailed', message: 'install timeout' }),
    { verdict: 'progressing', mentions: 'install timeout' },
  ],
  [
    'a ClusterServiceVersion that OLM does not install again has failed',
    lifecycle('ClusterServiceVersion', {
      phase: 'Failed',
      reason: 'InstallComponentFailedNoRetry',
      message: 'the service account may not create roles',
    }),
    { verdict: 'failed', mentions: 'may not create roles' },
  ],
  [
    'an OperatorGroup with its namespaces is ready',
    group({ lastUpdated: '2026-01-01T00:00:00Z', namespaces: ['shop'] }),
    { verdict: 'ready' },
  ],
  ['an OperatorGroup that OLM has not read progresses', group({}), { verdict: 'progressing' }],
  [
    'one of two OperatorGroups in a namespace progresses',
    group({
      lastUpdated: '2026-01-01T00:00:00Z',
      conditions: [condition('MultipleOperatorGroup', 'True', 'MultipleOperatorGroupsFound', 'more than one in shop')],
    }),
    { verdict: 'progressing', mentions: 'more than one in shop' },
  ],
  [
    'an InstallPlan that needs approval waits for a person, and the hint has the command',
    lifecycle('InstallPlan', { phase: 'RequiresApproval' }),
    { verdict: 'suspended', hint: 'kubectl patch installplan.operators.coreos.com sample -n shop' },
  ],
  ['a complete InstallPlan is ready', lifecycle('InstallPlan', { phase: 'Complete' }), { verdict: 'ready' }],
  [
    'a CatalogSource whose registry answers is ready',
    lifecycle('CatalogSource', { connectionState: { lastObservedState: 'READY' } }),
    { verdict: 'ready' },
  ],
  [
    'a failed InstallPlan has failed',
    lifecycle('InstallPlan', {
      phase: 'Failed',
      conditions: [condition('Installed', 'False', 'InstallComponentFailed', 'no permission')],
    }),
    { verdict: 'failed', mentions: 'no permission' },
  ],
  [
    'a CatalogSource whose registry does not answer progresses',
    lifecycle('CatalogSource', { connectionState: { lastObservedState: 'TRANSIENT_FAILURE' } }),
    { verdict: 'progressing' },
  ],
])

const route = (...ingress: readonly object[]) =>
  object('route.openshift.io/v1', 'Route', {
    ingress: ingress.map((each) => ({ routerName: 'default', conditions: [each] })),
  })

testEntries(openshiftRoutes, [
  ['an admitted Route is ready', route(condition('Admitted')), { verdict: 'ready' }],
  [
    'a Route that one of two routers does not admit progresses, and names the reason',
    route(
      condition('Admitted'),
      condition('Admitted', 'False', 'HostAlreadyClaimed', 'route web already exposes shop.test'),
    ),
    { verdict: 'progressing', mentions: 'route web already exposes shop.test' },
  ],
  ['a Route that no router has read progresses', route(), { verdict: 'progressing' }],
])

const counts = { replicas: 2, updatedReplicas: 2, availableReplicas: 2, unavailableReplicas: 0 }
const deploymentConfig = (status: object, spec: object = {}) =>
  object(
    'apps.openshift.io/v1',
    'DeploymentConfig',
    { observedGeneration: 2, ...counts, ...status },
    { replicas: 2, ...spec },
  )
const done = [condition('Available'), condition('Progressing', 'True', 'NewReplicationControllerAvailable')]

testEntries(openshiftApps, [
  [
    'a DeploymentConfig whose deployment is complete is ready',
    deploymentConfig({ conditions: done }),
    { verdict: 'ready' },
  ],
  [
    'an available DeploymentConfig in the middle of a deployment progresses',
    deploymentConfig({
      updatedReplicas: 1,
      conditions: [condition('Available'), condition('Progressing', 'True', 'ReplicationControllerUpdated')],
    }),
    { verdict: 'progressing' },
  ],
  [
    'a DeploymentConfig whose deployment failed has failed',
    deploymentConfig({
      conditions: [
        condition('Available'),
        condition(
          'Progressing',
          'False',
          'ProgressDeadlineExceeded',
          'replication controller "web-2" has failed progressing',
        ),
      ],
    }),
    { verdict: 'failed', mentions: '"web-2" has failed progressing' },
  ],
  [
    'a DeploymentConfig whose replication controller cannot be created yet progresses',
    deploymentConfig({
      conditions: [condition('Progressing', 'False', 'ReplicationControllerCreateError', 'exceeded quota: compute')],
    }),
    { verdict: 'progressing', mentions: 'exceeded quota' },
  ],
  [
    'a DeploymentConfig whose deployment before failed progresses: the condition names an older replication controller',
    deploymentConfig({
      latestVersion: 3,
      conditions: [
        condition('Available'),
        condition(
          'Progressing',
          'False',
          'ProgressDeadlineExceeded',
          'replication controller "sample-2" has failed progressing',
        ),
      ],
    }),
    { verdict: 'progressing' },
  ],
  [
    'a DeploymentConfig whose latest deployment was cancelled has failed',
    deploymentConfig({
      latestVersion: 2,
      conditions: [
        condition(
          'Progressing',
          'False',
          'RolloutCancelled',
          'rollout of replication controller "sample-2" was cancelled',
        ),
      ],
    }),
    { verdict: 'failed', mentions: '"sample-2" was cancelled' },
  ],
  [
    'a DeploymentConfig whose image is not resolved yet progresses: its conditions are those of the deployment before',
    deploymentConfig({ conditions: done }, { template: { spec: { containers: [{ name: 'app', image: ' ' }] } } }),
    { verdict: 'progressing' },
  ],
  [
    'a DeploymentConfig whose older generation is complete progresses',
    deploymentConfig({ observedGeneration: 1, conditions: done }),
    { verdict: 'progressing' },
  ],
  [
    'a paused DeploymentConfig is paused',
    deploymentConfig({ conditions: done }, { paused: true }),
    { verdict: 'suspended', hint: 'oc rollout resume deploymentconfig/sample -n shop' },
  ],
])

const build = (kind: string, status: object) => object('build.openshift.io/v1', kind, status)

testEntries(openshiftBuilds, [
  ['a BuildConfig is ready when it exists', build('BuildConfig', { lastVersion: 0 }), { verdict: 'ready' }],
  [
    'a Build that runs progresses',
    build('Build', { phase: 'Running', startTimestamp: '2026-01-01T00:00:00Z' }),
    { verdict: 'progressing', reached: ['observed', 'started'] },
  ],
  ['a complete Build is ready', build('Build', { phase: 'Complete' }), { verdict: 'ready' }],
  [
    'a failed Build has failed',
    build('Build', { phase: 'Failed', reason: 'FetchSourceFailed', message: 'Failed to fetch the input source.' }),
    { verdict: 'failed', mentions: 'Failed to fetch the input source' },
  ],
])

testEntries(
  openshiftConfig,
  (
    [
      ['ClusterOperator', 'Degraded'],
      ['ClusterVersion', 'Failing'],
    ] as const
  ).flatMap(([kind, bad]): readonly EntryCase[] => {
    const part = (...conditions: readonly object[]) =>
      object('config.openshift.io/v1', kind, { conditions: [condition('Available'), ...conditions] })
    return [
      [
        `an available ${kind} is ready, also when it is not upgradeable`,
        part(condition('Progressing', 'False'), condition(bad, 'False'), condition('Upgradeable', 'False')),
        { verdict: 'ready' },
      ],
      [
        `an available ${kind} that is updated progresses`,
        part(condition('Progressing', 'True', 'Updating', 'working towards 4.20'), condition(bad, 'False')),
        { verdict: 'progressing', mentions: 'working towards 4.20' },
      ],
      [
        `an available ${kind} with a failing part progresses`,
        part(condition(bad, 'True', 'OperatorDegraded', 'the operator dns is degraded')),
        { verdict: 'progressing', mentions: 'the operator dns is degraded' },
      ],
    ]
  }),
)

const pool = (updatedMachineCount: number, conditions: readonly object[], spec: object = {}) =>
  object(
    'machineconfiguration.openshift.io/v1',
    'MachineConfigPool',
    { observedGeneration: 2, machineCount: 3, updatedMachineCount, conditions },
    spec,
  )

testEntries(openshiftMachines, [
  ['a pool with all machines updated is ready', pool(3, [condition('Updated')]), { verdict: 'ready' }],
  [
    'a pool that is updated progresses',
    pool(1, [condition('Updated', 'False'), condition('Updating')]),
    { verdict: 'progressing' },
  ],
  [
    'a pool with all machines updated is not ready while a machine is degraded',
    pool(3, [
      condition('Updated'),
      condition('Degraded'),
      condition('NodeDegraded', 'True', 'Failed', 'node a cannot reboot'),
    ]),
    { verdict: 'progressing', mentions: 'node a cannot reboot' },
  ],
  [
    'a paused pool is paused, and the hint has the command that resumes it',
    pool(1, [], { paused: true }),
    { verdict: 'suspended', hint: 'kubectl patch machineconfigpool sample' },
  ],
])
