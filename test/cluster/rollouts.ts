import type { KubeObject } from './api.ts'
import { until } from './command.ts'
import { containerDied, deploymentComplete, type Fact, pullRefused } from './facts.ts'
import { deployment, slowStart } from './objects.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

/** A rollout of `deployment/web` that a disturbance meets. */
export interface Rollout {
  name: 'healthy' | 'crashing' | 'missing-image'
  deployment: KubeObject
  expect: Scenario['expect']
  /** When the API shows how it ends. */
  decidedBy: Fact
  /** How long that takes. */
  takesSeconds: number
}

/** One rollout that becomes ready and two that fail, none of which is decided in its first 12 seconds. */
export const rollouts: readonly Rollout[] = [
  {
    name: 'healthy',
    deployment: deployment('web', { script: slowStart(15) }),
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 18,
  },
  {
    name: 'crashing',
    deployment: deployment('web', { script: 'echo "no database" >&2; exit 1' }),
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 32,
  },
  {
    name: 'missing-image',
    deployment: deployment('web', { image: 'v9', imagePullPolicy: 'Always' }),
    expect: { outcome: 'failed', reason: 'image-not-found' },
    decidedBy: pullRefused('not found', 2),
    takesSeconds: 18,
  },
]

/** Waits until the API has shown how the rollout ends, whatever the action sees of it. */
export async function untilDecided(stage: Stage, { name, decidedBy }: Rollout): Promise<void> {
  await until(`the API shows how the ${name} rollout ends`, 90, () => (decidedBy(stage.view) ?? Infinity) <= Date.now())
}
