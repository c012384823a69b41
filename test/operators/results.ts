import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { operatorScenarios, operators } from './index.ts'
import type { OperatorResult } from './play.ts'

/** The latest result of every scenario; `test/operators/README.md` shows them. */
const resultsFile = join(import.meta.dirname, 'results.json')

/** A row of the table of results. */
export interface ResultRow {
  operator: string
  version: string
  state: string
  note: string
  /** The outcomes that are right. */
  truth: readonly string[]
  outcome: string
  reason: string
  /** Duration of the gate. */
  seconds: number
  /** It was "ready" before the state of the cluster that decides it. */
  isEarly?: true
  /** Of a race: from the deciding state of the cluster to the verdict; absent if no state decided while it waited. */
  verdictDelaySeconds?: number
  /** Absent if the state has no cause. */
  causeNamed?: boolean
}

/** Replaces the rows of these results, and removes those of scenarios that no longer exist. */
export function writeResults(results: readonly OperatorResult[]): void {
  const before: Record<string, ResultRow> = existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {}
  const rows = new Map(results.map((result) => [result.scenario.name, rowOf(result)]))
  const all = operatorScenarios.flatMap(({ name }) => {
    const row = rows.get(name) ?? before[name]
    return row ? [[name, row] as const] : []
  })
  writeFileSync(resultsFile, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`)
}

function rowOf(result: OperatorResult): ResultRow {
  const { operator, state, note, expect } = result.scenario
  const { outcome, reason, gateSeconds, namesCause, decisionDelaySeconds = -Infinity, verdictDelaySeconds } = result
  return {
    operator,
    version: operators.find(({ name }) => name === operator)?.module.split('@')[1] ?? '',
    state,
    note,
    truth: [expect.outcome].flat(),
    outcome,
    reason,
    seconds: tenths(gateSeconds),
    ...(verdictDelaySeconds !== undefined && { verdictDelaySeconds: tenths(verdictDelaySeconds) }),
    ...(outcome === 'ready' && decisionDelaySeconds < -2 && { isEarly: true }),
    ...(namesCause !== undefined && { causeNamed: namesCause }),
  }
}

function tenths(seconds: number): number {
  return Math.round(seconds * 10) / 10
}
