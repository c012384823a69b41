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
  const readinessProbe = { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 5, failureThreshold: 3 }
  const env = Array.from({ length: 24 }, (_, index) => ({
    name: `SETTING_${index}`,
    value: `value ${index} of ${name}`,
  }))
  const volumes = ['settings', ...(accountVolume === undefined ? [] : [accountVolume])]
  return {
    containers: [
      {
        name: 'app',
        image: `registry.example/${name}:1`,
        ports: [{ containerPort: 8080, protocol: 'TCP' }],
        env,
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        volumeMounts: volumes.map((each) => ({ name: each, mountPath: `/var/run/${each}`, readOnly: true })),
        readinessProbe,
      },
    ],
    volumes: volumes.map((each) => ({ name: each, configMap: { name: each, defaultMode: 420 } })),
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
  }
}

const labelsOf = ({ name }: Workload) => ({ app: name })
const hashedLabelsOf = (workload: Workload) => ({ ...labelsOf(workload), 'pod-template-hash': 'a1b2c3' })
const revision = { 'deployment.kubernetes.io/revision': '1' }
const metadataOf = (kind: string, name: string, { namespace }: Workload, time: string) => ({
  name,
  namespace,
  uid: `${kind}-${name}`,
  creationTimestamp: time,
  managedFields: managedFields(time),
})

/** @param ready how many of the pods are ready; undefined: the controller has not observed the Deployment */
export function createDeployment(workload: Workload, ready: number | undefined, time: string): KubeObject {
  const { name, replicas } = workload
  const isComplete = ready === replicas
  const condition = (type: string, status: string, reason: string) => {
    return { type, status, reason, lastTransitionTime: time }
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...metadataOf('deployment', name, workload, time), generation: 1, annotations: revision },
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
  const { name, replicas } = workload
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      ...metadataOf('replicaset', `${name}-a1b2c3`, workload, time),
      generation: 1,
      labels: hashedLabelsOf(workload),
      annotations: revision,
      ownerReferences: controller('apps/v1', 'Deployment', name, `deployment-${name}`),
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

/** The index of the stage from which on a condition is true. */
const conditionStages = { PodReadyToStartContainers: 2, PodScheduled: 1, Initialized: 1, ContainersReady: 3, Ready: 3 }

type PodStage = (typeof podStages)[number]

export function createPod(workload: Workload, index: number, stage: PodStage, time: string): KubeObject {
  const { name } = workload
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
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadataOf('pod', `${name}-a1b2c3-${index}`, workload, time),
      labels: hashedLabelsOf(workload),
      ownerReferences: controller('apps/v1', 'ReplicaSet', `${name}-a1b2c3`, `replicaset-${name}-a1b2c3`),
    },
    spec: { ...template(workload, accountVolume), ...(step >= 1 ? { nodeName: `node-${index % 50}` } : {}) },
    status: {
      phase: step >= 2 ? 'Running' : 'Pending',
      conditions: step === 0 ? [] : Object.entries(conditionStages).map(([type, since]) => condition(type, since)),
      ...(step >= 1 ? { startTime: time, hostIP: '10.0.0.1', podIP: '10.1.0.1', containerStatuses: [container] } : {}),
    },
  } as KubeObject
}
