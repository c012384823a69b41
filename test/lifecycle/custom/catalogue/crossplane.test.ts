import {
  crossplaneDefinitions,
  crossplaneOperations,
  crossplanePackages,
  crossplaneProviders,
  upboundProviders,
} from '../../../../src/lifecycle/custom/catalogue/crossplane.ts'
import { type EntryCase, testEntries } from './cases.ts'

const metadata = { generation: 2, namespace: undefined }
const paused = { ...metadata, annotations: { 'crossplane.io/paused': 'true' } }
const available = { type: 'Ready', status: 'True', reason: 'Available', observedGeneration: 2 }
const creating = { type: 'Ready', status: 'False', reason: 'Creating' }
const synced = { type: 'Synced', status: 'True', reason: 'ReconcileSuccess', observedGeneration: 2 }
const failing = (message: string) => ({ type: 'Synced', status: 'False', reason: 'ReconcileError', message })

const bucket = (conditions: readonly object[], rest: object = {}) => ({
  apiVersion: 's3.aws.upbound.io/v1beta1',
  kind: 'Bucket',
  metadata,
  spec: { forProvider: { region: 'eu-west-1' } },
  status: { atProvider: {}, conditions },
  ...rest,
})

const managedResources: readonly EntryCase[] = [
  ['a managed resource that is Ready and Synced is ready', bucket([available, synced]), { verdict: 'ready' }],
  ['a managed resource that is being created progresses', bucket([creating, synced]), { verdict: 'progressing' }],
  [
    'a managed resource whose update is refused progresses, and names the error of the provider',
    bucket([available, failing('update failed: AccessDenied: not authorized')]),
    { verdict: 'progressing', mentions: 'AccessDenied: not authorized' },
  ],
  [
    'a managed resource is not ready while its update runs in the background',
    bucket([available, synced, { type: 'AsyncOperation', status: 'False', reason: 'Ongoing' }]),
    { verdict: 'progressing' },
  ],
  [
    'a managed resource whose update in the background has finished is ready',
    bucket([available, synced, { type: 'AsyncOperation', status: 'True', reason: 'Finished' }]),
    { verdict: 'ready' },
  ],
  [
    'a managed resource that was ready with its older spec progresses',
    bucket([
      { ...available, observedGeneration: 1 },
      { ...synced, observedGeneration: 1 },
    ]),
    { verdict: 'progressing' },
  ],
  [
    'a managed resource is not ready while Synced is of its older spec, although Ready names no generation',
    bucket([
      { ...available, observedGeneration: undefined },
      { ...synced, observedGeneration: 1 },
    ]),
    { verdict: 'progressing' },
  ],
  [
    'a managed resource with an interrupted creation has failed: the provider waits for a person',
    bucket([
      creating,
      failing(
        'cannot determine creation result - remove the crossplane.io/external-create-pending annotation if it is safe to proceed',
      ),
    ]),
    { verdict: 'failed', mentions: 'external-create-pending' },
  ],
  [
    'a managed resource that its annotation pauses is paused',
    bucket([available, { type: 'Synced', status: 'False', reason: 'ReconcilePaused' }], { metadata: paused }),
    { verdict: 'suspended' },
  ],
  [
    'a managed resource that its policies pause is paused',
    bucket([available, { type: 'Synced', status: 'False', reason: 'ReconcilePaused' }]),
    { verdict: 'suspended' },
  ],
]

/** Configurations of providers, in both groups. */
const configurations = ['ProviderConfig', 'ClusterProviderConfig', 'ProviderConfigUsage', 'StoreConfig'].map(
  (kind): EntryCase => [
    `a ${kind} is ready before a resource uses it`,
    { apiVersion: 'aws.upbound.io/v1beta1', kind, metadata, spec: {} },
    { verdict: 'ready' },
  ],
)

testEntries(upboundProviders, [...managedResources, ...configurations])
testEntries(crossplaneProviders, [...managedResources, ...configurations])

const source = 'xpkg.example.com/providers/aws:v2'
const installed = { type: 'Installed', status: 'True', reason: 'ActivePackageRevision' }
const healthy = { type: 'Healthy', status: 'True', reason: 'HealthyPackageRevision' }
const packageOf = (kind: string, currentIdentifier: string, conditions: readonly object[], spec: object = {}) => ({
  apiVersion: 'pkg.crossplane.io/v1',
  kind,
  metadata,
  spec: { package: source, ...spec },
  status: { currentIdentifier, currentRevision: 'aws-1', conditions },
})
const revision = (kind: string, desiredState: string, conditions: readonly object[]) => ({
  apiVersion: 'pkg.crossplane.io/v1',
  kind,
  metadata,
  spec: { desiredState, revision: 1 },
  status: { conditions },
})

