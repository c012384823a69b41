import {
  type ApiResource,
  type FeedEvent,
  isAccessDenied,
  isFailure,
  requestKey,
  type WatchRequest,
} from '../cluster/feed.ts'
import type { KindName, ObjectMeta } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import { isSupersetOf } from '../cluster/store.ts'
import { isOfRelease, type Selection } from '../plan/helm-release.ts'
import { pluralOf } from '../plan/kinds.ts'
import { matchesSelector } from '../plan/names.ts'
import { selectorCompleteMs } from '../thresholds.ts'
import { readEvents } from './reader.ts'

/** The kinds, names and answered requests of a recording. They replace a cluster if the header contains no targets. */
export class RecordingIndex {
  readonly #discovered: ApiResource[] = []
  /** By apiVersion and kind. */
  readonly #kinds = new Map<string, KindIndex>()
  readonly #namespaces = new Set<string>()
  readonly #answered = new Map<string, WatchRequest>()
  #lastAt = 0

  /** When the last event was observed, in milliseconds since the epoch. */
  get lastAt(): number {
    return this.#lastAt
  }

  add(event: FeedEvent): void {
    this.#lastAt = event.at
    if (event.type === 'DISCOVERY') {
      this.#discovered.push(...event.resources)
    } else if (event.type === 'SYNCED' || isFailure(event)) {
      const { apiVersion, kind, namespace, name, labelSelector } = event
      if (apiVersion === undefined || kind === undefined) return
      const known = this.#kindIndex(apiVersion, kind)
      known.isListed ||= event.type === 'SYNCED'
      this.#addNamespace(known, namespace)
      if (event.type !== 'SYNCED' && !isAccessDenied(event)) return
      this.#answered.set(requestKey(event), { apiVersion, kind, namespace, name, labelSelector })
    } else if ('object' in event) {
      const { apiVersion, kind, metadata } = event.object
      const known = this.#kindIndex(apiVersion, kind)
      this.#addNamespace(known, metadata.namespace)
      if (kind !== 'Event' && event.type !== 'DELETED' && !known.objects.has(metadata.name))
        known.objects.set(metadata.name, { ...metadata, createdAt: known.isListed ? event.at : undefined })
    }
  }

