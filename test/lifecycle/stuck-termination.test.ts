import { stuckPods } from '../../src/lifecycle/workloads/stuck-termination.ts'
import { context, createPod, iso, moment, reported } from './builders.ts'

const leaving = (name: string, endsAt: number, finalizers?: string[]) =>
  createPod({ metadata: { name, deletionTimestamp: iso(endsAt), ...(finalizers && { finalizers }) } })

describe('a pod that is being deleted', () => {
  it('has 10 s beyond its grace period to be gone, and is looked at again then', () => {
    expect(stuckPods([leaving('web-0', 30)], context({ now: 39.999 }))).toEqual({ problems: [], recheckAt: moment(40) })
  })

  it('is stuck from then on: it is told which node has not stopped it, and proves nothing', () => {
    expect(reported(stuckPods([leaving('web-0', 30)], context({ now: 40 })))).toEqual({
      problems: [
        {
          reason: 'pod-stuck',
          class: 'slow',
          subject: 'pod/web-0',
          message:
            'is still there although its grace period is over, and holds up the others: its node node-1 has not stopped it',
          detail: { finalizers: [], node: 'node-1' },
          count: 1,
          pods: 1,
          firstSeenAt: moment(30),
          proven: false,
        },
      ],
    })
  })

  it('may be held by finalizers', () => {
    const [problem] = reported(stuckPods([leaving('web-0', 30, ['acme/backup'])], context({ now: 60 }))).problems
    expect(problem?.message).toMatch(/: its finalizers hold it: acme\/backup$/)
  })

  it('stands for all that are stuck, the one that was due first', () => {
    const pods = [leaving('web-2', 35), leaving('web-1', 30), leaving('web-0', 90), createPod()]
    expect(stuckPods(pods, context({ now: 60 }))).toMatchObject({
      problems: [{ subject: 'pod/web-1', pods: 2 }],
      recheckAt: moment(100),
    })
  })

  it('is no matter while none is', () => {
    expect(stuckPods([createPod()], context({ now: 60 }))).toEqual({ problems: [] })
  })
})
