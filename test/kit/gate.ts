import type { Failure, FeedEvent, Observation, WatchRequest } from '../../src/cluster/feed.ts'
import type { Deployment, KubeObject, ObjectMeta, PodStatus } from '../../src/cluster/objects.ts'
import { isSupersetOf } from '../../src/cluster/store.ts'
import type { AfterReady } from '../../src/gate/after-ready.ts'
import { Gate } from '../../src/gate/gate.ts'
import type { Outcome, TargetOutcome } from '../../src/gate/outcome.ts'
import type { JudgedRunRecord } from '../../src/gate/run-record.ts'
import type { GateSettings } from '../../src/gate/settings.ts'
import type { Target } from '../../src/plan/target.ts'
import { formatEvent, type RecordingHeader } from '../../src/recording/writer.ts'
import { apiVersionOf, isClusterScoped, type NamedObjects } from './named-objects.ts'
import { complete, iso, make, moment, type Overrides, podIs, start } from './objects.ts'

export function createTarget(overrides: Partial<Target> = {}): Target {
  return { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web', clocks: {}, ...overrides }
}

export function createPodTarget(overrides: Partial<Target> = {}): Target {
  return createTarget({ apiVersion: 'v1', kind: 'Pod', name: 'once', ...overrides })
}

/** The contract's defaults. */
export function createSettings(overrides: Partial<GateSettings> = {}): GateSettings {
  return {
    startedAt: start,
    timeoutMs: 600_000,
    isTimeoutSetByUser: false,
    stallTimeoutMs: 300_000,
    isStallTimeoutSetByUser: false,
    milestoneTimeoutsMs: { created: 30_000 },
    settleTimeMs: 10_000,
    maxRestarts: 2,
    failFast: true,
    onSuperseded: 'fail',
    awaitChangeMs: 0,
    awaitRevisionMs: 600_000,
    requireChangeMs: 0,
    expectImages: {},
    context: 'test',
    serverVersion: 'v1.34.4',
    serverOffsetMs: 0,
    ...overrides,
  }
}

/** Feed events of one moment. */
export function at(seconds: number, ...observations: readonly (Observation | readonly Observation[])[]): FeedEvent[] {
  return observations.flat().map((observation) => ({ ...observation, at: moment(seconds) }))
}

export function added(...objects: readonly KubeObject[]): Observation[] {
  return objects.map((object) => ({ type: 'ADDED', object }))
}

export function modified(...objects: readonly KubeObject[]): Observation[] {
  return objects.map((object) => ({ type: 'MODIFIED', object }))
}

export function deleted(...objects: readonly KubeObject[]): Observation[] {
  return objects.map((object) => ({ type: 'DELETED', object }))
}

/**
 * The request of a list in words: `Pod`, `Pod?app=web` with a selector, `Deployment@apps` or `Deployment@apps/web` in another
 * namespace than shop, `Node@` in none, `acme.io/v1 Widget` of a version.
 */
export function requestOf(words: string, objects: NamedObjects = {}): WatchRequest {
  const [, apiVersion, kind = '', selector, place, name] =
    /^(?:(\S+) )?(\w+)(?:\?(.*?))?(?:@([a-z-]*)(?:\/(.*))?)?$/.exec(words) ?? []
  const namespace = place ?? (isClusterScoped(kind) ? '' : 'shop')
  return {
    apiVersion: apiVersion ?? apiVersionOf(kind, objects),
    kind,
    ...(namespace !== '' && { namespace }),
    ...(selector !== undefined && { labelSelector: selector }),
    ...(name !== undefined && { name }),
  }
}

/** The first lists of these kinds are complete. */
export function synced(...kinds: readonly string[]): Observation[] {
  return kinds.map((kind) => ({ type: 'SYNCED', ...requestOf(kind) }))
}

/** The first lists of all kinds behind a Deployment are complete. */
export const allSynced: Observation[] = synced('Deployment', 'ReplicaSet', 'Pod', 'Event')

export function failed(code: number, kind?: string, message = `status ${code}`): Failure {
  return { type: 'ERROR', code, message, ...(kind !== undefined && requestOf(kind)) }
}

/** The watch of a kind is unavailable since `lastSuccess`, in seconds since the start of the gate. */
export function unavailable(kind: string, lastSuccess: number, code = 0): Observation {
  return { ...requestOf(kind), type: 'ERROR', code, message: 'no answer', lastSuccessAt: moment(lastSuccess) }
}

export const alive: Observation = { type: 'ALIVE' }

/** Inputs of action.yml, by name. */
export type RawInputs = Readonly<Record<string, string | readonly string[]>>

/** The text of a recording. Its only resource is `deployment/web` unless the inputs name others. */
export function createRecording(
  inputs: RawInputs,
  steps: readonly (readonly FeedEvent[])[],
  header: Partial<RecordingHeader> = {},
): string {
  const first = {
    recording: 'rollout-gate/v1',
    startedAt: iso(0),
    inputs: { resources: ['deployment/web'], namespace: 'shop', ...inputs },
    ...header,
  }
  return [JSON.stringify(first), ...steps.flat().map(formatEvent)].join('\n')
}

export interface RunOptions {
  readonly targets?: readonly Target[]
  readonly settings?: Partial<GateSettings>
  /** In a live run every first list will come; a recording contains the lists that came. */
  readonly live?: boolean
  readonly afterReady?: AfterReady
}

/** Result of a run; `seconds` are since the start of the gate. */
export interface Run {
  readonly outcome: Outcome | undefined
  readonly reason: string | undefined
  readonly message: string | undefined
  readonly seconds: number
  readonly targets: readonly { outcome: TargetOutcome; reason: string; message: string; seconds: number | undefined }[]
  /** `12 problem pod/web-1-a: …` */
  readonly entries: readonly string[]
  readonly record: JudgedRunRecord
}

/** Feeds a gate, then advances the time until the gate has an outcome. */
export function run(steps: readonly (readonly FeedEvent[])[], options: RunOptions = {}): Run {
  const gate = createGate(steps, options)
  feed(gate, steps)
  for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next)
  return report(gate)
}

