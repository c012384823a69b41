import type { KubeObject, Pod } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { historyOf, observePod, PodHistories } from '../../src/lifecycle/workloads/observe-pods.ts'
import { is, iso, make, minute, moment, podIs } from '../kit/objects.ts'
import { toVersions } from '../kit/pods.ts'
import { rows } from '../kit/rows.ts'
import { counted, createGateTime, seenPod, sightings } from '../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

type Seen = readonly [seconds: number, pod: Pod]

function deathsOf(...versions: readonly Seen[]): number | undefined {
  return seenPod(...versions).containers.get('app')?.deaths
}

function app(...versions: readonly Seen[]) {
  return seenPod(...versions).containers.get('app')
}

describe('deaths of a container', () => {
  const probed = { containers: [make.container({ readinessProbe: {} })] }

  it.each(rows<[string, number, string]>(data, 'deaths of a container'))('%s', (_, deaths, text) => {
    expect(deathsOf(...toVersions(text))).toBe(deaths)
  })

  it.each(rows<[string, number, string]>(data, 'deaths of a container with a readiness probe'))(
    'with a readiness probe %s',
    (_, deaths, text) => {
      expect(deathsOf(...toVersions(text, probed))).toBe(deaths)
    },
  )

  it.each<[string, number, readonly Seen[]]>([
    [
      'the same death is counted once however often it is seen',
      1,
      [
        [2, make.pod({ status: podIs.dead(1, 2) })],
        [3, make.pod({ status: podIs.looping(1, 2) })],
        [
          4,
          make.pod({
            status: podIs.unready({ restartCount: 1, state: is.running(4), lastState: is.terminated(3, 2) }),
          }),
        ],
      ],
    ],
    [
      'exit code 0 is a death where the container must run for ever',
      1,
      [[2, make.pod({ status: podIs.unready({ state: is.terminated(0, 2) }) })]],
    ],
    [
      'exit code 0 is no death where the container may end',
      0,
      [[2, make.pod({ spec: { restartPolicy: 'OnFailure' }, status: podIs.unready({ state: is.terminated(0, 2) }) })]],
    ],
    [
      'a readiness probe that has just passed at first sight forgives nothing',
      4,
      [[20, make.pod({ spec: probed, status: podIs.ready(19, { restartCount: 4, lastState: is.terminated(3, 17) }) })]],
    ],
    [
      "ten minutes' run forgives the deaths before, without having been seen",
      1,
      [
        [
          800,
          make.pod({
            status: podIs.unready({ restartCount: 4, state: is.terminated(3, 800, { startedAt: iso(200) }) }),
          }),
        ],
      ],
    ],
    [
      'a run of less than ten minutes forgives nothing, unless it was seen to be ready',
      5,
      [
        [
          800,
          make.pod({
            status: podIs.unready({ restartCount: 4, state: is.terminated(3, 800, { startedAt: iso(201) }) }),
          }),
        ],
      ],
    ],
    [
      'a start error of 1970 is no long run',
      3,
      [
        [
          20,
          make.pod({
            status: podIs.unready({
              restartCount: 2,
              state: is.terminated(128, 20, { reason: 'StartError', startedAt: '1970-01-01T00:00:00Z' }),
            }),
          }),
        ],
      ],
    ],
  ])('%s', (_, deaths, versions) => {
    expect(deathsOf(...versions)).toBe(deaths)
  })

  it('of a pod that is older than the rollout count from its restarts at first sight', () => {
    const old = { creationTimestamp: iso(-11 * minute) }
    const first = make.pod({ metadata: old, status: podIs.ready(-600, { restartCount: 7 }) })
    const later = make.pod({ metadata: old, status: podIs.ready(30, { restartCount: 9 }) })
    expect(deathsOf([0, first])).toBe(0)
    expect(deathsOf([0, first], [31, later])).toBe(2)
  })

  it('of an old pod do not count the one before, although its last state still shows it', () => {
    const status = podIs.unready({ restartCount: 7, state: is.terminated(3, 30), lastState: is.terminated(3, -20) })
    expect(deathsOf([31, make.pod({ metadata: { creationTimestamp: iso(-11 * minute) }, status })])).toBe(1)
  })

  it('of an old pod that is dead at first sight count that death', () => {
    const old = { creationTimestamp: iso(-11 * minute) }
    expect(deathsOf([0, make.pod({ metadata: old, status: podIs.looping(8, -1) })])).toBe(1)
  })

  it('of a pod that was created shortly before the gate all count', () => {
    const recent = { creationTimestamp: iso(-9 * minute) }
    expect(deathsOf([0, make.pod({ metadata: recent, status: podIs.looping(3, -1) })])).toBe(3)
  })

  it('of an old pod are not counted by its event either', () => {
    const pod = make.pod({ metadata: { creationTimestamp: iso(-11 * minute) }, status: podIs.looping(8, -1) })
    const event = make.event(pod, { container: 'app', reason: 'BackOff', message: 'Back-off restarting failed' })
    const seen = counted(sightings([0, pod]), pod, undefined, 0, [event])
    expect(seen.containers.get('app')?.deaths).toBe(1)
  })
})

