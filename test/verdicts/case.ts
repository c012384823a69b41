import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { covers } from '../../src/cluster/store.ts'
import { Gate } from '../../src/gate/gate.ts'
import { loadCatalogue } from '../../src/lifecycle/custom/catalogue.ts'
import type { Target } from '../../src/plan/target.ts'
import { createSettings } from '../kit/gate.ts'

/** One line of the verdict cases; the README beside them describes the format. */
export interface VerdictCase {
  readonly id: string
  readonly apiVersion: string
  readonly kind: string
  readonly expected: string
  readonly tier: 'consensus' | 'majority' | 'disputed' | 'single' | 'no-verdict'
  readonly note: string
  readonly object?: KubeObject
  readonly events?: readonly { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }[]
  readonly target?: {
    readonly apiVersion: string
    readonly kind: string
    readonly namespace?: string
    readonly name: string
  }
  readonly targets?: readonly {
    readonly apiVersion: string
    readonly kind: string
    readonly namespace?: string
    readonly name: string
  }[]
  readonly objects?: readonly KubeObject[]
  readonly related?: readonly KubeObject[]
  readonly alsoAcceptable?: readonly string[]
  readonly apiDefaults?: object
  readonly verdicts?: Readonly<Record<string, string>>
}

/** The gate's verdict for a case in the terms of the cases, and its reason. */
export interface Judged {
  readonly got: string
  readonly reason: string
}

/** Judges a case as a replayed recording: all objects are observed at once, then time advances. */
export async function judge(verdictCase: VerdictCase): Promise<Judged> {
  const targets = targetsOf(verdictCase)
  const observations = observationsOf(verdictCase, targets)
  const startedAt = latestTime(verdictCase) + 60_000
  const synced = observations.filter((each) => each.type === 'SYNCED')
  const catalogue = await loadCatalogue(targets)
  const gate = new Gate(targets, createSettings({ startedAt, catalogue }), (request) =>
    synced.some((known) => covers(known, request)),
  )
  observations.forEach((observation, index) => {
    gate.handle({ ...observation, at: startedAt + index } as FeedEvent)
  })
  for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next.at)
  const { outcome = '', reason = '' } = gate.verdict ?? {}
  return { got: verdictOf(outcome, reason), reason }
}

function verdictOf(outcome: string, reason: string): string {
  if (reason === 'suspended' || reason === 'paused') return 'suspended'
  if (reason === 'not-found') return 'missing'
  if (reason === 'terminating') return 'terminating'
  return outcome === 'stalled' || outcome === 'timed-out' ? 'progressing' : outcome
}

function targetsOf({ object, target, targets }: VerdictCase): readonly Target[] {
  const named = targets ?? [target ?? nameOf(object as KubeObject)]
  return named.map((each) => ({ ...each, clocks: {} }))
}

function nameOf({ apiVersion, kind, metadata }: KubeObject) {
  return { apiVersion, kind, name: metadata.name, namespace: metadata.namespace ?? 'default' }
}

/** First the lists with their SYNCED events, then the events of the case. */
function observationsOf(verdictCase: VerdictCase, targets: readonly Target[]): readonly Observation[] {
  const { object, objects, events: watched = [], related = [], apiDefaults } = verdictCase
  const events = watched.map((event) => ({ ...event, object: complete(event.object) }))
  const listed = [...(objects ?? (object === undefined ? [] : [merge(object, apiDefaults)])), ...related].map(complete)
  const kinds = new Map(
    [...targets, ...listed, ...events.map((event) => event.object)].map(({ apiVersion, kind }) => [
      `${apiVersion}/${kind}`,
      { apiVersion, kind },
    ]),
  )
  return [
    ...related.flatMap(discovery),
    ...listed.map((each) => ({ type: 'ADDED' as const, object: each })),
    ...[...kinds.values()].map((kind) => ({ type: 'SYNCED' as const, ...kind })),
    ...events.map(({ type, object: seen }) => ({ type, object: seen })),
  ]
}

/** The discovery of a kind, from the CustomResourceDefinition of a case. */
function discovery({ kind, spec }: KubeObject): readonly Observation[] {
  if (kind !== 'CustomResourceDefinition') return []
  const { group, names, scope, versions = [], ...old } = spec as DefinitionSpec
  const resources = versions.map(({ name, subresources = old.subresources }) => ({
    group,
    version: name,
    kind: names.kind,
    plural: names.plural,
    namespaced: scope === 'Namespaced',
    status: subresources?.status !== undefined,
  }))
  return [{ type: 'DISCOVERY', resources }]
}

interface DefinitionSpec {
  readonly group: string
  readonly scope: string
  readonly names: { readonly kind: string; readonly plural: string }
  readonly subresources?: { readonly status?: object }
  readonly versions?: readonly { readonly name: string; readonly subresources?: { readonly status?: object } }[]
}

/** Adds the namespace `default`, and converts Endpoints to an EndpointSlice. */
function complete(object: KubeObject): KubeObject {
  const { metadata } = object
  const namespaced = { ...object, metadata: { namespace: 'default', ...metadata } }
  return object.kind === 'Endpoints' ? toSlice(namespaced) : namespaced
}

function toSlice(
  endpoints: KubeObject & { subsets?: { addresses?: object[]; notReadyAddresses?: object[]; ports?: object[] }[] },
): KubeObject {
  const { name, namespace } = endpoints.metadata
  const subsets = endpoints.subsets ?? []
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-1`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { 'kubernetes.io/service-name': name },
    },
    ports: subsets.flatMap(({ ports = [] }) => ports),
    endpoints: subsets.flatMap(({ addresses = [], notReadyAddresses = [] }) => [
      ...addresses.map((address) => ({ ...address, conditions: { ready: true } })),
      ...notReadyAddresses.map((address) => ({ ...address, conditions: { ready: false } })),
    ]),
  }
  return slice
}

function merge<T>(value: T, patch: unknown): T {
  if (typeof patch !== 'object' || patch === null || typeof value !== 'object' || value === null)
    return (patch as T) ?? value
  const merged: Record<string, unknown> = { ...(value as object) }
  for (const [key, item] of Object.entries(patch)) merged[key] = key in merged ? merge(merged[key], item) : item
  return merged as T
}

/** The latest timestamp of a case; the gate starts a minute later. */
function latestTime(verdictCase: VerdictCase): number {
  const times = JSON.stringify(verdictCase).match(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g) ?? []
  return Math.max(Date.UTC(2025, 0, 1), ...times.map((time) => Date.parse(time)))
}
