import type { FeedEvent, WatchRequest } from '../../src/cluster/feed.ts'
import { TextQueue } from '../../src/run/exit.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'

const pods: WatchRequest = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
const secrets: WatchRequest = { apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'db' }
const events: WatchRequest = { apiVersion: 'v1', kind: 'Event', namespace: 'shop' }

function open(requests: readonly WatchRequest[] = [pods, secrets]) {
  const clock = new ManualClock()
  const queue = new TextQueue(clock)
  const shown: string[] = []
  let present = requests
  queue.follow(() => present)
  return {
    clock,
    queue,
    shown,
    say: (text: string) => queue.push(() => shown.push(text)),
    synced: (request: WatchRequest) => queue.observe({ type: 'SYNCED', at: clock.now(), ...request }),
    failed: (event: Partial<WatchRequest>) =>
      queue.observe({ type: 'UNAVAILABLE', at: clock.now(), message: 'timeout', code: 0, ...event } as FeedEvent),
    watch: (request: WatchRequest) => {
      present = [...present, request]
    },
  }
}

const running = new AbortController().signal
const cancelled = AbortSignal.abort()

test('a text waits until the first lists of all watches have arrived', () => {
  const { clock, shown, say, synced } = open()
  say('one')
  say('two')
  clock.advance(1_000)
  synced(pods)
  clock.advance(1_000)
  expect(shown).toEqual([])
  synced(secrets)
  expect(shown).toEqual(['one', 'two'])
})

test('a text waits neither for a list that fails, nor for a list of events', () => {
  const { shown, say, synced, failed } = open([pods, secrets, events])
  say('one')
  synced(pods)
  failed(secrets)
  expect(shown).toEqual(['one'])
})

test('a text does not wait for a server that fails', () => {
  const { shown, say, failed } = open()
  say('one')
  failed({})
  expect(shown).toEqual(['one'])
})

test('a list without an answer delays texts for 10 s, and delays later texts no more', () => {
  const { clock, shown, say, synced } = open()
  say('one')
  synced(pods)
  clock.advance(9_999)
  expect(shown).toEqual([])
  clock.advance(1)
  expect(shown).toEqual(['one'])
  say('two')
  expect(shown).toEqual(['one', 'two'])
})

test('once the lists have arrived, a text leaves at once', () => {
  const { shown, say, synced } = open()
  synced(pods)
  synced(secrets)
  say('one')
  expect(shown).toEqual(['one'])
})

test('a new watch holds texts until it has answered', () => {
  const { clock, queue, shown, say, synced, watch } = open([pods])
  synced(pods)
  watch(secrets)
  say('one')
  clock.advance(1_000)
  expect([shown, queue.isWaiting]).toEqual([[], true])
  synced(secrets)
  expect([shown, queue.isWaiting]).toEqual([['one'], false])
})

describe('the end of a gate', () => {
  test('requests the missing lists again, and lets all texts leave', async () => {
    const { queue, shown, say, synced } = open()
    synced(pods)
    say('one')
    const requested: (readonly WatchRequest[])[] = []
    const ended = queue.finish(async (requests) => void requested.push(requests), running)
    await ended
    expect([requested, shown]).toEqual([[[secrets]], ['one']])
  })

  test('waits no longer than 2 s, or 500 ms in a cancelled job', async () => {
    for (const [signal, ms] of [[running, 2_000] as const, [cancelled, 500] as const]) {
      const { clock, queue, shown, say } = open()
      say('one')
      const ended = queue.finish(() => new Promise(() => {}), signal)
      clock.advance(ms - 1)
      expect(shown).toEqual([])
      clock.advance(1)
      await ended
      expect(shown).toEqual(['one'])
    }
  })

  test('waits for no list if no text waits, and ignores a failure', async () => {
    const { queue, shown, say } = open()
    const requested: (readonly WatchRequest[])[] = []
    await queue.finish(async (requests) => void requested.push(requests), running)
    expect(requested).toEqual([])
    say('one')
    await queue.finish(() => Promise.reject(new Error('gone')), running)
    expect(shown).toEqual(['one'])
  })
})
