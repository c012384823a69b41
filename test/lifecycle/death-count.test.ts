import type { Pod, PodStatus } from '../../src/cluster/objects.ts'
import { is, iso, make, minute, moment, podIs } from '../kit/objects.ts'
import { counted, sightings } from '../kit/rule.ts'

type Seen = readonly [seconds: number, status: PodStatus]

const day = 24 * 60 * minute
const probed = { containers: [make.container({ readinessProbe: {} })] }

/**
 * The status of a container that waits for its restart after its nth death, at `finishedAt`, of an instance that ran
 * for `ranFor` seconds.
 */
function looping(nth: number, finishedAt: number, { backOff = '5m0s', ranFor = 1 } = {}): PodStatus {
  return podIs.unready({
    restartCount: nth - 1,
    state: is.waiting('CrashLoopBackOff', `back-off ${backOff} restarting failed container=app pod=web-1-a_shop(1)`),
    lastState: is.terminated(3, finishedAt, { startedAt: iso(finishedAt - ranFor) }),
  })
}

/**
 * The deaths that count of a pod that was made at one second, and whose template was changed at another or at an
 * unknown one.
 */
function count(made: number, changed: number | undefined, ...versions: readonly Seen[]) {
  const pods = versions.map(([seconds, status]): readonly [number, Pod] => [
    seconds,
    make.pod({ metadata: { creationTimestamp: iso(made) }, spec: probed, status }),
  ])
  return counted(sightings(...pods), pods.at(-1)?.[1], changed).containers.get('app')
}

describe('the deaths of a pod that is older than the gate', () => {
  const twenty = -20 * minute

  it.each<[string, number, number, number | undefined, readonly Seen[]]>([
    [
      'all count at once when it was made after its template was changed 20 minutes ago',
      9,
      twenty,
      twenty,
      [[0, looping(9, -30)]],
    ],
    ['count from first sight when the time of the change is unknown', 1, twenty, undefined, [[0, looping(9, -30)]]],
    [
      'count from first sight when it was made before its template was changed',
      1,
      twenty,
      -minute,
      [[0, looping(9, -30)]],
    ],
    [
      'are one when it ran for a day before, as every night',
      1,
      -40 * day,
      -40 * day,
      [[0, looping(40, -5, { backOff: '10s', ranFor: day })]],
    ],
    [
      'are none while it is ready, whatever its restarts',
      0,
      -3 * day,
      -3 * day,
      [[0, podIs.ready(-60, { restartCount: 40, lastState: is.terminated(137, -61) })]],
    ],
    [
      'are none when it blinks, and has run for days',
      0,
      -3 * day,
      -3 * day,
      [
        [
          0,
          podIs.unready({ restartCount: 5, state: is.running(-2 * day), lastState: is.terminated(3, -2 * day - 10) }),
        ],
      ],
    ],
    [
      'are one when it was ready, blinked and was killed',
      1,
      -3 * day,
      -3 * day,
      [
        [0, podIs.ready(-60, { restartCount: 40, lastState: is.terminated(137, -61) })],
        [5, podIs.unready({ restartCount: 40, state: is.running(-60), lastState: is.terminated(137, -61) })],
        [9, looping(41, 8, { backOff: '10s', ranFor: 68 })],
      ],
    ],
  ])('%s', (_, deaths, made, changed, versions) => {
    expect(count(made, changed, ...versions)?.deaths).toBe(deaths)
  })

  it('are never more than the kubelet counts', () => {
    expect(count(twenty, twenty, [0, looping(3, -30)])?.deaths).toBe(3)
  })

  it('have the latest as the first when no other is known', () => {
    expect(count(twenty, twenty, [0, looping(9, -30)])?.firstDeathAt).toBe(moment(-30))
  })

  it('have the moment at which the first was seen, however often the pod is updated later', () => {
    const died = podIs.unready({ restartCount: 1, state: is.running(1), lastState: { terminated: { exitCode: 1 } } })
    const seen: readonly Seen[] = [0, 10, 20].map((second) => [second, died])
    expect(count(-1, -1, ...seen)?.firstDeathAt).toBe(moment(0))
  })

  it('are not moved to an earlier back-off when some were forgiven', () => {
    expect(count(twenty, undefined, [0, looping(9, -30)])?.firstDeathAt).toBe(moment(-30))
  })
})

