import type { FeedEvent } from '../../src/cluster/feed.ts'
import { Gate } from '../../src/gate/gate.ts'
import type { GateSettings } from '../../src/gate/settings.ts'
import { loadChecks } from '../../src/lifecycle/rules.ts'
import type { Target } from '../../src/plan/target.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { recordedSettings } from '../../src/run/recorded-run.ts'
import { lateEvents } from '../support/late-gate.ts'
import {
  type Expectation,
  hasAnswers,
  incidentsFolder,
  indexEvents,
  operatorRecordingsFolder,
  type RightVerdict,
  readExpectations,
  recordedEvents,
  recordingPath,
  recordingsFolder,
  recordingTitle,
} from '../support/recordings.ts'
import { sampled } from '../support/thorough.ts'

/**
 * Gates that begin late: each recording is cut at each of its states and between them, and a gate starts there, as after a
 * slow login or in a job that runs again. Its first list has the objects of that moment. No such gate may end as ready on a
 * rollout that is not, or end a rollout that becomes ready.
 */

/** A state that lasts for longer is cut in its middle too. */
const longStateMs = 2_000
/** Cuts after the last state of a recording: before and after all containers have settled. */
const afterEndMs = [7_000, 60_000]
/** Longer than each clock, so that one ends every gate. */
const silenceMs = 4 * 3_600_000

interface Recording {
  readonly name: string
  readonly folder: string
  readonly truth: readonly string[]
}

const folders = [recordingsFolder, incidentsFolder, operatorRecordingsFolder]
const recordings = folders.flatMap((folder): Recording[] =>
  Object.entries(readExpectations<Expectation | RightVerdict>(folder))
    // A late gate has answers of its own.
    .filter(([name]) => !hasAnswers(recordingPath(name, folder)))
    .map(([name, expected]) => ({
      name,
      folder,
      truth: 'truth' in expected ? expected.truth : [expected.outcome],
    })),
)

/** Whether every target is in the first list of the late gate, or comes later, and is not being deleted. */
function hasTargets(targets: readonly Target[], events: readonly FeedEvent[]): boolean {
  return targets.every((target) =>
    events.some(
      (event) =>
        'object' in event &&
        event.type !== 'DELETED' &&
        event.object.metadata.deletionTimestamp === undefined &&
        event.object.kind === target.kind &&
        event.object.metadata.name === target.name,
    ),
  )
}

/** Whether a target gets another template after the cut: for a gate that starts there, that is another change. */
function isChangedLater(targets: readonly Target[], events: readonly FeedEvent[]): boolean {
  return targets.some(({ kind, name }) => {
    const templates = events.flatMap((event) =>
      'object' in event && event.object.kind === kind && event.object.metadata.name === name
        ? [JSON.stringify((event.object.spec as { template?: object } | undefined)?.template)]
        : [],
    )
    return new Set(templates).size > 1
  })
}

/** Whether a target wants zero replicas at the cut or later: then no pod of it shows again what pods showed before. */
function isScaledToZero(targets: readonly Target[], events: readonly FeedEvent[]): boolean {
  return targets.some(({ kind, name }) =>
    events.some(
      (event) =>
        'object' in event &&
        event.object.kind === kind &&
        event.object.metadata.name === name &&
        (event.object.spec as { replicas?: number } | undefined)?.replicas === 0,
    ),
  )
}

/** The moments at which a late gate starts. */
function cutsOf(events: readonly FeedEvent[], startedAt: number): readonly number[] {
  const states = [...new Set(events.flatMap((event) => ('object' in event && event.at > startedAt ? [event.at] : [])))]
  const last = states.at(-1)
  const cuts = [
    ...states.flatMap((at, index) => {
      const lastsMs = (states[index + 1] ?? at) - at
      return lastsMs > longStateMs ? [at, at + lastsMs / 2] : [at]
    }),
    ...(last === undefined ? [] : afterEndMs.map((ms) => last + ms)),
  ]
  return sampled(cuts, 24, events.length)
}

