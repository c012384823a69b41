import { deploymentComplete } from '../cluster-states.ts'
import { deployment, diesFirst, imageName, service, slowStart, stateVolume, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const web = {
  inputs: { resources: 'deployment/web' },
  kubectl: 'deployment/web',
  expect: { outcome: 'ready', reason: '' },
}

/** Rollouts that fail for a while and then become ready. */
export const temporaryFailures: Scenario[] = [
  ...readScenarios('temporary-failures'),
  {
    ...web,
    name: 'old-restarts-and-a-blink',
    inputs: { resources: 'deployment/web\nservice/late', 'max-restarts': '1' },
    setup: async (fixture) => {
      const then = '[ $(wc -l < /state/starts) -gt 2 ] && exec serve; serve & sleep 32; exit 1'
      const pods = template('web', diesFirst(1, then), stateVolume)
      await fixture.rollOut(deployment('web', {}, { replicas: 1, ...pods }))
      await fixture.apply(service('late'))
    },
    during: async (fixture) => {
      await fixture.until('the pod is ready again', (informer) =>
        informer
          .all('Pod')
          .some(({ status }) => status.containerStatuses?.[0].restartCount === 2 && status.containerStatuses[0].ready),
      )
      await fixture.patch('Service', 'late', { spec: { selector: { app: 'web' } } })
      fixture.markDecided(10)
    },
    takesSeconds: 58,
  },
  {
    ...web,
    name: 'old-revision-crashes',
    setup: async (fixture) => {
      const rolling = { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } }
      await fixture.apply(deployment('web', { script: 'exit 3' }, rolling))
      await fixture.until('the old pods crash', (informer) =>
        informer.all('Pod').some(({ status }) => status.containerStatuses?.[0].restartCount > 1),
      )
      await fixture.apply(deployment('web', { image: 'v2', script: slowStart(2) }, rolling))
    },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 26,
  },
  {
    ...web,
    name: 'pod-force-deleted',
    setup: (fixture) => fixture.apply(deployment('web', { script: slowStart(4) })),
    during: async (fixture) => {
      const { metadata } = await fixture.runningPod(imageName('v1'))
      await fixture.delete('Pod', metadata.name, { gracePeriodSeconds: 0 })
    },
    decidedBy: deploymentComplete('web'),
    check: (run) =>
      /pod\/web-\S+ was deleted by force/.test(run.log) && !run.log.includes('labels no longer match')
        ? []
        : ['the log does not report the deletion by force'],
    takesSeconds: 14,
  },
  {
    ...web,
    name: 'restarted-twice',
    setup: (fixture) => fixture.apply(deployment('web', { script: slowStart(8) })),
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
    decidedBy: deploymentComplete('web'),
    takesSeconds: 14,
  },
]

const restartedAt = 'kubectl.kubernetes.io/restartedAt'
