import { kargo } from '../../../../src/lifecycle/custom/catalogue/kargo.ts'
import { condition } from '../../builders.ts'
import { type EntryCase, testEntries } from './cases.ts'

const promotion = (phase: string, status: object = {}) => ({
  apiVersion: 'kargo.akuity.io/v1alpha1',
  kind: 'Promotion',
  spec: { stage: 'prod', freight: 'f00' },
  status: { phase, ...status },
})
const stage = (...conditions: readonly object[]) => ({
  apiVersion: 'kargo.akuity.io/v1alpha1',
  kind: 'Stage',
  metadata: { generation: 3 },
  spec: { requestedFreight: [] },
  status: { observedGeneration: 3, conditions: conditions.map((each) => ({ observedGeneration: 3, ...each })) },
})
const reconciling = condition('Reconciling', 'True', { reason: 'Reconciling' })
const warehouse = (...conditions: readonly object[]) => ({ ...stage(...conditions, reconciling), kind: 'Warehouse' })

testEntries(kargo, [
  ['a Promotion that succeeded is ready', promotion('Succeeded'), { verdict: 'ready' }],
  ['a Promotion in the queue of its Stage progresses', promotion('Pending'), { verdict: 'progressing' }],
  [
    'a Promotion whose step is repeated progresses, and the step is quoted',
    promotion('Running', {
      stepExecutionMetadata: [{ alias: 'push', status: 'Running', message: 'connection refused' }],
    }),
    { verdict: 'progressing', mentions: 'push: connection refused' },
  ],
  ...['Failed', 'Errored', 'Aborted'].map(
    (phase): EntryCase => [
      `a Promotion in the phase ${phase} is not repeated, and has failed`,
      promotion(phase, { message: 'step "push" met error threshold of 1' }),
      { verdict: 'failed', mentions: 'step "push" met error threshold of 1' },
    ],
  ),
  ['a verified Stage is ready', stage(condition('Ready', 'True', { reason: 'Verified' })), { verdict: 'ready' }],
  [
    'a Stage that is promoted progresses, and stops the stall clock',
    stage(
      condition('Promoting', 'True', { reason: 'ActivePromotion', message: 'Promotion "p" is Running' }),
      condition('Ready', 'False', { reason: 'ActivePromotion', message: 'Promotion "p" is Running' }),
      reconciling,
    ),
    { verdict: 'progressing', isHeld: true, mentions: 'Promotion "p" is Running' },
  ],
  [
    'a Stage whose last Promotion failed waits for the next one, and quotes it: the Promotion may be older than the spec',
    stage(condition('Ready', 'False', { reason: 'LastPromotionErrored', message: 'no such repository' }), reconciling),
    { verdict: 'progressing', isHeld: false, mentions: 'no such repository' },
  ],
  [
    'a Stage whose Application is degraded may recover',
    stage(condition('Ready', 'False', { reason: 'Unhealthy', message: 'Application "web" is Degraded' }), reconciling),
    { verdict: 'progressing', isHeld: false, mentions: 'Application "web" is Degraded' },
  ],
  [
    'a Warehouse with artifacts is ready',
    { ...stage(condition('Ready', 'True')), kind: 'Warehouse' },
    { verdict: 'ready' },
  ],
  [
    'a Warehouse that discovers artifacts stops the stall clock',
    warehouse(condition('Ready', 'False', { message: 'Waiting for discovery' }), condition('Healthy', 'Unknown')),
    { verdict: 'progressing', isHeld: true, mentions: 'Waiting for discovery' },
  ],
  [
    'a Warehouse whose discovery failed is tried again',
    warehouse(condition('Ready', 'False', { message: 'authentication required' }), condition('Healthy', 'False')),
    { verdict: 'progressing', isHeld: false, mentions: 'authentication required' },
  ],
])
