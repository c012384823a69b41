import { flink } from '../../../../src/lifecycle/custom/catalogue/flink.ts'
import { type SampleObject, testEntries } from './cases.ts'

const deployment = (lifecycleState: string, status: object = {}, spec: object = {}): SampleObject => ({
  apiVersion: 'flink.apache.org/v1beta1',
  kind: 'FlinkDeployment',
  metadata: { generation: 2 },
  spec: { job: { state: 'running', ...spec } },
  status: { observedGeneration: 2, lifecycleState, jobStatus: { state: 'RUNNING' }, ...status },
})
const snapshot = (state: string, error = ''): SampleObject => ({
  apiVersion: 'flink.apache.org/v1beta1',
  kind: 'FlinkStateSnapshot',
  spec: {},
  status: { state, error },
})

const deployed = { reconciliationStatus: { lastReconciledSpec: '{"spec":{}}' } }

testEntries(flink, [
  ['a stable job is ready', deployment('STABLE'), { verdict: 'ready' }],
  [
    'a job of an old operator has no lifecycle state',
    deployment('STABLE', { lifecycleState: undefined, jobManagerDeploymentStatus: 'READY' }),
    { verdict: 'ready' },
  ],
  ['a job that is deployed may still be rolled back', deployment('DEPLOYED'), { verdict: 'progressing' }],
  [
    'a job that is upgraded progresses',
    deployment('UPGRADING', { jobStatus: { state: 'FINISHED' } }),
    { verdict: 'progressing' },
  ],
  ['a job that finished is ready', deployment('DEPLOYED', { jobStatus: { state: 'FINISHED' } }), { verdict: 'ready' }],
  [
    'a failed job has failed, with its error',
    deployment('FAILED', { ...deployed, jobStatus: { state: 'FAILED' }, error: '{"message":"no such savepoint"}' }),
    { verdict: 'failed', mentions: 'no such savepoint' },
  ],
  [
    'a failed job that the operator restarts progresses',
    {
      ...deployment('FAILED', { ...deployed, jobStatus: { state: 'FAILED' }, error: 'no such savepoint' }),
      spec: { flinkConfiguration: { 'kubernetes.operator.job.restart.failed': 'true' } },
    },
    { verdict: 'progressing', mentions: 'no such savepoint' },
  ],
  [
    'a job that could not be deployed yet progresses: the operator tries again',
    deployment('FAILED', { jobStatus: {}, error: '{"message":"exceeded quota: compute"}' }),
    { verdict: 'progressing', mentions: 'exceeded quota' },
  ],
  [
    'a new job with an invalid spec has failed',
    deployment('FAILED', { jobStatus: {}, error: '{"type":"….exception.ValidationException","message":"no image"}' }),
    { verdict: 'failed', mentions: 'no image' },
  ],
  ['a job that was rolled back has failed', deployment('ROLLED_BACK'), { verdict: 'failed' }],
  [
    'a job that is to be suspended is ready once it is',
    deployment('SUSPENDED', {}, { state: 'suspended' }),
    { verdict: 'ready' },
  ],
  [
    'a job that was stable before its change progresses',
    deployment('STABLE', { observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
  [
    'a stable job of a session cluster is ready',
    { ...deployment('STABLE'), kind: 'FlinkSessionJob' },
    { verdict: 'ready' },
  ],
  [
    'a failed job of a session cluster has failed',
    { ...deployment('FAILED', { ...deployed, error: 'no such class' }), kind: 'FlinkSessionJob' },
    { verdict: 'failed', mentions: 'no such class' },
  ],
  [
    'a job of a session cluster whose jar cannot be read yet progresses',
    { ...deployment('FAILED', { jobStatus: {}, error: 'no such jar' }), kind: 'FlinkSessionJob' },
    { verdict: 'progressing', mentions: 'no such jar' },
  ],
  ['a completed snapshot is ready', snapshot('COMPLETED'), { verdict: 'ready' }],
  ['a failed snapshot has failed', snapshot('FAILED', 'no storage'), { verdict: 'failed', mentions: 'no storage' }],
])
