import type { FeedEvent } from '../../src/cluster/feed.ts'
import { WatchedRequests } from '../../src/cluster/store.ts'
import { ApiHealth } from '../../src/gate/api-health.ts'
import { added, alive, at, failed, synced } from '../kit/gate.ts'
import { make } from '../kit/objects.ts'

const pods = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }

function healthAfter(...steps: readonly FeedEvent[][]): ApiHealth {
  const health = new ApiHealth(new WatchedRequests(), { list: () => [] })
  for (const event of steps.flat()) health.observe(event)
  return health
}

describe('after the first list, the watch of pods', () => {
  it.each([0, 401, 429, 500, 503])('is unavailable after an error with the status %d', (code) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(code))).isUnavailable([pods])).toBe(true)
  })

  it.each([403, 404])('is available after an error with the status %d, which is an answer', (code) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(code))).isUnavailable([pods])).toBe(false)
  })

  it.each<[string, FeedEvent[]]>([
    ['the server answers a watch', at(2, alive)],
    ['a Deployment arrives and the error named no kind', at(2, added(make.deployment()))],
    ['pods are listed', at(2, synced('Pod'))],
  ])('is available again after an error when %s', (_, event) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(0)), event).isUnavailable([pods])).toBe(false)
  })

  it.each<[string, FeedEvent[]]>([
    ['a log arrives', at(2, { type: 'LOG', namespace: 'shop', pod: 'p', container: 'c', previous: false, text: '' })],
    ['a recording ends', at(2, { type: 'END' })],
    ['another error arrives', at(2, failed(500, 'Pod'))],
    ['a Deployment arrives', at(2, added(make.deployment()))],
    ['the watch of another kind answers', at(2, { type: 'ALIVE', ...pods, kind: 'Service' })],
    ['a list of another kind is complete', at(2, synced('Service'))],
  ])('stays unavailable after an error about pods when %s', (_, event) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(0, 'Pod')), event).isUnavailable([pods])).toBe(true)
  })

  it('is unavailable alone if the error names the kind', () => {
    const health = healthAfter(at(0, synced('Pod')), at(1, failed(0, 'Pod')))
    expect(health.isUnavailable([{ ...pods, kind: 'Service' }])).toBe(false)
  })
})
