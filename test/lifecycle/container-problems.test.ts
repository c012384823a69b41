import type { EventObject, Pod } from '../../src/cluster/objects.ts'
import { findInContainer } from '../../src/lifecycle/workloads/container-problems.ts'
import type { PodObservations } from '../../src/lifecycle/workloads/observe-pods.ts'
import type { Problem } from '../../src/reasons/reasons.ts'
import { is, iso, make, moment, podIs } from '../kit/objects.ts'
import { rows, titled } from '../kit/rows.ts'
import { containerIn, found, type ReaderOptions, type Reported, sightings } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

interface Look extends ReaderOptions {
  readonly events?: readonly EventObject[]
  readonly container?: string
  readonly history?: never
  readonly seen?: PodObservations
}

/** What is wrong with the container `app` of a pod, `now` seconds after the gate began. */
function examine(
  pod: Pod,
  { events = [], container = 'app', seen, ...options }: Look,
): Reported<{ problem?: Problem; recheckAt?: number }> {
  const observed = new Map([[pod.metadata.uid ?? '', seen ?? sightings([options.now ?? 0, pod])]])
  const all = { ...options, objects: [pod, ...events], sightings: observed }
  const at = containerIn(pod, { ...all, container })
  return found(all, (given) => ({ problem: findInContainer(at, given)?.(given) }))
}

const words = {
  notFound: 'failed to pull and unpack image "acme/web:v1": acme/web:v1: not found',
  unauthorized: 'pulling from host acme failed with status code [manifests v1]: 401 Unauthorized',
  rateLimited: 'pulling from host acme failed with status code [manifests v1]: 429 Too Many Requests',
  refused: 'dial tcp 127.0.0.1:5996: connect: connection refused',
  platform: 'failed to pull and unpack image "acme/web:v1": no match for platform in manifest: not found',
  fullDisk: 'failed to extract layer sha256:24: write /var/lib/containerd/x: no space left on device: unknown',
  noHost: 'dial tcp: lookup acme on 10.0.0.2:53: no such host',
}

function refusedTimes(message: string, count: number, firstAt = 1): EventObject {
  return make.event(make.pod(), {
    container: 'app',
    reason: 'Failed',
    message: `Failed to pull image "acme/web:v1": ${message}`,
    count,
    firstTimestamp: iso(firstAt),
    lastTimestamp: iso(firstAt),
  })
}

