import type { Mistake } from '../errors.ts'
import type { Manifest } from './manifests/manifest.ts'
import type { TargetClocks, WaitFor } from './target.ts'

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

/** A message about a line that has no mistake. */
export interface LineNotice {
  /** The file or input that contains the line; absent for the input of `ParsedReferences`. */
  readonly file?: string
  readonly line: number
  readonly message: string
}

export interface ParsedReferences {
  /** The input or file that contains the lines. */
  readonly input: string
  /** How notices name each line. Set for command-line arguments; by default `resources, line 2`. */
  readonly places?: readonly string[]
  readonly references: readonly Reference[]
  /** References with a mistake in their flags. They are kept so that their kinds and names are checked too. */
  readonly invalid?: readonly Reference[]
  readonly skipped: readonly SkippedLine[]
  readonly notices?: readonly LineNotice[]
  readonly mistakes: readonly Mistake[]
}
