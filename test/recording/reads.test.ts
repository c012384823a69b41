import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { Gate } from '../../src/gate/gate.ts'
import { assess } from '../../src/lifecycle/assess.ts'
import { openReplay, recordingsFolder, titledRecordings } from '../support/recordings.ts'
import { sampled } from '../support/thorough.ts'

/** The latest assessment of each open target, and what its rule finds about the same object now. */
function assessments(gate: Gate, now: number) {
  return gate.targets.map(({ state, rule, name, readerOf }) => {
    if (state.type !== 'present' || state.assessment === undefined || state.assessment.completed) return undefined
    return {
      name,
      latest: state.assessment,
      found: assess(rule, state.seen.object, readerOf(state.seen.object, now)),
    }
  })
}

/** The names of the targets that an event changes although the gate does not assess them again. */
function missedBy(event: FeedEvent, gate: Gate, handle: (event: FeedEvent) => void): readonly string[] {
  const before = assessments(gate, event.at)
  handle(event)
  const after = gate.isOver ? [] : assessments(gate, event.at)
  return before.flatMap((known, index) => {
    const next = after[index]
    const isStale = known !== undefined && next !== undefined && known.latest === next.latest
    return isStale && !isDeepStrictEqual(known.found, next.found) ? [`${event.type}: ${known.name}`] : []
  })
}

/** The needed watches of each target, with the version of the object that its rule read last. */
function needed(gate: Gate) {
  return gate.targets.map(({ name, readObject, requests }) => ({ name, readObject, watches: requests.needed }))
}

/** The targets that ask for another needed watch although their object is the same: one more round trip. */
function askedLate(event: FeedEvent, gate: Gate, handle: (event: FeedEvent) => void): readonly string[] {
  const before = needed(gate)
  handle(event)
  const after = needed(gate)
  return before.flatMap(({ name, readObject, watches }, index) => {
    const next = after[index]
    const isSame =
      readObject === undefined || next?.readObject !== readObject || isDeepStrictEqual(next.watches, watches)
    return isSame ? [] : [`${event.type}: ${name}`]
  })
}

/** What a check finds at each event of a recording. */
async function atEachEvent(name: string, check: typeof missedBy): Promise<readonly string[]> {
  const run = await openReplay(join(recordingsFolder, name))
  const gate = run.createGate()
  const found: string[] = []
  const handle = gate.handle.bind(gate)
  gate.handle = (events) => {
    if (gate.isOver) handle(events)
    else for (const event of events) found.push(...check(event, gate, (each) => handle([each])))
  }
  await run.follow(gate)
  return found
}

const recordings = readdirSync(recordingsFolder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ndjson.gz'))
  .toSorted()

test.each(titledRecordings(sampled(recordings, 4)))(
  'at each event of %s, rules read everything that they depend on through the reader',
  async (_, name) => expect(await atEachEvent(name, missedBy)).toEqual([]),
)

test.each(titledRecordings(sampled(recordings, 4)))(
  'at each event of %s, rules request all watches that they need at once',
  async (_, name) => expect(await atEachEvent(name, askedLate)).toEqual([]),
)
