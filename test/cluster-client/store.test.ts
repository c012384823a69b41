import type { Observation, WatchRequest } from '../../src/cluster/feed.ts'
import { type Knowledge, Store } from '../../src/cluster/store.ts'

const pods: WatchRequest = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
const everywhere: WatchRequest = { apiVersion: 'v1', kind: 'Pod' }
const listed = (request: WatchRequest): Observation => ({ type: 'SYNCED', ...request })
const refused = (request: WatchRequest): Observation => ({ type: 'ERROR', code: 403, message: 'no', ...request })
const unserved = (request: WatchRequest): Observation => ({ type: 'ERROR', code: 404, message: 'no kind', ...request })

function storeAfter(observations: readonly Observation[]): Store {
  const store = new Store(() => true)
  for (const observation of observations) store.apply({ ...observation, at: 0 })
  return store
}

describe('what a store knows of the pods of a namespace', () => {
  it.each<[string, Knowledge, readonly Observation[]]>([
    ['is on its way until they are listed', 'pending', []],
    ['is complete once they are', 'complete', [listed(pods)]],
    ['is complete once all pods of the cluster are', 'complete', [listed(everywhere)]],
    ['is on its way while those of another namespace are', 'pending', [listed({ ...pods, namespace: 'other' })]],
    ['is nothing when they may not be listed', 'unknown', [refused(pods)]],
    ['is nothing when access was withdrawn', 'unknown', [listed(pods), refused(pods)]],
    ['is nothing when it was withdrawn again', 'unknown', [listed(pods), refused(pods), listed(pods), refused(pods)]],
    ['is complete while the server has no such kind', 'complete', [unserved(pods)]],
    ['is nothing when they may not be listed once there is such a kind', 'unknown', [unserved(pods), refused(pods)]],
    ['is complete when access was given', 'complete', [refused(pods), listed(pods)]],
    ['is complete when access was given back', 'complete', [listed(pods), refused(pods), listed(pods)]],
    [
      'is complete when they may be listed, though not those of all namespaces',
      'complete',
      [refused(everywhere), listed(pods)],
    ],
  ])('%s', (_, knowledge, observations) => {
    expect(storeAfter(observations).knowledge(pods)).toBe(knowledge)
  })

  it('holds no refusal any more once they were listed', () => {
    expect(storeAfter([refused(pods)]).refusal(pods)).toMatchObject({ code: 403, message: 'no' })
    expect(storeAfter([refused(pods), listed(pods)]).refusal(pods)).toBeUndefined()
  })
})

it('finds an object by its uid, as it stands now, until it is gone', () => {
  const pod = (resourceVersion: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion },
  })
  const seen: readonly Observation[] = [
    { type: 'ADDED', object: pod('1') },
    { type: 'MODIFIED', object: pod('2') },
  ]
  expect(storeAfter(seen).withUid('u1')).toEqual(pod('2'))
  expect(storeAfter([...seen, { type: 'DELETED', object: pod('3') }]).withUid('u1')).toBeUndefined()
})
