import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder of the Go module that holds all of Kubernetes in one program. */
export const kubeModule = join(import.meta.dirname, 'kube')

/** The folder of the Go module of kubectl. */
export const kubectlModule = join(import.meta.dirname, '../act/kubectl')

/** The folder of the Go module of the failing registry. */
export const registryModule = join(import.meta.dirname, 'registry')

/** What is expensive to make and does not depend on a run: built programs and image archives. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'rollout-gate')

/**
 * Everything that a running cluster writes. The place is fixed, so that `down` and the next `up` find what a killed
 * run left; it is short, because unix socket paths end at 107 bytes.
 */
export const stateFolder = '/var/lib/rollout-gate-cluster'

/** A path below the state folder. */
export function state(...segments: string[]): string {
  return join(stateFolder, ...segments)
}

export const kubeconfigPath = state('kubeconfig')

export const containerdSocket = state('containerd.sock')

/** The parent of all pods' cgroups: whatever runs in it was started by this cluster's kubelet. */
export const cgroupName = 'rollout-gate-cluster'

/**
 * Pods live on a bridge of their own without a way out, in the range that RFC 2544 keeps for tests, which no local
 * network uses. The bridge's address is the node's address as well, so the machine needs no other network.
 */
export const network = {
  bridge: 'rollout-gate0',
  gateway: '198.18.0.1',
  prefixLength: 22,
  pods: '198.18.0.0/22',
  services: '198.19.0.0/22',
  dns: '198.19.0.10',
}

/** The Kubernetes release that the Go module pins, e.g. `v1.34.4`. */
export function kubernetesVersion(): string {
  const version = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)$/m.exec(readFileSync(join(kubeModule, 'go.mod'), 'utf8'))
  if (!version?.[1]) throw new Error(`${join(kubeModule, 'go.mod')} requires no release of k8s.io/kubernetes`)
  return version[1]
}
