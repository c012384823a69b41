import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { PodStatus } from '../../src/cluster/objects.ts'
import {
  added,
  alive,
  allSynced,
  at,
  createGate,
  createPodTarget,
  createTarget,
  createWorkload,
  creating,
  deleted,
  failed,
  modified,
  progressing,
  type RunOptions,
  report,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, moment, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const api = createWorkload('api')
const both = [web.target, api.target]
const neverPull = podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })

describe('the gate is ready', () => {
  it('and reports skipped nodes and pods in its notes', () => {
    const old = make.replicaSet({ metadata: { name: 'web-0', annotations: {} } }, web.deployment())
    const leaving = make.pod(
      { metadata: { name: 'web-0-a', deletionTimestamp: iso(30) }, status: podIs.ready(-90) },
      old,
    )
    const steps = [at(0.2, web.done, added(old, leaving), allSynced)]
    expect(run(steps).entries).toEqual([expect.stringMatching(/^0.2 verdict .* · 1 old pod still draining$/)])
  })

  it('only when all targets are ready at the same time', () => {
    const steps = [
      at(0, web.done, api.creating, allSynced),
      at(20, modified(web.deployment(progressing), web.pod(podIs.unready({ state: is.running(-60) })))),
      at(40, modified(api.pod(podIs.ready(25)), api.deployment(complete()))),
    ]
    const still = runUntil(60, steps, { targets: both })
    expect(still).toMatchObject({ outcome: undefined, targets: [{ outcome: 'progressing' }, { outcome: 'ready' }] })
    expect(still.entries).toContainEqual(expect.stringMatching(/^20 note no longer ready: /))
    const healed = [...steps, at(70, modified(web.pod(podIs.ready(-60)), web.deployment(complete())))]
    expect(run(healed, { targets: both })).toMatchObject({ outcome: 'ready', seconds: 70 })
  })

  it('not while an object is being deleted', () => {
    const leaving = web.deployment(complete(), { metadata: { deletionTimestamp: iso(0) } })
    const steps = [at(0, added(leaving, web.replicaSet, web.pod(podIs.ready(-60))), allSynced)]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', reason: 'terminating', seconds: 300 })
  })

  it('not with the counts of an older generation', () => {
    const steps = [
      at(
        0,
        added(web.deployment(complete(), { metadata: { generation: 2 } }), web.replicaSet, web.pod(podIs.ready(-60))),
        allSynced,
      ),
    ]
    expect(run(steps).outcome).toBe('stalled')
  })
})

