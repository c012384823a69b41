import { awaitAtMost, type Clock, Semaphore } from '../cluster/clock.ts'
import { httpStatusOf, isForbidden, retryAfterOf } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import { type LogLine, type LogStreamRequest, logFailureOf } from '../cluster/logs.ts'
import type { ContainerStatus, Pod } from '../cluster/objects.ts'
import { errorText } from '../errors.ts'
import type { Gate } from '../gate/gate.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { containersOf } from '../lifecycle/workloads/pod-fields.ts'
import type { Target } from '../plan/target.ts'
import type { LogOutput } from '../report/log.ts'
import {
  firstLogRetryMs,
  lastLogLinesMs,
  lastLogLinesWhenCancelledMs,
  liveLogHeadBytes,
  liveLogHeadLines,
  liveLogIntervalMs,
  liveLogLines,
  liveLogStreams,
  liveLogTailLines,
  logSilenceMs,
  maxLogRetryMs,
  reportedLogAttempts,
  shownHistoryMs,
} from '../thresholds.ts'

/* Streams the logs of containers, limits their output, and orders them with the entries of the gate. */

interface LiveLogsOptions {
  readonly gate: Pick<Gate, 'gatedPods'>
  readonly targets: readonly Target[]
  /** The indexes of the targets whose logs are shown. */
  readonly streamed: ReadonlySet<number>
  readonly source: LogSource
  readonly clock: Clock
  /** The start of the gate on the server's clock, in milliseconds since the epoch. */
  readonly startedAt: number
  readonly listener: {
    readonly onEntry: (entry: Entry) => void
    readonly onLog: (output: LogOutput) => void
    /** Called once for each kind of warning. The text is raw: renderers escape it. */
    readonly onWarning: (text: string) => void
    readonly cancelled: AbortSignal
  }
}

type ShownText = Pick<LogOutput, 'type' | 'text'>

interface Stream {
  readonly target: number
  readonly log: ContainerLog
}

/**
 * Shows the logs that `stream-logs` selects, in order with the gate's timeline entries: the logs of all containers in
 * pods of the gated revision. Logs never change a verdict.
 */
export class LiveLogs {
  readonly #options: LiveLogsOptions
  readonly #slots = new Semaphore(liveLogStreams)
  readonly #allowance: LineAllowance = { lines: liveLogLines }
  readonly #streams = new Map<string, Stream>()
  readonly #warned = new Set<string>()
  #isScheduled = false
  /** Entries that wait until `#untilShown` resolves, which is when the log lines before them are shown. */
  #waitingEntries: Entry[] = []
  #untilShown: Promise<unknown> | undefined

  constructor(options: LiveLogsOptions) {
    this.#options = options
  }

