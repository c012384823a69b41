import type { KubeObject } from './api.ts'
import { appImage } from './images.ts'

/** Options of a container; the defaults are the tests' application with an HTTP readiness probe. */
export interface ContainerOptions {
  /** A tag of the tests' application, or a full image name. */
  image?: string
  /** A shell script that runs instead of the application. */
  script?: string
  /** Readiness probe: `http` requests the application, `never` always fails, `none` is no probe. */
  readiness?: 'http' | 'never' | 'none'
  /** Any other field of the container. */
  [field: string]: unknown
}

/** The script of an application that starts to listen after this many seconds. */
export function slowStart(seconds: number): string {
  return `sleep ${seconds}; exec serve`
}

/** A container named `app`. */
export function container({ image = 'v1', script, readiness = 'http', ...rest }: ContainerOptions = {}): object {
  return {
    name: 'app',
    image: imageName(image),
    ...(script !== undefined && { command: ['sh', '-c', script] }),
    ...(readiness === 'http' && { readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 } }),
    ...(readiness === 'never' && {
      readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 2 },
    }),
    ...rest,
  }
}

/** The full name of an image of the tests. */
export function imageName(image: string): string {
  return image.includes('/') ? image : `${appImage}:${image}`
}

/** A Deployment of two pods; `spec` overrides fields. */
export function deployment(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return workload('Deployment', name, options, { replicas: 2, ...spec })
}

/** A ReplicaSet of two pods. */
export function replicaSet(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return workload('ReplicaSet', name, options, { replicas: 2, ...spec })
}

/** A Pod without an owner. */
export function barePod(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { ...podSpec(options), ...spec } }
}

/** A StatefulSet of two pods. */
export function statefulSet(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return workload('StatefulSet', name, options, { replicas: 2, serviceName: name, ...spec })
}

/** A DaemonSet: a pod on every node that it tolerates. */
export function daemonSet(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return workload('DaemonSet', name, options, spec)
}

/** A Job of one pod whose container runs a script; `pod` overrides fields of the pod's `spec`. */
export function scriptJob(name: string, script: string, spec: object = {}, pod: object = {}): KubeObject {
  const template = { spec: { restartPolicy: 'Never', ...podSpec({ script, readiness: 'none' }), ...pod } }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { template, ...spec } }
}

/** A Service on port 80 for pods with the label `app: name`; `spec` overrides fields. */
export function appService(name: string, spec: object = {}): KubeObject {
  const ports = [{ port: 80, targetPort: 8080 }]
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: { app: name }, ports, ...spec } }
}

/** A HorizontalPodAutoscaler for the Deployment of the same name, by cpu. */
export function autoscaler(name: string): KubeObject {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name }
  const resource = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } }
  const spec = { scaleTargetRef, minReplicas: 1, maxReplicas: 3, metrics: [{ type: 'Resource', resource }] }
  return { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name }, spec }
}

/** An object of the core group. */
export function coreObject(kind: string, name: string, fields: object = {}): KubeObject {
  return { apiVersion: 'v1', kind, metadata: { name }, ...fields }
}

/** The field `template` of a workload's `spec`; `pod` overrides fields of the pod's `spec`. */
export function template(name: string, options: ContainerOptions, pod: object): object {
  return { template: { metadata: { labels: { app: name } }, spec: { ...podSpec(options), ...pod } } }
}

/** A script that fails at its first `times` starts, counted in a volume, and then runs `then`. */
export function diesFirst(times: number, then: string): { script: string; volumeMounts: object[] } {
  const script = `echo >> /state/starts; [ $(wc -l < /state/starts) -gt ${times} ] || exit 1; ${then}`
  return { script, volumeMounts: [{ name: 'state', mountPath: '/state' }] }
}

/** The volume of `diesFirst`: kept across containers, deleted with the pod. */
export const stateVolume = { volumes: [{ name: 'state', emptyDir: {} }] }

function workload(kind: string, name: string, options: ContainerOptions, spec: object): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec(options) },
      ...spec,
    },
  }
}

function podSpec(options: ContainerOptions): object {
  return { terminationGracePeriodSeconds: 1, containers: [container(options)] }
}
