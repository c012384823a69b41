import {
  awsControllers,
  awsControllersCore,
  azureServiceOperator,
  configConnector,
  configConnectorCore,
} from '../../../../src/lifecycle/custom/catalogue/cloud-resources.ts'
import { type EntryCase, testEntries } from './cases.ts'

const metadata = { generation: 2 }
const object = (apiVersion: string, kind: string, status: object) => ({ apiVersion, kind, metadata, spec: {}, status })

const queue = (...conditions: readonly object[]) => object('sqs.services.k8s.aws/v1alpha1', 'Queue', { conditions })
const notSynced = { type: 'ACK.ResourceSynced', status: 'False', message: 'Resource not synced' }
const synced = { type: 'ACK.ResourceSynced', status: 'True', message: 'Resource synced successfully' }

testEntries(awsControllers, [
  ['a resource of ACK that is synced is ready', queue(synced), { verdict: 'ready' }],
  ['a resource of ACK that AWS is changing progresses', queue(notSynced), { verdict: 'progressing' }],
  [
    'a resource of ACK without a permission progresses, since it is retried',
    queue(
      { type: 'ACK.ResourceSynced', status: 'Unknown' },
      { type: 'ACK.Recoverable', status: 'True', message: 'AccessDeniedException: not authorized' },
    ),
    { verdict: 'progressing', mentions: 'AccessDeniedException: not authorized' },
  ],
  [
    'a resource of ACK whose spec AWS refuses has failed',
    queue(notSynced, { type: 'ACK.Terminal', status: 'True', message: 'InvalidParameterValue: delay is too long' }),
    { verdict: 'failed', mentions: 'InvalidParameterValue: delay is too long' },
  ],
])

const core = (kind: string, conditions?: readonly object[]) =>
  object('services.k8s.aws/v1alpha1', kind, conditions === undefined ? {} : { conditions })

testEntries(awsControllersCore, [
  [
    'an AdoptedResource is ready when it is adopted',
    core('AdoptedResource', [{ type: 'ACK.Adopted', status: 'True' }]),
    { verdict: 'ready' },
  ],
  ...['AdoptedResource', 'FieldExport'].map(
    (kind): EntryCase => [
      `a ${kind} that cannot work has failed`,
      core(kind, [{ type: 'ACK.Terminal', status: 'True', message: 'the kind is not known' }]),
      { verdict: 'failed', mentions: 'the kind is not known' },
    ],
  ),
  ['an IAMRoleSelector is ready without a status', core('IAMRoleSelector'), { verdict: 'ready' }],
  ['a FieldExport without an error is ready', core('FieldExport'), { verdict: 'ready' }],
  [
    'a FieldExport that is retried progresses',
    core('FieldExport', [{ type: 'ACK.Recoverable', status: 'True', message: 'the source has no such field yet' }]),
    { verdict: 'progressing', mentions: 'the source has no such field yet' },
  ],
])

const topic = (observedGeneration: number, status: string, reason: string, message = '') =>
  object('pubsub.cnrm.cloud.google.com/v1beta1', 'PubSubTopic', {
    observedGeneration,
    conditions: [{ type: 'Ready', status, reason, message }],
  })

testEntries(configConnector, [
  ['a resource of Config Connector that is up to date is ready', topic(2, 'True', 'UpToDate'), { verdict: 'ready' }],
  [
    'a resource whose older generation is up to date progresses',
    topic(1, 'True', 'UpToDate'),
    { verdict: 'progressing' },
  ],
  [
    'a resource whose update fails progresses, since it is retried',
    topic(2, 'False', 'UpdateFailed', 'Update call failed: googleapi: Error 403: permission denied'),
    { verdict: 'progressing', mentions: 'Error 403: permission denied' },
  ],
  [
    'a resource whose dependency is not ready progresses',
    topic(2, 'False', 'DependencyNotReady', 'reference KMSCryptoKey shop/key is not ready'),
    { verdict: 'progressing', mentions: 'KMSCryptoKey shop/key is not ready' },
  ],
])

const connector = (kind: string, healthy: boolean, errors: readonly string[] = []) =>
  object('core.cnrm.cloud.google.com/v1beta1', kind, { healthy, errors })

testEntries(
  configConnectorCore,
  ['ConfigConnector', 'ConfigConnectorContext'].flatMap((kind): readonly EntryCase[] => [
    [`a healthy ${kind} is ready`, connector(kind, true), { verdict: 'ready' }],
    [
      `a ${kind} that is not healthy names its error`,
      connector(kind, false, ['the controller has no replica']),
      { verdict: 'progressing', mentions: 'the controller has no replica' },
    ],
  ]),
)

const account = (status: string, severity?: string, message = '', observedGeneration = 2) =>
  object('storage.azure.com/v1api20230101', 'StorageAccount', {
    conditions: [{ type: 'Ready', status, severity, reason: 'Reconciling', message, observedGeneration }],
  })

testEntries(azureServiceOperator, [
  ['a resource of Azure Service Operator that is Ready is ready', account('True'), { verdict: 'ready' }],
  [
    'a resource whose older generation is Ready progresses',
    account('True', undefined, '', 1),
    { verdict: 'progressing' },
  ],
  [
    'a resource that is being created progresses',
    account('False', 'Info', 'The resource is in the process of being reconciled by the operator'),
    { verdict: 'progressing' },
  ],
  [
    'a resource whose owner does not exist progresses, since it is retried',
    account('False', 'Warning', 'shop/rg, Group/Kind: resources.azure.com/ResourceGroup does not exist'),
    { verdict: 'progressing', mentions: 'ResourceGroup does not exist' },
  ],
  [
    'a resource that Azure refuses for good has failed',
    account('False', 'Error', 'the name is not available'),
    { verdict: 'failed', mentions: 'the name is not available' },
  ],
])
