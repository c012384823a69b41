import type { Observation, WatchRequest } from '../../src/cluster/feed.ts'
import type { EventObject, KubeObject, ObjectMeta } from '../../src/cluster/objects.ts'
import { type ListState, Store } from '../../src/cluster/store.ts'

const pods: WatchRequest = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
const everywhere: WatchRequest = { apiVersion: 'v1', kind: 'Pod' }
const listed = (request: WatchRequest): Observation => ({ type: 'SYNCED', ...request })
const refused = (request: WatchRequest): Observation => ({
  type: 'REFUSED',
  what: 'access',
  final: false,
  message: 'no',
  ...request,
})
const unserved = (request: WatchRequest): Observation => ({ type: 'MISSING', message: 'no kind', ...request })

function storeAfter(observations: readonly Observation[]): Store {
  const store = new Store(() => true)
  for (const observation of observations) store.apply({ ...observation, at: 0 })
  return store
}

describe('an object found by a word for its kind', () => {
  const named = (kind: string, name: string, namespace?: string): Observation => ({
    type: 'ADDED',
    object: {
      apiVersion: 'v1',
      kind,
      metadata: { name, uid: [kind, name, namespace].filter(Boolean).join('-'), ...(namespace && { namespace }) },
    },
  })
  const store = storeAfter([named('Pod', 'a', 'shop'), named('Pod', 'a', 'other'), named('Node', 'a')])

  it.each<[string, string, string | undefined, string | undefined]>([
    ['pod', 'a', 'other', 'Pod-a-other'],
    ['pod', 'a', 'nowhere', undefined],
    ['pod', 'a', 'any namespace', 'Pod-a-shop'],
    ['node', 'a', 'shop', 'Node-a'],
    ['pod', 'b', 'shop', undefined],
  ])('is searched as %s/%s in %s', (word, name, namespace, uid) => {
    expect(store.find(word, name, namespace === 'any namespace' ? undefined : namespace)?.metadata.uid).toBe(uid)
  })
})

describe('the list state of the pods of a namespace', () => {
  it.each<[string, ListState, readonly Observation[]]>([
    ['is pending until they are listed', 'pending', []],
    ['is complete once they are listed', 'complete', [listed(pods)]],
    ['is complete once all pods of the cluster are listed', 'complete', [listed(everywhere)]],
    [
      'is pending while only those of another namespace are listed',
      'pending',
      [listed({ ...pods, namespace: 'other' })],
    ],
    ['is unknown when they may not be listed', 'unknown', [refused(pods)]],
    ['is unknown when access was withdrawn', 'unknown', [listed(pods), refused(pods)]],
    [
      'is unknown when access was withdrawn again',
      'unknown',
      [listed(pods), refused(pods), listed(pods), refused(pods)],
    ],
    ['is complete while the server has no such kind', 'complete', [unserved(pods)]],
    ['is unknown when they may not be listed once the kind exists', 'unknown', [unserved(pods), refused(pods)]],
    ['is complete when access was given', 'complete', [refused(pods), listed(pods)]],
    ['is complete when access was given back', 'complete', [listed(pods), refused(pods), listed(pods)]],
    [
      'is complete when they may be listed, though not those of all namespaces',
      'complete',
      [refused(everywhere), listed(pods)],
    ],
  ])('%s', (_, listState, observations) => {
    expect(storeAfter(observations).listState(pods)).toBe(listState)
  })

  it('contains no refusal any more once they were listed', () => {
    expect(storeAfter([refused(pods)]).refusal(pods)).toMatchObject({ what: 'access', message: 'no' })
    expect(storeAfter([refused(pods), listed(pods)]).refusal(pods)).toBeUndefined()
  })
})

it('finds the present state of an object by its uid, until it is gone', () => {
  const podAt = (resourceVersion: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion },
  })
  const seen: readonly Observation[] = [
    { type: 'ADDED', object: podAt('1') },
    { type: 'MODIFIED', object: podAt('2') },
  ]
  expect(storeAfter(seen).withUid('u1')).toEqual(podAt('2'))
  expect(storeAfter([...seen, { type: 'DELETED', object: podAt('3') }]).withUid('u1')).toBeUndefined()
})

describe('access to a kind', () => {
  const messages = (...observations: readonly Observation[]) =>
    storeAfter(observations).deniedAccess.map(({ message }) => message)

  it('is denied after a refusal, and not any more after a complete list', () => {
    expect(messages(listed(pods), refused(pods))).toEqual(['no'])
    expect(messages(refused(pods), listed(pods))).toEqual([])
    expect(messages(refused(pods), listed(pods), refused(pods))).toEqual(['no'])
  })
})

