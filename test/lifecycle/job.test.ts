import type { Job, KubeObject } from '../../src/cluster/objects.ts'
import { jobRule } from '../../src/lifecycle/workloads/job.ts'
import { is, iso, make, moment, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { read } from '../kit/rule.ts'
import { toWorkload } from '../kit/workloads.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe('the stall clock of a Job that waits for its next try', () => {
  const toTry = (text: string) => {
    const [, at = '', isDone] = /^(\d+)( ok)?$/.exec(text) ?? []
    if (text === 'pending')
      return make.pod({ metadata: { name: 'migrate-new' }, status: { phase: 'Pending' } }, make.job())
    const state = is.terminated(isDone ? 0 : 1, Number(at))
    return make.pod(
      {
        metadata: { name: `migrate-${at}`, creationTimestamp: iso(Number(at) - 2) },
        spec: { restartPolicy: 'Never' },
        status: podIs.unready({ state }, { phase: isDone ? 'Succeeded' : 'Failed' }),
      },
      make.job(),
    )
  }
  const wait = (now: number, pods: readonly KubeObject[], job: Job) => {
    const { stallHold, recheckAt } = read({ now, objects: pods }, jobRule, job)
    return stallHold === undefined ? undefined : [recheckAt, stallHold]
  }
  const until = (at: number) => [moment(at), 'its next try has to wait']

  interface Next {
    readonly now: number
    readonly tries: readonly string[]
    readonly spec?: object
    readonly status?: object
    readonly until?: number
  }

  it.each(rows<[string, Next]>(data, 'the next try'))('%s', (_, { now, tries, spec = {}, status, until: end }) => {
    const job = toWorkload('Job', {}, { spec, status: { failed: 1, ...status } }) as Job
    expect(wait(now, tries.map(toTry), job)).toEqual(end && until(end))
  })

  it('stops while the kubelet waits before it restarts the container', () => {
    const message = 'back-off 2m40s restarting failed container=app pod=migrate-a_shop(migrate-a-uid)'
    const status = podIs.unready({ state: is.waiting('CrashLoopBackOff', message), lastState: is.terminated(3, 100) })
    const pod = make.pod({ metadata: { name: 'migrate-a' }, spec: { restartPolicy: 'OnFailure' }, status }, make.job())
    const active = make.job({ status: { active: 1 } })
    expect(wait(140, [pod], active)).toEqual(until(260))
    expect(wait(260, [pod], active)).toBeUndefined()
  })
})
