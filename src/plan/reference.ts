import type { PathStep } from '../cluster/field-paths.ts'
import { shortName } from '../cluster/objects.ts'
import type { Mistake, Place } from '../errors.ts'
import type { WantedRevision } from './revision.ts'
import type { Hook, ManifestObject, TargetClocks, WaitFor } from './target.ts'

/** One kind with one name or selector, as the user wrote it. Not yet resolved in the cluster. */
export interface Reference {
  /** Line in the input or in the manifest's file, counted from 1. */
  readonly line: number
  /** `!`: excludes its objects from the targets of other references. */
  readonly exclude: boolean
  /** The word for the kind: `deploy`, `Deployment`, `deployments.v1.apps`. */
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
  /** Set if the reference comes from a manifest, which contains the exact `apiVersion` and `kind`. */
  readonly manifest?: Manifest
}

/** A line without anything to gate. */
export interface SkippedLine {
  /** The file that contains the line; absent if an input contains it. */
  readonly file?: string
  readonly line: number
  readonly text: string
  /** For example `deleted` or `a dry run`. */
  readonly why: string
  /** The server generates the object's name. The line is a mistake if nothing else is left to gate. */
  readonly hasGeneratedName?: boolean
  /** Set if an annotation excludes the object; see `describeAnnotation`. */
  readonly annotation?: string
}

export interface ParsedReferences {
  /** The input or file that contains the lines. */
  readonly input: string
  /** Where the user wrote each line, if the lines are not those of the input: arguments of the command line. */
  readonly places?: readonly Place[]
  readonly references: readonly Reference[]
  /** References with a mistake in their flags. They are kept so that their kinds and names are checked too. */
  readonly invalid?: readonly Reference[]
  readonly skipped: readonly SkippedLine[]
  /** Messages about lines that have no mistake, each with its place. */
  readonly notices?: readonly string[]
  readonly mistakes: readonly Mistake[]
}

/** Where the user wrote a line of references. */
export function placeOf({ input, places }: Pick<ParsedReferences, 'input' | 'places'>, line: number): Place {
  return places?.[line - 1] ?? { input, line }
}

/** One object of a manifest file, with the lines of its fields. */
export interface Manifest {
  /** Relative to the workspace, with slashes; absolute outside the workspace; `stdin` for standard input. */
  readonly file: string
  /** First line of the object, counted from 1. */
  readonly line: number
  readonly object: ManifestObject
  /**
   * The line of a field: `['spec', 'template', 'spec', 'containers', { name: 'app' }, 'image']`. For a missing field, the
   * line of its nearest parent.
   */
  readonly lineOf: (path: readonly PathStep[]) => number
}

/** The message for an object in two manifests. */
export function duplicateOf(manifest: Manifest, earlier: Manifest): string {
  const place = earlier.file === manifest.file ? `line ${earlier.line}` : `${earlier.file}, line ${earlier.line}`
  return `${shortName(manifest.object)} is in ${place} too. Keep one of them, or exclude a file with "!".`
}

export const annotationPrefix = 'rollout-gate/'

/**
 * An annotation that changed what is gated: `rollout-gate/for=create of deployment/web`.
 * @param object the object that has it
 */
export function describeAnnotation(name: 'skip' | 'for', object: ManifestObject): string {
  const value = name === 'for' ? `=${annotationOf(name, object)}` : ''
  return `${annotationPrefix}${name}${value} of ${shortName(object)}`
}

export function annotationOf(name: string, { metadata }: ManifestObject): unknown {
  const annotations = (metadata['annotations'] ?? {}) as Readonly<Record<string, unknown>>
  return annotations[`${annotationPrefix}${name}`]
}
