import { type Fields, isObject, type ObjectName } from '../../cluster/objects.ts'
import { hasHash, isWantedRevision, shortRevision, type WantedRevision } from '../../plan/revision.ts'

/* The common form in which the revisions of Argo CD and Flux objects are read. */

/** The revision of one source, in all forms that the operator reports. */
interface SourceRevision {
  /** The names by which the user may refer to the source: its name, its position or its chart. */
  readonly names: readonly string[]
  /** A commit, a version or a digest. Then other names of the same revision, such as a tag. */
  readonly revisions: readonly string[]
}

/** The revisions of all sources that an operator deploys together. */
export interface Version {
  readonly sources: readonly SourceRevision[]
  /** When the version was deployed last. */
  readonly since?: string | undefined
  /** When the version was deployed first. */
  readonly first?: string | undefined
  /** The digest of the deployed objects. */
  readonly content?: string | undefined
}

/** The latest attempt to deploy a version. */
export interface Attempt {
  readonly version: Version
  /** `begun`: only the version is known. `retried`: the attempt failed, and the operator tries again. */
  readonly state: 'begun' | 'running' | 'retried' | 'failed' | 'succeeded'
  readonly message: string
  /** When the attempt failed. */
  readonly since?: string | undefined
  /** The objects that the attempt has already applied in this cluster. */
  readonly applied: readonly ObjectName[]
  /** The Jobs of hooks that run or have failed. If `objects` is `elsewhere`, these Jobs are in the other cluster. */
  readonly hookJobs: readonly (ObjectName & { readonly hasFailed: boolean })[]
}

/** What an object of Argo CD or Flux reports about its revisions. */
export interface RevisionReport {
  readonly operator: 'Argo CD' | 'Flux'
  /** How often the operator looks for a new revision, in milliseconds; undefined if unknown. */
  readonly intervalMs?: number
  /** How long a failure must persist until it counts, in milliseconds. */
  readonly failureMs: number
  /** See `KnownRevision.wanted`. */
  readonly wanted: readonly WantedRevision[]
  /** The deployed version, then other versions with the same content. Empty if nothing is deployed. */
  readonly deployed: readonly Version[]
  /** Identifies the deployed content: versions with the same content have the same text. Undefined if unknown. */
  readonly content: string | undefined
  /** No operation that may change `deployed` is in progress. */
  readonly isSettled: boolean
  /** The report describes the present spec. */
  readonly isCurrent: boolean
  readonly attempt: Attempt | undefined
  /** The version that the operator will deploy without a user's action; undefined if there is none. */
  readonly next: Version | undefined
  /** The versions that were deployed, the oldest first. */
  readonly history: readonly Version[]
  /** Why the operator deploys nothing, as the operator reports it. */
  readonly complaint: string | undefined
  /** The deployed objects, or their labels if the operator lists none. `elsewhere`: they are in another cluster. */
  readonly objects:
    | readonly ObjectName[]
    | { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }
    | 'elsewhere'
  /** The deployed objects are healthy, although the status is of the previous generation (a suspended Flux object). */
  readonly isHealthy?: boolean
}

export const toFields = (value: unknown): Fields => (isObject(value) ? value : {})
export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
export const nonEmptyTexts = (...values: readonly unknown[]): readonly string[] =>
  values.flatMap((value) => nonEmptyText(value) ?? [])

/** Whether a version contains each wanted revision, in the source that the user named or in any source. */
export function hasRevisions({ sources }: Version, wanted: readonly WantedRevision[]): boolean {
  return wanted.every(({ source, revision }) =>
    sources.some(
      ({ names, revisions }) =>
        (source === undefined || names.includes(source)) && revisions.some((each) => isWantedRevision(revision, each)),
    ),
  )
}

/** Whether two versions have the same commits or digests. Tags and chart versions may be pushed again. */
export function isSameVersion(one: Version, other: Version): boolean {
  return (
    one.sources.length === other.sources.length &&
    one.sources.every(({ revisions }, index) => {
      const revision = revisions.find(hasHash) ?? revisions[0] ?? ''
      return other.sources[index]?.revisions.some((each) => isWantedRevision(revision, each))
    })
  )
}

/** Formats a version for messages: `a1b2c3d (main)`. For an OCI artifact, the commit is added. */
export function describeVersion({ sources }: Version): string {
  return sources
    .map(({ revisions: [revision = '', ...others] }) => {
      const short = shortRevision(revision)
      const origin = others.find((each) => each.includes('@'))
      if (origin !== undefined) return `${short}, made from ${shortRevision(origin)}`
      const branch = others.find((each) => !isWantedRevision(revision, each) && !each.includes(':'))
      return short.includes(' ') || branch === undefined || short === revision ? short : `${short} (${branch})`
    })
    .join(', ')
}
