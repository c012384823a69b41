import type { Mistake } from '../errors.ts'
import type { Manifest } from './manifests/manifest.ts'
import type { TargetClocks, WaitFor } from './target.ts'

/** One kind with one name or selector, as the user wrote it. Nothing is known of the cluster yet. */
export interface Reference {
  /** Line within the input, or within the manifest's file; counted from 1. */
  readonly line: number
  /** `!`: what this names is no target, even when another reference names it. */
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

/** A line that names nothing to gate. */
export interface SkippedLine {
  /** The file with the line, where that is not the input itself. */
  readonly file?: string
  readonly line: number
  readonly text: string
  /** Why: `deleted`, `dry run`. */
  readonly why: string
  /** The server generates the name. When nothing else is left to gate, that is a mistake. */
  readonly hasGeneratedName?: boolean
}

export interface ParsedReferences {
  /** The input or file that holds the lines. */
  readonly input: string
  /** The place of each line for notices, where that is not `resources, line 2`: arguments of a command line. */
  readonly places?: readonly string[]
  readonly references: readonly Reference[]
  /** References with a mistake in their flags. Nothing is gated then, but their kinds and names are checked too. */
  readonly invalid?: readonly Reference[]
  readonly skipped: readonly SkippedLine[]
  readonly mistakes: readonly Mistake[]
}
