import { observeTarget } from '../../src/lifecycle/target-history.ts'
import { complete, make, moment } from '../kit/objects.ts'
import { seenTarget } from '../kit/rule.ts'

describe('the history of a target', () => {
  it('moves its counters when a number in the status changes', () => {
    const history = seenTarget(
      [0, make.deployment({ status: complete(1) })],
      [7, make.deployment({ status: complete(2) })],
    )
    expect(history.countersMovedAt).toBe(moment(7))
  })

  it('does not move its counters when only the observed generation or a condition changes', () => {
    const next = make.deployment({
      status: complete(1, { observedGeneration: 2, conditions: [{ type: 'Progressing', status: 'False' }] }),
    })
    expect(seenTarget([0, make.deployment({ status: complete(1) })], [7, next]).countersMovedAt).toBe(moment(0))
  })

  it('begins at first sight of the object', () => {
    const object = make.deployment()
    expect(observeTarget(undefined, object, moment(3))).toMatchObject({ firstSeenAt: moment(3), first: object })
  })
})
