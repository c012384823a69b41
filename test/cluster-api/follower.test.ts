import { setImmediate as settled } from 'node:timers/promises'
import type { FeedEvent, Observation, WatchRequest } from '../../src/cluster/feed.ts'
import { type EventConsumer, Follower, type WatchedCluster } from '../../src/cluster/follower.ts'
import { Gate } from '../../src/gate/gate.ts'
import {
  added,
  allSynced,
  createSettings,
  createTarget,
  createWorkload,
  modified,
  type RunOptions,
  report,
  synced,
  unavailable,
} from '../kit/gate.ts'
import { complete, make, podIs, start } from '../kit/objects.ts'
import { ManualClock } from './manual-clock.ts'

const web = createWorkload('web')

/** A cluster that reports what a test passes to `report`, and collects the requests to list again. */
class FakeCluster implements WatchedCluster {
  readonly watched: string[] = []
  readonly refreshes: (() => void)[] = []
  readonly refreshed: string[][] = []
  #sink: (observation: Observation) => void = () => {}

  watch({ kind, name, labelSelector }: WatchRequest, sink: (observation: Observation) => void): void {
    this.watched.push([kind, name ?? labelSelector].filter((word) => word !== undefined).join(' '))
    this.#sink = sink
  }

  refresh(requests: readonly WatchRequest[]): Promise<void> {
    this.refreshed.push(requests.map(({ kind }) => kind))
    return new Promise((resolve) => this.refreshes.push(resolve))
  }

  report(...observations: readonly (Observation | readonly Observation[])[]): void {
    for (const observation of observations.flat()) this.#sink(observation)
  }
}

function follow({ targets = [web.target], settings = {} }: RunOptions = {}) {
  const clock = new ManualClock(start)
  const cluster = new FakeCluster()
  const gate = new Gate(targets, createSettings(settings), () => true)
  const events: FeedEvent[] = []
  let updates = 0
  const onUpdate = () => {
    updates += 1
  }
  const follower = new Follower(gate, cluster, clock, start, (event) => events.push(event), onUpdate)
  let isOver = false
  const over = follower.run().then(() => {
    isOver = true
  })
  /** Advances the clock second by second, and waits for the work of each second. */
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0; left -= 1) {
      clock.advance(Math.min(left, 1) * 1_000)
      await settled()
    }
  }
  return { clock, cluster, gate, events, follower, over, pass, isOver: () => isOver, updates: () => updates }
}

describe('the watched objects', () => {
  it('are the target and its events at first, and related objects later', async () => {
    const { cluster } = follow()
    expect(cluster.watched).toEqual(['Deployment web', 'Event'])
    cluster.report(added(web.deployment()))
    await settled()
    expect(new Set(cluster.watched.slice(2))).toEqual(
      new Set(['Deployment web', 'ReplicaSet app=web', 'Pod app=web', 'Event']),
    )
  })
})

test('requests to pods are updated after events and deadlines', async () => {
  const { cluster, pass, updates } = follow()
  /** Whether it has been looked at since the last call. */
  let known = updates()
  const isUpdated = () => {
    const before = known
    known = updates()
    return known > before
  }
  cluster.report(allSynced, added(web.deployment()))
  await settled()
  expect(isUpdated()).toBe(true)
  await settled()
  expect(isUpdated()).toBe(false)
  await pass(30)
  expect(isUpdated()).toBe(true)
})

