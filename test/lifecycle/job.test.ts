import type { ContainerState, Job, KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import { jobRule } from '../../src/lifecycle/workloads/job.ts'
import { condition, is, iso, make, moment, type Overrides, podIs } from '../kit/objects.ts'
import { type ContextOptions, read, seenPod } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function createJob({ metadata, spec, status }: Overrides<Job['spec'], Job['status']> = {}): Job {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid', generation: 1, ...metadata },
    spec: { completions: 1, selector: { matchLabels: { app: 'web' } }, template: make.template(), ...spec },
    ...(status === undefined ? {} : { status }),
  }
}

const jobPod = (status = podIs.ready(1), name = 'migrate-a') => make.pod({ metadata: { name }, status }, createJob())

/** Its container has ended, and the kubelet has killed the sidecar beside it. */
function withDismissedSidecar(exitCode: number) {
  const initContainers = [make.container({ name: 'proxy', restartPolicy: 'Always' })]
  const status = {
    ...podIs.unready({ state: is.terminated(exitCode, 20) }),
    initContainerStatuses: [make.containerStatus({ name: 'proxy', state: is.terminated(137, 30) })],
  }
  const spec = { restartPolicy: 'Never', initContainers }
  return make.pod({ metadata: { name: 'migrate-a' }, spec, status }, createJob())
}

function judge(job: Job, objects: readonly KubeObject[] = [], options: ContextOptions = {}) {
  return read({ ...options, objects }, jobRule, job)
}

