import { parseArgs } from 'node:util'
import { up } from './cluster.ts'
import { runScript } from './command.ts'
import { kubeconfigPath, kubernetesVersion } from './layout.ts'

/** Starts the test cluster, with `--kubernetes 1.37.2` of that version. */
await runScript(async () => {
  const { values } = parseArgs({ options: { kubernetes: { type: 'string' } } })
  if (values.kubernetes !== undefined) process.env['ROLLOUT_GATE_TEST_KUBERNETES'] = values.kubernetes
  const started = performance.now()
  const wasStarted = await up((name, seconds) => console.log(`${name.padEnd(14)}${seconds.toFixed(1).padStart(6)} s`))
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`Kubernetes ${kubernetesVersion()} ${wasStarted ? `is up after ${seconds} s` : 'runs already'}`)
  console.log(`export KUBECONFIG=${kubeconfigPath}`)
})
