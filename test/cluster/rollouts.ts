import type { KubeObject } from './api.ts'
import {
  type ClusterState,
  containerDied,
  deploymentComplete,
  pullRefused,
  secondsAfterLastStart,
} from './cluster-states.ts'
import { until } from './command.ts'
import type { Fixture } from './fixture.ts'
import { deployment, slowStart, template } from './objects.ts'
import type { Scenario } from './scenario.ts'

/** A rollout of `deployment/web` for scenarios with broken connections or access. */
export interface Rollout {
  name: string
  deployment: KubeObject
  expect: Scenario['expect']
  /** The middle of the rollout: its pods have started or failed once, and the outcome is not decided. */
  isUnderWay: ClusterState
  /** The state from which the outcome follows. */
  decidedBy: ClusterState
  /** Time from `release` to that state. */
  takesSeconds: number
}

/** Fields of a pod's `spec` that prevent scheduling until `release`, even if the action starts slowly. */
export const schedulingGate = { schedulingGates: [{ name: 'tests/hold' }] }

export const healthy: Rollout = {
  name: 'healthy',
  deployment: deployment('web', {}, template('web', { script: slowStart(15) }, schedulingGate)),
  expect: { outcome: 'ready', reason: '' },
  isUnderWay: secondsAfterLastStart(0, 2),
  decidedBy: deploymentComplete('web'),
  takesSeconds: 18,
}

const crashing: Rollout = {
  name: 'crashing',
  deployment: deployment('web', {}, template('web', { script: 'echo "no database" >&2; exit 1' }, schedulingGate)),
  expect: { outcome: 'failed', reason: 'crash-loop' },
  isUnderWay: (informer) => informer.firstDeath,
  decidedBy: containerDied(3),
  takesSeconds: 32,
}

const missingImage: Rollout = {
  name: 'missing-image',
  deployment: deployment('web', {}, template('web', { image: 'v9', imagePullPolicy: 'Always' }, schedulingGate)),
  expect: { outcome: 'failed', reason: 'image-not-found' },
  isUnderWay: pullRefused('not found', 1),
  decidedBy: pullRefused('not found', 2),
  takesSeconds: 18,
}

/** One rollout that becomes ready and two that fail. All start at `release`, and end at least 12 s later. */
export const rollouts: readonly Rollout[] = [healthy, crashing, missingImage]

/** Allows the scheduling of the pods. */
export async function release(fixture: Fixture): Promise<void> {
  const pods = await fixture.until(
    'both pods exist',
    (informer) => informer.all('Pod').length === 2 && informer.all('Pod'),
  )
  for (const { metadata } of pods)
    await fixture.patch('Pod', metadata.name, [{ op: 'remove', path: '/spec/schedulingGates' }])
}

/** Waits until the API shows the end of the rollout, even if the action cannot see it. */
export async function untilDecided(fixture: Fixture, { name, decidedBy }: Rollout): Promise<void> {
  await until(
    `the API shows the end of the ${name} rollout`,
    90,
    () => (decidedBy(fixture.informer) ?? Infinity) <= Date.now(),
  )
}