describe('a Job', () => {
  it('is not failed by starts that the runtime refuses, which count against its backoffLimit', () => {
    const message = 'error mounting "/data": not a directory: unknown: Are you trying to mount a directory'
    const refused = (nth: number, at: number) =>
      make.pod(
        {
          metadata: { name: 'migrate-a' },
          spec: { restartPolicy: 'OnFailure' },
          status: podIs.dead(nth, at, { exitCode: 128, reason: 'StartError', message }),
        },
        createJob(),
      )
    const history = seenPod([1, refused(1, 1)], [15, refused(2, 15)], [40, refused(3, 40)])
    const podHistories = new Map([['migrate-a-uid', history]])
    const job = createJob({ status: { active: 1 } })
    expect(judge(job, [refused(3, 40)], { podHistories, now: 60 })).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'container-create-failed', class: 'slow', count: 3 }],
    })
  })

  it('is ready when its controller reports Complete, and stays so', () => {
    const status = { succeeded: 1, failed: 2, conditions: [condition('Complete', 'True')] }
    expect(judge(createJob({ status }))).toMatchObject({
      status: 'ready',
      completed: true,
      message: 'complete, 1 succeeded',
      notes: ['2 failed before it completed'],
    })
  })

  it('has started although podFailurePolicy ignores its failed pods, which its counts omit', () => {
    const pod = jobPod({ phase: 'Failed', containerStatuses: [make.containerStatus({ state: is.terminated(42, 20) })] })
    expect(judge(createJob({ status: {} }), [pod]).message).toBe('0 of 1 succeeded')
  })

  it('has a stall hold while a container runs', () => {
    expect(judge(createJob({ status: { active: 1 } }), [jobPod()]).stallHold).toBe('its containers are running')
  })

  it.each([
    ['its own code if it ran for seconds', 5, 'exited with code 127;'],
    ['the code of a shell if it ended at once', 0, 'exited with code 127 (its command was not found);'],
  ])('reports %s', (_, seconds, words) => {
    const ended = { exitCode: 127, startedAt: iso(10), finishedAt: iso(10 + seconds) }
    const pod = make.pod(
      { metadata: { name: 'migrate-a' }, status: podIs.unready({ state: { terminated: ended } }, { phase: 'Failed' }) },
      createJob(),
    )
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })]
    expect(judge(createJob({ status: { failed: 1, conditions } }), [pod]).message).toContain(words)
  })

  it('does not name a sidecar that the kubelet ended afterwards', () => {
    const pod = withDismissedSidecar(3)
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })]
    const assessment = judge(createJob({ status: { failed: 1, conditions } }), [pod])
    expect(assessment.failure).toMatchObject({ container: 'app', detail: { exitCode: 3 } })
  })

  describe('beside whose containers a webhook has added another one', () => {
    const template = { spec: { containers: [make.container()] } }
    const injected = (app: ContainerState) => {
      const proxy = make.container({ name: 'istio-proxy' })
      const status = podIs.unready({ state: app })
      const containerStatuses = [
        ...(status.containerStatuses ?? []),
        make.containerStatus({ name: 'istio-proxy', state: is.running(1), ready: true }),
      ]
      const spec = { restartPolicy: 'Never', containers: [make.container(), proxy] }
      return make.pod({ metadata: { name: 'migrate-a' }, spec, status: { ...status, containerStatuses } }, createJob())
    }
    const job = createJob({ spec: { template }, status: { active: 1 } })

    it('works while its own containers run', () => {
      expect(judge(job, [injected(is.running(1))])).toMatchObject({
        stallHold: 'its containers are running',
        problems: [],
      })
    })

    it('does not work once its own containers have completed, and names the container that keeps the pod', () => {
      const { stallHold, problems } = judge(job, [injected(is.terminated(0, 20))])
      expect(stallHold).toBeUndefined()
      expect(problems).toMatchObject([
        { reason: 'sidecar-running', class: 'slow', container: 'istio-proxy', firstSeenAt: moment(20) },
      ])
    })

    it('does not blame the added container if its own containers have failed', () => {
      const { problems } = judge(job, [injected(is.terminated(1, 20))])
      expect(problems.map(({ reason }) => reason)).not.toContain('sidecar-running')
    })
  })

  describe('whose template has a second container', () => {
    const [work, proxy] = [make.container(), make.container({ name: 'proxy' })]
    const containers = [work, proxy]
    const job = createJob({ spec: { template: { spec: { containers } } }, status: { active: 1 } })
    const withStates = (first: ContainerState, second: ContainerState) => {
      const status = podIs.unready({ state: first })
      const containerStatuses = [
        ...(status.containerStatuses ?? []),
        make.containerStatus({ name: 'proxy', state: second }),
      ]
      const spec = { restartPolicy: 'Never', containers }
      return make.pod({ metadata: { name: 'migrate-a' }, spec, status: { ...status, containerStatuses } }, job)
    }

    it.each([
      ['runs on for 30 s after the first has completed', is.terminated(0, 20), 50, ['proxy']],
      ['runs on for less', is.terminated(0, 20), 49, []],
      ['runs beside the first', is.running(1), 90, []],
      ['runs on after the first has failed', is.terminated(1, 20), 90, []],
    ])('names it if it %s', (_, first, now, named) => {
      const { problems, recheckAt, stallHold } = judge(job, [withStates(first, is.running(1))], { now })
      const kept = problems.filter(({ reason }) => reason === 'sidecar-running')
      expect(kept.map(({ container }) => container)).toEqual(named)
      if (now === 49) expect(recheckAt).toBe(moment(50))
      expect(stallHold !== undefined).toBe(first.terminated?.exitCode !== 1)
    })
  })

  it('has no problem with a sidecar that ends after the work', () => {
    const pod = withDismissedSidecar(0)
    const podHistories = new Map([['migrate-a-uid', seenPod([40, pod])]])
    expect(judge(createJob({ status: { active: 1 } }), [pod], { podHistories }).problems).toEqual([])
  })

  it('has the start error of a container that never started as its cause, without an exit code', () => {
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'enough' })]
    const message = 'exec: "/app": stat /app: no such file or directory'
    const never = { reason: 'StartError', exitCode: 128, message, startedAt: '1970-01-01T00:00:00Z' }
    const pod = jobPod({ ...podIs.dead(0, 5, never), phase: 'Failed' })
    expect(judge(createJob({ status: { failed: 1, conditions } }), [pod]).failure).toMatchObject({
      reason: 'job-failed',
      subject: toSubject('job/migrate'),
      cause: { reason: 'bad-command', subject: toSubject('pod/migrate-a'), container: 'app' },
      message: `the Job failed: enough (BackoffLimitExceeded): container app of pod/migrate-a cannot start: ${message}`,
    })
  })

  it('names the container that failed last', () => {
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })]
    const objects = [jobPod(podIs.dead(1, 40), 'migrate-a'), jobPod(podIs.dead(1, 20), 'migrate-b')]
    const dead = objects.map((pod) => ({ ...pod, status: { ...pod.status, phase: 'Failed' } }))
    expect(judge(createJob({ status: { failed: 2, conditions } }), dead).failure).toMatchObject({
      subject: toSubject('pod/migrate-a'),
      container: 'app',
      count: 1,
      detail: { exitCode: 3 },
    })
  })

  it.each<[string, object, string]>([
    ['refused it', { reason: 'OutOfcpu', message: 'Pod was rejected: no cpu' }, 'OutOfcpu: Pod was rejected: no cpu'],
    ['evicted it', { ...podIs.dead(1, 40), reason: 'Evicted', message: 'low on memory' }, 'Evicted: low on memory'],
  ])('names the pod that failed last if the kubelet %s', (_, status, why) => {
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'enough' })]
    const pod = jobPod({ ...status, phase: 'Failed' }, 'migrate-b')
    const { failure } = judge(createJob({ status: { failed: 1, conditions } }), [pod])
    expect(failure).toMatchObject({
      subject: toSubject('pod/migrate-b'),
      message: `failed: ${why}; the Job failed: enough (BackoffLimitExceeded)`,
    })
    expect(failure?.container).toBeUndefined()
  })

  describe('whose pod was evicted, as by a drain,', () => {
    const evicted = (status: PodStatus, deletionTimestamp?: string) => {
      const reason = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting', lastTransitionTime: iso(30) }
      const conditions = [condition('DisruptionTarget', 'True', reason)]
      const failed = condition('FailureTarget', 'True', { reason: 'BackoffLimitExceeded', message: 'enough' })
      const job = createJob({ status: { failed: 1, conditions: [failed] } })
      const metadata = { name: 'migrate-a', ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) }
      return judge(job, [make.pod({ metadata, status: { ...status, conditions } }, job)]).failure
    }

    it.each<[string, PodStatus, string | undefined]>([
      ['while the pod terminates', podIs.ready(1), iso(60)],
      ['once its container has ended', { ...podIs.dead(0, 31), phase: 'Failed' }, undefined],
    ])('names the eviction, %s', (_, status, deletionTimestamp) => {
      expect(evicted(status, deletionTimestamp)).toMatchObject({
        subject: toSubject('pod/migrate-a'),
        message: 'failed: Eviction API: evicting; the Job failed: enough (BackoffLimitExceeded)',
      })
    })

    it('names the container that failed before', () => {
      expect(evicted({ ...podIs.dead(0, 29), phase: 'Failed' }, iso(60))).toMatchObject({ container: 'app' })
    })
  })

  it('is not failed by deaths, which are reported: its own limits decide', () => {
    const broken = (nth: number, at: number) => jobPod(podIs.looping(nth, at))
    const history = seenPod([5, broken(1, 5)], [20, broken(2, 20)], [45, broken(3, 45)])
    const options = { podHistories: new Map([['migrate-a-uid', history]]) }
    expect(judge(createJob({ status: { active: 1 } }), [broken(3, 45)], options)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'crash-loop', class: 'slow', proven: false }],
    })
  })

  it('is explained by its pod that failed before the gate began, while the next try is awaited', () => {
    const status = { ...podIs.dead(0, -20), phase: 'Failed' }
    const failed = make.pod({ metadata: { name: 'migrate-a', creationTimestamp: iso(-40) }, status }, createJob())
    const job = createJob({ status: { startTime: iso(-40), failed: 1 } })
    expect(judge(job, [failed])).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'crash-loop', class: 'slow', proven: false, count: 1 }],
    })
  })

  it('is failed by a problem that no retry can fix', () => {
    const never = jobPod(podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' }))
    expect(judge(createJob({ status: { active: 1 } }), [never]).failure).toMatchObject({ reason: 'image-never-pull' })
  })
})

