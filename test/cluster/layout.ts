import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The Go module of the program that contains all of Kubernetes. */
export const kubeModule = join(import.meta.dirname, 'kube')

/** The Go module of kubectl. */
export const kubectlModule = join(import.meta.dirname, '../act/kubectl')

/** The Go module of the failing registry. */
export const registryModule = join(import.meta.dirname, 'registry')

/** The Go module of the web server in the tests' pods. */
export const webModule = join(import.meta.dirname, 'web')

/** Built programs and image archives, kept between runs. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'rollout-gate')

/**
 * All files of a running cluster. The path is fixed, so `down` and the next `up` find the remains of a killed run, and
 * short, since unix socket paths are limited to 107 bytes.
 */
export const stateFolder = '/var/lib/rollout-gate-cluster'

/** A path below the state folder. */
export function state(...segments: string[]): string {
  return join(stateFolder, ...segments)
}

export const kubeconfigPath = state('kubeconfig')

/** The private key that signs the tokens of ServiceAccounts. */
export const serviceAccountKeyPath = state('service-account.key')

export const containerdSocket = state('containerd.sock')

/** The parent of all pods' cgroups; it contains only processes of this cluster's kubelet. */
export const cgroupName = 'rollout-gate-cluster'

/**
 * The pods' bridge has no route to other networks. Its range is reserved for tests (RFC 2544), so no local network uses
 * it. Its address is also the node's address, so the machine needs no other network.
 */
export const network = {
  bridge: 'rollout-gate0',
  gateway: '198.18.0.1',
  prefixLength: 22,
  pods: '198.18.0.0/22',
  services: '198.19.0.0/22',
  dns: '198.19.0.10',
}

/** The release of Kubernetes that `npm run test:cluster` uses, e.g. `v1.34.4`. */
export function defaultKubernetesVersion(): string {
  const version = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)$/m.exec(readFileSync(join(kubeModule, 'go.mod'), 'utf8'))
  if (!version?.[1]) throw new Error(`${join(kubeModule, 'go.mod')} requires no release of k8s.io/kubernetes`)
  return version[1]
}

/** The module files of the other releases, which `kube-module.ts` writes. */
const versionsFolder = join(kubeModule, 'versions')

/** All releases of Kubernetes that the test cluster can run, the default one first. */
export function kubernetesVersions(): readonly string[] {
  return [defaultKubernetesVersion(), ...readdirSync(versionsFolder).sort()]
}

/** The release of Kubernetes to run: that of `ROLLOUT_GATE_TEST_KUBERNETES` (`1.37.2`), else the default one. */
export function kubernetesVersion(): string {
  const wanted = process.env['ROLLOUT_GATE_TEST_KUBERNETES']
  if (!wanted) return defaultKubernetesVersion()
  const version = `v${wanted.replace(/^v/, '')}`
  const known = kubernetesVersions()
  if (!known.includes(version)) throw new Error(`Kubernetes ${wanted} is not among ${known.join(', ')}`)
  return version
}

/** The `go.mod` of a release of Kubernetes. */
export function kubeModfile(version: string): string {
  return version === defaultKubernetesVersion() ? join(kubeModule, 'go.mod') : join(versionsFolder, version, 'go.mod')
}

/** The 34 of `v1.34.4`. */
export function kubernetesMinor(version = kubernetesVersion()): number {
  return Number(version.split('.')[1])
}

/** The build tags of a release: until 1.33, the kubelet's command is made without a context. */
export function kubeBuildTags(version: string): string {
  return kubernetesMinor(version) <= 33 ? 'kubelet_without_context' : ''
}
