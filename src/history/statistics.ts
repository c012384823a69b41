import { duration } from '../duration.ts'
import { counted } from '../reasons/wording.ts'
import { sparkline } from '../report/comparison.ts'
import { plain } from '../report/escape.ts'
import { historyGoodRuns, shortestWaitMs } from '../thresholds.ts'
import { goodRuns, median, type PastGate, type PastTarget, quantile } from './gates.ts'

/**
 * The milestones in which a target waits for others: for the apply, a controller, a node, a volume, or other objects. In all
 * others it works itself: its images are pulled, its containers start, its checks pass.
 */
const waitingMilestones: ReadonlySet<string> = new Set([
  'created',
  'observed',
  'replicaset',
  'scheduled',
  'provisioned',
  'bound',
  'endpoints',
  'backends',
  'address',
])

/** The outcomes that say nothing about a rollout: it was not judged, or not to its end. */
const unjudged: ReadonlySet<string> = new Set(['progressing', 'cancelled', 'misconfigured', 'unknown', 'superseded'])

const shownMilestones = 3
const shownReasons = 3

/** A run of a target, with the moment at which its gate ended in seconds since the epoch. */
interface Run {
  readonly past: PastTarget
  readonly context: string
  readonly endedAt: number
}

/** What a history shows of one target. Times in seconds. */
interface TargetStatistics {
  readonly target: string
  readonly namespace: string | undefined
  readonly context: string
  /** How often the target was judged, and failed by itself. */
  readonly runs: number
  readonly failed: number
  /** How often the target failed for each reason, the most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
  /** How long the target took to become ready, in each good run; absent without a good run. */
  readonly ready?: { readonly median: number; readonly p90: number; readonly each: readonly number[] }
  /** From a failure until the target was ready again; absent if that did not happen. */
  readonly recovery?: { readonly median: number; readonly longest: number; readonly count: number }
  /** The medians of its milestones, the longest first: work, and waiting for others. */
  readonly work: readonly MilestoneMedian[]
  readonly waiting: readonly MilestoneMedian[]
}

interface MilestoneMedian {
  readonly milestone: string
  readonly median: number
}

/** What a history shows: `history --json`. */
interface HistoryStatistics {
  readonly gates: number
  /** When the first and the last gate began; absent without one. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly ready: number
  /** The targets with the most failures come first. */
  readonly targets: readonly TargetStatistics[]
}

/** What the gates of a history show of all targets, and of each. */
export function historyStatistics(gates: readonly PastGate[]): HistoryStatistics {
  return {
    gates: gates.length,
    from: gates[0]?.at,
    to: gates.at(-1)?.at,
    ready: gates.filter(({ outcome }) => outcome === 'ready').length,
    targets: runsByTarget(gates)
      .map(targetStatistics)
      .toSorted((one, other) => other.failed - one.failed),
  }
}

/** What a history shows, as lines of text. */
export function describeHistory({ gates, from, to, ready, targets }: HistoryStatistics): readonly string[] {
  if (from === undefined || to === undefined) return ['The history contains no gates.']
  const head = `${counted(gates, 'gate')} from ${day(from)} to ${day(to)}: ${ready} ready, ${gates - ready} not ready`
  return [
    head,
    ...targets.flatMap((each) => ['', plain(nameOf(each)), ...describeTarget(each).map((line) => `  ${line}`)]),
  ]
}

/** `deployment.apps/web -n shop on prod` */
function nameOf({ target, namespace, context }: TargetStatistics): string {
  const place = namespace === undefined ? '' : ` -n ${namespace}`
  return `${target}${place}${context === '' ? '' : ` on ${context}`}`
}

function day(at: string): string {
  return at.slice(0, 10)
}

