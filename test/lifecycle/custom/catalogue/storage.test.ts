import { minio, volumeGroupSnapshots, volumeSnapshots } from '../../../../src/lifecycle/custom/catalogue/storage.ts'
import { type SampleObject, testEntries } from './cases.ts'

const snapshot = (status: object): SampleObject => ({
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshot',
  spec: { source: { persistentVolumeClaimName: 'data' } },
  status,
})

testEntries(volumeSnapshots, [
  [
    'a snapshot that can be used is ready',
    snapshot({ readyToUse: true, boundVolumeSnapshotContentName: 'snapcontent-1' }),
    { verdict: 'ready' },
  ],
  ['a snapshot that is taken progresses', snapshot({ readyToUse: false }), { verdict: 'progressing' }],
  [
    'a snapshot with an error is taken again, and the error is quoted',
    snapshot({ readyToUse: false, error: { message: 'failed to get snapshot class', time: '2026-01-01T00:00:00Z' } }),
    { verdict: 'progressing', mentions: 'failed to get snapshot class' },
  ],
  [
    'a snapshot whose status contains only an error is taken again',
    snapshot({ error: { message: 'failed to get input parameters', time: '2026-01-01T00:00:00Z' } }),
    { verdict: 'progressing', mentions: 'failed to get input parameters' },
  ],
  [
    'a snapshot that can be used is ready, although an earlier error is still there',
    snapshot({ readyToUse: true, error: { message: 'failed to get snapshot class' } }),
    { verdict: 'ready' },
  ],
  [
    'the content of a snapshot that can be used is ready',
    { ...snapshot({ readyToUse: true, snapshotHandle: 'snap-1' }), kind: 'VolumeSnapshotContent' },
    { verdict: 'ready' },
  ],
  [
    'the content of a snapshot with an error is requested from the driver again',
    { ...snapshot({ readyToUse: false, error: { message: 'no such volume' } }), kind: 'VolumeSnapshotContent' },
    { verdict: 'progressing', mentions: 'no such volume' },
  ],
])

const groupSnapshot = (kind: string, status: object): SampleObject => ({
  apiVersion: 'groupsnapshot.storage.k8s.io/v1',
  kind,
  spec: {},
  status,
})

testEntries(
  volumeGroupSnapshots,
  ['VolumeGroupSnapshot', 'VolumeGroupSnapshotContent'].flatMap((kind) => [
    [`a ${kind} that can be used is ready`, groupSnapshot(kind, { readyToUse: true }), { verdict: 'ready' }],
    [`a ${kind} that is taken progresses`, groupSnapshot(kind, { readyToUse: false }), { verdict: 'progressing' }],
    [
      `a ${kind} with an error is taken again`,
      groupSnapshot(kind, { readyToUse: false, error: { message: 'no such volume' } }),
      { verdict: 'progressing', mentions: 'no such volume' },
    ],
  ]),
)

const tenant = (status: object): SampleObject => ({
  apiVersion: 'minio.min.io/v2',
  kind: 'Tenant',
  spec: { pools: [{ servers: 4 }] },
  status: {
    currentState: 'Initialized',
    healthStatus: 'green',
    pools: [{ ssName: 'tenant-pool-0', state: 'PoolInitialized' }],
    ...status,
  },
})

testEntries(minio, [
  ['a green Tenant is ready', tenant({}), { verdict: 'ready' }],
  [
    'a Tenant that is provisioned progresses, with the present step',
    tenant({ currentState: 'Provisioning MinIO Statefulset', healthStatus: 'red', pools: [] }),
    { verdict: 'progressing', mentions: 'Provisioning MinIO Statefulset' },
  ],
  [
    'a Tenant that is updated progresses',
    tenant({ currentState: 'Updating MinIO Version' }),
    { verdict: 'progressing' },
  ],
  [
    'a Tenant with drives that are gone is not ready',
    tenant({ healthStatus: 'yellow', healthMessage: 'Some drives are offline' }),
    { verdict: 'progressing', mentions: 'Some drives are offline' },
  ],
  ['a Tenant without its new pool has a stale status', tenant({ pools: [] }), { verdict: 'progressing' }],
  [
    'a second Tenant of a namespace has failed',
    tenant({ currentState: 'Another MinIO Tenant already exists in the namespace', pools: [] }),
    { verdict: 'failed', mentions: 'Another MinIO Tenant already exists' },
  ],
])