describe('a pull that is refused', () => {
  it.each(rows<[string, string, number, string, string, boolean]>(data, 'a pull that is refused'))(
    '%s',
    (_, message, count, reason, problemClass, proven) => {
      const pod = make.pod({ status: podIs.unready({ state: is.waiting('ErrImagePull', message) }) })
      const { problem } = examine(pod, { now: 50, events: [refusedTimes(message, count)] })
      expect(problem).toMatchObject({
        reason,
        class: problemClass,
        count,
        proven,
        subject: toSubject('pod/web-1-a'),
        container: 'app',
      })
    },
  )

  describe('as unauthorised, with a pull secret that is missing', () => {
    const pod = make.pod({ status: podIs.unready({ state: is.waiting('ErrImagePull', words.unauthorized) }) })
    const secret = make.event(pod, { reason: 'FailedToRetrieveImagePullSecret', message: 'Unable to retrieve' })
    const refused = (count: number, last: number) => ({
      ...refusedTimes(words.unauthorized, count),
      lastTimestamp: iso(last),
    })

    it.each<[string, boolean, EventObject, Look]>([
      ['is not proven by the third refusal, 40 s after the first', false, refused(3, 41), { now: 75 }],
      ['is proven by the next one', true, refused(4, 92), { now: 92 }],
      [
        'is not proven by one within 90 s while another target progresses',
        false,
        refused(4, 90),
        { now: 90, othersProgress: true },
      ],
      [
        'is proven by one after 90 s while another target progresses',
        true,
        refused(4, 92),
        { now: 92, othersProgress: true },
      ],
    ])('%s', (_, proven, event, options) => {
      expect(examine(pod, { ...options, events: [secret, event] }).problem?.proven).toBe(proven)
    })
  })

  it('is counted by its event while the status still shows that the container is being created', () => {
    const pod = make.pod({ status: podIs.unready({}, { phase: 'Pending' }) })
    const { problem } = examine(pod, { now: 15, events: [refusedTimes(words.notFound, 2)] })
    expect(problem).toMatchObject({ reason: 'image-not-found', proven: true, firstSeenAt: moment(1) })
  })

  it('is known by its states if events cannot be read', () => {
    const state = (reason: string) => make.pod({ status: podIs.unready({ state: is.waiting(reason, words.notFound) }) })
    const seen = sightings([1, state('ErrImagePull')], [14, state('ImagePullBackOff')], [27, state('ErrImagePull')])
    expect(examine(state('ErrImagePull'), { now: 27, seen }).problem).toMatchObject({ count: 2, proven: true })
  })

  it('is reported with the image and the answer of the registry', () => {
    const pod = make.pod({ status: podIs.unready({ state: is.waiting('ErrImagePull', words.notFound) }) })
    expect(examine(pod, { now: 15, events: [refusedTimes(words.notFound, 2)] }).problem?.message).toBe(
      'cannot pull image "acme/web:v1": not found, 2 times',
    )
  })

  it('is reported with the last reason that the registry gave', () => {
    const pod = make.pod({ status: podIs.unready({ state: is.waiting('ErrImagePull', words.notFound) }) })
    const busy = { ...refusedTimes(words.rateLimited, 3, 1), metadata: { name: 'busy' } }
    for (const events of [
      [busy, refusedTimes(words.notFound, 1, 20)],
      [refusedTimes(words.notFound, 1, 20), busy],
    ]) {
      const seen = sightings([0, make.pod({ status: podIs.unready({}) })])
      expect(examine(pod, { now: 21, events, seen }).problem).toMatchObject({ reason: 'image-not-found', count: 1 })
    }
  })

  it('is not hidden by a back-off that gives no cause', () => {
    const bare = make.pod({
      status: podIs.unready({ state: is.waiting('ImagePullBackOff', 'Back-off pulling image "acme/web:v1"') }),
    })
    const events = [refusedTimes(words.notFound, 2, -8)]
    expect(examine(bare, { now: 3, seen: sightings([2, bare]), events }).problem).toMatchObject({
      reason: 'image-not-found',
      count: 2,
    })
  })

  it('is reported with the reason of the latest attempt, in any order of the events', () => {
    const pod = make.pod({ status: podIs.unready({}, { phase: 'Pending' }) })
    const down = { ...refusedTimes(words.refused, 1, 15), lastTimestamp: iso(15), metadata: { name: 'down' } }
    const missing = { ...refusedTimes(words.notFound, 2, 1), lastTimestamp: iso(41) }
    expect(examine(pod, { now: 42, events: [missing, down] }).problem).toMatchObject({
      reason: 'image-not-found',
      proven: true,
    })
  })

  it.each([
    ['RegistryUnavailable', 'the registry is unavailable: dial tcp: i/o timeout', 'image-registry-unreachable'],
    ['SignatureValidationFailed', 'the signature validation failed: source image rejected', 'image-unauthorized'],
  ])('counts when its state is %s', (state, why, reason) => {
    const message = `image pull failed for acme/web:v1 because ${why}`
    const pod = make.pod({ status: podIs.unready({ state: is.waiting(state, message) }) })
    expect(examine(pod, { now: 2 }).problem).toMatchObject({ count: 1, reason })
  })

  it('is reported with its number only when it is more than one', () => {
    const pod = make.pod({ status: podIs.unready({ state: is.waiting('ErrImagePull', words.notFound) }) })
    expect(examine(pod, { now: 2 }).problem?.message).toBe('cannot pull image "acme/web:v1": not found')
  })

  it('is no longer a problem once the container runs', () => {
    const pod = make.pod({ status: podIs.ready(30) })
    expect(examine(pod, { now: 31, events: [refusedTimes(words.unauthorized, 2)] }).problem).toBeUndefined()
  })
})

