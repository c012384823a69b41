import type { Mistake } from '../errors.ts'
import type { Manifest } from './manifests/manifest.ts'
import type { TargetClocks, WaitFor } from './target.ts'

/** One kind with one name or selector, as written by the user, before access to the cluster. */
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
  /** Set for a reference from a manifest: its `apiVersion` and `kind` are exact. */
  readonly manifest?: Manifest
}

/** A line without anything to gate. */
export interface SkippedLine {
  /** The file with the line; absent: the input. */
  readonly file?: string
  readonly line: number
  readonly text: string
  /** `deleted`, `a dry run`. */
  readonly why: string
  /** The server generates the name. A mistake if nothing else is left to gate. */
  readonly hasGeneratedName?: boolean
}

export interface ParsedReferences {
  /** The input or file of the lines. */
  readonly input: string
  /** The name of each line in notices, for arguments of a command line; by default `resources, line 2`. */
  readonly places?: readonly string[]
  readonly references: readonly Reference[]
  /** References with a mistake in their flags, to check their kinds and names too. */
  readonly invalid?: readonly Reference[]
  readonly skipped: readonly SkippedLine[]
  readonly mistakes: readonly Mistake[]
}