describe('the first death', () => {
  it('is the end of the last instance if nothing older is known', () => {
    expect(app([20, make.pod({ status: podIs.looping(2, 14) })])?.firstDeathAt).toBe(moment(14))
  })

  it('stays the earliest that was seen', () => {
    const seen = app([2, make.pod({ status: podIs.dead(1, 2) })], [15, make.pod({ status: podIs.looping(2, 14) })])
    expect(seen?.firstDeathAt).toBe(moment(2))
  })

  it('is first sight if the kubelet reports no time', () => {
    const pod = make.pod({ status: podIs.unready({ restartCount: 2, state: is.running(5) }) })
    expect(app([7, pod])?.firstDeathAt).toBe(moment(7))
  })

  it('is never in the future, even if the clock of the node is ahead', () => {
    expect(app([20, make.pod({ status: podIs.looping(1, 300) })])?.firstDeathAt).toBe(moment(20))
  })

  it("is the back-off's beginning where the event is older than the state", () => {
    const pod = make.pod({ status: podIs.looping(3, 14) })
    const event = make.event(pod, {
      container: 'app',
      reason: 'BackOff',
      message: 'Back-off restarting failed container app in pod web-1-a',
      firstTimestamp: iso(3),
    })
    const seen = counted(sightings([20, pod]), pod, undefined, 0, [event])
    expect(seen.containers.get('app')?.firstDeathAt).toBe(moment(3))
  })

  it('is not the back-off of a pull', () => {
    const pod = make.pod({ status: podIs.unready({}) })
    const message = 'Back-off pulling image "acme/web:v1"'
    const event = make.event(pod, { container: 'app', reason: 'BackOff', message, firstTimestamp: iso(3) })
    const seen = counted(sightings([20, pod]), pod, undefined, 0, [event])
    expect(seen.containers.get('app')).not.toHaveProperty('firstDeathAt')
  })

  it('is reset after a recovery', () => {
    const seen = app(
      [2, make.pod({ status: podIs.dead(1, 2) })],
      [20, make.pod({ status: podIs.ready(5, { restartCount: 1 }) })],
      [40, make.pod({ status: podIs.dead(2, 40) })],
    )
    expect(seen).toMatchObject({ deaths: 1, firstDeathAt: moment(40) })
  })

  it("is on the runner's clock where the server's is ahead", () => {
    const around = createGateTime({ serverOffsetMs: 5_000 })
    const pod = make.pod({ status: podIs.dead(1, 12) })
    const seen = historyOf(
      observePod(undefined, pod, moment(8), around),
      pod,
      [],
      { changedAt: undefined, minReadyMs: 0 },
      around,
    )
    expect(seen.containers.get('app')?.firstDeathAt).toBe(moment(7))
  })
})

describe('refusals of a pull', () => {
  const notFound = 'failed to pull and unpack image "acme/web:v1": acme/web:v1: not found'
  const refused = (message = notFound) =>
    make.pod({ status: podIs.unready({ state: is.waiting('ErrImagePull', message) }) })
  const backOff = (message = `Back-off pulling image "acme/web:v1": ErrImagePull: ${notFound}`) =>
    make.pod({ status: podIs.unready({ state: is.waiting('ImagePullBackOff', message) }) })
  const failed = (count: number) =>
    make.event(make.pod(), {
      container: 'app',
      reason: 'Failed',
      message: `Failed to pull image "acme/web:v1": ${notFound}`,
      count,
    })

  it.each<[string, number, readonly Seen[]]>([
    ['one refusal is one attempt', 1, [[1, refused()]]],
    [
      'its back-off is no further attempt',
      1,
      [
        [1, refused()],
        [14, backOff()],
      ],
    ],
    [
      'the next refusal is the second attempt',
      2,
      [
        [1, refused()],
        [14, backOff()],
        [27, refused()],
      ],
    ],
    [
      'the same refusal seen twice is one attempt',
      1,
      [
        [1, refused()],
        [2, refused()],
      ],
    ],
    ['a back-off at first sight stands for one attempt', 1, [[14, backOff()]]],
    [
      'a back-off seen twice is still one',
      1,
      [
        [14, backOff()],
        [15, backOff()],
      ],
    ],
  ])('%s', (_, attempts, versions) => {
    expect(app(...versions)?.refusals).toMatchObject({ 'image-not-found': { attempts } })
  })

  it('of one kind do not count for another', () => {
    const seen = app([1, refused('connection refused')], [14, backOff('')], [27, refused()])
    expect(seen?.refusals).toMatchObject({
      'image-registry-unreachable': { attempts: 1 },
      'image-not-found': { attempts: 1 },
    })
  })

  it('are as many as the event counts', () => {
    const seen = counted(sightings([1, refused()]), refused(), undefined, 0, [failed(2)])
    expect(seen.containers.get('app')?.refusals).toMatchObject({ 'image-not-found': { attempts: 1, events: 2 } })
  })

  it('of several events add up', () => {
    const other = { ...failed(3), metadata: { name: 'other' } }
    const seen = counted(sightings([1, refused()]), refused(), undefined, 0, [failed(2), other])
    expect(seen.containers.get('app')?.refusals).toMatchObject({ 'image-not-found': { events: 5 } })
  })

  it('are not taken from events about the whole pod', () => {
    const { fieldPath: _, ...pod } = failed(3).involvedObject ?? {}
    const creating = make.pod({ status: podIs.unready({}) })
    const events = [{ ...failed(3), involvedObject: pod }]
    const seen = counted(sightings([1, creating]), creating, undefined, 0, events)
    expect(seen.containers.get('app')?.refusals).toEqual({})
  })
})

