import { readFileSync } from 'node:fs'
import type { Report } from '../../src/gate/report-schema.ts'
import { runScenarios, type ScenarioResult } from '../cluster/run-scenario.ts'
import type { TestCluster } from '../cluster/test-cluster.ts'
import { operators } from './index.ts'
import type { OperatorScenario } from './operator.ts'
import { startOperators } from './start.ts'

/** Result of a scenario under an operator. */
export interface OperatorResult extends ScenarioResult {
  scenario: OperatorScenario
  /** Duration of the gate, without the start of its process. */
  gateSeconds: number
  /** Whether the report contains the cause; undefined if the scenario names none. */
  namesCause: boolean | undefined
  /**
   * Of a race: from the deciding state to the verdict; undefined if the cluster had that state before the gate began, or a
   * deadline decided.
   */
  verdictDelaySeconds: number | undefined
}

/**
 * Runs scenarios under their operators, which it starts. Those that stop an operator run last and alone.
 *
 * @returns the results in the order of the scenarios
 */
export async function playOperators<T extends OperatorScenario>(
  scenarios: readonly T[],
  cluster: TestCluster,
): Promise<OperatorResult[]> {
  const names = new Set(scenarios.map(({ operator }) => operator))
  const customResources = await startOperators(
    operators.filter(({ name }) => names.has(name)),
    cluster.kubeconfigPath,
    (name, seconds) => console.log(`${name}: ${seconds.toFixed(1)} s`),
  )
  const reports = new Map<string, string>()
  const run = (chosen: readonly OperatorScenario[]) =>
    runScenarios(
      chosen.map((scenario) => addCauseCheck(scenario, reports)),
      { ...cluster, customResources },
    )
  const results = await run(scenarios.filter(({ state }) => state !== 'stale'))
  for (const scenario of scenarios.filter(({ state }) => state === 'stale')) results.push(...(await run([scenario])))
  return scenarios.flatMap((scenario) => {
    const { name, cause } = scenario
    const result = results.find(({ scenario }) => scenario.name === name)
    const report = reports.get(name) ?? '{}'
    const parsed = JSON.parse(report) as Partial<Report>
    const gateSeconds = parsed.durationSeconds ?? 0
    const namesCause = cause === undefined ? undefined : report.includes(cause)
    const verdictDelaySeconds = scenario.isRace ? verdictDelay(parsed, result?.decidedAt) : undefined
    return result ? [{ ...result, scenario, gateSeconds, namesCause, verdictDelaySeconds }] : []
  })
}

function verdictDelay(
  { outcome, startedAt = '', finishedAt = '' }: Partial<Report>,
  decidedAt: number | undefined,
): number | undefined {
  const isDecided = outcome === 'ready' || outcome === 'failed' || outcome === 'superseded'
  if (decidedAt === undefined || decidedAt < Date.parse(startedAt) || !isDecided) return undefined
  return (Date.parse(finishedAt) - decidedAt) / 1000
}

/** The scenario, which fails too if its report does not contain the cause. Keeps the report by the scenario's name. */
function addCauseCheck(scenario: OperatorScenario, reports: Map<string, string>): OperatorScenario {
  const { name, cause = '' } = scenario
  return {
    // Most that do not become ready end by a stall timeout, and the action starts slowly from its sources.
    withinSeconds: 60,
    ...scenario,
    check: async (run, fixture) => {
      const report = readFileSync(run.outputs['report'] ?? '', 'utf8')
      reports.set(name, report)
      const failures = (await scenario.check?.(run, fixture)) ?? []
      return report.includes(cause) ? failures : [...failures, `the report does not contain the cause: ${cause}`]
    },
  }
}
