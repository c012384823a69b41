import type { WatchRequest } from '../cluster/feed.ts'
import type { PathStep } from '../cluster/field-paths.ts'
import { groupOf, type ObjectName } from '../cluster/objects.ts'
import type { Mistake, Place } from '../errors.ts'
import type { WantedRevision } from './revision.ts'

/* The types of targets, references and manifests, and the names of targets in texts. */

/** The line of an input or manifest file that names a target. A target from the command line has no source. */
export interface Source {
  /** `resources`, or the path of the manifest relative to the workspace. */
  readonly file: string
  /** The number of the line, counted from 1. */
  readonly line: number
}

/** The user's definition of ready, like `kubectl wait --for`. */
export type WaitFor =
  | { readonly type: 'condition'; readonly condition: string; readonly status: string }
  | { readonly type: 'jsonpath'; readonly path: string; readonly value?: string }
  | { readonly type: 'create' }
  | { readonly type: 'delete' }

/** Time limits of a target, in milliseconds. 0 means no limit. For an absent limit, the limit of the gate applies. */
export interface TargetClocks {
  readonly timeoutMs?: number
  readonly stallTimeoutMs?: number
  readonly milestoneTimeoutsMs?: Readonly<Record<string, number>>
  /** The maximum age of the target's version when the gate starts (`require-change`). */
  readonly requireChangeMs?: number
}

/** Omits undefined limits, so that they do not replace defined limits when objects are spread. */
export function omitUndefinedClocks(clocks: TargetClocks): TargetClocks {
  return Object.fromEntries(Object.entries(clocks).filter(([, value]) => value !== undefined))
}

/** A Helm release and its revisions, the oldest first. */
export interface ReleaseHistory {
  readonly name: string
  readonly namespace: string
  readonly revisions: readonly ReleaseRevision[]
}

/** A revision of a Helm release, read from the labels of its Secret. */
export interface ReleaseRevision {
  readonly number: number
  readonly status: string
  /** When Helm created the revision: a timestamp of the server. */
  readonly createdAt?: string | undefined
}

/** An object in a manifest. Only the fields with a type here are validated. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** The annotations that make an object a hook of Helm or Argo CD, as `annotation=value`. */
export interface Hook {
  readonly annotation: string
  /** The annotation that makes the tool remove the object after success. */
  readonly removal?: string
  /** Set if a deploy does not run the hook, as for a hook of `helm test`. Then the object is no target. */
  readonly isSkipped?: true
}

/** One resource that must become ready. */
export interface Target {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  /** The label selector, if it matched nothing. Then `name` is empty or a Helm release. An empty selector is `--all`. */
  readonly selector?: string
  readonly clocks: TargetClocks
  readonly waitFor?: WaitFor
  readonly source?: Source
  /** The revisions that the operator must have deployed (`--revision`), one for each source. */
  readonly revisions?: readonly WantedRevision[]
  /** The target that deployed this object, such as an Argo CD Application. */
  readonly deployedBy?: ObjectName
  /** What kubectl printed about the object: `unchanged`, `configured`, `created`. */
  readonly applied?: string
  readonly hook?: Hook
  /** The Helm release that selected the object (`helm/web`), if the Secrets of its revisions may be read. */
  readonly release?: ReleaseHistory
  /** The manifest that `await-change` waits for, converted by `comparableManifest`. */
  readonly manifest?: ManifestObject
}

/** Whether a target is ready once its object does not exist (`--for=delete`). */
export function isDeletionAwaited({ waitFor }: Pick<Target, 'waitFor'>): boolean {
  return waitFor?.type === 'delete'
}

