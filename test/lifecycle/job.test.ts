import type { Job, JobSpec, JobStatus, KubeObject } from '../../src/cluster/objects.ts'
import { jobRule } from '../../src/lifecycle/job.ts'
import {
  condition,
  crashLoopStatus,
  createPod,
  createTemplate,
  deadStatus,
  type Overrides,
  podStatus,
  readyStatus,
  seenPod,
  seenTarget,
  type ViewOptions,
  view,
  waiting,
} from './builders.ts'

function createJob({ metadata, spec, status }: Overrides<JobSpec, JobStatus> = {}): Job {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid', generation: 1, ...metadata },
    spec: { completions: 1, selector: { matchLabels: { app: 'web' } }, template: createTemplate(), ...spec },
    ...(status === undefined ? {} : { status }),
  }
}

const jobPod = (status = readyStatus(1), name = 'migrate-a') => createPod({ metadata: { name }, status }, createJob())

function judge(job: Job, objects: readonly KubeObject[] = [], options: ViewOptions = {}) {
  return jobRule.assess(job, view({ now: 60, history: seenTarget([0, job]), ...options, objects }))
}

describe('a Job', () => {
  it('is ready when its controller says Complete, and stays so', () => {
    const status = { succeeded: 1, failed: 2, conditions: [condition('Complete', 'True')] }
    expect(judge(createJob({ status }))).toMatchObject({
      status: 'ready',
      completed: true,
      message: 'complete, 1 succeeded',
      notes: ['2 failed before it completed'],
    })
  })

  it('is not ready before that, although its pods have succeeded', () => {
    const status = { succeeded: 1, conditions: [condition('SuccessCriteriaMet', 'True')] }
    expect(judge(createJob({ status }))).toMatchObject({
      status: 'progressing',
      message: 'waiting for the controller to say Complete',
    })
  })

  it('waits for its first pod', () => {
    expect(judge(createJob())).toMatchObject({ status: 'progressing', message: 'waiting for its first pod' })
  })

  it('is given time while a container runs', () => {
    expect(judge(createJob({ status: { active: 1 } }), [jobPod()]).patience).toBe('its containers are running')
  })

  it.each([
    ['Failed', 'BackoffLimitExceeded', 'job-failed', 'the Job failed: enough (BackoffLimitExceeded)'],
    ['FailureTarget', 'PodFailurePolicy', 'job-failed', 'the Job failed: enough (PodFailurePolicy)'],
    ['Failed', 'DeadlineExceeded', 'job-deadline-exceeded', 'ran longer than its activeDeadlineSeconds of 3 s'],
  ])('has failed at once when its controller says %s (%s)', (type, reason, code, message) => {
    const status = { failed: 1, conditions: [condition(type, 'True', { reason, message: 'enough' })] }
    expect(judge(createJob({ spec: { activeDeadlineSeconds: 3 }, status })).failure).toMatchObject({
      reason: code,
      class: 'terminal',
      subject: 'job/migrate',
      message,
    })
  })

  it('points at the container that failed last', () => {
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })]
    const objects = [jobPod(deadStatus(1, 40), 'migrate-a'), jobPod(deadStatus(1, 20), 'migrate-b')]
    const dead = objects.map((pod) => ({ ...pod, status: { ...pod.status, phase: 'Failed' } }))
    expect(judge(createJob({ status: { failed: 2, conditions } }), dead).failure).toMatchObject({
      subject: 'pod/migrate-a',
      container: 'app',
      count: 2,
      detail: { exitCode: 3 },
    })
  })

  it('is not failed by deaths, which are told: its own limits decide', () => {
    const broken = (nth: number, at: number) => jobPod(crashLoopStatus(nth, at))
    const history = seenPod([5, broken(1, 5)], [20, broken(2, 20)], [45, broken(3, 45)])
    const options = { podHistories: new Map([['migrate-a-uid', history]]) }
    expect(judge(createJob({ status: { active: 1 } }), [broken(3, 45)], options)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'crash-loop', class: 'slow', proven: false }],
    })
  })

  it('is failed by what no retry can mend', () => {
    const never = jobPod(podStatus({ state: waiting('ErrImageNeverPull') }, { phase: 'Pending' }))
    expect(judge(createJob({ status: { active: 1 } }), [never]).failure).toMatchObject({ reason: 'image-never-pull' })
  })

  it('that is suspended is slow', () => {
    expect(judge(createJob({ spec: { suspend: true } })).problems).toMatchObject([
      { reason: 'suspended', class: 'slow' },
    ])
  })
})
