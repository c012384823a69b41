import { type ClusterState, containerDied, pullRefused } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { coreObject, deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

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
export const alreadyFailing: Scenario[] = readScenarios('already-failing', {
  'crash-loop-mended-before': {
    setup: async (fixture) => {
      await crash(fixture)
      await fixture.apply(settings('good'))
    },
  },
  'crash-loop-of-before': {
    setup: crash,
  },
  'image-not-found-of-before': {
    decidedBy: sinceStart(pullRefused('not found', 3)),
  },
})

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
