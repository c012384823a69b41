import type { Job, KubeObject } from '../../src/cluster/objects.ts'
import { jobRule } from '../../src/lifecycle/workloads/job.ts'
import { is, iso, make, moment, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { read } from '../kit/rule.ts'
import { toWorkload } from '../kit/workloads.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

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
    const { stallHold, recheckAt, message } = read({ now, objects: pods }, jobRule, job)
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
