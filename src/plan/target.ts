import type { WatchRequest } from '../cluster/feed.ts'
import { groupOf } from '../cluster/store.ts'
import type { ManifestObject } from './manifests/manifest.ts'

/** Where the user named a target: a line of an input, or of a manifest file. */
export interface Source {
  /** `resources` or the manifest's path, relative to the workspace. */
  readonly file: string
  /** Counted from 1. */
  readonly line: number
}

/** The user's own definition of ready, as `kubectl wait --for` takes it. */
export type WaitFor =
  | { readonly type: 'condition'; readonly condition: string; readonly status: string }
  | { readonly type: 'jsonpath'; readonly path: string; readonly value?: string }
  | { readonly type: 'create' }
  | { readonly type: 'delete' }

/** Clocks in milliseconds; 0 is off. The gate's own clock applies where one is absent. */
export interface TargetClocks {
  readonly timeoutMs?: number
  readonly stallTimeoutMs?: number
  readonly milestoneTimeoutsMs?: Readonly<Record<string, number>>
}

/** Omits undefined clocks, so that a spread over others keeps these. */
export function definedClocks(clocks: TargetClocks): TargetClocks {
  return Object.fromEntries(Object.entries(clocks).filter(([, value]) => value !== undefined))
}

/** One resource being gated. */
export interface Target {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  /**
   * Set, with an empty `name`, when the selector matched nothing: the target is `not-found`. Empty for `--all`.
   */
  readonly selector?: string
  readonly clocks: TargetClocks
  readonly waitFor?: WaitFor
  readonly source?: Source
  /** What `await-change` waits for: the manifest as `normalizeManifest` returns it, redacted as live objects are. */
  readonly manifest?: ManifestObject
}

/** The contract's form of a target's name (DESIGN §4): `deployment.apps/web`, `pod/web`. */
export function targetId({ apiVersion, kind, name, selector }: NamedTarget): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.split('/')[0]}` : ''
  return `${kind.toLowerCase()}${group}${nameOrSelector(name, selector)}`
}

/** The short form for people: `deployment/web`. */
export function displayName({ kind, name, selector }: NamedTarget): string {
  return `${kind.toLowerCase()}${nameOrSelector(name, selector)}`
}

function nameOrSelector(name: string, selector: string | undefined): string {
  if (selector === undefined) return `/${name}`
  return selector === '' ? ' --all' : ` -l ${selector}`
}

type NamedTarget = Pick<Target, 'apiVersion' | 'kind' | 'name' | 'selector'>

/** The watch of the target itself. */
export function targetWatch({ apiVersion, kind, namespace, name }: Target): WatchRequest {
  return { apiVersion, kind, name, namespace }
}

/** The same key for a live object and its target, whatever their API versions are. */
export function nameKey({
  apiVersion,
  kind,
  namespace = '',
  name,
}: Pick<Target, 'apiVersion' | 'kind' | 'name'> & { readonly namespace?: string | undefined }): string {
  return JSON.stringify([groupOf(apiVersion), kind, namespace, name])
}

/** A target's name in the log, the summary and messages. Not yet escaped. */
export interface TargetName {
  /** `deployment/web`; with the group when two targets would have the same name. */
  readonly name: string
  /** Set when the targets are in several namespaces. */
  readonly namespace?: string
}

/** The shortest distinct names of all targets, in their order. */
export function nameTargets(targets: readonly Target[]): TargetName[] {
  const several = namespacesOf(targets).length > 1
  const key = (target: Target) => `${target.namespace ?? ''} ${displayName(target)}`
  const uses = new Map<string, number>()
  for (const target of targets) uses.set(key(target), (uses.get(key(target)) ?? 0) + 1)
  return targets.map((target) => ({
    name: (uses.get(key(target)) ?? 0) > 1 ? targetId(target) : displayName(target),
    namespace: several ? target.namespace : undefined,
  }))
}

/** A name as references are written: `deployment/web -n shop`. */
export function fullName({ name, namespace }: TargetName): string {
  return namespace === undefined ? name : `${name} -n ${namespace}`
}

/** The distinct namespaces of the targets, in their order. */
export function namespacesOf(targets: readonly Target[]): string[] {
  return [...new Set(targets.flatMap(({ namespace }) => namespace ?? []))]
}