describe('a crash loop without a readiness probe', () => {
  /**
   * A container that dies one second after each start, as without memory: it is ready in between, and is not restarted
   * after 17 s.
   */
  const beats: readonly FeedEvent[][] = [
    at(0, added(web.deployment(progressing), web.replicaSet, web.pod(creating)), allSynced),
    ...[2, 4, 16].flatMap((second, restarts) => [
      at(second, modified(web.pod(podIs.ready(second, { restartCount: restarts })), web.deployment(complete()))),
      at(second + 1, modified(web.pod(podIs.dead(restarts + 1, second + 1)), web.deployment(progressing))),
    ]),
  ]

  it('may start once more when the other target becomes ready: it may have waited for that target', () => {
    const next = (seconds: number) => podIs.dead(4, seconds, { startedAt: iso(seconds - 1) })
    const steps = (restartedAt: number) => [
      at(0, api.creating),
      ...beats,
      at(50, modified(api.pod(podIs.ready(35)), api.deployment(complete()))),
      at(restartedAt, modified(web.pod(next(restartedAt)))),
    ]
    expect(run(steps(58), { targets: both }).targets[0]).toMatchObject({ reason: 'crash-loop', seconds: 58 })
    expect(run(steps(120), { targets: both }).targets[0]).toMatchObject({ reason: 'crash-loop', seconds: 93 })
  })

  it.each([
    ['the one that was ready after it falls back', ['db']],
    ['both that were ready after it fall back', ['db', 'cache']],
  ])('has this additional start although %s', (_, names) => {
    const later = names.map((name) => createWorkload(name))
    const unpulled = podIs.unready({ state: is.waiting('ErrImagePull', 'connection refused') }, { phase: 'Pending' })
    const up = (second: number, each: typeof api) =>
      at(second, modified(each.pod(podIs.ready(35)), each.deployment(complete())))
    const steps = [
      at(0, ...[api, ...later].map(({ creating: begins }) => begins)),
      ...beats,
      up(50, api),
      ...later.map((each, index) => up(51 + index, each)),
      at(53, ...later.map((each) => modified(each.pod(unpulled), each.deployment(progressing)))),
      at(55, modified(web.pod(podIs.dead(3, 17)))),
      at(58, modified(web.pod(podIs.dead(4, 58)))),
    ]
    const targets = [web, api, ...later].map(({ target }) => target)
    expect(run(steps, { targets }).targets[0]).toMatchObject({ reason: 'crash-loop', seconds: 58 })
  })

  it('is counted although each instance outlives the settle time, within minReadySeconds', () => {
    const spec = { minReadySeconds: 30 }
    const set = make.replicaSet({ spec: { ...web.replicaSet.spec, ...spec } })
    const lives = [0, 1, 2, 3, 4, 5].flatMap((restarts) => {
      const began = 1 + restarts * 40
      const dead = podIs.dead(restarts + 1, began + 15, { startedAt: iso(began) })
      return [
        at(began, modified(web.pod(podIs.ready(began, { restartCount: restarts })))),
        at(began + 15, modified(web.pod(dead))),
      ]
    })
    const begin = at(0, added(web.deployment(progressing, { spec }), set, web.pod(creating)), allSynced)
    expect(run([begin, ...lives])).toMatchObject({ outcome: 'failed', reason: 'crash-loop', seconds: 96 })
  })

  it('is not delayed by another pod that crashes in the same way', () => {
    const spec = { minReadySeconds: 30, replicas: 2 }
    const set = make.replicaSet({ spec: { ...web.replicaSet.spec, ...spec } })
    const sibling = (status: PodStatus) => make.pod({ metadata: { name: 'web-1-b' }, status }, set)
    // Whenever one of the two dies, the other has lived for longer than the settle time.
    const lives = [0, 1, 2, 3].flatMap((restarts) => {
      const began = 1 + restarts * 40
      const dead = (second: number) => podIs.dead(restarts + 1, second, { startedAt: iso(second - 15) })
      return [
        at(began, modified(web.pod(podIs.ready(began, { restartCount: restarts })))),
        at(began + 4, modified(sibling(podIs.ready(began + 2, { restartCount: restarts })))),
        at(began + 15, modified(web.pod(dead(began + 15)))),
        at(began + 17, modified(sibling(dead(began + 17)))),
      ]
    })
    const two = complete(2, { readyReplicas: 0, availableReplicas: 0 })
    const begin = at(0, added(web.deployment(two, { spec }), set, web.pod(creating), sibling(creating)), allSynced)
    expect(run([begin, ...lives])).toMatchObject({ outcome: 'failed', reason: 'crash-loop', seconds: 96 })
  })

  it('may restart as often as max-restarts permits', () => {
    expect(run(beats, { settings: { maxRestarts: 3 } }).reason).toBe('crash-loop')
    expect(run(beats, { settings: { maxRestarts: 3 } }).outcome).toBe('stalled')
    expect(run(beats, { settings: { maxRestarts: 1 } })).toMatchObject({ outcome: 'failed', seconds: 33 })
  })
})

