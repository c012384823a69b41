import { isAccessDenied } from '../cluster/failures.ts'
import { type ApiResource, type FeedEvent, requestKey, type WatchRequest } from '../cluster/feed.ts'
import type { KindName, ObjectMeta } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import { isSupersetOf } from '../cluster/store.ts'
import { isOfRelease, type Selection } from '../plan/helm-release.ts'
import { pluralOf } from '../plan/kinds.ts'
import { matchesSelector } from '../plan/names.ts'
import { selectorCompleteMs } from '../thresholds.ts'
import { readEvents } from './reader.ts'

/** The kinds, names and answered requests in a recording. If the header has no targets, targets are found here. */
export class RecordingIndex {
  readonly #discovered: ApiResource[] = []
  /** By apiVersion and kind. */
  readonly #kinds = new Map<string, KindIndex>()
  readonly #namespaces = new Set<string>()
  /** The requests that the API server answered, with a complete first list or a refusal. */
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
    } else if (event.type === 'SYNCED' || event.type === 'ERROR') {
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

  /** Whether the recording contains the first list for a request, or its refusal. */
  hasAnswer(request: WatchRequest): boolean {
    for (const known of this.#answered.values()) if (isSupersetOf(known, request)) return true
    return false
  }

  /**
   * The kinds that a reference may mean, the most likely first: discovered kinds, common kinds with objects, other
   * kinds with objects, other common kinds.
   */
  get kinds(): readonly ApiResource[] {
    const named = [...this.#kinds.values()]
    const isNamed = (resource: ApiResource) =>
      named.some(({ apiVersion, kind }) => servesKind(resource, apiVersion, kind))
    const known = [...this.#discovered, ...commonKinds]
    const guessed = named
      .filter(({ apiVersion, kind }) => !known.some((each) => servesKind(each, apiVersion, kind)))
      .map(({ apiVersion, kind, isNamespaced }) => kindResource(apiVersion, kind, isNamespaced))
    return [
      ...this.#discovered,
      ...commonKinds.filter(isNamed),
      ...guessed,
      ...commonKinds.filter((each) => !isNamed(each)),
    ]
  }

  /** The only namespace of the objects; undefined if there are several or none. */
  get onlyNamespace(): string | undefined {
    return this.#namespaces.size === 1 ? [...this.#namespaces][0] : undefined
  }

  /**
   * The names of the objects of a kind that match a selector in the first list. If none matches, the names of the first
   * matches after the list, within `selectorCompleteMs`. A live gate waits for matches in the same way
   * (`matchSelections`).
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

/** A kind in the recording, with its objects. */
interface KindIndex extends KindName {
  isNamespaced: boolean
  /** Whether the first list is complete. */
  isListed: boolean
  /** `createdAt`: when the object appeared, in milliseconds since the epoch; undefined if the first list contains it. */
  readonly objects: Map<string, ObjectMeta & { readonly createdAt: number | undefined }>
}

/** Whether an API resource serves a kind, in any version. */
export function servesKind(resource: ApiResource, apiVersion: string, kind: string): boolean {
  return resource.kind === kind && resource.group === groupOf(apiVersion)
}

/**
 * Reads a whole recording into an index. Ignores damage, because the replay reports it.
 * @throws the reason of the aborted signal
 */
export async function indexRecording(path: string, cancelled?: AbortSignal): Promise<RecordingIndex> {
  const index = new RecordingIndex()
  for await (const event of readEvents(path, () => {}, undefined, cancelled)) index.add(event)
  cancelled?.throwIfAborted()
  return index
}

/** The API resource of a kind. The plural is derived from the name of the kind. */
function kindResource(apiVersion: string, kind: string, namespaced: boolean, ...shortNames: string[]): ApiResource {
  const group = groupOf(apiVersion)
  const version = group === '' ? apiVersion : apiVersion.slice(group.length + 1)
  const singular = kind.toLowerCase()
  return { group, version, kind, singular, plural: pluralOf(singular), shortNames, namespaced, status: true }
}

/** The API resources of kinds in one version: a list of kinds, each with its short names. */
function kindResources(apiVersion: string, namespaced: boolean, kinds: string): readonly ApiResource[] {
  return kinds.split(', ').map((words) => {
    const [kind = '', ...shortNames] = words.split(' ')
    return kindResource(apiVersion, kind, namespaced, ...shortNames)
  })
}

/**
 * Common kinds with their short names, for recordings without discovery (`kubectl api-resources` of Kubernetes 1.34 and
 * Gateway API 1.4).
 */
const commonKinds: readonly ApiResource[] = [
  ...kindResources('v1', true, 'ConfigMap cm, Event ev, PersistentVolumeClaim pvc, Pod po, ReplicationController rc'),
  ...kindResources('v1', true, 'Secret, Service svc, ServiceAccount sa'),
  ...kindResources('v1', false, 'Namespace ns'),
  ...kindResources(
    'apps/v1',
    true,
    'ControllerRevision, DaemonSet ds, Deployment deploy, ReplicaSet rs, StatefulSet sts',
  ),
  ...kindResources('autoscaling/v2', true, 'HorizontalPodAutoscaler hpa'),
  ...kindResources('batch/v1', true, 'CronJob cj, Job'),
  ...kindResources('discovery.k8s.io/v1', true, 'EndpointSlice'),
  ...kindResources('networking.k8s.io/v1', true, 'Ingress ing, NetworkPolicy netpol'),
  ...kindResources('policy/v1', true, 'PodDisruptionBudget pdb'),
  ...kindResources('rbac.authorization.k8s.io/v1', true, 'Role, RoleBinding'),
  ...kindResources('rbac.authorization.k8s.io/v1', false, 'ClusterRole, ClusterRoleBinding'),
  ...kindResources('gateway.networking.k8s.io/v1', true, 'Gateway gtw, HTTPRoute'),
  ...kindResources('apiextensions.k8s.io/v1', false, 'CustomResourceDefinition crd crds'),
  ...kindResources('apiregistration.k8s.io/v1', false, 'APIService'),
]