  /**
   * The requests that the server answered with a complete first list or a refusal. Other requests have no known result.
   */
  get answered(): readonly WatchRequest[] {
    return [...this.#answered.values()]
  }

  /** Whether the recording contains the first list of a request, or its refusal. */
  hasAnswer(request: WatchRequest): boolean {
    for (const known of this.#answered.values()) if (isSupersetOf(known, request)) return true
    return false
  }

  /**
   * The kinds that a reference can mean, most likely first: from discovery, common kinds with objects, other kinds with
   * objects, and the remaining common kinds.
   */
  get kinds(): readonly ApiResource[] {
    const named = [...this.#kinds.values()]
    const isNamed = (resource: ApiResource) => named.some(({ apiVersion, kind }) => isKind(resource, apiVersion, kind))
    const known = [...this.#discovered, ...commonKinds]
    const guessed = named
      .filter(({ apiVersion, kind }) => !known.some((each) => isKind(each, apiVersion, kind)))
      .map(({ apiVersion, kind, isNamespaced }) => resource(apiVersion, kind, isNamespaced))
    return [
      ...this.#discovered,
      ...commonKinds.filter(isNamed),
      ...guessed,
      ...commonKinds.filter((each) => !isNamed(each)),
    ]
  }

  /** The namespace of all objects; undefined for several or none. */
  get onlyNamespace(): string | undefined {
    return this.#namespaces.size === 1 ? [...this.#namespaces][0] : undefined
  }

  /**
   * The names of the objects in the first list of a kind that match the selector. If none does, the first later
   * matches, within `selectorCompleteMs` of each other: a gate waits for them in the same way (`matchSelections`).
   */
  namesOf({ apiVersion, kind, namespace, labelSelector = '', release }: Selection): readonly string[] {
    const matches = [...this.#kinds.values()]
      .filter((known) => known.kind === kind && groupOf(known.apiVersion) === groupOf(apiVersion))
      .flatMap(({ objects }) => [...objects.values()])
      .filter((object) => namespace === undefined || (object.namespace ?? namespace) === namespace)
      .filter(({ labels }) => matchesSelector(labelSelector, labels ?? {}))
      .filter((metadata) => release === undefined || isOfRelease({ metadata }, release))
    const firstAt = Math.min(...matches.map(({ createdAt = Number.NEGATIVE_INFINITY }) => createdAt))
    const until = firstAt + selectorCompleteMs
    return matches.filter(({ createdAt = firstAt }) => createdAt <= until).map(({ name }) => name)
  }

  #kindIndex(apiVersion: string, kind: string): KindIndex {
    const key = `${apiVersion} ${kind}`
    const known = this.#kinds.get(key) ?? {
      apiVersion,
      kind,
      isNamespaced: false,
      isListed: false,
      objects: new Map(),
    }
    this.#kinds.set(key, known)
    return known
  }

  #addNamespace(known: KindIndex, namespace: string | undefined): void {
    if (namespace === undefined) return
    known.isNamespaced = true
    this.#namespaces.add(namespace)
  }
}

/** The objects of one kind in a recording. */
interface KindIndex extends KindName {
  isNamespaced: boolean
  /** Whether the first list is complete. */
  isListed: boolean
  readonly objects: Map<string, IndexedObject>
}

interface IndexedObject extends ObjectMeta {
  /** When the object was first seen, in milliseconds since the epoch; undefined in the first list. */
  readonly createdAt?: number | undefined
}

/** Whether a resource serves this kind, in any version. */
export function isKind(resource: ApiResource, apiVersion: string, kind: string): boolean {
  return resource.kind === kind && resource.group === groupOf(apiVersion)
}

/**
 * Reads a whole recording. Ignores damage, which the replay reports.
 * @throws the reason of the signal
 */
export async function indexRecording(path: string, cancelled?: AbortSignal): Promise<RecordingIndex> {
  const index = new RecordingIndex()
  for await (const event of readEvents(path, () => {}, undefined, cancelled)) index.add(event)
  cancelled?.throwIfAborted()
  return index
}

/** The resource of a kind, with the plural that its name suggests. */
function resource(apiVersion: string, kind: string, namespaced: boolean, ...shortNames: string[]): ApiResource {
  const group = groupOf(apiVersion)
  const version = group === '' ? apiVersion : apiVersion.slice(group.length + 1)
  const singular = kind.toLowerCase()
  return { group, version, kind, singular, plural: pluralOf(singular), shortNames, namespaced, status: true }
}

/**
 * Common kinds with their short names, for recordings without discovery (`kubectl api-resources` of Kubernetes 1.34 and
 * Gateway API 1.4).
 */
const commonKinds: readonly ApiResource[] = [
  resource('v1', 'ConfigMap', true, 'cm'),
  resource('v1', 'Event', true, 'ev'),
  resource('v1', 'Namespace', false, 'ns'),
  resource('v1', 'PersistentVolumeClaim', true, 'pvc'),
  resource('v1', 'Pod', true, 'po'),
  resource('v1', 'ReplicationController', true, 'rc'),
  resource('v1', 'Secret', true),
  resource('v1', 'Service', true, 'svc'),
  resource('v1', 'ServiceAccount', true, 'sa'),
  resource('apps/v1', 'ControllerRevision', true),
  resource('apps/v1', 'DaemonSet', true, 'ds'),
  resource('apps/v1', 'Deployment', true, 'deploy'),
  resource('apps/v1', 'ReplicaSet', true, 'rs'),
  resource('apps/v1', 'StatefulSet', true, 'sts'),
  resource('autoscaling/v2', 'HorizontalPodAutoscaler', true, 'hpa'),
  resource('batch/v1', 'CronJob', true, 'cj'),
  resource('batch/v1', 'Job', true),
  resource('discovery.k8s.io/v1', 'EndpointSlice', true),
  resource('networking.k8s.io/v1', 'Ingress', true, 'ing'),
  resource('networking.k8s.io/v1', 'NetworkPolicy', true, 'netpol'),
  resource('policy/v1', 'PodDisruptionBudget', true, 'pdb'),
  resource('rbac.authorization.k8s.io/v1', 'Role', true),
  resource('rbac.authorization.k8s.io/v1', 'RoleBinding', true),
  resource('rbac.authorization.k8s.io/v1', 'ClusterRole', false),
  resource('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', false),
  resource('gateway.networking.k8s.io/v1', 'Gateway', true, 'gtw'),
  resource('gateway.networking.k8s.io/v1', 'HTTPRoute', true),
  resource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', false, 'crd', 'crds'),
  resource('apiregistration.k8s.io/v1', 'APIService', false),
]
