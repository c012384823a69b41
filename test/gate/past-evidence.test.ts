import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { EventObject, PodStatus } from '../../src/cluster/objects.ts'
import { added, allSynced, at, createWorkload, modified, progressing, run } from '../kit/gate.ts'
import { complete, condition, is, iso, make, minute, podIs } from '../kit/objects.ts'
import { endOf } from '../kit/tape-cases.ts'

/**
 * The apply before the gate may have fixed earlier problems: an image was pushed, a ConfigMap corrected. Problems from
 * before the gate's start are shown, and prove nothing until they are observed again.
 */
const web = createWorkload('web')
const db = createWorkload('db')
const longAgo = { creationTimestamp: iso(-3 * minute) }
const replicaSet = { ...web.replicaSet, metadata: { ...web.replicaSet.metadata, ...longAgo } }
const pod = (status: PodStatus) => make.pod({ metadata: longAgo, status }, replicaSet)

/** The first lists: a rollout that was broken for minutes before the gate began. */
function broken(status: PodStatus, ...events: readonly EventObject[]): FeedEvent[] {
  return at(0, added(web.deployment(progressing), replicaSet, pod(status), ...events), allSynced)
}

function later(second: number, status: PodStatus): FeedEvent[] {
  return at(second, modified(pod(status)))
}

function up(second: number): FeedEvent[] {
  return at(second, modified(pod(podIs.ready(second - 60)), web.deployment(complete())))
}

const notFound = 'Failed to pull image "acme/web:v1": failed to resolve reference "acme/web:v1": acme/web:v1: not found'
const denied = 'Failed to pull image "acme/web:v1": failed to authorize: 401 Unauthorized'
const pulling = (words: string) => podIs.unready({ state: is.waiting('ErrImagePull', words) }, { phase: 'Pending' })
const backOff = (words = notFound) =>
  podIs.unready(
    { state: is.waiting('ImagePullBackOff', `Back-off pulling image "acme/web:v1": ${words}`) },
    { phase: 'Pending' },
  )

function refusals(message: string, count: number, last: number): EventObject {
  const between = { firstTimestamp: iso(-170), lastTimestamp: iso(last) }
  return make.event(pod({}), { container: 'app', reason: 'Failed', message, count, ...between })
}

function backOffs(count: number, last: number): EventObject {
  const message = 'Back-off pulling image "acme/web:v1"'
  const between = { firstTimestamp: iso(-168), lastTimestamp: iso(last) }
  return make.event(pod({}), { container: 'app', reason: 'BackOff', message, count, ...between })
}

/** A container that waits for its restart after its nth death, by default long before the gate's start. */
function looping(nth: number, finishedAt = -40, startedAt = finishedAt - 1): PodStatus {
  return podIs.unready({
    restartCount: nth - 1,
    state: is.waiting('CrashLoopBackOff', 'back-off 1m20s restarting failed container=app'),
    lastState: is.terminated(3, finishedAt, { startedAt: iso(startedAt) }),
  })
}

const policy = 'Error creating: admission webhook "policy.acme.io" denied the request: no owner'
const refusedPods = (count: number, last: number) =>
  make.event(replicaSet, {
    reason: 'FailedCreate',
    message: policy,
    count,
    firstTimestamp: iso(-170),
    lastTimestamp: iso(last),
  })
const replicaFailure = {
  ...replicaSet,
  status: {
    replicas: 0,
    conditions: [condition('ReplicaFailure', 'True', { message: policy, lastTransitionTime: iso(-170) })],
  },
}

type Case = readonly [name: string, steps: readonly (readonly FeedEvent[])[], ends: string]