/** The judged runs of each target, in the order of time. */
function runsByTarget(gates: readonly PastGate[]): readonly (readonly Run[])[] {
  const runs = gates
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
    .flatMap(({ at, seconds, context, targets }) =>
      targets
        .filter(({ outcome }) => !unjudged.has(outcome))
        .map((past) => ({ past, context, endedAt: Date.parse(at) / 1_000 + seconds })),
    )
  const keyOf = ({ past: { target, namespace }, context }: Run) => JSON.stringify([target, namespace, context])
  return [...Map.groupBy(runs, keyOf).values()]
}

/** Whether a run failed by itself: a target that only waited for another one did not. */
function hasFailed({ past: { outcome, causedBy } }: Run): boolean {
  return outcome !== 'ready' && causedBy === undefined
}

function targetStatistics(runs: readonly Run[]): TargetStatistics {
  const [{ past = undefined, context = '' } = {}] = runs
  const good = goodRuns(runs.map(({ past }) => past))
  const times = good.map(({ seconds }) => seconds)
  const failed = runs.filter(hasFailed)
  const recoveries = recoveriesOf(runs)
  return {
    target: past?.target ?? '',
    namespace: past?.namespace,
    context,
    runs: runs.length,
    failed: failed.length,
    reasons: [...Map.groupBy(failed, ({ past }) => past.reason || past.outcome)]
      .map(([reason, { length }]) => ({ reason, count: length }))
      .toSorted((one, other) => other.count - one.count),
    ...(times.length > 0 && { ready: { median: median(times), p90: quantile(times, 0.9), each: times } }),
    ...(recoveries.length > 0 && {
      recovery: { median: median(recoveries), longest: Math.max(...recoveries), count: recoveries.length },
    }),
    work: slowest(good, (name) => !waitingMilestones.has(name)),
    waiting: slowest(good, (name) => waitingMilestones.has(name)),
  }
}

function describeTarget({ runs, failed, reasons, ready, recovery, work, waiting }: TargetStatistics): string[] {
  const took = (seconds: number) => duration(seconds * 1_000)
  const rate = Math.round((100 * failed) / runs)
  const why = reasons.slice(0, shownReasons).map(({ reason, count }) => `${plain(reason)} ${count}`)
  const milestones = (all: readonly MilestoneMedian[]) =>
    all
      .slice(0, shownMilestones)
      .map(({ milestone, median }) => `${plain(milestone)} ${took(median)}`)
      .join(', ')
  return [
    ready &&
      `time to ready    median ${took(ready.median)}, 90 % within ${took(ready.p90)}  ${sparkline(ready.each.slice(-historyGoodRuns).map((seconds) => seconds * 1_000))}`,
    `failure rate     ${failed} of ${runs} (${rate} %)${why.length === 0 ? '' : `: ${why.join(', ')}`}`,
    recovery &&
      `time to recover  median ${took(recovery.median)}, longest ${took(recovery.longest)} (${counted(recovery.count, 'time')})`,
    work.length > 0 && `slowest work     ${milestones(work)}`,
    waiting.length > 0 && `longest waiting  ${milestones(waiting)}`,
  ].filter((line) => typeof line === 'string')
}

/** From the end of the first failed run to the end of the next ready one, in seconds. */
function recoveriesOf(runs: readonly Run[]): readonly number[] {
  const recoveries: number[] = []
  let failedAt: number | undefined
  for (const run of runs) {
    if (hasFailed(run)) failedAt ??= run.endedAt
    else if (run.past.outcome === 'ready' && failedAt !== undefined) {
      recoveries.push(Math.max(0, run.endedAt - failedAt))
      failedAt = undefined
    }
  }
  return recoveries
}

/** The milestones with their medians, the longest first. */
function slowest(good: readonly PastTarget[], isShown: (name: string) => boolean): readonly MilestoneMedian[] {
  const names = new Set(good.flatMap(({ milestones }) => Object.keys(milestones)))
  return [...names]
    .filter(isShown)
    .map((name) => ({ milestone: name, median: median(good.flatMap(({ milestones }) => milestones[name] ?? [])) }))
    .filter(({ median }) => median * 1_000 >= shortestWaitMs)
    .toSorted((one, other) => other.median - one.median)
}