  /** Shows an entry. A verdict, and later entries too, wait for the last log lines of the target's ended containers. */
  showEntry(entry: Entry): void {
    const isEnd = entry.kind === 'verdict' && entry.target !== undefined
    const before = isEnd ? this.#finishEnded(entry.target) : undefined
    if (before !== undefined) {
      const waiting = Promise.all([this.#untilShown, before]).then(() => {
        if (this.#untilShown === waiting) this.#flush()
      })
      this.#untilShown = waiting
    }
    if (this.#untilShown === undefined) this.#options.listener.onEntry(entry)
    else this.#waitingEntries.push(entry)
  }

  /** Shows the entries that wait. */
  #flush(): void {
    this.#untilShown = undefined
    for (const entry of this.#waitingEntries.splice(0)) this.#options.listener.onEntry(entry)
  }

  /** Opens or updates the streams of all pods in the next microtask. Several calls cause one update. */
  update(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      for (const target of this.#options.streamed) this.#updateStreams(target, false)
    })
  }

  /** Shows the remaining lines, which may take `lastLogLinesMs`, and ends all streams. */
  async finish(): Promise<void> {
    for (const target of this.#options.streamed) this.#updateStreams(target, this.#isJob(target))
    const { aborted } = this.#options.listener.cancelled
    await this.#finishStreams([...this.#streams.values()], aborted ? lastLogLinesWhenCancelledMs : lastLogLinesMs)
    this.#flush()
  }

  /** Stops all log streams without waiting for further lines. */
  close(): void {
    for (const { log } of this.#streams.values()) log.close()
    this.#flush()
  }

  /** Shows the last lines of a target's ended containers. Undefined if no shown container of the target has ended. */
  #finishEnded(target: number): Promise<void> | undefined {
    if (!this.#options.streamed.has(target)) return undefined
    const isJob = this.#isJob(target)
    this.#updateStreams(target, isJob)
    const ended = [...this.#streams.values()].filter(
      (stream) => stream.target === target && (isJob || stream.log.hasEnded),
    )
    return ended.length === 0 ? undefined : this.#finishStreams(ended, lastLogLinesMs)
  }

  /** Whether a target is a Job. The pods of a Job end by themselves, so all its logs end with the target. */
  #isJob(target: number): boolean {
    return this.#options.targets[target]?.kind === 'Job'
  }

  async #finishStreams(streams: readonly Stream[], limitMs: number): Promise<void> {
    if (streams.length === 0) return
    const ended = await awaitAtMost(this.#options.clock, limitMs, Promise.all(streams.map(({ log }) => log.finish())))
    if (ended === undefined)
      this.#warn('late', 'The last lines of some logs may be missing: the cluster did not return them in time.')
    for (const { log } of streams) log.close()
  }

  /**
   * Opens or updates the streams of a target's containers.
   * @param withUnstarted whether to include containers without a started status: the status may arrive after the end of
   * the Job
   */
  #updateStreams(target: number, withUnstarted: boolean): void {
    for (const pod of this.#options.gate.gatedPods(target)) {
      for (const { container, status } of containersOf(pod)) {
        const run = latestRun(status)
        if (run !== undefined) this.#findOrOpenStream(target, pod, container.name).log.update(run)
        else if (withUnstarted) this.#findOrOpenStream(target, pod, container.name)
      }
    }
  }

  #findOrOpenStream(target: number, { metadata }: Pod, container: string): Stream {
    const { namespace = 'default', name: pod, uid = pod } = metadata
    const key = `${target} ${uid} ${container}`
    const stream = this.#streams.get(key) ?? this.#openStream(target, { namespace, pod, container })
    this.#streams.set(key, stream)
    return stream
  }

