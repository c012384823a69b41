import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Api, ApiError, type KubeObject } from './api.ts'
import { isComplete } from './facts.ts'
import type { TcpProxy } from './tcp-proxy.ts'
import { isWatched, type View } from './view.ts'

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
  PodDisruptionBudget: '/apis/policy/v1/namespaces/{}/poddisruptionbudgets',
  HorizontalPodAutoscaler: '/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers',
}

/** What a stage is made of. */
export interface StageParts {
  api: Api
  namespace: string
  view: View
  /** The folder that the action runs in. */
  workspace: string
  /** The proxy between the action and the API server, where the scenario has one. */
  proxy: TcpProxy | undefined
  /** Passes a signal to the action's process. */
  send: (signal: NodeJS.Signals) => void
  /** Gets the time since when the outcome follows from what was done, in milliseconds since 1970. */
  onDecided: (at: number) => void
}

/** Where one scenario plays: a namespace of its own, what the API shows of it, and the means to act in it. */
export class Stage {
  readonly api: Api
  readonly namespace: string
  readonly view: View
  /** Tokens that the scenario made, by the names of their users. The action may not show them. */
  readonly tokens = new Map<string, string>()
  private readonly parts: StageParts

  constructor(parts: StageParts) {
    this.parts = parts
    this.api = parts.api
    this.namespace = parts.namespace
    this.view = parts.view
  }

  /** The proxy between the action and the API server. Throws unless the scenario is `proxied`. */
  get proxy(): TcpProxy {
    if (this.parts.proxy === undefined) throw new Error('the scenario is not proxied')
    return this.parts.proxy
  }

  /** The API's path of an object, in the stage's namespace where its kind has one. */
  path(kind: string, name: string): string {
    const collection = resources[kind]
    if (!collection) throw new Error(`the stage knows no path for ${kind}: add it`)
    return `${collection.replace('{}', this.namespace)}/${name}`
  }

  /** Applies objects, one after another, and waits until the view shows them so: facts are never of the state before. */
  async apply(...objects: KubeObject[]): Promise<void> {
    for (const object of objects) {
      const { kind = '', metadata } = object
      const applied = (await this.api.apply(this.path(kind, metadata.name), object)).metadata
      if (!isWatched(kind)) continue
      await this.view.until(`the watch shows ${kind} ${metadata.name}`, 10, (view) => {
        const seen = view.get(kind, metadata.name)?.metadata
        return seen?.uid === applied.uid && (seen?.generation ?? 0) >= (applied.generation ?? 0)
      })
    }
  }

  /** Applies Deployments and waits until they are rolled out: the state before an update. */
  async rollOut(...deployments: KubeObject[]): Promise<void> {
    await this.apply(...deployments)
    for (const { metadata } of deployments) {
      await this.view.until(`deployment/${metadata.name} is rolled out`, 60, (view) =>
        isComplete(view.get('Deployment', metadata.name)),
      )
    }
  }

  patch(kind: string, name: string, body: unknown): Promise<KubeObject> {
    return this.api.patch(this.path(kind, name), body)
  }

  delete(kind: string, name: string, options: object = {}): Promise<KubeObject> {
    return this.api.delete(this.path(kind, name), options)
  }

  /** Deletes what may be gone already, or was never made. */
  async remove(kind: string, name: string): Promise<void> {
    try {
      await this.delete(kind, name)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error
    }
  }

  /** Writes a file of the repository that the action finds checked out. */
  write(name: string, content: string): void {
    const path = join(this.parts.workspace, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }

  /** Reads such a file. */
  read(name: string): string {
    return readFileSync(join(this.parts.workspace, name), 'utf8')
  }

  /** Lets time pass, where the lateness of something is what is tested. */
  pass(seconds: number): Promise<void> {
    return setTimeout(seconds * 1000)
  }

  /** Waits until a pod, or whatever else the view shows, is as asked for. */
  until<T>(what: string, look: (view: View) => T | undefined | false): Promise<T> {
    return this.view.until(what, 60, look)
  }

  /** Waits for a running pod with this image, so for one of the new revision. */
  runningPod(image: string): Promise<KubeObject> {
    return this.view.until(`a pod of ${image} runs`, 30, (view) =>
      view.all('Pod').find(({ spec, status }) => spec.containers[0].image === image && status.phase === 'Running'),
    )
  }

  /** Sends the action a signal, as the runner does when the job is cancelled. */
  signal(signal: NodeJS.Signals): void {
    this.parts.send(signal)
  }

  /** Notes that the outcome follows from what has just been done, after so many seconds. */
  decide(afterSeconds = 0): void {
    this.parts.onDecided(Date.now() + afterSeconds * 1000)
  }
}