describe('pods that leave do not fail the gate', () => {
  const first = at(0, web.done, api.creating, allSynced)
  const next = { name: 'web-1-b' }
  const options: RunOptions = { targets: both }
  const after = [
    at(30, added(web.pod(creating, next)), modified(web.deployment(progressing))),
    at(32, modified(web.pod(podIs.ready(32), next), web.deployment(complete()))),
    at(50, modified(api.pod(podIs.ready(35)), api.deployment(complete()))),
  ]
  const leaving = { deletionTimestamp: iso(60) }

  it.each<[string, FeedEvent[][], RegExp]>([
    [
      'a pod that is killed and comes back',
      [
        at(30, modified(web.pod(podIs.ready(-60), leaving))),
        at(
          31,
          modified(
            web.pod(
              { phase: 'Failed', containerStatuses: [make.containerStatus({ state: is.terminated(137, 31) })] },
              leaving,
            ),
          ),
          deleted(web.pod({ phase: 'Failed' }, leaving)),
        ),
      ],
      /^30 note pod\/web-1-a is being deleted$/,
    ],
    [
      'a pod that is preempted',
      [
        at(
          30,
          modified(
            web.pod(
              {
                ...podIs.ready(-60),
                conditions: [
                  condition('Ready', 'True'),
                  condition('DisruptionTarget', 'True', {
                    reason: 'PreemptionByScheduler',
                    message: 'default-scheduler: preempting to accommodate a higher priority pod',
                  }),
                ],
              },
              leaving,
            ),
          ),
        ),
        at(31, deleted(web.pod(podIs.ready(-60), leaving))),
      ],
      /^30 note pod\/web-1-a is being deleted \(default-scheduler: preempting to accommodate a higher priority pod\)$/,
    ],
    [
      'a pod that is gone before anybody saw it being deleted',
      [at(30, deleted(web.pod(podIs.ready(-60))))],
      /^30 note pod\/web-1-a was deleted$/,
    ],
    [
      'a pod that is released by its ReplicaSet',
      [at(30, modified(web.pod(podIs.ready(-60), { labels: {}, ownerReferences: [] })))],
      /^30 note pod\/web-1-a left its ReplicaSet: its labels no longer match$/,
    ],
    [
      'a pod that stays when its ReplicaSet is deleted',
      [at(30, modified(web.pod(podIs.ready(-60), { ownerReferences: [] })))],
      /^30 note pod\/web-1-a left its ReplicaSet$/,
    ],
    [
      'a pod that is evicted',
      [
        at(
          30,
          modified(
            web.pod({
              phase: 'Failed',
              reason: 'Evicted',
              containerStatuses: [make.containerStatus({ state: is.terminated(137, 30) })],
            }),
          ),
        ),
      ],
      /^30 note no longer ready/,
    ],
  ])('%s', (_, leave, logged) => {
    const { outcome, seconds, entries } = run([first, ...leave, ...after], options)
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 50 })
    expect(entries).toContainEqual(expect.stringMatching(logged))
  })

  it('old pods of a rolling update that look failed while they terminate', () => {
    const old = make.replicaSet(
      { metadata: { name: 'web-0', creationTimestamp: iso(-3600) } },
      make.deployment({ spec: { template: make.template({ serviceAccountName: 'old' }) } }),
    )
    const oldPod = (status: object, metadata: object = {}) => ({
      ...web.pod(status, { name: 'web-0-a', ...metadata }),
      metadata: {
        ...web.pod().metadata,
        name: 'web-0-a',
        uid: 'old',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-0', uid: 'web-0-uid' }],
        ...metadata,
      },
    })
    const steps = [
      at(
        0,
        added(
          web.deployment(complete(1, { replicas: 2, availableReplicas: 2 })),
          old,
          web.replicaSet,
          web.pod(podIs.ready(0)),
          oldPod(podIs.ready(-600)),
        ),
        allSynced,
      ),
      at(
        5,
        modified(
          oldPod(
            {
              phase: 'Failed',
              containerStatuses: [make.containerStatus({ restartCount: 4, state: is.terminated(137, 5) })],
            },
            { deletionTimestamp: iso(5) },
          ),
          web.deployment(complete()),
        ),
      ),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'ready', seconds: 10 })
  })
})

describe("the gate's outcome", () => {
  const names = ['a', 'b', 'c'] as const
  const works = names.map(createWorkload)
  const [a, b, c] = works as [typeof web, typeof web, typeof web]
  const changed = { spec: { template: make.template({ serviceAccountName: 'next' }) }, metadata: { generation: 2 } }
  const fails = (each: typeof web) => modified(each.deployment(progressing), each.pod(neverPull))
  const superseded = (each: typeof web) => modified(each.deployment(progressing, changed))

  it.each<[string, FeedEvent[][], RunOptions, object]>([
    [
      'failed before superseded',
      [at(1, superseded(a)), at(2, fails(b))],
      {},
      { outcome: 'failed', reason: 'image-never-pull' },
    ],
    [
      'superseded before stalled',
      [at(299, superseded(b))],
      { settings: { failFast: false } },
      { outcome: 'superseded' },
    ],
    [
      'stalled before timed out',
      [],
      { targets: [{ ...a.target, clocks: { timeoutMs: 60_000 } }, b.target, c.target], settings: { failFast: false } },
      { outcome: 'stalled', seconds: 300 },
    ],
    [
      'the earliest of the same',
      [at(1, fails(c)), at(2, fails(a))],
      {},
      { message: expect.stringMatching(/^deployment\/c: .* \(and 1 more\)$/) },
    ],
    [
      'the first in the order of input of the same moment',
      [at(1, fails(c), fails(a))],
      {},
      { message: expect.stringMatching(/^deployment\/a: /) },
    ],
    [
      'cancelled before failed',
      [at(1, fails(a)), at(3, { type: 'CANCEL' })],
      {},
      { outcome: 'cancelled', reason: 'cancelled', seconds: 3 },
    ],
    [
      'unknown before failed',
      [at(1, fails(a)), at(3, failed(401), failed(401))],
      {},
      { outcome: 'unknown', reason: 'credentials-expired' },
    ],
  ])('is %s', (_, steps, options, expected) => {
    const first = at(
      0,
      works.flatMap((each) => each.creating),
      allSynced,
    )
    expect(run([first, ...steps], { targets: works.map(({ target }) => target), ...options })).toMatchObject(expected)
  })
})

