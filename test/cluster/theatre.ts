import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entry } from './action.ts'
import { Api } from './api.ts'
import { down, up } from './cluster.ts'
import { hasKubectl } from './kubectl.ts'
import { kubeconfigPath as ownKubeconfigPath } from './layout.ts'
import type { Theatre } from './play.ts'
import { ensureRegistry } from './registry.ts'

/** Does something on the cluster of `ROLLOUT_GATE_TEST_KUBECONFIG`, or on this machine's own, which is brought up and down if it is not up. */
export async function inTheatre(work: (theatre: Theatre) => Promise<void>): Promise<void> {
  if (!existsSync(entry)) throw new Error(`${entry} does not exist: run npm run build first`)
  const given = process.env['ROLLOUT_GATE_TEST_KUBECONFIG']
  const wasStarted = given ? false : await up((name, seconds) => console.log(`${name}: ${seconds.toFixed(1)} s`))
  try {
    await work(await theatreOn(given ?? ownKubeconfigPath))
  } finally {
    if (wasStarted) await down()
  }
}

async function theatreOn(kubeconfigPath: string): Promise<Theatre> {
  const kubeconfig = readFileSync(kubeconfigPath, 'utf8')
  const api = new Api(kubeconfig)
  await ensureRegistry(api)
  const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-scenarios-'))
  console.log(`logs, summaries and what was watched: ${folder}`)
  return { api, kubeconfig, kubeconfigPath, hasKubectl: hasKubectl(), folder }
}
