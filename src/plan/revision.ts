import type { KindName } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import { type AddMistake, quote } from '../errors.ts'

/* Parses and compares revisions that GitOps operators deploy (`--revision`). */

/** A revision that an operator must have deployed. */
export interface WantedRevision {
  /** The source of the revision: its name, its chart, or its position from 1, as in Argo CD. Absent: any source. */
  readonly source?: string
  /** A commit, tag, chart version or digest, as the user wrote it. */
  readonly revision: string
  /** The commits before the revision (`older`) and after it (`newer`). Absent if the checkout lacks the revision. */
  readonly older?: readonly string[]
  readonly newer?: readonly string[]
}

/** The kinds of GitOps operators that deploy revisions, as group and kind. */
const revisionKinds: ReadonlySet<string> = new Set([
  'argoproj.io/Application',
  'kustomize.toolkit.fluxcd.io/Kustomization',
  'helm.toolkit.fluxcd.io/HelmRelease',
])

/** Whether `--revision` applies to objects of this kind. */
export function isRevisionKind({ apiVersion, kind }: KindName): boolean {
  return revisionKinds.has(`${groupOf(apiVersion)}/${kind}`)
}

/** Matches names that move to each new commit. An operator may report such a name while it deploys an older commit. */
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

/** The parts of a revision such as `main@sha1:a1b2c3d`, `main/a1b2c3d`, `a1b2c3d` or `1.4.2+0123456789ab`. */
interface RevisionParts {
  /** The branch, the tag or the version. */
  readonly name: string
  /** The hexadecimal digits of the commit or digest, in lower case. Empty without a commit or digest. */
  readonly hash: string
}

/** Matches a commit, or a digest with its algorithm. A commit may be shortened to 7 digits. */
const hashPattern = /^(?:sha\d+:)?([0-9a-f]{7,128})$/i

/**
 * Matches a chart version with the suffix that Flux appends: 12 digits of the digest or commit, and a generation if
 * there are values files
 * (https://github.com/fluxcd/source-controller/blob/v1.9.6/internal/controller/helmchart_controller.go).
 */
const fluxSuffix = /^(.+)\+(?:([0-9a-f]{12})(?:\.\d+)?|\d+)$/

function splitRevision(revision: string): RevisionParts {
  const [, name = '', rest = revision] =
    /^(.*)@([^@]*)$/.exec(revision) ?? /^(.+)\/([0-9a-f]{7,64})$/.exec(revision) ?? fluxSuffix.exec(revision) ?? []
  const hash = hashPattern.exec(rest)?.[1]?.toLowerCase() ?? ''
  return { name: (hash === '' ? revision : name).replace(/^refs\/(?:heads|tags)\//, ''), hash }
}

/** The name of a revision for git: `a1b2c3d` for `main@sha1:a1b2c3d`. Without a commit, the whole revision. */
export function gitNameOf(revision: string): string {
  return splitRevision(revision).hash || revision
}

/** Whether a revision contains a commit or digest, which always stands for the same content. */
export function hasHash(revision: string): boolean {
  return splitRevision(revision).hash !== ''
}

/**
 * Whether an operator reports the wanted revision. A commit or digest may be shortened, and a branch or tag before it
 * is ignored (`main@sha1:…`). A tag or version must be equal, but digits that Flux appends are ignored.
 */
export function isWantedRevision(wanted: string, reported: string): boolean {
  if (wanted === reported) return true
  const [want, report] = [splitRevision(wanted), splitRevision(reported)]
  const [, version, digits] = fluxSuffix.exec(reported) ?? []
  // If Flux appends digits, Flux also removes the `v` from the version.
  if (want.hash === '') return want.name !== '' && [report.name, version, version && `v${version}`].includes(want.name)
  if (report.hash.startsWith(want.hash) || (digits && want.hash.startsWith(digits))) return true
  // A tag of hexadecimal digits looks like a commit.
  return wanted === report.name
}

/** A revision as short text: `a1b2c3d (main)`, `a1b2c3d` or `1.4.2`. Renderers must escape this text. */
export function shortRevision(revision: string): string {
  const { name, hash } = splitRevision(revision)
  if (hash === '' || fluxSuffix.test(revision)) return name
  return name === '' ? hash.slice(0, 7) : `${hash.slice(0, 7)} (${name})`
}

/** Whether a reported commit is older or newer than the wanted revision; undefined if the checkout contains neither. */
export function ageByCheckout(
  { older = [], newer = [] }: WantedRevision,
  reported: string,
): 'older' | 'newer' | undefined {
  const { hash } = splitRevision(reported)
  const includesCommit = (commits: readonly string[]) =>
    hash !== '' && commits.some((commit) => commit.startsWith(hash))
  if (includesCommit(older)) return 'older'
  return includesCommit(newer) ? 'newer' : undefined
}

const versionPattern = /^v?(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+.*)?$/

/** Whether version `one` is lower than version `other`; undefined if one of them is not a version like `1.4.2`. */
export function isLowerVersion(one: string, other: string): boolean | undefined {
  const [a, b] = [versionPattern.exec(splitRevision(one).name), versionPattern.exec(splitRevision(other).name)]
  if (a === null || b === null) return undefined
  for (const part of [1, 2, 3]) {
    const difference = Number(a[part]) - Number(b[part])
    if (difference !== 0) return difference < 0
  }
  // A pre-release is lower than its release. Two pre-releases are not compared.
  return (a[4] === undefined) === (b[4] === undefined) ? undefined : a[4] !== undefined
}
