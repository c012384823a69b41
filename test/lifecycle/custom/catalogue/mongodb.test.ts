import { mongoDb, mongoDbCommunity } from '../../../../src/lifecycle/custom/catalogue/mongodb.ts'
import { type EntryCase, type SampleObject, testEntries } from './cases.ts'

const community = (status: object): SampleObject => ({
  apiVersion: 'mongodbcommunity.mongodb.com/v1',
  kind: 'MongoDBCommunity',
  metadata: { generation: 2 },
  spec: { members: 3, version: '8.0.4' },
  status: { phase: 'Running', version: '8.0.4', currentMongoDBMembers: 3, currentStatefulSetReplicas: 3, ...status },
})

testEntries(mongoDbCommunity, [
  ['a running replica set is ready', community({}), { verdict: 'ready' }],
  [
    'a pending replica set progresses',
    community({ phase: 'Pending', message: 'ReplicaSet is not yet ready, retrying in 10 seconds' }),
    { verdict: 'progressing', mentions: 'ReplicaSet is not yet ready' },
  ],
  [
    'a running replica set of the older version has a stale status',
    community({ version: '7.0.1' }),
    { verdict: 'progressing' },
  ],
  [
    'a running replica set that is to grow has a stale status',
    community({ currentMongoDBMembers: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a reconciliation that failed is repeated',
    community({ phase: 'Failed', message: 'Error ensuring User config: Secret "app" not found' }),
    { verdict: 'progressing', mentions: 'Secret "app" not found' },
  ],
  [
    'an invalid replica set has failed',
    community({ phase: 'Failed', message: 'error validating new Spec: arbiters must be less than members' }),
    { verdict: 'failed', mentions: 'arbiters must be less than members' },
  ],
])

const resource = (kind: string, status: object): SampleObject => ({
  apiVersion: 'mongodb.com/v1',
  kind,
  metadata: { generation: 2 },
  spec: {},
  status,
})
const part = (phase: string, rest: object = {}) => ({ phase, observedGeneration: 2, ...rest })

testEntries(mongoDb, [
  ...['MongoDB', 'MongoDBMultiCluster', 'MongoDBSearch'].flatMap((kind): readonly EntryCase[] => [
    [`a running ${kind} is ready`, resource(kind, part('Running')), { verdict: 'ready' }],
    [`a pending ${kind} progresses`, resource(kind, part('Pending')), { verdict: 'progressing' }],
    [`a disabled ${kind} is suspended`, resource(kind, part('Disabled')), { verdict: 'suspended' }],
  ]),
  [
    'a MongoDB that waits progresses',
    resource('MongoDB', part('Pending', { message: 'Some agents failed to register' })),
    { verdict: 'progressing', mentions: 'Some agents failed to register' },
  ],
  [
    'a MongoDB that ran before its change progresses',
    resource('MongoDB', part('Running', { observedGeneration: 1 })),
    { verdict: 'progressing' },
  ],
  [
    'a failed MongoDB is reconciled again',
    resource('MongoDB', part('Failed', { message: 'no project' })),
    { verdict: 'progressing', mentions: 'no project' },
  ],
  ['an unsupported MongoDB has failed', resource('MongoDB', part('Unsupported')), { verdict: 'failed' }],
  [
    'an Ops Manager whose parts run is ready',
    resource('MongoDBOpsManager', {
      opsManager: part('Running'),
      applicationDatabase: part('Running'),
      backup: part('Disabled'),
    }),
    { verdict: 'ready' },
  ],
  [
    'an Ops Manager with a part of the older generation progresses',
    resource('MongoDBOpsManager', {
      opsManager: part('Running', { observedGeneration: 1 }),
      applicationDatabase: part('Running'),
    }),
    { verdict: 'progressing' },
  ],
  [
    'an Ops Manager whose database is pending progresses, with the message of the database',
    resource('MongoDBOpsManager', {
      opsManager: part('Running'),
      applicationDatabase: part('Pending', { message: 'StatefulSet not ready' }),
    }),
    { verdict: 'progressing', mentions: 'StatefulSet not ready' },
  ],
  ['an updated MongoDBUser is ready', resource('MongoDBUser', part('Updated')), { verdict: 'ready' }],
])
