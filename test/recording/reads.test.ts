import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { openRecording } from '../../src/cli/recording-file.ts'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { Gate } from '../../src/gate/gate.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { replay } from '../../src/recording/replay-gate.ts'
import { recordingsFolder } from '../support/recordings.ts'
import { sampled } from '../support/thorough.ts'

/** The latest assessment of each open target, and what its rule finds about the same object now. */
function assessments(gate: Gate, now: number) {
  return gate.record(now).targets.map((_, index) => {
    const { gated, contextAt } = gate.judgedTarget(index)
    const { state, rule, name } = gated
    if (state.type !== 'judged' && state.type !== 'ready') return undefined
    if (state.assessment === undefined || state.seen === undefined || state.assessment.completed) return undefined
    return { name, latest: state.assessment, found: rule.assess(state.seen.object, contextAt(now)) }
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

const recordings = readdirSync(recordingsFolder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ndjson.gz'),
)

test.each(sampled(recordings.sort(), 4))(
  'a rule reads through its context whatever it depends on, at each event of %s',
  async (name) => {
    const file = join(recordingsFolder, name)
    const { plan, settings, index, afterReady } = await openRecording(
      file,
      await readHeader(file),
      {},
      () => {},
      new AbortController().signal,
    )
    const missed: string[] = []
    const onGate = (gate: Gate) => {
      const handle = gate.handle.bind(gate)
      gate.handle = (event) => {
        if (gate.isOver) handle(event)
        else missed.push(...missedBy(event, gate, handle))
      }
    }
    const { correctNamespace } = plan
    await replay(file, plan.targets, settings, { index, afterReady, correctNamespace, onGate, onDamage: () => {} })
    expect(missed).toEqual([])
  },
)
