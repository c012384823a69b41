import {
  conditionReason,
  containerDied,
  eventSeen,
  podsReady,
  pullRefused,
  secondsAfterStart,
} from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { type ContainerOptions, deployment, imageName, pod } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web' }

/** Rolls out a working version, then applies an update that fails. */
const update =
  (options: ContainerOptions, spec: object = {}) =>
  async (fixture: Fixture) => {
    await fixture.rollOut(deployment('web'))
    await fixture.apply(deployment('web', options, spec))
  }

/** Rollouts that only a new apply can repair. */
export const failures: Scenario[] = [
  {
    ...web,
    name: 'image-not-found',
    setup: update({ image: 'v9' }),
    expect: { outcome: 'failed', reason: 'image-not-found' },
    decidedBy: pullRefused('not found', 2),
    takesSeconds: 20,
  },
  {
    // The kubelet reports the new generation while the old container still runs and is ready.
    name: 'pod-changed-in-place',
    inputs: { resources: 'pod/web', 'await-change': '30s' },
    setup: async (fixture) => {
      await fixture.apply(pod('web'))
      await fixture.until('the pod is ready', podsReady(1))
    },
    during: async (fixture) => {
      await fixture.wait(2)
      await fixture.apply(pod('web', { image: 'v9' }))
    },
    expect: { outcome: 'failed', reason: 'image-not-found' },
    decidedBy: pullRefused('not found', 2),
    takesSeconds: 24,
  },
  {
    ...web,
    name: 'image-unauthorized',
    setup: update({ image: '127.0.0.1:5995/status-401/app:v2' }),
    expect: { outcome: 'failed', reason: 'image-unauthorized' },
    decidedBy: pullRefused('401 Unauthorized', 3),
    takesSeconds: 46,
  },
  {
    ...web,
    name: 'readiness-comes-and-goes',
    inputs: { ...web.inputs, 'stall-timeout': '25s' },
    setup: (fixture) =>
      fixture.apply(
        deployment(
          'web',
          {
            script: 'while true; do touch /ready; sleep 4; rm /ready; sleep 4; done',
            readinessProbe: { exec: { command: ['test', '-f', '/ready'] }, periodSeconds: 1, failureThreshold: 1 },
          },
          { replicas: 1, minReadySeconds: 30 },
        ),
      ),
    expect: { outcome: 'stalled' },
    decidedBy: secondsAfterStart(25),
    contains: { log: [/fails its readiness probe/] },
    takesSeconds: 35,
  },
  {
    ...web,
    name: 'image-never-pull',
    setup: update({ image: 'v9', imagePullPolicy: 'Never' }),
    expect: { outcome: 'failed', reason: 'image-never-pull' },
    decidedBy: eventSeen('ErrImageNeverPull'),
    takesSeconds: 5,
  },
  {
    ...web,
    name: 'image-name-invalid',
    setup: update({ image: '127.0.0.1:5995/App:v2' }),
    expect: { outcome: 'failed', reason: 'image-name-invalid' },
    decidedBy: eventSeen('InspectFailed'),
    takesSeconds: 5,
  },
  {
    ...web,
    name: 'crash-loop',
    setup: update({ image: 'v2', script: 'echo cannot reach the database; exit 3', readiness: 'none' }),
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 35,
    contains: { summary: ['cannot reach the database'] },
  },
  {
    ...web,
    name: 'progress-deadline-exceeded',
    setup: update({ image: 'v2', readiness: 'never' }, { progressDeadlineSeconds: 6 }),
    expect: { outcome: 'failed', reason: 'progress-deadline-exceeded' },
    decidedBy: conditionReason('Deployment', 'web', 'ProgressDeadlineExceeded'),
    takesSeconds: 12,
  },
  {
    name: 'misspelt-name',
    inputs: { resources: 'deployment/wbe', 'milestone-timeouts': 'created=5s' },
    setup: (fixture) => fixture.apply(deployment('web')),
    expect: { outcome: 'failed', reason: 'not-found' },
    decidedBy: secondsAfterStart(5),
    takesSeconds: 7,
  },
  {
    ...web,
    name: 'deleted',
    setup: (fixture) => fixture.apply(deployment('web', { readiness: 'never' })),
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      await fixture.delete('Deployment', 'web')
      fixture.markDecided(5)
    },
    expect: { outcome: 'failed', reason: 'deleted' },
    takesSeconds: 9,
  },
]
