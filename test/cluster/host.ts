import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { attempt, run, until } from './command.ts'
import { cgroupName, network, stateFolder } from './layout.ts'
import { kill, ownProcesses } from './processes.ts'

const cgroupRoot = '/sys/fs/cgroup'

/**
 * Removes a running, killed or partly started cluster from this machine: processes, containers, mounts, network, cgroups and
 * files.
 * @returns whether a cluster existed
 */
export async function removeCluster(): Promise<boolean> {
  const found = existsSync(stateFolder) || ownProcesses().length > 0
  // First the kubelet, since it restarts containers; then containerd and its shims; then the rest.
  for (const component of [/^kubelet$/, /^containerd$/, /^containerd-shim/, /./]) {
    await kill(
      ownProcesses()
        .filter((own) => component.test(own.component))
        .map((own) => own.pid),
    )
  }
  await kill(containerProcesses())
  for (const mount of mountsBelow(stateFolder)) await run('umount', ['--lazy', mount])
  await removeNetwork()
  for (const folder of cgroupFolders()) await removeCgroup(folder)
  removeShimSockets()
  removeLogLinks()
  removeNetworkResults()
  rmSync(stateFolder, { recursive: true, force: true })
  return found
}

/** Creates the parent cgroup of all pods in every hierarchy; the kubelet requires it. */
export function createCgroups(): void {
  for (const folder of cgroupFolders()) mkdirSync(folder, { recursive: true })
  if (!isUnified()) return
  const available = readFileSync(join(cgroupRoot, 'cgroup.controllers'), 'utf8').trim().split(' ')
  const wanted = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'].filter((name) => available.includes(name))
  for (const folder of [cgroupRoot, ...cgroupFolders()]) {
    writeFileSync(join(folder, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '))
  }
}

/** Creates the bridge of the pods; the CNI plug-in would also enable packet forwarding on this machine. */
export async function createNetwork(): Promise<void> {
  const { bridge, gateway, prefixLength } = network
  await run('ip', ['link', 'add', bridge, 'type', 'bridge'])
  await run('ip', ['address', 'add', `${gateway}/${prefixLength}`, 'dev', bridge])
  await run('ip', ['link', 'set', bridge, 'up'])
}

async function removeNetwork(): Promise<void> {
  // A veth pair that outlives its pod's network namespace still answers for the pod's address.
  const links = await attempt('ip', ['-o', 'link', 'show', 'master', network.bridge])
  for (const [, veth] of links.matchAll(/^\d+: ([^@:]+)/gm)) await attempt('ip', ['link', 'delete', veth as string])
  await attempt('ip', ['link', 'delete', network.bridge])
}

/** The mount points below a folder, innermost first. */
function mountsBelow(folder: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8))),
    )
    .filter((path) => path.startsWith(`${folder}/`))
    .reverse()
}

/** The cluster's folder in every cgroup hierarchy: one in version 2, one for each controller in version 1. */
function cgroupFolders(): string[] {
  if (isUnified()) return [join(cgroupRoot, cgroupName)]
  return readdirSync(cgroupRoot)
    .filter((name) => !lstatSync(join(cgroupRoot, name)).isSymbolicLink())
    .map((name) => join(cgroupRoot, name, cgroupName))
}

/** Whether the machine has only cgroup version 2. */
function isUnified(): boolean {
  return existsSync(join(cgroupRoot, 'cgroup.controllers'))
}

function containerProcesses(): number[] {
  const pids = cgroupFolders()
    .filter(existsSync)
    .flatMap((folder) =>
      [folder, ...foldersBelow(folder)].flatMap((path) =>
        readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number),
      ),
    )
  return [...new Set(pids)]
}

async function removeCgroup(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  for (const path of [folder, ...foldersBelow(folder)].reverse()) {
    // The cgroup of a killed process stays busy for a moment.
    await until(`the cgroup ${path} is empty`, 5, () => removed(path))
  }
}

function removed(cgroup: string): boolean {
  try {
    rmdirSync(cgroup)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false
    throw error
  }
}

function foldersBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/** Shims always listen below /run/containerd; the file `address` in the task's folder contains the socket's path. */
function removeShimSockets(): void {
  const tasks = join(stateFolder, 'containerd/state/io.containerd.runtime.v2.task/k8s.io')
  if (!existsSync(tasks)) return
  for (const task of readdirSync(tasks)) {
    const address = join(tasks, task, 'address')
    if (existsSync(address)) rmSync(readFileSync(address, 'utf8').replace(/^unix:\/\//, ''), { force: true })
  }
}

/** The kubelet creates a symbolic link to every container log in a folder that cannot be configured. */
function removeLogLinks(): void {
  const folder = '/var/log/containers'
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (lstatSync(path).isSymbolicLink() && readlinkSync(path).startsWith(`${stateFolder}/`)) rmSync(path)
  }
}

/** Result files of the CNI plug-ins, named by network and sandbox. Those of the loopback are found by sandbox only. */
function removeNetworkResults(): void {
  const folder = '/var/lib/cni/results'
  if (!existsSync(folder)) return
  const names = readdirSync(folder)
  const sandboxes = names.flatMap((name) => new RegExp(`^${cgroupName}-([0-9a-f]{64})-`).exec(name)?.[1] ?? [])
  for (const name of names) if (sandboxes.some((id) => name.includes(id))) rmSync(join(folder, name))
}
