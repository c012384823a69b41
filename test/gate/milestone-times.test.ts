import type { KubeObject } from '../../src/cluster/objects.ts'
import {
  added,
  allSynced,
  at,
  createPodTarget,
  createTarget,
  createWorkload,
  modified,
  run,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, podIs, start } from '../kit/objects.ts'

const web = createWorkload('web')
const wrote = (manager: string, seconds: number, subresource?: string) => ({
  manager,
  operation: 'Update',
  time: iso(seconds),
  ...(subresource && { subresource }),
})

/** The moments that objects show, in seconds since the gate's start; the others in brackets. */
function moments(record: ReturnType<typeof run>['record']) {
  const [judged] = record.targets
  return Object.fromEntries(
    (judged?.milestones ?? []).flatMap(({ name, state, at = start, source }) => {
      const seconds = (at - start) / 1_000
      return state === 'done' ? [[name, source === 'object' ? seconds : `(${seconds})`]] : []
    }),
  )
}

const probed = { containers: [{ name: 'app', image: 'acme/web:v1', readinessProbe: {} }] }

/** A Deployment that was written at -60 s and complete at -18 s, and its pod. */
function finished({ isProbed = true } = {}): KubeObject[] {
  const deployment = web.deployment(
    complete(1, {
      conditions: [condition('Progressing', 'True', { reason: 'NewReplicaSetAvailable', lastUpdateTime: iso(-18) })],
    }),
    { metadata: { creationTimestamp: iso(-900), managedFields: [wrote('kubectl', -60), wrote('kcm', -18, 'status')] } },
  )
  const set = make.replicaSet({ metadata: { creationTimestamp: iso(-59) } }, deployment)
  const running = { running: { startedAt: iso(-40) } }
  const pod = make.pod(
    {
      metadata: { creationTimestamp: iso(-59) },
      ...(isProbed ? { spec: probed } : {}),
      status: {
        ...podIs.ready(-40),
        conditions: [
          condition('PodScheduled', 'True', { lastTransitionTime: iso(-58) }),
          condition('Ready', 'True', { lastTransitionTime: iso(-20) }),
        ],
        containerStatuses: [make.containerStatus({ ready: true, state: running })],
      },
    },
    set,
  )
  return [deployment, set, pod]
}

const events = synced('Event')

