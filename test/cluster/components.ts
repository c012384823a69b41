import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { sandboxImage } from './images.ts'
import {
  cgroupName,
  containerdSocket,
  kubeconfigPath,
  kubernetesMinor,
  network,
  serviceAccountKeyPath,
  state,
} from './layout.ts'
import { cniFolder } from './packages.ts'
import { start } from './processes.ts'

/** Ports on the loopback address. */
export interface Ports {
  etcdClient: number
  etcdPeer: number
  apiserver: number
  controllerManager: number
  scheduler: number
  kubelet: number
  kubeletHealth: number
}

/** Finds free ports. Keeps all of them open until the last is found, so they differ. */
export async function freePorts(): Promise<Ports> {
  const names = ['etcdClient', 'etcdPeer', 'apiserver', 'controllerManager', 'scheduler', 'kubelet', 'kubeletHealth']
  const servers = names.map(() => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return Object.fromEntries(names.map((name, index) => [name, ports[index]])) as unknown as Ports
}

const loopback = '127.0.0.1'

/** Starts etcd and the API server, which creates its own certificate. Returns the administrator's token. */
export function startControlPlane(kube: string, ports: Ports): string {
  const token = randomBytes(24).toString('hex')
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(serviceAccountKeyPath, keys.privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  writeFileSync(state('tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 })

  const etcd = `http://${loopback}:${ports.etcdClient}`
  const etcdPeer = `http://${loopback}:${ports.etcdPeer}`
  start('etcd', kube, [
    'etcd',
    `--data-dir=${state('etcd')}`,
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=${etcdPeer}`,
    `--initial-advertise-peer-urls=${etcdPeer}`,
    `--initial-cluster=default=${etcdPeer}`,
    // The data need not survive a power failure.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ])
  start('kube-apiserver', kube, [
    'kube-apiserver',
    `--etcd-servers=${etcd}`,
    `--bind-address=${loopback}`,
    `--advertise-address=${network.gateway}`,
    `--secure-port=${ports.apiserver}`,
    `--cert-dir=${state('apiserver')}`,
    `--token-auth-file=${state('tokens.csv')}`,
    '--authorization-mode=RBAC',
    `--service-account-issuer=https://${loopback}:${ports.apiserver}`,
    `--service-account-key-file=${serviceAccountKeyPath}`,
    `--service-account-signing-key-file=${serviceAccountKeyPath}`,
    `--service-cluster-ip-range=${network.services}`,
    // The API server reaches the kubelet by the node's name, localhost.
    '--kubelet-preferred-address-types=Hostname',
    '--endpoint-reconciler-type=none',
    '--allow-privileged',
  ])
  return token
}

/** Writes the administrator's kubeconfig with the API server's certificate as authority. */
export function writeKubeconfig(token: string, ports: Ports): void {
  const certificate = readFileSync(certificatePath())
  const name = 'rollout-gate-cluster'
  const kubeconfig = `apiVersion: v1
kind: Config
clusters:
  - name: ${name}
    cluster:
      server: https://${loopback}:${ports.apiserver}
      certificate-authority-data: ${certificate.toString('base64')}
users:
  - name: admin
    user:
      token: ${token}
contexts:
  - name: ${name}
    context:
      cluster: ${name}
      user: admin
current-context: ${name}
`
  writeFileSync(kubeconfigPath, kubeconfig, { mode: 0o600 })
}

/** The API server's self-signed certificate. */
export function certificatePath(): string {
  return state('apiserver', 'apiserver.crt')
}

/** Starts the controller manager and the scheduler. The kubeconfig must exist. */
export function startControllers(kube: string, ports: Ports): void {
  start('kube-controller-manager', kube, [
    'kube-controller-manager',
    `--kubeconfig=${kubeconfigPath}`,
    `--bind-address=${loopback}`,
    `--secure-port=${ports.controllerManager}`,
    `--cert-dir=${state('controller-manager')}`,
    `--service-account-private-key-file=${serviceAccountKeyPath}`,
    `--root-ca-file=${certificatePath()}`,
    '--leader-elect=false',
  ])
  start('kube-scheduler', kube, [
    'kube-scheduler',
    `--kubeconfig=${kubeconfigPath}`,
    `--bind-address=${loopback}`,
    `--secure-port=${ports.scheduler}`,
    `--cert-dir=${state('scheduler')}`,
    '--leader-elect=false',
  ])
}

/** Starts a containerd for this cluster, separate from the machine's. */
export function startContainerd(): void {
  const cni = state('cni')
  mkdirSync(cni, { recursive: true })
  const conflist = {
    cniVersion: '0.4.0',
    name: cgroupName,
    plugins: [
      {
        type: 'bridge',
        bridge: network.bridge,
        isGateway: false,
        ipMasq: false,
        ipam: {
          type: 'host-local',
          dataDir: state('addresses'),
          ranges: [[{ subnet: network.pods, gateway: network.gateway }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  }
  writeFileSync(`${cni}/pods.conflist`, JSON.stringify(conflist))
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  const config = `version = 2
root = "${state('containerd', 'root')}"
state = "${state('containerd', 'state')}"
disabled_plugins = ["io.containerd.internal.v1.opt"]

[grpc]
  address = "${containerdSocket}"

[${cri}]
  sandbox_image = "${sandboxImage}"
  # Needed if the machine is itself a container that may not lower the score.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "${loopback}"
  stream_server_port = "0"

[${cri}.cni]
  bin_dir = "${cniFolder()}"
  conf_dir = "${cni}"

[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[${cri}.containerd.runtimes.runc.options]
  Root = "${state('containerd', 'runc')}"
`
  writeFileSync(state('containerd.toml'), config)
  start('containerd', 'containerd', ['--config', state('containerd.toml')])
}

/** Starts the kubelet, which registers the node. The kubeconfig and containerd's socket must exist. */
export function startKubelet(kube: string, ports: Ports): void {
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: loopback,
    port: ports.kubelet,
    readOnlyPort: 0,
    healthzBindAddress: loopback,
    healthzPort: ports.kubeletHealth,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroupName}`,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    // Nothing answers there; without an address every pod gets a warning event.
    clusterDNS: [network.dns],
    clusterDomain: 'cluster.local',
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    podLogsDir: state('pod-logs'),
    volumePluginDir: state('volume-plugins'),
    serializeImagePulls: false,
    // Ignore a full disk of the machine.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: { 'memory.available': '1Mi' },
    maxPods: 250,
    // Newer kubelets refuse a host with cgroup v1, which the machine of a test may have.
    failCgroupV1: false,
    // Else an image that was imported is pulled again once another image of its content was pulled by a pod.
    ...(kubernetesMinor() >= 35 && { imagePullCredentialsVerificationPolicy: 'NeverVerify' }),
  }
  writeFileSync(state('kubelet.json'), JSON.stringify(config))
  start('kubelet', kube, [
    'kubelet',
    `--config=${state('kubelet.json')}`,
    `--kubeconfig=${kubeconfigPath}`,
    `--root-dir=${state('kubelet')}`,
    `--cert-dir=${state('kubelet-certificates')}`,
    '--hostname-override=localhost',
    `--node-ip=${network.gateway}`,
  ])
}
