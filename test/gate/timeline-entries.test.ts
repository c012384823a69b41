import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject, ObjectMeta, Pod, PodStatus } from '../../src/cluster/objects.ts'
import {
  added,
  allSynced,
  at,
  createTarget,
  createWorkload,
  creating,
  deleted,
  modified,
  progressing,
  type RunOptions,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const begin = at(0, web.creating, allSynced)

/** The logged entries of one kind. */
function logged(steps: readonly (readonly FeedEvent[])[], kind = 'problem', options?: RunOptions): readonly string[] {
  return run(steps, options).entries.filter((entry) => entry.includes(` ${kind} `))
}

const words = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 84Mi'
const pressure = `${words}. `
const evicted = (second: number, message = pressure): PodStatus => ({
  phase: 'Failed',
  reason: 'Evicted',
  message,
  conditions: [condition('DisruptionTarget', 'True', { lastTransitionTime: iso(second) })],
})
const made = (name: string, second: number, rest: Partial<ObjectMeta> = {}) => ({
  name,
  creationTimestamp: iso(second),
  ...rest,
})

describe('pods that are evicted', () => {
  /** A pod every ten seconds, which is evicted five seconds later. */
  function evictions(count: number, pod: (status: PodStatus, metadata: Partial<ObjectMeta>) => Pod) {
    return Array.from({ length: count }, (_, index) => {
      const second = 1 + index * 10
      const name = made(`web-1-${index}`, second)
      return [
        ...at(second, added(pod(creating, name))),
        ...at(second + 5, modified(pod(evicted(second + 5), name))),
      ] satisfies FeedEvent[]
    })
  }
  const first = at(0, added(web.deployment(progressing), web.replicaSet), allSynced)

  it('are logged at once, with the message of the kubelet', () => {
    expect(logged([first, ...evictions(3, web.pod)])).toEqual([
      `6 problem pod/web-1-0 was evicted and is replaced: ${words}`,
      `16 problem pod/web-1-1 was evicted and is replaced (2 pods so far): ${words}`,
      `26 problem pod/web-1-2 was evicted and is replaced (3 pods so far): ${words}`,
    ])
  })

  it('are the reason of a rollout that fails because of them', () => {
    expect(run([first, ...evictions(12, web.pod)])).toMatchObject({
      outcome: 'stalled',
      reason: 'evicted',
      message: expect.stringContaining('The node was low on resource: memory'),
    })
  })

  it('are logged briefly, however many they are', () => {
    expect(logged([first, ...evictions(60, web.pod)]).length).toBeLessThan(16)
  })

  it('count although their controller deletes them at once', () => {
    const target = createTarget({ kind: 'StatefulSet', name: 'db' })
    const set: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'shop', uid: 'db-uid', generation: 1 },
      spec: { replicas: 1, selector: { matchLabels: { app: 'web' } } },
      status: { observedGeneration: 1, replicas: 1, updateRevision: 'db-1' },
    }
    const pod = (status: PodStatus, metadata: Partial<ObjectMeta>) =>
      make.pod({ metadata: { labels: { app: 'web', 'controller-revision-hash': 'db-1' }, ...metadata }, status }, set)
    const steps = [1, 11].flatMap((second, index) => {
      const metadata = made('db-0', second, { uid: `db-0-${index}` })
      return [
        at(second, added(pod(creating, metadata))),
        at(second + 5, modified(pod(evicted(second + 5), metadata))),
        at(second + 6, deleted(pod(evicted(second + 5), { ...metadata, deletionTimestamp: iso(second + 6) }))),
      ]
    })
    const lists = (['StatefulSet', 'ControllerRevision'] as const).map(
      (kind) => ({ type: 'SYNCED', apiVersion: 'apps/v1', kind, namespace: 'shop' }) as const,
    )
    const result = run([at(0, added(set), lists, synced('Pod', 'Event')), ...steps], { targets: [target] })
    expect(result).toMatchObject({ outcome: 'stalled', reason: 'evicted' })
    expect(result.entries).toContainEqual(expect.stringMatching(/^16 problem .* \(2 pods so far\): /))
  })

  it('are not logged when that was before the gate began', () => {
    const long = web.pod(evicted(-3_600), made('web-1-z', -7_200))
    const { entries } = run([at(0, web.done, added(long), allSynced)])
    expect(entries).toEqual(['0 verdict revision 1, 1 of 1 pod available · 1 pod failed and is replaced (Evicted)'])
  })

  it('rank below the problem of the pod that replaces them', () => {
    const unschedulable = condition('PodScheduled', 'False', {
      message: '0/1 nodes are available: 1 Insufficient cpu.',
    })
    const steps = [
      first,
      ...evictions(1, web.pod),
      at(8, added(web.pod({ phase: 'Pending', conditions: [unschedulable] }, made('web-1-z', 8)))),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', reason: 'unschedulable' })
  })

  it('are distinguished from pods that the kubelet refuses', () => {
    const message = "Pod was rejected: Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 2000"
    const refused = web.pod({ phase: 'Failed', reason: 'OutOfcpu', message }, made('web-1-z', 1))
    expect(run([first, at(1, added(refused))])).toMatchObject({
      outcome: 'stalled',
      reason: 'pod-failed',
      message: `deployment/web: pod/web-1-z failed and is replaced: OutOfcpu: ${message}`,
    })
  })
})

