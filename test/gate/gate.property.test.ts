import fc from 'fast-check'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { Deployment } from '../../src/cluster/objects.ts'
import type { Gate } from '../../src/gate/gate.ts'
import { isEndedRecord } from '../../src/gate/run-record.ts'
import { unknownMs } from '../../src/thresholds.ts'
import { createGate, createTarget, type RunOptions } from '../kit/gate.ts'
import { start } from '../kit/objects.ts'
import { parameters } from '../support/thorough.ts'
import { actions, ModelCluster, type Step } from './model-cluster.ts'

const names = ['web', 'api'] as const

/** The usual first steps of a rollout, so that many sequences reach a verdict; then any steps. */
const rollout: readonly Step[] = names.flatMap((_, which) =>
  (['sync', 'createPod', 'start', 'ready', 'sync'] as const).map((action) => ({ after: 1, action, which, pod: 0 })),
)

const anything = fc.record<Step>({
  after: fc.oneof(fc.constantFrom(0, 0.5, 1, 3), fc.integer({ min: 0, max: 60 })),
  action: fc.constantFrom(...actions),
  which: fc.nat({ max: names.length - 1 }),
  pod: fc.nat({ max: 3 }),
})

const sequences = fc
  .record({ isRollout: fc.boolean(), steps: fc.array(anything, { maxLength: 25 }) })
  .map(({ isRollout, steps }) => {
    const cluster = new ModelCluster(names)
    for (const step of [...(isRollout ? rollout : []), ...steps]) cluster.step(step)
    return cluster.events
  })

const settings = fc.record({
  failFast: fc.boolean(),
  maxRestarts: fc.nat({ max: 3 }),
  settleTimeMs: fc.constantFrom(0, 10_000),
  timeoutMs: fc.constantFrom(60_000, 600_000),
  onSuperseded: fc.constantFrom('fail' as const, 'pass' as const),
})

function gateOf(events: readonly FeedEvent[], options: RunOptions['settings'] = {}): Gate {
  return createGate([events], { targets: names.map((name) => createTarget({ name })), settings: options })
}

function feed(gate: Gate, events: readonly FeedEvent[]): Gate {
  gate.handle(events)
  for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next)
  return gate
}

/** The events up to the gate's verdict. */
function eventsUntilVerdict(gate: Gate, events: readonly FeedEvent[]): readonly FeedEvent[] {
  const last = events.findIndex((event) => {
    gate.handle([event])
    return gate.verdict !== undefined
  })
  if (last < 0) return events
  // A deadline before an event is handled first.
  return events.slice(0, last + 1).filter(({ at }) => at <= gate.record().finishedAt)
}

/** The last version of each Deployment; undefined for those that are gone. */
function lastReported(events: readonly FeedEvent[]): ReadonlyMap<string, Deployment | undefined> {
  const versions = new Map<string, Deployment | undefined>()
  for (const event of events) {
    if (!('object' in event) || event.object.kind !== 'Deployment') continue
    versions.set(event.object.metadata.name, event.type === 'DELETED' ? undefined : (event.object as Deployment))
  }
  return versions
}

function isCompleteByItsCounts(deployment: Deployment | undefined): boolean {
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0, observedGeneration = 0 } = deployment?.status ?? {}
  const wanted = deployment?.spec?.replicas ?? 1
  return (
    deployment !== undefined &&
    deployment.metadata.deletionTimestamp === undefined &&
    observedGeneration >= (deployment.metadata.generation ?? 0) &&
    updatedReplicas >= wanted &&
    availableReplicas >= wanted &&
    replicas <= updatedReplicas
  )
}

describe('whatever happens in a cluster', () => {
  it('the gate is never ready while the counts of a controller contradict it', () => {
    let readies = 0
    fc.assert(
      fc.property(sequences, settings, (events, options) => {
        const gate = gateOf(events, options)
        const versions = lastReported(eventsUntilVerdict(gate, events))
        if (feed(gate, []).verdict?.outcome !== 'ready') return
        readies += 1
        for (const name of names) expect(isCompleteByItsCounts(versions.get(name))).toBe(true)
      }),
      parameters,
    )
    // Without ready gates, the property would test nothing.
    expect(readies).toBeGreaterThan(parameters.numRuns / 12)
  })

  it('the gate ends at most two minutes after its timeout, however often watches fail', () => {
    const outcomes = new Set<string | undefined>()
    fc.assert(
      fc.property(sequences, settings, (events, options) => {
        const { outcome, finishedAt } = feed(gateOf(events, options), events).record()
        outcomes.add(outcome)
        expect(outcome).not.toBe('progressing')
        expect(finishedAt).toBeLessThanOrEqual(start + options.timeoutMs + unknownMs)
      }),
      parameters,
    )
    expect([...outcomes].toSorted()).toEqual(['failed', 'ready', 'stalled', 'superseded', 'timed-out', 'unknown'])
  })

  it('no verdict changes, except that a ready target may fall back', () => {
    fc.assert(
      fc.property(sequences, settings, (events, options) => {
        const gate = gateOf(events, options)
        const ended = new Map<number, string>()
        let final: string | undefined
        for (const event of events) {
          gate.handle([event])
          const record = gate.record()
          if (isEndedRecord(record)) {
            const now = JSON.stringify(record)
            expect(now).toBe(final ?? now)
            final = now
          }
          record.targets.forEach(({ outcome, reason, message, endedAt }, index) => {
            const verdict = JSON.stringify({ outcome, reason, message, endedAt })
            expect(verdict).toBe(ended.get(index) ?? verdict)
            if (outcome !== 'progressing' && outcome !== 'ready') ended.set(index, verdict)
          })
        }
      }),
      parameters,
    )
  })

  it('the record is the same for the same events, however often deadlines are checked', () => {
    fc.assert(
      fc.property(sequences, settings, (events, options) => {
        const once = feed(gateOf(events, options), events).record()
        const again = feed(gateOf(events, options), events).record()
        expect(JSON.stringify(again)).toBe(JSON.stringify(once))
        const watched = gateOf(events, options)
        for (const [moment, together] of Map.groupBy(events, ({ at }) => at)) {
          watched.advance((moment + start) / 2)
          watched.advance(moment - 1)
          watched.handle(together)
        }
        expect(JSON.stringify(feed(watched, []).record())).toBe(JSON.stringify(once))
      }),
      parameters,
    )
  })

  it('a target is logged as ready, as no longer ready and as ended in this order only', () => {
    fc.assert(
      fc.property(sequences, settings, (events, options) => {
        const { entries } = feed(gateOf(events, options), events).record()
        expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).toSorted((a, b) => a - b))
        names.forEach((_, index) => {
          const own = entries.filter(({ target }) => target === index)
          const ends = own.filter(({ kind, outcome }) => kind === 'verdict' && outcome !== 'ready')
          expect(ends.length).toBeLessThanOrEqual(1)
          if (ends[0] !== undefined) expect(own.at(-1)).toBe(ends[0])
        })
      }),
      parameters,
    )
  })
})
