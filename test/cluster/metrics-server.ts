import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { buildMetricsServer } from './build.ts'
import { until } from './command.ts'
import { kubeconfigPath, network } from './layout.ts'

/** The user and the password of every metrics server. */
export const metricsUser = { name: 'gate', password: 'metrics-password' } as const

let program: Promise<string> | undefined

/** Builds the program of metrics servers unless it is cached (a minute). Returns its path. */
export function prepareMetricsServer(): Promise<string> {
  program ??= buildMetricsServer()
  return program
}

/** VictoriaMetrics, which scrapes all pods of a namespace each second. Pods and this machine can connect to it. */
export class MetricsServer {
  readonly port: number
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(port: number, folder: string, process: ChildProcess) {
    this.port = port
    this.#folder = folder
    this.#process = process
  }

  /** Resolves when it answers. */
  static async start(namespace: string): Promise<MetricsServer> {
    const path = await prepareMetricsServer()
    const port = await freePort()
    const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-metrics-'))
    const config = join(folder, 'scrape.yaml')
    writeFileSync(config, stringify(scrapeConfig(namespace)))
    const args = [
      `-httpListenAddr=${network.gateway}:${port}`,
      `-httpAuth.username=${metricsUser.name}`,
      `-httpAuth.password=${metricsUser.password}`,
      `-storageDataPath=${join(folder, 'data')}`,
      `-promscrape.config=${config}`,
      '-promscrape.kubernetesSDCheckInterval=1s',
      '-search.latencyOffset=0s',
      '-memory.allowedBytes=64MiB',
    ]
    const server = new MetricsServer(port, folder, spawn(path, args, { stdio: 'ignore' }))
    const answers = () =>
      fetch(`${server.url}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until('the metrics server answers', 20, answers)
    return server
  }

  get url(): string {
    return `http://${network.gateway}:${this.port}`
  }

  /** Stops it and deletes its data. */
  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const exit = once(this.#process, 'exit')
      this.#process.kill('SIGKILL')
      await exit
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** https://docs.victoriametrics.com/victoriametrics/sd_configs/#kubernetes_sd_configs */
function scrapeConfig(namespace: string): object {
  const label = (name: string) => ({ source_labels: [`__meta_kubernetes_${name}`] })
  return {
    global: { scrape_interval: '1s' },
    scrape_configs: [
      {
        job_name: 'pods',
        kubernetes_sd_configs: [{ role: 'pod', kubeconfig_file: kubeconfigPath, namespaces: { names: [namespace] } }],
        relabel_configs: [
          { action: 'keep', ...label('pod_phase'), regex: 'Running' },
          { ...label('pod_name'), target_label: 'pod' },
          { ...label('namespace'), target_label: 'namespace' },
        ],
      },
    ],
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, network.gateway)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
