import { runScript } from './command.ts'
import { runScenarios, type ScenarioResult } from './run-scenario.ts'
import { choose } from './scenarios/index.ts'
import { withTestCluster } from './test-cluster.ts'

await runScript(async () => {
  const chosen = choose(process.argv.slice(2))
  await withTestCluster(async (cluster) => {
    const results = await runScenarios(chosen, cluster)
    printTable(results)
    const failed = results.filter(({ failures }) => failures.length > 0).length
    if (failed > 0) process.exitCode = 1
    console.log(`${results.length - failed} passed, ${failed} failed`)
  })
})

function printTable(results: ScenarioResult[]): void {
  const rows = results.map(({ scenario, outcome, reason, totalSeconds, decisionDelaySeconds, kubectl, failures }) => [
    failures.length === 0 ? '✓' : '✗',
    scenario.name,
    [scenario.expect.outcome, scenario.expect.reason].filter(Boolean).join(' '),
    outcome,
    reason,
    totalSeconds.toFixed(1),
    decisionDelaySeconds?.toFixed(2) ?? '-',
    kubectl.slice(0, 90),
  ])
  const table = [['', 'scenario', 'expected', 'got', 'reason', 's', 's after state', 'kubectl rollout status'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}