describe('a followed gate', () => {
  it('ends with its verdict and leaves no timer behind', async () => {
    const { cluster, gate, over, clock } = follow()
    cluster.report(web.done, allSynced)
    await over
    expect(gate.verdict?.outcome).toBe('ready')
    expect(clock.pending).toEqual([])
  })

  it('is ready only after its watches answered again', async () => {
    const { cluster, gate, pass } = follow()
    cluster.report(allSynced, added(web.deployment(complete()), web.replicaSet, web.pod(podIs.ready(0))))
    await pass(10)
    expect(cluster.refreshed).toEqual([['Deployment', 'ReplicaSet', 'Pod']])
    await pass(2)
    cluster.report(modified(web.pod(podIs.dead(1, 9))))
    cluster.refreshes[0]?.()
    await pass(30)
    expect(gate.verdict).toBeUndefined()
  })

  it('is ready without a new list of many pods if one pod has just changed', async () => {
    const { cluster, pass } = follow()
    const others = Array.from({ length: 100 }, (_, index) => make.barePod({ metadata: { name: `other-${index}` } }))
    cluster.report(allSynced, added(...others, web.deployment(), web.replicaSet, web.pod(podIs.ready(0))))
    await pass(30)
    cluster.report(modified(web.pod(podIs.ready(0)), web.deployment(complete())))
    await settled()
    await pass(1)
    expect(cluster.refreshed).toEqual([['Deployment', 'ReplicaSet']])
  })

  it('ends when a deadline expires', async () => {
    const { cluster, gate, pass } = follow()
    cluster.report(allSynced, added(web.deployment(complete()), web.replicaSet, web.pod(podIs.ready(0))))
    await pass(10)
    expect(gate.isOver).toBe(false)
    cluster.refreshes[0]?.()
    await settled()
    expect(report(gate)).toMatchObject({ outcome: 'ready', seconds: 10 })
  })

  it('ends when it is cancelled, even while a deadline is confirmed', async () => {
    const { follower, gate, over, clock, pass, cluster } = follow()
    cluster.report(synced('Deployment'))
    await pass(31)
    expect(cluster.refreshes).toHaveLength(1)
    follower.cancel()
    await over
    expect(gate.verdict?.outcome).toBe('cancelled')
    expect(clock.pending).toEqual([])
  })

  it('reports each event with its time to a listener before it handles the event', async () => {
    const { cluster, events, gate, pass } = follow()
    await pass(2)
    const known = events.length
    gate.handle = () =>
      expect(events.slice(known).map(({ type, at }) => [type, at - start])).toEqual([['ADDED', 2_000]])
    cluster.report(added(web.deployment()))
    await settled()
    expect.assertions(1)
  })

  it('reports no event to a listener after its verdict', async () => {
    const { cluster, events, over } = follow()
    cluster.report(web.done, allSynced)
    await over
    const before = events.length
    cluster.report(modified(web.deployment()))
    expect(events).toHaveLength(before)
  })

  it('rejects if the gate throws an error', async () => {
    const { follower, gate, over } = follow()
    gate.handle = () => {
      throw new Error('ours')
    }
    follower.observe({ type: 'ALIVE' })
    await expect(over).rejects.toThrow('ours')
  })
})

describe('the time of an event', () => {
  it('is shared only by events that arrive together', async () => {
    const { cluster, events } = follow()
    cluster.report(allSynced)
    await settled()
    cluster.report(added(web.deployment()), added(web.replicaSet))
    await settled()
    expect(Map.groupBy(events, ({ at }) => at - start)).toEqual(
      new Map([
        [0, events.slice(0, allSynced.length)],
        [1, events.slice(allSynced.length)],
      ]),
    )
  })

  it('is shared by at most 100 events of a list', async () => {
    const { cluster, events } = follow()
    const pods = Array.from({ length: 250 }, (_, index) => make.barePod({ metadata: { name: `other-${index}` } }))
    cluster.report(added(...pods))
    await settled()
    const times = Map.groupBy(events, ({ at }) => at - start)
    expect([...times].map(([at, together]) => [at, together.length])).toEqual([
      [0, 100],
      [1, 100],
      [2, 50],
    ])
  })
})

