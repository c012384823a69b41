import { victoriaMetrics } from '../../../../src/lifecycle/custom/catalogue/victoria-metrics.ts'
import { type SampleObject, testEntries } from './cases.ts'

const object = (kind: string, status?: object, spec: object = {}): SampleObject => ({
  apiVersion: 'operator.victoriametrics.com/v1beta1',
  kind,
  metadata: { generation: 2 },
  spec,
  ...(status && { status: { observedGeneration: 2, ...status } }),
})

testEntries(victoriaMetrics, [
  [
    'a VMSingle is ready when it is operational',
    object('VMSingle', { updateStatus: 'operational' }),
    { verdict: 'ready' },
  ],
  [
    'a VMCluster that expands progresses',
    object('VMCluster', { updateStatus: 'expanding' }),
    { verdict: 'progressing' },
  ],
  [
    'a VMSingle that was operational before the change progresses',
    object('VMSingle', { updateStatus: 'operational', observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a VMAgent whose reconciliation failed is tried again',
    object('VMAgent', { updateStatus: 'failed', reason: 'cannot fetch secret: secrets "token" not found' }),
    { verdict: 'progressing', mentions: 'secrets "token" not found' },
  ],
  [
    'a VMAlert that the operator cannot parse has failed',
    object('VMAlert', { updateStatus: 'failed', reason: 'parsing object error for object controller="vmalert": "x"' }),
    { verdict: 'failed', mentions: 'parsing object error' },
  ],
  [
    'a paused VMAuth waits for a person',
    object('VMAuth', { updateStatus: 'paused' }, { paused: true }),
    { verdict: 'suspended', hint: 'kubectl patch vmauth sample -n shop' },
  ],
  ['a VMRule that no VMAlert selects is ready', object('VMRule'), { verdict: 'ready' }],
  [
    'a VMRule that a VMAlert has applied is ready',
    object('VMRule', { updateStatus: 'operational' }),
    { verdict: 'ready' },
  ],
  [
    'a VMRule that no VMAlert accepts has failed',
    object('VMRule', { updateStatus: 'failed', reason: 'cannot parse the expression' }),
    { verdict: 'failed', mentions: 'cannot parse the expression' },
  ],
  [
    'a VMRule with a failure in the fields of an older version has failed',
    object('VMRule', { status: 'failed', lastSyncError: 'cannot parse the expression' }),
    { verdict: 'failed', mentions: 'status is failed' },
  ],
  [
    'a VMUser whose Secret is missing progresses',
    object('VMUser', { updateStatus: 'failed', reason: 'cannot fetch secret: secrets "user" not found' }),
    { verdict: 'progressing', mentions: 'secrets "user" not found' },
  ],
])
