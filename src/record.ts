import type { Cluster } from './cluster/cluster.ts'
import { type EventConsumer, Follower } from './cluster/follower.ts'
import { EvidenceReader } from './diagnosis/evidence-reader.ts'
import { Gate } from './gate/gate.ts'
import type { GateSettings } from './gate/settings.ts'
import type { LiveLogs } from './logs/live-logs.ts'
import { startRecording } from './recording/writer.ts'
import { evidenceLimitMs, type LivePlan, openLiveLogs, type Rollout, withPlan } from './rollout.ts'

/** What became of a recording. */
export interface Recorded {
  readonly events: number
  readonly startedAt: number
  readonly finishedAt: number
}

/**
 * Records all that the gate would watch until it is cancelled, whatever the gate decides meanwhile. The reporter gets the
 * gate's timeline entries until its verdict; the logs that explain the end are recorded last.
 *
 * @returns nothing when it was cancelled before the targets were known
 * @throws UserError for invalid input; the file system's error when the recording could not be written
 */
export function recordRollout(path: string, rollout: Rollout): Promise<Recorded | undefined> {
  return withPlan(rollout, rollout.clock.now(), (plan, settings, cluster) =>
    recordPlan(path, rollout, plan, settings, cluster),
  )
}

async function recordPlan(
  path: string,
  rollout: Rollout,
  plan: LivePlan,
  settings: GateSettings,
  cluster: Cluster,
): Promise<Recorded> {
  const { inputs, reporter, cancelled, clock } = rollout
  const recording = startRecording(path, plan, settings, inputs)
  const { startedAt } = settings
  let evidence: EvidenceReader | undefined
  let logs: LiveLogs | undefined
  const gate = new Gate(
    plan.targets,
    withoutClocks(settings),
    () => true,
    (entry) => {
      if (logs === undefined) reporter.onEntry(entry)
      else logs.entry(entry)
      evidence?.onEntry(entry)
    },
  )
  logs = openLiveLogs(rollout, plan, gate, settings, cluster)
  reporter.onStart?.((now) => gate.timeline(now))
  let events = 0
  const follower = new Follower(endless(gate), cluster, clock, startedAt, (event) => {
    events++
    recording.write(event)
    evidence?.observe(event)
    logs?.update()
  })
  evidence = new EvidenceReader(gate, cluster, (read) => follower.observe(read), inputs.logLines)
  const stop = () => follower.stop()
  cancelled.addEventListener('abort', stop)
  try {
    follower.observe({ type: 'DISCOVERY', resources: plan.kinds })
    if (cancelled.aborted) stop()
    await follower.run()
    await Promise.all([evidence.finish(clock, evidenceLimitMs(cancelled)), logs.finish()])
  } finally {
    logs.close()
    cancelled.removeEventListener('abort', stop)
    await recording.end(clock.now())
  }
  return { events, startedAt, finishedAt: clock.now() }
}

/** The gate, which is followed beyond its verdict. */
function endless(gate: Gate): EventConsumer {
  return {
    isOver: false,
    get requests() {
      return gate.requests
    },
    handle: (event) => gate.handle(event),
    nextClock: () => gate.nextClock(),
    advance: (now) => gate.advance(now),
    requestsToConfirm: (at) => gate.requestsToConfirm(at),
  }
}

/** A recording goes on until somebody ends it. */
function withoutClocks(settings: GateSettings): GateSettings {
  return { ...settings, timeoutMs: 0, stallTimeoutMs: 0, milestoneTimeoutsMs: {}, failFast: false }
}
