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

describe('the watch of pods is unavailable', () => {
  it.each([0, 401, 429, 500, 503])('after an error %d', (code) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(code))).isUnavailable([pods])).toBe(true)
  })

  it.each([403, 404])('but not after an error %d, which is an answer', (code) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(code))).isUnavailable([pods])).toBe(false)
  })

  it.each<[string, FeedEvent[]]>([
    ['the server answers', at(2, alive)],
    ['a deployment is reported, and the error names no kind', at(2, added(make.deployment()))],
    ['pods are listed', at(2, synced('Pod'))],
  ])('until %s', (_, event) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(0)), event).isUnavailable([pods])).toBe(false)
  })

  it.each<[string, FeedEvent[]]>([
    [
      'a log that was read before',
      at(2, { type: 'LOG', namespace: 'shop', pod: 'p', container: 'c', previous: false, text: '' }),
    ],
    ['the end of a recording', at(2, { type: 'END' })],
    ['another error', at(2, failed(500, 'Pod'))],
    ['a deployment', at(2, added(make.deployment()))],
    ['the watch of another kind', at(2, { type: 'ALIVE', ...pods, kind: 'Service' })],
    ['a list of another kind', at(2, synced('Service'))],
  ])('also after %s', (_, event) => {
    expect(healthAfter(at(0, synced('Pod')), at(1, failed(0, 'Pod')), event).isUnavailable([pods])).toBe(true)
  })

  it('while other watches are available, if the error names the kind', () => {
    const health = healthAfter(at(0, synced('Pod')), at(1, failed(0, 'Pod')))
    expect(health.isUnavailable([{ ...pods, kind: 'Service' }])).toBe(false)
  })
})
