import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Report } from '../../src/gate/report-schema.ts'
import { renderReport } from '../../src/report/json-report.ts'
import { chooseOperatorScenarios } from '../operators/index.ts'
import { playOperators } from '../operators/play.ts'
import {
  type Expectation,
  expectationOf,
  expectationsFile,
  operatorRecordingsFolder,
  type RightVerdict,
  readExpectations,
  recordingPath,
  recordingsFolder,
  replayRecording,
} from '../support/recordings.ts'
import { runScript } from './command.ts'
import { runScenarios, type ScenarioResult } from './run-scenario.ts'
import type { Scenario } from './scenario.ts'
import { choose } from './scenarios/index.ts'
import { type TestCluster, withTestCluster } from './test-cluster.ts'

/**
 * Records all scenarios, or the named ones, into `test/recordings/`: runs them on a real cluster with the action's input
 * `record`. Keeps a recording only if the scenario passed and the replay gives the same report as the live run. After the
 * word `operators` come names of operators or of their scenarios.
 */
await runScript(async () => {
  const [first, ...names] = process.argv.slice(2)
  if (first === 'operators') await recordOperators(names)
  else await recordWorkloads(process.argv.slice(2))
})

async function recordWorkloads(names: readonly string[]): Promise<void> {
  const chosen = choose(names).filter(isRecorded)
  const reports = new Map<string, Expectation>()
  await record(chosen, recordingsFolder, runScenarios, reports, ({ name }) => reports.get(name))
}

async function recordOperators(names: readonly string[]): Promise<void> {
  const chosen = chooseOperatorScenarios(names)
  await record(
    chosen,
    operatorRecordingsFolder,
    playOperators,
    new Map(),
    ({ note, expect, cause }, { gateSeconds, verdictDelaySeconds }) => {
      const decidedAfter = verdictDelaySeconds === undefined ? undefined : gateSeconds - verdictDelaySeconds
      const expectation: RightVerdict = {
        note,
        truth: [expect.outcome].flat(),
        ...(cause && { cause }),
        ...(decidedAfter !== undefined && { notAfterSeconds: Math.ceil(10 * (decidedAfter + 1)) / 10 }),
      }
      return expectation
    },
  )
}

/**
 * @param run runs the scenarios, which have the input `record`
 * @param reports receives the result of each live run
 * @param expectationFor what `expected.json` contains of a scenario that passed
 */
async function record<T extends Scenario, R extends ScenarioResult>(
  chosen: readonly T[],
  folder: string,
  run: (scenarios: readonly T[], cluster: TestCluster) => Promise<R[]>,
  reports: Map<string, Expectation>,
  expectationFor: (scenario: T, result: R) => unknown,
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await withTestCluster(async (cluster) => {
    const recorded = chosen.map((scenario) =>
      recording(scenario, cluster, (report) => reports.set(scenario.name, report)),
    )
    const results = await run(recorded, cluster)
    const passed = new Map(results.flatMap((each) => (each.failures.length === 0 ? [[each.scenario.name, each]] : [])))
    const kept = chosen.filter(({ name }) => passed.has(name))
    for (const { name } of kept) keep(temporaryPath(cluster, name), recordingPath(name, folder))
    const before = existsSync(expectationsFile(folder)) ? readExpectations<unknown>(folder) : {}
    const now = kept.flatMap((scenario) => {
      const result = passed.get(scenario.name)
      return result ? [[scenario.name, expectationFor(scenario, result)]] : []
    })
    const all = { ...before, ...Object.fromEntries(now) }
    const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
    writeFileSync(expectationsFile(folder), `${JSON.stringify(sorted, null, 2)}\n`)
    for (const { name } of kept) {
      console.log(`${(statSync(recordingPath(name, folder)).size / 1024).toFixed(1)} KiB  ${name}`)
    }
    if (kept.length < chosen.length) process.exitCode = 1
  })
}

/** A misconfigured run watches nothing. A failing run of manifests reports their lines, which a recording does not contain. */
function isRecorded({ expect, inputs }: Scenario): boolean {
  return expect.outcome !== 'misconfigured' && (inputs['manifests'] === undefined || expect.outcome === 'ready')
}

function temporaryPath({ folder }: TestCluster, name: string): string {
  return join(folder, `${name}.ndjson.gz`)
}

/** Stores a recording, compressed as a whole instead of by line, without the host name in scheduler events. */
function keep(recorded: string, path: string): void {
  const text = gunzipSync(readFileSync(recorded))
    .toString()
    .replaceAll(`-scheduler-${hostname()}"`, '-scheduler-localhost"')
  writeFileSync(path, gzipSync(text, { level: 9 }))
}

/** The scenario with the input `record`; `onReport` is called with the result of the live run. */
function recording<T extends Scenario>(scenario: T, cluster: TestCluster, onReport: (report: Expectation) => void): T {
  const path = temporaryPath(cluster, scenario.name)
  return {
    ...scenario,
    inputs: { ...scenario.inputs, record: path },
    check: async (run, fixture) => {
      const live = JSON.parse(readFileSync(run.outputs['report'] ?? '', 'utf8')) as Report
      onReport(expectationOf(live))
      const { runRecord, damage } = await replayRecording(path)
      return [
        ...((await scenario.check?.(run, fixture)) ?? []),
        ...(isDeepStrictEqual(JSON.parse(renderReport(runRecord)), live)
          ? []
          : [`the replay of ${path} gives another report than the live run`]),
        ...damage.map(({ line, text }) => `line ${line} of the recording cannot be read: ${text}`),
      ]
    },
  }
}
