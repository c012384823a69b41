import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { explain } from '../../src/diagnosis/explain.ts'
import type { EndedTimeline, Entry } from '../../src/gate/timeline.ts'
import { readHeader } from '../../src/recording/read.ts'
import { replay } from '../../src/recording/replay.ts'
import { settingsOf } from '../../src/recording/settings.ts'
import type { Report } from '../../src/report/json-report.ts'

/** Recordings of a real cluster; `npm run recordings` makes them. */
export const recordingsFolder = resolve(import.meta.dirname, '../recordings')
export const expectationsFile = join(recordingsFolder, 'expected.json')

/** What the live run said, as far as no change of a wording touches it. Seconds are since the gate's start, to the millisecond. */
export interface Expectation {
  outcome: string
  reason: string
  seconds: number
  /** By the target's name, in input order. */
  targets: Record<
    string,
    {
      outcome: string
      reason: string
      /** The milestones that were reached, in their order, and when. */
      reached: Record<string, number>
      /** Reason and count of each problem that stood at the end. */
      problems: string[]
    }
  >
}

/** The expectations of all recordings, by the scenario's name. */
export function readExpectations(): Record<string, Expectation> {
  return JSON.parse(readFileSync(expectationsFile, 'utf8')) as Record<string, Expectation>
}

export function recordingPath(name: string): string {
  return join(recordingsFolder, `${name}.ndjson.gz`)
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

/** How a recording ends when it is replayed; `damage` names each line that could not be read. */
export interface Replayed {
  readonly timeline: EndedTimeline
  readonly entries: readonly Entry[]
  readonly damage: readonly { readonly line: number; readonly why: string }[]
}

/** Replays a recording whose header names its targets. */
export async function replayRecording(path: string): Promise<Replayed> {
  const header = await readHeader(path)
  const settings = settingsOf(header)
  const entries: Entry[] = []
  const damage: Replayed['damage'][number][] = []
  const gate = await replay(path, header.targets ?? [], settings, {
    onEntry: (entry) => entries.push(entry),
    onDamage: (line, why) => damage.push({ line, why }),
  })
  const timeline = explain(gate.timeline(), gate.store, settings.serverOffsetMs)
  if (timeline.verdict === undefined) throw new Error(`${path}: the replay ended without a verdict`)
  return { timeline: { ...timeline, verdict: timeline.verdict }, entries, damage }
}
