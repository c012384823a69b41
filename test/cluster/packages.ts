import { existsSync, readFileSync } from 'node:fs'
import { run } from './command.ts'

interface Package {
  name: string
  paths: string[]
}

/** Debian packages that the cluster needs, and the paths of their programs. */
const packages: Package[] = [
  { name: 'containerd', paths: ['/usr/bin/containerd', '/usr/local/bin/containerd'] },
  { name: 'runc', paths: ['/usr/sbin/runc', '/usr/bin/runc', '/usr/local/sbin/runc'] },
  { name: 'containernetworking-plugins', paths: ['/usr/lib/cni/bridge', '/opt/cni/bin/bridge'] },
  { name: 'busybox-static', paths: ['/bin/busybox', '/usr/bin/busybox'] },
  { name: 'iproute2', paths: ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'] },
]

/** The folder of the CNI plug-ins. */
export function cniFolder(): string {
  return existsSync('/usr/lib/cni/bridge') ? '/usr/lib/cni' : '/opt/cni/bin'
}

/** The path of the statically linked busybox in the tests' images. */
export function busyboxPath(): string {
  const path = installedPath({ name: 'busybox-static', paths: ['/bin/busybox', '/usr/bin/busybox'] })
  if (!path) throw new Error('busybox is missing: install busybox-static')
  return path
}

/** Installs missing packages and returns their names. Throws with their names if they cannot be installed. */
export async function installPackages(): Promise<string[]> {
  const missing = packages.filter((each) => !installedPath(each)).map(({ name }) => name)
  if (missing.length === 0) return []
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`The test cluster needs these Debian packages: ${missing.join(', ')}. Install them and try again.`)
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update', '-qq'], { env })
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { env })
  return missing
}

function installedPath({ name, paths }: Package): string | undefined {
  const path = paths.find((candidate) => existsSync(candidate))
  // A dynamically linked busybox cannot run in an image without libraries.
  if (path && name === 'busybox-static' && readFileSync(path).includes('/ld-')) return undefined
  return path
}
