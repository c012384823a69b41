import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { loadChecks } from '../../src/lifecycle/rules.ts'
import type { Target } from '../../src/plan/target.ts'
import { createChecks, createServer } from '../kit/checks.ts'
import {
  added,
  allSynced,
  at,
  createGate,
  createTarget,
  deleted,
  modified,
  type Run,
  run,
  synced,
} from '../kit/gate.ts'
import { complete, condition, iso, make, moment } from '../kit/objects.ts'
import { runs } from '../support/thorough.ts'
import { application } from './gitops.ts'
import { SimulatedCluster } from './simulation/cluster.ts'
import { replaceNode, type Step, workloads } from './simulation/happenings.ts'

const holdSeconds = 300

/** A target without pods of its own: its ready object, what it reports for a while by itself, and what is a real break if it stays. */
interface Subject {
  readonly ready: KubeObject
  readonly falls: readonly KubeObject[]
  readonly breaks: readonly KubeObject[]
  readonly target?: Partial<Target>
  readonly others?: readonly Observation[]
}

function objectOf(apiVersion: string, kind: string, status: object, spec: object = {}): KubeObject {
  const metadata = { name: 'web', namespace: 'shop', uid: `${kind}-uid`, generation: 1, creationTimestamp: iso(-3_600) }
  return { apiVersion, kind, metadata, spec, status: { observedGeneration: 1, ...status } } as KubeObject
}

/** The conditions that every controller of Flux writes. */
function flux(apiVersion: string, kind: string) {
  const withConditions = (...conditions: readonly (readonly [type: string, status: string, reason: string])[]) =>
    objectOf(apiVersion, kind, {
      conditions: conditions.map(([type, status, reason]) =>
        condition(type, status, { reason, message: reason, observedGeneration: 1 }),
      ),
    })
  return {
    ready: withConditions(['Ready', 'True', 'ReconciliationSucceeded']),
    falls: [
      withConditions(['Reconciling', 'True', 'Progressing'], ['Ready', 'Unknown', 'Progressing']),
      withConditions(['Ready', 'Unknown', 'Fulfilling prerequisites']),
      withConditions(['Ready', 'False', 'DependencyNotReady']),
      withConditions(['Ready', 'False', 'ArtifactFailed']),
    ],
    breaks: [
      withConditions(['Stalled', 'True', 'RetriesExceeded'], ['Ready', 'False', 'RetriesExceeded']),
      withConditions(['Ready', 'False', 'HealthCheckFailed']),
    ],
  }
}

const definition = 'example.com/v1'
const ofCondition = (type: string, status: string, reason = 'Reason') => ({
  conditions: [condition(type, status, { reason, message: reason })],
})
const available = (status: 'True' | 'False', replicas: number) =>
  createServer().deployment(complete(replicas, { conditions: [condition('Available', status)] }))
const apiService = (status: string, reason: string): KubeObject => {
  const { metadata, ...rest } = objectOf(
    'apiregistration.k8s.io/v1',
    'APIService',
    ofCondition('Available', status, reason),
    {
      service: { name: 'metrics-server', namespace: 'kube-system' },
    },
  )
  const { namespace: _, ...clusterWide } = metadata
  return { ...rest, metadata: { ...clusterWide, name: 'v1beta1.metrics.k8s.io' } } as KubeObject
}
const autoscaler = (active: string, reason?: string): KubeObject => {
  const { status, ...rest } = make.autoscaler(active) as KubeObject & { status: { conditions: object[] } }
  const conditions = reason === undefined ? status.conditions : [condition('AbleToScale', 'False', { reason })]
  return { ...rest, status: { ...status, conditions } } as KubeObject
}