describe('after the verdict', () => {
  it('nothing changes', () => {
    const steps = [at(0, web.done, allSynced)]
    const gate = createGate(steps)
    for (const event of steps.flat()) gate.handle(event)
    const before = report(gate)
    const later = [
      ...at(1, modified(web.pod(neverPull), web.deployment(progressing)), { type: 'CANCEL' } as const),
      ...at(2, deleted(web.deployment())),
      ...at(900, failed(0), alive),
    ]
    for (const event of later) gate.handle(event)
    gate.advance(moment(5_000))
    expect(report(gate)).toEqual(before)
    expect(gate.nextDeadline()).toBeUndefined()
  })

  it('logs are still stored, as evidence', () => {
    const gate = createGate([])
    gate.advance(moment(30))
    const log = { namespace: 'shop', pod: 'web-1-a', container: 'app', previous: false, text: 'boom' }
    gate.handle({ at: moment(31), type: 'LOG', ...log })
    expect(gate.store.log('shop', 'web-1-a', 'app', false)?.text).toBe('boom')
  })
})

describe('a bare pod', () => {
  const options: RunOptions = { targets: [createPodTarget(), api.target] }
  const rest = [at(50, modified(api.pod(podIs.ready(35)), api.deployment(complete())))]

  it('that completed stays ready when it is deleted', () => {
    const pod = make.barePod({ status: { phase: 'Succeeded' } })
    const leaving = make.barePod({ status: { phase: 'Succeeded' }, metadata: { deletionTimestamp: iso(20) } })
    const steps = [
      at(0, added(pod), api.creating, allSynced),
      at(20, modified(leaving)),
      at(21, deleted(leaving)),
      ...rest,
    ]
    expect(run(steps, options)).toMatchObject({ outcome: 'ready', seconds: 50 })
  })

  it.each(['Succeeded', 'Failed'])('that is deleted while it runs, and ends as %s, is deleted', (phase) => {
    const pod = make.barePod({ status: podIs.ready(-60) })
    const leaving = { deletionTimestamp: iso(20) }
    const dying = make.barePod({
      status: { ...podIs.unready({ state: is.terminated(137, 20) }), phase },
      metadata: leaving,
    })
    const steps = [
      at(0, added(pod), api.creating, allSynced),
      at(20, modified(make.barePod({ status: podIs.ready(-60), metadata: leaving }))),
      at(20.5, modified(dying)),
      at(21, deleted(dying)),
      ...rest,
    ]
    expect(run(steps, options)).toMatchObject({ outcome: 'failed', reason: 'deleted', targets: [{ seconds: 26 }, {}] })
  })

  it('that failed is failed at once', () => {
    const steps = [at(3, added(make.barePod({ status: { phase: 'Failed' } })), synced('Pod'))]
    expect(run(steps, { targets: [createPodTarget()] })).toMatchObject({
      outcome: 'failed',
      reason: 'pod-failed',
      seconds: 3,
    })
  })
})

describe('proof by time alone', () => {
  it('a deadline that stood at first sight fails 10 s later', () => {
    const exceeded = condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })
    const steps = [at(0, added(web.deployment({ ...progressing, conditions: [exceeded] }), web.replicaSet), allSynced)]
    expect(run(steps)).toMatchObject({ outcome: 'failed', reason: 'progress-deadline-exceeded', seconds: 10 })
  })
})

