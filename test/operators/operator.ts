import type { KubeObject } from '../cluster/api.ts'
import type { Scenario } from '../cluster/scenario.ts'

/** A real controller that runs as a process beside the test cluster. */
export interface Operator {
  /** Words with hyphens. */
  readonly name: string
  /** `path@version` of its Go module. */
  readonly module: string
  /** The folder of the program in the module. */
  readonly program: string
  /** Files that are added to the module or replaced in it before the build: content by path. */
  readonly files?: Readonly<Record<string, string>>
  /** Files with CustomResourceDefinitions, or folders of such files: in the module, or `path@version/path` of another. */
  readonly definitions: readonly string[]
  /** Those of their kinds that scenarios create. */
  readonly kinds: readonly string[]
  /** Objects that it needs before it starts, by API path. */
  readonly objects?: Readonly<Record<string, KubeObject>>
  /** Writes files into the folder of its process before it starts. */
  readonly prepare?: (folder: string) => Promise<void>
  readonly args: (place: Place) => readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Its log contains this once it reconciles. */
  readonly started: RegExp
}

/** What an operator's process is given. */
export interface Place {
  readonly kubeconfig: string
  /** An empty folder, which is removed with the cluster. */
  readonly folder: string
  /** A free port. */
  readonly port: number
}

/** The states that are played for every operator that has them, in the order of the table. */
export const states = ['healthy', 'failing', 'slow', 'stale', 'suspended', 'changed-during'] as const

/** A custom resource in one state, under its operator. The name of the scenario begins with the operator's. */
export interface OperatorScenario extends Scenario {
  readonly operator: string
  readonly state: (typeof states)[number]
  /** What happens, in a few words of the table. */
  readonly note: string
  /** Why it is not ready, in the words of the object or of the cluster: the report must contain them. */
  readonly cause?: string
}
