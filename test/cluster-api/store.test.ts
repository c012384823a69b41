import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { EventObject } from '../../src/cluster/objects.ts'
import { type ListState, Store } from '../../src/cluster/store.ts'
import { added, at, requestOf } from '../kit/gate.ts'
import type { NamedObjects } from '../kit/named-objects.ts'
import { make } from '../kit/objects.ts'
import { readData, rows } from '../kit/rows.ts'
import { tape } from '../kit/tape.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')
const { objects } = readData(data) as { readonly objects: NamedObjects }

const pods = requestOf('Pod')

function storeOf(events: readonly FeedEvent[]): Store {
  const store = new Store(() => true)
  for (const event of events) store.apply(event)
  return store
}

/** The store after a tape in words. */
const storeAfter = (text: string) => storeOf(tape(text, objects).flat())

/** A pod without an owner, whose uid is given. */
const podIn = (namespace: string, uid: string, name: string) => make.barePod({ metadata: { name, namespace, uid } })

describe('the list state of the pods of a namespace', () => {
  it.each(rows<[string, string, ListState, readonly string[]]>(data, 'the list state of the pods of a namespace'))(
    '%s',
    (_, text, listState, denied) => {
      const store = storeAfter(text)
      expect(store.listState(pods)).toBe(listState)
      expect(store.deniedAccess.map(({ message }) => message)).toEqual(denied)
    },
  )

  it('has no refusal after the pods were listed', () => {
    expect(storeAfter('0 fails 403 Pod no').refusalOf(pods)).toMatchObject({ code: 403, message: 'no' })
    expect(storeAfter('0 fails 403 Pod no, list Pod').refusalOf(pods)).toBeUndefined()
  })
})

describe('a late change of an object', () => {
  it.each(rows<[string, string, readonly string[]]>(data, 'a late change of an object'))('%s', (_, text, present) => {
    const store = storeAfter(text)
    const versions = store.list('Job', 'shop').map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`)
    expect(versions).toEqual(present)
    for (const uid of ['old', 'new'])
      expect(store.getByUid(uid) !== undefined).toBe(present.some((each) => each.startsWith(uid)))
  })
})

describe('the events about an object', () => {
  const pod = podIn('shop', 'u1', 'web')
  /** The names of events, as the store lists them. */
  function namesOf(events: readonly (readonly [name: string, fields: Partial<EventObject>])[], about = pod) {
    const objects = events.map(([name, { metadata, ...fields }]) => ({
      ...make.event(pod, { reason: 'Pulled', ...fields }),
      metadata: { ...metadata, name, namespace: 'shop' },
    }))
    const listed = storeOf(at(0, added(...objects))).eventsOf(about)
    return listed.map(({ metadata }) => metadata.name)
  }

  it.each(rows<[string, Parameters<typeof namesOf>[0]]>(data, 'the events about an object'))(
    'are in the order of their last occurrence %s',
    (_, events) => {
      expect(namesOf(events)).toEqual(['a', 'b', 'c'])
    },
  )

  it('are found by its kind and name if the object is not watched', () => {
    const { uid: _, ...metadata } = pod.metadata
    expect(namesOf([['a', {}]], { ...pod, metadata })).toEqual(['a'])
  })
})

describe('an object of another namespace with the uid of an object', () => {
  const web = podIn('shop', 'web', 'web')
  const [ours, theirs] = ['shop', 'other'].map((namespace) => {
    const claimed = podIn(namespace, 'web', 'web')
    return [make.event(claimed, { reason: namespace }), make.pod({ metadata: { name: 'owned', namespace } }, claimed)]
  })
  const store = storeOf(at(0, added(web, ...(ours ?? []), ...(theirs ?? []))))

  it('is no evidence for that object in an event', () => {
    expect(store.eventsOf(web)).toMatchObject([{ reason: 'shop' }])
  })

  it('is not owned by that object through an owner reference', () => {
    expect(store.listOwned('web').map(({ metadata }) => metadata.namespace)).toEqual(['shop'])
  })
})