describe('a Secret or ConfigMap that the environment needs and that is missing', () => {
  it.each(['container has runAsNonRoot and image will run as root', "container's runAsUser breaks non-root policy"])(
    'is not a forbidden user: %s',
    (words) => {
      const state = is.waiting('CreateContainerConfigError', `${words} (pod: "web-1-a_shop(8a1f)", container: app)`)
      expect(examine(make.pod({ status: podIs.unready({ state }) }), { now: 2 }).problem).toMatchObject({
        reason: 'container-create-failed',
        message: `cannot be created: ${words}`,
        detail: { mayBeRoot: true },
      })
    },
  )
})

describe('a container that dies', () => {
  it('proves nothing while its next instance runs', () => {
    const status = podIs.unready({ restartCount: 5, state: is.running(50), lastState: is.terminated(3, 40) })
    const pod = make.pod({ spec: { containers: [make.container({ readinessProbe: {} })] }, status })
    expect(examine(pod, { now: 60 }).problem).toMatchObject({ reason: 'crash-loop', count: 5, proven: false })
  })

  it('with exit code 0 has died if it must run for ever', () => {
    const pod = make.pod({ status: podIs.looping(3, 15, 0) })
    expect(examine(pod, { now: 60 }).problem).toMatchObject({ reason: 'crash-loop', proven: true })
  })

  it('with exit code 0 has completed if it may end', () => {
    const pod = make.pod({
      spec: { restartPolicy: 'OnFailure' },
      status: podIs.unready({ restartCount: 0, state: is.terminated(0, 15) }),
    })
    expect(examine(pod, { now: 60 }).problem).toBeUndefined()
  })

  it.each(titled(rows<[string, object]>(data, 'the reason of a death')))('has a reason: %s', (_, [reason, death]) => {
    const pod = make.pod({ status: podIs.dead(1, 2, death) })
    expect(examine(pod, { now: 5 }).problem).toMatchObject({ reason, class: 'strike' })
  })

  it.each([
    ['liveness', 'liveness-failing'],
    ['startup', 'startup-failing'],
  ])('because its %s probe failed has the reason %s, although it ended well', (probe, reason) => {
    const pod = make.pod({ status: podIs.looping(1, 4, 0) })
    const message = `Container app failed ${probe} probe, will be restarted`
    const killing = make.event(pod, { container: 'app', reason: 'Killing', message })
    expect(examine(pod, { now: 5, events: [killing] }).problem?.reason).toBe(reason)
  })

  it('is reported with its exit code and its number', () => {
    const pod = make.pod({ status: podIs.looping(3, 4, 137) })
    expect(examine(pod, { now: 60 }).problem).toMatchObject({
      message: 'exited with code 137 (killed), 3 times',
      detail: { exitCode: 137 },
    })
  })

  it.each(titled(rows<[object, object, string]>(data, 'the message of a death'), ([, , message]) => message))(
    'has the message: %s',
    (_, [death, resources, message]) => {
      const pod = make.pod({ spec: { containers: [make.container({ resources })] }, status: podIs.dead(1, 2, death) })
      expect(examine(pod, { now: 5 }).problem?.message).toBe(message)
    },
  )

  it('by a signal names it', () => {
    const pod = make.pod({ status: podIs.dead(1, 2, { exitCode: 139, signal: 11 }) })
    expect(examine(pod, { now: 5 }).problem?.detail).toEqual({ exitCode: 139, signal: 11 })
  })

  it('is not assessed again while its deaths are too few to prove anything', () => {
    expect(examine(make.pod({ status: podIs.looping(2, 15) }), { now: 20 })).toMatchObject({ recheckAt: undefined })
  })

  it('has the reason init-container-failed if it is an init container, also before the main container starts', () => {
    const pod = make.pod({
      spec: { initContainers: [make.container({ name: 'migrate' })] },
      status: {
        initContainerStatuses: [
          make.containerStatus({ name: 'migrate', restartCount: 2, state: is.terminated(4, 39) }),
        ],
        containerStatuses: [make.containerStatus({ state: is.waiting('PodInitializing') })],
      },
    })
    expect(examine(pod, { now: 70, container: 'migrate' }).problem).toMatchObject({
      reason: 'init-container-failed',
      proven: true,
    })
    expect(examine(pod, { now: 70 }).problem).toBeUndefined()
  })

  it('has no problem if it is an init container that ended with 0', () => {
    const pod = make.pod({
      spec: { initContainers: [make.container({ name: 'migrate' })] },
      status: { initContainerStatuses: [make.containerStatus({ name: 'migrate', state: is.terminated(0, 3) })] },
    })
    expect(examine(pod, { now: 70, container: 'migrate' }).problem).toBeUndefined()
  })
})