describe('the timeline entries', () => {
  it('contain one line for each milestone that is reached, problem and verdict', () => {
    const dead = web.pod(podIs.dead(1, 4))
    const steps = [
      at(0, added(web.deployment()), allSynced),
      at(1, added(web.replicaSet, web.pod(creating)), modified(web.deployment(progressing))),
      at(3, modified(web.pod(podIs.ready(3)))),
      at(4, modified(dead)),
      at(5, modified(dead)),
      at(6, modified(web.pod(podIs.ready(6, { restartCount: 1 })), web.deployment(complete()))),
    ]
    expect(run(steps).entries).toEqual([
      '0 progress created',
      '1 progress generation 1 observed · revision 1 → ReplicaSet web-1 · 1 pod scheduled',
      '3 progress 1 pod started · 1 pod ready, settling for 10 s',
      '4 problem container app of pod/web-1-a exited with code 3',
      '16 verdict 1 of 1 pod available'.replace('1 of', 'revision 1, 1 of'),
    ])
  })

  it('contain one line for a problem that is repeated with the same text', () => {
    const refused = (count: number) =>
      added(
        make.event(web.pod(), {
          reason: 'FailedMount',
          message: 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found',
          count,
          firstTimestamp: iso(1),
          lastTimestamp: iso(count),
        }),
      )
    const { entries } = runUntil(20, [
      at(0, web.creating, allSynced),
      at(2, refused(2)),
      at(5, refused(5)),
      at(9, refused(9)),
    ])
    expect(entries.filter((entry) => entry.includes('problem'))).toEqual([
      '2 problem pod/web-1-a: volume "v" cannot be mounted: configmap/settings does not exist',
    ])
  })

  it('contain a heartbeat that stays short, however long a status is', () => {
    const message = 'x'.repeat(500)
    const object = {
      apiVersion: 'acme.example/v1',
      kind: 'Database',
      metadata: { name: 'orders', namespace: 'shop', uid: 'o' },
      status: { conditions: [{ type: 'Ready', status: 'False', message }] },
    }
    const target = createTarget({ apiVersion: 'acme.example/v1', kind: 'Database', name: 'orders' })
    const { entries } = runUntil(31, [at(0, added(object), allSynced)], { targets: [target] })
    const heartbeat = entries.find((entry) => entry.includes('heartbeat')) ?? ''
    expect(heartbeat).toContain('x…)')
    expect(heartbeat.length).toBeLessThan(150)
  })

  it.each([
    [{ created: 30_000 }, 'it has 30 s to be created'],
    [{ created: 0 }, 'the gate waits for it to be created'],
  ])('name an object that does not exist at once, with the time that is left (%#)', (milestoneTimeoutsMs, words) => {
    const settings = { milestoneTimeoutsMs }
    const { entries } = runUntil(20, [at(1, allSynced), at(2, allSynced)], { settings })
    expect(entries).toEqual([`1 note does not exist yet: ${words}`])
  })

  it('name five targets in a heartbeat, and how many more', () => {
    const targets = Array.from({ length: 7 }, (_, index) => createTarget({ name: `t${index}` }))
    const { entries } = runUntil(31, [at(0, allSynced)], { targets, settings: { milestoneTimeoutsMs: {} } })
    expect(entries.at(-1)).toMatch(
      /^30 heartbeat still waiting for deployment\/t0 .*deployment\/t4 \(waiting for it to be created\) and 2 more$/,
    )
  })
})

