import { type Fields, isObject, type ObjectName } from '../../cluster/objects.ts'
import { hasHash, isWantedRevision, shortRevision, type WantedRevision } from '../../plan/revision.ts'

/** The revision of one source, in every form that its operator reports. */
interface SourceRevision {
  /** The name, position or chart by which the user may name the source. */
  readonly names: readonly string[]
  /** First a commit, a version or a digest; then other names of it, such as the tag that it was resolved from. */
  readonly revisions: readonly string[]
}

/** What an operator deployed, or tries to deploy, at one time. */
export interface Version {
  readonly sources: readonly SourceRevision[]
  /** When it was deployed last. */
  readonly since?: string | undefined
  /** When it was deployed first. */
  readonly first?: string | undefined
  /** The digest of its objects. */
  readonly content?: string | undefined
}

/** The latest attempt to deploy a version. */
export interface Attempt {
  readonly version: Version
  /** `begun`: the status shows only the version of the attempt. `retried`: it failed, and the operator tries again. */
  readonly state: 'begun' | 'running' | 'retried' | 'failed' | 'succeeded'
  readonly message: string
  /** Since when it has failed. */
  readonly since?: string | undefined
  /** The objects that it has already applied in this cluster. */
  readonly applied: readonly ObjectName[]
  /** The Jobs of its hooks that run or have failed; where `objects` is `elsewhere`, they are in the other cluster. */
  readonly hookJobs: readonly (ObjectName & { readonly hasFailed: boolean })[]
}

/** What the object of a GitOps operator reports about the revisions that it deploys. */
export interface RevisionReport {
  readonly operator: 'Argo CD' | 'Flux'
  /** How often the operator looks for a new revision, in milliseconds; undefined if its source decides it. */
  readonly intervalMs?: number
  /** How long a failure must persist, in milliseconds. */
  readonly failureMs: number
  /** See `KnownRevision.wanted`. */
  readonly wanted: readonly WantedRevision[]
  /**
   * The version that is deployed, by the last comparison or reconciliation, then others with the same content; empty if
   * none is.
   */
  readonly deployed: readonly Version[]
  /** A text that is the same for all versions with the content that is deployed; undefined if unknown. */
  readonly content: string | undefined
  /** Nothing is under way that may change `deployed`. */
  readonly isSettled: boolean
  /** The report is about the present spec, which names what is deployed next. */
  readonly isCurrent: boolean
  readonly attempt: Attempt | undefined
  /** What the operator deploys next by itself; undefined if it deploys nothing by itself. */
  readonly next: Version | undefined
  /** What was deployed, the oldest first. */
  readonly history: readonly Version[]
  /** Why the operator deploys nothing, in its own words. */
  readonly complaint: string | undefined
  /** The objects that it has deployed, or their labels if it lists none; `elsewhere`: they are in another cluster. */
  readonly objects: readonly ObjectName[] | LabelledObjects | 'elsewhere'
  /** What it deployed is healthy, but its status is of the previous generation, so its rule does not find it ready. */
  readonly isHealthy?: boolean
}

/** The objects with these labels in a namespace. */
interface LabelledObjects {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
}

export const toFields = (value: unknown): Fields => (isObject(value) ? value : {})
export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
export const nonEmptyTexts = (...values: readonly unknown[]): readonly string[] =>
  values.flatMap((value) => nonEmptyText(value) ?? [])

/** Whether a version has each wanted revision, in the source that the user named or in any. */
export function hasRevisions({ sources }: Version, wanted: readonly WantedRevision[]): boolean {
  return wanted.every(({ source, revision }) =>
    sources.some(
      ({ names, revisions }) =>
        (source === undefined || names.includes(source)) && revisions.some((each) => isWantedRevision(revision, each)),
    ),
  )
}

/** Whether two versions have the same commits or digests: a tag, or the version of a chart, may be pushed again. */
export function isSameVersion(one: Version, other: Version): boolean {
  return (
    one.sources.length === other.sources.length &&
    one.sources.every(({ revisions }, index) => {
      const revision = revisions.find(hasHash) ?? revisions[0] ?? ''
      return other.sources[index]?.revisions.some((each) => isWantedRevision(revision, each))
    })
  )
}

/** A version in messages: `a1b2c3d (main)`; of an OCI artifact also the commit; for several sources one of each. */
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
