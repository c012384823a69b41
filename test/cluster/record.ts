import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { buildReport } from '../../src/report/json.ts'
import type { Report } from '../../src/report/report-schema.ts'
import {
  type Expectation,
  expectationOf,
  expectationsFile,
  readExpectations,
  recordingPath,
  recordingsFolder,
  replayRecording,
} from '../support/recordings.ts'
import { script } from './command.ts'
import { playAll, type Theatre } from './play.ts'
import type { Scenario } from './scenario.ts'
import { choose } from './scenarios/index.ts'
import { inTheatre } from './theatre.ts'

/**
 * Makes `test/recordings/` anew, or the recordings of the named scenarios: plays them on a real cluster with the
 * action's `record` input. A run is kept only when it said what its scenario demands, and when its replay says the same.
 */
await script(async () => {
  const chosen = choose(process.argv.slice(2)).filter(isRecorded)
  mkdirSync(recordingsFolder, { recursive: true })
  await inTheatre(async (theatre) => {
    const recorded = new Map<string, Expectation>()
    const played = chosen.map((scenario) =>
      recording(scenario, theatre, (report) => recorded.set(scenario.name, report)),
    )
    const verdicts = await playAll(played, theatre)
    const kept = verdicts.filter(({ complaints }) => complaints.length === 0).map(({ scenario }) => scenario.name)
    for (const name of kept) keep(name, temporaryPath(theatre, name))
    const before = existsSync(expectationsFile) ? readExpectations() : {}
    const all = { ...before, ...Object.fromEntries(kept.map((name) => [name, recorded.get(name)])) }
    const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
    writeFileSync(expectationsFile, `${JSON.stringify(sorted, null, 2)}\n`)
    for (const name of kept) console.log(`${(statSync(recordingPath(name)).size / 1024).toFixed(1)} KiB  ${name}`)
    if (kept.length < chosen.length) process.exitCode = 1
  })
})

/** Who is misconfigured has watched nothing; and the manifests are not in a recording, so a replay cannot point to their lines. */
function isRecorded({ expect, inputs }: Scenario): boolean {
  return expect.outcome !== 'misconfigured' && (inputs['manifests'] === undefined || expect.outcome === 'ready')
}

function temporaryPath({ folder }: Theatre, name: string): string {
  return join(folder, `${name}.ndjson.gz`)
}

/**
 * Stores a recording as it is, but for the name of this machine, which the scheduler adds to its own in events, and packed
 * as a whole instead of line by line.
 */
function keep(name: string, recorded: string): void {
  const text = gunzipSync(readFileSync(recorded))
    .toString()
    .replaceAll(`-scheduler-${hostname()}"`, '-scheduler-localhost"')
  writeFileSync(recordingPath(name), gzipSync(text, { level: 9 }))
}

/** The scenario, recorded; `onReport` gets what the live run said. */
function recording(scenario: Scenario, theatre: Theatre, onReport: (report: Expectation) => void): Scenario {
  const path = temporaryPath(theatre, scenario.name)
  return {
    ...scenario,
    inputs: { ...scenario.inputs, record: path },
    check: async (run, stage) => {
      const live = JSON.parse(readFileSync(run.outputs['report'] ?? '', 'utf8')) as Report
      onReport(expectationOf(live))
      const { timeline, damage } = await replayRecording(path)
      return [
        ...((await scenario.check?.(run, stage)) ?? []),
        ...(isDeepStrictEqual(buildReport(timeline), live) ? [] : [`replayed, ${path} gives another report than live`]),
        ...damage.map(({ line, why }) => `line ${line} of the recording cannot be read: ${why}`),
      ]
    },
  }
}
