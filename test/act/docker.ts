import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, run, until } from '../cluster/command.ts'
import { archiveOf, busyboxFiles } from '../cluster/images.ts'
import { cacheFolder } from '../cluster/layout.ts'
import { busyboxPath } from '../cluster/packages.ts'

/** A Docker daemon of its own: it shares no containers and images with another one on this machine. */
export interface Docker {
  /** For `DOCKER_HOST`. */
  readonly host: string
  /** Runs a command of the Docker client. Returns its output. */
  readonly docker: (...args: readonly string[]) => Promise<string>
}

/** Paths of the programs. */
interface DockerPrograms {
  readonly docker: string
  readonly dockerd: string
}

/**
 * Returns the machine's Docker; without one, that of Debian's package, which is unpacked into the cache. The package is not
 * installed, because then a daemon would start and change the machine's firewall.
 */
async function installDocker(): Promise<DockerPrograms> {
  const [dockerd, docker] = (await attempt('sh', ['-c', 'command -v dockerd && command -v docker'])).trim().split('\n')
  if (dockerd && docker) return { docker, dockerd }
  const folder = join(cacheFolder, 'docker.io')
  const unpacked = { docker: join(folder, 'usr/bin/docker'), dockerd: join(folder, 'usr/sbin/dockerd') }
  if (existsSync(unpacked.dockerd)) return unpacked
  if (!existsSync('/usr/bin/apt-get')) throw new Error('Docker is missing: jobs in containers need dockerd and docker.')
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  await run('apt-get', ['update', '-qq'])
  await run('apt-get', ['download', '-qq', 'docker.io'], { cwd: partial })
  await run('sh', ['-c', 'dpkg-deb --extract ./*.deb .'], { cwd: partial })
  rmSync(folder, { recursive: true, force: true })
  renameSync(partial, folder)
  return unpacked
}

/**
 * Calls `work` with a Docker daemon. Its containers use the network of this machine: it makes no bridge and no firewall
 * rule.
 * @param folder for its data, which are removed at the end, and its log
 */
export async function withDocker(folder: string, work: (docker: Docker) => Promise<void>): Promise<void> {
  const programs = await installDocker()
  const data = join(folder, 'docker')
  mkdirSync(data)
  const host = `unix://${join(data, 'socket')}`
  const paths = ['--data-root', join(data, 'root'), '--exec-root', join(data, 'exec'), '--pidfile', join(data, 'pid')]
  const isolation = ['--bridge=none', '--iptables=false', '--ip-forward=false', '--ip-masq=false']
  const log = openSync(join(folder, 'docker.log'), 'a')
  // The daemon leaves a mount. In a mount namespace of its own, the mount ends with it.
  const command = ['--mount', programs.dockerd, '--host', host, ...paths, ...isolation]
  const daemon = spawn('unshare', command, { stdio: ['ignore', log, log] })
  const ended = once(daemon, 'exit')
  const docker = (...args: readonly string[]) => run(programs.docker, ['--host', host, ...args])
  try {
    await until('the Docker daemon answers', 30, async () => {
      if (daemon.exitCode !== null)
        throw new Error(`dockerd failed: ${readFileSync(join(folder, 'docker.log'), 'utf8')}`)
      return (await attempt(programs.docker, ['--host', host, 'version'])) !== ''
    })
    await work({ host, docker })
  } finally {
    const containers = (await attempt(programs.docker, ['--host', host, 'ps', '--quiet', '--all']))
      .split('\n')
      .filter(Boolean)
    if (containers.length > 0) await docker('rm', '--force', ...containers)
    daemon.kill()
    await ended
    rmSync(data, { recursive: true, force: true })
  }
}

/**
 * Loads the image of a job's container: busybox and Node, no bash, no git.
 * @param node the path of the program
 * @returns its name
 */
export async function loadJobImage({ docker }: Docker, node: string, folder: string): Promise<string> {
  const name = 'rollout-gate-job:v1'
  const libraries = [...(await run('ldd', [node])).matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path)
  const files = [
    ...(await busyboxFiles(busyboxPath())),
    ...[...libraries, node].map((path) => ({
      path: path === node ? 'bin/node' : path.slice(1),
      mode: 0o755,
      content: readFileSync(path),
    })),
  ]
  const archive = join(folder, 'image.tar')
  writeFileSync(archive, archiveOf([{ name, files, config: {} }]))
  await docker('load', '--quiet', '--input', archive)
  rmSync(archive)
  return name
}