testEntries(crossplanePackages, [
  ...['Provider', 'Function', 'Configuration'].flatMap((kind): readonly EntryCase[] => [
    [`an installed and healthy ${kind} is ready`, packageOf(kind, source, [installed, healthy]), { verdict: 'ready' }],
    [
      `a ${kind} whose older package is healthy progresses`,
      packageOf(kind, 'xpkg.example.com/providers/aws:v1', [installed, healthy]),
      { verdict: 'progressing' },
    ],
    [
      `a ${kind} whose package cannot be fetched progresses`,
      packageOf(kind, source, [
        { type: 'Installed', status: 'False', reason: 'UnpackingPackage', message: 'cannot unpack package: not found' },
      ]),
      { verdict: 'progressing', mentions: 'cannot unpack package: not found' },
    ],
    [
      `a ${kind} whose revision is not healthy names the reason`,
      packageOf(kind, source, [
        installed,
        { type: 'Healthy', status: 'False', reason: 'UnhealthyPackageRevision', message: 'runtime is not available' },
      ]),
      { verdict: 'progressing', mentions: 'runtime is not available' },
    ],
    [
      `a ${kind} with manual activation waits for a person`,
      packageOf(
        kind,
        source,
        [
          { type: 'Installed', status: 'False', reason: 'InactivePackageRevision', message: 'Package is inactive' },
          healthy,
        ],
        { revisionActivationPolicy: 'Manual' },
      ),
      { verdict: 'suspended', mentions: 'Package is inactive' },
    ],
  ]),
  ...['ProviderRevision', 'FunctionRevision', 'ConfigurationRevision'].flatMap((kind): readonly EntryCase[] => [
    [
      `a healthy ${kind} is ready`,
      revision(kind, 'Active', [{ type: 'RevisionHealthy', status: 'True' }]),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} whose runtime is not healthy progresses`,
      revision(kind, 'Active', [
        { type: 'RevisionHealthy', status: 'True' },
        { type: 'RuntimeHealthy', status: 'False', message: 'deployment is not available' },
      ]),
      { verdict: 'progressing', mentions: 'deployment is not available' },
    ],
    [
      `an inactive ${kind} is ready`,
      revision(kind, 'Inactive', [{ type: 'Healthy', status: 'Unknown' }]),
      { verdict: 'ready' },
    ],
    [
      `a paused ${kind} is paused, and the hint has the command that resumes it`,
      { ...revision(kind, 'Active', []), metadata: paused },
      { verdict: 'suspended', hint: `kubectl annotate ${kind.toLowerCase()} sample crossplane.io/paused-` },
    ],
  ]),
])

const definition = (spec: object, conditions: readonly object[], annotations = {}) => ({
  apiVersion: 'apiextensions.crossplane.io/v1',
  kind: 'CompositeResourceDefinition',
  metadata: { ...metadata, annotations },
  spec,
  status: { conditions },
})
const established = { type: 'Established', status: 'True', reason: 'WatchingCompositeResource' }

testEntries(crossplaneDefinitions, [
  ['a definition without claims is ready when it is established', definition({}, [established]), { verdict: 'ready' }],
  [
    'a definition with claims is not ready before they are offered',
    definition({ claimNames: { kind: 'Database' } }, [established]),
    { verdict: 'progressing' },
  ],
  [
    'a definition whose claims are offered is ready',
    definition({ claimNames: { kind: 'Database' } }, [established, { type: 'Offered', status: 'True' }]),
    { verdict: 'ready' },
  ],
  [
    'a paused definition is paused, and the hint has the command that resumes it',
    definition({}, [established], { 'crossplane.io/paused': 'true' }),
    { verdict: 'suspended', hint: 'kubectl annotate compositeresourcedefinition sample crossplane.io/paused-' },
  ],
])

const operation = (...conditions: readonly object[]) => ({
  apiVersion: 'ops.crossplane.io/v1alpha1',
  kind: 'Operation',
  metadata,
  spec: { mode: 'Pipeline', retryLimit: 5 },
  status: { failures: 1, conditions },
})

testEntries(crossplaneOperations, [
  [
    'a complete Operation is ready',
    operation({ type: 'Succeeded', status: 'True', reason: 'PipelineSuccess' }),
    { verdict: 'ready' },
  ],
  [
    'an Operation that repeats a step progresses',
    operation({ type: 'Succeeded', status: 'Unknown', reason: 'PipelineRunning' }, failing('cannot run step backup')),
    { verdict: 'progressing', mentions: 'cannot run step backup' },
  ],
  [
    'a paused Operation is paused, and the hint has the command that resumes it',
    operation({ type: 'Synced', status: 'False', reason: 'ReconcilePaused' }),
    { verdict: 'suspended', hint: 'kubectl annotate operation.ops.crossplane.io sample crossplane.io/paused-' },
  ],
  [
    'an Operation at its failure limit has failed',
    operation({
      type: 'Succeeded',
      status: 'False',
      reason: 'PipelineError',
      message: 'failure limit of 5 reached',
    }),
    { verdict: 'failed', mentions: 'failure limit of 5 reached' },
  ],
])
