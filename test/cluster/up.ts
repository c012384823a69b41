import { up } from './cluster.ts'
import { script } from './command.ts'
import { kubeconfigPath, kubernetesVersion } from './layout.ts'

await script(async () => {
  const started = performance.now()
  const wasStarted = await up((name, seconds) => console.log(`${name.padEnd(14)}${seconds.toFixed(1).padStart(6)} s`))
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`Kubernetes ${kubernetesVersion()} ${wasStarted ? `is up after ${seconds} s` : 'was up already'}`)
  console.log(`export KUBECONFIG=${kubeconfigPath}`)
})
