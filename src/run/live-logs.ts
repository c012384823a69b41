import { type Clock, Semaphore, within } from '../cluster/clock.ts'
import { isForbidden, statusOf } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import type { LogLine } from '../cluster/logs.ts'
import type { ContainerStatus, Pod } from '../cluster/objects.ts'
import { errorText } from '../errors.ts'
import type { Gate } from '../gate/gate.ts'
import type { Entry } from '../gate/run-record.ts'
import { containersOf } from '../lifecycle/workloads/pod-fields.ts'
import type { Target } from '../plan/target.ts'
import type { LogOutput } from '../report/log.ts'
import {
  lastLogLinesMs,
  lastLogLinesWhenCancelledMs,
  liveLogHeadBytes,
  liveLogHeadLines,
  liveLogIntervalMs,
  liveLogLines,
  liveLogStreams,
  liveLogTailLines,
  shownHistoryMs,
} from '../thresholds.ts'
import { ContainerLog, type ContainerRun, type LogSource } from './container-log.ts'

interface LiveLogsOptions {
  readonly gate: Pick<Gate, 'gatedPods'>
  readonly targets: readonly Target[]
  /** The indexes of the targets whose logs are shown. */
  readonly streamed: ReadonlySet<number>
  readonly source: LogSource
  readonly clock: Clock
  /** Start of the gate, on the server's clock. */
  readonly startedAt: number
  readonly listener: {
    readonly onEntry: (entry: Entry) => void
    readonly onLog: (output: LogOutput) => void
    /** Called once for each different warning. The text is raw: renderers escape it. */
    readonly onWarning: (text: string) => void
    readonly cancelled: AbortSignal
  }
}

type ShownText = Pick<LogOutput, 'type' | 'text' | 'cutBytes'>

interface Stream {
  readonly target: number
  readonly log: ContainerLog
}

/**
 * Shows the logs selected by `stream-logs`, in order with the gate's timeline entries. These are the logs of all
 * containers, init containers and sidecars in pods of the gated revision. Logs never change a verdict.
 */
export class LiveLogs {
  readonly #options: LiveLogsOptions
  readonly #slots = new Semaphore(liveLogStreams)
  readonly #allowance: LineAllowance = { lines: liveLogLines }
  readonly #streams = new Map<string, Stream>()
  readonly #warned = new Set<string>()
  #isScheduled = false
  /** Entries that wait until the log lines before them are shown. */
  #held: Entry[] = []
  #waiting: Promise<unknown> | undefined

  constructor(options: LiveLogsOptions) {
    this.#options = options
  }

  /**
   * Shows an entry. The end of a target is shown only when the last lines of its ended containers were shown; later entries wait
   * too, to stay in order.
   */
  entry(entry: Entry): void {
    const isEnd = entry.kind === 'verdict' && entry.target !== undefined
    const before = isEnd ? this.#complete(entry.target) : undefined
    if (before !== undefined) {
      const waiting = Promise.all([this.#waiting, before]).then(() => {
        if (this.#waiting === waiting) this.#flush()
      })
      this.#waiting = waiting
    }
    if (this.#waiting === undefined) this.#options.listener.onEntry(entry)
    else this.#held.push(entry)
  }

  /** Shows the entries that wait. */
  #flush(): void {
    this.#waiting = undefined
    for (const entry of this.#held.splice(0)) this.#options.listener.onEntry(entry)
  }

  /** Reads the pods soon: only once, even if they change several times in the same microtask. */
  update(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      for (const target of this.#options.streamed) this.#read(target, false)
    })
  }

  /** Shows the remaining lines within a second, and ends all streams. */
  async finish(): Promise<void> {
    for (const target of this.#options.streamed) this.#read(target, this.#isJob(target))
    const { aborted } = this.#options.listener.cancelled
    await this.#finish([...this.#streams.values()], aborted ? lastLogLinesWhenCancelledMs : lastLogLinesMs)
    this.#flush()
  }

  /** Stops all log streams without waiting for further lines. */
  close(): void {
    for (const { log } of this.#streams.values()) log.close()
    this.#flush()
  }

  /** Shows the last lines of a target's ended containers; undefined if it has none or its logs are not shown. */
  #complete(target: number): Promise<void> | undefined {
    if (!this.#options.streamed.has(target)) return undefined
    const isJob = this.#isJob(target)
    this.#read(target, isJob)
    const ended = [...this.#streams.values()].filter(
      (stream) => stream.target === target && (isJob || stream.log.hasEnded),
    )
    return ended.length === 0 ? undefined : this.#finish(ended, lastLogLinesMs)
  }

  /** The pods of a Job end by themselves, so all its logs end together with the target. */
  #isJob(target: number): boolean {
    return this.#options.targets[target]?.kind === 'Job'
  }

  async #finish(streams: readonly Stream[], limitMs: number): Promise<void> {
    if (streams.length === 0) return
    const ended = await within(this.#options.clock, limitMs, Promise.all(streams.map(({ log }) => log.finish())))
    if (ended === undefined)
      this.#warn('late', 'The last lines of some logs may be missing: the cluster did not return them in time.')
    for (const { log } of streams) log.close()
  }

  /**
   * @param withUnstarted whether containers that seem not started are read too: a container's status may arrive later than
   * the end of its Job
   */
  #read(target: number, withUnstarted: boolean): void {
    for (const pod of this.#options.gate.gatedPods(target)) {
      for (const { container, status } of containersOf(pod)) {
        const run = runOf(status)
        if (run !== undefined) this.#streamOf(target, pod, container.name).log.update(run)
        else if (withUnstarted) this.#streamOf(target, pod, container.name)
      }
    }
  }

  #streamOf(target: number, { metadata }: Pod, container: string): Stream {
    const { namespace = 'default', name: pod, uid = pod } = metadata
    const key = `${target} ${uid} ${container}`
    const stream = this.#streams.get(key) ?? this.#open(target, { namespace, pod, container })
    this.#streams.set(key, stream)
    return stream
  }

