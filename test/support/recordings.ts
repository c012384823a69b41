import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { load } from 'js-yaml'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { EventObject } from '../../src/cluster/objects.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import type { Report } from '../../src/gate/report-schema.ts'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import type { Entry } from '../../src/gate/timeline-entries.ts'
import { readEvents } from '../../src/recording/reader.ts'
import { RecordingIndex } from '../../src/recording/recording-index.ts'
import { RecordedRun } from '../../src/run/recorded-run.ts'
import type { Reporter } from '../../src/run/redacted-output.ts'

/** Recordings of a real cluster, made by `npm run recordings`. */
export const recordingsFolder = resolve(import.meta.dirname, '../recordings')

/** Recordings of custom resources under real operators, made by `npm run recordings -- operators`. */
export const operatorRecordingsFolder = join(recordingsFolder, 'operators')

/** Recordings of rollouts that were judged wrongly, from users: CONTRIBUTING.md, "A wrong verdict". */
export const incidentsFolder = join(recordingsFolder, 'incidents')

/** What is right for a recording: not the moments, which change with the rules. */
export interface RightVerdict {
  /** What happens. */
  note: string
  /** The outcomes that are right. */
  truth: readonly string[]
  /** Why it is not ready, in the words of the object or of the cluster: the report contains them. */
  cause?: string
  /** The seconds of the gate before which nothing is ready: a ready verdict before is wrong. */
  notBeforeSeconds?: number
  /** The seconds of the gate after which a verdict is late: the state of the cluster that decides came a second before. */
  notAfterSeconds?: number
}

/** Result of the live run without its texts. Seconds are since the start of the gate, with milliseconds. */
export interface Expectation {
  outcome: string
  reason: string
  seconds: number
  /** By target name, in input order. */
  targets: Record<
    string,
    {
      outcome: string
      reason: string
      /** The reached milestones in order, with their times. */
      reached: Record<string, number>
      /** Reason and count of each problem at the end. */
      problems: string[]
    }
  >
}

const subjects = load(readFileSync(join(recordingsFolder, 'subjects.yaml'), 'utf8')) as Readonly<Record<string, string>>

/** What the title of a test calls a recording: `a recording of a Job that fails`. */
export function recordingTitle(path: string): string {
  const name = basename(path, '.ndjson.gz')
  return `a recording of ${subjects[name] ?? name}`
}

/** Recordings with their titles in front, for the `%s` of `test.each`. */
export function titledRecordings(names: readonly string[]): [title: string, name: string][] {
  return names.map((name) => [recordingTitle(name), name])
}

/** The expected results of all recordings of a folder, by scenario name. */
export function readExpectations<T = Expectation>(folder = recordingsFolder): Record<string, T> {
  return JSON.parse(readFileSync(expectationsFile(folder), 'utf8')) as Record<string, T>
}

export function expectationsFile(folder: string): string {
  return join(folder, 'expected.json')
}

export function recordingPath(name: string, folder = recordingsFolder): string {
  return join(folder, `${name}.ndjson.gz`)
}

export function expectationOf({ outcome, reason, durationSeconds, targets }: Report): Expectation {
  return {
    outcome,
    reason,
    seconds: durationSeconds,
    targets: Object.fromEntries(
      targets.map(({ target, outcome, reason, milestones, problems }) => [
        target,
        {
          outcome,
          reason,
          reached: Object.fromEntries(
            milestones.flatMap(({ name, state, seconds }) =>
              state === 'done' && seconds !== undefined ? [[name, seconds]] : [],
            ),
          ),
          problems: problems.map(({ reason, count }) => `${reason} ×${count}`),
        },
      ]),
    ),
  }
}

/** The function, which runs once for each text. */
export function once<Result>(run: (text: string) => Result): (text: string) => Result {
  const results = new Map<string, { readonly result: Result }>()
  return (text) => {
    const known = results.get(text) ?? { result: run(text) }
    results.set(text, known)
    return known.result
  }
}

/** The lines of a recording, the header first. Files in `test/recordings/` are read once. */
export function recordedLines(path: string): readonly string[] {
  return path.startsWith(recordingsFolder) ? linesOnce(path) : linesOf(path)
}