describe('a pod that is deleted by force', () => {
  const going = { deletionTimestamp: iso(30), deletionGracePeriodSeconds: 0 }

  it.each([
    ['is logged so', [at(30, modified(web.pod(podIs.ready(1), going)))], 'was deleted by force'],
    ['is not logged as relabelled where only its end was seen', [at(30, deleted(web.pod(creating)))], 'was deleted'],
  ])('%s', (_, steps, words) => {
    expect(runUntil(40, [begin, ...steps]).entries).toContainEqual(`30 note pod/web-1-a ${words}`)
  })

  it('is distinguished from one that ends within its grace period', () => {
    const slowly = { ...going, deletionGracePeriodSeconds: 30 }
    const { entries } = runUntil(40, [begin, at(30, modified(web.pod(podIs.ready(1), slowly)))])
    expect(entries).toContainEqual('30 note pod/web-1-a is being deleted')
  })
})

describe('a slow problem', () => {
  const pulling = (message: string) =>
    podIs.unready({ state: is.waiting('ErrImagePull', message) }, { phase: 'Pending' })
  const probed = { containers: [make.container({ readinessProbe: { periodSeconds: 1, failureThreshold: 1 } })] }
  const unready = make.pod({ spec: probed, status: podIs.unready({ state: is.running(1) }) })
  const unhealthy = make.event(unready, {
    container: 'app',
    reason: 'Unhealthy',
    message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
  })

  it('is logged again when its cause becomes known', () => {
    const steps = [
      at(0, added(web.deployment(progressing), web.replicaSet, unready), allSynced),
      at(12, added(unhealthy)),
    ]
    expect(logged(steps)).toEqual([
      expect.stringMatching(/^11 problem .* runs, but its readiness probe has not succeeded$/),
      expect.stringMatching(/^12 problem .* fails its readiness probe: HTTP probe failed with statuscode: 503$/),
    ])
  })

  it('is logged once while only a number in its text changes', () => {
    const words = (free: number) =>
      `0/3 nodes are available: ${free} Insufficient cpu, ${3 - free} Insufficient memory.`
    const steps = [1, 2, 1, 2].map((free, index) =>
      at(
        1 + index,
        modified(
          web.pod({ phase: 'Pending', conditions: [condition('PodScheduled', 'False', { message: words(free) })] }),
        ),
      ),
    )
    expect(logged([begin, ...steps])).toHaveLength(1)
  })

  it('is logged a few times at most, however its text changes', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz']
    const steps = letters.map((letter, index) =>
      at(1 + index, modified(web.pod(pulling(`the registry is unsure: ${letter.repeat(8)}`)))),
    )
    expect(logged([begin, ...steps]).length).toBeLessThan(8)
  })
})

