import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildOutputs } from '../../src/outputs.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { RecordingWriter } from '../../src/recording/writer.ts'
import { buildReport, renderReport } from '../../src/report/json-report.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { renderLog } from '../report/whole-log.ts'
import { folder } from '../support/fresh-folder.ts'
import {
  expectationOf,
  expectationsFile,
  type Replayed,
  readExpectations,
  recordedEvents,
  recordedLines,
  recordingPath,
  recordingsFolder,
  replayOnce,
  replayRecording,
  titledRecordings,
} from '../support/recordings.ts'
import { sampled } from '../support/thorough.ts'

const expectations = readExpectations()

/** The lines of a recording, the header first. */
function linesOf(name: string): readonly string[] {
  return recordedLines(recordingPath(name))
}

function written(text: string | Uint8Array, name = 'recording.ndjson'): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** The report, the log and the summary of a replay. */
function outputOf({ runRecord: record }: Replayed): string {
  return [renderReport(record), ...renderLog(record), renderSummary(record, {})].join('\n')
}

test('every recording of a real rollout has an expectation, and every expectation has a recording', () => {
  const recordings = readdirSync(recordingsFolder).filter((name) => name.endsWith('.ndjson.gz'))
  expect(recordings.map((name) => name.replace('.ndjson.gz', '')).sort()).toEqual(Object.keys(expectations).sort())
})

test.each(titledRecordings(Object.keys(expectations)))(
  '%s replays to the outcome and the milestones of the live run',
  async (_, name) => {
    const { runRecord: record, damage } = await replayOnce(name)
    // As text, so that the order of the milestones counts too.
    const found = expectationOf(buildReport(record))
    if (process.env['UPDATE_SNAPSHOTS'] === '1') expectations[name] = found
    else expect(JSON.stringify(found, null, 2)).toBe(JSON.stringify(expectations[name], null, 2))
    expect(damage).toEqual([])
  },
)

// The switch that writes snapshots writes what is expected of recordings too.
afterAll(() => {
  if (process.env['UPDATE_SNAPSHOTS'] !== '1') return
  writeFileSync(expectationsFile(recordingsFolder), `${JSON.stringify(expectations, null, 2)}\n`)
})

test.each(titledRecordings(sampled(Object.keys(expectations), 12)))(
  '%s replays to the same bytes every time',
  async (_, name) => {
    const first = outputOf(await replayOnce(name))
    expect(outputOf(await replayRecording(recordingPath(name)))).toBe(first)
  },
)

test.each(titledRecordings(Object.keys(expectations)))('%s contains no names of people or machines', (_, name) => {
  const text = linesOf(name).join('\n')
  const hosts = [...text.matchAll(/"(?:host|nodeName)":"([^"]*)"/g)].map(([, host]) => host)
  // A scenario that needs a node of its own makes one, and names it after itself.
  const named = hosts.filter((host) => !['', 'no-such-node'].includes(host ?? '') && !host?.startsWith(`gate-${name}-`))
  expect(new Set(named)).toEqual(new Set(named.length > 0 ? ['localhost'] : []))
  expect(text).not.toMatch(/"default-scheduler-(?!localhost")/)
  expect(text).not.toMatch(
    /"kubeconfig"|"managedFields":\[[^\]]*fieldsV1|last-applied-configuration|"\/(root|home|tmp)\//,
  )
})

/** The recordings whose undo restores what ran, each with its command. Found by hand: an older revision served when the gate began. */
const rollbacks: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(recordingsFolder, 'rollback.json'), 'utf8'),
)
const outputsOf = ({ runRecord: record }: Replayed) => buildOutputs(record, { report: '', summary: '' })

const [undone, notUndone] = [true, false].map((isUndone) =>
  Object.keys(expectations).filter((name) => name in rollbacks === isUndone),
)