describe('a container that runs and is not ready', () => {
  const probed = (probes: object) => ({ containers: [make.container(probes)] })
  const notReady = (probes: object, rest: object = {}) =>
    make.pod({ spec: probed(probes), status: podIs.unready({ state: is.running(10), started: true, ...rest }) })

  it('is no problem during the time of its probes', () => {
    const pod = notReady({ readinessProbe: { initialDelaySeconds: 60, periodSeconds: 10, failureThreshold: 3 } })
    expect(examine(pod, { now: 10 + 60 + 30 })).toEqual({ recheckAt: moment(10 + 60 + 30 + 1) })
  })

  it('is slow after it, with the message of the probe', () => {
    const pod = notReady({ readinessProbe: {} })
    const message = 'Readiness probe failed: HTTP probe failed with statuscode: 503'
    const unhealthy = make.event(pod, { container: 'app', reason: 'Unhealthy', message })
    expect(examine(pod, { now: 41, events: [unhealthy] }).problem).toMatchObject({
      reason: 'readiness-failing',
      class: 'slow',
      proven: false,
      message: 'fails its readiness probe: HTTP probe failed with statuscode: 503',
    })
  })

  it('is not slow with the message of another probe', () => {
    const pod = notReady({ readinessProbe: {} })
    const unhealthy = make.event(pod, { container: 'app', reason: 'Unhealthy', message: 'Liveness probe failed: no' })
    const other = make.event(pod, { container: 'app', reason: 'Other', message: 'Readiness is hard' })
    expect(examine(pod, { now: 41, events: [unhealthy, other] }).problem?.message).toBe(
      'runs, but its readiness probe has not succeeded',
    )
  })

  it('is no problem without a probe: it will be ready at once', () => {
    expect(examine(notReady({}), { now: 300 })).toEqual({})
    expect(examine(notReady({}, { started: false }), { now: 300 })).toEqual({})
  })

  it('is no problem as an init container, which has to end, for 30 s', () => {
    const spec = { initContainers: [make.container({ name: 'migrate', readinessProbe: {} })] }
    const migrate = make.containerStatus({ name: 'migrate', state: is.running(0), started: true })
    const pod = make.pod({ spec, status: { initContainerStatuses: [migrate] } })
    expect(examine(pod, { now: 29, container: 'migrate' })).toEqual({ recheckAt: moment(30) })
    expect(examine(pod, { now: 300, container: 'migrate' }).problem?.reason).toBe('init-container-running')
  })

  it('is slow without a message if the events stopped', () => {
    expect(examine(notReady({ readinessProbe: {} }), { now: 41 }).problem?.message).toBe(
      'runs, but its readiness probe has not succeeded',
    )
  })

  it('may only need time while it starts, however little its probe allows', () => {
    const pod = notReady({ readinessProbe: { periodSeconds: 1, failureThreshold: 1 } })
    expect(examine(pod, { now: 19 }).problem).toMatchObject({
      isStarting: true,
      message: 'has just started, and its readiness probe has not succeeded yet',
    })
    expect(examine(pod, { now: 20 }).problem).toMatchObject({ isStarting: false })
  })

  it('has the time of both probes while its startup probe has not succeeded', () => {
    const pod = notReady(
      { startupProbe: { periodSeconds: 5, failureThreshold: 20 }, readinessProbe: {} },
      { started: false },
    )
    expect(examine(pod, { now: 141 })).toEqual({ recheckAt: moment(10 + 101 + 31) })
    expect(examine(pod, { now: 142 }).problem).toMatchObject({ reason: 'startup-failing', class: 'slow' })
  })

  it('uses the server’s timestamps on the runner’s clock', () => {
    const at = containerIn(notReady({ readinessProbe: {} }), { serverOffsetMs: 3_000 })
    expect(at.probesDueAt).toBe(moment(38))
  })
})

