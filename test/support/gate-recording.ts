import { connect } from '../../src/cluster/cluster.ts'
import { isMissing } from '../../src/cluster/failures.ts'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import { Follower } from '../../src/cluster/follower.ts'
import { Gate } from '../../src/gate/gate.ts'
import type { Entry } from '../../src/gate/timeline-entries.ts'
import { loadChecks } from '../../src/lifecycle/rules.ts'
import { readHeader } from '../../src/recording/reader.ts'
import type { RecordingHeader } from '../../src/recording/writer.ts'
import { recordedSettings } from '../../src/run/recorded-run.ts'
import { type ApiServer, startApiServer } from './api-server.ts'
import { EventLoopClock } from './event-loop-clock.ts'
import { openRecording } from './play-recording.ts'
import { once, recordedEvents } from './recordings.ts'

/** A request takes some ten turns of the event loop, so about 0.2 s: as over a slow network. */
const msPerTurn = 20

/** How a gate ended. */
export interface Ending {
  readonly outcome: string
  readonly reason: string
  readonly seconds: number
  readonly entries: readonly Entry[]
}

/** A recording in memory: the first lists, and the later events. */
export interface Recording {
  readonly header: RecordingHeader
  /** Whether the connection itself was disturbed, or access withdrawn: the server of the tests cannot replay that. */
  readonly isDisturbed: boolean
  /** Number of events up to the end of the first lists. */
  readonly first: number
  readonly discovery: readonly FeedEvent[]
  /** The moments of the events after the first lists. */
  readonly later: readonly number[]
}

/** Reads a recording once. */
export const readRecording = once(async (path): Promise<Recording> => {
  const header = await readHeader(path)
  const events = await recordedEvents(path)
  const first = events.findLastIndex(({ type }) => type === 'SYNCED') + 1
  return {
    header,
    isDisturbed: events.some((event) => event.type === 'ERROR' && !isMissing(event) && event.kind !== 'Node'),
    first,
    discovery: events.filter(({ type }) => type === 'DISCOVERY'),
    later: events.slice(first).map(({ at }) => at),
  }
})

export interface Interference {
  /** Called before the client's first request. */
  readonly prepare?: (server: ApiServer, clock: EventLoopClock) => void | Promise<void>
  /** Called before each event after the first lists; those after the verdict are not played. */
  readonly before?: (event: number, server: ApiServer) => void | Promise<void>
  /** How long the recorded events wait for the first lists. By default until the lists are complete. */
  readonly firstListsMs?: number
  /** How far the server's time is ahead of the clock, in addition to the recorded offset. */
  readonly aheadMs?: () => number
  /** Default: `server.kubeconfig()`. */
  readonly kubeconfig?: (server: ApiServer) => string
}

/**
 * Plays a recording to the real client through a server, in the recording's own time, and returns how the gate ends.
 */
export async function gateRecording(
  path: string,
  {
    prepare = () => {},
    before = () => {},
    firstListsMs = Number.POSITIVE_INFINITY,
    aheadMs = () => 0,
    kubeconfig = (server) => server.kubeconfig(),
  }: Interference = {},
): Promise<Ending> {
  const { header, first, discovery, later } = await readRecording(path)
  const targets = header.targets ?? []
  const settings = { ...recordedSettings(header), ...(await loadChecks(targets, [])) }
  const server = await startApiServer()
  const clock = new EventLoopClock(settings.startedAt, msPerTurn, (now) => {
    server.clockOffsetMs = now + aheadMs() + header.serverOffsetMs - Date.now()
  })
  const cluster = connect({ kubeconfig: kubeconfig(server) }, { clock, userAgent: 'test' })
  try {
    const player = await openRecording(server, path)
    for (let index = 0; index < first; index++) await player.step()
    await prepare(server, clock)
    const gate = new Gate(targets, settings, () => true)
    // Discovery ends before the gate begins.
    gate.handle(discovery.map((event) => ({ ...event, at: settings.startedAt })))
    const isOver = () => gate.verdict !== undefined
    const ended = new Follower(gate, cluster, clock, settings.startedAt, () => {}).run()
    // Each watch follows its list, and a list requests all watches that its objects need: once all watches are open,
    // all lists are complete.
    const isWatching = () => server.openWatches.length === gate.requests.length || isOver()
    await clock.runUntil(settings.startedAt + firstListsMs, isWatching, 1)
    for (const [index, at] of later.entries()) {
      while (clock.now() + aheadMs() < at && !isOver()) await clock.runUntil(at - aheadMs(), isOver)
      if (isOver()) break
      await before(index, server)
      await player.step()
    }
    await clock.runUntil(Number.POSITIVE_INFINITY, isOver)
    await ended
    const { outcome, reason, startedAt, finishedAt, entries } = gate.record()
    if (outcome === 'progressing') throw new Error('the gate ended without a verdict')
    return { outcome, reason, seconds: (finishedAt - startedAt) / 1000, entries }
  } finally {
    cluster.close()
    await server.close()
  }
}
