import type { Client } from '../../src/cluster/client.ts'
import { ApiError } from '../../src/cluster/failures.ts'
import { retryInitialRequests } from '../../src/cluster/initial-requests.ts'
import { listCollection } from '../../src/cluster/list.ts'
import { titled } from '../kit/rows.ts'
import { ManualClock } from './manual-clock.ts'

describe('a first request that the server refuses with a Retry-After', () => {
  test.each([31, 60, 3_600, 1e9])('of %d s is retried within 30 s', async (seconds) => {
    const clock = new ManualClock(0)
    const asked: number[] = []
    const connection = { clock, server: 'https://k8s.example', context: 'prod', user: 'deployer' }
    const forbidden = { action: '', remedy: '' }
    const work = retryInitialRequests(connection, forbidden, async () => {
      asked.push(clock.now())
      if (asked.length === 1) throw new ApiError(429, 'too many requests', seconds * 1_000)
      return 'answered'
    })
    await clock.untilPending(29_999)
    clock.advance(29_999)
    expect(await work).toBe('answered')
    expect(asked).toEqual([0, 29_999])
  })
})

test.each(titled([null, 7, 'web', [], {}, { metadata: null }, { metadata: { name: 7 } }]))(
  'a list with the item %s is reported as a malformed answer of the server',
  async (_, item) => {
    const page = { metadata: { resourceVersion: '1' }, items: [{ metadata: { name: 'web' } }, item] }
    const client = { requestJson: async () => page } as unknown as Client
    const list = listCollection(client, '/api/v1/pods', { apiVersion: 'v1', kind: 'Pod' }, (object) => object)
    await expect(list).rejects.toMatchObject({ code: 'EBADMSG', message: expect.stringContaining('no object') })
  },
)