describe('settling', () => {
  it('is logged when it begins, and only then', () => {
    const two = (second: number) => at(second, modified(web.pod(podIs.ready(3)), web.deployment(complete())))
    expect(run([begin, two(3), two(5)]).entries).toContainEqual(
      '3 progress 1 pod started · 1 pod ready, settling for 10 s',
    )
    expect(run([begin, two(3), two(5)]).entries.filter((entry) => entry.includes('settling'))).toHaveLength(1)
  })

  it('is logged for a status that may be older than its spec', () => {
    const wrote = (seconds: number, subresource?: string) => ({
      manager: 'x',
      operation: 'Update',
      time: iso(seconds),
      ...(subresource === undefined ? {} : { subresource }),
    })
    const managedFields = [wrote(-600, 'status'), wrote(-1)]
    const widget: KubeObject = {
      apiVersion: 'acme.io/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2, managedFields },
      spec: {},
      status: { conditions: [condition('Ready', 'True')] },
    }
    const targets = [createTarget({ apiVersion: 'acme.io/v1', kind: 'Widget', name: 'w' })]
    const list = { type: 'SYNCED', apiVersion: 'acme.io/v1', kind: 'Widget', namespace: 'shop' } as const
    expect(run([at(0, added(widget), list)], { targets })).toMatchObject({
      outcome: 'ready',
      seconds: 9,
      entries: [
        '0 progress created · its status may be older than its spec: waiting for its controller for 9 s',
        expect.stringContaining('9 verdict'),
      ],
    })
  })

  it('is not logged if it ends soon', () => {
    expect(run([at(0, web.done, allSynced)]).entries.join()).not.toContain('settling')
  })
})

describe('a problem of one pod', () => {
  const next = (name: string, status: PodStatus) => make.pod({ metadata: { name }, status }, web.replicaSet)
  const three = complete(3, { readyReplicas: 2, availableReplicas: 2 })
  const others = [next('web-1-b', podIs.ready(-60)), next('web-1-c', podIs.ready(-60))]
  const full = condition('PodScheduled', 'False', { message: '0/1 nodes are available: 1 Insufficient cpu.' })
  const lonely = web.pod({ phase: 'Pending', conditions: [full] })

  it('does not hide that the other pods are ready', () => {
    const steps = [
      at(0, added(web.deployment(three, { spec: { replicas: 3 } }), web.replicaSet, lonely, ...others), allSynced),
    ]
    expect(run(steps).message).toBe(
      'deployment/web: pod/web-1-a cannot be scheduled: the only node lacks cpu (2 of 3 pods ready)',
    )
  })

  it('does not mention the other pods if none of them is ready', () => {
    expect(run([at(0, added(web.deployment(progressing), web.replicaSet, lonely), allSynced)]).message).toBe(
      'deployment/web: pod/web-1-a cannot be scheduled: the only node lacks cpu',
    )
  })
})