describe('a late change of an object does not replace a newer one', () => {
  const jobWith = (metadata: Partial<ObjectMeta>): KubeObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop', ...metadata },
  })
  const old = { uid: 'old', resourceVersion: '10', creationTimestamp: '2025-01-15T12:00:00Z' }
  const present = { uid: 'new', resourceVersion: '20', creationTimestamp: '2025-01-15T12:01:00Z' }
  const unversioned = ({ uid, creationTimestamp }: typeof old) => ({ uid, creationTimestamp })
  const added = (metadata: Partial<ObjectMeta>): Observation => ({ type: 'ADDED', object: jobWith(metadata) })
  const modified = (metadata: Partial<ObjectMeta>): Observation => ({ type: 'MODIFIED', object: jobWith(metadata) })
  const deleted = (metadata: Partial<ObjectMeta>): Observation => ({ type: 'DELETED', object: jobWith(metadata) })

  it.each<[string, readonly Observation[]]>([
    ['of an earlier uid', [added(old), added(present), modified({ ...old, resourceVersion: '15' })]],
    ['of an earlier uid, without resource versions', [added(unversioned(present)), modified(unversioned(old))]],
    ['of an earlier resource version', [added(present), modified({ ...present, resourceVersion: '19' })]],
    ['of an earlier uid that is deleted', [added(present), deleted({ ...old, resourceVersion: '16' })]],
  ])('%s', (_, observations) => {
    expect(storeAfter(observations).list('Job', 'shop')).toMatchObject([{ metadata: { uid: 'new' } }])
    expect(storeAfter(observations).withUid('old')).toBeUndefined()
  })

  it.each<[string, readonly Observation[]]>([
    [
      'that was deleted',
      [added(old), deleted({ ...old, resourceVersion: '18' }), modified({ ...old, resourceVersion: '15' })],
    ],
    [
      'that was replaced by one that was deleted',
      [
        added(old),
        added(present),
        deleted({ ...present, resourceVersion: '21' }),
        modified({ ...old, resourceVersion: '15' }),
      ],
    ],
  ])('%s', (_, observations) => {
    expect(storeAfter(observations).list('Job', 'shop')).toEqual([])
  })

  it('but a new object of the same name replaces a deleted one', () => {
    const seen = [added(old), deleted({ ...old, resourceVersion: '18' }), added(present)]
    expect(storeAfter(seen).list('Job', 'shop')).toMatchObject([{ metadata: { uid: 'new' } }])
  })

  it('but an object that one watch no longer selects stays if another watch reports its change', () => {
    const moved = { ...old, resourceVersion: '18' }
    const seen = [added(old), deleted(moved), modified(moved)]
    expect(storeAfter(seen).list('Job', 'shop')).toMatchObject([{ metadata: moved }])
  })
})

describe('the events about an object', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop', uid: 'u1' } }
  const about = { kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u1' }
  const event = (name: string, overrides: Partial<EventObject> & { resourceVersion?: string }): Observation => {
    const { resourceVersion, ...rest } = overrides
    const metadata = { name, namespace: 'shop', ...(resourceVersion === undefined ? {} : { resourceVersion }) }
    return {
      type: 'ADDED',
      object: { apiVersion: 'v1', kind: 'Event', involvedObject: about, ...rest, metadata } as EventObject,
    }
  }
  const namesOf = (observations: readonly Observation[]) =>
    storeAfter(observations)
      .eventsOf(pod)
      .map(({ metadata }) => metadata.name)

  it.each<[string, readonly Observation[]]>([
    [
      'whatever the order of the list',
      [
        event('c', { lastTimestamp: '2025-01-15T12:00:09Z' }),
        event('a', { lastTimestamp: '2025-01-15T12:00:01Z' }),
        event('b', { lastTimestamp: '2025-01-15T12:00:05Z' }),
      ],
    ],
    [
      'by their series, and by eventTime where there is no other',
      [
        event('c', { eventTime: '2025-01-15T12:00:00Z', series: { lastObservedTime: '2025-01-15T12:00:09Z' } }),
        event('b', { eventTime: '2025-01-15T12:00:05.123456Z' }),
        event('a', { lastTimestamp: '2025-01-15T12:00:01Z' }),
      ],
    ],
    [
      'when one of them occurs again',
      [
        event('c', { lastTimestamp: '2025-01-15T12:00:01Z', resourceVersion: '1' }),
        event('a', { lastTimestamp: '2025-01-15T12:00:02Z', resourceVersion: '2' }),
        event('b', { lastTimestamp: '2025-01-15T12:00:05Z', resourceVersion: '3' }),
        event('c', { lastTimestamp: '2025-01-15T12:00:09Z', resourceVersion: '4' }),
      ],
    ],
    [
      'within one second by their resource versions, as timestamps are whole seconds',
      [
        event('c', { lastTimestamp: '2025-01-15T12:00:01Z', resourceVersion: '12' }),
        event('a', { eventTime: '2025-01-15T12:00:01.900000Z', resourceVersion: '9' }),
        event('b', { lastTimestamp: '2025-01-15T12:00:01Z', resourceVersion: '10' }),
      ],
    ],
  ])('are in the order of their last occurrence, %s', (_, observations) => {
    expect(namesOf(observations)).toEqual(['a', 'b', 'c'])
  })

  it('are found by its kind and name when the object is not watched', () => {
    const seen = [event('a', { reason: 'FailedBinding' })]
    const unwatched = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop' } }
    expect(storeAfter(seen).eventsOf(unwatched)).toMatchObject([{ reason: 'FailedBinding' }])
  })
})

describe('an object of another namespace that names the uid of an object', () => {
  const uid = 'web'
  const webPod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop', uid } }
  const event = (namespace: string): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'web.1', namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace, uid },
      reason: namespace,
    }) as EventObject
  const owned = (namespace: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: namespace,
      namespace,
      uid: namespace,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid }],
    },
  })
  const objects = [webPod, event('shop'), event('other'), owned('shop'), owned('other')]
  const store = storeAfter(objects.map((object) => ({ type: 'ADDED', object })))

  it('in an event is no evidence about it', () => {
    expect(store.eventsOf(webPod)).toMatchObject([{ reason: 'shop' }])
  })

  it('in an owner reference does not belong to it', () => {
    expect(store.ownedBy(uid).map(({ metadata }) => metadata.namespace)).toEqual(['shop'])
  })
})
