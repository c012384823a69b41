import type { ActionRun } from './action.ts'
import type { Fact } from './facts.ts'
import type { Stage } from './stage.ts'

/** One thing that can happen to a rollout, and what the action has to say about it. */
export interface Scenario {
  /** In words, with hyphens; `run.ts NAME` picks it. */
  name: string
  /** The action's inputs besides `kubeconfig` and `namespace`. */
  inputs: Record<string, string>
  /** Makes the state that the action finds. */
  setup?(stage: Stage): Promise<void>
  /** Further inputs, from what `setup` has made. */
  inputsFrom?(stage: Stage): Record<string, string>
  /** What happens while the action waits. */
  during?(stage: Stage): Promise<void>
  /** Takes away what does not go with the namespace, however it went. */
  after?(stage: Stage): Promise<void>
  /** The action reaches the API server through `stage.proxy`. */
  proxied?: boolean
  /** The input `kubeconfig`, made from the administrator's after `setup`. */
  kubeconfig?(content: string, stage: Stage): string
  expect: {
    outcome: string
    /** Left out where any will do. */
    reason?: string
  }
  /** When the API shows what the outcome follows from, unless `during` calls `stage.decide()`. */
  decidedBy?: Fact
  /** How much later the action may end, 15 s unless said otherwise: the table shows what it took, a busy machine must not fail it. */
  withinSeconds?: number
  /** What `kubectl rollout status` is asked in parallel. */
  kubectl?: string
  /** Why kubectl waits on where the action is right to be ready. */
  kubectlWaitsBecause?: string
  /** Roughly how long it takes, so that the longest can start first. */
  takesSeconds: number
  /** Neither the action nor the cluster has much to do in it, so it takes no place from the others. */
  isIdle?: boolean
  /** Further demands: one sentence for each that is not met. */
  check?(run: ActionRun, stage: Stage): string[] | Promise<string[]>
}