const linesOnce = once(linesOf)

function linesOf(path: string): readonly string[] {
  const bytes = readFileSync(path)
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().trimEnd().split(/\r?\n/)
}

/** The readable events of a recording. */
export async function recordedEvents(
  path: string,
  onDamage: Parameters<typeof readEvents>[1] = () => {},
): Promise<readonly FeedEvent[]> {
  const events: FeedEvent[] = []
  for await (const event of readEvents(path, onDamage)) events.push(event)
  return events
}

/** The index of these events. */
export function indexEvents(events: readonly FeedEvent[]): RecordingIndex {
  const index = new RecordingIndex()
  for (const event of events) index.add(event)
  return index
}

/** Whether the recorded gate asked pods or URLs: their answers are only in its recording. */
export function hasAnswers(path: string): boolean {
  return recordedLines(path).some((line) => line.includes('"type":"ANSWER"'))
}

/** Result of a replay; `damage` contains a warning for each line that could not be read. */
export interface Replayed {
  readonly runRecord: EndedRunRecord
  readonly entries: readonly Entry[]
  readonly damage: readonly { readonly line: number; readonly text: string }[]
}

/** The replay of a recording in `test/recordings/` that runs on, once for each test file. */
export const replayOnce = once(async (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-replay-'))
  const path = join(folder, `${name}.ndjson`)
  writeFileSync(path, runOn(recordedLines(recordingPath(name))).join('\n'))
  try {
    return await replayRecording(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/**
 * The lines, and 60 s more of the retries that events report, each at its last interval: a verdict that comes later by a
 * changed threshold needs no other recording.
 */
function runOn(lines: readonly string[]): readonly string[] {
  const recorded: { at: string; type: string; object?: EventObject }[] = lines.slice(1).map((line) => JSON.parse(line))
  const end = Date.parse(recorded.at(-1)?.at ?? '')
  const events = recorded.filter(({ type, object }) => object?.kind === 'Event' && type !== 'DELETED')
  const later = [...Map.groupBy(events, ({ object }) => object?.metadata.uid).values()].flatMap((sightings) => {
    const [before, last] = sightings.slice(-2)
    const { object } = last ?? {}
    if (before === undefined || last === undefined || object === undefined) return []
    const intervalMs = Date.parse(last.at) - Date.parse(before.at)
    const first = Date.parse(last.at) + intervalMs * Math.floor((end - Date.parse(last.at)) / intervalMs + 1)
    return Array.from({ length: Math.ceil((end + 60_000 - first) / intervalMs) }, (_, nth) => {
      const at = new Date(first + nth * intervalMs).toISOString()
      const metadata = { ...object.metadata, resourceVersion: `${Number(object.metadata.resourceVersion) + nth + 1}` }
      const count = (object.count ?? 1) + nth + 1
      return { at, type: 'MODIFIED', object: { ...object, metadata, count, lastTimestamp: at.replace(/\.\d+/, '') } }
    })
  })
  const ended = { at: new Date(end + 60_000).toISOString(), type: 'END' }
  const added = [...later.sort((a, b) => (a.at < b.at ? -1 : 1)), ended]
  return [...lines.slice(0, -1), ...added.map((event) => JSON.stringify(event))]
}

const silent: Reporter = { onStart: () => {}, onEntry: () => {}, onLog: () => {}, onWarning: () => {} }

/** Opens a recording for the replay of its gate. */
export function openReplay(
  file: string,
  options: Partial<Parameters<typeof RecordedRun.open>[0]> = {},
): Promise<RecordedRun> {
  return RecordedRun.open({
    file,
    purpose: 'gate',
    reporter: silent,
    secrets: new Secrets(),
    overrides: {},
    cancelled: new AbortController().signal,
    warn: () => {},
    ...options,
  })
}

/** Replays a recording. */
export async function replayRecording(path: string): Promise<Replayed> {
  const entries: Entry[] = []
  const damage: Replayed['damage'][number][] = []
  const reporter = { ...silent, onEntry: (entry: Entry) => void entries.push(entry) }
  const run = await openReplay(path, { reporter, warn: (line, text) => damage.push({ line, text }) })
  return { runRecord: await run.gateTargets(), entries, damage }
}
