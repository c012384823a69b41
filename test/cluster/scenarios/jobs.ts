import { conditionTrue, deploymentComplete, eventSeen, secondsAfterStart } from '../facts.ts'
import { deployment, diesFirst, job, plain, slowStart, stateVolume } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const migrate = { inputs: { resources: 'job/migrate' } }
const isReady = { outcome: 'ready', reason: '' }

/** Jobs: their own limits decide, and their retries are theirs. */
export const jobs: Scenario[] = [
  {
    ...migrate,
    name: 'job-fails',
    setup: (stage) => stage.apply(job('migrate', 'echo no such table; exit 3', { backoffLimit: 0 })),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 6,
    check: ({ summary }) => (summary.includes('no such table') ? [] : ["the summary lacks the Job's last words"]),
  },
  {
    ...migrate,
    name: 'job-deadline',
    setup: (stage) => stage.apply(job('migrate', 'sleep 60', { activeDeadlineSeconds: 4 })),
    expect: { outcome: 'failed', reason: 'job-deadline-exceeded' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 8,
  },
  {
    ...migrate,
    name: 'job-retries',
    setup: async (stage) => {
      const envFrom = [{ configMapRef: { name: 'database', optional: true } }]
      const { spec, ...rest } = job('migrate', '[ "$DATABASE" = up ]', { backoffLimit: 2 })
      spec.template.spec.containers[0].envFrom = envFrom
      await stage.apply({ ...rest, spec })
    },
    during: async (stage) => {
      await stage.until('the first pod failed', (view) => view.get('Job', 'migrate')?.['status']?.failed)
      await stage.apply(plain('ConfigMap', 'database', { data: { DATABASE: 'up' } }))
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 17,
  },
  {
    ...migrate,
    name: 'job-restarts-its-container',
    setup: async (stage) => {
      const { script, volumeMounts } = diesFirst(2, 'echo done')
      const { spec, ...rest } = job('migrate', script, {}, { restartPolicy: 'OnFailure', ...stateVolume })
      spec.template.spec.containers[0].volumeMounts = volumeMounts
      await stage.apply({ ...rest, spec })
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 20,
  },
  {
    name: 'job-removed-after-success',
    inputs: { resources: 'job/migrate\ndeployment/web' },
    setup: (stage) =>
      stage.apply(
        job('migrate', 'echo done', { ttlSecondsAfterFinished: 1 }),
        deployment('web', { script: slowStart(8) }),
      ),
    kubectl: 'deployment/web',
    expect: isReady,
    decidedBy: deploymentComplete('web'),
    takesSeconds: 11,
    check: (_, stage) => (stage.view.get('Job', 'migrate') ? ['the Job was not removed while the gate waited'] : []),
  },
  {
    ...migrate,
    name: 'job-removed-at-once',
    setup: (stage) => stage.apply(job('migrate', 'sleep 8', { ttlSecondsAfterFinished: 0 })),
    expect: isReady,
    decidedBy: eventSeen('Completed'),
    takesSeconds: 13,
  },
  {
    ...migrate,
    name: 'job-removed-at-once-after-failure',
    setup: (stage) => stage.apply(job('migrate', 'sleep 8; exit 3', { ttlSecondsAfterFinished: 0, backoffLimit: 0 })),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: eventSeen('BackoffLimitExceeded'),
    takesSeconds: 13,
  },
  {
    name: 'job-replaced-after-success',
    inputs: { resources: 'job/migrate\ndeployment/web' },
    setup: async (stage) => {
      await stage.apply(job('migrate', 'echo done'))
      await stage.until('the Job is complete', (view) => conditionTrue('Job', 'migrate', 'Complete')(view))
      await stage.apply(deployment('web', { script: slowStart(20) }))
    },
    during: async (stage) => {
      await stage.pass(2)
      await stage.delete('Job', 'migrate', { propagationPolicy: 'Background' })
      await stage.until('the Job is gone', (view) => view.get('Job', 'migrate') === undefined)
      await stage.apply(job('migrate', 'echo no such table; exit 3', { backoffLimit: 0 }))
    },
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 16,
  },
  {
    name: 'job-longer-than-a-literal-stall-timeout',
    inputs: { resources: 'job/migrate', 'stall-timeout': '6s' },
    setup: (stage) => stage.apply(job('migrate', 'sleep 20')),
    expect: { outcome: 'stalled', reason: 'no-progress' },
    decidedBy: secondsAfterStart(6),
    takesSeconds: 9,
  },
  {
    name: 'job-of-many',
    inputs: { resources: 'job/migrate' },
    setup: (stage) => stage.apply(job('migrate', 'sleep 1', { completions: 4, parallelism: 2 })),
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 10,
  },
  {
    ...migrate,
    name: 'job-longer-than-the-stall-timeout',
    setup: (stage) => stage.apply(job('migrate', 'sleep 320')),
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 325,
  },
  {
    ...migrate,
    name: 'job-index-fails',
    setup: (stage) => {
      const script = '[ $JOB_COMPLETION_INDEX != 1 ] || { echo shard 1 is locked; exit 5; }'
      const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 3, backoffLimitPerIndex: 0 }
      return stage.apply(job('migrate', script, indexed))
    },
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 6,
    check: ({ outputs, summary }) => [
      ...(/FailedIndexes/.test(outputs['message'] ?? '') ? [] : [`no word of the index: ${outputs['message']}`]),
      ...(summary.includes('shard 1 is locked') ? [] : ["the summary lacks the failed pod's last words"]),
    ],
  },
  {
    ...migrate,
    name: 'job-fails-by-policy',
    setup: (stage) => {
      const onExitCodes = { containerName: 'app', operator: 'In', values: [42] }
      const podFailurePolicy = { rules: [{ action: 'FailJob', onExitCodes }] }
      return stage.apply(job('migrate', 'echo schema is newer than I am; exit 42', { podFailurePolicy }))
    },
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 6,
  },
  {
    ...migrate,
    name: 'job-succeeds-by-policy',
    setup: (stage) => {
      const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 3 }
      const successPolicy = { rules: [{ succeededIndexes: '0' }] }
      const script = '[ $JOB_COMPLETION_INDEX = 0 ] || exec sleep 60; sleep 2'
      return stage.apply(job('migrate', script, { ...indexed, successPolicy }))
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 8,
  },
  {
    ...migrate,
    name: 'job-suspended',
    inputs: { ...migrate.inputs, 'stall-timeout': '5s' },
    setup: (stage) => stage.apply(job('migrate', 'echo done', { suspend: true })),
    expect: { outcome: 'stalled', reason: 'suspended' },
    decidedBy: secondsAfterStart(5),
    takesSeconds: 8,
  },
  {
    ...migrate,
    name: 'job-resumed',
    setup: (stage) => stage.apply(job('migrate', 'sleep 1', { suspend: true })),
    during: async (stage) => {
      await stage.pass(3)
      await stage.patch('Job', 'migrate', { spec: { suspend: false } })
    },
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 9,
  },
]
