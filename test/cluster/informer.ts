import { setTimeout } from 'node:timers/promises'
import { type Api, ApiError, type KubeObject, type WatchEvent } from './api.ts'

const collections = ['pods', 'events', 'services', 'persistentvolumeclaims', 'resourcequotas']
const groupCollections = [
  'apps/v1/deployments',
  'apps/v1/replicasets',
  'apps/v1/statefulsets',
  'apps/v1/daemonsets',
  'batch/v1/jobs',
]

/** The present objects of one namespace, from the tests' own watches. */
export class Informer {
  /** When the action was started, in milliseconds since 1970. */
  actionStarted: number | undefined
  /** `finishedAt` of the first container death (whole seconds), in milliseconds since 1970. */
  firstDeath: number | undefined
  private readonly objects = new Map<string, KubeObject>()
  private readonly listeners = new Set<() => void>()
  private readonly stop = new AbortController()
  /** All watch events in order. */
  readonly history: { at: string; type: string; object: KubeObject }[] = []

  private readonly paths: readonly string[]

  /**
   * @param onBroken called if a watch ends before the informer is closed, since later states would be missed. Returns
   * whether to watch again: then only deletions during the interruption are missed
   * @param customResources API paths of custom resources by kind, with `{}` for the namespace
   */
  constructor(
    api: Api,
    namespace: string,
    onBroken: (problem: Error) => boolean,
    customResources: Readonly<Record<string, string>> = {},
  ) {
    this.paths = [
      ...collections.map((name) => `/api/v1/namespaces/${namespace}/${name}`),
      ...groupCollections.map((name) => `/apis/${name.replace(/\/([^/]+)$/, `/namespaces/${namespace}/$1`)}`),
      ...Object.values(customResources).map((path) => path.replace('{}', namespace)),
    ]
    for (const path of this.paths) void this.watch(api, path, onBroken)
  }

  private async watch(api: Api, path: string, onBroken: (problem: Error) => boolean): Promise<void> {
    const { signal } = this.stop
    for (;;) {
      const problem = await api
        .watch(path, (event) => this.handle(event), signal)
        .then(() => new Error(`the watch of ${path} ended`))
        .catch((error: Error) => error)
      // The API server prepares the watches of a kind that was defined just before.
      const isPrepared = !(problem instanceof ApiError && problem.status === 429)
      if (signal.aborted || (isPrepared && !onBroken(problem))) return
      await setTimeout(500)
    }
  }

  /** Whether the informer watches the collection of an API path. */
  isWatched(objectPath: string): boolean {
    return this.paths.includes(objectPath.slice(0, objectPath.lastIndexOf('/')))
  }

  get(kind: string, name: string): KubeObject | undefined {
    return this.objects.get(`${kind}/${name}`)
  }

  all(kind: string): KubeObject[] {
    return [...this.objects].flatMap(([key, object]) => (key.startsWith(`${kind}/`) ? [object] : []))
  }

  /** Resolves with the first truthy result of `find`, which is called after every change. Rejects after `seconds`. */
  until<T>(what: string, seconds: number, find: (informer: Informer) => T | undefined | false): Promise<T> {
    return new Promise((resolve, reject) => {
      const finish = () => {
        clearTimeout(timer)
        this.listeners.delete(check)
      }
      const check = () => {
        const found = find(this)
        if (!found) return
        finish()
        resolve(found)
      }
      const timer = globalThis.setTimeout(() => {
        finish()
        reject(new Error(`${what}: not within ${seconds} s`))
      }, seconds * 1000)
      this.listeners.add(check)
      check()
    })
  }

  /** Calls the listener now and after every change, until the informer is closed. */
  onChange(listener: () => void): void {
    this.listeners.add(listener)
    listener()
  }

  close(): void {
    this.stop.abort()
    this.listeners.clear()
  }

  private handle({ type, object }: WatchEvent): void {
    const key = `${object.kind}/${object.metadata.name}`
    this.history.push({ at: new Date().toISOString(), type, object })
    if (type === 'DELETED') this.objects.delete(key)
    else this.objects.set(key, object)
    if (object.kind === 'Pod') this.firstDeath ??= deathOf(object)
    for (const listener of [...this.listeners]) listener()
  }
}

/** The earliest death in the status of a pod that is not terminating. */
function deathOf(pod: KubeObject): number | undefined {
  if (pod.metadata.deletionTimestamp) return undefined
  const { initContainerStatuses = [], containerStatuses = [] } = pod['status']
  const statuses: KubeObject[] = [...initContainerStatuses, ...containerStatuses]
  const deaths = statuses.flatMap(({ state, lastState }) => [lastState?.terminated, state?.terminated])
  const finishes = deaths.flatMap((death) => (death ? [Date.parse(death.finishedAt)] : []))
  return finishes.length === 0 ? undefined : Math.min(...finishes)
}