describe('an image volume that is refused', () => {
  // The container waits with the refusal of the volume that it mounts (toKubeContainerImageVolumes, pkg/kubelet/kuberuntime).
  const volumes = [
    { name: 'model', image: { reference: 'acme/model:v1' } },
    { name: 'other', image: { reference: 'acme/other:v1' } },
  ]
  const containers = [{ ...make.container(), volumeMounts: [{ name: 'model', mountPath: '/model' }] }]
  const refusal = 'failed to resolve reference "acme/model:v1": acme/model:v1: not found'
  const waitingPod = (reason: string, message: string) => {
    const status = podIs.unready({ state: is.waiting(reason, message) }, { phase: 'Pending' })
    return make.pod({ spec: { containers, volumes } as object, status })
  }

  it.each([
    ['as it is refused', waitingPod('ErrImagePull', refusal)],
    [
      'as it is backed off from',
      waitingPod('ImagePullBackOff', `Back-off pulling image "acme/model:v1": ErrImagePull: ${refusal}`),
    ],
  ])('is named, not the image of the container, %s', (_, refused) => {
    expect(examine(refused, { now: 1 }).problem).toMatchObject({
      reason: 'image-not-found',
      message: 'cannot pull image "acme/model:v1": not found',
      detail: { image: 'acme/model:v1' },
    })
  })
})

// The kubelet pulls before each start: with imagePullPolicy Always, or after the image of a pod was changed in place.
test.each([
  ['died before', { lastState: is.terminated(0, 1), restartCount: 1 }],
  ['has died as often as is forgiven', { lastState: is.terminated(3, 1), restartCount: 2 }],
])('a container whose pull is refused and that %s waits for its image, and its deaths do not count', (_, rest) => {
  const refused = (reason: string) =>
    make.pod({ status: podIs.unready({ state: is.waiting(reason, words.notFound), ...rest }, { phase: 'Running' }) })
  const seen = sightings([2, refused('ErrImagePull')], [3, refused('ImagePullBackOff')], [17, refused('ErrImagePull')])
  expect(examine(refused('ErrImagePull'), { now: 17, seen }).problem).toMatchObject({
    reason: 'image-not-found',
    proven: true,
  })
})

describe('a refused pull that only the events show, of a container that has ended', () => {
  const ended = make.pod({ status: podIs.unready({ state: is.terminated(0, 5) }) })
  const refusedAt = (last: number) =>
    make.event(ended, {
      container: 'app',
      reason: 'Failed',
      message: `Failed to pull image "acme/web:v1": ${words.notFound}`,
      count: 2,
      firstTimestamp: iso(1),
      lastTimestamp: iso(last),
    })

  it('blocks the container if it came after its end', () => {
    const { problem } = examine(ended, { now: 17, events: [refusedAt(17)] })
    expect(problem).toMatchObject({ reason: 'image-not-found', proven: true })
  })

  it('is over when it came before', () => {
    expect(examine(ended, { now: 17, events: [refusedAt(4)] }).problem?.reason).toBe('crash-loop')
  })
})
