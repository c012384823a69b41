import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import type { EndedRunRecord, Entry, ProblemRecord, TargetRecord } from '../../src/gate/run-record.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { condition, is, iso, make, ownedBy, podIs, start } from '../kit/objects.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { type GateOptions, gateInVirtualTime } from '../support/gate-rollout.ts'
import { replayRecording } from '../support/recordings.ts'

const token = 'sesame-open-0123456789'
let clock: EventLoopClock

beforeEach(() => {
  clock = createClock(20)
})

function createClock(msPerTurn: number): EventLoopClock {
  return new EventLoopClock(start, msPerTurn, (now) => {
    server.clockOffsetMs = now - Date.now()
  })
}

/** Gates in virtual time, and checks that the replay of the recording gives the same report to the byte. */
async function gateAndReplay(written: Record<string, string>, options: GateOptions = {}): Promise<EndedRunRecord> {
  const record = join(folder, 'recording.ndjson')
  const raw = { resources: '', namespace: 'shop', record, kubeconfig: server.kubeconfig({ token }), ...written }
  const runRecord = await gateInVirtualTime(raw, clock, options)
  const replayed = await replayRecording(record)
  expect(replayed.damage).toEqual([])
  expect(buildReport(replayed.runRecord)).toEqual(buildReport(runRecord))
  return runRecord
}

const log = { namespace: 'shop', container: 'app' }

/** A bare pod that has failed, with its log. */
function applyFailedPod(name = 'migrate'): KubeObject {
  const status: PodStatus = { ...podIs.dead(1, 0, { message: 'no table users' }), phase: 'Failed' }
  const pod = make.barePod({ metadata: { name, uid: `${name}-uid` }, spec: { restartPolicy: 'Never' }, status })
  server.apply(pod)
  server.apply(make.event(pod, { container: 'app', reason: 'Failed', message: 'Error: cannot migrate' }))
  server.setLog({ ...log, pod: name }, 'connecting\npanic: no table users\n')
  return pod
}

/** A pod that never becomes ready: the gate runs until its timeout. */
function applyWaitingPod(): void {
  server.apply(
    make.barePod({
      metadata: { name: 'slow', uid: 'slow-uid' },
      status: { phase: 'Pending', startTime: new Date().toISOString() },
    }),
  )
}

function recordOf({ targets }: EndedRunRecord, name: string): TargetRecord {
  const found = targets.find((each) => each.name === name)
  if (found === undefined) throw new Error(`no target ${name}`)
  return found
}

function problemOf(runRecord: EndedRunRecord, name: string): ProblemRecord {
  const [problem] = recordOf(runRecord, name).problems
  if (problem === undefined) throw new Error(`${name} has no problem`)
  return problem
}

function textOf({ evidence }: ProblemRecord): string {
  return evidence.map(({ title, text }) => `${title}: ${text}`).join('\n')
}

const asksLog = ({ path }: { path: string }) => path.endsWith('/log')
const isVerdictOn = (target: number) => (entry: Entry) => entry.kind === 'verdict' && entry.target === target

/** When the recording ended: by then, all evidence was read or given up. */
function recordingEnd(): number {
  const last = recorded().at(-1)
  expect(last?.type).toBe('END')
  return Date.parse(last?.at ?? '')
}

function recorded(): { at: string; type: string }[] {
  const lines = readFileSync(join(folder, 'recording.ndjson'), 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line))
}

/** Calls back once, at the first entry that matches. */
function once(matches: (entry: Entry) => boolean, action: () => void): (entry: Entry) => void {
  let isDone = false
  return (entry) => {
    if (isDone || !matches(entry)) return
    isDone = true
    action()
  }
}