/** Feeds a gate, then advances the time to `seconds`. */
export function runUntil(seconds: number, steps: readonly (readonly FeedEvent[])[], options: RunOptions = {}): Run {
  const gate = createGate(steps, options)
  feed(gate, steps)
  gate.advance(moment(seconds))
  return report(gate, moment(seconds))
}

export function createGate(
  steps: readonly (readonly FeedEvent[])[],
  { targets = [createTarget()], settings = {}, live = false, afterReady }: RunOptions = {},
): Gate {
  const lists = steps.flat().filter((event) => event.type === 'SYNCED')
  const willSync = (request: WatchRequest) => live || lists.some((list) => isSupersetOf(list, request))
  return new Gate(targets, createSettings(settings), willSync, () => {}, afterReady)
}

function feed(gate: Gate, steps: readonly (readonly FeedEvent[])[]): void {
  gate.handle(steps.flat())
}

export function report(gate: Gate, now?: number): Run {
  const record = gate.record(now)
  const since = (at: number) => (at - start) / 1_000
  return {
    outcome: gate.verdict?.outcome,
    reason: gate.verdict?.reason,
    message: gate.verdict?.message,
    seconds: since(record.finishedAt),
    targets: record.targets.map(({ outcome, reason, message, endedAt }) => ({
      outcome,
      reason,
      message,
      seconds: endedAt === undefined ? undefined : since(endedAt),
    })),
    entries: record.entries.map(({ at, kind, text }) => `${since(at)} ${kind} ${text}`),
    record,
  }
}

/** A Deployment of one replica with its ReplicaSet and pod. */
export function createWorkload(name: string) {
  const selector = { matchLabels: { app: name } }
  const deployment = (status?: Deployment['status'], overrides: Overrides<Deployment['spec'], never> = {}) =>
    make.deployment({
      metadata: { name, uid: `${name}-uid`, ...overrides.metadata },
      spec: { selector, ...overrides.spec },
      ...(status === undefined ? {} : { status }),
    })
  const replicaSet = make.replicaSet({ metadata: { name: `${name}-1` }, spec: { selector } }, deployment())
  const podWith = (status: PodStatus = {}, metadata: Partial<ObjectMeta> = {}) =>
    make.pod({ metadata: { name: `${name}-1-a`, ...metadata }, status }, replicaSet)
  return {
    target: createTarget({ name }),
    deployment,
    replicaSet,
    pod: podWith,
    /** Ready a minute before the start of the gate. */
    done: added(deployment(complete()), replicaSet, podWith(podIs.ready(-60))),
    /** The pod exists and is neither ready nor broken. */
    creating: added(deployment(progressing), replicaSet, podWith(creating)),
  }
}

/** Status of a Deployment whose only replica is not available. */
export const progressing: Deployment['status'] = complete(1, { readyReplicas: 0, availableReplicas: 0 })

/** Status of a pod whose containers are being created. */
export const creating: PodStatus = { phase: 'Pending', startTime: iso(1), containerStatuses: [make.containerStatus()] }
