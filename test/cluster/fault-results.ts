import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScenarioResult } from './run-scenario.ts'
import { scenarios } from './scenarios/index.ts'

/** The latest result of every documented scenario; test/reliability/results.md shows them. */
const resultsFile = join(import.meta.dirname, 'fault-results.json')

/** One scenario of the table: the fault, the rollout, and how the gate ended. */
interface FaultResult {
  readonly fault: string
  readonly rollout: string
  /** `ready`, or the outcome and its reason. */
  readonly end: string
  readonly isRight: boolean
}

export function readFaultResults(): readonly FaultResult[] {
  return Object.values(readAll())
}

/** Replaces the results of these scenarios, and removes those of scenarios that no longer exist. Times are left out: they vary. */
export function writeFaultResults(results: readonly ScenarioResult[]): void {
  const before = readAll()
  const latest = new Map(results.map((result) => [result.scenario.name, result]))
  const rows = scenarios.flatMap(({ name, documented }) => {
    const result = latest.get(name)
    const row = result && documented ? { ...documented, ...endOf(result) } : before[name]
    return documented && row ? [[name, row] as const] : []
  })
  writeFileSync(resultsFile, `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`)
}

function endOf({ outcome, reason, failures }: ScenarioResult): Pick<FaultResult, 'end' | 'isRight'> {
  return { end: reason === '' ? outcome : `${outcome}: ${reason}`, isRight: failures.length === 0 }
}

function readAll(): Readonly<Record<string, FaultResult>> {
  return existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {}
}
