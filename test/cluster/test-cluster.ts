import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Api } from './api.ts'
import { down, up } from './cluster.ts'
import { hasKubectl } from './kubectl.ts'
import { kubeconfigPath as ownKubeconfigPath } from './layout.ts'
import { ensureRegistry } from './registry.ts'

/** The cluster that scenarios run on. */
export interface TestCluster {
  api: Api
  kubeconfig: string
  kubeconfigPath: string
  hasKubectl: boolean
  /** Whether the tests started its components, and so can stop them. */
  isOwn: boolean
  /** The API paths of custom resources by kind, with `{}` for the namespace. Scenarios apply and watch them. */
  customResources?: Readonly<Record<string, string>>
  /** Each scenario writes its log, summary and watch events into its own subfolder. */
  folder: string
}

/** The program that the runner starts: the built action, or the file that `ROLLOUT_GATE_TEST_ENTRY` names. */
export const entry = resolve(import.meta.dirname, '../..', process.env['ROLLOUT_GATE_TEST_ENTRY'] ?? 'dist/index.js')

/**
 * Calls `work` with the cluster of `ROLLOUT_GATE_TEST_KUBECONFIG`, else with the cluster of this machine, which is started
 * and stopped unless it already runs.
 */
export async function withTestCluster(work: (cluster: TestCluster) => Promise<void>): Promise<void> {
  if (!existsSync(entry)) throw new Error(`${entry} does not exist: run npm run build first`)
  const given = process.env['ROLLOUT_GATE_TEST_KUBECONFIG']
  const wasStarted = given ? false : await up((name, seconds) => console.log(`${name}: ${seconds.toFixed(1)} s`))
  try {
    await work(await connect(given ?? ownKubeconfigPath, given === undefined))
  } finally {
    if (wasStarted) await down()
  }
}

async function connect(kubeconfigPath: string, isOwn: boolean): Promise<TestCluster> {
  const kubeconfig = readFileSync(kubeconfigPath, 'utf8')
  const api = new Api(kubeconfig)
  await ensureRegistry(api)
  const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-scenarios-'))
  console.log(`logs, summaries and watch events: ${folder}`)
  return { api, kubeconfig, kubeconfigPath, hasKubectl: hasKubectl(), isOwn, folder }
}
