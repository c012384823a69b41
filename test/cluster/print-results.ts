import { hasFailed, type ScenarioResult } from './run-scenario.ts'

/**
 * Prints a table of results, what failed at first and at last, and how many scenarios passed; the exit code is 1 if one failed.
 * @param failedOnce the first results of the scenarios that ran again
 */
export function printResults(results: readonly ScenarioResult[], failedOnce: readonly ScenarioResult[] = []): void {
  const rows = results.map(({ scenario, outcome, reason, totalSeconds, decisionDelaySeconds, kubectl, failures }) => [
    failures.length === 0 ? '✓' : '✗',
    scenario.name,
    [scenario.expect.outcome, scenario.expect.reason].flat().filter(Boolean).join(' '),
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
  const failed = results.filter(hasFailed)
  if (failed.length > 0) process.exitCode = 1
  printFailures('failed at first, and ran again alone', failedOnce)
  printFailures('failed', failed)
  console.log(`${results.length - failed.length} passed, ${failed.length} failed`)
}

function printFailures(title: string, results: readonly ScenarioResult[]): void {
  for (const { scenario, failures } of results) console.log(`✗ ${scenario.name} ${title}: ${failures.join('; ')}`)
}
