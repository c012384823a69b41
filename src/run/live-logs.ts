import { awaitAtMost, type Clock, Semaphore } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { httpStatusOf, isForbidden, retryAfterOf } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import { type LogLine, type LogStreamRequest, logFailureOf } from '../cluster/logs.ts'
import type { ContainerStatus } from '../cluster/objects.ts'
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
import type { Reporter } from './redacted-output.ts'

/* Streams the logs of containers, limits their output, and orders them with the entries of the gate. */

interface LiveLogsOptions {
  readonly gate: Pick<Gate, 'gatedPods'>
  readonly targets: readonly Target[]
  /** The indexes of the targets whose logs are shown. */
  readonly streamed: ReadonlySet<number>
  readonly source: Pick<Cluster, 'followLog'>
  readonly clock: Clock
  /** The start of the gate on the server's clock, in milliseconds since the epoch. */
  readonly startedAt: number
  /** Prints the entries and lines. Each kind of warning is printed once. The texts are raw: renderers escape them. */
  readonly output: Pick<Required<Reporter>, 'onEntry' | 'onLog' | 'onWarning'>
  readonly cancelled: AbortSignal
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
    if (this.#untilShown === undefined) this.#options.output.onEntry(entry)
    else this.#waitingEntries.push(entry)
  }

  /** Shows the entries that wait. */
  #flush(): void {
    this.#untilShown = undefined
    for (const entry of this.#waitingEntries.splice(0)) this.#options.output.onEntry(entry)
  }

