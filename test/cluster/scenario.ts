import type { ActionRun } from '../support/runner.ts'
import type { ClusterState } from './cluster-states.ts'
import type { ComponentFault } from './component-faults.ts'
import type { Fixture } from './fixture.ts'

/** Events during a rollout, and the outcome that the action must report. */
export interface Scenario {
  /** Words with hyphens; `run.ts NAME` runs the scenario. */
  name: string
  /** For test/reliability/results.md: what happens, and the rollout that it happens to. */
  documented?: { fault: string; rollout: string }
  /** The action's inputs besides `kubeconfig` and `namespace`. */
  inputs: Record<string, string>
  /** Runs before the action starts. */
  setup?(fixture: Fixture): Promise<void>
  /** Further inputs that depend on the objects of `setup`. */
  inputsFrom?(fixture: Fixture): Record<string, string>
  /** Runs while the action waits. */
  during?(fixture: Fixture): Promise<void>
  /** Deletes objects outside of the namespace; also runs after failures. */
  after?(fixture: Fixture): Promise<void>
  /**
   * A fault of a component that all scenarios use: it begins when each scenario with this fault has called
   * `fixture.fault.begins()` or `ends()`. These scenarios run after all others, those of one fault together.
   */
  fault?: ComponentFault
  /** The first minor version of Kubernetes that has what the scenario uses: 34 of 1.34. It is left out on older ones. */
  sinceMinor?: number
  /** The scenario needs a file or a process of the cluster of this machine. */
  needsOwnCluster?: boolean
  /** The major version of Helm that the scenario uses. It is built before the scenarios run. */
  helm?: 3 | 4
  /** The action reaches the API server through `fixture.proxy`. */
  proxied?: boolean
  /** Returns the input `kubeconfig` for the administrator's kubeconfig, after `setup`. */
  kubeconfig?(content: string, fixture: Fixture): string
  expect: {
    /** One outcome, or several that are right. */
    outcome: string | readonly string[]
    /** Absent: any reason. */
    reason?: string
  }
  /** The state from which the outcome follows, unless `during` calls `fixture.markDecided()`. */
  decidedBy?: ClusterState
  /** Maximum time from the decision to the end of the action. Default 15, to tolerate a busy machine. */
  withinSeconds?: number
  /** The resource that `kubectl rollout status` waits for at the same time. */
  kubectl?: string
  /** Why kubectl may still wait when the action is ready. */
  kubectlWaitsBecause?: string
  /** Approximate duration; the longest scenarios start first. */
  takesSeconds: number
  /** The scenario needs little CPU, so it does not count against the parallel limit. */
  isIdle?: boolean
  /** Texts that the log, the summary and the output `message` must contain. */
  contains?: { [part in 'log' | 'summary' | 'message']?: readonly (string | RegExp)[] }
  /** Further checks: returns one sentence for each that fails. */
  check?(run: ActionRun, fixture: Fixture): string[] | Promise<string[]>
}
