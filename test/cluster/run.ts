import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entry } from './action.ts'
import { Api } from './api.ts'
import { down, up } from './cluster.ts'
import { script } from './command.ts'
import { hasKubectl } from './kubectl.ts'
import { kubeconfigPath as ownKubeconfigPath } from './layout.ts'
import { play, type Theatre, type Verdict } from './play.ts'
import { ensureRegistry } from './registry.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios/index.ts'

/** More at a time and two processors make the pods late, which blurs what is measured. */
const atATime = Number(process.env['ROLLOUT_GATE_TEST_PARALLEL'] ?? 4)

await script(async () => {
  const chosen = choose(process.argv.slice(2))
  if (!existsSync(entry)) throw new Error(`${entry} does not exist: run npm run build first`)
  const given = process.env['ROLLOUT_GATE_TEST_KUBECONFIG']
  const wasStarted = given ? false : await up((name, seconds) => console.log(`${name}: ${seconds.toFixed(1)} s`))
  try {
    const verdicts = await playAll(chosen, await theatreOn(given ?? ownKubeconfigPath))
    printTable(verdicts)
    const failed = verdicts.filter(({ complaints }) => complaints.length > 0).length
    if (failed > 0) process.exitCode = 1
    console.log(`${verdicts.length - failed} passed, ${failed} failed`)
  } finally {
    if (wasStarted) await down()
  }
})

function choose(names: string[]): readonly Scenario[] {
  const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name))
  if (unknown.length > 0) {
    throw new Error(`no scenario ${unknown.join(', ')}; there are: ${scenarios.map(({ name }) => name).join(', ')}`)
  }
  return names.length === 0 ? scenarios : scenarios.filter(({ name }) => names.includes(name))
}

async function theatreOn(kubeconfigPath: string): Promise<Theatre> {
  const kubeconfig = readFileSync(kubeconfigPath, 'utf8')
  const api = new Api(kubeconfig)
  await ensureRegistry(api)
  const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-scenarios-'))
  console.log(`logs, summaries and what was watched: ${folder}`)
  return { api, kubeconfig, kubeconfigPath, hasKubectl: hasKubectl(), folder }
}

/** Plays a few at a time, the longest first; the verdicts come in the scenarios' order. */
async function playAll(all: readonly Scenario[], theatre: Theatre): Promise<Verdict[]> {
  const verdicts = new Map<Scenario, Verdict>()
  const waiting = [...all].sort((a, b) => b.takesSeconds - a.takesSeconds)
  const player = async () => {
    for (let scenario = waiting.shift(); scenario; scenario = waiting.shift()) {
      const verdict = await play(scenario, theatre)
      verdicts.set(scenario, verdict)
      console.log(`${verdict.complaints.length === 0 ? '✓' : '✗'} ${scenario.name}`)
      for (const complaint of verdict.complaints) console.log(`    ${complaint}`)
    }
  }
  await Promise.all(Array.from({ length: atATime }, player))
  return all.flatMap((scenario) => verdicts.get(scenario) ?? [])
}

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
