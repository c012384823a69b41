import type { ContainerStatus, EventObject, Pod } from '../../src/cluster/objects.ts'
import { momentAt } from '../../src/lifecycle/proof.ts'
import { examinePod } from '../../src/lifecycle/workloads/pod-state.ts'
import { condition, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { toEvent } from '../kit/pods.ts'
import { rows } from '../kit/rows.ts'
import { counted, found, reader, sightings } from '../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** A pod of two containers, `app` and `b`, and an init container `i`. */
function createTrio(statuses: Partial<Record<'i' | 'app' | 'b', Partial<ContainerStatus>>>, rest: object = {}): Pod {
  const status = (name: 'i' | 'app' | 'b') =>
    statuses[name] === undefined ? [] : [make.containerStatus({ name, ...statuses[name] })]
  return make.pod({
    spec: {
      initContainers: [make.container({ name: 'i' })],
      containers: [make.container(), make.container({ name: 'b' })],
      ...rest,
    },
    status: {
      phase: 'Pending',
      startTime: iso(1),
      initContainerStatuses: status('i'),
      containerStatuses: [...status('app'), ...status('b')],
    },
  })
}

function examine(pod: Pod, ...events: readonly EventObject[]) {
  return found({ now: 60, objects: [pod, ...events] }, (given) => examinePod(pod, given))
}

const ended = { state: is.terminated(0, 5) }
const runs = { state: is.running(6), started: true }

describe('a pod of several containers', () => {
  const statuses: Readonly<Record<string, Partial<ContainerStatus>>> = {
    created: {},
    pulled: { imageID: 'x' },
    runs,
    'runs and is ready': { ...runs, ready: true },
    'runs again': { ...runs, restartCount: 1 },
    ended,
    died: { state: is.terminated(1, 5) },
    loops: { state: is.waiting('CrashLoopBackOff'), lastState: is.terminated(1, 5) },
    refused: { state: is.terminated(128, 5, { reason: 'StartError' }) },
  }
  const toStatus = (words: string): Partial<ContainerStatus> => {
    const [, reason = '', message] = /^waits (\w+)(?:: (.*))?$/.exec(words) ?? []
    return statuses[words] ?? { state: is.waiting(reason, message) }
  }

  type Trio = Readonly<Record<'i' | 'app' | 'b', string>> & { restartPolicy?: string }

  it.each(rows<[string, Trio, object, (readonly string[])?]>(data, 'a pod of several containers'))(
    '%s',
    (_, { i, app, b, ...rest }, state, events = []) => {
      const pod = createTrio({ i: toStatus(i), app: toStatus(app), b: toStatus(b) }, rest)
      const found = examine(pod, ...events.map((text) => toEvent(pod, text)))
      expect({ ...found, stallHold: found.stallHold ?? null }).toMatchObject(state)
    },
  )

  it('is initialised when its condition is True or it runs', () => {
    const pending = createTrio({ i: ended })
    const initialized = { ...pending, status: { ...pending.status, conditions: [condition('Initialized', 'True')] } }
    expect(examine(pending).initialized).toBe(false)
    expect(examine(initialized).initialized).toBe(true)
    expect(examine({ ...pending, status: { ...pending.status, phase: 'Running' } }).initialized).toBe(true)
  })

  it('is not assessed again for a past moment, nor for settling before it is ready, but when its node may be lost', () => {
    const pod = createTrio({ i: ended, app: { state: is.running(59), started: true }, b: runs })
    expect(examine(pod).recheckAt).toBe(moment(60 + 120))
  })

  it('is assessed again when the last of its containers settles', () => {
    const pod = createTrio({ i: ended, app: { state: is.running(58), started: true }, b: runs })
    const ready = { ...pod, status: { ...pod.status, phase: 'Running', conditions: [condition('Ready', 'True')] } }
    expect(examine(ready).recheckAt).toBe(moment(68))
  })
})

// The kubelet's events about image volumes are about the pod (getImageVolumes, pkg/kubelet/kuberuntime).
describe('a pod with an image volume', () => {
  const volumes = [{ name: 'model', image: { reference: 'acme/model:v1' } }]
  const pod = make.pod({ spec: { volumes } as object, status: podIs.unready({}, { phase: 'Pending' }) })
  const event = (reason: string, at: number) =>
    make.event(pod, { reason, firstTimestamp: iso(at), lastTimestamp: iso(at) })

  it('has a stall hold only while the volume is being pulled', () => {
    expect(found({ objects: [event('Pulling', 1)] }, (given) => examinePod(pod, given)).stallHold).toBe(
      'an image is being pulled',
    )
    const pulled = [event('Pulling', 1), event('Pulled', 9)]
    expect(found({ objects: pulled }, (given) => examinePod(pod, given)).stallHold).toBeUndefined()
  })
})

describe('a pod that is examined again and again', () => {
  const probes = { startupProbe: { periodSeconds: 5, failureThreshold: 4 }, readinessProbe: { failureThreshold: 2 } }
  const probed = { containers: [make.container(probes)] }
  const isReady = { containers: [make.container({ readinessProbe: {} })] }
  it.each<[name: string, states: number, pod: Pod, minReadySeconds: number]>([
    ['is read once while it is pending', 1, make.pod({ status: { startTime: iso(1) } }), 0],
    ['is read again when it is settled', 2, make.pod({ status: podIs.ready(5) }), 0],
    [
      'is read once if it has a readiness probe and is ready',
      1,
      make.pod({ spec: isReady, status: podIs.ready(5) }),
      0,
    ],
    ['is read again after minReadySeconds', 2, make.pod({ spec: isReady, status: podIs.ready(5) }), 30],
  ])('%s', (_, states, pod, minReadySeconds) => {
    const view = counted(sightings([5, pod]), pod, undefined, minReadySeconds)
    const base = { ...reader(), podView: () => view }
    const found = new Set()
    for (let seconds = 5; seconds < 100; seconds += 1) {
      const state = examinePod(pod, { ...base, ...momentAt(moment(seconds)) })
      found.add(state)
      const copy = structuredClone(view)
      expect(state).toEqual(examinePod(pod, { ...base, podView: () => copy, ...momentAt(moment(seconds)) }))
    }
    expect(found.size).toBe(states)
  })

  it('is read again when its probes are due; what it reports is read once, what proves its problem at each moment', () => {
    const pod = make.pod({ spec: probed, status: podIs.unready({ state: is.running(5), started: true }) })
    const view = counted(sightings([5, pod]), pod)
    const base = { ...reader(), podView: () => view }
    const at = (seconds: number) => examinePod(pod, { ...base, ...momentAt(moment(seconds)) })
    const first = momentAt(moment(10))
    const early = examinePod(pod, { ...base, ...first })
    expect(early.stallHold).toBeDefined()
    expect(at(20)).toBe(early)
    const present = momentAt(moment(20))
    examinePod(pod, { ...base, ...present })
    expect(present.nextMoment()).toBe(first.nextMoment())
    expect(at(60).stallHold).toBeUndefined()
    expect(at(60).problems).toHaveLength(1)
    expect(at(61)).not.toBe(at(60))
    expect(at(61).problems[0]?.detail).toBe(at(60).problems[0]?.detail)
    expect(at(6).problems).toEqual([])
  })

  it('is read again after another observation or another event', () => {
    const pod = make.pod({ status: podIs.ready(5) })
    const view = counted(sightings([5, pod]), pod)
    const base = { ...reader({ now: 10 }), podView: () => view }
    const state = examinePod(pod, base)
    expect(state.settled).toBe(false)
    expect(examinePod(pod, base)).toBe(state)
    expect(examinePod(pod, { ...base, podView: () => ({ ...view }) })).not.toBe(state)
    const pulled = make.event(pod, { reason: 'Pulled', message: 'Successfully pulled image "a" in 2s' })
    const reported = counted(sightings([5, pod]), pod, undefined, 0, [pulled])
    expect(examinePod(pod, { ...base, podView: () => reported }).pullMs).toBe(2_000)
  })
})
