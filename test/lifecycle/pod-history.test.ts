import type { KubeObject, Pod, PodSpec, PodStatus } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import type { PodView } from '../../src/lifecycle/pod-view.ts'
import { createPodView } from '../../src/lifecycle/workloads/create-pod-view.ts'
import { observePod } from '../../src/lifecycle/workloads/observe-pods.ts'
import { PodHistories } from '../../src/lifecycle/workloads/pod-histories.ts'
import { is, iso, make, minute, moment, podIs } from '../kit/objects.ts'
import { toEvent, toVersions } from '../kit/pods.ts'
import { rows } from '../kit/rows.ts'
import { counted, createGateTime, sightings } from '../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** What else is known of the pod: when it was made and when its template was changed, in seconds, and events about it. */
interface Facts {
  readonly made?: number
  readonly changed?: number
  readonly minReadySeconds?: number
  readonly spec?: PodSpec
  readonly events?: readonly string[]
}

/** Versions of a pod in words (`toVersions`), or its statuses by the second at which they were seen. */
type Seen = string | Readonly<Record<number, PodStatus>>

function appIn({ containers }: PodView) {
  return containers.find(({ container }) => container.name === 'app')
}

/** The container `app` in the last of these versions. */
function appOf(said: Seen, { made, changed, minReadySeconds = 0, spec = {}, events = [] }: Facts = {}) {
  const of = { spec, ...(made !== undefined && { metadata: { creationTimestamp: iso(made) } }) }
  const versions =
    typeof said === 'string'
      ? toVersions(said, of)
      : Object.entries(said).map(([second, status]) => [Number(second), make.pod({ ...of, status })] as const)
  const about = events.map((text) => toEvent(make.pod(), text))
  return appIn(counted(sightings(...versions), versions.at(-1)?.[1], changed, minReadySeconds, about))
}

describe.each([
  'the deaths of a container',
  'the deaths of an old pod',
  'a readiness that was lost before first sight',
  'a container of a workload with minReadySeconds',
])('%s', (table) => {
  it.each(rows<[string, number, Seen, Facts?]>(data, table))('%s', (_, deaths, versions, facts = {}) => {
    expect(appOf(versions, facts)?.deaths.count).toBe(deaths)
  })
})

describe('the time of the first death', () => {
  it.each(rows<[string, number | null, Seen, Facts?]>(data, 'the time of the first death'))(
    '%s',
    (_, first, versions, facts = {}) => {
      expect(appOf(versions, facts)?.deaths.firstAt).toBe(first === null ? undefined : moment(first))
    },
  )

  it('is on the clock of the runner if the clock of the server is ahead', () => {
    const around = createGateTime({ serverOffsetMs: 5_000 })
    const pod = make.pod({ status: podIs.dead(1, 12) })
    const seen = createPodView(
      pod,
      observePod(undefined, pod, moment(8), around),
      [],
      { changedAt: undefined, minReadyMs: 0 },
      around,
    )
    expect(appIn(seen)?.deaths.firstAt).toBe(moment(7))
  })
})

describe('the refusals of an image pull', () => {
  it.each(rows<[string, object, Seen, Facts?]>(data, 'the refusals of an image pull'))(
    '%s',
    (_, refusals, versions, facts = {}) => {
      const found = Object.fromEntries(appOf(versions, facts)?.refusals ?? [])
      expect(found).toMatchObject(refusals)
      expect(Object.keys(found).toSorted()).toEqual(Object.keys(refusals).toSorted())
    },
  )
})

describe('the waiting reason of a container', () => {
  it('has the time of its first sight', () => {
    const versions = '3 waits CreateContainerConfigError: first; 9 waits CreateContainerConfigError: second'
    expect(appOf(versions)?.waiting).toMatchObject({ reason: 'CreateContainerConfigError', since: moment(3) })
  })

  it('is removed once the container runs', () => {
    expect(appOf('3 waits CreateContainerConfigError; 9 ready')?.waiting).toBeUndefined()
  })
})

