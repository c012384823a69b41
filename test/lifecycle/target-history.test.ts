import { observeTarget } from '../../src/lifecycle/target-history.ts'
import { complete, createDeployment, moment, seenTarget } from './builders.ts'

describe('the numbers of a target', () => {
  it('change when a number in the status changes', () => {
    const history = seenTarget(
      [0, createDeployment({ status: complete(1) })],
      [7, createDeployment({ status: complete(2) })],
    )
    expect(history.countersMovedAt).toBe(moment(7))
  })

  it('do not change when only the observed generation or a condition does', () => {
    const next = createDeployment({
      status: complete(1, { observedGeneration: 2, conditions: [{ type: 'Progressing', status: 'False' }] }),
    })
    expect(seenTarget([0, createDeployment({ status: complete(1) })], [7, next]).countersMovedAt).toBe(moment(0))
  })

  it('are seen for the first time with the object', () => {
    const object = createDeployment()
    expect(observeTarget(undefined, object, moment(3))).toMatchObject({ firstSeenAt: moment(3), first: object })
  })
})