describe('a target that failed while others go on', () => {
  const inputs = { resources: 'pod/migrate\npod/slow', timeout: '60s', 'stall-timeout': '0', 'fail-fast': 'false' }

  test('keeps log, events, termination message and chain of a pod that is gone when the gate ends', async () => {
    const pod = applyFailedPod()
    applyWaitingPod()
    const gone = Promise.withResolvers<void>()
    const onEntry = once(isVerdictOn(0), () => {
      void server
        .until(({ requests }) => requests.filter(asksLog).length >= 2)
        .then(() => {
          server.remove({ ...pod, name: 'migrate', namespace: 'shop' })
          gone.resolve()
        })
    })
    const runRecord = await gateAndReplay(inputs, { onEntry })
    await gone.promise
    expect(runRecord.outcome).toBe('failed')
    const readAt = recorded().flatMap(({ type, at }) => (type === 'LOG' ? Date.parse(at) : []))
    expect(Math.max(...readAt)).toBeLessThan(runRecord.finishedAt - 30_000)
    const problem = problemOf(runRecord, 'migrate')
    const text = textOf(problem)
    expect(text).toContain('panic: no table users')
    expect(text).toContain('Termination message: no table users')
    expect(text).toContain('cannot migrate')
    expect(problem.chain).toEqual(['pod/migrate', 'container app'])
  })

  test('keeps the evidence of a failed pod when another takes its name', async () => {
    const pod = applyFailedPod()
    applyWaitingPod()
    const onEntry = once(isVerdictOn(0), () => {
      void server
        .until(({ requests }) => requests.filter(asksLog).length >= 2)
        .then(() => {
          server.remove({ ...pod, name: 'migrate', namespace: 'shop' })
          server.apply(make.barePod({ metadata: { name: 'migrate', uid: 'another' }, status: podIs.ready() }))
          server.setLog({ ...log, pod: 'migrate' }, 'all is well\n')
        })
    })
    const text = textOf(problemOf(await gateAndReplay(inputs, { onEntry }), 'migrate'))
    expect(text).toContain('panic: no table users')
    expect(text).toContain('cannot migrate')
    expect(text).not.toContain('all is well')
  })

  test('reports that the pod was gone before its log could be read', async () => {
    applyFailedPod()
    applyWaitingPod()
    server.failNext(Number.POSITIVE_INFINITY, 404, { filter: asksLog })
    const text = textOf(problemOf(await gateAndReplay(inputs), 'migrate'))
    expect(text).toContain('Log of container app: could not be read: ')
  })

  test('is asked for its log again at the end, when the server could not answer at first', async () => {
    applyFailedPod()
    applyWaitingPod()
    server.failNext(2, 500, { filter: asksLog })
    const text = textOf(problemOf(await gateAndReplay(inputs), 'migrate'))
    expect(text).toContain('panic: no table users')
    expect(text).not.toContain('could not be read')
  })
})

describe('a pod that is deleted while its problem stands', () => {
  test('has its log read before it is gone', async () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'shop', uid: 'job-uid', generation: 1 },
      spec: { backoffLimit: 2, selector: { matchLabels: { app: 'web' } } },
    }
    server.apply({ ...job, status: { active: 1 } })
    const dying = make.pod({ metadata: { name: 'migrate-a' }, status: podIs.dead(3, 0) })
    const pod = { ...dying, metadata: { ...dying.metadata, ownerReferences: ownedBy(job) } }
    server.apply(pod)
    server.setLog({ ...log, pod: 'migrate-a' }, 'panic: no table users\n')
    const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'migrate-a' }
    const onEntry = once(
      ({ kind }) => kind === 'problem',
      () => {
        server.patch(ref, { metadata: { deletionTimestamp: new Date(start).toISOString() } })
        // The Job fails and its pod is deleted after the log was read.
        void server
          .until(({ requests }) => requests.filter(asksLog).length >= 2)
          .then(() => {
            const conditions = [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })]
            server.patch(
              { ...job, name: 'migrate', namespace: 'shop' },
              { status: { active: 0, failed: 1, conditions } },
            )
            server.remove(ref)
          })
      },
    )
    const runRecord = await gateAndReplay({ resources: 'job/migrate', timeout: '60s' }, { onEntry })
    expect(runRecord.reason).toBe('job-failed')
    expect(textOf(problemOf(runRecord, 'migrate'))).toContain('panic: no table users')
  })
})

