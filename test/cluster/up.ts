import { up } from './cluster.ts'
import { runScript } from './command.ts'
import { kubeconfigPath, kubernetesVersion } from './layout.ts'

await runScript(async () => {
  const started = performance.now()
  const wasStarted = await up((name, seconds) => console.log(`${name.padEnd(14)}${seconds.toFixed(1).padStart(6)} s`))
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`Kubernetes ${kubernetesVersion()} ${wasStarted ? `is up after ${seconds} s` : 'runs already'}`)
  console.log(`export KUBECONFIG=${kubeconfigPath}`)
})
