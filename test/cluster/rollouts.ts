import type { KubeObject } from './api.ts'
import { until } from './command.ts'
import { containerDied, deploymentComplete, type Fact, pullRefused } from './facts.ts'
import { deployment, slowStart, template } from './objects.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

/** A rollout of `deployment/web` that a disturbance meets. */
export interface Rollout {
  name: string
  deployment: KubeObject
  expect: Scenario['expect']
  /** When the API shows how it ends. */
  decidedBy: Fact
  /** How long that takes from `release` on. */
  takesSeconds: number
}

/** Of a pod's `spec`: it is not scheduled until `release`, however long the action takes to start. */
export const held = { schedulingGates: [{ name: 'tests/hold' }] }

export const healthy: Rollout = {
  name: 'healthy',
  deployment: deployment('web', {}, template('web', { script: slowStart(15) }, held)),
  expect: { outcome: 'ready', reason: '' },
  decidedBy: deploymentComplete('web'),
  takesSeconds: 18,
}

const crashing: Rollout = {
  name: 'crashing',
  deployment: deployment('web', {}, template('web', { script: 'echo "no database" >&2; exit 1' }, held)),
  expect: { outcome: 'failed', reason: 'crash-loop' },
  decidedBy: containerDied(3),
  takesSeconds: 32,
}

const missingImage: Rollout = {
  name: 'missing-image',
  deployment: deployment('web', {}, template('web', { image: 'v9', imagePullPolicy: 'Always' }, held)),
  expect: { outcome: 'failed', reason: 'image-not-found' },
  decidedBy: pullRefused('not found', 2),
  takesSeconds: 18,
}

/** One rollout that becomes ready and two that fail, all of them held until `release`, and for 12 seconds after it undecided. */
export const rollouts: readonly Rollout[] = [healthy, crashing, missingImage]

/** Lets the rollout's pods be scheduled. */
export async function release(stage: Stage): Promise<void> {
  const pods = await stage.until('the pods are there', (view) => view.all('Pod').length === 2 && view.all('Pod'))
  for (const { metadata } of pods)
    await stage.patch('Pod', metadata.name, [{ op: 'remove', path: '/spec/schedulingGates' }])
}

/** Waits until the API has shown how the rollout ends, whatever the action sees of it. */
export async function untilDecided(stage: Stage, { name, decidedBy }: Rollout): Promise<void> {
  await until(`the API shows how the ${name} rollout ends`, 90, () => (decidedBy(stage.view) ?? Infinity) <= Date.now())
}