describe('before a clock ends a target,', () => {
  it('the watches of the target list again, and the clock stops until then', async () => {
    const { cluster, gate, pass } = follow()
    cluster.report(synced('Deployment'))
    await pass(33)
    expect(cluster.refreshes).toHaveLength(1)
    expect(gate.verdict).toBeUndefined()
    cluster.refreshes[0]?.()
    await settled()
    expect(report(gate)).toMatchObject({ outcome: 'failed', reason: 'not-found', seconds: 30 })
  })

  it('a state in that list counts as reached before the deadline', async () => {
    const { cluster, gate, pass, events } = follow()
    cluster.report(allSynced)
    await pass(33)
    cluster.report(web.done)
    cluster.refreshes[0]?.()
    await settled()
    expect(report(gate)).toMatchObject({ outcome: 'ready', seconds: 30 })
    expect(events.at(-1)?.at).toBe(start + 30_000)
  })

  it('a watch that does not answer delays the deadline', async () => {
    const { cluster, gate, pass } = follow()
    cluster.report(synced('Deployment'))
    await pass(60)
    expect(cluster.refreshes).toHaveLength(1)
    expect(gate.verdict).toBeUndefined()
  })

  it('a watch that is unavailable delays the deadline', async () => {
    const { cluster, gate, pass } = follow()
    cluster.report(synced('Deployment'))
    await pass(40)
    cluster.report(unavailable('Deployment', 0))
    cluster.refreshes[0]?.()
    await pass(79)
    expect(gate.verdict).toBeUndefined()
    await pass(1)
    expect(report(gate)).toMatchObject({ outcome: 'unknown', reason: 'api-unreachable', seconds: 120 })
  })

  it('a watch that answers after an outage lists again', async () => {
    const { cluster, gate, pass } = follow()
    cluster.report(synced('Deployment'))
    await pass(40)
    cluster.report(unavailable('Deployment', 0))
    cluster.refreshes[0]?.()
    await pass(20)
    cluster.report({ type: 'ALIVE', apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' })
    await pass(1)
    cluster.report(web.done, allSynced)
    cluster.refreshes[1]?.()
    await settled()
    expect(report(gate)).toMatchObject({ outcome: 'ready', seconds: 61 })
  })

  it('only the watches of the target list again', async () => {
    const job = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })
    const { cluster, pass } = follow({ targets: [web.target, job] })
    cluster.report(web.done, allSynced, { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' })
    await pass(31)
    expect(cluster.refreshed).toEqual([['Job']])
  })

  it('a deadline that expired while the process was suspended is confirmed', async () => {
    const { cluster, clock, gate, events } = follow()
    cluster.report(allSynced)
    await settled()
    // The machine was suspended: no timer fired, and an event is the first to arrive.
    clock.skip(300_000)
    cluster.report(added(web.deployment(complete())))
    expect(gate.verdict).toBeUndefined()
    cluster.report(web.done)
    cluster.refreshes[0]?.()
    await settled()
    expect(report(gate)).toMatchObject({ outcome: 'ready', seconds: 30 })
    expect(events.at(-1)?.at).toBe(start + 30_000)
  })

  it('an event after the deadline is the last event of the consumer', async () => {
    const clock = new ManualClock(start)
    const ends: number[] = []
    const consumer: EventConsumer = {
      requests: [],
      get isOver() {
        return ends.length > 0
      },
      handle: () => {},
      // As in one look, the deadline stays the same.
      nextDeadline: () => {
        if (ends.length > 1) throw new Error('The consumer is advanced again and again.')
        return start + 5_000
      },
      advance: (now) => ends.push(now - start),
      requestsToConfirm: () => [],
    }
    const follower = new Follower(consumer, new FakeCluster(), clock, start)
    const over = follower.run()
    clock.skip(6_000)
    follower.observe({ type: 'ALIVE' })
    await over
    expect(ends).toEqual([5_000])
  })

  it('the time continues at the present moment after the lists', async () => {
    const { cluster, events, pass, isOver } = follow()
    cluster.report(allSynced)
    await pass(33)
    cluster.report(added(web.deployment()))
    cluster.refreshes[0]?.()
    await settled()
    cluster.report(modified(web.deployment()))
    await settled()
    expect(events.slice(-2).map(({ at }) => at - start)).toEqual([30_000, 33_000])
    expect(isOver()).toBe(false)
  })
})