describe('the waiting reason of a container', () => {
  it('counts from its first sight', () => {
    const versions = [3, 9].map(
      (seconds): Seen => [
        seconds,
        make.pod({ status: podIs.unready({ state: is.waiting('CreateContainerConfigError', `seen at ${seconds}`) }) }),
      ],
    )
    expect(app(...versions)?.waiting).toMatchObject({ reason: 'CreateContainerConfigError', since: moment(3) })
  })

  it('is removed when the container runs', () => {
    const waits = make.pod({ status: podIs.unready({ state: is.waiting('CreateContainerConfigError') }) })
    expect(app([3, waits], [9, make.pod({ status: podIs.ready(9) })])?.waiting).toBeUndefined()
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
  /** Returns the pods whose history an event changes. */
  const see = (object: KubeObject) =>
    store
      .apply({ at: moment(0), type: 'ADDED', object })
      .flatMap((change) => histories.observe(change, moment(0)) ?? [])
  for (const object of objects) see(object)
  const historyOf = (pod: Pod) => histories.of(pod, moment(0))
  return { see, historyOf, deathsOf: (pod: Pod) => historyOf(pod).containers.get('app')?.deaths }
}

describe('the histories of pods', () => {
  it('count a crash loop of the present template in full, although the ReplicaSets are listed after the pods', () => {
    const { see, deathsOf } = seen(make.deployment(), looping)
    expect(deathsOf(looping)).toBe(1)
    see(replicaSet)
    expect(deathsOf(looping)).toBe(9)
  })

  it('count it again when its template is changed', () => {
    const { see, deathsOf } = seen(make.deployment(), replicaSet, looping)
    expect(deathsOf(looping)).toBe(9)
    const annotations = { 'deployment.kubernetes.io/revision': '2' }
    see(make.replicaSet({ metadata: { name: 'web-2', creationTimestamp: iso(-5), annotations } }))
    expect(deathsOf(looping)).toBe(1)
  })

  it('count deaths by the present state of a pod that was never observed', () => {
    expect(seen().deathsOf(looping)).toBe(1)
  })

  it('count by the minReadySeconds of the controller, as soon as it is known', () => {
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
    expect(seen(event, pod).historyOf(pod).containers.get('app')?.refusals).toMatchObject({
      'image-not-found': { events: 2 },
    })
  })

  it('stay the same after an event that repeats an earlier one, or reports a step that the status shows too', () => {
    const pod = make.pod({ status: podIs.unready({ state: is.running(1) }) })
    const unhealthy = (count: number, message = 'Readiness probe failed: 503') =>
      make.event(pod, {
        container: 'app',
        reason: 'Unhealthy',
        message,
        count,
        metadata: { name: 'unhealthy', resourceVersion: `${count}` },
      })
    const { see, historyOf } = seen(pod)
    expect(see(unhealthy(1))).toEqual([pod])
    const history = historyOf(pod)
    expect(see(unhealthy(2))).toEqual([])
    expect(see(make.event(pod, { container: 'app', reason: 'Created', metadata: { name: 'created' } }))).toEqual([])
    expect(historyOf(pod)).toBe(history)
    expect(see(unhealthy(3, 'Readiness probe failed: 404'))).toEqual([pod])
  })
})