  #open(target: number, ref: ContainerRef): Stream {
    const { source, clock, startedAt, listener } = this.#options
    const { pod, container } = ref
    const throttle = new LogThrottle(clock, this.#allowance, (output) => {
      // An entry that waits is shown after the line, so the line gets no later time than that entry.
      const at = Math.min(clock.now(), this.#held[0]?.at ?? Infinity)
      listener.onLog({ at, target, pod, container, ...output })
      if (this.#allowance.lines <= 0) this.#warn('allowance', allowanceUsedUp)
    })
    const onFailure = (error: unknown) => this.#warnUnreadable(ref, error)
    const log = new ContainerLog(ref, startedAt - shownHistoryMs, throttle, {
      source,
      clock,
      slots: this.#slots,
      onFailure,
    })
    if (this.#slots.isFull) this.#warn('slots', allSlotsTaken)
    return { target, log }
  }

  #warnUnreadable({ namespace, pod, container }: ContainerRef, error: unknown): void {
    const remedy = isForbidden(error) ? ' Logs require permission to `get` `pods/log`.' : ''
    this.#warn(
      `${namespace} ${statusOf(error)}`,
      `The log of pod ${pod}, container ${container} cannot be shown: ${errorText(error)}.${remedy} The gate continues without it.`,
    )
  }

  #warn(key: string, text: string): void {
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    this.#options.listener.onWarning(text)
  }
}

const allowanceUsedUp = `${liveLogLines} lines of logs were shown. From now on only the last ${liveLogTailLines} lines of each container are shown, at its end.`
const allSlotsTaken = `${liveLogStreams} logs are shown at a time. Others follow as these end.`

/** The latest run in a container's status; undefined before the first run. */
function runOf(status: ContainerStatus | undefined): ContainerRun | undefined {
  const { state = {}, lastState = {}, restartCount = 0 } = status ?? {}
  if (state.running) return { restarts: restartCount, hasEnded: false }
  // During a pending restart, the count is that of the previous run.
  return state.terminated || lastState.terminated ? { restarts: restartCount, hasEnded: true } : undefined
}

/** How many more lines all containers together may show. The last lines of each container are always shown. */
interface LineAllowance {
  lines: number
}

/**
 * Limits the output of one container's log. The first lines are shown immediately. Then, every `liveLogIntervalMs`, the
 * newest lines are shown with the number of omitted lines. The last lines are always shown.
 */
export class LogThrottle {
  readonly #clock: Clock
  readonly #allowance: LineAllowance
  readonly #show: (output: ShownText) => void
  #lines = 0
  #bytes = 0
  #held: LogLine[] = []
  #leftOut = 0
  #stopTimer: (() => void) | undefined

  constructor(clock: Clock, allowance: LineAllowance, show: (output: ShownText) => void) {
    this.#clock = clock
    this.#allowance = allowance
    this.#show = show
  }

  add(line: LogLine): void {
    this.#lines += 1
    this.#bytes += Buffer.byteLength(line.text)
    const isHead = this.#lines <= liveLogHeadLines && this.#bytes <= liveLogHeadBytes && this.#held.length === 0
    if (isHead && this.#allowance.lines > 0) {
      this.#allowance.lines -= 1
      this.#showLeftOut()
      this.#showLine(line)
      return
    }
    this.#held.push(line)
    if (this.#held.length > liveLogTailLines) {
      this.#held.shift()
      this.#leftOut += 1
    }
    this.#stopTimer ??= this.#clock.after(liveLogIntervalMs, () => this.#showNewest())
  }

  /** Shows a note after the lines before it. */
  note(text: string): void {
    this.flush()
    this.#show({ type: 'note', text })
  }

  /** Shows the held lines without waiting for the timer. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#showLeftOut()
    for (const line of this.#held) this.#showLine(line)
    this.#held = []
  }

  #showLine({ text, cutBytes }: LogLine): void {
    this.#show({ type: 'line', text, cutBytes: cutBytes || undefined })
  }

  #showLeftOut(): void {
    const lines = this.#leftOut
    this.#leftOut = 0
    if (lines === 0) return
    const count = `${lines.toLocaleString('en-US')} ${lines === 1 ? 'line' : 'lines'}`
    this.#show({ type: 'note', text: `${count} not shown` })
  }

  #showNewest(): void {
    this.#stopTimer = undefined
    if (this.#allowance.lines <= 0) return
    this.#allowance.lines -= this.#held.length
    this.flush()
  }
}
