import { rookCeph } from '../../../../src/lifecycle/custom/catalogue/rook.ts'
import { type SampleObject, testEntries } from './cases.ts'

const ceph = (kind: string, status: object, spec: object = {}): SampleObject => ({
  apiVersion: 'ceph.rook.io/v1',
  kind,
  metadata: { generation: 2 },
  spec,
  status: { observedGeneration: 2, ...status },
})

testEntries(rookCeph, [
  [
    'a cluster that is orchestrated is ready, with a warning too',
    ceph('CephCluster', {
      phase: 'Ready',
      message: 'Cluster created successfully',
      ceph: { health: 'HEALTH_WARN', details: { MON_DISK_LOW: { severity: 'HEALTH_WARN', message: 'mon a is low' } } },
    }),
    { verdict: 'ready' },
  ],
  [
    'a cluster whose daemons are created progresses, with the present step',
    ceph('CephCluster', { phase: 'Progressing', state: 'Creating', message: 'Configuring Ceph OSDs' }),
    { verdict: 'progressing', mentions: 'Configuring Ceph OSDs' },
  ],
  [
    'a cluster with an error of Ceph is not ready, and the error is quoted',
    ceph('CephCluster', {
      phase: 'Ready',
      message: 'Cluster created successfully',
      ceph: {
        health: 'HEALTH_ERR',
        details: { MDS_ALL_DOWN: { severity: 'HEALTH_ERR', message: '1 filesystem is offline' } },
      },
    }),
    { verdict: 'progressing', mentions: '1 filesystem is offline' },
  ],
  [
    'a cluster that was orchestrated before its change progresses',
    ceph('CephCluster', { observedGeneration: 1, phase: 'Ready' }),
    { verdict: 'progressing' },
  ],
  [
    'an external cluster is ready once it is connected',
    ceph('CephCluster', { observedGeneration: undefined, phase: 'Connected' }, { external: { enable: true } }),
    { verdict: 'ready' },
  ],
  ['a pool that exists is ready', ceph('CephBlockPool', { phase: 'Ready' }), { verdict: 'ready' }],
  [
    'a pool that could not be created is tried again',
    ceph('CephBlockPool', { observedGeneration: undefined, phase: 'Failure' }),
    { verdict: 'progressing' },
  ],
  [
    'a filesystem of the older generation progresses',
    ceph('CephFilesystem', { observedGeneration: 1, phase: 'Ready' }),
    { verdict: 'progressing' },
  ],
  [
    'an object store that fails progresses, with its message',
    ceph('CephObjectStore', { phase: 'Failure', message: 'failed to create object store deployments' }),
    { verdict: 'progressing', mentions: 'failed to create object store deployments' },
  ],
  [
    'a user whose reconciliation failed progresses',
    ceph('CephObjectStoreUser', { phase: 'ReconcileFailed' }),
    { verdict: 'progressing' },
  ],
])
