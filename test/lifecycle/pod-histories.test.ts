import type { KubeObject, Pod } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { PodHistories } from '../../src/lifecycle/workloads/pod-history.ts'
import {
  createDeployment,
  createEvent,
  createGateTime,
  createPod,
  createReplicaSet,
  iso,
  minute,
  moment,
  podStatus,
  readyStatus,
  terminated,
  waiting,
} from './builders.ts'

const made = { creationTimestamp: iso(-20 * minute) }
const replicaSet = createReplicaSet({ metadata: made })
const restarts = { restartCount: 8, lastState: terminated(3, -30) }
const backOff = waiting('CrashLoopBackOff', 'back-off 5m0s restarting failed container=app')
const looping = createPod({ metadata: made, status: podStatus({ ...restarts, state: backOff }) }, replicaSet)

function seen(...objects: readonly KubeObject[]) {
  const store = new Store(() => false)
  const histories = new PodHistories(store, createGateTime())
  const see = (object: KubeObject) => {
    for (const change of store.apply({ at: moment(0), type: 'ADDED', object })) histories.observe(change, moment(0))
  }
  for (const object of objects) see(object)
  return { see, deathsOf: (pod: Pod) => histories.of(pod, moment(0)).containers.get('app')?.deaths }
}

describe('the histories of pods', () => {
  it('count a crash loop of today’s template in full, though the ReplicaSets are listed after the pods', () => {
    const { see, deathsOf } = seen(createDeployment(), looping)
    expect(deathsOf(looping)).toBe(1)
    see(replicaSet)
    expect(deathsOf(looping)).toBe(7)
  })

  it('count it anew when its template is changed', () => {
    const { see, deathsOf } = seen(createDeployment(), replicaSet, looping)
    expect(deathsOf(looping)).toBe(7)
    const annotations = { 'deployment.kubernetes.io/revision': '2' }
    see(createReplicaSet({ metadata: { name: 'web-2', creationTimestamp: iso(-5), annotations } }))
    expect(deathsOf(looping)).toBe(1)
  })

  it('count what can be told from its present state of a pod that nobody observed', () => {
    expect(seen().deathsOf(looping)).toBe(1)
  })

  it('count by the minReadySeconds of the controller, whenever that becomes known', () => {
    const lived = { startedAt: iso(-27) }
    const dead = podStatus({ restartCount: 2, state: terminated(3, -12, lived), lastState: terminated(3, -30) })
    const pod = createPod({ metadata: { creationTimestamp: iso(-60) }, status: dead })
    const before = createPod({ ...pod, status: readyStatus(-27, { restartCount: 2, lastState: terminated(3, -30) }) })
    const { see, deathsOf } = seen(before, pod)
    expect(deathsOf(pod)).toBe(1)
    see(createReplicaSet({ metadata: { creationTimestamp: iso(-120) }, spec: { minReadySeconds: 30 } }))
    expect(deathsOf(pod)).toBe(3)
  })

  it('keep what an event told before the pod itself was seen', () => {
    const pod = createPod({ status: podStatus({ state: waiting('ErrImagePull') }) })
    const message = 'Failed to pull image "acme/web:v1": not found'
    const event = createEvent(pod, { container: 'app', reason: 'Failed', message, count: 2 })
    const store = new Store(() => false)
    const histories = new PodHistories(store, createGateTime())
    for (const object of [event, pod])
      for (const change of store.apply({ at: moment(0), type: 'ADDED', object })) histories.observe(change, moment(0))
    expect(histories.of(pod, moment(0)).containers.get('app')?.refusals).toMatchObject({
      'image-not-found': { events: 2 },
    })
  })
})
