import type { FeedEvent, WatchRequest } from '../../src/cluster/feed.ts'
import { TextQueue } from '../../src/run/redacted-output.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { rows } from '../kit/rows.ts'
import { play, type Verbs } from '../kit/steps.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const pods: WatchRequest = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
const secrets: WatchRequest = { apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'db' }
const events: WatchRequest = { apiVersion: 'v1', kind: 'Event', namespace: 'shop' }
const watches: Readonly<Record<string, WatchRequest>> = { pods, secrets, events }

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
    print: (text: string) => queue.push(() => shown.push(text)),
    synced: (request: WatchRequest) => queue.observe({ type: 'SYNCED', at: clock.now(), ...request }),
    failed: (event: Partial<WatchRequest>) =>
      queue.observe({ type: 'ERROR', at: clock.now(), message: 'timeout', code: 0, ...event } as FeedEvent),
    watch: (request: WatchRequest) => {
      present = [...present, request]
    },
  }
}

const running = new AbortController().signal
const cancelled = AbortSignal.abort()

/** What a step does: `prints one`; `lists pods` or `fails secrets`, and `fails server`; `passes 1000` ms. */
const verbs: Verbs<ReturnType<typeof open>> = {
  prints: ({ print }, [text = '']) => print(text),
  lists: ({ synced }, [name = '']) => synced(watches[name] ?? pods),
  fails: ({ failed }, [name = '']) => failed(watches[name] ?? {}),
  passes: ({ clock }, [ms]) => clock.advance(Number(ms)),
}

/** Steps, and all that is shown after them. */
type Part = readonly [steps: readonly string[], shown: readonly string[]]

test.each(rows<[string, readonly string[], readonly Part[]]>(data, 'texts'))('%s', async (_, requests, parts) => {
  const queue = open(requests.map((name) => watches[name] ?? pods))
  for (const [steps, shown] of parts) {
    await play(steps, verbs, queue)
    expect(queue.shown).toEqual(shown)
  }
})

test('texts wait until the first list of a new watch is complete', () => {
  const { clock, queue, shown, print, synced, watch } = open([pods])
  synced(pods)
  watch(secrets)
  print('one')
  clock.advance(1_000)
  expect([shown, queue.isWaiting]).toEqual([[], true])
  synced(secrets)
  expect([shown, queue.isWaiting]).toEqual([['one'], false])
})

describe('the end of a gate', () => {
  test('requests the missing lists again, and lets all texts leave', async () => {
    const { queue, shown, print, synced } = open()
    synced(pods)
    print('one')
    const requested: (readonly WatchRequest[])[] = []
    const ended = queue.finish(async (requests) => void requested.push(requests), running)
    await ended
    expect([requested, shown]).toEqual([[[secrets]], ['one']])
  })

  test('waits no longer than 2 s, or 500 ms in a cancelled job', async () => {
    for (const [signal, ms] of [[running, 2_000] as const, [cancelled, 500] as const]) {
      const { clock, queue, shown, print } = open()
      print('one')
      const ended = queue.finish(() => new Promise(() => {}), signal)
      clock.advance(ms - 1)
      expect(shown).toEqual([])
      clock.advance(1)
      await ended
      expect(shown).toEqual(['one'])
    }
  })

  test('waits for no list if no text waits, and ignores a failure', async () => {
    const { queue, shown, print } = open()
    const requested: (readonly WatchRequest[])[] = []
    await queue.finish(async (requests) => void requested.push(requests), running)
    expect(requested).toEqual([])
    print('one')
    await queue.finish(() => Promise.reject(new Error('gone')), running)
    expect(shown).toEqual(['one'])
  })
})