const made = { creationTimestamp: iso(-20 * minute) }
const replicaSet = make.replicaSet({ metadata: made })
const restarts = { restartCount: 8, lastState: is.terminated(3, -30) }
const backOff = is.waiting('CrashLoopBackOff', 'back-off 5m0s restarting failed container=app')
const looping = make.pod({ metadata: made, status: podIs.unready({ ...restarts, state: backOff }) }, replicaSet)

function seen(...objects: readonly KubeObject[]) {
  const store = new Store(() => false)
  const histories = new PodHistories(store, createGateTime())
  /** Returns the pods whose view an event changes. */
  const see = (object: KubeObject) =>
    store
      .apply({ at: moment(0), type: 'ADDED', object })
      .flatMap((change) => histories.observe(change, moment(0)) ?? [])
  for (const object of objects) see(object)
  const viewOf = (pod: Pod) => histories.viewOf(pod, moment(0))
  return { see, viewOf, deathsOf: (pod: Pod) => appIn(viewOf(pod))?.deaths.count }
}

describe('the histories of pods', () => {
  it('count all deaths of the present template once the ReplicaSets are listed after the pods', () => {
    const { see, deathsOf } = seen(make.deployment(), looping)
    expect(deathsOf(looping)).toBe(1)
    see(replicaSet)
    expect(deathsOf(looping)).toBe(9)
  })

  it('count the deaths again from first sight when the template changes', () => {
    const { see, deathsOf } = seen(make.deployment(), replicaSet, looping)
    expect(deathsOf(looping)).toBe(9)
    const annotations = { 'deployment.kubernetes.io/revision': '2' }
    see(make.replicaSet({ metadata: { name: 'web-2', creationTimestamp: iso(-5), annotations } }))
    expect(deathsOf(looping)).toBe(1)
  })

  it('count the death in the present state of a pod that was never observed', () => {
    expect(seen().deathsOf(looping)).toBe(1)
  })

  it('count the deaths by minReadySeconds once the controller is known', () => {
    const lived = { startedAt: iso(-27) }
    const dead = podIs.unready({
      restartCount: 2,
      state: is.terminated(3, -12, lived),
      lastState: is.terminated(3, -30),
    })
    const pod = make.pod({ metadata: { creationTimestamp: iso(-60) }, status: dead })
    const before = make.pod({ ...pod, status: podIs.ready(-27, { restartCount: 2, lastState: is.terminated(3, -30) }) })
    const { see, deathsOf } = seen(before, pod)
    expect(deathsOf(pod)).toBe(1)
    see(make.replicaSet({ metadata: { creationTimestamp: iso(-120) }, spec: { minReadySeconds: 30 } }))
    expect(deathsOf(pod)).toBe(3)
  })

  it('keep an event that arrived before its pod', () => {
    const pod = make.pod({ status: podIs.unready({ state: is.waiting('ErrImagePull') }) })
    const message = 'Failed to pull image "acme/web:v1": not found'
    const event = make.event(pod, { container: 'app', reason: 'Failed', message, count: 2 })
    expect(appIn(seen(event, pod).viewOf(pod))?.refusals.get('image-not-found')).toMatchObject({ count: 2 })
  })

  it('do not change after an event that repeats an earlier event or the status', () => {
    const pod = make.pod({ status: podIs.unready({ state: is.running(1) }) })
    const unhealthy = (count: number, message = 'Readiness probe failed: 503') =>
      make.event(pod, {
        container: 'app',
        reason: 'Unhealthy',
        message,
        count,
        metadata: { name: 'unhealthy', resourceVersion: `${count}` },
      })
    const { see, viewOf } = seen(pod)
    viewOf(pod)
    expect(see(make.event(pod, { reason: 'Scheduled', metadata: { name: 'scheduled' } }))).toEqual([])
    expect(see(unhealthy(1))).toEqual([pod])
    const view = viewOf(pod)
    expect(see(unhealthy(2))).toEqual([])
    expect(see(make.event(pod, { container: 'app', reason: 'Created', metadata: { name: 'created' } }))).toEqual([])
    expect(viewOf(pod)).toBe(view)
    expect(see(unhealthy(3, 'Readiness probe failed: 404'))).toEqual([pod])
  })
})