describe('evidence from before the gate’s start', () => {
  test.each<Case>([
    [
      'proves nothing of an image that is pushed meanwhile',
      [broken(backOff(), refusals(notFound, 5, -30)), up(40)],
      'ready 40',
    ],
    [
      'proves nothing of a registry that takes the credentials by now',
      [broken(backOff(denied), refusals(denied, 5, -30)), up(40)],
      'ready 40',
    ],
    [
      'proves nothing although the kubelet reports each back-off',
      [broken(backOff(), refusals(notFound, 5, -30), backOffs(9, -2)), at(9, modified(backOffs(10, 9))), up(40)],
      'ready 40',
    ],
    [
      'proves nothing by a state that the kubelet writes down late',
      [broken(backOff(), refusals(notFound, 5, -3)), later(8, pulling(notFound)), later(10, backOff()), up(40)],
      'ready 40',
    ],
    ['proves nothing about a container whose ConfigMap is fixed', [broken(looping(5)), up(40)], 'ready 40'],
    [
      'proves nothing about a container that started before the fixed ConfigMap and dies after it',
      [
        broken(podIs.unready({ restartCount: 5, state: is.running(-9), lastState: is.terminated(3, -40) })),
        later(8, podIs.dead(6, 7, { startedAt: iso(-9) })),
        up(40),
      ],
      'ready 40',
    ],
    [
      'proves nothing about a policy that was fixed',
      [at(0, added(web.deployment(progressing), replicaFailure, refusedPods(12, -20)), allSynced), up(40)],
      'ready 40',
    ],
    [
      'proves nothing of an image that was loaded onto the node by now',
      [broken(podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })), up(12)],
      'ready 12',
    ],
    [
      'ends as its reason when nothing more is observed',
      [broken(backOff(), refusals(notFound, 5, -30))],
      'stalled image-not-found 300',
    ],
  ])('%s', (_, steps, ends) => expect(endOf(run(steps))).toBe(ends))

  it('is still shown at once', () => {
    const { entries } = run([broken(backOff(), refusals(notFound, 5, -30)), up(40)])
    expect(entries).toContainEqual(expect.stringMatching(/^0 problem .*not found, 5 times$/))
  })
})

describe('one observation after the gate’s start', () => {
  test.each<Case>([
    [
      'proves the earlier missing image by its event',
      [broken(backOff(), refusals(notFound, 5, -30)), at(20, modified(refusals(notFound, 6, 20)))],
      'failed image-not-found 20',
    ],
    [
      'proves it by the state of the container, where the event is held back',
      [broken(backOff(), refusals(notFound, 5, -30)), later(20, pulling(notFound))],
      'failed image-not-found 20',
    ],
    [
      'proves the earlier lack of authorisation',
      [broken(backOff(denied), refusals(denied, 5, -30)), later(20, pulling(denied))],
      'failed image-unauthorized 20',
    ],
    [
      'proves the earlier crash loop: the next death of an instance that began since',
      [broken(looping(5)), later(41, podIs.dead(6, 41, { startedAt: iso(40) }))],
      'failed crash-loop 41',
    ],
    [
      'proves that a program still cannot be started',
      [
        broken(looping(5)),
        later(
          41,
          podIs.dead(6, 41, {
            reason: 'StartError',
            message: 'exec: "/app": permission denied',
            exitCode: 128,
            startedAt: '1970-01-01T00:00:00Z',
          }),
        ),
      ],
      'failed bad-command 41',
    ],
    [
      'proves the policy that denied the pods before',
      [
        at(0, added(web.deployment(progressing), replicaFailure, refusedPods(12, -20)), allSynced),
        at(25, modified(refusedPods(13, 25))),
      ],
      'failed admission-denied 25',
    ],
    [
      'proves that the image may still not be pulled: the kubelet has looked again',
      [broken(podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' }))],
      'failed image-never-pull 20',
    ],
  ])('%s', (_, steps, ends) => expect(endOf(run(steps))).toBe(ends))

  it('is known without events for a pod that was created moments before', () => {
    const made = (status: PodStatus) => make.pod({ metadata: { creationTimestamp: iso(-4) }, status }, replicaSet)
    const steps = [
      at(0, added(web.deployment(progressing), replicaSet, made(pulling(notFound))), allSynced),
      at(9, modified(made(backOff()))),
      at(12, modified(made(pulling(notFound)))),
    ]
    expect(endOf(run(steps))).toBe('failed image-not-found 12')
  })

  it('is not needed if the apply before the gate created the pod', () => {
    const status = podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })
    const made = make.pod({ metadata: { creationTimestamp: iso(-4) }, status }, replicaSet)
    const steps = [at(0, added(web.deployment(progressing), replicaSet, made), allSynced)]
    expect(endOf(run(steps))).toBe('failed image-never-pull 0')
  })

  it('proves nothing yet while another target progresses, which the container may be waiting for', () => {
    const targets = [web.target, db.target]
    const waits = [broken(looping(5)), at(0, db.creating), later(3, podIs.dead(6, 3, { startedAt: iso(2) }))]
    expect(endOf(run(waits, { targets }))).toBe('failed crash-loop 95')
  })
})
