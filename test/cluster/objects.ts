import type { KubeObject } from './api.ts'
import { appImage } from './images.ts'

/** What a test says about a container; everything else is the tests' application as it comes. */
export interface ContainerOptions {
  /** A tag of the tests' application, or a whole image name. */
  image?: string
  /** A shell script that runs instead of the application. */
  script?: string
  /** `http` asks the application itself, `never` always fails, `none` leaves the probe away. */
  readiness?: 'http' | 'never' | 'none'
  /** Any other field of the container. */
  [field: string]: unknown
}

/** The script of an application that needs so many seconds before it listens. */
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

/** The whole name of an image of the tests, from its tag alone. */
export function imageName(image: string): string {
  return image.includes('/') ? image : `${appImage}:${image}`
}

/** A Deployment of two pods, further fields of its `spec` as given. */
export function deployment(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return workload('Deployment', name, options, { replicas: 2, ...spec })
}

/** A ReplicaSet of two pods. */
export function replicaSet(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return workload('ReplicaSet', name, options, { replicas: 2, ...spec })
}

/** A Pod without an owner. */
export function pod(name: string, options: ContainerOptions = {}, spec: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { ...podSpec(options), ...spec } }
}

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
