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
  /** Files of the module with its CustomResourceDefinitions, or folders of such files. */
  readonly definitions: readonly string[]
  /** Modules that it requires in another version, by their paths: those that its own go.mod names could not be downloaded. */
  readonly replaced?: Readonly<Record<string, string>>
  /** Another one that must run too, and starts before it. */
  readonly beside?: Operator
  /** Those of their kinds that scenarios create. */
  readonly kinds: readonly string[]
  /** Objects that must exist before it starts, by their API paths. */
  readonly objects?: Readonly<Record<string, KubeObject>>
  /** The environment contains `KUBECONFIG` too. */
  readonly args: (kubeconfig: string) => readonly string[]
  /** Its log contains this once it reconciles. */
  readonly started: RegExp
}

/** A custom resource in one state, under its operator. The name of the scenario begins with the operator's. */
export interface OperatorScenario extends Scenario {
  readonly operator: string
  readonly state: 'healthy' | 'failing' | 'slow' | 'stale' | 'suspended' | 'changed-during'
  /** What happens, in a few words of the table. */
  readonly note: string
  /** A recording of it has the moment of the deciding state: its replay must give the verdict within a second. */
  readonly isRace?: boolean
  /** Why it is not ready, in the words of the object or of the cluster: the report must contain them. */
  readonly cause?: string
}