  /** Opens or updates the streams of all pods. Called after each moment of the gate. */
  update(): void {
    for (const target of this.#options.streamed) this.#updateStreams(target, false)
  }

  /** Shows the remaining lines, which may take `lastLogLinesMs`, and ends all streams. */
  async finish(): Promise<void> {
    for (const target of this.#options.streamed) this.#updateStreams(target, this.#isJob(target))
    const { aborted } = this.#options.cancelled
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
      const { namespace = 'default', name, uid = name } = pod.metadata
      for (const { container, status } of containersOf(pod)) {
        const run = latestRun(status)
        const key = `${target} ${uid} ${container.name}`
        const stream = this.#streams.get(key)
        if (run !== undefined) stream?.log.update(run)
        if (stream !== undefined || (run === undefined && !withUnstarted)) continue
        this.#streams.set(key, this.#openStream(target, { namespace, pod: name, container: container.name }, run))
      }
    }
  }

  #openStream(target: number, ref: ContainerRef, run: ContainerRun | undefined): Stream {
    const { source, clock, startedAt, output } = this.#options
    const { pod, container } = ref
    const throttle = new LogThrottle(clock, this.#allowance, (shown) => {
      // A waiting entry is shown after this line, so the line must not have a later time.
      const at = Math.min(clock.now(), this.#waitingEntries[0]?.at ?? Infinity)
      output.onLog({ at, target, pod, container, ...shown })
      if (this.#allowance.lines <= 0) this.#warn('allowance', allowanceUsedUp)
    })
    const options = {
      ref,
      oldest: startedAt - shownHistoryMs,
      view: throttle,
      source,
      clock,
      slots: this.#slots,
      onFailure: (error: unknown) => this.#warnUnreadable(ref, error),
    }
    // Checked before the log takes a slot itself: it may be the last free one.
    if (this.#slots.isFull) this.#warn('slots', allSlotsTaken)
    return { target, log: new ContainerLog(options, run) }
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
    this.#options.output.onWarning(text)
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
  readonly #held: string[] = []
  #omitted = 0
  #stopTimer: (() => void) | undefined

  constructor(clock: Clock, allowance: LineAllowance, show: (output: ShownText) => void) {
    this.#clock = clock
    this.#allowance = allowance
    this.#show = show
  }

  add(text: string): void {
    this.#lines += 1
    this.#bytes += Buffer.byteLength(text)
    const isHead = this.#lines <= liveLogHeadLines && this.#bytes <= liveLogHeadBytes && this.#held.length === 0
    if (isHead && this.#allowance.lines > 0) {
      this.#allowance.lines -= 1
      this.#show({ type: 'line', text })
      return
    }
    this.#held.push(text)
    if (this.#held.length > liveLogTailLines) {
      this.#held.shift()
      this.#omitted += 1
    }
    this.#stopTimer ??= this.#clock.after(liveLogIntervalMs, () => {
      this.#stopTimer = undefined
      if (this.#allowance.lines <= 0) return
      this.#allowance.lines -= this.#held.length
      this.flush()
    })
  }

  /** Shows the waiting lines, then a note. */
  note(text: string): void {
    this.flush()
    this.#show({ type: 'note', text })
  }

  /** Shows the waiting lines now, after the number of omitted lines. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    const omitted = `${this.#omitted.toLocaleString('en-US')} ${this.#omitted === 1 ? 'line' : 'lines'}`
    if (this.#omitted > 0) this.#show({ type: 'note', text: `${omitted} not shown` })
    this.#omitted = 0
    for (const text of this.#held.splice(0)) this.#show({ type: 'line', text })
  }
}

/** A run of a container: the time from a start or restart to the next end. */
interface ContainerRun {
  /** The restart count of the container during the run. It identifies the run. */
  readonly restarts: number
  readonly hasEnded: boolean
}

interface ContainerLogOptions {
  readonly ref: ContainerRef
  /** The time of the oldest line to read, in milliseconds since the epoch. */
  readonly oldest: number
  /** Prints the lines. `flush` is called at the end of each run, and when the log is closed. */
  readonly view: Pick<LogThrottle, 'add' | 'note' | 'flush'>
  readonly source: Pick<Cluster, 'followLog'>
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
  readonly #options: ContainerLogOptions
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
  #state: 'reading' | 'finishing' | 'closed' = 'reading'
  #stream = new AbortController()
  #wake = () => {}

  /** @param run the present run; undefined if the status of the container does not contain a start */
  constructor(options: ContainerLogOptions, run?: ContainerRun) {
    this.#options = options
    this.#run = run
    void this.#readRuns()
  }

  /** Whether the latest run of the container has ended. */
  get hasEnded(): boolean {
    return this.#run?.hasEnded === true
  }

  update(run: ContainerRun): void {
    if (run.restarts === this.#run?.restarts && run.hasEnded === this.#run.hasEnded) return
    this.#run = run
    this.#wake()
  }

  /**
   * Reads the lines that exist now, then closes. Resolves when the log is closed. If the container runs and its log
   * still waits for a slot, it closes at once.
   */
  finish(): Promise<void> {
    if (this.#state === 'finishing' || this.#isClosed) return this.#done.promise
    const hasMore = this.#run === undefined || (this.#run.hasEnded ? this.#hasMore : this.#lastOpenedRun >= 0)
    if (!hasMore) this.close()
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
    this.#options.view.flush()
    this.#done.resolve()
  }

  #interrupt(): void {
    this.#stream.abort()
    this.#wake()
  }

  async #readRuns(): Promise<void> {
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
    const { slots } = this.#options
    await slots.acquireSlot()
    const run = this.#run
    let pauseMs = 0
    try {
      if (!this.#isClosed && (await this.#readRunLogs(run?.restarts ?? 0))) {
        pauseMs = this.#nextPauseMs
        if (run?.hasEnded) {
          this.#lastReadRun = run.restarts
          this.#options.view.flush()
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
   * lines that exist now. Returns false if `#interrupt` or a silence of `logSilenceMs` ended the stream.
   */
  async #readStream(run: number, previous: boolean): Promise<boolean> {
    const { ref, oldest, source, clock } = this.#options
    const isFinal = this.#state === 'finishing'
    const stream = new AbortController()
    this.#stream = stream
    let stopTimer = () => {}
    const abortIfSilent = () => {
      stopTimer()
      stopTimer = clock.after(logSilenceMs, () => stream.abort())
    }
    this.#attempts += 1
    const request: LogStreamRequest = {
      ...ref,
      previous,
      follow: !isFinal && !previous,
      since: Math.max(oldest, this.#latest),
      timeoutMs: 2 * logSilenceMs,
    }
    let isRepeated = true
    abortIfSilent()
    try {
      for await (const line of await source.followLog(request, stream.signal)) {
        if (this.#isClosed) break
        abortIfSilent()
        // Lines of stdout and stderr may be out of order, but repeated lines always come before new lines.
        if (line.at !== undefined) isRepeated &&= line.at <= this.#latest
        if (line.at === undefined ? this.#isNewMessage(line) : !isRepeated) this.#showLine(line, run)
      }
    } catch (error) {
      if (!stream.signal.aborted) throw error
      this.#attempts = 0
    } finally {
      stopTimer()
    }
    const isWhole = !stream.signal.aborted
    if (isFinal && !previous) this.close()
    return isWhole
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
    if (run > (this.#lastShownRun ?? run)) this.#options.view.note('restarted')
    this.#lastShownRun = run
    this.#options.view.add(line.text)
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
    if (isReported && (isLastAttempt || this.#attempts >= reportedLogAttempts)) this.#options.onFailure(error)
    if (isLastAttempt) this.close()
    return Math.max(retryAfterOf(error), this.#nextPauseMs)
  }

  get #nextPauseMs(): number {
    return Math.min(maxLogRetryMs, firstLogRetryMs * 2 ** Math.min(10, this.#attempts))
  }

  async #pause(ms?: number): Promise<void> {
    if (this.#state !== 'reading') return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = ms === undefined ? () => {} : this.#options.clock.after(ms, resolve)
    this.#wake = resolve
    await promise
    stop()
  }
}