const subjects: Readonly<Record<string, Subject>> = {
  Kustomization: flux('kustomize.toolkit.fluxcd.io/v1', 'Kustomization'),
  HelmRelease: flux('helm.toolkit.fluxcd.io/v2', 'HelmRelease'),
  Application: {
    ready: application(),
    falls: [
      application({ status: 'OutOfSync', phase: 'Running' }),
      application({ status: 'OutOfSync', health: 'Missing' }),
      application({ health: 'Progressing' }),
      application({ health: 'Unknown' }),
      application({
        status: 'Unknown',
        conditions: [{ type: 'ComparisonError', message: 'failed to load live state' }],
      }),
    ],
    breaks: [
      application({ health: 'Degraded' }),
      application({ status: 'OutOfSync' }),
      application({ health: 'Missing' }),
    ],
  },
  HorizontalPodAutoscaler: {
    ready: autoscaler('True'),
    falls: [autoscaler('False')],
    breaks: [autoscaler('False'), autoscaler('True', 'FailedGetScale')],
  },
  APIService: {
    ready: apiService('True', 'Passed'),
    falls: [apiService('False', 'FailedDiscoveryCheck'), apiService('False', 'MissingEndpoints')],
    breaks: [apiService('False', 'FailedDiscoveryCheck')],
  },
  'a kind that the catalogue does not know': {
    ready: objectOf(definition, 'Widget', ofCondition('Ready', 'True')),
    falls: [
      objectOf(definition, 'Widget', ofCondition('Ready', 'Unknown')),
      objectOf(definition, 'Widget', ofCondition('Ready', 'False')),
      objectOf(definition, 'Widget', { phase: 'Updating', ...ofCondition('Ready', 'False') }),
      objectOf(definition, 'Widget', { phase: 'Failed', ...ofCondition('Ready', 'False') }),
    ],
    breaks: [
      objectOf(definition, 'Widget', ofCondition('Ready', 'False')),
      objectOf(definition, 'Widget', { phase: 'Failed', ...ofCondition('Ready', 'False') }),
    ],
  },
  'a Deployment with --for': {
    ready: available('True', 1),
    falls: [available('False', 3)],
    breaks: [available('False', 3)],
    target: { waitFor: { type: 'condition', condition: 'Available', status: 'True' } },
    others: [...added(createServer().replicaSet, ...createServer().pods()), ...allSynced],
  },
}

/** The kinds that any of these rules watches: all lists are complete. */
const lists = synced('Pod', 'Event', 'Service')

async function gateOf({ ready, target, others = [] }: Subject, events: readonly FeedEvent[]): Promise<Run> {
  const { apiVersion, kind, metadata } = ready
  const { name, namespace } = metadata
  const targets = [createTarget({ apiVersion, kind, name, namespace, ...target })]
  const listed = synced(`${apiVersion} ${kind}@${namespace ?? ''}`)
  const settings = await loadChecks(targets, [])
  const afterReady = createChecks({ hold: `${holdSeconds}s` }, targets)
  return run([at(1, added(ready), others, listed, lists), events], { targets, settings, afterReady })
}

/** When the hold of a subject begins. */
async function heldSince(subject: Subject): Promise<number> {
  const { outcome, seconds } = await gateOf(subject, [])
  expect(outcome).toBe('ready')
  return seconds - holdSeconds
}

const fall = fc.record({
  which: fc.nat(),
  after: fc.integer({ min: 1, max: 60 }),
  lasts: fc.integer({ min: 1, max: 40 }),
})
const sequence = fc.record({
  kind: fc.constantFrom(...Object.keys(subjects)),
  falls: fc.array(fall, { minLength: 1, maxLength: 4 }),
  /** A last fall stands across the end of the hold. */
  isLate: fc.boolean(),
})
const breaking = fc.record({
  kind: fc.constantFrom(...Object.keys(subjects)),
  which: fc.nat(),
  after: fc.integer({ min: 2, max: 285 }),
  isDeleted: fc.boolean(),
})

function pick<Item>(items: readonly Item[], index: number): Item {
  return items[index % items.length] as Item
}

describe('a hold of five minutes for a target without pods of its own', () => {
  it('is not broken by a short change that its controller repairs', async () => {
    await fc.assert(
      fc.asyncProperty(sequence, async ({ kind, falls, isLate }) => {
        const subject = subjects[kind] as Subject
        const since = await heldSince(subject)
        let second = since
        const events = falls.flatMap(({ which, after, lasts }) => {
          const from = second + after
          second = from + lasts
          if (second >= since + holdSeconds - 10) return []
          return [...at(from, modified(pick(subject.falls, which))), ...at(second, modified(subject.ready))]
        })
        const end = since + holdSeconds
        const late = isLate
          ? [...at(end - 3, modified(pick(subject.falls, falls.length))), ...at(end + 4, modified(subject.ready))]
          : []
        const { outcome, message } = await gateOf(subject, [...events, ...late])
        expect({ outcome, message }).toEqual({ outcome: 'ready', message: expect.anything() })
      }),
      runs(14),
    )
  })

  it('is broken by a change that lasts until its end', async () => {
    await fc.assert(
      fc.asyncProperty(breaking, async ({ kind, which, after, isDeleted }) => {
        const subject = subjects[kind] as Subject
        const since = await heldSince(subject)
        const broken = isDeleted ? deleted(subject.ready) : modified(pick(subject.breaks, which))
        const { outcome, reason } = await gateOf(subject, at(since + after, broken))
        expect([outcome, reason]).toEqual([
          'failed',
          isDeleted ? expect.stringMatching(/not-held|deleted/) : 'not-held',
        ])
      }),
      runs(5),
    )
  })
})

