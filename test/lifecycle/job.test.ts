import type { Job, KubeObject } from '../../src/cluster/objects.ts'
import { jobRule } from '../../src/lifecycle/workloads/job.ts'
import { is, make, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { read } from '../kit/rule.ts'
import { toWorkload } from '../kit/workloads.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe('a Job waits before its next try', () => {
  const failed = make.pod(
    { metadata: { name: 'migrate-1' }, status: podIs.unready({ state: is.terminated(1, 1) }, { phase: 'Failed' }) },
    make.job(),
  )
  const next = make.pod({ metadata: { name: 'migrate-2' }, status: { phase: 'Pending' } }, make.job())
  const holdOf = (pods: readonly KubeObject[], spec: object = {}, status: object = {}) => {
    const job = toWorkload('Job', {}, { spec, status: { failed: 1, ...status } }) as Job
    return read({ now: 12, objects: pods }, jobRule, job).stallHold
  }

  interface Retry {
    readonly spec?: object
    readonly status?: object
    readonly hasNext?: boolean
    readonly waits?: boolean
  }

  it.each(rows<[string, Retry]>(data, 'the next try'))('%s', (_, { spec, status, hasNext, waits }) => {
    expect(holdOf([failed, ...(hasNext ? [next] : [])], spec, status)).toBe(
      waits ? 'its next try has to wait' : undefined,
    )
  })

  it('as long as the kubelet waits before it restarts the container', () => {
    const status = podIs.unready({ state: is.waiting('CrashLoopBackOff'), lastState: is.terminated(3, 100) })
    const pod = make.pod({ metadata: { name: 'migrate-a' }, spec: { restartPolicy: 'OnFailure' }, status }, make.job())
    expect(holdOf([pod], {}, { active: 1 })).toBe('its next try has to wait')
  })
})
