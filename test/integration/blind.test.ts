import { join } from 'node:path'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { patterns, readData, requireOptions } from '../kit/rows.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { playRecording } from '../support/play-recording.ts'
import { recordingPath, replayRecording } from '../support/recordings.ts'

// Thousands of pages need many turns of the event loop.
import.meta.jest.setTimeout(30_000)

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

/** Before its only page with objects, each list of Deployments has empty pages. Returns the numbers of the answered pages. */
function addPages({ pages, pageMs = 0, from = 0 }: { pages: number; pageMs?: number; from?: number }): number[] {
  const answered: number[] = []
  const slowFrom = clock.now() + from
  server.intercept(async ({ path, query }, response) => {
    const page = Number(/^page-(\d+)$/.exec(query.get('continue') ?? '')?.[1] ?? 0)
    if (!path.endsWith('/deployments') || query.has('watch') || clock.now() < slowFrom) return 'answer'
    if (pageMs > 0) await new Promise<void>((resolve) => clock.after(pageMs, resolve))
    answered.push(page)
    if (page + 1 >= pages) {
      query.delete('continue')
      return 'answer'
    }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ kind: 'DeploymentList', metadata: { continue: `page-${page + 1}` }, items: [] }))
    return 'answered'
  })
  return answered
}

/** What the file of cases names. Some resolve when their effect is over. */
const happenings: Readonly<Record<string, () => unknown>> = {
  stop: () => server.stop(),
  'stop for 100 s': async () => {
    const back = Promise.withResolvers<void>()
    clock.after(100_000, () => void server.start().then(back.resolve))
    await server.stop()
    await back.promise
  },
  hang: () => server.hang(true),
  'hang and cut': () => {
    server.hang(true)
    server.cutWatches()
  },
  answer: () => server.hang(false),
  bookmarks: function send() {
    server.sendBookmarks()
    clock.after(10_000, send)
  },
  'refuse tokens': () => {
    server.refuseTokens()
    server.cutWatches()
  },
  deny: () => {
    server.deny({ verb: '*', group: 'apps', resource: 'deployments' })
    server.cutWatches()
  },
}

type Bounds = readonly [moreThan: number, fewerThan: number]

interface Case {
  readonly when?: Readonly<Record<string, string>>
  readonly lists?: Parameters<typeof addPages>[0]
  readonly inputs?: Record<string, string>
  readonly ends?: object
  readonly fails?: object
  readonly seconds?: Bounds
  readonly took?: Bounds
  /** The number of the last page that was read. */
  readonly lastPage?: number
  /** A text that no entry of the log contains. */
  readonly silentOn?: string
}

const data = import.meta.filename.replace('.test.ts', '.yaml')
const options = ['when', 'lists', 'inputs', 'ends', 'fails', 'seconds', 'took', 'lastPage', 'silentOn']

function expectWithin(seconds: number, [moreThan, fewerThan]: Bounds = [-1, Infinity]): void {
  expect(seconds).toBeGreaterThan(moreThan)
  expect(seconds).toBeLessThan(fewerThan)
}

test.each(Object.entries(readData(data) as Record<string, Case>))('%s', async (title, given) => {
  requireOptions(given, options, [data, title])
  const { when = {}, lists, inputs = {}, ends = {}, fails, seconds, took, lastPage, silentOn } = given
  const happened: unknown[] = []
  const happen = (name: string) => {
    const act = happenings[name]
    if (act === undefined) throw new Error(`${title}: nothing is called "${name}"`)
    happened.push(act())
  }
  const { start: first, watching, ...later } = when
  const begin = clock.now()
  const pages = lists && addPages(lists)
  if (first !== undefined) happen(first)
  for (const [second, name] of Object.entries(later)) clock.after(Number(second) * 1_000, () => happen(name))
  const gate = gateStalled(inputs, () => void (watching !== undefined && happen(watching)))
  if (fails !== undefined) await expect(gate).rejects.toMatchObject(patterns(fails))
  else {
    const runRecord = await gate
    expect(runRecord).toMatchObject(patterns(ends))
    expectWithin((runRecord.finishedAt - runRecord.startedAt) / 1_000, seconds)
    if (silentOn !== undefined) expect(runRecord.entries.some(({ text }) => text.includes(silentOn))).toBe(false)
  }
  expectWithin((clock.now() - begin) / 1_000, took)
  if (lastPage !== undefined) expect(Math.max(...(pages ?? []))).toBe(lastPage)
  expect(await Promise.all(happened)).toHaveLength(Object.keys(when).length)
})

test('a recording of an outage replays to the same report', async () => {
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
