import type { KubeObject } from '../src/cluster/objects.ts'

/** The objects of a rollout as an API server publishes them, with the fields that take most space in a real cluster. */

export interface Workload {
  readonly namespace: string
  readonly name: string
  readonly replicas: number
}

/** Workloads in ten namespaces. */
export function createWorkloads(count: number, replicas: number): readonly Workload[] {
  return Array.from({ length: count }, (_, index) => ({
    namespace: `team-${index % 10}`,
    name: `app-${index}`,
    replicas,
  }))
}

const controller = (apiVersion: string, kind: string, name: string, uid: string) => [
  { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true },
]

/** The field sets of three writers, of the size that they have in a real cluster. */
function managedFields(time: string): object[] {
  const fields = Array.from({ length: 30 }, (_, index) => [`f:field${index}`, { 'f:name': {}, 'f:value': {}, '.': {} }])
  return ['kubectl-client-side-apply', 'kube-controller-manager', 'kubelet'].map((manager) => ({
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': Object.fromEntries(fields) },
  }))
}

/** @param accountVolume the volume that the API server adds to a pod, with a name of its own for each; a template has none */
function template({ name }: Workload, accountVolume?: string): object {
  const probe = { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, periodSeconds: 5, failureThreshold: 3 }
  const env = Array.from({ length: 12 }, (_, index) => ({
    name: `SETTING_${index}`,
    value: `value ${index} of ${name}`,
  }))
  return {
    containers: [
      {
        name: 'app',
        image: `registry.example/${name}:1`,
        ports: [{ containerPort: 8080, protocol: 'TCP' }],
        env,
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        volumeMounts: [
          { name: 'settings', mountPath: '/etc/settings', readOnly: true },
          ...(accountVolume === undefined
            ? []
            : [{ name: accountVolume, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }]),
        ],
        startupProbe: { ...probe, failureThreshold: 30 },
        livenessProbe: { ...probe, timeoutSeconds: 1, successThreshold: 1 },
        readinessProbe: probe,
        securityContext: { allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
        terminationMessagePath: '/dev/termination-log',
        imagePullPolicy: 'IfNotPresent',
      },
    ],
    restartPolicy: 'Always',
    serviceAccountName: 'default',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
  }
}

/** What the API server mounts into each pod. */
const accountSources = [
  { serviceAccountToken: { expirationSeconds: 3_607, path: 'token' } },
  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
]

const configVolume = { name: 'settings', configMap: { name: 'settings', defaultMode: 420 } }

const labelsOf = ({ name }: Workload) => ({ app: name })
const hashedLabelsOf = (workload: Workload) => ({ ...labelsOf(workload), 'pod-template-hash': 'a1b2c3' })

/** @param ready how many of the pods are ready; undefined: the controller has not observed the Deployment */
export function createDeployment(workload: Workload, ready: number | undefined, time: string): KubeObject {
  const { namespace, name, replicas } = workload
  const isComplete = ready === replicas
  const condition = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    lastTransitionTime: time,
  })
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name,
      namespace,
      uid: `deployment-${name}`,
      generation: 1,
      creationTimestamp: time,
      annotations: { 'deployment.kubernetes.io/revision': '1' },
      managedFields: managedFields(time),
    },
    spec: {
      replicas,
      selector: { matchLabels: labelsOf(workload) },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
      template: { metadata: { labels: labelsOf(workload) }, spec: template(workload) },
    },
    status:
      ready === undefined
        ? {}
        : {
            observedGeneration: 1,
            replicas,
            updatedReplicas: replicas,
            readyReplicas: ready,
            availableReplicas: ready,
            unavailableReplicas: replicas - ready,
            conditions: [
              condition('Available', isComplete ? 'True' : 'False', 'MinimumReplicasAvailable'),
              condition('Progressing', 'True', isComplete ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated'),
            ],
          },
  } as KubeObject
}

export function createReplicaSet(workload: Workload, time: string): KubeObject {
  const { namespace, name, replicas } = workload
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-a1b2c3`,
      namespace,
      uid: `replicaset-${name}`,
      generation: 1,
      creationTimestamp: time,
      labels: hashedLabelsOf(workload),
      annotations: { 'deployment.kubernetes.io/revision': '1' },
      ownerReferences: controller('apps/v1', 'Deployment', name, `deployment-${name}`),
      managedFields: managedFields(time),
    },
    spec: {
      replicas,
      selector: { matchLabels: hashedLabelsOf(workload) },
      template: { metadata: { labels: hashedLabelsOf(workload) }, spec: template(workload) },
    },
    status: { observedGeneration: 1, replicas },
  } as KubeObject
}

/** The versions of a pod, in order. */
export const podStages = ['pending', 'scheduled', 'running', 'ready'] as const

export function createPod(
  workload: Workload,
  index: number,
  stage: (typeof podStages)[number],
  time: string,
): KubeObject {
  const { namespace, name } = workload
  const step = podStages.indexOf(stage)
  const accountVolume = `kube-api-access-${index.toString(36).padStart(5, '0')}`
  const condition = (type: string, since: number) => ({
    type,
    status: step >= since ? 'True' : 'False',
    lastTransitionTime: time,
    ...(step >= since ? {} : { reason: 'ContainersNotReady', message: 'containers with unready status: [app]' }),
  })
  const container = {
    name: 'app',
    image: `registry.example/${name}:1`,
    containerID: step >= 2 ? `containerd://${`${index}`.padStart(64, '0')}` : undefined,
    imageID: step >= 2 ? `registry.example/${name}@sha256:${'0'.repeat(64)}` : '',
    ready: step >= 3,
    started: step >= 2,
    restartCount: 0,
    state: step >= 2 ? { running: { startedAt: time } } : { waiting: { reason: 'ContainerCreating' } },
    lastState: {},
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-a1b2c3-${index}`,
      generateName: `${name}-a1b2c3-`,
      namespace,
      uid: `pod-${name}-${index}`,
      creationTimestamp: time,
      labels: hashedLabelsOf(workload),
      ownerReferences: controller('apps/v1', 'ReplicaSet', `${name}-a1b2c3`, `replicaset-${name}`),
      managedFields: managedFields(time),
    },
    spec: {
      ...template(workload, accountVolume),
      ...(step >= 1 ? { nodeName: `node-${index % 50}` } : {}),
      volumes: [{ name: accountVolume, projected: { defaultMode: 420, sources: accountSources } }, configVolume],
      tolerations: ['not-ready', 'unreachable'].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        effect: 'NoExecute',
      })),
    },
    status: {
      phase: step >= 2 ? 'Running' : 'Pending',
      conditions:
        step === 0
          ? []
          : [
              condition('PodReadyToStartContainers', 2),
              condition('PodScheduled', 1),
              condition('Initialized', 1),
              condition('ContainersReady', 3),
              condition('Ready', 3),
            ],
      ...(step >= 1
        ? {
            startTime: time,
            hostIP: '10.0.0.1',
            podIP: `10.1.${index >> 8}.${index % 256}`,
            containerStatuses: [container],
          }
        : {}),
    },
  } as KubeObject
}
