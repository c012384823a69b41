import {
  type ClusterState,
  containerDied,
  containerDiedSinceStart,
  deploymentSettled,
  pullRefused,
} from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { coreObject, deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', withinSeconds: 40 }

/** Exits at its start unless the ConfigMap has the right value. */
const configured = deployment(
  'web',
  {
    script: '[ "$MODE" = good ] || exit 3; exec serve',
    env: [{ name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } }],
  },
  { replicas: 1 },
)

/** Rollouts that failed before the action started; earlier failures alone prove nothing. */
export const alreadyFailing: Scenario[] = [
  {
    ...web,
    name: 'crash-loop-mended-before',
    setup: async (fixture) => {
      await crash(fixture)
      await fixture.apply(settings('good'))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentSettled('web'),
    takesSeconds: 85,
  },
  {
    ...web,
    name: 'crash-loop-of-before',
    setup: crash,
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDiedSinceStart,
    takesSeconds: 75,
  },
  {
    ...web,
    name: 'image-not-found-of-before',
    setup: async (fixture) => {
      await fixture.apply(deployment('web', { image: 'v9' }, { replicas: 1 }))
      await fixture.until('two refusals', pullRefused('not found', 2))
      await fixture.wait(3)
    },
    expect: { outcome: 'failed', reason: 'image-not-found' },
    decidedBy: sinceStart(pullRefused('not found', 3)),
    takesSeconds: 50,
  },
]

function settings(mode: string) {
  return coreObject('ConfigMap', 'settings', { data: { mode } })
}

/** Waits for three deaths of the container, the last more than 30 s after the first. */
async function crash(fixture: Fixture): Promise<void> {
  await fixture.apply(settings('bad'), configured)
  const provenAt = await fixture.until('three deaths', containerDied(3))
  await fixture.wait(Math.max(0, provenAt - Date.now()) / 1_000)
}

/** The state, counted only after the start of the action. */
function sinceStart(state: ClusterState): ClusterState {
  return (informer) => (informer.actionStarted === undefined ? undefined : state(informer))
}
