import { cloudNativePg, crunchyPostgres, zalandoPostgres } from '../../../../src/lifecycle/custom/catalogue/postgres.ts'
import { type EntryCase, type SampleObject, testEntries } from './cases.ts'

const image = 'ghcr.io/cloudnative-pg/postgresql:17.5'

function cnpgCluster(status: object, metadata: SampleObject['metadata'] = {}): SampleObject {
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster',
    metadata: { generation: 3, ...metadata },
    spec: { instances: 3, imageName: image },
    status: { instances: 3, readyInstances: 3, image, phaseReason: '', ...status },
  }
}

const cnpg = (kind: string, spec: object, status?: object): SampleObject => ({
  apiVersion: 'postgresql.cnpg.io/v1',
  kind,
  metadata: { generation: 2 },
  spec,
  ...(status === undefined ? {} : { status }),
})

const healthy = { phase: 'Cluster in healthy state' }

testEntries(cloudNativePg, [
  ['a healthy Cluster is ready', cnpgCluster(healthy), { verdict: 'ready' }],
  [
    'a Cluster that creates a replica progresses',
    cnpgCluster({ phase: 'Creating a new replica', phaseReason: 'Creating replica main-3-join', readyInstances: 2 }),
    { verdict: 'progressing', mentions: 'Creating a new replica: Creating replica main-3-join' },
  ],
  [
    'a Cluster that is still healthy with fewer instances than its spec has a stale status',
    cnpgCluster({ ...healthy, readyInstances: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a Cluster that is still healthy with the image before has a stale status',
    cnpgCluster({ ...healthy, image: 'ghcr.io/cloudnative-pg/postgresql:17.4' }),
    { verdict: 'progressing' },
  ],
  [
    'a Cluster of an old operator has no image in its status',
    cnpgCluster({ ...healthy, image: undefined }),
    { verdict: 'ready' },
  ],
  [
    'a Cluster whose bootstrap Job failed has failed',
    cnpgCluster({
      phase: 'Cluster is unrecoverable and needs manual intervention',
      phaseReason: 'Instance creation failed for the following jobs: main-1-initdb. Check the job logs.',
      readyInstances: 0,
    }),
    { verdict: 'failed', mentions: 'main-1-initdb' },
  ],
  [
    'a Cluster whose volumes are gone has failed',
    cnpgCluster({
      phase: 'Cluster is unrecoverable and needs manual intervention',
      phaseReason: 'One or more instances were previously created, but no PersistentVolumeClaims (PVCs) exist.',
    }),
    { verdict: 'failed', mentions: 'no PersistentVolumeClaims' },
  ],
  [
    'a Cluster without an active pod may recover',
    cnpgCluster({
      phase: 'Cluster is unrecoverable and needs manual intervention',
      phaseReason: 'No pods are active, the cluster needs manual intervention ',
    }),
    { verdict: 'progressing', mentions: 'No pods are active' },
  ],
  [
    'a Cluster with an incomplete image catalog waits for it',
    cnpgCluster({ phase: 'Cluster has incomplete or invalid image catalog', phaseReason: 'catalog/pg not found' }),
    { verdict: 'progressing', mentions: 'catalog/pg not found' },
  ],
  [
    'a Cluster whose switchover a person has to start is paused',
    cnpgCluster({ phase: 'Waiting for user action', phaseReason: 'User must issue a supervised switchover' }),
    { verdict: 'suspended', mentions: 'supervised switchover' },
  ],
  [
    'a hibernated Cluster is suspended',
    cnpgCluster({ ...healthy, readyInstances: 0 }, { annotations: { 'cnpg.io/hibernation': 'on' } }),
    { verdict: 'suspended' },
  ],
  [
    'a Pooler whose pods exist is ready',
    cnpg('Pooler', { instances: 2, pgbouncer: {} }, { instances: 2, phase: 'active' }),
    { verdict: 'ready' },
  ],
  [
    'a Pooler without its cluster progresses',
    cnpg('Pooler', { instances: 2, pgbouncer: {} }, { phase: 'inactive', phaseReason: 'cluster main not found' }),
    { verdict: 'progressing', mentions: 'cluster main not found' },
  ],
  [
    'a paused Pooler is suspended',
    cnpg('Pooler', { instances: 2, pgbouncer: { paused: true } }, { instances: 2, phase: 'paused' }),
    { verdict: 'suspended' },
  ],
  ['a completed Backup is ready', cnpg('Backup', {}, { phase: 'completed' }), { verdict: 'ready' }],
  ['a started Backup progresses', cnpg('Backup', {}, { phase: 'started' }), { verdict: 'progressing' }],
  [
    'a Backup whose WAL archive does not work yet progresses',
    cnpg('Backup', {}, { phase: 'walArchivingFailing' }),
    { verdict: 'progressing' },
  ],
  [
    'a failed Backup has failed',
    cnpg('Backup', {}, { phase: 'failed', error: 'exit status 4' }),
    { verdict: 'failed', mentions: 'exit status 4' },
  ],
  ...['Publication', 'Subscription', 'DatabaseRole'].flatMap((kind): readonly EntryCase[] => [
    [`an applied ${kind} is ready`, cnpg(kind, {}, { observedGeneration: 2, applied: true }), { verdict: 'ready' }],
    [
      `a ${kind} that cannot be applied yet progresses`,
      cnpg(kind, {}, { observedGeneration: 2, applied: false, message: 'the primary is starting' }),
      { verdict: 'progressing', mentions: 'the primary is starting' },
    ],
  ]),
  [
    'an applied Database is ready',
    cnpg('Database', {}, { observedGeneration: 2, applied: true }),
    { verdict: 'ready' },
  ],
  [
    'a Database whose change cannot be applied yet keeps its old generation, and progresses',
    cnpg('Database', {}, { observedGeneration: 1, applied: false, message: 'role "app" does not exist' }),
    { verdict: 'progressing' },
  ],
  [
    'a new Database that cannot be created yet progresses with its message',
    cnpg('Database', {}, { applied: false, message: 'role "app" does not exist' }),
    { verdict: 'progressing', mentions: 'role "app" does not exist' },
  ],
])

const zalando = (PostgresClusterStatus: string): SampleObject => ({
  apiVersion: 'acid.zalan.do/v1',
  kind: 'postgresql',
  spec: { numberOfInstances: 2 },
  status: { PostgresClusterStatus },
})

testEntries(zalandoPostgres, [
  ['a running postgresql is ready', zalando('Running'), { verdict: 'ready' }],
  ['a postgresql that is created progresses', zalando('Creating'), { verdict: 'progressing' }],
  ['a postgresql that is updated progresses', zalando('Updating'), { verdict: 'progressing' }],
  ...['CreateFailed', 'UpdateFailed', 'SyncFailed'].map(
    (state): EntryCase => [
      `a postgresql in the state ${state} is repaired by the operator`,
      zalando(state),
      { verdict: 'progressing', mentions: state },
    ],
  ),
  ['an invalid postgresql has failed', zalando('Invalid'), { verdict: 'failed' }],
])

function crunchyCluster(status: object, spec: object = {}): SampleObject {
  return {
    apiVersion: 'postgres-operator.crunchydata.com/v1beta1',
    kind: 'PostgresCluster',
    metadata: { generation: 4 },
    spec: { postgresVersion: 17, instances: [{ replicas: 2 }], ...spec },
    status: {
      observedGeneration: 4,
      instances: [{ name: '00', replicas: 2, readyReplicas: 2, updatedReplicas: 2 }],
      proxy: { pgBouncer: {} },
      ...status,
    },
  }
}

testEntries(crunchyPostgres, [
  ['a PostgresCluster with all instances is ready', crunchyCluster({}), { verdict: 'ready' }],
  [
    'a PostgresCluster with an instance that is not updated progresses',
    crunchyCluster({ instances: [{ name: '00', replicas: 2, readyReplicas: 2, updatedReplicas: 1 }] }),
    { verdict: 'progressing' },
  ],
  [
    'a PostgresCluster whose repository host is not ready progresses',
    crunchyCluster({
      conditions: [
        { type: 'PGBackRestRepoHostReady', status: 'False', reason: 'RepoHostNotReady', message: 'no repo host' },
      ],
    }),
    { verdict: 'progressing', mentions: 'no repo host' },
  ],
  [
    'a PostgresCluster with a status of the older generation progresses',
    crunchyCluster({ observedGeneration: 3 }),
    { verdict: 'progressing' },
  ],
  [
    'a PostgresCluster whose backups cannot be removed without a permission is paused',
    crunchyCluster({
      conditions: [{ type: 'Progressing', status: 'False', reason: 'Paused', message: 'please fill in spec.backups' }],
    }),
    { verdict: 'suspended', mentions: 'please fill in spec.backups' },
  ],
  [
    'a paused PostgresCluster is paused',
    crunchyCluster({ observedGeneration: 3 }, { paused: true }),
    { verdict: 'suspended' },
  ],
  [
    'a PostgresCluster that is to be shut down is ready without instances',
    crunchyCluster({ instances: [{ name: '00', replicas: 2 }] }, { shutdown: true }),
    { verdict: 'ready' },
  ],
  [
    'a PGUpgrade that succeeded is ready',
    {
      apiVersion: 'postgres-operator.crunchydata.com/v1beta1',
      kind: 'PGUpgrade',
      status: {
        observedGeneration: 1,
        conditions: [{ type: 'Succeeded', status: 'True', reason: 'PGUpgradeSucceeded' }],
      },
    },
    { verdict: 'ready' },
  ],
  [
    'a PGUpgrade of a cluster that has this version already is ready',
    {
      apiVersion: 'postgres-operator.crunchydata.com/v1beta1',
      kind: 'PGUpgrade',
      status: { conditions: [{ type: 'Progressing', status: 'False', reason: 'PGUpgradeResolved' }] },
    },
    { verdict: 'ready' },
  ],
  [
    'a PGUpgrade that failed has failed',
    {
      apiVersion: 'postgres-operator.crunchydata.com/v1beta1',
      kind: 'PGUpgrade',
      status: {
        conditions: [{ type: 'Succeeded', status: 'False', reason: 'PGUpgradeFailed', message: 'Upgrade failed' }],
      },
    },
    { verdict: 'failed', mentions: 'Upgrade failed' },
  ],
])
