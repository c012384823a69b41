import { join } from 'node:path'
import { UserError } from '../../src/errors.ts'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { playRecording } from '../support/play-recording.ts'
import { recordingPath, replayRecording } from '../support/recordings.ts'

const token = 'sesame-open-0123456789'
/** A rollout that waits for a readiness that never comes. */
const name = 'stalled'
let clock: EventLoopClock

beforeEach(async () => {
  await playRecording(server, recordingPath(name), { speed: Number.POSITIVE_INFINITY })
  const { startedAt, serverOffsetMs } = await readHeader(recordingPath(name))
  clock = new EventLoopClock(Date.parse(startedAt), 20, (now) => {
    server.clockOffsetMs = now + serverOffsetMs - Date.now()
  })
})

/** Gates the rollout in virtual time; `onWatching` is called at the first entry of the target. */
async function gateStalled(
  written: Record<string, string>,
  onWatching: () => void = () => {},
): Promise<EndedRunRecord> {
  const { inputs } = await readHeader(recordingPath(name))
  const raw = { resources: 'deployment/web', namespace: String(inputs['namespace']), ...written }
  let hasEntry = false
  const onEntry = ({ target }: { target?: number }) => {
    if (hasEntry || target === undefined) return
    hasEntry = true
    onWatching()
  }
  return gateInVirtualTime({ ...raw, kubeconfig: server.kubeconfig({ token }) }, clock, { onEntry })
}

function secondsOf({ startedAt, finishedAt }: EndedRunRecord): number {
  return (finishedAt - startedAt) / 1000
}

test('an API that is gone for two minutes leaves the outcome unknown', async () => {
  const runRecord = await gateStalled({}, () => void server.stop())
  expect(runRecord).toMatchObject({ outcome: 'unknown', reason: 'api-unreachable' })
  expect(secondsOf(runRecord)).toBeGreaterThan(119)
  expect(secondsOf(runRecord)).toBeLessThan(125)
})

test('an API that falls silent for two minutes leaves the outcome unknown', async () => {
  const runRecord = await gateStalled({}, () => server.hang(true))
  expect(runRecord).toMatchObject({ outcome: 'unknown', reason: 'api-unreachable' })
  expect(runRecord.message).toMatch(/has not answered for 2 m( [1-5] s)?/)
  expect(secondsOf(runRecord)).toBeGreaterThan(119)
  expect(secondsOf(runRecord)).toBeLessThan(126)
})

test('a deadline that comes while the API is silent is no verdict on the rollout', async () => {
  clock.after(25_000, () => server.hang(true))
  const runRecord = await gateStalled({ resources: 'deployment/absent' })
  expect(runRecord).toMatchObject({ outcome: 'unknown', reason: 'api-unreachable' })
})

test('a first list that hangs at a deadline is made anew, and what it shows counts', async () => {
  const { promise: shown, resolve } = Promise.withResolvers<void>()
  clock.after(28_000, () => {
    server.hang(true)
    server.cutWatches()
  })
  clock.after(60_000, () => {
    server.hang(false)
    resolve()
  })
  const runRecord = await gateStalled({ resources: 'deployment/absent' })
  await shown
  expect(runRecord).toMatchObject({ outcome: 'failed', reason: 'not-found' })
  expect(secondsOf(runRecord)).toBeGreaterThan(59)
})

test('an API that comes back within two minutes decides nothing, and the stall clock is stopped until then', async () => {
  const back = Promise.withResolvers<void>()
  const runRecord = await gateStalled({}, () => {
    void server.stop()
    clock.after(100_000, () => void server.start().then(back.resolve))
  })
  await back.promise
  expect(runRecord).toMatchObject({ outcome: 'stalled', reason: 'readiness-failing' })
  expect(secondsOf(runRecord)).toBeGreaterThan(399)
})

test('a server that sends only bookmarks is healthy, and its rollout stalls', async () => {
  const runRecord = await gateStalled({}, () => {
    const send = () => {
      server.sendBookmarks()
      clock.after(10_000, send)
    }
    send()
  })
  expect(runRecord).toMatchObject({ outcome: 'stalled', reason: 'readiness-failing' })
  expect(runRecord.entries.some(({ text }) => text.includes('does not answer'))).toBe(false)
})

test('credentials that are refused later, also after they were read again, leave the outcome unknown', async () => {
  const runRecord = await gateStalled({}, () => {
    server.refuseTokens()
    server.cutWatches()
  })
  expect(runRecord).toMatchObject({ outcome: 'unknown', reason: 'credentials-expired' })
})

test('access that is withdrawn leaves the outcome unknown', async () => {
  const runRecord = await gateStalled({}, () => {
    server.deny({ verb: '*', group: 'apps', resource: 'deployments' })
    server.cutWatches()
  })
  expect(runRecord).toMatchObject({ outcome: 'unknown', reason: 'forbidden' })
})

test('a timeout that runs out while nothing has been seen for 30 s is no verdict on the rollout', async () => {
  const runRecord = await gateStalled({ timeout: '40s' }, () => void server.stop())
  expect(runRecord).toMatchObject({ outcome: 'unknown', reason: 'api-unreachable' })
  expect(secondsOf(runRecord)).toBe(40)
})

test('a server that is unreachable at the start is misconfigured, after 30 s', async () => {
  await server.stop()
  const startedAt = clock.now()
  await expect(gateStalled({})).rejects.toThrow(UserError)
  await expect(gateStalled({})).rejects.toMatchObject({ reason: 'api-unreachable' })
  expect(clock.now() - startedAt).toBeGreaterThan(50_000)
})

test('the recording of a blind spell replays to the same report', async () => {
  const record = join(folder, 'recording.ndjson')
  const runRecord = await gateStalled({ record, 'stall-timeout': '2m' }, () => {
    void server.stop()
    clock.after(60_000, () => void server.start())
  })
  expect(runRecord.outcome).toBe('stalled')
  const replayed = await replayRecording(record)
  expect(buildReport(replayed.runRecord)).toEqual(buildReport(runRecord))
  expect(replayed.runRecord.entries).toEqual(runRecord.entries)
})
