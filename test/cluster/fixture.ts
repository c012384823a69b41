import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Api, ApiError, type KubeObject } from './api.ts'
import { isComplete } from './cluster-states.ts'
import type { FaultMoments } from './component-faults.ts'
import type { Informer } from './informer.ts'
import type { TcpProxy } from './tcp-proxy.ts'

const resources: Record<string, string> = {
  Pod: '/api/v1/namespaces/{}/pods',
  Service: '/api/v1/namespaces/{}/services',
  PersistentVolumeClaim: '/api/v1/namespaces/{}/persistentvolumeclaims',
  Secret: '/api/v1/namespaces/{}/secrets',
  ConfigMap: '/api/v1/namespaces/{}/configmaps',
  ServiceAccount: '/api/v1/namespaces/{}/serviceaccounts',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings',
  ResourceQuota: '/api/v1/namespaces/{}/resourcequotas',
  LimitRange: '/api/v1/namespaces/{}/limitranges',
  Node: '/api/v1/nodes',
  Namespace: '/api/v1/namespaces',
  PersistentVolume: '/api/v1/persistentvolumes',
  StorageClass: '/apis/storage.k8s.io/v1/storageclasses',
  PriorityClass: '/apis/scheduling.k8s.io/v1/priorityclasses',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  APIService: '/apis/apiregistration.k8s.io/v1/apiservices',
  ValidatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  Deployment: '/apis/apps/v1/namespaces/{}/deployments',
  ReplicaSet: '/apis/apps/v1/namespaces/{}/replicasets',
  StatefulSet: '/apis/apps/v1/namespaces/{}/statefulsets',
  DaemonSet: '/apis/apps/v1/namespaces/{}/daemonsets',
  Job: '/apis/batch/v1/namespaces/{}/jobs',
  CronJob: '/apis/batch/v1/namespaces/{}/cronjobs',
  Ingress: '/apis/networking.k8s.io/v1/namespaces/{}/ingresses',
  CertificateSigningRequest: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
  PodDisruptionBudget: '/apis/policy/v1/namespaces/{}/poddisruptionbudgets',
  HorizontalPodAutoscaler: '/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers',
}

export interface FixtureOptions {
  api: Api
  namespace: string
  informer: Informer
  /** The working directory of the action. */
  workspace: string
  /** The proxy between the action and the API server, if the scenario is `proxied`. */
  proxy: TcpProxy | undefined
  /** The API paths of custom resources by kind, with `{}` for the namespace. */
  customResources: Readonly<Record<string, string>>
  /** The fault of the scenario, if it has one. */
  fault: FaultMoments | undefined
  /** Sends a signal to the action's process. */
  send: (signal: NodeJS.Signals) => void
  /** Called by `markDecided` with the time of the decision, in milliseconds since 1970. */
  onDecided: (at: number) => void
}

/** The environment of one scenario: its namespace, the watched objects, and methods that change them. */
export class Fixture {
  readonly api: Api
  readonly namespace: string
  readonly informer: Informer
  /** Tokens that the scenario created, by user name. The action must not print them. */
  readonly tokens = new Map<string, string>()
  private readonly parts: FixtureOptions

  constructor(parts: FixtureOptions) {
    this.parts = parts
    this.api = parts.api
    this.namespace = parts.namespace
    this.informer = parts.informer
  }

  /** The proxy between the action and the API server. Throws unless the scenario is `proxied`. */
  get proxy(): TcpProxy {
    if (this.parts.proxy === undefined) throw new Error('the scenario is not proxied')
    return this.parts.proxy
  }

  /** The API path of an object; namespaced kinds are in the fixture's namespace. */
  path(kind: string, name: string): string {
    const collection = resources[kind] ?? this.parts.customResources[kind]
    if (!collection) throw new Error(`add the API path of ${kind} to fixture.ts`)
    return `${collection.replace('{}', this.namespace)}/${name}`
  }

  /** Applies objects in order, and waits until the informer shows each change. */
  async apply(...objects: KubeObject[]): Promise<void> {
    for (const object of objects) {
      const { kind = '', metadata } = object
      const path = this.path(kind, metadata.name)
      const applied = (await this.api.apply(path, object)).metadata
      if (!this.informer.isWatched(path)) continue
      await this.informer.until(`the watch shows ${kind} ${metadata.name}`, 10, (informer) => {
        const seen = informer.get(kind, metadata.name)?.metadata
        return seen?.uid === applied.uid && (seen?.generation ?? 0) >= (applied.generation ?? 0)
      })
    }
  }

  /** Applies Deployments and waits until they are rolled out. */
  async rollOut(...deployments: KubeObject[]): Promise<void> {
    await this.apply(...deployments)
    for (const { metadata } of deployments) {
      await this.informer.until(`deployment/${metadata.name} is rolled out`, 60, (informer) =>
        isComplete(informer.get('Deployment', metadata.name)),
      )
    }
  }

  patch(kind: string, name: string, body: unknown): Promise<KubeObject> {
    return this.api.patch(this.path(kind, name), body)
  }

  delete(kind: string, name: string, options: object = {}): Promise<KubeObject> {
    return this.api.delete(this.path(kind, name), options)
  }

  /** Deletes an object if it exists. */
  async remove(kind: string, name: string): Promise<void> {
    try {
      await this.delete(kind, name)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error
    }
  }

  /** Writes a file into the working directory of the action. */
  write(name: string, content: string): void {
    const path = this.pathOf(name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }

  /** The path of a file in the working directory of the action. */
  pathOf(name: string): string {
    return join(this.parts.workspace, name)
  }

  /** Reads a file in the working directory of the action. */
  read(name: string): string {
    return readFileSync(this.pathOf(name), 'utf8')
  }

  /** Waits, for scenarios that test a late change. */
  wait(seconds: number): Promise<void> {
    return setTimeout(seconds * 1000)
  }

  /** Waits up to 60 s for a state of the namespace, and returns the result of `find`. */
  until<T>(what: string, find: (informer: Informer) => T | undefined | false): Promise<T> {
    return this.informer.until(what, 60, find)
  }

  /** Waits for a running pod with this image. */
  runningPod(image: string): Promise<KubeObject> {
    return this.informer.until(`a pod of ${image} runs`, 30, (informer) =>
      informer.all('Pod').find(({ spec, status }) => spec.containers[0].image === image && status.phase === 'Running'),
    )
  }

  /** The fault of the scenario. It begins when all scenarios that share it have called one of its functions. */
  get fault(): FaultMoments {
    if (this.parts.fault === undefined) throw new Error('the scenario has no fault')
    return this.parts.fault
  }

  /** Sends a signal to the action, as the runner does when a job is cancelled. */
  signal(signal: NodeJS.Signals): void {
    this.parts.send(signal)
  }

  /** Marks the time of the decision: now, or this many seconds later. */
  markDecided(afterSeconds = 0): void {
    this.parts.onDecided(Date.now() + afterSeconds * 1000)
  }
}
