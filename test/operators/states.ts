import type { KubeObject } from '../cluster/api.ts'
import { type ClusterState, isComplete } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import type { Scenario } from '../cluster/scenario.ts'
import { signalOperator } from './start.ts'

/** Seconds for which the operator is stopped while the gate waits: more than the settle time. */
const stoppedSeconds = 16

/**
 * The steps of a scenario in which the operator is stopped before a change, as a busy or restarting controller is, and
 * continues later: until then the status is about the state before the change.
 *
 * @param after what else to do after the scenario
 */
export function whileStopped(
  operator: string,
  before: (fixture: Fixture) => Promise<void>,
  change: (fixture: Fixture) => Promise<void>,
  after?: (fixture: Fixture) => Promise<void>,
): Required<Pick<Scenario, 'setup' | 'during' | 'after'>> {
  return {
    setup: async (fixture) => {
      await before(fixture)
      signalOperator(operator, 'SIGSTOP')
      await change(fixture)
    },
    during: async (fixture) => {
      await fixture.wait(stoppedSeconds)
      signalOperator(operator, 'SIGCONT')
    },
    after: async (fixture) => {
      signalOperator(operator, 'SIGCONT')
      await after?.(fixture)
    },
  }
}

/**
 * A condition is True for the present generation, by the condition's own `observedGeneration`, else by that of the status.
 */
export function isCurrent(kind: string, name: string, type: string): ClusterState {
  return (informer) => {
    const { metadata, status }: Partial<KubeObject> = informer.get(kind, name) ?? {}
    const condition = status?.conditions?.find((each: { type: string }) => each.type === type)
    const observed = condition?.observedGeneration ?? status?.observedGeneration ?? metadata?.generation
    return condition?.status === 'True' && observed === metadata?.generation ? Date.now() : undefined
  }
}

/** The Deployment has one pod, which is available and runs this tag of the tests' application. */
export function deploymentRuns(name: string, tag: string): ClusterState {
  return (informer) => {
    const found = informer.get('Deployment', name)
    const isRolledOut = isComplete(found) && found?.['status'].replicas === 1
    return isRolledOut && found?.['spec'].template.spec.containers[0].image.endsWith(`:${tag}`) ? Date.now() : undefined
  }
}
