import { up } from '../cluster/cluster.ts'
import { runScript } from '../cluster/command.ts'
import { kubeconfigPath } from '../cluster/layout.ts'
import { chooseOperators } from './index.ts'
import { startOperators } from './start.ts'

await runScript(async () => {
  const print = (name: string, seconds: number) => console.log(`${name.padEnd(22)}${seconds.toFixed(1).padStart(6)} s`)
  const operators = chooseOperators(process.argv.slice(2))
  await up(print)
  await startOperators(operators, kubeconfigPath, print)
  console.log(`export KUBECONFIG=${kubeconfigPath}`)
})