/** The name of a target in outputs and reports: `deployment.apps/web`, `pod/web`. */
export function targetId({ apiVersion, kind, name, selector }: NamedTarget): string {
  const group = groupOf(apiVersion)
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}${nameOrSelector(name, selector)}`
}

/** The short name for logs and messages: `deployment/web`. */
export function displayName({ kind, name, selector }: NamedTarget): string {
  return `${kind.toLowerCase()}${nameOrSelector(name, selector)}`
}

function nameOrSelector(name: string, selector: string | undefined): string {
  if (selector === undefined || name !== '') return `/${name}`
  return selector === '' ? ' --all' : ` -l ${selector}`
}

export interface NamedTarget extends Pick<Target, 'apiVersion' | 'kind' | 'namespace' | 'name' | 'selector'> {
  /** The name of the gate, if the reports of several gates are merged. */
  readonly gate?: string
}

export function watchRequestOf({ apiVersion, kind, namespace, name }: Target): WatchRequest {
  return { apiVersion, kind, name, namespace }
}

/** The key of an object. The key omits the API version, so that a target and its live object have the same key. */
export function nameKey({ apiVersion, kind, namespace = '', name }: ObjectName): string {
  return JSON.stringify([groupOf(apiVersion), kind, namespace, name])
}

/** The name of a target in the log, the summary and messages. Renderers must escape this text. */
export interface TargetName {
  /** `deployment/web`, or `deployment.apps/web` if two targets would have the same name. */
  readonly name: string
  /** Set if the targets are in several namespaces. */
  readonly namespace?: string
  /** Set if the targets belong to several gates. */
  readonly gate?: string
}

/** The shortest distinct names of all targets, in their order. */
export function nameTargets(targets: readonly NamedTarget[]): TargetName[] {
  const hasSeveralNamespaces = namespacesOf(targets).length > 1
  const hasSeveralGates = new Set(targets.map(({ gate }) => gate)).size > 1
  const key = (target: NamedTarget) => `${target.gate ?? ''} ${target.namespace ?? ''} ${displayName(target)}`
  const byKey = Map.groupBy(targets, key)
  return targets.map((target) => ({
    name: (byKey.get(key(target))?.length ?? 0) > 1 ? targetId(target) : displayName(target),
    namespace: hasSeveralNamespaces ? target.namespace : undefined,
    gate: hasSeveralGates ? target.gate : undefined,
  }))
}

/** The name with the namespace: `deployment/web in shop`. With several gates, `deployment/web in prod-eu/shop`. */
export function fullName({ name, namespace, gate }: TargetName): string {
  const place = [gate, namespace].filter((each) => each !== undefined).join('/')
  return place === '' ? name : `${name} in ${place}`
}

export function fullNames(targets: readonly NamedTarget[]): string[] {
  return nameTargets(targets).map(fullName)
}

/** The namespaces of the targets, without duplicates. */
export function namespacesOf(targets: readonly Pick<Target, 'namespace'>[]): string[] {
  return [...new Set(targets.flatMap(({ namespace }) => namespace ?? []))]
}

/** A kind with a name, or kinds with a selector, as the user wrote them. The kinds are not yet resolved. */
export interface Reference {
  /** Where the user wrote the reference: a line of an input or file, or a command line argument, which has no line. */
  readonly place: Place
  /** Whether the line begins with `!`: then the objects are no targets, even if other references select them. */
  readonly exclude: boolean
  /** The word for the kind, such as `deploy` or `deployments.v1.apps`. A selector may have several: `deploy,sts`. */
  readonly kind: string
  /** Exactly one of `name` and `selector` is set. */
  readonly name?: string
  /** A label selector; empty for `--all`. */
  readonly selector?: string
  readonly namespace?: string
  readonly clocks: TargetClocks
  readonly waitFor?: WaitFor
  readonly revisions?: readonly WantedRevision[]
  readonly hook?: Hook
  /** What kubectl printed about the object, if the line is kubectl's output. */
  readonly applied?: string
  /** Set if the reference comes from a manifest. The manifest contains the exact `apiVersion` and `kind`. */
  readonly manifest?: Manifest
  /** The annotation of the manifest that defines `waitFor`: `rollout-gate/for=create of deployment/web`. */
  readonly annotation?: string
}

/** A line or object that the gate skips. */
export interface SkippedLine {
  readonly place: Place
  readonly text: string
  /** The reason, such as `deleted` or `a dry run`. */
  readonly why: string
  /** Set if the server generates the object's name. If nothing else is left to gate, this is a mistake. */
  readonly hasGeneratedName?: boolean
  /** The annotation that excludes the object: `rollout-gate/skip of deployment/web`. */
  readonly annotation?: string
}

export interface ParsedReferences {
  readonly references: readonly Reference[]
  /** References with a mistake in their flags. Their kinds and names are checked nevertheless. */
  readonly invalid?: readonly Reference[]
  readonly skipped: readonly SkippedLine[]
  readonly mistakes: readonly Mistake[]
}

/** One object in a manifest file, with the lines of its fields. */
export interface Manifest {
  /** The path relative to the workspace, or absolute outside the workspace. `stdin` for standard input. */
  readonly file: string
  /** The first line of the object, counted from 1. */
  readonly line: number
  readonly object: ManifestObject
  /** The line of a field or, if the field is missing, of its nearest parent. A path step may be `{ name: 'app' }`. */
  readonly lineOf: (path: readonly PathStep[]) => number
}