async function prepare({ name, folder }: Recording, overrides: Partial<GateSettings> = {}) {
  const path = recordingPath(name, folder)
  const header = await readHeader(path)
  const targets = header.targets ?? []
  const settings = { ...recordedSettings(header), ...overrides, ...(await loadChecks(targets, [])) }
  const events = await recordedEvents(path)
  const index = indexEvents(events)
  /** The outcome and reason of the gate that starts at this moment, and what it received. */
  const gateFrom = (cutAt: number) => {
    const gate = new Gate(targets, { ...settings, startedAt: cutAt }, (request) => index.hasAnswer(request))
    const late = lateEvents(events, cutAt)
    gate.handle(late)
    gate.handle([{ type: 'CANCEL', at: Math.max(late.at(-1)?.at ?? 0, cutAt) + silenceMs }])
    return { late, verdict: `${gate.verdict?.outcome} ${gate.verdict?.reason}`.trim() }
  }
  const startedAt = events[0]?.at ?? 0
  return cutsOf(events, settings.startedAt).map((cutAt) => ({
    targets,
    after: (cutAt - startedAt) / 1_000,
    ...gateFrom(cutAt),
  }))
}

/** Whether a verdict on a good rollout is right: what the late gate cannot know, and what changes later, may end it. */
function isRight({ targets, late, verdict }: Awaited<ReturnType<typeof prepare>>[number]): boolean {
  if (verdict === 'ready') return true
  // A Job may be removed after its end: a gate that starts then cannot know it.
  if (!hasTargets(targets, late)) return verdict.startsWith('failed ')
  return isChangedLater(targets, late) && ['superseded superseded', 'superseded rolled-back'].includes(verdict)
}

/** A gate that starts after another change judges that change. */
const isAboutTheChange = (truth: readonly string[]) => truth.includes('superseded')
/** The verdict is about the gate, not about the rollout. */
const isAboutTheGate = (truth: readonly string[]) =>
  truth.some((each) => ['cancelled', 'unknown', 'misconfigured'].includes(each))

const bad = recordings.filter(
  ({ truth }) => !truth.includes('ready') && !isAboutTheChange(truth) && !isAboutTheGate(truth),
)
const good = recordings.filter(({ truth }) => truth.length === 1 && truth[0] === 'ready')

test('at least 85 percent of the recordings contain a rollout that either becomes ready or does not', () => {
  expect(good.length + bad.length).toBeGreaterThan(0.85 * recordings.length)
  expect(Math.min(good.length, bad.length)).toBeGreaterThan(0.35 * recordings.length)
})

/**
 * By recording: after how many seconds a gate can no longer know that the rollout is bad. The operator of a Rollout of
 * Kruise compares its Deployment once a minute. Later, a change that it has not seen looks like one that starts nothing.
 */
const unknowableAfter: Readonly<Record<string, number>> = { 'kruise-rollouts-stale': 60 }

const titled = (some: readonly Recording[]) => some.map((each) => [recordingTitle(each.name), each] as const)

test.each(titled(sampled(bad, 2)))('for %s, a gate that starts late never ends as ready', async (_, recording) => {
  const gates = await prepare(recording)
  const wrong = gates
    .filter(({ verdict, after }) => verdict === 'ready' && after < (unknowableAfter[recording.name] ?? Infinity))
    // For such a gate, the deaths before are past: it is ready with a warning.
    .filter(({ targets, late }) => !isScaledToZero(targets, late))
  expect(wrong.map(({ after }) => after)).toEqual([])
})

test.each(titled(sampled(good, 2)))('for %s, a gate that starts late does not fail', async (_, recording) => {
  // A gate that awaits a change which came before never sees it.
  const gates = await prepare(recording, { awaitChangeMs: 0 })
  expect(gates.flatMap((gate) => (isRight(gate) ? [] : [[gate.after, gate.verdict]]))).toEqual([])
})
