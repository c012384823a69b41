import { script } from './command.ts'
import { playAll, type Verdict } from './play.ts'
import { choose } from './scenarios/index.ts'
import { inTheatre } from './theatre.ts'

await script(async () => {
  const chosen = choose(process.argv.slice(2))
  await inTheatre(async (theatre) => {
    const verdicts = await playAll(chosen, theatre)
    printTable(verdicts)
    const failed = verdicts.filter(({ complaints }) => complaints.length > 0).length
    if (failed > 0) process.exitCode = 1
    console.log(`${verdicts.length - failed} passed, ${failed} failed`)
  })
})

function printTable(verdicts: Verdict[]): void {
  const rows = verdicts.map(({ scenario, outcome, reason, totalSeconds, secondsAfterFact, kubectl, complaints }) => [
    complaints.length === 0 ? '✓' : '✗',
    scenario.name,
    [scenario.expect.outcome, scenario.expect.reason].filter(Boolean).join(' '),
    outcome,
    reason,
    totalSeconds.toFixed(1),
    secondsAfterFact?.toFixed(2) ?? '-',
    kubectl.slice(0, 90),
  ])
  const table = [['', 'scenario', 'expected', 'got', 'reason', 's', 's after fact', 'kubectl rollout status'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}