describe('a Job has a stall hold', () => {
  const completed = make.pod(
    {
      metadata: { name: 'migrate-done' },
      spec: { restartPolicy: 'Never' },
      status: podIs.unready({ state: is.terminated(0, 5) }, { phase: 'Succeeded' }),
    },
    createJob(),
  )
  const pending = jobPod({ phase: 'Pending', containerStatuses: [make.containerStatus()] }, 'migrate-b')
  const active = createJob({ spec: { completions: 2 }, status: { active: 1, succeeded: 1 } })

  it('not because of a completed pod while another does not start', () => {
    expect(judge(active, [completed, pending]).stallHold).toBeUndefined()
  })

  it.each<[string, object, ContextOptions]>([
    ['of which the gate cannot read the pods', {}, { unseen: ['Pod'] }],
    ['that another controller runs in another cluster', { managedBy: 'kueue.x-k8s.io/multikueue' }, {}],
  ])('while its status counts ready pods, %s', (_, spec, options) => {
    const stallHold = (ready: number) => judge(createJob({ spec, status: { active: 1, ready } }), [], options).stallHold
    expect([stallHold(1), stallHold(0)]).toEqual(['its containers are running', undefined])
  })

  it('while an init container runs', () => {
    const spec = { restartPolicy: 'Never', initContainers: [make.container({ name: 'fetch' })] }
    const initContainerStatuses = [make.containerStatus({ name: 'fetch', state: is.running(1) })]
    const status = podIs.unready({ state: is.waiting('PodInitializing') }, { phase: 'Pending', initContainerStatuses })
    const pod = make.pod({ metadata: { name: 'migrate-a' }, spec, status }, createJob())
    expect(judge(createJob({ status: { active: 1 } }), [pod]).stallHold).toBe('its containers are running')
  })

  it('not while one of its containers has failed, although another container runs', () => {
    const spec = { restartPolicy: 'Never', containers: [make.container(), make.container({ name: 'proxy' })] }
    const containerStatuses = [
      make.containerStatus({ state: is.terminated(1, 5) }),
      make.containerStatus({ name: 'proxy', state: is.running(1), ready: true, started: true }),
    ]
    const pod = make.pod(
      { metadata: { name: 'migrate-a' }, spec, status: { phase: 'Running', containerStatuses } },
      createJob(),
    )
    expect(judge(createJob({ status: { active: 1 } }), [pod]).stallHold).toBeUndefined()
  })

  it('not while only a sidecar of it runs', () => {
    const spec = {
      restartPolicy: 'Never',
      initContainers: [make.container({ name: 'proxy', restartPolicy: 'Always' })],
    }
    const initContainerStatuses = [
      make.containerStatus({ name: 'proxy', state: is.running(1), ready: true, started: true }),
    ]
    const status = podIs.unready({ state: is.waiting('ErrImagePull') }, { phase: 'Pending', initContainerStatuses })
    const pod = make.pod({ metadata: { name: 'migrate-a' }, spec, status }, createJob())
    expect(judge(createJob({ status: { active: 1 } }), [pod]).stallHold).toBeUndefined()
  })

  // Complete and Failed wait for them (enactJobFinished, pkg/controller/job), as does podReplacementPolicy Failed.
  it('while its pods are within their grace period, and not beyond', () => {
    const { metadata, ...rest } = jobPod()
    const leaving = { ...rest, metadata: { ...metadata, deletionTimestamp: iso(90) } }
    const conditions = [condition('SuccessCriteriaMet', 'True')]
    const met = createJob({
      spec: { completions: 2 },
      status: { succeeded: 1, terminating: 1, conditions } as Job['status'],
    })
    expect(judge(met, [completed, leaving])).toMatchObject({
      status: 'progressing',
      stallHold: 'a pod is within its grace period',
      recheckAt: moment(90),
    })
    expect(judge(met, [completed, leaving], { now: 100 }).stallHold).toBeUndefined()
  })

  it.each<[string, Job, readonly string[]]>([
    [
      'is a problem if it keeps the Job from its end',
      createJob({ status: { conditions: [condition('SuccessCriteriaMet', 'True')] } }),
      ['pod-stuck'],
    ],
    [
      'is a problem if it keeps the Job from the next try',
      createJob({ spec: { podReplacementPolicy: 'Failed' } }),
      ['pod-stuck'],
    ],
    ['is none if another pod replaces it at once', createJob(), []],
  ])('not while a pod outlives its grace period, which %s', (_, job, reasons) => {
    const { metadata, ...rest } = jobPod()
    const stuck = { ...rest, metadata: { ...metadata, deletionTimestamp: iso(40) } }
    const { stallHold, problems } = judge(job, [stuck])
    expect([stallHold, problems.map(({ reason }) => reason)]).toEqual([undefined, reasons])
  })
})

