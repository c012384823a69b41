import { observeTarget } from '../../src/lifecycle/target-history.ts'
import { complete, make, moment } from '../kit/objects.ts'
import { seenTarget } from '../kit/rule.ts'

describe('the numbers of a target', () => {
  it('change when a number in the status changes', () => {
    const history = seenTarget(
      [0, make.deployment({ status: complete(1) })],
      [7, make.deployment({ status: complete(2) })],
    )
    expect(history.countersMovedAt).toBe(moment(7))
  })

  it('do not change when only the observed generation or a condition does', () => {
    const next = make.deployment({
      status: complete(1, { observedGeneration: 2, conditions: [{ type: 'Progressing', status: 'False' }] }),
    })
    expect(seenTarget([0, make.deployment({ status: complete(1) })], [7, next]).countersMovedAt).toBe(moment(0))
  })

  it('are seen for the first time with the object', () => {
    const object = make.deployment()
    expect(observeTarget(undefined, object, moment(3))).toMatchObject({ firstSeenAt: moment(3), first: object })
  })
})
