import { kro } from '../../../../src/lifecycle/custom/catalogue/kro.ts'
import { type SampleObject, testEntries } from './cases.ts'

const condition = (type: string, status: string, message = '', observedGeneration = 2) => ({
  type,
  status,
  reason: type,
  message,
  observedGeneration,
})

const object = (kind: string, status: object, metadata: object = {}): SampleObject => ({
  apiVersion: 'kro.run/v1alpha1',
  kind,
  metadata: { generation: 2, ...metadata },
  spec: {},
  status,
})

testEntries(kro, [
  [
    'a ResourceGraphDefinition is ready when it is active',
    object('ResourceGraphDefinition', { state: 'Active', conditions: [condition('Ready', 'True')] }),
    { verdict: 'ready' },
  ],
  [
    'a ResourceGraphDefinition whose conditions are older than its spec progresses',
    object('ResourceGraphDefinition', { state: 'Active', conditions: [condition('Ready', 'True', '', 1)] }),
    { verdict: 'progressing' },
  ],
  [
    'a ResourceGraphDefinition that refers to an unknown kind names the kind',
    object('ResourceGraphDefinition', {
      state: 'Inactive',
      conditions: [
        condition('GraphAccepted', 'False', 'no schema for Bucket'),
        condition('Ready', 'False', 'no schema for Bucket'),
      ],
    }),
    { verdict: 'progressing', mentions: 'no schema for Bucket' },
  ],
  [
    'an instance is ready when it is active',
    object('WebApp', { state: 'ACTIVE', conditions: [condition('Ready', 'True')] }),
    { verdict: 'ready' },
  ],
  [
    'an instance with the conditions of its definition is ready when it is active',
    object('WebApp', { state: 'ACTIVE', conditions: [condition('DatabaseReachable', 'True')] }),
    { verdict: 'ready' },
  ],
  [
    'an instance whose resources wait for each other progresses',
    object('WebApp', {
      state: 'IN_PROGRESS',
      conditions: [condition('ResourcesReady', 'False', 'waiting for node "db"'), condition('Ready', 'False')],
    }),
    { verdict: 'progressing', mentions: 'waiting for node "db"' },
  ],
  [
    'an instance with an error is reconciled again',
    object('WebApp', {
      state: 'ERROR',
      conditions: [condition('ResourcesReady', 'False', 'apply failed'), condition('Ready', 'False')],
    }),
    { verdict: 'progressing', mentions: 'apply failed' },
  ],
  [
    'an instance whose reconciliation is suspended waits for a person',
    object('WebApp', { state: 'ACTIVE' }, { annotations: { 'kro.run/reconcile': 'suspended' } }),
    { verdict: 'suspended', hint: 'kubectl annotate webapp sample -n shop kro.run/reconcile-' },
  ],
])