describe('the deaths of a Job', () => {
  const job = (status: object): KubeObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop', uid: 'job-uid', generation: 1 },
    spec: { selector: { matchLabels: { app: 'web' } }, completions: 1 },
    status,
  })
  const targets = [createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })]
  const jobs = { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' } as const
  const pod = (name: string, restartPolicy: string, status: PodStatus) =>
    make.pod({ metadata: { name }, spec: { restartPolicy }, status }, job({}))
  const first = at(0, added(job({ active: 1 })), jobs, synced('Pod', 'Event'))
  const expected = [
    expect.stringMatching(/^2 problem container app of pod\/migrate-\S exited with code 3$/),
    expect.stringMatching(/^15 problem container app of pod\/migrate-\S exited with code 3, 2 times$/),
    expect.stringMatching(/^40 problem container app of pod\/migrate-\S exited with code 3, 3 times$/),
  ]

  it('are logged one by one where a container is restarted', () => {
    const deaths = [2, 15, 40].map((second, index) =>
      at(second, modified(pod('migrate-a', 'OnFailure', podIs.looping(index + 1, second)))),
    )
    expect(logged([first, ...deaths], 'problem', { targets })).toEqual(expected)
  })

  it('are logged one by one where each is of another pod, whose phase follows its container', () => {
    const deaths = [2, 15, 40].flatMap((second, index) => {
      const status = { containerStatuses: [make.containerStatus({ state: is.terminated(3, second) })] }
      const die = (phase: string) => modified(pod(`migrate-${index}`, 'Never', { phase, ...status }))
      return [at(second, die('Running')), at(second, die('Failed'))]
    })
    expect(logged([first, ...deaths], 'problem', { targets })).toEqual(expected)
  })
})

describe('readiness that comes and goes', () => {
  const spec = { containers: [make.container({ readinessProbe: { periodSeconds: 5, failureThreshold: 1 } })] }
  const ready = (second: number) =>
    at(second, modified(make.pod({ spec, status: podIs.ready(second, { state: is.running(1) }) })))
  const unready = (second: number) =>
    at(second, modified(make.pod({ spec, status: podIs.unready({ state: is.running(1) }) })))
  const minReady = web.deployment(progressing, { spec: { minReadySeconds: 60 } })
  const set = make.replicaSet({ spec: { ...web.replicaSet.spec, minReadySeconds: 60 } })
  const first = at(0, added(minReady, set, make.pod({ spec, status: creating })), allSynced)
  const flaps = [20, 40, 60].flatMap((second) => [ready(second), unready(second + 10)])

  it('is the failing probe once the time of the probe has passed, and the reason while it lasts', () => {
    expect(logged([first, ...flaps])).toEqual([
      expect.stringMatching(
        /^30 problem container app of pod\/web-1-a runs, but its readiness probe has not succeeded$/,
      ),
    ])
    expect(run([first, ...flaps], { settings: { stallTimeoutMs: 60_000, stallIsLiteral: true } })).toMatchObject({
      outcome: 'stalled',
      reason: 'readiness-failing',
    })
  })

  it('is not logged for a container that is killed', () => {
    const dead = at(30, modified(make.pod({ spec, status: podIs.dead(1, 30) })))
    expect(logged([first, ready(20), dead])).toEqual([expect.stringContaining('exited with code 3')])
  })
})

describe('an object', () => {
  const widget = (metadata: Partial<ObjectMeta>): KubeObject => ({
    apiVersion: 'acme.io/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2, ...metadata },
    spec: {},
    status: { observedGeneration: 1 },
  })
  const targets = [createTarget({ apiVersion: 'acme.io/v1', kind: 'Widget', name: 'w' })]
  const list = { type: 'SYNCED', apiVersion: 'acme.io/v1', kind: 'Widget', namespace: 'shop' } as const
  const progress = (steps: readonly (readonly FeedEvent[])[]) => runUntil(20, steps, { targets })

  it('that is older than the apply exists', () => {
    const result = progress([at(0, added(widget({ creationTimestamp: iso(-86_400) })), list)])
    expect(result.entries).toEqual(['0 progress exists'])
    expect(result.record.targets[0]?.milestones[0]).toMatchObject({ name: 'created', message: 'exists' })
  })

  it('that appears during the wait is created', () => {
    const result = progress([at(0, list), at(5, added(widget({ creationTimestamp: iso(5) })))])
    expect(result.entries).toEqual(['0 note does not exist yet: it has 30 s to be created', '5 progress created'])
  })

  it('that the apply before the gate created is created', () => {
    const result = progress([at(1, added(widget({ creationTimestamp: iso(-4) })), list)])
    expect(result.entries).toEqual(['1 progress created'])
  })
})
