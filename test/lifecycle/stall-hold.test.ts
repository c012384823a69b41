import { examinePod } from '../../src/lifecycle/workloads/pod-state.ts'
import { examinePods } from '../../src/lifecycle/workloads/revision-pods.ts'
import { isAnyUnavailable } from '../../src/lifecycle/workloads/workload.ts'
import { missingObjectMs } from '../../src/thresholds.ts'
import { is, iso, make, moment, podIs } from '../kit/objects.ts'
import { found, reader, sightings } from '../kit/rule.ts'

describe('a container that crashed until another target was ready', () => {
  const examine = (now: number, othersReadyAt: number, status = podIs.looping(3, 15)) => {
    const pod = make.pod({ status })
    const seen = sightings([1, make.pod({ status: podIs.dead(1, 1) })], [16, pod])
    const observed = new Map([[pod.metadata.uid ?? '', seen]])
    return examinePod(pod, reader({ now, othersReadyAt, sightings: observed })).problems[0]?.proven
  }

  it('may become ready with its next start', () => {
    expect(examine(36, 36)).toBe(false)
    expect(examine(42, 36)).toBe(false)
  })

  it('has failed when it dies again although the other target is ready', () => {
    expect(examine(44, 36, podIs.looping(4, 44))).toBe(true)
  })

  it('fails when the other target was ready before its last start', () => {
    expect(examine(31, 5)).toBe(true)
  })

  it('has 90 s at the most', () => {
    expect(examine(91, 36)).toBe(true)
  })

  it('did not wait if it could not be started at all', () => {
    const never = { reason: 'StartError', exitCode: 128, startedAt: '1970-01-01T00:00:00Z' }
    expect(examine(36, 35, podIs.dead(3, 15, never))).toBe(true)
  })
})

describe('a missing object', () => {
  const message = 'secret "database" not found'
  const status = podIs.unready({ state: is.waiting('CreateContainerConfigError', message) }, { phase: 'Pending' })
  const pod = make.pod({ status })
  const refused = (first: number, last: number, text = message) =>
    make.event(pod, {
      container: 'app',
      reason: 'Failed',
      message: `Error: ${text}`,
      firstTimestamp: iso(first),
      lastTimestamp: iso(last),
    })
  const examine = (now: number, ...events: ReturnType<typeof refused>[]) => {
    const observed = new Map([[pod.metadata.uid ?? '', sightings([12, pod])]])
    const all = { now, objects: [pod, ...events], sightings: observed }
    return found(all, (given) => examinePod(pod, given)).problems[0]
  }

  const proofSeconds = missingObjectMs / 1_000

  it('is proven by the time since the first refusal, which the status shows late', () => {
    const now = 2 + proofSeconds
    expect(examine(now, refused(2, now - 1))?.proven).toBe(false)
    expect(examine(now, refused(2, now))).toMatchObject({
      proven: true,
      detail: { missing: { kind: 'secret', name: 'database' } },
    })
  })

  it('is not proven at once when another object is missing', () => {
    expect(examine(71, refused(2, 71, 'configmap "settings" not found'))?.proven).toBe(false)
  })

  it('is proven by the time since the start of the gate if it was missing before', () => {
    expect(examine(proofSeconds, refused(-600, proofSeconds - 1))?.proven).toBe(false)
    expect(examine(proofSeconds, refused(-600, proofSeconds))?.proven).toBe(true)
  })

  describe('of a volume', () => {
    const creating = make.pod({ status: podIs.unready({}, { phase: 'Pending' }) })
    const mount = (first: number, last: number) =>
      make.event(creating, {
        reason: 'FailedMount',
        message: `MountVolume.SetUp failed for volume "v" : ${message}`,
        firstTimestamp: iso(first),
        lastTimestamp: iso(last),
      })
    const proven = (now: number, first: number, last: number) =>
      found({ now, objects: [creating, mount(first, last)] }, (given) => examinePod(creating, given)).problems[0]
        ?.proven

    it('is not proven until the kubelet has retried since the gate began', () => {
      expect(proven(100, -300, -20)).toBe(false)
      expect(proven(100, -300, 99)).toBe(true)
    })
  })

  it('is reported by the event that names it, not by the summary', () => {
    const creating = make.pod({ status: podIs.unready({}, { phase: 'Pending' }) })
    const events = [
      make.event(creating, {
        reason: 'FailedMount',
        message: `MountVolume.SetUp failed for volume "v" : ${message}`,
        metadata: { name: 'a' },
      }),
      make.event(creating, {
        reason: 'FailedMount',
        message: 'Unable to attach or mount volumes: unmounted volumes=[v]',
        metadata: { name: 'b' },
      }),
    ]
    const [problem] = found({ now: 5, objects: [creating, ...events] }, (given) => examinePod(creating, given)).problems
    expect(problem?.message).toBe('volume "v" cannot be mounted: secret/database does not exist')
  })
})

describe('pods that are ready and not yet available', () => {
  const state = found({ now: 20 }, (given) => examinePods([make.pod({ status: podIs.ready(1) })], given))

  it.each([
    ['hold the stall clock until minReadySeconds end', 30, 20, moment(31)],
    ['do not hold it after minReadySeconds', 30, 31, undefined],
    ['do not hold it if minReadySeconds is 0', 0, 20, undefined],
    ['do not hold it without minReadySeconds', undefined, 20, undefined],
  ])('%s', (_, minReadySeconds, now, until) => {
    const found = reader({ now })
    expect(isAnyUnavailable(minReadySeconds, state, found)).toBe(until !== undefined)
    expect(found.nextMoment()).toBe(until)
  })
})
