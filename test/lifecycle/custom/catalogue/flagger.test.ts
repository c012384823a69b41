import { flagger } from '../../../../src/lifecycle/custom/catalogue/flagger.ts'
import { condition } from '../../builders.ts'
import { testEntries } from './cases.ts'

const canary = (
  phase: string,
  promoted: 'True' | 'False' | 'Unknown' = 'Unknown',
  message = '',
  spec: object = {},
) => ({
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { generation: 1 },
  spec: {
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    analysis: { interval: '30s' },
    ...spec,
  },
  status: { phase, canaryWeight: 0, failedChecks: 0, conditions: [condition('Promoted', promoted, { message })] },
})

testEntries(flagger, [
  ['a Canary whose primary was created is ready', canary('Initialized', 'True'), { verdict: 'ready' }],
  ['a Canary that was promoted is ready', canary('Succeeded', 'True'), { verdict: 'ready' }],
  [
    'a Canary that analyses progresses, in its own time',
    canary('Progressing', 'Unknown', 'progressing canary analysis'),
    { verdict: 'progressing', mentions: 'progressing canary analysis', isHeld: true },
  ],
  [
    'a Canary whose primary is updated progresses',
    canary('Promoting', 'Unknown', 'starting the update of the primary'),
    { verdict: 'progressing', isHeld: true },
  ],
  [
    'a Canary that was rolled back has failed',
    canary('Failed', 'False', 'the analysis failed, web was scaled to zero'),
    { verdict: 'failed', mentions: 'the analysis failed' },
  ],
  [
    'a Canary that waits for approval is suspended',
    canary('WaitingPromotion', 'Unknown', 'waiting for approval'),
    { verdict: 'suspended', mentions: 'waiting for approval' },
  ],
  [
    'a Canary that its spec suspends is suspended',
    canary('Succeeded', 'True', '', { suspend: true }),
    { verdict: 'suspended' },
  ],
])
