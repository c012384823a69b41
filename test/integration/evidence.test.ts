import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import type { EndedRunRecord, ProblemRecord, TargetRecord } from '../../src/gate/run-record.ts'
import type { Entry } from '../../src/gate/timeline-entries.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { condition, is, iso, make, ownedBy, podIs, start } from '../kit/objects.ts'
import { patterns, readData, requireOptions } from '../kit/rows.ts'
import type { ApiServer } from '../support/api-server.ts'
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

/** An only pod, `once`, that has been starting for ten minutes. */
const starting = (metadata: object) =>
  make.barePod({
    metadata,
    status: podIs.unready(
      {},
      { phase: 'Pending', startTime: iso(-600), conditions: [condition('PodScheduled', 'True')] },
    ),
  })

/** What the file of cases names instead of writing it. */
const objects: Readonly<Record<string, () => unknown>> = {
  'failed pod': () => applyFailedPod(),
  'waiting pod': applyWaitingPod,
  'evicted pod': () => {
    const status: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' }
    server.apply(make.barePod({ metadata: { name: 'once' }, spec: { restartPolicy: 'Never' }, status }))
  },
  'unready pod': () => {
    const containers = [make.container({ readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } })]
    const status = podIs.unready({ started: true, state: is.running(-600) })
    const pod = make.barePod({ spec: { containers }, status })
    server.apply(pod)
    server.apply(make.event(pod, { reason: 'NodeNotReady', message: 'Node is not ready' }))
  },
  'starting pod': () => server.apply(starting({})),
  'starting Deployment': () => {
    const deployment = make.deployment({ status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1 } })
    const replicaSet = make.replicaSet({ metadata: { labels: { app: 'web' } } }, deployment)
    const { metadata } = make.pod({}, replicaSet)
    for (const object of [deployment, replicaSet, starting(metadata)]) server.apply(object)
  },
  'misnamed pod': () => {
    const status = make.containerStatus({ state: { waiting: { reason: 'InvalidImageName', message: 'no such name' } } })
    server.apply(make.barePod({ status: { phase: 'Pending', containerStatuses: [status] } }))
  },
}

interface Case {
  readonly has?: readonly (string | KubeObject)[]
  readonly denied?: Parameters<ApiServer['deny']>[0]
  readonly failing?: { readonly times: number; readonly code: number }
  readonly inputs: Record<string, string>
  readonly of?: string
  readonly shows?: string
  readonly hides?: string
  readonly target?: object
  readonly hasNotes?: false
  readonly problem?: object
  readonly run?: object
  readonly silentOn?: string
  readonly asksForNodes?: number
}

const data = import.meta.filename.replace('.test.ts', '.yaml')
const options = 'has denied failing inputs of shows hides target hasNotes problem run silentOn asksForNodes'.split(' ')

describe.each(Object.entries(readData(data) as Record<string, Record<string, Case>>))('%s', (_, cases) => {
  test.each(Object.entries(cases))('%s', async (title, given) => {
    requireOptions(given, options, [data, title])
    const { has = [], denied, failing, inputs, of = '' } = given
    for (const object of has) {
      if (typeof object !== 'string') server.apply(object)
      else if (objects[object] === undefined) throw new Error(`there is no object "${object}"`)
      else objects[object]()
    }
    if (denied !== undefined) server.deny(denied)
    if (failing !== undefined) server.failNext(failing.times, failing.code, { filter: asksLog })
    const { shows, hides, target, hasNotes, problem, run, silentOn, asksForNodes } = patterns(given)
    const runRecord = await gateAndReplay(inputs)
    if (run !== undefined) expect(runRecord).toMatchObject(run)
    if (target !== undefined) expect(recordOf(runRecord, of)).toMatchObject(target)
    if (hasNotes === false) expect(recordOf(runRecord, of).notes).toBeUndefined()
    if (problem !== undefined) expect(problemOf(runRecord, of)).toMatchObject(problem)
    if (shows !== undefined) expect(textOf(problemOf(runRecord, of))).toEqual(shows)
    if (hides !== undefined) expect(textOf(problemOf(runRecord, of))).not.toContain(hides)
    const withoutEvidence = JSON.stringify(runRecord, (key, value) => (key === 'evidence' ? undefined : value))
    if (silentOn !== undefined) expect(withoutEvidence).not.toContain(silentOn)
    if (asksForNodes !== undefined)
      expect(server.requests.filter(({ path }) => path.startsWith('/api/v1/nodes'))).toHaveLength(asksForNodes)
  })
})

describe('a target that failed while other targets continue', () => {
  const inputs = { resources: 'pod/migrate\npod/slow', timeout: '60s', 'stall-timeout': '0', 'fail-fast': 'false' }

  test('keeps log, events, termination message and ownership chain of a deleted pod', async () => {
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

  test('keeps the evidence of a failed pod if another pod takes its name', async () => {
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
})

describe('a pod that is deleted while it has a problem', () => {
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

describe('the node of a pod with a problem', () => {
  test('is shown in its state at the eviction, although other targets continue', async () => {
    objects['evicted pod']?.()
    applyWaitingPod()
    const node = (type: string) => ({ ...make.node('node-1'), status: { conditions: [condition(type, 'True')] } })
    server.apply(node('MemoryPressure'))
    const recover = () => void server.apply(node('Ready'))
    const inputs = { resources: 'pod/once\npod/slow', timeout: '60s', 'stall-timeout': '0', 'fail-fast': 'false' }
    const runRecord = await gateAndReplay(inputs, { onEntry: once(({ kind }) => kind === 'heartbeat', recover) })
    expect(textOf(problemOf(runRecord, 'once'))).toContain('MemoryPressure')
  })

  test('that cannot be read, or is gone, is reported as such', async () => {
    objects['evicted pod']?.()
    const gone = textOf(problemOf(await gateAndReplay({ resources: 'pod/once' }), 'once'))
    expect(gone).toContain('Node: node node-1 does not exist any more')
    server.deny({ verb: 'get', resource: 'nodes' })
    const runRecord = await gateAndReplay({ resources: 'pod/once' })
    expect(textOf(problemOf(runRecord, 'once'))).toMatch(
      /Node: node node-1 could not be read: nodes "node-1" is forbidden/,
    )
    expect(runRecord.entries.filter(({ text }) => text.includes('cannot be read'))).toEqual([])
  })
})

describe('a server that never returns a log', () => {
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

describe('hundreds of failed targets', () => {
  test('are explained by a limited number of short logs', async () => {
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
