import { runScript } from '../cluster/command.ts'
import { printResults } from '../cluster/print-results.ts'
import { withTestCluster } from '../cluster/test-cluster.ts'
import { chooseOperatorScenarios } from './index.ts'
import { playOperators } from './play.ts'
import { writeResults } from './results.ts'

await runScript(async () => {
  const chosen = chooseOperatorScenarios(process.argv.slice(2))
  await withTestCluster(async (cluster) => {
    const results = await playOperators(chosen, cluster)
    writeResults(results)
    printResults(results)
  })
})
