import { runScript } from './command.ts'
import { writeFaultResults } from './fault-results.ts'
import { printResults } from './print-results.ts'
import { runScenariosAgain } from './run-scenario.ts'
import { choose } from './scenarios/index.ts'
import { withTestCluster } from './test-cluster.ts'

await runScript(async () => {
  const chosen = choose(process.argv.slice(2))
  await withTestCluster(async (cluster) => {
    const { results, failedOnce } = await runScenariosAgain(chosen, cluster)
    writeFaultResults(results)
    printResults(results, failedOnce)
  })
})
