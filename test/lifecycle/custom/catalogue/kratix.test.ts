import { kratix } from '../../../../src/lifecycle/custom/catalogue/kratix.ts'
import { condition } from '../../builders.ts'
import { testEntries } from './cases.ts'

const promise = (...conditions: readonly object[]) => ({
  apiVersion: 'platform.kratix.io/v1alpha1',
  kind: 'Promise',
  metadata: { generation: 2 },
  spec: { dependencies: [] },
  status: { observedGeneration: 2, status: 'Available', conditions },
})
const available = condition('Available', 'True', { reason: 'PromiseAvailable' })

testEntries(kratix, [
  [
    'a Promise whose works are written is ready',
    promise(available, condition('ConfigureWorkflowCompleted', 'True'), condition('WorksSucceeded', 'True')),
    { verdict: 'ready' },
  ],
  ['a Promise of an older version has one condition', promise(available), { verdict: 'ready' }],
  [
    'an available Promise whose pipelines run progresses',
    promise(
      available,
      condition('ConfigureWorkflowCompleted', 'False', {
        reason: 'PipelinesInProgress',
        message: 'Pipelines are still in progress',
      }),
    ),
    { verdict: 'progressing', mentions: 'Pipelines are still in progress' },
  ],
  [
    'a Promise whose pipeline failed has failed: it runs again after a change',
    promise(
      available,
      condition('ConfigureWorkflowCompleted', 'False', {
        reason: 'ConfigureWorkflowFailed',
        message: 'A Configure Pipeline has failed: setup',
      }),
      condition('Reconciled', 'False', { reason: 'ConfigureWorkflowFailed', message: 'Failing' }),
    ),
    { verdict: 'failed', mentions: 'A Configure Pipeline has failed: setup' },
  ],
  [
    'a Promise whose works find no destination waits for one, and the works are named',
    promise(
      available,
      condition('WorksSucceeded', 'False', { reason: 'WorksMisplaced', message: 'Some works are misplaced: [web]' }),
      condition('Reconciled', 'False', { reason: 'WorksFailing', message: 'Failing' }),
    ),
    { verdict: 'progressing', mentions: 'Some works are misplaced: [web]' },
  ],
  [
    'a Promise without another one that it requires waits for it',
    promise(
      condition('Available', 'False', { reason: 'PromiseUnavailable' }),
      condition('RequirementsFulfilled', 'False', {
        reason: 'RequirementsNotInstalled',
        message: 'Requirements not fulfilled',
      }),
    ),
    { verdict: 'progressing', mentions: 'Requirements not fulfilled' },
  ],
  [
    'a paused Promise is paused',
    promise(condition('Reconciled', 'Unknown', { reason: 'PausedReconciliation', message: 'Paused' })),
    { verdict: 'suspended' },
  ],
])
