import { deployment, imageName, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Rollouts that fail for a while and then become ready. */
export const temporaryFailures: Scenario[] = readScenarios('temporary-failures', {
  'old-restarts-and-a-blink': {
    during: async (fixture) => {
      await fixture.until('the pod is ready again', (informer) =>
        informer
          .all('Pod')
          .some(({ status }) => status.containerStatuses?.[0].restartCount === 2 && status.containerStatuses[0].ready),
      )
      await fixture.patch('Service', 'late', { spec: { selector: { app: 'web' } } })
      fixture.markDecided(10)
    },
  },
  'old-revision-crashes': {
    setup: async (fixture) => {
      const rolling = { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } }
      await fixture.apply(deployment('web', { script: 'exit 3' }, rolling))
      await fixture.until('the old pods crash', (informer) =>
        informer.all('Pod').some(({ status }) => status.containerStatuses?.[0].restartCount > 1),
      )
      await fixture.apply(deployment('web', { image: 'v2', script: slowStart(2) }, rolling))
    },
  },
  'pod-force-deleted': {
    during: async (fixture) => {
      const { metadata } = await fixture.runningPod(imageName('v1'))
      await fixture.delete('Pod', metadata.name, { gracePeriodSeconds: 0 })
    },
    check: (run) =>
      /pod\/web-\S+ (?:is being|was) deleted/.test(run.log) ? [] : ['the log does not report the deletion'],
  },
  'restarted-twice': {
    during: async (fixture) => {
      for (const nth of ['1', '2']) {
        await fixture.until('a pod of the last change runs', (informer) =>
          informer
            .all('Pod')
            .some(
              ({ metadata, status }) =>
                (metadata.annotations?.[restartedAt] ?? '0') === `${Number(nth) - 1}` && status.phase === 'Running',
            ),
        )
        const annotations = { [restartedAt]: nth }
        await fixture.patch('Deployment', 'web', { spec: { template: { metadata: { annotations } } } })
      }
    },
  },
})

const restartedAt = 'kubectl.kubernetes.io/restartedAt'