const node = fc.constantFrom('node-1', 'node-2', 'node-3')
const ordinary: fc.Arbitrary<Step['happens']> = fc.oneof(
  fc.integer({ min: 1, max: 6 }).map((replicas) => (cluster: SimulatedCluster) => cluster.scale(replicas)),
  fc.tuple(fc.constantFrom('drain', 'shutDown'), node).map(([how, name]) => replaceNode(how, name)),
  fc.nat({ max: 8 }).map((index) => (cluster: SimulatedCluster) => cluster.evict(index)),
  fc.constant((cluster: SimulatedCluster) => cluster.reapply()),
  fc.integer({ min: 2, max: 20 }).map((seconds) => (cluster: SimulatedCluster) => cluster.holdControllers(seconds)),
)
const kinds = fc.constantFrom('Deployment', 'StatefulSet', 'DaemonSet')
const ordinaryHold = fc.record({
  kind: kinds,
  steps: fc.array(fc.record({ after: fc.integer({ min: 1, max: 220 }), happens: ordinary }), {
    minLength: 1,
    maxLength: 5,
  }),
})

/** A container of a ready pod dies, or every node goes and no other one comes. */
const real: fc.Arbitrary<Step['happens']> = fc.oneof(
  fc
    .nat({ max: 2 })
    .map((index) => (cluster: SimulatedCluster) => cluster.pods.kill(pick(cluster.pods.pods, index), 1)),
  fc.constant((cluster: SimulatedCluster) => cluster.reboot(cluster.pods.pods[0]?.node ?? '')),
)
const brokenHold = fc.record({ kind: kinds, after: fc.integer({ min: 1, max: 290 }), happens: real })

function gateHold(kind: string, steps: readonly Step[]) {
  const { create } = workloads[kind] as (typeof workloads)[string]
  const cluster = new SimulatedCluster(create, { before: { readyAfter: 2 }, now: { readyAfter: 3 } }, 'now', {
    replicas: 3,
  })
  const targets = [createTarget({ kind })]
  const gate = createGate([], { targets, live: true, afterReady: createChecks({ hold: `${holdSeconds}s` }, targets) })
  let handled = 0
  const observe = () => {
    gate.handle(cluster.events.slice(handled))
    handled = cluster.events.length
    gate.advance(moment(cluster.now))
  }
  const left = steps.toSorted((a, b) => a.after - b.after)
  observe()
  while (gate.verdict === undefined) {
    cluster.tick()
    observe()
    const { since } = gate.record().hold ?? {}
    const held = since === undefined ? -Infinity : (moment(cluster.now) - since) / 1_000
    while (gate.verdict === undefined && (left[0]?.after ?? Infinity) <= held) left.shift()?.happens(cluster)
  }
  return { outcome: gate.verdict.outcome, reason: gate.verdict.reason, message: gate.verdict.message }
}

describe('a hold of five minutes for a workload', () => {
  it('is not broken by scales, drains, evictions and another apply', () => {
    fc.assert(
      fc.property(ordinaryHold, ({ kind, steps }) => {
        expect(gateHold(kind, steps)).toMatchObject({ outcome: 'ready' })
      }),
      runs(11),
    )
  })

  it('is broken by a container that dies', () => {
    fc.assert(
      fc.property(brokenHold, ({ kind, after, happens }) => {
        expect(gateHold(kind, [{ after, happens }])).toMatchObject({ outcome: 'failed', reason: 'not-held' })
      }),
      runs(3),
    )
  })
})