describe('a Job waits before its next try', () => {
  const tried = (name: string, at: number, exitCode = 1, index = 0) => {
    const annotations = { 'batch.kubernetes.io/job-completion-index': `${index}` }
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed'
    return make.pod(
      {
        metadata: { name, annotations, creationTimestamp: iso(at - 2) },
        spec: { restartPolicy: 'Never' },
        status: podIs.unready({ state: is.terminated(exitCode, at) }, { phase }),
      },
      createJob(),
    )
  }
  const failed = createJob({ status: { failed: 1 } })
  const wait = (now: number, pods: readonly KubeObject[], job = failed) => {
    const { stallHold, recheckAt, message } = judge(job, pods, { now })
    return stallHold === undefined ? undefined : [recheckAt, message.split(', ').at(-1), stallHold]
  }
  const until = (at: number, text: string) => [moment(at), `next try after ${text}`, 'its next try has to wait']
  const six = [1, 12, 33, 74, 155, 316].map((at, nth) => tried(`migrate-${nth}`, at))
  const pending = make.pod(
    { metadata: { name: 'migrate-new', creationTimestamp: iso(11) }, status: { phase: 'Pending' } },
    createJob(),
  )

  it.each<[string, Parameters<typeof wait>, ReturnType<typeof wait>]>([
    ['10 s after the first failure', [2, six.slice(0, 1)], until(11, '10 s')],
    ['not longer', [12, six.slice(0, 1)], undefined],
    ['not once the next pod exists', [10.5, [...six.slice(0, 1), pending]], undefined],
    [
      'also while another pod runs',
      [
        10.5,
        [...six.slice(0, 1), pending],
        createJob({ spec: { parallelism: 2, completions: 2 }, status: { failed: 1 } }),
      ],
      until(11, '10 s'),
    ],
    [
      'not after the first success of a Job without completions',
      [2, six.slice(0, 1), createJob({ spec: { completions: undefined }, status: { failed: 1, succeeded: 1 } })],
      undefined,
    ],
    ['20 s after the second failure', [13, six.slice(0, 2)], until(32, '20 s')],
    ['320 s after the sixth failure', [400, six], until(636, '5 m 20 s')],
    ['10 minutes at the most', [800, [...six, tried('migrate-7', 637)]], until(1237, '10 m')],
    [
      '10 s after the first failure since a success',
      [320, [tried('ok', 75, 0), ...six.slice(0, 4), tried('x', 318)]],
      until(328, '10 s'),
    ],
    [
      'for an index apart from the failures of others',
      [
        3,
        [tried('a', 1, 1, 0), tried('b', 2, 1, 1)],
        createJob({ spec: { backoffLimitPerIndex: 3 }, status: { failed: 2 } }),
      ],
      until(11, '10 s'),
    ],
    [
      'not for an index that is not retried',
      [
        3,
        [tried('a', 1, 1, 5)],
        createJob({ spec: { backoffLimitPerIndex: 0 }, status: { failed: 1, failedIndexes: '1,4-6' } }),
      ],
      undefined,
    ],
    [
      'not if it is suspended',
      [2, six.slice(0, 1), createJob({ spec: { suspend: true }, status: { failed: 1 } })],
      undefined,
    ],
    [
      'not if another controller manages it',
      [2, six.slice(0, 1), createJob({ spec: { managedBy: 'example.com/queue' }, status: { failed: 1 } })],
      undefined,
    ],
  ])('%s', (_, parameters, expected) => {
    expect(wait(...parameters)).toEqual(expected)
  })

  it('as long as the kubelet waits before it restarts the container', () => {
    const message = 'back-off 2m40s restarting failed container=app pod=migrate-a_shop(migrate-a-uid)'
    const status = podIs.unready({ state: is.waiting('CrashLoopBackOff', message), lastState: is.terminated(3, 100) })
    const pod = make.pod({ metadata: { name: 'migrate-a' }, spec: { restartPolicy: 'OnFailure' }, status }, createJob())
    const active = createJob({ status: { active: 1 } })
    expect(wait(140, [pod], active)).toEqual(until(260, '2 m 40 s'))
    expect(wait(260, [pod], active)).toBeUndefined()
  })
})
