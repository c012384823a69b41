import type { ContainerState, Job, KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import { jobRule } from '../../src/lifecycle/workloads/job.ts'
import { condition, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { type ContextOptions, read, seenPod } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'
import { toWorkload } from '../kit/workloads.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const jobPod = (status = podIs.ready(1), name = 'migrate-a') => make.pod({ metadata: { name }, status }, make.job())

/** Its container has ended, and the kubelet has killed the sidecar beside it. */
function withDismissedSidecar(exitCode: number) {
  const initContainers = [make.container({ name: 'proxy', restartPolicy: 'Always' })]
  const status = {
    ...podIs.unready({ state: is.terminated(exitCode, 20) }),
    initContainerStatuses: [make.containerStatus({ name: 'proxy', state: is.terminated(137, 30) })],
  }
  const spec = { restartPolicy: 'Never', initContainers }
  return make.pod({ metadata: { name: 'migrate-a' }, spec, status }, make.job())
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
        make.job(),
      )
    const history = seenPod([1, refused(1, 1)], [15, refused(2, 15)], [40, refused(3, 40)])
    const podHistories = new Map([['migrate-a-uid', history]])
    const job = make.job({ status: { active: 1 } })
    expect(judge(job, [refused(3, 40)], { podHistories, now: 60 })).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'container-create-failed', class: 'slow', count: 3 }],
    })
  })

  it('is ready when its controller reports Complete, and stays so', () => {
    const status = { succeeded: 1, failed: 2, conditions: [condition('Complete', 'True')] }
    expect(judge(make.job({ status }))).toMatchObject({
      status: 'ready',
      completed: true,
      message: 'complete, 1 succeeded',
      notes: ['2 failed before it completed'],
    })
  })

  it.each([
    ['its own code if it ran for seconds', 5, 'exited with code 127;'],
    ['the code of a shell if it ended at once', 0, 'exited with code 127 (its command was not found);'],
  ])('reports %s', (_, seconds, words) => {
    const ended = { exitCode: 127, startedAt: iso(10), finishedAt: iso(10 + seconds) }
    const pod = make.pod(
      { metadata: { name: 'migrate-a' }, status: podIs.unready({ state: { terminated: ended } }, { phase: 'Failed' }) },
      make.job(),
    )
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })]
    expect(judge(make.job({ status: { failed: 1, conditions } }), [pod]).message).toContain(words)
  })

  it('does not name a sidecar that the kubelet ended afterwards', () => {
    const pod = withDismissedSidecar(3)
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })]
    const assessment = judge(make.job({ status: { failed: 1, conditions } }), [pod])
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
      return make.pod({ metadata: { name: 'migrate-a' }, spec, status: { ...status, containerStatuses } }, make.job())
    }
    const job = make.job({ spec: { template }, status: { active: 1 } })

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
    const job = make.job({ spec: { template: { spec: { containers } } }, status: { active: 1 } })
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
    expect(judge(make.job({ status: { active: 1 } }), [pod], { podHistories }).problems).toEqual([])
  })

  it('has the start error of a container that never started as its cause, without an exit code', () => {
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'enough' })]
    const message = 'exec: "/app": stat /app: no such file or directory'
    const never = { reason: 'StartError', exitCode: 128, message, startedAt: '1970-01-01T00:00:00Z' }
    const pod = jobPod({ ...podIs.dead(0, 5, never), phase: 'Failed' })
    expect(judge(make.job({ status: { failed: 1, conditions } }), [pod]).failure).toMatchObject({
      reason: 'job-failed',
      subject: toSubject('job/migrate'),
      cause: { reason: 'bad-command', subject: toSubject('pod/migrate-a'), container: 'app' },
      message: `the Job failed: enough (BackoffLimitExceeded): container app of pod/migrate-a cannot start: ${message}`,
    })
  })

  it('names the pod that failed last if the kubelet evicted it, and no container', () => {
    const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'enough' })]
    const pod = jobPod({ ...podIs.dead(1, 40), phase: 'Failed', reason: 'Evicted', message: 'low on memory' })
    const { failure } = judge(make.job({ status: { failed: 1, conditions } }), [pod])
    expect(failure).toMatchObject({
      subject: toSubject('pod/migrate-a'),
      message: 'failed: Evicted: low on memory; the Job failed: enough (BackoffLimitExceeded)',
    })
    expect(failure?.container).toBeUndefined()
  })

  describe('whose pod was evicted, as by a drain,', () => {
    const evicted = (status: PodStatus, deletionTimestamp?: string) => {
      const reason = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting', lastTransitionTime: iso(30) }
      const conditions = [condition('DisruptionTarget', 'True', reason)]
      const failed = condition('FailureTarget', 'True', { reason: 'BackoffLimitExceeded', message: 'enough' })
      const job = make.job({ status: { failed: 1, conditions: [failed] } })
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
      make.job(),
    )
  }
  const toTry = (text: string) => {
    const [, at = '', isDone, index = '0'] = /^(\d+)( ok)?(?: of (\d))?$/.exec(text) ?? []
    if (text !== 'pending') return tried(`migrate-${at}`, Number(at), isDone ? 0 : 1, Number(index))
    const metadata = { name: 'migrate-new', creationTimestamp: iso(11) }
    return make.pod({ metadata, status: { phase: 'Pending' } }, make.job())
  }
  const wait = (now: number, pods: readonly KubeObject[], job: Job) => {
    const { stallHold, recheckAt, message } = judge(job, pods, { now })
    return stallHold === undefined ? undefined : [recheckAt, message.split(', ').at(-1), stallHold]
  }
  const until = (at: number, text: string) => [moment(at), `next try after ${text}`, 'its next try has to wait']

  interface Next {
    readonly now: number
    readonly tries: readonly string[]
    readonly spec?: object
    readonly status?: object
    readonly until?: number
    readonly after?: string
  }

  it.each(rows<[string, Next]>(data, 'the next try'))(
    '%s',
    (_, { now, tries, spec = {}, status, until: end, after }) => {
      const job = toWorkload('Job', {}, { spec, status: { failed: 1, ...status } }) as Job
      expect(wait(now, tries.map(toTry), job)).toEqual(end && after && until(end, after))
    },
  )

  it('as long as the kubelet waits before it restarts the container', () => {
    const message = 'back-off 2m40s restarting failed container=app pod=migrate-a_shop(migrate-a-uid)'
    const status = podIs.unready({ state: is.waiting('CrashLoopBackOff', message), lastState: is.terminated(3, 100) })
    const pod = make.pod({ metadata: { name: 'migrate-a' }, spec: { restartPolicy: 'OnFailure' }, status }, make.job())
    const active = make.job({ status: { active: 1 } })
    expect(wait(140, [pod], active)).toEqual(until(260, '2 m 40 s'))
    expect(wait(260, [pod], active)).toBeUndefined()
  })
})
