import type { KindName } from '../../../cluster/objects.ts'
import type { MilestoneName } from '../../../inputs.ts'
import type { Compiler, Expression, TextExpression } from '../../../plan/expressions.ts'
import type { HealthCheck } from '../../../plan/health-checks.ts'

/** The kinds of one API group, as its operator writes their status. Data: expressions in CEL and names, no code. */
export interface CatalogueGroup {
  /** `argoproj.io`; `*.aws.upbound.io` matches every group with this suffix. */
  readonly group: string
  readonly entries: readonly CatalogueEntry[]
}

/**
 * How the status of a custom resource is read. The expressions are CEL over the object, as in the input
 * `health-checks`: one that reads a missing field is false, and conditions of an older generation are ignored. A status
 * of an older generation is in progress, whatever they return; otherwise `inProgress`, `suspended`, `failed` and
 * `current` decide, in this order. Exceptions: a suspension that the spec alone requests counts with any status; a
 * status without any field that `current` and `failed` read, because another version of the operator wrote it, is
 * judged by the general conventions.
 */
export interface CatalogueEntry {
  /** Of any version of the group. `*` matches every kind of the group that has no entry. */
  readonly kind: string
  /** The address of the source or documentation that the expressions are based on. */
  readonly documentation: string
  /** Its `status.observedGeneration` is not the generation that its status is about. The expressions show what is old. */
  readonly ignoresGeneration?: true
  /** True when the object is ready; `true` for a kind whose status no controller writes, or writes only for some. */
  readonly current: string
  /**
   * True when the operator has given up: it does not try again, or it repeats what only a change of the object corrects. A
   * failure that may end by itself, or by a change of another object, is no reason to fail.
   */
  readonly failed?: string
  /** True when the status is incomplete or old although its generation is current. */
  readonly inProgress?: string
  /** True when the operator does nothing until a user acts. */
  readonly suspended?: string
  /** The command that resumes a suspended object; `{kind}`, `{name}` and `{namespace}` are replaced. */
  readonly resume?: string
  /**
   * True while the object itself states how long it takes, such as a timed pause: the stall clock is stopped. Default:
   * while the condition Reconciling is True.
   */
  readonly stallHold?: string
  /**
   * Texts, or lists of texts: the operator's own sentence about why the object is not ready. The first that is not empty is
   * quoted.
   */
  readonly cause?: readonly string[]
  /** Stages between `observed` and `ready`, in order. A new name is added to `milestoneNames` in `src/inputs.ts`. */
  readonly milestones?: readonly { readonly name: MilestoneName; readonly done: string }[]
  /** Kinds of the objects that it owns, directly or through each other, whose problems explain its own. */
  readonly owns?: readonly KindName[]
  /**
   * It runs pods as a workload does: a proven problem of its own pods fails it, and it awaits the Deployments, StatefulSets
   * and DaemonSets that were written since its spec.
   */
  readonly isWorkload?: true
  /** Its status does not show that its workloads are updated: the Deployments, StatefulSets and DaemonSets of `owns`. */
  readonly awaitsWorkloads?: true
  /**
   * An object in its namespace that must be ready too, because the status shows only that this object exists. `name` is a
   * text.
   */
  readonly awaits?: KindName & { readonly name: string }
  /**
   * An object in its namespace, of one of these kinds, that its status is about. The others are expressions that return a
   * text: its kind and name, and either its generation that the status is about, or the time of the last state and the
   * interval (`1m`) in which the operator compares the object.
   */
  readonly follows?: Record<'kind' | 'name', string> &
    Partial<Record<'generation' | 'since' | 'every', string>> & { readonly kinds: readonly KindName[] }
  /**
   * A text: the value of a label that only the objects of its present revision have, such as a hash of its template. Without
   * it, the objects that were created since the last write of its spec are those of the present revision.
   */
  readonly revision?: string
}

/** An entry for one kind, with compiled expressions. */
export interface OperatorCheck
  extends HealthCheck,
    Pick<CatalogueEntry, 'documentation' | 'ignoresGeneration' | 'resume' | 'owns' | 'isWorkload' | 'awaitsWorkloads'> {
  readonly suspended?: Expression
  readonly stallHold?: Expression
  readonly cause: readonly TextExpression[]
  readonly milestones: readonly { readonly name: MilestoneName; readonly done: Expression }[]
  readonly revision?: TextExpression
  readonly awaits?: KindName & { readonly name: TextExpression }
  readonly follows?: Readonly<Record<'kind' | 'name', TextExpression>> &
    Readonly<Partial<Record<'generation' | 'since' | 'every', TextExpression>>> &
    Pick<NonNullable<CatalogueEntry['follows']>, 'kinds'>
  /** The fields of the status that `current` and `failed` read. */
  readonly statusFields: readonly string[]
}

/** Built-in kinds that many operators own objects of. */
export const pods = { apiVersion: 'v1', kind: 'Pod' }
export const jobs = { apiVersion: 'batch/v1', kind: 'Job' }
export const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' }
export const replicaSets = { apiVersion: 'apps/v1', kind: 'ReplicaSet' }
export const statefulSets = { apiVersion: 'apps/v1', kind: 'StatefulSet' }
export const daemonSets = { apiVersion: 'apps/v1', kind: 'DaemonSet' }

/** A kind that is only configuration: its definition declares a status, which the operator writes rarely or never. */
export function configuration(kind: string, documentation: string): CatalogueEntry {
  return { kind, documentation, current: 'true' }
}

/**
 * Compiles the expressions of an entry.
 * @throws Error if one has invalid syntax
 */
export function compileEntry(
  entry: CatalogueEntry,
  { apiVersion, kind }: KindName,
  { condition, text }: Compiler,
): OperatorCheck {
  const {
    current,
    failed,
    inProgress,
    suspended,
    stallHold,
    cause = [],
    milestones = [],
    revision,
    awaits,
    follows,
  } = entry
  const optional = (source: string | undefined) => (source === undefined ? undefined : condition(source))
  const optionalText = (source: string | undefined) => (source === undefined ? undefined : text(source))
  return {
    ...entry,
    apiVersion,
    kind,
    current: condition(current),
    failed: optional(failed),
    inProgress: optional(inProgress),
    suspended: optional(suspended),
    stallHold: optional(stallHold),
    cause: cause.map(text),
    milestones: milestones.map(({ name, done }) => ({ name, done: condition(done) })),
    revision: optionalText(revision),
    awaits: awaits === undefined ? undefined : { ...awaits, name: text(awaits.name) },
    follows: follows && {
      kinds: follows.kinds,
      kind: text(follows.kind),
      name: text(follows.name),
      generation: optionalText(follows.generation),
      since: optionalText(follows.since),
      every: optionalText(follows.every),
    },
    statusFields: statusFieldsOf(`${current} ${failed}`),
  }
}

function statusFieldsOf(source: string): readonly string[] {
  return [...new Set([...source.matchAll(/\bstatus\.\??(\w+)/g)].flatMap(([, name]) => name ?? []))]
}
