import { runScript } from './command.ts'
import { kubernetesVersions } from './layout.ts'
import { printResults } from './print-results.ts'
import { hasFailed, runScenariosAgain } from './run-scenario.ts'
import { coreOfScenarios, scenarios } from './scenarios/index.ts'
import { withTestCluster } from './test-cluster.ts'
import { writeVersionResult } from './version-results.ts'

/**
 * Runs the scenarios on each version of Kubernetes: all on the oldest and the newest one, the core on the others. Those that fail run
 * again, without the others beside them.
 *
 *     node test/cluster/run-versions.ts [--core] [VERSION…]     --core: the core on each of them
 */
await runScript(async () => {
  const isCore = process.argv.includes('--core')
  const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
  const all = [...kubernetesVersions()].sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  const chosen = named.length === 0 ? all : named.map((each) => `v${each.replace(/^v/, '')}`)
  for (const version of chosen) {
    const isEnd = version === all.at(0) || version === all.at(-1)
    const started = performance.now()
    console.log(`\n==> Kubernetes ${version}`)
    process.env['ROLLOUT_GATE_TEST_KUBERNETES'] = version
    await withTestCluster(async (cluster) => {
      const { results, failedOnce } = await runScenariosAgain(isEnd && !isCore ? scenarios : coreOfScenarios(), cluster)
      printResults(results, failedOnce)
      const failed = results.filter(hasFailed).map(({ scenario }) => scenario.name)
      const passedAgain = failedOnce.map(({ scenario }) => scenario.name).filter((name) => !failed.includes(name))
      writeVersionResult(version, {
        passed: results.length - passedAgain.length - failed.length,
        passedAgain,
        failed,
        minutes: Math.ceil((performance.now() - started) / 60_000),
        day: new Date().toISOString().slice(0, 10),
      })
    })
  }
})