describe('the milestones from before the gate', () => {
  it('have the times of a Deployment: creation, writes, conditions and containers of pods, and its own condition', () => {
    const { record } = run([at(0, added(...finished()), events, allSynced)])
    expect(moments(record)).toEqual({
      created: -900,
      observed: -60,
      replicaset: -59,
      scheduled: -58,
      pulled: '(0)',
      started: -40,
      ready: -20,
      available: -20,
      drained: -18,
    })
  })

  it('have the end of the settle time for a pod without a probe', () => {
    const late = run([at(0, added(...finished({ isProbed: false })), allSynced)], {
      settings: { settleTimeMs: 30_000 },
    })
    expect(moments(late.record)).toMatchObject({ ready: -10, available: -20 })
  })

  it('have times on the clock of the runner', () => {
    const { record } = run([at(0, added(...finished()), allSynced)], { settings: { serverOffsetMs: 5_000 } })
    expect(moments(record)).toMatchObject({ observed: -65, ready: -25 })
  })

  it('have the times in the status of a Job', () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'web', namespace: 'shop', uid: 'j', creationTimestamp: iso(-50) },
      status: {
        startTime: iso(-49),
        completionTime: iso(-9),
        succeeded: 1,
        conditions: [
          condition('SuccessCriteriaMet', 'True', { lastTransitionTime: iso(-10) }),
          condition('Complete', 'True', { lastTransitionTime: iso(-9) }),
        ],
      },
    }
    const targets = [createTarget({ apiVersion: 'batch/v1', kind: 'Job' })]
    expect(moments(run([at(0, added(job), events)], { targets }).record)).toEqual({
      created: -50,
      started: -49,
      succeeded: -10,
      complete: -9,
    })
  })

  const claimWith = (managedFields: ReturnType<typeof wrote>[], status: object) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'web', namespace: 'shop', uid: 'c', creationTimestamp: iso(-50), managedFields },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound', ...status },
  })
  const timesOfClaim = (claim: ReturnType<typeof claimWith>) => {
    const targets = [createTarget({ apiVersion: 'v1', kind: 'PersistentVolumeClaim' })]
    return moments(run([at(0, added(claim), events, synced('Pod'))], { targets }).record)
  }

  it('have the writes that bound a claim', () => {
    const writes = [
      wrote('kubectl', -50),
      wrote('kube-controller-manager', -41),
      wrote('kube-controller-manager', -40, 'status'),
    ]
    expect(timesOfClaim(claimWith(writes, {}))).toEqual({ created: -50, provisioned: -41, bound: -40 })
  })

  it('have the write of its volume for a claim whose use was written to the status later', () => {
    const writes = [
      wrote('kubectl', -50),
      wrote('kube-controller-manager', -41),
      wrote('kube-controller-manager', -20, 'status'),
    ]
    const unused = { type: 'Unused', status: 'False', lastTransitionTime: iso(-20) }
    expect(timesOfClaim(claimWith(writes, { conditions: [unused] }))).toEqual({
      created: -50,
      provisioned: -41,
      bound: -41,
    })
  })

  it('have the transition of a condition of a custom resource, unless the last write of the spec is newer', () => {
    const resource = (writtenAt: number) => ({
      apiVersion: 'acme.io/v1',
      kind: 'Widget',
      metadata: {
        name: 'web',
        namespace: 'shop',
        uid: 'w',
        generation: 2,
        creationTimestamp: iso(-900),
        managedFields: [wrote('kubectl', writtenAt)],
      },
      status: {
        observedGeneration: 2,
        conditions: [condition('Ready', 'True', { observedGeneration: 2, lastTransitionTime: iso(-30) })],
      },
    })
    const targets = [createTarget({ apiVersion: 'acme.io/v1', kind: 'Widget' })]
    const of = (writtenAt: number) => moments(run([at(0, added(resource(writtenAt)), events)], { targets }).record)
    expect(of(-40)).toEqual({ created: -900, observed: -40, ready: -30 })
    expect(of(-20)).toEqual({ created: -900, observed: -20, ready: '(0)' })
  })

  it('have the end of the containers of a bare Pod that succeeded', () => {
    const pod = make.barePod({
      metadata: { creationTimestamp: iso(-60) },
      status: { phase: 'Succeeded', containerStatuses: [make.containerStatus({ state: is.terminated(0, -20) })] },
    })
    const { record } = run([at(0, added(pod), events)], { targets: [createPodTarget()] })
    expect(moments(record)).toMatchObject({ created: -60, started: -21, ready: -20 })
  })
})

describe('a milestone whose time no object shows', () => {
  it('has the start of the gate, as the start of a container by a clock in the future', () => {
    const [deployment, set, pod] = finished()
    const status = {
      ...podIs.ready(-20),
      containerStatuses: [make.containerStatus({ ready: true, state: { running: { startedAt: iso(500) } } })],
    }
    const strange = { ...pod, spec: { ...probed, nodeName: 'node-1' }, status } as KubeObject
    const { record } = run([at(0, added(deployment ?? strange, set ?? strange, strange), allSynced)])
    expect(moments(record)).toMatchObject({ scheduled: '(0)', pulled: '(0)', started: '(0)' })
  })
})

describe('a live gate', () => {
  const steps = [
    at(0, allSynced),
    at(
      2.5,
      added(
        web.deployment(undefined, { metadata: { creationTimestamp: iso(2), managedFields: [wrote('kubectl', 2)] } }),
      ),
    ),
    at(29, added(make.replicaSet({ metadata: { creationTimestamp: iso(3) } }, web.deployment()))),
    at(30, added(make.pod({ spec: probed, status: podIs.ready(20) }, make.replicaSet({}, web.deployment())))),
    at(30, modified(web.deployment(complete()))),
  ]

  it('takes the time of a milestone from the object, also if the gate sees the object later', () => {
    const { record } = run(steps)
    expect(moments(record)).toMatchObject({ created: 2, replicaset: 3, started: 20, ready: 20 })
  })

  it('begins its clocks and its verdict only when it sees the object', () => {
    expect(run(steps)).toMatchObject({ outcome: 'ready', seconds: 30 })
    const { outcome, reason } = run(steps, { settings: { milestoneTimeoutsMs: { created: 30_000, ready: 1 } } })
    expect({ outcome, reason }).toEqual({ outcome: 'ready', reason: '' })
  })

  it('shows no milestone before its start that was reached after it, although timestamps have whole seconds', () => {
    const created = web.deployment(complete(), { metadata: { creationTimestamp: iso(0) } })
    const begin = { startedAt: start + 400 }
    const { record } = run([at(0.4, allSynced), at(0.6, added(created))], { settings: begin })
    expect(moments(record)['created']).toBe(0.4)
  })
})
