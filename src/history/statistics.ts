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

/** A run of a target, with the moment at which its gate ended in milliseconds since the epoch. */
interface Run {
  readonly past: PastTarget
  readonly endedAt: number
}

/** What a history shows, as lines of text: of all gates, then of each target, those that failed most first. */
export function describeHistory(gates: readonly PastGate[]): readonly string[] {
  const [first] = gates
  const last = gates.at(-1)
  if (first === undefined || last === undefined) return ['The history contains no gates.']
  const ready = gates.filter(({ outcome }) => outcome === 'ready').length
  const head = `${counted(gates.length, 'gate')} from ${day(first)} to ${day(last)}: ${ready} ready, ${gates.length - ready} not ready`
  const targets = [...runsByTarget(gates)]
    .map(([name, runs]) => ({ name, runs, failures: runs.filter(hasFailed).length }))
    .toSorted((one, other) => other.failures - one.failures)
  return [head, ...targets.flatMap(({ name, runs }) => ['', plain(name), ...describeTarget(runs).map(indented)])]
}

function day({ at }: PastGate): string {
  return at.slice(0, 10)
}

function indented(line: string): string {
  return `  ${line}`
}

/** The judged runs of each target by its full name, in the order of time. */
function runsByTarget(gates: readonly PastGate[]): ReadonlyMap<string, readonly Run[]> {
  const runs = gates
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
    .flatMap(({ at, seconds, context, targets }) =>
      targets
        .filter(({ outcome }) => !unjudged.has(outcome))
        .map((past) => ({ past, context, endedAt: Date.parse(at) + seconds * 1_000 })),
    )
  return Map.groupBy(runs, ({ past: { target, namespace }, context }) =>
    [target, namespace === undefined ? '' : `-n ${namespace}`, context === '' ? '' : `on ${context}`]
      .filter((word) => word !== '')
      .join(' '),
  )
}

/** Whether a run failed by itself: a target that only waited for another one did not. */
function hasFailed({ past: { outcome, causedBy } }: Run): boolean {
  return outcome !== 'ready' && causedBy === undefined
}

function describeTarget(runs: readonly Run[]): readonly string[] {
  const good = goodRuns(runs.map(({ past }) => past))
  const times = good.map((past) => past.seconds * 1_000)
  const failed = runs.filter(hasFailed)
  const recoveries = recoveriesOf(runs)
  const rate = Math.round((100 * failed.length) / runs.length)
  return [
    ...(times.length === 0
      ? []
      : [
          `time to ready    median ${duration(median(times))}, 90 % within ${duration(quantile(times, 0.9))}  ${sparkline(times.slice(-historyGoodRuns))}`,
        ]),
    `failure rate     ${failed.length} of ${runs.length} (${rate} %)${reasonsOf(failed)}`,
    ...(recoveries.length === 0
      ? []
      : [
          `time to recover  median ${duration(median(recoveries))}, longest ${duration(Math.max(...recoveries))} (${counted(recoveries.length, 'time')})`,
        ]),
    ...slowest('slowest work     ', good, (name) => !waitingMilestones.has(name)),
    ...slowest('longest waiting  ', good, (name) => waitingMilestones.has(name)),
  ]
}

/** `: image-not-found 3, crash-loop 1` */
function reasonsOf(failed: readonly Run[]): string {
  const byReason = [...Map.groupBy(failed, ({ past }) => past.reason || past.outcome)]
    .map(([reason, { length }]) => ({ reason, length }))
    .toSorted((one, other) => other.length - one.length)
    .slice(0, shownReasons)
  return byReason.length === 0
    ? ''
    : `: ${byReason.map(({ reason, length }) => `${plain(reason)} ${length}`).join(', ')}`
}

/** From the end of the first failed run to the end of the next ready one, in milliseconds. */
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

/** The milestones with the longest medians: `pulled 12 s, started 3 s`. */
function slowest(label: string, good: readonly PastTarget[], isShown: (name: string) => boolean): readonly string[] {
  const names = new Set(good.flatMap(({ milestones }) => Object.keys(milestones)))
  const found = [...names]
    .filter(isShown)
    .map((name) => {
      const took = good.flatMap(({ milestones: { [name]: seconds } }) =>
        seconds === undefined ? [] : [seconds * 1_000],
      )
      return { name, ms: median(took) }
    })
    .filter(({ ms }) => ms >= shortestWaitMs)
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, shownMilestones)
  return found.length === 0
    ? []
    : [`${label}${found.map(({ name, ms }) => `${plain(name)} ${duration(ms)}`).join(', ')}`]
}
