import { Secrets } from '../../src/cluster/secrets.ts'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import type { Entry } from '../../src/gate/timeline-entries.ts'
import { parseInputs } from '../../src/inputs.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import type { Reporter } from '../../src/run/redacted-output.ts'
import { gateRollout } from '../../src/run/start-run.ts'
import type { EventLoopClock } from './event-loop-clock.ts'

export interface GateOptions {
  readonly onStart?: Reporter['onStart']
  readonly onEntry?: (entry: Entry) => void
  readonly cancelled?: AbortSignal
}

/**
 * Gates a rollout in this process and in virtual time.
 * @param raw texts by input name
 */
export async function gateInVirtualTime(
  raw: Readonly<Record<string, string>>,
  clock: EventLoopClock,
  { onStart = () => {}, onEntry = () => {}, cancelled = new AbortController().signal }: GateOptions = {},
): Promise<EndedRunRecord> {
  let isOver = false
  const ended = gateRollout({
    inputs: parseInputs(raw),
    references: parseReferences(raw['resources'] ?? ''),
    streamLogs: [],
    purpose: 'gate',
    reporter: { onStart, onEntry, onLog: () => {}, onWarning: () => {} },
    secrets: new Secrets(),
    cancelled,
    clock,
  }).finally(() => {
    isOver = true
  })
  ended.catch(() => {})
  await clock.runUntil(Number.POSITIVE_INFINITY, () => isOver)
  return await ended
}