test.each(titledRecordings(undone ?? []))(
  'for %s, rollback-command is the undo that restores the earlier revision',
  async (_, name) => {
    expect(outputsOf(await replayOnce(name))['rollback-command']).toBe(rollbacks[name])
  },
)

test.each(titledRecordings(notUndone ?? []))(
  'for %s, rollback-command is empty because an undo restores nothing',
  async (_, name) => {
    expect(outputsOf(await replayOnce(name))['rollback-command']).toBe('')
  },
)

test.each(titledRecordings(Object.keys(expectations)))(
  'for %s, rollback-note is empty only if the outcome is ready',
  async (_, name) => {
    const outputs = outputsOf(await replayOnce(name))
    expect(outputs['rollback-note'] === '').toBe(outputs.outcome === 'ready')
  },
)

test.each(titledRecordings(['job-fails', 'job-index-fails', 'job-deadline', 'job-fails-by-policy']))(
  'for %s, rollback-note warns that a migration may not be undone',
  async (_, name) => {
    expect(outputsOf(await replayOnce(name))['rollback-note']).toBe('job/migrate ran: a migration may not be undone.')
  },
)

test('the replay of a recording that stops early ends when the stall clock expires', async () => {
  const lines = linesOf('update')
  const middle = lines.findIndex((line) => line.includes('"type":"SYNCED"') && line.includes('"Pod"'))
  const { runRecord: record } = await replayRecording(written(lines.slice(0, middle + 1).join('\n')))
  expect(record).toMatchObject({ outcome: 'stalled' })
  expect(record.finishedAt - record.startedAt).toBeGreaterThanOrEqual(5 * 60_000)
})

const name = 'image-not-found'

test('a recording whose gzip stream is incomplete is read up to the last complete line', async () => {
  const header = await readHeader(recordingPath(name))
  const events = await recordedEvents(recordingPath(name))
  const path = join(folder, 'killed.ndjson.gz')
  const writer = new RecordingWriter(path, header)
  for (const event of events.slice(0, 12)) writer.write(event)
  await writer.end(events[12]?.at ?? 0)
  const bytes = readFileSync(path)
  for (const share of [0.5, 0.7, 0.95]) {
    const damage: number[] = []
    const cut = written(bytes.subarray(0, Math.floor(bytes.length * share)), `cut-${share}.ndjson.gz`)
    const read = await recordedEvents(cut, (line) => damage.push(line))
    expect(read.length).toBeGreaterThan(0)
    expect(read).toEqual(events.slice(0, read.length))
    expect(damage).toEqual([read.length + 2])
  }
})

test('a compressed recording with a line of more than 16 MiB is replayed up to that line', async () => {
  const lines = linesOf(name).slice(0, 20)
  const endless = gzipSync(`${lines.join('\n')}\n${' '.repeat(40 << 20)}`)
  expect(endless.length).toBeLessThan(64 << 10)
  const { damage } = await replayRecording(written(endless, 'endless.ndjson.gz'))
  expect(damage).toEqual([{ line: 21, text: 'the line is longer than 16 MiB. Earlier lines are replayed.' }])
  const alone = written(gzipSync('['.repeat(40 << 20)), 'alone.ndjson.gz')
  await expect(readHeader(alone)).rejects.toThrow('the line is longer than 16 MiB')
})

test.each([1_500, 100_000])(
  'a recording with an object that is nested %i levels deep replays to the same outcome',
  async (depth) => {
    const lines = linesOf(name)
    const nested = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    const object = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"deep","namespace":"x"},"spec":{},"status":${nested}}`
    const line = `{"at":"${JSON.parse(lines[5] ?? '').at}","type":"ADDED","object":${object}}`
    const replayed = await replayRecording(written([...lines.slice(0, 6), line, ...lines.slice(6)].join('\n')))
    expect(replayed.damage).toEqual([])
    expect(replayed.runRecord).toMatchObject({ outcome: 'failed', reason: name })
  },
)