describe('a readiness that was lost before the first sight', () => {
  const unready = (since: number, status: PodStatus): PodStatus => ({
    ...status,
    conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: iso(since) }],
  })
  const died = looping(3, -10, { backOff: '40s', ranFor: 60 })

  it('resets the earlier deaths if the container has a probe', () => {
    expect(count(-5 * minute, undefined, [0, unready(-10, died)])?.deaths).toBe(1)
  })

  it('resets nothing if it was lost before the last instance started', () => {
    expect(count(-5 * minute, undefined, [0, unready(-4 * minute, died)])?.deaths).toBe(3)
  })

  it('means nothing without a probe: then every instance is ready as soon as it runs', () => {
    const pod = make.pod({ metadata: { creationTimestamp: iso(-5 * minute) }, status: unready(-10, died) })
    expect(counted(sightings([0, pod]), pod).containers.get('app')?.deaths).toBe(3)
  })
})

describe('under a workload with minReadySeconds', () => {
  const lives = (from: number, restartCount = 0, died = 0) =>
    podIs.ready(from, restartCount === 0 ? {} : { restartCount, lastState: is.terminated(3, died) })
  const third = podIs.unready({ restartCount: 2, state: is.terminated(3, 62, { startedAt: iso(47) }) })
  const crasher = (spec = {}): readonly (readonly [number, Pod])[] =>
    [
      [1, lives(1)] as const,
      [16, podIs.unready({ state: is.terminated(3, 16, { startedAt: iso(1) }) })] as const,
      [17, lives(17, 1, 16)] as const,
      [32, podIs.unready({ restartCount: 1, state: is.terminated(3, 32, { startedAt: iso(17) }) })] as const,
      [47, lives(47, 2, 32)] as const,
      [62, third] as const,
    ].map(([seconds, status]) => [seconds, make.pod({ spec, status })])
  const deaths = (minReadySeconds: number, spec = {}) =>
    counted(sightings(...crasher(spec)), make.pod({ spec }), undefined, minReadySeconds).containers.get('app')?.deaths

  it.each([
    ['a container that lives longer than the settle time recovers where its workload asks for no more', 1, 0, {}],
    ['one that dies within minReadySeconds has not recovered', 3, 30, {}],
    ['neither has one whose readiness probe succeeds', 3, 30, probed],
    ['one that outlives minReadySeconds has recovered', 1, 12, {}],
  ])('%s', (_, expected, minReadySeconds, spec) => expect(deaths(minReadySeconds, spec)).toBe(expected))

  it('a container whose probe succeeds late has been ready only since then, however long it ran', () => {
    const unready = (since: number): PodStatus => ({
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: iso(since) }],
    })
    const readySince = (since: number, restartCount: number, from: number): PodStatus => ({
      ...podIs.unready({ restartCount, ready: true, state: is.running(from) }),
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: iso(since) }],
    })
    const dead = (restartCount: number, from: number, at: number): PodStatus => ({
      ...podIs.unready({ restartCount, state: is.terminated(3, at, { startedAt: iso(from) }) }),
      ...unready(at),
    })
    const seen = [
      [6, readySince(6, 0, 1)] as const,
      [20, dead(0, 1, 20)] as const,
      [26, readySince(26, 1, 21)] as const,
      [40, dead(1, 21, 40)] as const,
      [66, readySince(66, 2, 61)] as const,
      [80, dead(2, 61, 80)] as const,
    ].map(([at, status]) => [at, make.pod({ spec: probed, status })] as const)
    const pod = make.pod({ spec: probed })
    expect(counted(sightings(...seen), pod, undefined, 15).containers.get('app')?.deaths).toBe(3)
    expect(counted(sightings(...seen), pod, undefined, 14).containers.get('app')?.deaths).toBe(1)
  })
})