  #openStream(target: number, ref: ContainerRef): Stream {
    const { source, clock, startedAt, listener } = this.#options
    const { pod, container } = ref
    const throttle = new LogThrottle(clock, this.#allowance, (output) => {
      // A waiting entry is shown after this line, so the line must not have a later time.
      const at = Math.min(clock.now(), this.#waitingEntries[0]?.at ?? Infinity)
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
      `${namespace} ${httpStatusOf(error)}`,
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

/** The latest run of a container according to its status; undefined before the first run. */
function latestRun(status: ContainerStatus | undefined): ContainerRun | undefined {
  const { state = {}, lastState = {}, restartCount = 0 } = status ?? {}
  if (state.running) return { restarts: restartCount, hasEnded: false }
  // While a restart is pending, the status still contains the restart count of the previous run.
  return state.terminated || lastState.terminated ? { restarts: restartCount, hasEnded: true } : undefined
}

/** How many more lines may be shown of all containers together. The last lines of each container do not count. */
interface LineAllowance {
  lines: number
}

/**
 * Limits the output of one container's log. The first lines are printed at once. After that, the newest lines and the
 * number of omitted lines are printed once in `liveLogIntervalMs`. The last lines are always printed.
 */
export class LogThrottle {
  readonly #clock: Clock
  readonly #allowance: LineAllowance
  readonly #show: (output: ShownText) => void
  #lines = 0
  #bytes = 0
  #held: LogLine[] = []
  #omitted = 0
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
      this.#showOmitted()
      this.#showLine(line)
      return
    }
    this.#held.push(line)
    if (this.#held.length > liveLogTailLines) {
      this.#held.shift()
      this.#omitted += 1
    }
    this.#stopTimer ??= this.#clock.after(liveLogIntervalMs, () => this.#showNewest())
  }

  /** Shows the waiting lines, then a note. */
  note(text: string): void {
    this.flush()
    this.#show({ type: 'note', text })
  }

  /** Shows the waiting lines now. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#showOmitted()
    for (const line of this.#held) this.#showLine(line)
    this.#held = []
  }

  #showLine({ text }: LogLine): void {
    this.#show({ type: 'line', text })
  }

  #showOmitted(): void {
    const lines = this.#omitted
    this.#omitted = 0
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

/** The part of the class `Cluster` that live logs use. */
export interface LogSource {
  followLog(request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>>
}

/** A run of a container: the time from a start or restart to the next end. */
interface ContainerRun {
  /** The restart count of the container during the run. It identifies the run. */
  readonly restarts: number
  readonly hasEnded: boolean
}

/** Prints the lines of a log. */
interface LogView {
  add(line: LogLine): void
  /** Called at the end of each run, and when the log is closed. */
  flush(): void
  note(text: string): void
}

interface ContainerLogResources {
  readonly source: LogSource
  readonly clock: Clock
  readonly slots: Semaphore
  /** Called if the log cannot be read, even after retries. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Reads one container's log while the container writes it. If the stream breaks or the container restarts, the next
 * stream starts at the latest line, and no line is shown twice. The container's status starts a stream, but never ends
 * one: the last lines may arrive later than the status.
 */
export class ContainerLog {
  readonly #ref: ContainerRef
  readonly #resources: ContainerLogResources
  readonly #view: LogView
  /** The time of the oldest line to read. */
  readonly #oldest: number
  /** The time of the latest line. A new stream repeats lines up to this time. */
  #latest = 0
  readonly #done = Promise.withResolvers<void>()
  #run: ContainerRun | undefined
  #lastOpenedRun = -1
  /** The restart count of the last run that was read completely; -1 for none. */
  #lastReadRun = -1
  /** The number of streams that were opened since the last line. */
  #attempts = 0
  /** The restart count of the run that wrote the last line. */
  #lastShownRun: number | undefined
  /** The last message of the kubelet in the log. */
  #kubeletLine: string | undefined
  #state: 'idle' | 'reading' | 'finishing' | 'closed' = 'idle'
  #stream = new AbortController()
  #lastLineAt = 0
  #stopSilenceTimer = () => {}
  #wake = () => {}

  /** @param oldest the time of the oldest line to read, in milliseconds since the epoch */
  constructor(ref: ContainerRef, oldest: number, view: LogView, resources: ContainerLogResources) {
    this.#ref = ref
    this.#oldest = oldest
    this.#view = view
    this.#resources = resources
  }

  /** Whether the latest run of the container has ended. */
  get hasEnded(): boolean {
    return this.#run?.hasEnded === true
  }

  update(run: ContainerRun): void {
    if (run.restarts === this.#run?.restarts && run.hasEnded === this.#run.hasEnded) return
    this.#run = run
    this.#wake()
    if (this.#state === 'idle') this.#start('reading')
  }

  /**
   * Reads the lines that exist now, then closes. Resolves when the log is closed. If the container runs and its log
   * still waits for a slot, it closes at once.
   */
  finish(): Promise<void> {
    if (this.#state === 'finishing' || this.#isClosed) return this.#done.promise
    const hasMore = this.#run === undefined || (this.#run.hasEnded ? this.#hasMore : this.#lastOpenedRun >= 0)
    if (!hasMore) this.close()
    else if (this.#state === 'idle') this.#start('finishing')
    else {
      this.#state = 'finishing'
      this.#interrupt()
    }
    return this.#done.promise
  }

  close(): void {
    if (this.#isClosed) return
    this.#state = 'closed'
    this.#interrupt()
    this.#view.flush()
    this.#done.resolve()
  }

  #interrupt(): void {
    this.#stream.abort()
    this.#wake()
  }

  async #start(state: 'reading' | 'finishing'): Promise<void> {
    this.#state = state
    while (!this.#isClosed) {
      if (this.#state === 'finishing' || this.#hasMore) await this.#readRun()
      else await this.#pause()
    }
  }

  get #isClosed(): boolean {
    return this.#state === 'closed'
  }

  get #hasMore(): boolean {
    return this.#run !== undefined && this.#lastReadRun < this.#run.restarts
  }

  /** Reads the log of the present run until the stream ends. Then waits before the next attempt. */
  async #readRun(): Promise<void> {
    const { slots } = this.#resources
    await slots.acquireSlot()
    const run = this.#run
    let pauseMs = 0
    try {
      if (!this.#isClosed && (await this.#readRunLogs(run?.restarts ?? 0))) {
        pauseMs = this.#nextPauseMs
        if (run?.hasEnded) {
          this.#lastReadRun = run.restarts
          this.#view.flush()
        }
      }
    } catch (error) {
      pauseMs = this.#delayAfterFailure(error)
    } finally {
      slots.releaseSlot()
    }
    // If the status has changed during the request, the next run is read at once.
    if (this.#run === run && this.#hasMore && pauseMs > 0) await this.#pause(pauseMs)
  }

  async #readRunLogs(restarts: number): Promise<boolean> {
    const before = this.#lastOpenedRun
    this.#lastOpenedRun = Math.max(before, restarts)
    // The status never showed the previous run, so the log of that run was not read yet.
    if (restarts > before + 1) await this.#readStream(restarts - 1, true).catch(() => {})
    return this.#readStream(restarts, false)
  }

  /**
   * Reads one stream, from the latest line. The stream ends with the container; in the state `finishing`, with the
   * lines that exist now. Returns false if `#interrupt` or `#abortIfSilent` ended the stream.
   */
  async #readStream(run: number, previous: boolean): Promise<boolean> {
    const { source } = this.#resources
    const isFinal = this.#state === 'finishing'
    const stream = new AbortController()
    this.#stream = stream
    this.#lastLineAt = this.#resources.clock.now()
    this.#abortIfSilent(stream)
    this.#attempts += 1
    const request: LogStreamRequest = {
      ...this.#ref,
      previous,
      follow: !isFinal && !previous,
      since: Math.max(this.#oldest, this.#latest),
      timeoutMs: 2 * logSilenceMs,
    }
    let isRepeated = true
    try {
      for await (const line of await source.followLog(request, stream.signal)) {
        if (this.#isClosed) break
        this.#lastLineAt = this.#resources.clock.now()
        // Lines of stdout and stderr may be out of order, but repeated lines always come before new lines.
        if (line.at !== undefined) isRepeated &&= line.at <= this.#latest
        if (line.at === undefined ? this.#isNewMessage(line) : !isRepeated) this.#showLine(line, run)
      }
    } catch (error) {
      if (!stream.signal.aborted) throw error
      this.#attempts = 0
    } finally {
      this.#stopSilenceTimer()
    }
    const isWhole = !stream.signal.aborted
    if (isFinal && !previous) this.close()
    return isWhole
  }

  /** Aborts a stream without a line for `logSilenceMs`. One timer checks this: a timer for each line would be slow. */
  #abortIfSilent(stream: AbortController): void {
    const { clock } = this.#resources
    const leftMs = this.#lastLineAt + logSilenceMs - clock.now()
    if (leftMs <= 0) stream.abort()
    else this.#stopSilenceTimer = clock.after(leftMs, () => this.#abortIfSilent(stream))
  }

  /** Whether a message of the kubelet (a line without a time) is new: every stream repeats the last message. */
  #isNewMessage({ text }: LogLine): boolean {
    const isNew = text !== this.#kubeletLine
    this.#kubeletLine = text
    return isNew
  }

  #showLine(line: LogLine, run: number): void {
    this.#latest = Math.max(this.#latest, line.at ?? 0)
    this.#attempts = 0
    if (run > (this.#lastShownRun ?? run)) this.#view.note('restarted')
    this.#lastShownRun = run
    this.#view.add(line)
  }

  /** Reports or ignores a failure. Returns the delay before the next attempt, in milliseconds. */
  #delayAfterFailure(error: unknown): number {
    const failure = logFailureOf(error)
    const isGone = failure === 'gone'
    const isPermanent = isGone || failure === 'refused'
    const isLastAttempt = isPermanent || this.#state === 'finishing'
    // The failure is not reported if the container has not started, or if the log is gone after its lines were shown.
    const isReported =
      failure !== 'not-started' && this.#run !== undefined && !(isGone && this.#lastShownRun !== undefined)
    if (isReported && (isLastAttempt || this.#attempts >= reportedLogAttempts)) this.#resources.onFailure(error)
    if (isLastAttempt) this.close()
    return Math.max(retryAfterOf(error), this.#nextPauseMs)
  }

  get #nextPauseMs(): number {
    return Math.min(maxLogRetryMs, firstLogRetryMs * 2 ** Math.min(10, this.#attempts))
  }

  async #pause(ms?: number): Promise<void> {
    if (this.#state !== 'reading') return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = ms === undefined ? () => {} : this.#resources.clock.after(ms, resolve)
    this.#wake = resolve
    await promise
    stop()
  }
}
