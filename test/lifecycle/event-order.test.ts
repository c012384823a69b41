import type { EventObject, KubeObject, Pod } from '../../src/cluster/objects.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { condition, is, iso, make, podIs } from '../kit/objects.ts'
import { read } from '../kit/rule.ts'

function event(about: KubeObject, reason: string, message: string, at: number, container?: string): EventObject {
  return make.event(about, {
    reason,
    message,
    metadata: { name: `${reason}.${at}` },
    firstTimestamp: iso(at),
    lastTimestamp: iso(at),
    ...(container === undefined ? {} : { container }),
  })
}

const pendingClaim: KubeObject = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data', namespace: 'shop', uid: 'data' },
  spec: { storageClassName: 'fast' },
  status: { phase: 'Pending' },
}
const probed = [make.container({ readinessProbe: { periodSeconds: 1, failureThreshold: 1 } })]
const unready = make.barePod({
  spec: { containers: probed },
  status: podIs.unready({ state: is.running(1), started: true }),
})
const creating = make.barePod({
  status: podIs.unready({ state: is.waiting('ContainerCreating') }, { phase: 'Pending' }),
})
const unscheduled: Pod = make.barePod({
  status: { phase: 'Pending', conditions: [condition('PodScheduled', 'False', { message: 'no node fits' })] },
})

/** Findings of rules that use the latest of several events, in whatever order they arrive. */
describe.each<[string, KubeObject, readonly EventObject[], object]>([
  [
    'a claim',
    pendingClaim,
    [
      event(pendingClaim, 'ProvisioningFailed', 'no such class', 5),
      event(pendingClaim, 'ProvisioningFailed', 'no quota left', 30),
    ],
    { problems: [{ message: 'is not bound: no quota left' }] },
  ],
  [
    'a readiness probe',
    unready,
    [
      event(unready, 'Unhealthy', 'Readiness probe failed: connection refused', 5),
      event(unready, 'Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 503', 30),
    ],
    { problems: [{ message: 'fails its readiness probe: HTTP probe failed with statuscode: 503' }] },
  ],
  [
    'a volume',
    creating,
    [
      event(creating, 'FailedMount', 'MountVolume.SetUp failed for volume "a" : timed out', 5),
      event(creating, 'FailedMount', 'MountVolume.SetUp failed for volume "b" : no such export', 30),
    ],
    { problems: [{ message: 'volume "b" cannot be mounted: no such export' }] },
  ],
  [
    'an autoscaler that took back its promise of a node',
    unscheduled,
    [event(unscheduled, 'TriggeredScaleUp', 'pool 1->2', 5), event(unscheduled, 'NotTriggerScaleUp', 'max size', 30)],
    { stallHold: undefined },
  ],
  [
    'an image that is being pulled again',
    creating,
    [event(creating, 'BackOff', 'Back-off', 5, 'app'), event(creating, 'Pulling', 'Pulling image', 30, 'app')],
    { stallHold: 'an image is being pulled' },
  ],
])('%s', (_, object, events, expected) => {
  it.each([
    ['in their order', events],
    ['the latest first', events.toReversed()],
  ])('is judged by the latest of its events, seen %s', (_order, seen) => {
    const rule = ruleOf(object)
    const assessment = read({ objects: [object, ...seen] }, rule, object)
    expect({ stallHold: assessment.stallHold, problems: assessment.problems }).toMatchObject(expected)
  })
})
