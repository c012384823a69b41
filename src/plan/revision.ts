import type { KindName } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import { type AddMistake, quote } from '../errors.ts'

/** A revision that an operator must have deployed (`--revision`). */
export interface WantedRevision {
  /** The source of the revision: the name, the position as Argo CD counts (from 1), or the chart. Absent: any source. */
  readonly source?: string
  /** A commit, a tag, the version of a chart, or a digest, as the user wrote it. */
  readonly revision: string
  /** The commits before the revision and after it; absent if the checkout does not contain the revision. */
  readonly older?: readonly string[]
  readonly newer?: readonly string[]
}

/** The kinds that deploy revisions of a source, by group and kind. */
const revisionKinds: ReadonlySet<string> = new Set([
  'argoproj.io/Application',
  'kustomize.toolkit.fluxcd.io/Kustomization',
  'helm.toolkit.fluxcd.io/HelmRelease',
])

/** Whether `--revision` applies to objects of this kind: an operator deploys a revision of a source for each. */
export function hasRevisions({ apiVersion, kind }: KindName): boolean {
  return revisionKinds.has(`${groupOf(apiVersion)}/${kind}`)
}

/**
 * Names of branches and tags that move with each commit: an operator may report them for the commit before the wanted
 * one.
 */
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
  /** The hexadecimal digits of the commit or digest, in lower case; empty if there is none. */
  readonly hash: string
}

/** A commit, or the algorithm and digits of a digest. A commit may be shortened to 7 digits. */
const hashPattern = /^(?:sha\d+:)?([0-9a-f]{7,128})$/i

/**
 * What Flux appends to the version of a chart: 12 digits of its digest or commit, and a generation if the chart has
 * values files (https://github.com/fluxcd/source-controller/blob/v1.9.6/internal/controller/helmchart_controller.go).
 */
const fluxSuffix = /^(.+)\+(?:([0-9a-f]{12})(?:\.\d+)?|\d+)$/

function partsOf(revision: string): RevisionParts {
  const [, name = '', rest = revision] =
    /^(.*)@([^@]*)$/.exec(revision) ?? /^(.+)\/([0-9a-f]{7,64})$/.exec(revision) ?? fluxSuffix.exec(revision) ?? []
  const hash = hashPattern.exec(rest)?.[1]?.toLowerCase() ?? ''
  return { name: (hash === '' ? revision : name).replace(/^refs\/(?:heads|tags)\//, ''), hash }
}

/** The name of a revision that git accepts: `a1b2c3d` of `main@sha1:a1b2c3d`; without a commit, the whole revision. */
export function gitNameOf(revision: string): string {
  return partsOf(revision).hash || revision
}

/** Whether a revision contains a commit or a digest, which always names the same content. */
export function hasHash(revision: string): boolean {
  return partsOf(revision).hash !== ''
}

/**
 * Whether a revision that an operator reports is the wanted one. A commit or digest may be shortened, and the text
 * before it does not count, as in `main@sha1:…`. A tag or version must be equal, except for the digits that Flux
 * appends.
 */
export function isWantedRevision(wanted: string, reported: string): boolean {
  if (wanted === reported) return true
  const [want, report] = [partsOf(wanted), partsOf(reported)]
  const [, version, digits] = fluxSuffix.exec(reported) ?? []
  // If Flux appends digits, it writes the version without its `v`.
  if (want.hash === '') return want.name !== '' && [report.name, version, version && `v${version}`].includes(want.name)
  if (report.hash.startsWith(want.hash) || (digits && want.hash.startsWith(digits))) return true
  // A wanted tag may consist of hexadecimal digits, so it looks like a commit.
  return wanted === report.name
}

/** A revision for people: `a1b2c3d (main)`, `a1b2c3d`, `1.4.2`. Raw text: renderers escape it. */
export function shortRevision(revision: string): string {
  const { name, hash } = partsOf(revision)
  if (hash === '' || fluxSuffix.test(revision)) return name
  return name === '' ? hash.slice(0, 7) : `${hash.slice(0, 7)} (${name})`
}

/** Whether a reported commit is older or newer than the wanted one; undefined if the checkout does not show this. */
export function ageByCheckout(
  { older = [], newer = [] }: WantedRevision,
  reported: string,
): 'older' | 'newer' | undefined {
  const { hash } = partsOf(reported)
  const has = (commits: readonly string[]) => hash !== '' && commits.some((commit) => commit.startsWith(hash))
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
  // A pre-release comes before its release; two pre-releases are not compared.
  return (a[4] === undefined) === (b[4] === undefined) ? undefined : a[4] !== undefined
}
