import { type Clock, systemClock } from './cluster/clock.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { Observation } from './cluster/feed.ts'
import { EvidenceReader } from './diagnosis/reader.ts'
import { Gate } from './gate/gate.ts'
import type { GateSettings } from './gate/settings.ts'
import type { Inputs } from './inputs.ts'
import type { LiveLogs } from './logs/live-logs.ts'
import type { ParsedReferences } from './plan/references.ts'
import {
  evidenceLimitMs,
  type Listener,
  type LivePlan,
  onCluster,
  openLiveLogs,
  type Surroundings,
  startRecording,
} from './rollout.ts'

/** What became of a recording. */
export interface Recorded {
  readonly events: number
  readonly startedAt: number
  readonly finishedAt: number
}

/**
 * Records all that the gate would watch until it is cancelled, whatever the gate would say of it meanwhile: its story is
 * told to the listener until it is over, and the logs that would explain its end are recorded last.
 *
 * @returns nothing when it was cancelled before the targets were known
 * @throws UserError for what only the user can mend; the file system's error when the recording could not be written
 */
export function recordRollout(
  path: string,
  inputs: Inputs,
  raw: Readonly<Record<string, string | undefined>>,
  parsed: ParsedReferences,
  listener: Listener,
  clock: Clock = systemClock,
): Promise<Recorded | undefined> {
  const around = { inputs, raw, listener, clock }
  return onCluster(parsed, around, clock.now(), (plan, settings, cluster) =>
    recordPlan(path, plan, settings, cluster, around),
  )
}

async function recordPlan(
  path: string,
  plan: LivePlan,
  settings: GateSettings,
  cluster: Cluster,
  around: Surroundings,
): Promise<Recorded> {
  const { raw, listener, clock } = around
  const recording = startRecording(path, plan, settings, raw)
  const { cancelled } = listener
  const { startedAt } = settings
  let evidence: EvidenceReader | undefined
  let logs: LiveLogs | undefined
  const gate = new Gate(
    plan.targets,
    withoutClocks(settings),
    () => true,
    (entry) => {
      if (logs === undefined) listener.onEntry(entry)
      else logs.entry(entry)
      evidence?.hear(entry)
    },
  )
  logs = openLiveLogs(plan, gate, settings, cluster, around)
  listener.onStart?.((now) => gate.timeline(now))
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  let events = 0
  let stopAlarm = () => {}

  const guarded = (step: () => void) => {
    try {
      step()
    } catch (error) {
      reject(error)
    }
  }
  /** Follows what is to be watched by now; the gate's alarms go on telling what time alone changes. */
  const follow = () => {
    for (const request of gate.requests) cluster.watch(request, (observation) => guarded(() => tell(observation)))
    stopAlarm()
    const next = gate.nextClock()
    if (next === undefined) return
    stopAlarm = clock.after(Math.max(0, next.at - clock.now()), () =>
      guarded(() => {
        gate.advance(next.at)
        follow()
      }),
    )
  }
  const tell = (observation: Observation) => {
    const event = { ...observation, at: clock.now() }
    events++
    recording.write(event)
    evidence?.observe(event)
    logs?.observe()
    gate.handle(event)
    follow()
  }

  evidence = new EvidenceReader(gate, cluster, (read) => guarded(() => tell(read)), around.inputs.logLines)
  const stop = () => resolve()
  cancelled.addEventListener('abort', stop)
  if (cancelled.aborted) stop()
  try {
    guarded(() => tell({ type: 'DISCOVERY', resources: plan.kinds }))
    await over
    await Promise.all([evidence.finish(clock, evidenceLimitMs(listener)), logs.finish()])
  } finally {
    logs.close()
    stopAlarm()
    cancelled.removeEventListener('abort', stop)
    await recording.end(clock.now())
  }
  return { events, startedAt, finishedAt: clock.now() }
}

/** A recording goes on until somebody ends it. */
function withoutClocks(settings: GateSettings): GateSettings {
  return { ...settings, timeoutMs: 0, stallTimeoutMs: 0, milestoneTimeoutsMs: {}, failFast: false }
}
