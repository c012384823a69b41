import type { KubeObject, ManagedFields, ObjectMeta, PodStatus, PodTemplate } from '../../src/cluster/objects.ts'
import { complete, iso, make, ownedBy } from './objects.ts'
import { toPodStatus } from './pods.ts'

/** A pod template: its image, labels and annotations, and what else its pods' spec has. */
interface TemplateWords {
  readonly image?: string
  readonly container?: object
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
}

/** An object as data: what it has besides the healthy defaults of its kind. Its name is the one it has in the file. */
export interface NamedObject {
  /** Another object of the file: what this one has goes before, field by field of metadata, spec and status; null removes. */
  readonly is?: string
  readonly apiVersion?: string
  readonly kind?: string
  /** Its controller: an object of the file; null if it has none. Of a pod `web-1`, of a ReplicaSet `web` by default. */
  readonly owner?: string | null
  readonly metadata?: Partial<ObjectMeta>
  /** Who wrote its fields, and when: `kubectl @5`, `kubectl @5 scale` of a subresource, `Apply argocd @5`. */
  readonly writes?: readonly string[]
  /** Its number of the revisions of a Deployment. */
  readonly revision?: number
  readonly spec?: object
  /** Of a pod `ready 3`, of a Deployment `complete 2` or `progressing`, of its generation: of another one `complete 2 of 1`. */
  readonly status?: object | string
  readonly template?: TemplateWords
  /** The number of a ControllerRevision, whose template is `template`. */
  readonly revisionNumber?: number
  /** Its fields besides these, as `data`. */
  readonly [field: string]: unknown
}

export type NamedObjects = Readonly<Record<string, NamedObject>>

const apiVersions: Readonly<Record<string, string>> = {
  ControllerRevision: 'apps/v1',
  DaemonSet: 'apps/v1',
  Deployment: 'apps/v1',
  EndpointSlice: 'discovery.k8s.io/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  Job: 'batch/v1',
  ReplicaSet: 'apps/v1',
  StatefulSet: 'apps/v1',
}

export function isClusterScoped(kind: string): boolean {
  return ['IngressClass', 'Namespace', 'Node'].includes(kind)
}

/** The version of a kind in these files: that of an object which has it, else the usual one. */
export function apiVersionOf(kind: string, objects: NamedObjects): string {
  return (
    Object.values(objects).find((each) => each.kind === kind && each.apiVersion !== undefined)?.apiVersion ??
    apiVersions[kind] ??
    'v1'
  )
}

function merge(base: object | undefined, own: object | undefined): object | undefined {
  return base === undefined && own === undefined ? undefined : { ...base, ...own }
}

/** With undefined for null, which replaces a default. */
function nullsUnset<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? undefined])) as Fields
}

function withoutNulls<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Fields
}

function toTemplate({ image, container, labels, annotations, ...spec }: TemplateWords): PodTemplate {
  const containers = [make.container({ ...(image && { image }), ...container })]
  const template = make.template({ containers, ...spec }, labels)
  return { ...template, metadata: { ...template.metadata, ...(annotations && { annotations }) } }
}

function statusOf(kind: string, status: object | string | undefined, generation = 1): object | undefined {
  if (typeof status !== 'string') return status
  if (kind === 'Pod') return toPodStatus(status)
  const [, word, replicas = '1', observed] = /^(complete|progressing)(?: (\d+))?(?: of (\d+))?$/.exec(status) ?? []
  if (word === undefined) throw new Error(`the status of a ${kind} cannot be "${status}"`)
  const none = word === 'complete' ? {} : { readyReplicas: 0, availableReplicas: 0 }
  return complete(Number(replicas), { observedGeneration: Number(observed ?? generation), ...none })
}

function toWrite(text: string): ManagedFields {
  const [, apply, manager = '', second, subresource] = /^(Apply )?(\S+)(?: @(\S+))?(?: (\w+))?$/.exec(text) ?? []
  return {
    manager,
    operation: apply ? 'Apply' : 'Update',
    ...(second && { time: iso(Number(second)) }),
    ...(subresource && { subresource }),
  }
}

function metadataOf({
  name,
  writes,
  revision,
  metadata,
}: NamedObject & { readonly name: string }): Partial<ObjectMeta> {
  const annotations = revision !== undefined && { 'deployment.kubernetes.io/revision': `${revision}` }
  return {
    name,
    uid: `${name}-uid`,
    ...(writes && { managedFields: writes.map(toWrite) }),
    ...(annotations && { annotations }),
    ...metadata,
  }
}

/** What an object has, with what it has of the one that it is. */
function whole(name: string, objects: NamedObjects): NamedObject & { readonly name: string } {
  const own = objects[name]
  if (own === undefined) throw new Error(`there is no object "${name}"`)
  if (own.is === undefined) return { ...own, name: own.metadata?.name ?? name }
  const base = whole(own.is, objects)
  const isInWords = typeof own.status === 'string' || typeof base.status === 'string'
  const status = isInWords
    ? (own.status ?? base.status)
    : own.status === null
      ? undefined
      : merge(base.status as object | undefined, own.status as object | undefined)
  const metadata = merge(base.metadata, own.metadata)
  const spec = merge(base.spec, own.spec)
  return {
    ...base,
    ...own,
    name: own.metadata?.name ?? base.name,
    ...(metadata && { metadata }),
    ...(spec && { spec }),
    ...(status !== undefined && { status }),
  }
}

/** An object of the file; `words` is the status of a pod. */
export function toObject(name: string, objects: NamedObjects, words?: PodStatus): KubeObject {
  const named = whole(name, objects)
  const { kind = 'Deployment', owner, template } = named
  const above = typeof owner === 'string' ? toObject(owner, objects) : undefined
  const status = words ?? statusOf(kind, named.status, named.metadata?.generation)
  const metadata = metadataOf(named)
  const made = template && toTemplate(template)
  const spec = nullsUnset({
    ...(made &&
      kind !== 'ControllerRevision' &&
      (kind === 'Pod' ? { containers: made.spec?.containers ?? [] } : { template: made })),
    ...named.spec,
  })
  const parts = { metadata: withoutNulls(metadata), spec, ...(status && { status: withoutNulls(status) }) }
  if (kind === 'ControllerRevision' && above !== undefined)
    return make.revision(above, named.name, named.revisionNumber ?? 1, parts.metadata, made)
  if (kind === 'Pod') return owner === null ? make.barePod(parts) : make.pod(parts, above)
  if (kind === 'ReplicaSet' && owner !== null) return make.replicaSet(parts, above)
  const ownerReferences = owner === null ? [] : above && ownedBy(above)
  const own = { ...parts, metadata: { ...(ownerReferences && { ownerReferences }), ...parts.metadata } }
  const create = {
    DaemonSet: make.daemonSet,
    Deployment: make.deployment,
    Job: make.job,
    ReplicaSet: make.replicaSet,
    Service: make.service,
    StatefulSet: make.statefulSet,
  }[kind] as ((parts: object) => KubeObject) | undefined
  if (create !== undefined) return create(own)
  const place = isClusterScoped(kind) || metadata.namespace === null ? {} : { namespace: 'shop' }
  const custom = { apiVersion: apiVersionOf(kind, objects), kind, ...own, metadata: { ...place, ...own.metadata } }
  const { is, name: _, writes, revision, ...others } = named
  return { ...others, ...custom } as unknown as KubeObject
}
