import { existsSync, readFileSync } from 'node:fs'
import { run } from './command.ts'

interface Need {
  package: string
  paths: string[]
}

/** What the cluster runs besides its own program, by Debian's names, and where it is found when installed. */
const needs: Need[] = [
  { package: 'containerd', paths: ['/usr/bin/containerd', '/usr/local/bin/containerd'] },
  { package: 'runc', paths: ['/usr/sbin/runc', '/usr/bin/runc', '/usr/local/sbin/runc'] },
  { package: 'containernetworking-plugins', paths: ['/usr/lib/cni/bridge', '/opt/cni/bin/bridge'] },
  { package: 'busybox-static', paths: ['/bin/busybox', '/usr/bin/busybox'] },
  { package: 'iproute2', paths: ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'] },
]

/** The folder of the CNI plug-ins. */
export function cniFolder(): string {
  return existsSync('/usr/lib/cni/bridge') ? '/usr/lib/cni' : '/opt/cni/bin'
}

/** The path of a statically linked busybox, the content of the tests' images. */
export function busyboxPath(): string {
  const path = installed({ package: 'busybox-static', paths: ['/bin/busybox', '/usr/bin/busybox'] })
  if (!path) throw new Error('busybox is missing: install busybox-static')
  return path
}

/** Installs what is missing, or says what to install where it may not. Returns the packages it installed. */
export async function installPackages(): Promise<string[]> {
  const missing = needs.filter((need) => !installed(need)).map((need) => need.package)
  if (missing.length === 0) return []
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`The test cluster needs ${missing.join(', ')} (Debian's names): install them and try again`)
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update', '-qq'], { env })
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { env })
  return missing
}

function installed(need: Need): string | undefined {
  const path = need.paths.find((candidate) => existsSync(candidate))
  // A busybox that loads libraries cannot run alone in an image.
  if (path && need.package === 'busybox-static' && readFileSync(path).includes('/ld-')) return undefined
  return path
}
