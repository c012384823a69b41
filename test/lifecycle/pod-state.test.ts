import type { ContainerStatus, EventObject, Pod } from '../../src/cluster/objects.ts'
import { isSettled, isWorkingPod, problemsOfPod, waitOfPod } from '../../src/lifecycle/workloads/pod-state.ts'
import { condition, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { toEvent } from '../kit/pods.ts'
import { rows } from '../kit/rows.ts'
import { found } from '../kit/rule.ts'

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
  return found({ now: 60, objects: [pod, ...events] }, (given) => {
    const view = given.podView(pod)
    const wait = waitOfPod(view, given)
    return {
      ...view,
      settled: isSettled(view, given),
      shieldsOthers: isWorkingPod(view, given),
      problems: problemsOfPod(view, given),
      stallHold: wait.stallHold,
      quietNode: wait.possiblyLostNode,
    }
  })
}

const ended = { state: is.terminated(0, 5) }
const runs = { state: is.running(6), started: true }

describe('a pod with several containers', () => {
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

  it.each(rows<[string, Trio, object, (readonly string[])?]>(data, 'a pod with several containers'))(
    '%s',
    (_, { i, app, b, ...rest }, state, events = []) => {
      const pod = createTrio({ i: toStatus(i), app: toStatus(app), b: toStatus(b) }, rest)
      const found = examine(pod, ...events.map((text) => toEvent(pod, text)))
      expect({ ...found, stallHold: found.stallHold ?? null }).toMatchObject(state)
    },
  )

  it('is initialized if Initialized is True or its phase is Running', () => {
    const pending = createTrio({ i: ended })
    const initialized = { ...pending, status: { ...pending.status, conditions: [condition('Initialized', 'True')] } }
    expect(examine(pending).initialized).toBe(false)
    expect(examine(initialized).initialized).toBe(true)
    expect(examine({ ...pending, status: { ...pending.status, phase: 'Running' } }).initialized).toBe(true)
  })

  it('that is not ready is assessed again only when its node may be lost', () => {
    const pod = createTrio({ i: ended, app: { state: is.running(59), started: true }, b: runs })
    expect(examine(pod).recheckAt).toBe(moment(60 + 120))
  })

  it('that is ready is assessed again when the last of its containers settles', () => {
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

  it('stops the stall clock only while the volume is being pulled', () => {
    expect(examine(pod, event('Pulling', 1)).stallHold).toBe('an image is being pulled')
    expect(examine(pod, event('Pulling', 1), event('Pulled', 9)).stallHold).toBeUndefined()
  })
})
