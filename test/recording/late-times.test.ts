import { Gate } from '../../src/gate/gate.ts'
import type { RunRecord } from '../../src/gate/run-record.ts'
import { loadChecks } from '../../src/lifecycle/rules.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { recordedSettings } from '../../src/run/recorded-run.ts'
import { lateEvents } from '../support/late-gate.ts'
import {
  indexEvents,
  once,
  readExpectations,
  recordedEvents,
  recordingPath,
  replayOnce,
  titledRecordings,
} from '../support/recordings.ts'
import { sampled } from '../support/thorough.ts'

/**
 * The same rollout gated live and late: a minute after its last state, another gate finds the objects of each recording.
 * They show when each milestone was reached, in whole seconds.
 */

const lateMs = 60_000
const unitSeconds = 1
/** The last pod that counts now may be younger than those that reached these live: a rolling update creates others later. */
const ofFirstPods: ReadonlySet<string> = new Set(['scheduled', 'pulled', 'started'])
/** The template, the object or its pods were replaced after the milestone was reached live, or access to it came late. */
const replacedLater: ReadonlySet<string> = new Set([
  'annotation-followed',
  'half-open-while-it-is-replaced',
  'restarted-twice',
  'role-binding-restored-healthy',
  'statefulset-canary-undone',
])

const recordings = sampled(Object.keys(readExpectations()), 4)

const gateLate = once(async (name): Promise<RunRecord> => {
  const path = recordingPath(name)
  const header = await readHeader(path)
  const targets = header.targets ?? []
  const events = await recordedEvents(path)
  const startedAt = (events.at(-1)?.at ?? 0) + lateMs
  const index = indexEvents(events)
  const settings = {
    ...recordedSettings(header),
    startedAt,
    awaitChangeMs: 0,
    requireChangeMs: 30 * 60_000,
    ...(await loadChecks(targets, [])),
  }
  const gate = new Gate(targets, settings, (request) => index.hasAnswer(request))
  gate.handle(lateEvents(events, startedAt))
  gate.handle([{ type: 'CANCEL', at: startedAt + 5_000 }])
  return gate.record()
})

test.each(titledRecordings(recordings))(
  'in %s, the target has changed, also for a gate that starts after the change',
  async (_, name) => {
    const records = [(await replayOnce(name)).runRecord, await gateLate(name)]
    const wrong = records.flatMap(({ targets }) =>
      targets.filter(({ change, reason }) => change === 'none' || reason === 'not-changed'),
    )
    expect(wrong).toEqual([])
  },
)

test.each(titledRecordings(recordings))(
  'for %s, a late gate finds the milestone times of the live gate',
  async (_, name) => {
    const [{ runRecord: live }, late] = [await replayOnce(name), await gateLate(name)]
    const differences = late.targets.flatMap((target, index) => {
      const before = live.targets[index]
      if (before?.outcome !== 'ready' || target.outcome !== 'ready' || replacedLater.has(name)) return []
      return target.milestones.flatMap(({ name, at, source }) => {
        const known = before.milestones.find((each) => each.name === name)?.at
        if (source === undefined || at === undefined || known === undefined) return []
        const seconds = (at - known) / 1_000
        return Math.abs(seconds) <= unitSeconds || (ofFirstPods.has(name) && seconds > 0) ? [] : [[name, seconds]]
      })
    })
    expect(differences).toEqual([])
  },
)

test('late gates find the times of 90 percent of the milestones in objects, image pulls apart', async () => {
  const milestones = (await Promise.all(recordings.map(gateLate))).flatMap(({ targets }) =>
    targets.flatMap((target) => (target.outcome === 'ready' ? target.milestones : [])),
  )
  const done = milestones.filter(({ name, state }) => state === 'done' && name !== 'pulled')
  expect(done.filter(({ source }) => source === 'object').length).toBeGreaterThan(0.9 * done.length)
})
