import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { server } from '../support/fresh-server.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { playRecording } from '../support/play-recording.ts'
import { recordingPath } from '../support/recordings.ts'

// Thousands of pages need many turns of the event loop.
import.meta.jest.setTimeout(30_000)

/** A rollout that waits for a readiness that never comes. */
const name = 'stalled'
let clock: EventLoopClock
let namespace: string

beforeEach(async () => {
  await playRecording(server, recordingPath(name), { speed: Number.POSITIVE_INFINITY })
  const { startedAt, serverOffsetMs, inputs } = await readHeader(recordingPath(name))
  namespace = String(inputs['namespace'])
  clock = new EventLoopClock(Date.parse(startedAt), 20, (now) => {
    server.clockOffsetMs = now + serverOffsetMs - Date.now()
  })
})

const runGate = (written: Record<string, string>): Promise<EndedRunRecord> =>
  gateInVirtualTime({ resources: 'deployment/web', namespace, kubeconfig: server.kubeconfig(), ...written }, clock)

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

function secondsOf({ startedAt, finishedAt }: EndedRunRecord): number {
  return (finishedAt - startedAt) / 1000
}

const unknown = { outcome: 'unknown', reason: 'api-unreachable' }

describe('a list that does not end', () => {
  test('before the timeout makes the outcome unknown soon after it, although each page is an answer', async () => {
    addPages({ pages: 90, pageMs: 1_000 })
    const startedAt = clock.now()
    const runRecord = await runGate({ timeout: '8s' })
    expect(runRecord).toMatchObject(unknown)
    expect(runRecord.message).toContain('the list of Deployment')
    expect(clock.now() - startedAt).toBeLessThan(8_000 + 11_000)
  })

  test('at the timeout is no verdict on a rollout that was seen before', async () => {
    addPages({ pages: Infinity, pageMs: 500, from: 15_000 })
    const startedAt = clock.now()
    expect(await runGate({ timeout: '20s' })).toMatchObject(unknown)
    expect(clock.now() - startedAt).toBeLessThan(20_000 + 21_000)
  })

  test('is given up after 1,000 pages, and tried again less and less often', async () => {
    const answered = addPages({ pages: Infinity })
    const runRecord = await runGate({ timeout: '10m' })
    expect(runRecord).toMatchObject(unknown)
    expect(runRecord.message).toContain('more than 1,000 pages')
    expect(Math.max(...answered)).toBe(999)
  })

  test('before the targets are known leaves the outcome unknown at the timeout', async () => {
    addPages({ pages: Infinity, pageMs: 1_000 })
    const runRecord = await runGate({ resources: 'deployment --all', timeout: '8s' })
    expect(runRecord).toMatchObject(unknown)
    expect(secondsOf(runRecord)).toBe(8)
  })

  test('is a mistake before the targets are known, if it has too many pages', async () => {
    addPages({ pages: Infinity })
    await expect(runGate({ resources: 'deployment --all' })).rejects.toMatchObject({
      reason: 'api-unreachable',
      message: expect.stringContaining('more than 1,000 pages'),
    })
  })
})

describe('a list of many pages', () => {
  test('that takes 12 s is an answer at the timeout', async () => {
    addPages({ pages: 12, pageMs: 1_000 })
    const runRecord = await runGate({ timeout: '20s' })
    expect(runRecord).toMatchObject({ outcome: 'timed-out', reason: 'readiness-failing' })
  })

  test('that takes 40 s delays the start, and is an answer at the timeout', async () => {
    addPages({ pages: 40, pageMs: 1_000 })
    const runRecord = await runGate({ timeout: '60s' })
    expect(runRecord).toMatchObject({ outcome: 'timed-out', reason: 'readiness-failing' })
  })
})

test('a server that does not answer the first request by a timeout below 30 s is a mistake then', async () => {
  server.hang(true)
  const startedAt = clock.now()
  await expect(runGate({ timeout: '8s' })).rejects.toMatchObject({ reason: 'api-unreachable' })
  expect(clock.now() - startedAt).toBeLessThan(8_100)
})
