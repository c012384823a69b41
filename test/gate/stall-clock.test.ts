import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { nodeRequest } from '../../src/lifecycle/rule.ts'
import {
  added,
  allSynced,
  at,
  createGate,
  createTarget,
  createWorkload,
  creating,
  modified,
  progressing,
  type RunOptions,
  run,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, moment, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const first = at(0, web.creating, allSynced)
const pulled = podIs.unready({ imageID: 'sha256:1' }, { phase: 'Pending' })

describe('progress', () => {
  it('is a counter', () => {
    const two = { spec: { replicas: 2 } }
    const numbers = complete(2, { availableReplicas: 0, readyReplicas: 0 })
    const set = make.replicaSet({ metadata: { name: 'web-1' }, spec: { replicas: 2 } }, web.deployment())
    const other = make.pod({ metadata: { name: 'web-1-b' }, status: creating }, set)
    const steps = [
      at(0, added(web.deployment(numbers, two), set, web.pod(creating), other), allSynced),
      at(200, modified(web.pod(pulled))),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', seconds: 500 })
  })

  it.each<[string, object, object, seconds: number]>([
    ['is a count of a custom resource that is new', { readyNodes: 1 }, { readyNodes: 2 }, 500],
    ['is a phase of a custom resource that is new', { phase: 'Creating' }, { phase: 'Joining' }, 500],
    ['is not a retry of a custom resource', { retryCount: 1 }, { retryCount: 2 }, 300],
  ])('%s', (_, before, after, seconds) => {
    const custom = { apiVersion: 'example.com/v1', kind: 'Widget' }
    const widget = (status: object): KubeObject => ({
      ...custom,
      metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 1 },
      spec: { nodes: 3 },
      status: { conditions: [condition('Ready', 'False')], ...status },
    })
    const steps = [
      at(0, added(widget(before)), { type: 'SYNCED', ...custom, namespace: 'shop' }),
      at(200, modified(widget(after))),
    ]
    expect(run(steps, { targets: [createTarget({ ...custom, name: 'w' })] })).toMatchObject({
      outcome: 'stalled',
      seconds,
    })
  })

  it.each([
    ['is a number of files that grows in the events of a volume', 'processed 2 files', 'processed 9 files', 600],
    ['is a share that grows', '10% done', '45.5% complete', 600],
    ['is not the same number again', 'processed 2 files', 'processed 2 files', 500],
    ['is not a number without progress', 'attempt 1 of 9', 'attempt 2 of 9', 300],
  ])('%s', (_, one, two, seconds) => {
    const report = (message: string, name: string) =>
      added(
        make.event(web.pod(), {
          reason: 'VolumePermissionChangeInProgress',
          message: `Setting volume ownership for 29928e79/volumes/data/mount, ${message}.`,
          metadata: { name },
        }),
      )
    const steps = [first, at(200, report(one, 'a')), at(300, report(two, 'b'))]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', seconds })
  })

  it('is not a new replica in place of one that went', () => {
    const replaced = [
      modified(web.pod(creating, { deletionTimestamp: iso(200) })),
      added(web.pod(creating, { name: 'web-1-b' })),
    ]
    expect(run([first, at(200, ...replaced)])).toMatchObject({ outcome: 'stalled', seconds: 300 })
  })

  it('is a milestone of a pod of a followed change, although an earlier pod reached it', () => {
    const template = {
      ...web.deployment().spec?.template,
      metadata: { labels: { app: 'web' }, annotations: { restartedAt: 'now' } },
    }
    const change = { metadata: { generation: 2 }, spec: { template } }
    const next = make.replicaSet(
      { metadata: { name: 'web-2', creationTimestamp: iso(100) } },
      web.deployment(undefined, change),
    )
    const pod = (status: object) => make.pod({ metadata: { name: 'web-2-a' }, status }, next)
    const numbers = complete(1, { observedGeneration: 2, availableReplicas: 0, readyReplicas: 0 })
    const steps = [
      first,
      at(
        50,
        modified(
          web.pod(
            podIs.unready({
              state: is.waiting('CrashLoopBackOff'),
              lastState: { terminated: { exitCode: 1 } },
              imageID: 'x',
            }),
          ),
        ),
      ),
      at(100, modified(web.deployment(numbers, change)), added(next, pod(creating))),
      at(300, modified(pod(pulled))),
    ]
    expect(run(steps, { settings: { maxRestarts: 99 } })).toMatchObject({ outcome: 'stalled', seconds: 600 })
  })
})

describe('a stalled target', () => {
  it('has the reason of its problem', () => {
    const conditions = [condition('PodScheduled', 'False', { reason: 'Unschedulable', message: 'no node' })]
    const pod = make.pod({ spec: { nodeName: '' }, status: { phase: 'Pending', conditions } }, web.replicaSet)
    const steps = [at(0, added(web.deployment(progressing), web.replicaSet, pod), allSynced)]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', reason: 'unschedulable', seconds: 300 })
  })
})

describe('the stall clock stops', () => {
  const probed = (probe: object) => ({ containers: [make.container({ readinessProbe: probe })] })
  const slowProbe = make.pod(
    { spec: probed({ initialDelaySeconds: 400 }), status: podIs.unready({ state: is.running(0), started: true }) },
    web.replicaSet,
  )
  const probing = at(0, added(web.deployment(progressing), web.replicaSet, slowProbe), allSynced)

  it('during the time of the probes, and ends as readiness-failing after it', () => {
    expect(run([probing], { settings: { timeoutMs: 0 } })).toMatchObject({
      outcome: 'stalled',
      reason: 'readiness-failing',
      seconds: 431 + 300,
    })
  })

  it('during minReadySeconds', () => {
    const slow = { spec: { minReadySeconds: 400 } }
    const waits = complete(1, { availableReplicas: 0 })
    const steps = [
      at(0, added(web.deployment(waits, slow), web.replicaSet, web.pod(podIs.ready(0))), allSynced),
      at(400, modified(web.deployment(complete(), slow))),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'ready', seconds: 400 })
  })

  it('while a pod terminates within its grace period', () => {
    const leaving = web.pod(podIs.ready(-60), { name: 'web-1-b', deletionTimestamp: iso(200) })
    const steps = [first, at(0, added(leaving))]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', seconds: 500 })
  })

  it('while a resource is Reconciling', () => {
    const widget = (conditions: object[]) => ({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop', uid: 'w' },
      status: { conditions },
    })
    const target = createTarget({ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w' })
    const steps = [
      at(0, added(widget([condition('Reconciling', 'True')])), {
        type: 'SYNCED',
        apiVersion: 'example.com/v1',
        kind: 'Widget',
        namespace: 'shop',
      } as const),
      at(500, modified(widget([condition('Ready', 'True')]))),
    ]
    expect(run(steps, { targets: [target] })).toMatchObject({ outcome: 'ready', seconds: 500 })
  })

  it.each<[string, RunOptions]>([
    ['but not where the user wrote it for all', { settings: { stallIsLiteral: true } }],
    ['nor where he wrote it for this one', { targets: [createTarget({ clocks: { stallTimeoutMs: 300_000 } })] }],
  ])('%s', (_, options) => {
    expect(run([probing], options)).toMatchObject({ outcome: 'stalled', reason: 'no-progress', seconds: 300 })
  })
})

describe("a reference's own stall timeout", () => {
  const api = createWorkload('api')
  const steps = [at(0, web.creating, api.creating, synced('Deployment', 'ReplicaSet', 'Pod'))]
  const options = (stallTimeoutMs: number, timeoutMs = 600_000): RunOptions => ({
    targets: [createTarget({ clocks: { stallTimeoutMs } }), api.target],
    settings: { failFast: false, timeoutMs },
  })

  it('ends this target alone', () => {
    expect(run(steps, options(60_000)).targets.map(({ seconds }) => seconds)).toEqual([60, 300])
  })

  it('of 0 is off for this target alone', () => {
    const { targets } = run(steps, options(0))
    expect(targets.map(({ outcome, seconds }) => [outcome, seconds])).toEqual([
      ['timed-out', 600],
      ['stalled', 300],
    ])
  })
})

describe('a Job of two minutes under a stall clock of one', () => {
  const target = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })
  const selector = { matchLabels: { job: 'migrate' } }

  function job(status: object): KubeObject {
    const metadata = { name: 'migrate', namespace: 'shop', uid: 'job-uid', generation: 1, creationTimestamp: iso(0) }
    return { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { selector, completions: 1 }, status }
  }

  const pod = make.pod(
    {
      metadata: { labels: { job: 'migrate' } },
      spec: { restartPolicy: 'Never' },
      status: podIs.unready({ state: is.running(1), ready: true, started: true }),
    },
    job({}),
  )
  const jobsSynced: Observation = { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' }

  const steps = [
    at(0, added(job({ active: 1 }), pod), jobsSynced, synced('Pod', 'Event')),
    at(120, modified(job({ succeeded: 1, conditions: [condition('Complete', 'True')] }))),
  ]
  const minute: RunOptions = { targets: [target], settings: { stallTimeoutMs: 60_000 } }

  it('is not ended while its container runs', () => {
    expect(run(steps, minute)).toMatchObject({ outcome: 'ready', seconds: 120 })
  })

  it('is ended by that clock if the user set it', () => {
    const literal = { ...minute, settings: { ...minute.settings, stallIsLiteral: true } }
    expect(run(steps, literal)).toMatchObject({ outcome: 'stalled', reason: 'no-progress', seconds: 60 })
  })

  it('is ended by it when the container dies and nothing follows', () => {
    const dead = at(30, modified({ ...pod, status: { ...pod.status, phase: 'Failed' } }, job({ failed: 1 })))
    expect(run([...steps.slice(0, 1), dead], minute)).toMatchObject({ outcome: 'stalled', seconds: 90 })
  })

  it('is not ended while its controller waits before the next try, unless the user set the clock', () => {
    const pods = [1, 12, 33, 74, 155].map((ended, nth) =>
      make.pod(
        {
          metadata: { name: `migrate-${nth}`, labels: { job: 'migrate' }, creationTimestamp: iso(ended - 1) },
          spec: { restartPolicy: 'Never' },
          status: podIs.unready({ state: is.terminated(1, ended) }, { phase: 'Failed' }),
        },
        job({}),
      ),
    )
    const failures = pods.map((each, nth) =>
      at([1, 12, 33, 74, 155][nth] ?? 0, added(each), modified(job({ failed: nth + 1 }))),
    )
    const retried = [at(0, added(job({})), jobsSynced, synced('Pod', 'Event')), ...failures]
    const complete = at(320, modified(job({ succeeded: 1, conditions: [condition('Complete', 'True')] })))
    expect(run([...retried, complete], minute)).toMatchObject({ outcome: 'ready', seconds: 320 })
    expect(run(retried, minute)).toMatchObject({ outcome: 'stalled', seconds: 371 })
    const literal = { ...minute, settings: { ...minute.settings, stallIsLiteral: true } }
    expect(run(retried, literal)).toMatchObject({ outcome: 'stalled', seconds: 61 })
  })
})

describe('a pod about which nothing is reported for two minutes', () => {
  const tolerations = [
    { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
  ]
  const podOf = (name: string, status: object) =>
    make.pod({ metadata: { name }, spec: { tolerations }, status }, web.replicaSet)
  const node = (status: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1', uid: 'node-uid' },
    status: { conditions: [condition('Ready', status, { lastTransitionTime: iso(50) })] },
  })
  const listed = (status: string) => [...added(node(status)), { type: 'SYNCED', ...nodeRequest('node-1') } as const]
  const created = at(0, added(web.deployment(progressing), web.replicaSet, podOf('web-1-a', creating)), allSynced)
  const replaced = [
    at(351, { type: 'DELETED', object: podOf('web-1-a', creating) }, added(podOf('web-1-b', creating))),
    at(360, modified(podOf('web-1-b', podIs.ready(355)), web.deployment(complete()))),
  ]

  it('may be on a lost node, which the gate then watches', () => {
    const nodesAfter = (seconds: number) => {
      const gate = createGate([created])
      for (const event of created) gate.handle(event)
      gate.advance(moment(seconds))
      return gate.requests.flatMap(({ kind, name }) => (kind === 'Node' ? [name] : []))
    }
    expect(nodesAfter(119)).toEqual([])
    expect(nodesAfter(121)).toEqual(['node-1'])
  })

  it('stops the stall clock while it tolerates that its node is lost', () => {
    expect(run([created, at(121, listed('Unknown')), ...replaced])).toMatchObject({ outcome: 'ready', seconds: 365 })
  })

  it('stops it also if the node is lost only then', () => {
    const lost = [at(121, listed('True')), at(200, modified(node('Unknown')))]
    expect(run([created, ...lost, ...replaced])).toMatchObject({ outcome: 'ready', seconds: 365 })
  })

  it('does not stop it while its node is ready', () => {
    expect(run([created, at(121, listed('True'))])).toMatchObject({ outcome: 'stalled', seconds: 300 })
  })
})

describe('a stalled pod whose node does not respond', () => {
  const node = { apiVersion: 'v1', kind: 'Node', name: 'node-1', message: 'no' } as const
  it.each<[string, readonly Observation[]]>([
    ['is not listed yet', []],
    ['may not be read', [{ ...node, type: 'REFUSED', what: 'access', final: true }]],
    ['cannot be read', [{ ...node, type: 'UNAVAILABLE', code: 0 }]],
  ])('is ended in time if the node %s', (_, observations) => {
    const assigned = at(0, web.creating, synced('Deployment', 'ReplicaSet', 'Pod', 'Event'))
    const steps = [assigned, at(1, modified(web.pod({ phase: 'Pending' }))), at(12, ...observations)]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', reason: 'node-unresponsive', seconds: 300 })
  })
})
