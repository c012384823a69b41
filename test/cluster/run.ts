import { runScript } from './command.ts'
import { printResults } from './print-results.ts'
import { runScenarios } from './run-scenario.ts'
import { choose } from './scenarios/index.ts'
import { withTestCluster } from './test-cluster.ts'

await runScript(async () => {
  const chosen = choose(process.argv.slice(2))
  await withTestCluster(async (cluster) => printResults(await runScenarios(chosen, cluster)))
})
