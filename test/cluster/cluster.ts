import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Api } from './api.ts'
import { buildKube } from './build.ts'
import { attempt, run, until } from './command.ts'
import {
  certificatePath,
  freePorts,
  startContainerd,
  startControllers,
  startControlPlane,
  startKubelet,
  writeKubeconfig,
} from './components.ts'
import { createCgroups, createNetwork, removeCluster } from './host.ts'
import { writeImages } from './images.ts'
import { containerdSocket, kubeconfigPath, state, stateFolder } from './layout.ts'
import { installPackages } from './packages.ts'
import { logPath, ownProcesses, startTime } from './processes.ts'
import { ensureRegistry } from './registry.ts'

const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'containerd', 'kubelet']
const buildsPath = state('builds')
const lock = `${stateFolder}.lock`

/** Called at the end of each phase of `up` with its duration in seconds. */
export type OnPhase = (name: string, seconds: number) => void

/** Whether a cluster of these builds runs and accepts pods. */
async function isUp(builds: string): Promise<boolean> {
  if (!existsSync(buildsPath) || readFileSync(buildsPath, 'utf8') !== builds) return false
  const running = new Set(ownProcesses().map((own) => own.component))
  if (!existsSync(kubeconfigPath) || !components.every((component) => running.has(component))) return false
  const api = Api.fromFile(kubeconfigPath)
  return (await isNodeReady(api).catch(() => false)) && (await hasNamespaceDefaults(api).catch(() => false))
}

/**
 * Starts the cluster unless it runs, after removing the remains of a killed run; returns once a pod can be created.
 * @returns whether it was started
 */
export async function up(onPhase: OnPhase): Promise<boolean> {
  return locked(async () => {
    const phase = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      const start = performance.now()
      const result = await work()
      onPhase(name, (performance.now() - start) / 1000)
      return result
    }
    await phase('packages', installPackages)
    const kube = await phase('build', buildKube)
    const archive = await phase('images', writeImages)
    const builds = `${kube}\n${archive}`
    if (await isUp(builds)) {
      await ensureRegistry(Api.fromFile(kubeconfigPath))
      return false
    }
    await phase('cleanup', removeCluster)
    try {
      await bringUp(kube, archive, phase)
      writeFileSync(buildsPath, builds)
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${lastLines()}`, { cause: error })
    }
    return true
  })
}

/** Stops the cluster and removes everything that it created. Returns whether a cluster existed. */
export async function down(): Promise<boolean> {
  return locked(removeCluster)
}

async function bringUp(
  kube: string,
  archive: string,
  phase: (name: string, work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  mkdirSync(stateFolder, { recursive: true, mode: 0o755 })
  const ports = await freePorts()
  await phase('control plane', async () => {
    await createNetwork()
    createCgroups()
    startContainerd()
    const token = startControlPlane(kube, ports)
    await until('the API server has a certificate', 30, () => existsSync(certificatePath()))
    writeKubeconfig(token, ports)
    const api = Api.fromFile(kubeconfigPath)
    await until('the API server is ready', 60, () =>
      api.find('/api/v1/namespaces/kube-system').then(Boolean, () => false),
    )
  })
  await phase('node', async () => {
    startControllers(kube, ports)
    await until(
      'containerd answers',
      30,
      async () => (await attempt('ctr', ['-a', containerdSocket, 'version'])) !== '',
    )
    const imported = run('ctr', ['-a', containerdSocket, '-n', 'k8s.io', 'images', 'import', archive])
    startKubelet(kube, ports)
    await imported
    const api = Api.fromFile(kubeconfigPath)
    await until('the node is ready', 60, () => isNodeReady(api))
    await until('the default namespace has its service account', 30, () => hasNamespaceDefaults(api))
  })
  await phase('registry', () => ensureRegistry(Api.fromFile(kubeconfigPath)))
}

/** Whether the node is Ready and has no taint, so that it takes pods. */
export async function isNodeReady(api: Api): Promise<boolean> {
  const node = await api.find('/api/v1/nodes/localhost')
  const conditions: { type: string; status: string }[] = node?.['status'].conditions ?? []
  const isTainted = node?.['spec'].taints !== undefined
  return !isTainted && conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

/** Whether the ServiceAccount and ConfigMap that pods of the namespace need exist. */
export async function hasNamespaceDefaults(api: Api, namespace = 'default'): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}`
  const found = await Promise.all([
    api.find(`${path}/serviceaccounts/default`),
    api.find(`${path}/configmaps/kube-root-ca.crt`),
  ])
  return found.every(Boolean)
}

/** Prevents two runs from removing each other's cluster. Ignores the lock of a killed run. */
async function locked<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) throw new Error('The test cluster needs root: it starts containers and a network')
  await until(`another run releases ${lock}`, 900, () => {
    if (existsSync(lock) && !isHeld(readFileSync(lock, 'utf8'))) rmSync(lock, { force: true })
    try {
      writeFileSync(lock, `${process.pid} ${startTime(process.pid)}`, { flag: 'wx' })
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  })
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Whether the process that wrote the lock still runs. The start time detects a reused process id. */
function isHeld(content: string): boolean {
  const [pid, started] = content.split(' ')
  return startTime(Number(pid)) === started
}

function lastLines(): string {
  return components
    .filter((component) => existsSync(logPath(component)))
    .map(
      (component) =>
        `— ${logPath(component)}\n${readFileSync(logPath(component), 'utf8').split('\n').slice(-6).join('\n')}`,
    )
    .join('\n')
}