describe('a forbidden read', () => {
  test('of a log is part of the evidence', async () => {
    applyFailedPod()
    server.deny({ verb: 'get', resource: 'pods/log' })
    const runRecord = await gateAndReplay({ resources: 'pod/migrate' })
    expect(textOf(problemOf(runRecord, 'migrate'))).toMatch(
      /Log of container app: could not be read: pods "migrate" is forbidden: .*pods\/log/,
    )
    expect(recordOf(runRecord, 'migrate').notes).toEqual([
      expect.stringMatching(
        /^Grant user .*: `kubectl create role rollout-gate-reader --verb=get --resource=pods\/log -n shop`/,
      ),
    ])
  })

  test('of Events is a note of the target', async () => {
    applyFailedPod()
    applyWaitingPod()
    server.deny({ verb: '*', resource: 'events' })
    const record = recordOf(await gateAndReplay({ resources: 'pod/migrate\npod/slow' }), 'migrate')
    expect(record.notes).toEqual([
      expect.stringMatching(/^events could not be read: events is forbidden/),
      expect.stringMatching(
        /^Grant user .*: `kubectl create role rollout-gate-reader --verb=get,list,watch --resource=events /,
      ),
    ])
  })

  test('of the log of a previous run that never existed is not reported', async () => {
    applyFailedPod()
    expect(textOf(problemOf(await gateAndReplay({ resources: 'pod/migrate' }), 'migrate'))).not.toContain(
      'could not be read',
    )
  })
})

describe('a node behind a problem', () => {
  const evicted: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' }
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1', uid: 'node-uid' },
    spec: {
      unschedulable: true,
      taints: [
        { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' },
        { key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' },
        { key: 'dedicated', value: 'web', effect: 'NoSchedule' },
      ],
    },
    status: {
      conditions: [
        condition('MemoryPressure', 'True', { lastTransitionTime: new Date(start - 60_000).toISOString() }),
        condition('DiskPressure', 'False'),
        condition('Ready', 'True'),
      ],
    },
  }
  const applyEvictedPod = () =>
    server.apply(make.barePod({ metadata: { name: 'once' }, spec: { restartPolicy: 'Never' }, status: evicted }))

  test('is evidence of the pod that it evicted, though nodes are not watched', async () => {
    applyEvictedPod()
    server.apply(node)
    expect(textOf(problemOf(await gateAndReplay({ resources: 'pod/once' }), 'once'))).toMatch(
      /Node: node node-1: MemoryPressure for 1 m[ \ds]*, cordoned, tainted ToBeDeletedByClusterAutoscaler:NoSchedule/,
    )
    expect(server.requests.filter(({ path }) => path.startsWith('/api/v1/nodes'))).toHaveLength(1)
  })

  test('is shown in its state at the eviction, although other targets continue', async () => {
    applyEvictedPod()
    applyWaitingPod()
    server.apply(node)
    const recover = () => void server.apply({ ...node, spec: {}, status: { conditions: [condition('Ready', 'True')] } })
    const inputs = { resources: 'pod/once\npod/slow', timeout: '60s', 'stall-timeout': '0', 'fail-fast': 'false' }
    const runRecord = await gateAndReplay(inputs, { onEntry: once(({ kind }) => kind === 'heartbeat', recover) })
    expect(textOf(problemOf(runRecord, 'once'))).toContain('MemoryPressure')
  })

  test('is evidence of a pod that it made unready', async () => {
    const lost = { type: 'Ready', status: 'Unknown', message: 'Kubelet stopped posting node status.' }
    server.apply({ ...node, spec: {}, status: { conditions: [lost] } })
    const containers = [make.container({ readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } })]
    const status = podIs.unready({ started: true, state: is.running(-600) })
    const pod = make.barePod({ spec: { containers }, status })
    server.apply(pod)
    server.apply(make.event(pod, { reason: 'NodeNotReady', message: 'Node is not ready' }))
    const runRecord = await gateAndReplay({ resources: 'pod/once', 'stall-timeout': '5s' })
    expect(textOf(problemOf(runRecord, 'once'))).toContain(
      'Node: node node-1: does not report its status (Kubelet stopped posting node status.)',
    )
  })

  const starting = (metadata: object) =>
    make.barePod({
      metadata,
      status: podIs.unready(
        {},
        { phase: 'Pending', startTime: iso(-600), conditions: [condition('PodScheduled', 'True')] },
      ),
    })
  const lost = {
    ...node,
    spec: {},
    status: { conditions: [condition('Ready', 'Unknown', { message: 'Kubelet stopped posting node status.' })] },
  }

  test('explains a pod that its kubelet stopped to start', async () => {
    server.apply(lost)
    server.apply(starting({}))
    const runRecord = await gateAndReplay({ resources: 'pod/once', 'stall-timeout': '5s' })
    expect(runRecord).toMatchObject({ outcome: 'stalled', reason: 'no-progress' })
    expect(textOf(problemOf(runRecord, 'once'))).toContain(
      'Node: node node-1: does not report its status (Kubelet stopped posting node status.)',
    )
    expect(problemOf(runRecord, 'once').message).toBe('is not ready because its node node-1 is not ready')
    expect(recordOf(runRecord, 'once').hint).toMatch(
      /^The kubelet of node node-1 does not respond\. Check the node: `kubectl describe node node-1`/,
    )
  })

  test('explains a pod of a Deployment', async () => {
    const deployment = make.deployment({ status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1 } })
    const replicaSet = make.replicaSet({ metadata: { labels: { app: 'web' } } }, deployment)
    const { metadata } = make.pod({}, replicaSet)
    for (const object of [lost, deployment, replicaSet, starting(metadata)]) server.apply(object)
    const runRecord = await gateAndReplay({ resources: 'deployment/web', 'stall-timeout': '5s' })
    expect(problemOf(runRecord, 'web').chain).toEqual(['deployment/web', 'replicaset/web-1', 'pod/web-1-a'])
  })

  test.each(['is well', 'cannot be read'])('that %s explains no pod', async (how) => {
    server.apply({ ...lost, status: { conditions: [condition('Ready', how === 'is well' ? 'True' : 'Unknown')] } })
    if (how === 'cannot be read') server.deny({ verb: 'get', resource: 'nodes' })
    server.apply(starting({}))
    const runRecord = await gateAndReplay({ resources: 'pod/once', 'stall-timeout': '5s' })
    const { problems, notes } = recordOf(runRecord, 'once')
    expect(problems).toMatchObject([{ reason: 'pod-waiting' }])
    expect(notes).toBeUndefined()
    expect(runRecord.entries.filter(({ text }) => text.includes('nodes'))).toEqual([])
  })

  test('that is healthy is not mentioned', async () => {
    applyEvictedPod()
    server.apply({ ...node, spec: {}, status: { conditions: [condition('Ready', 'True')] } })
    expect(textOf(problemOf(await gateAndReplay({ resources: 'pod/once' }), 'once'))).not.toContain('Node')
  })

  test('that cannot be read, or is gone, is reported as such', async () => {
    applyEvictedPod()
    const gone = textOf(problemOf(await gateAndReplay({ resources: 'pod/once' }), 'once'))
    expect(gone).toContain('Node: node node-1 does not exist any more')
    server.deny({ verb: 'get', resource: 'nodes' })
    const runRecord = await gateAndReplay({ resources: 'pod/once' })
    expect(textOf(problemOf(runRecord, 'once'))).toMatch(
      /Node: node node-1 could not be read: nodes "node-1" is forbidden/,
    )
    expect(runRecord.entries.filter(({ text }) => text.includes('cannot be read'))).toEqual([])
  })

  test('is not read for a problem that no node causes', async () => {
    server.apply(node)
    const status = make.containerStatus({ state: { waiting: { reason: 'InvalidImageName', message: 'no such name' } } })
    server.apply(make.barePod({ status: { phase: 'Pending', containerStatuses: [status] } }))
    await gateAndReplay({ resources: 'pod/once' })
    expect(server.requests.filter(({ path }) => path.startsWith('/api/v1/nodes'))).toEqual([])
  })
})

describe('a server that never answers for a log', () => {
  test('delays the end by five seconds at most, with a message', async () => {
    applyFailedPod()
    server.ignore(asksLog)
    const runRecord = await gateAndReplay({ resources: 'pod/migrate' })
    const waitedMs = recordingEnd() - runRecord.finishedAt
    expect(waitedMs).toBeGreaterThanOrEqual(5_000)
    expect(waitedMs).toBeLessThan(6_000)
    expect(textOf(problemOf(runRecord, 'migrate'))).toContain('could not be read: no answer within 5 s')
  })

  test('delays the end of a cancelled job by 1.5 s at most', async () => {
    const cancelled = new AbortController()
    server.apply(make.barePod({ status: podIs.dead(2, 0) }))
    server.ignore(asksLog)
    const onEntry = once(
      ({ kind }) => kind === 'problem',
      () => cancelled.abort(),
    )
    const runRecord = await gateAndReplay({ resources: 'pod/once' }, { onEntry, cancelled: cancelled.signal })
    expect(runRecord.outcome).toBe('cancelled')
    // The cancellation comes in the millisecond of the problem, and has the next one as its moment.
    const waitedMs = recordingEnd() - runRecord.finishedAt + 1
    expect(waitedMs).toBeGreaterThanOrEqual(1_500)
    expect(waitedMs).toBeLessThan(2_500)
  })
})

describe('hundreds of targets that fail', () => {
  test('are explained by a bounded number of bounded logs', async () => {
    // Many megabytes need many turns of the event loop.
    clock = createClock(2)
    const names = Array.from({ length: 300 }, (_, index) => `migrate-${index}`)
    for (const name of names) {
      applyFailedPod(name)
      server.setLog({ ...log, pod: name }, 'x'.repeat(999).concat('\n').repeat(1_000))
    }
    const runRecord = await gateAndReplay({
      resources: names.map((name) => `pod/${name}`).join('\n'),
      'fail-fast': 'false',
      'log-lines': '1000',
    })
    expect(server.requests.filter(asksLog)).toHaveLength(48)
    const bytes = Buffer.byteLength(JSON.stringify(buildReport(runRecord)))
    expect(bytes).toBeLessThan(4_000_000)
    expect(runRecord.targets.every(({ hint }) => hint !== undefined)).toBe(true)
  }, 30_000)
})

describe('the namespace of a target that is not found', () => {
  const written = { resources: 'deployment/web', namespace: 'shpo', 'milestone-timeouts': 'created=5s' }
  const hintOf = ({ targets }: EndedRunRecord) => targets[0]?.hint

  test('is named where it does not exist, in the replay too', async () => {
    expect(hintOf(await gateAndReplay(written))).toMatch(/^Namespace shpo does not exist\./)
  })

  test('is named for a selector, which is judged at once', async () => {
    expect(hintOf(await gateAndReplay({ ...written, resources: 'deploy,sts -l app=web' }))).toMatch(
      /^Namespace shpo does not/,
    )
  })

  test('is not given as the cause if it exists', async () => {
    server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shpo' } })
    expect(hintOf(await gateAndReplay(written))).toMatch(/^Was it applied, under this name and in namespace shpo\?/)
  })

  test('is not mentioned if namespaces cannot be read', async () => {
    server.deny({ verb: '*', group: '', resource: 'namespaces' })
    const runRecord = await gateAndReplay(written)
    expect(hintOf(runRecord)).toMatch(/^Was it applied/)
    expect(JSON.stringify(runRecord)).not.toContain('namespaces may not')
    expect(runRecord.targets[0]?.notes).toBeUndefined()
  })
})
