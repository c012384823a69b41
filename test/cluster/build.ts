import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './command.ts'
import {
  cacheFolder,
  kubeBuildTags,
  kubectlModule,
  kubeModfile,
  kubeModule,
  kubernetesVersion,
  registryModule,
  webModule,
} from './layout.ts'

/** Builds the program that contains all of Kubernetes (minutes; then cached). Returns its path. */
export async function buildKube(): Promise<string> {
  const version = kubernetesVersion()
  const modfile = kubeModfile(version)
  const flags = [`-modfile=${modfile}`, `-tags=${kubeBuildTags(version)}`]
  return build('kube', kubeModule, versionFlags(), flags, [modfile])
}

/** Builds kubectl (a minute after `buildKube`; then cached). Returns its path. */
export async function buildKubectl(): Promise<string> {
  return build('kubectl', kubectlModule, versionFlags())
}

/** The version flags of Kubernetes' build: the server's version decides which features are enabled. */
function versionFlags(): string[] {
  const version = kubernetesVersion()
  const [major, minor] = version.slice(1).split('.')
  const stamp = 'k8s.io/component-base/version'
  return [`-X ${stamp}.gitVersion=${version}`, `-X ${stamp}.gitMajor=${major}`, `-X ${stamp}.gitMinor=${minor}`]
}

/** Builds the failing registry (seconds; then cached). Returns its path. */
export async function buildRegistry(): Promise<string> {
  return build('registry', registryModule, [])
}

/** Builds the web server of the tests' pods (seconds; then cached). Returns its path. */
export async function buildWeb(): Promise<string> {
  return build('web', webModule, [])
}

async function build(
  name: string,
  folder: string,
  linkerFlags: readonly string[],
  flags: readonly string[] = [],
  otherSources: readonly string[] = [],
  program = '.',
): Promise<string> {
  const hash = createHash('sha256').update(linkerFlags.join())
  const files = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isFile())
  const sources = files.map((each) => join(folder, each.name)).sort()
  for (const source of [...sources, ...otherSources]) hash.update(readFileSync(source))
  const binary = join(cacheFolder, `${name}-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(binary)) return binary

  await goBuild(binary, folder, program, linkerFlags, {}, flags)
  return binary
}

/**
 * Builds a Go program without C libraries, so that it runs in an image that has none and needs no C compiler.
 *
 * @param folder the module
 * @param program the folder of the program in the module
 */
export async function goBuild(
  binary: string,
  folder: string,
  program: string,
  linkerFlags: readonly string[],
  env: NodeJS.ProcessEnv = {},
  otherFlags: readonly string[] = [],
): Promise<void> {
  mkdirSync(cacheFolder, { recursive: true })
  const partial = `${binary}.${process.pid}`
  const flags = ['-trimpath', '-buildvcs=false', ...otherFlags, '-ldflags', ['-s', '-w', ...linkerFlags].join(' ')]
  await run('go', ['build', ...flags, '-o', partial, program], {
    cwd: folder,
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', ...env },
  }).catch((error: Error) => {
    const cause = error.cause as { code?: string } | undefined
    throw cause?.code === 'ENOENT'
      ? new Error('Go is missing: the test cluster needs Go 1.24 or newer on the path')
      : error
  })
  renameSync(partial, binary)
}

/** The releases of Helm by major version: https://github.com/helm/helm */
const helmVersions = { 3: 'v3.21.4', 4: 'v4.3.1' } as const

export const helmVersion = helmVersions[4]

type HelmMajor = keyof typeof helmVersions

const installing = new Map<HelmMajor, Promise<string>>()

/** Builds Helm (minutes; then cached). Returns its path. */
export function installHelm(major: HelmMajor = 4): Promise<string> {
  const known = installing.get(major)
  const path = known ?? installGoProgram('helm', `helm.sh/helm/v${major}/cmd/helm`, helmVersions[major])
  installing.set(major, path)
  return path
}

/**
 * Builds a released Go program from the module proxy (minutes; then cached).
 * @param name of its executable
 * @returns its path
 */
export async function installGoProgram(name: string, programPackage: string, version: string): Promise<string> {
  const folder = join(cacheFolder, `${name}-${version}`)
  const program = join(folder, name)
  if (existsSync(program)) return program
  const partial = `${folder}.${process.pid}`
  await run('go', ['install', '-trimpath', `${programPackage}@${version}`], {
    env: { ...process.env, CGO_ENABLED: '0', GOBIN: partial, GOWORK: 'off' },
  })
  rmSync(folder, { recursive: true, force: true })
  renameSync(partial, folder)
  return program
}
