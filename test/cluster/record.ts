import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { buildReport } from '../../src/report/json-report.ts'
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
import { runScript } from './command.ts'
import { runScenarios } from './run-scenario.ts'
import type { Scenario } from './scenario.ts'
import { choose } from './scenarios/index.ts'
import { type TestCluster, withTestCluster } from './test-cluster.ts'

/**
 * Records all scenarios, or the named ones, into `test/recordings/`: runs them on a real cluster with the action's input
 * `record`. Keeps a recording only if the scenario passed and the replay gives the same report as the live run.
 */
await runScript(async () => {
  const chosen = choose(process.argv.slice(2)).filter(isRecorded)
  mkdirSync(recordingsFolder, { recursive: true })
  await withTestCluster(async (cluster) => {
    const recorded = new Map<string, Expectation>()
    const recordedScenarios = chosen.map((scenario) =>
      recording(scenario, cluster, (report) => recorded.set(scenario.name, report)),
    )
    const results = await runScenarios(recordedScenarios, cluster)
    const kept = results.filter(({ failures }) => failures.length === 0).map(({ scenario }) => scenario.name)
    for (const name of kept) keep(name, temporaryPath(cluster, name))
    const before = existsSync(expectationsFile) ? readExpectations() : {}
    const all = { ...before, ...Object.fromEntries(kept.map((name) => [name, recorded.get(name)])) }
    const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
    writeFileSync(expectationsFile, `${JSON.stringify(sorted, null, 2)}\n`)
    for (const name of kept) console.log(`${(statSync(recordingPath(name)).size / 1024).toFixed(1)} KiB  ${name}`)
    if (kept.length < chosen.length) process.exitCode = 1
  })
})

/** A misconfigured run watches nothing. A failing run of manifests reports their lines, which a recording does not contain. */
function isRecorded({ expect, inputs }: Scenario): boolean {
  return expect.outcome !== 'misconfigured' && (inputs['manifests'] === undefined || expect.outcome === 'ready')
}

function temporaryPath({ folder }: TestCluster, name: string): string {
  return join(folder, `${name}.ndjson.gz`)
}

/** Stores a recording, compressed as a whole instead of by line, without the host name in scheduler events. */
function keep(name: string, recorded: string): void {
  const text = gunzipSync(readFileSync(recorded))
    .toString()
    .replaceAll(`-scheduler-${hostname()}"`, '-scheduler-localhost"')
  writeFileSync(recordingPath(name), gzipSync(text, { level: 9 }))
}

/** The scenario with the input `record`; `onReport` is called with the result of the live run. */
function recording(scenario: Scenario, cluster: TestCluster, onReport: (report: Expectation) => void): Scenario {
  const path = temporaryPath(cluster, scenario.name)
  return {
    ...scenario,
    inputs: { ...scenario.inputs, record: path },
    check: async (run, fixture) => {
      const live = JSON.parse(readFileSync(run.outputs['report'] ?? '', 'utf8')) as Report
      onReport(expectationOf(live))
      const { timeline, damage } = await replayRecording(path)
      return [
        ...((await scenario.check?.(run, fixture)) ?? []),
        ...(isDeepStrictEqual(buildReport(timeline), live)
          ? []
          : [`the replay of ${path} gives another report than the live run`]),
        ...damage.map(({ line, why }) => `line ${line} of the recording cannot be read: ${why}`),
      ]
    },
  }
}