describe('targets of one kind and name in two namespaces', () => {
  const targets = ['blue', 'green'].map((namespace) => createTarget({ namespace }))
  const settings = { milestoneTimeoutsMs: {} }

  it('are distinguished in the message of the outcome', () => {
    const { message } = run([], { targets, settings: { ...settings, timeoutMs: 60_000 } })
    expect(message).toContain('deployment/web in blue')
  })

  it('are distinguished in the heartbeat', () => {
    const { entries } = runUntil(31, [at(0, allSynced)], { targets, settings })
    expect(entries[0]).toMatch(/waiting for deployment\/web in blue \(.*\), deployment\/web in green \(/)
  })
})

describe('a selector that matched nothing', () => {
  const nothing = createTarget({ name: '', selector: 'app=shop' })

  it('fails its target after the time for `created`, as a name does', () => {
    expect(run([], { targets: [nothing] })).toMatchObject({
      outcome: 'failed',
      reason: 'not-found',
      seconds: 30,
      message: 'deployment -l app=shop matches nothing',
    })
  })

  it('is reported for --all, too', () => {
    expect(run([], { targets: [createTarget({ name: '', selector: '' })] }).message).toBe(
      'deployment --all matches nothing',
    )
  })

  it('ends the gate 5 s later when other targets are open', () => {
    expect(run([at(1, web.creating, allSynced)], { targets: [nothing, web.target] })).toMatchObject({
      reason: 'not-found',
      seconds: 35,
    })
  })

  it('stalls its target when its change has not arrived in time', () => {
    const settings = { awaitChangeMs: 60_000 }
    expect(run([], { targets: [nothing], settings })).toMatchObject({
      outcome: 'stalled',
      reason: 'change-not-seen',
      seconds: 60,
    })
  })
})

describe('--for=delete', () => {
  const gone = createTarget({ waitFor: { type: 'delete' } })
  const options: RunOptions = { targets: [gone] }

  it('is ready when another object has taken its name, also when the other object changes', () => {
    const later = web.deployment(undefined, { metadata: { uid: 'later' } })
    const steps = [at(1, web.done, allSynced), at(40, modified(later)), at(50, modified(later))]
    expect(run(steps, options)).toMatchObject({ outcome: 'ready', seconds: 40 })
    const beside = runUntil(60, steps, { targets: [gone, createPodTarget()], settings: { milestoneTimeoutsMs: {} } })
    expect(beside.targets).toMatchObject([{ outcome: 'ready' }, { outcome: 'progressing' }])
    expect(beside.entries.filter((entry) => entry.includes('no longer ready'))).toEqual([])
  })

  it('has no milestone left to wait for once it is ready', () => {
    const { record } = run([at(1, web.done, allSynced), at(40, deleted(web.deployment()))], options)
    expect(record.targets[0]?.milestones).toMatchObject([
      { name: 'created', state: 'done', at: moment(0) },
      { name: 'observed', state: 'skipped' },
      { name: 'ready', state: 'done', at: moment(40), message: 'does not exist' },
    ])
  })

  it('skips the milestones of an object that never existed', () => {
    const [target] = run([at(1, allSynced)], options).record.targets
    expect(target?.milestones.map(({ state }) => state)).toEqual(['skipped', 'skipped', 'done'])
  })

  it('is not ready without a complete list', () => {
    expect(run([at(1, synced('Pod'))], options).outcome).not.toBe('ready')
    expect(run([at(1, synced('Pod'))], options).outcome).not.toBe('failed')
  })
})

test('a kind that was never listed is unknown, not empty', () => {
  const steps = [
    at(
      0,
      added(
        web.deployment(complete(1, { conditions: [condition('Available', 'True', { lastUpdateTime: iso(-60) })] })),
      ),
      synced('Deployment'),
    ),
  ]
  const { outcome, record } = run(steps)
  expect(outcome).toBe('ready')
  expect(record.targets[0]?.milestones).toContainEqual({
    name: 'scheduled',
    state: 'skipped',
    message: 'pods cannot be read',
  })
})

describe('a target whose kind was never listed', () => {
  it.each<[string, RunOptions, number]>([
    ['is unknown when it had to exist', {}, 30],
    ['is unknown when the whole timeout runs out', { settings: { timeoutMs: 20_000 } }, 20],
    ['is unknown when nothing moves', { settings: { milestoneTimeoutsMs: {} } }, 300],
    ['is unknown when its list does not end before the timeout', { live: true }, 600],
  ])('%s', (_, options, seconds) => {
    expect(run([at(1, synced('Pod', 'Event'))], options)).toMatchObject({
      outcome: 'unknown',
      reason: 'api-unreachable',
      message: 'it is not known whether deployment/web exists: its kind was never listed in full',
      seconds,
    })
  })

  it('does not exist when the server has no such kind', () => {
    const unserved: Observation = {
      type: 'MISSING',
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      namespace: 'shop',
      name: 'web',
      message: 'the server does not have the kind Deployment in apps/v1',
    }
    const steps = [
      at(1, synced('Pod', 'Event'), unserved),
      ...[6, 11, 16, 21, 26].map((second) => at(second, unserved)),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'failed', reason: 'not-found', seconds: 30 })
  })

  it('is known to be absent when its deletion was seen', () => {
    const steps = [at(1, web.creating), at(2, deleted(web.deployment()))]
    expect(run(steps)).toMatchObject({ outcome: 'failed', reason: 'deleted', seconds: 7 })
  })
})
