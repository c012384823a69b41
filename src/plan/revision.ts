import type { KindName } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import { type AddMistake, quote } from '../errors.ts'

/** A revision that an operator must have deployed (`--revision`). */
export interface WantedRevision {
  /** The source that it is of: its name, its position as Argo CD counts it (from 1), or its chart. Absent: any source. */
  readonly source?: string
  /** A commit, a tag, the version of a chart, or a digest, as the user wrote it. */
  readonly revision: string
  /** The commits of the checkout before and after it; absent if the checkout does not contain it. */
  readonly older?: readonly string[]
  readonly newer?: readonly string[]
}

/** The kinds that deploy revisions of a source, by group and kind. */
const revisionKinds: ReadonlySet<string> = new Set([
  'argoproj.io/Application',
  'kustomize.toolkit.fluxcd.io/Kustomization',
  'helm.toolkit.fluxcd.io/HelmRelease',
])

/** Whether an operator deploys revisions by objects of this kind. */
export function takesRevision({ apiVersion, kind }: KindName): boolean {
  return revisionKinds.has(`${groupOf(apiVersion)}/${kind}`)
}

/** Names that move with each commit: a gate at such a revision would accept the commit before. */
const movingNames = /^(?:HEAD|main|master|develop|trunk|latest|refs\/heads\/.*)$/

/** Reads the value of `--revision`: `REV`, or `SOURCE=REV`. */
export function parseRevision(text: string, addMistake: AddMistake): WantedRevision | undefined {
  const [, source, named] = /^([\w.-]+)=(.*)$/.exec(text) ?? []
  const revision = named ?? text
  if (revision.trim() === '') addMistake(`${quote(text)} names no revision. Write ${source ?? 'SOURCE'}=REVISION.`)
  else if (movingNames.test(revision))
    addMistake(
      `${quote(revision)} names whatever is newest, also the commit before. Write the commit, such as \${{ github.sha }}.`,
    )
  else return source === undefined ? { revision } : { source, revision }
  return undefined
}

/** The parts of a revision: `main@sha1:a1b2c3d`, `main/a1b2c3d`, `a1b2c3d`, `1.4.2+0123456789ab`, `v1.4.2@sha256:…`. */
interface RevisionParts {
  /** The branch, the tag or the version. */
  readonly name: string
  /** A hash in hexadecimal digits, in lower case; empty if there is none. */
  readonly digest: string
}

/** The algorithm and the digits of a digest. A commit may be shortened to 7 digits. */
const digestPattern = /^(?:sha\d+:)?([0-9a-f]{7,128})$/i

/**
 * What Flux appends to the version of a chart: 12 digits of its digest or commit, of a chart with values files also a generation
 * (https://github.com/fluxcd/source-controller/blob/v1.9.6/internal/controller/helmchart_controller.go).
 */
const appendix = /^(.+)\+(?:([0-9a-f]{12})(?:\.\d+)?|\d+)$/

function partsOf(revision: string): RevisionParts {
  const [, name = '', rest = revision] =
    /^(.*)@([^@]*)$/.exec(revision) ?? /^(.+)\/([0-9a-f]{7,64})$/.exec(revision) ?? appendix.exec(revision) ?? []
  const digest = digestPattern.exec(rest)?.[1]?.toLowerCase() ?? ''
  return { name: (digest === '' ? revision : name).replace(/^refs\/(?:heads|tags)\//, ''), digest }
}

/** The commit or tag of a revision, as git names it. */
export function gitNameOf(revision: string): string {
  return partsOf(revision).digest || revision
}

/** Whether a revision contains a commit or a digest, and thus names one content. */
export function hasDigest(revision: string): boolean {
  return partsOf(revision).digest !== ''
}

/**
 * Whether a revision that an operator reports is the wanted one. A commit or digest may be shortened; what stands before it,
 * as in `main@sha1:…`, does not count. A tag or version must be equal, without what Flux appends to it.
 */
export function matchesRevision(wanted: string, reported: string): boolean {
  if (wanted === reported) return true
  const [want, report] = [partsOf(wanted), partsOf(reported)]
  const [, version, digits] = appendix.exec(reported) ?? []
  // Flux writes a version without its `v` when it appends something.
  if (want.digest === '')
    return want.name !== '' && [report.name, version, version && `v${version}`].includes(want.name)
  if (report.digest.startsWith(want.digest) || (digits && want.digest.startsWith(digits))) return true
  // A tag may look like a commit.
  return wanted === report.name
}

/** A revision for people: `a1b2c3d (main)`, `a1b2c3d`, `1.4.2`. Raw text: renderers escape it. */
export function shortRevision(revision: string): string {
  const { name, digest } = partsOf(revision)
  if (digest === '' || appendix.test(revision)) return name
  return name === '' ? digest.slice(0, 7) : `${digest.slice(0, 7)} (${name})`
}

/** Whether a reported revision is older or newer than the wanted one, by the checkout; undefined if unknown. */
export function ageByCheckout(
  { older = [], newer = [] }: WantedRevision,
  reported: string,
): 'older' | 'newer' | undefined {
  const { digest } = partsOf(reported)
  const has = (commits: readonly string[]) => digest !== '' && commits.some((commit) => commit.startsWith(digest))
  if (has(older)) return 'older'
  return has(newer) ? 'newer' : undefined
}

const versionPattern = /^v?(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+.*)?$/

/** Whether a version is lower than another one; undefined unless both are versions like `1.4.2` or `1.4.2@sha256:…`. */
export function isLowerVersion(one: string, other: string): boolean | undefined {
  const [a, b] = [versionPattern.exec(partsOf(one).name), versionPattern.exec(partsOf(other).name)]
  if (a === null || b === null) return undefined
  for (const part of [1, 2, 3]) {
    const difference = Number(a[part]) - Number(b[part])
    if (difference !== 0) return difference < 0
  }
  // A pre-release comes before its release; the order of two pre-releases is not read.
  return (a[4] === undefined) === (b[4] === undefined) ? undefined : a[4] !== undefined
}
