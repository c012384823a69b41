import type { Clock } from '../cluster/clock.ts'
import { retryAfterOf } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import { type LogLine, type LogStreamRequest, logFailureOf } from '../cluster/logs.ts'
import type { Semaphore } from '../cluster/semaphore.ts'
import { finalLogLines, firstLogRetryMs, logSilenceMs, maxLogRetryMs, reportedLogAttempts } from '../thresholds.ts'

/** What live logs use of the class `Cluster`. */
export interface LogSource {
  followLog(request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>>
}

/** The latest run of a container, from its status. */
export interface ContainerRun {
  readonly restarts: number
  readonly hasEnded: boolean
}

interface ContainerLogListener {
  readonly onLine: (line: LogLine) => void
  /** Called when lines are missing, because the container wrote too many at the end. */
  readonly onGap: () => void
  /** Called before the lines of a later run. */
  readonly onRestart: () => void
  /** Called when all lines of a run were read. */
  readonly onRunEnd: () => void
  /** Called when the log cannot be read, even after retries. */
  readonly onFailure: (error: unknown) => void
}

type StreamEnd = 'ended' | 'silent' | 'interrupted'

/**
 * Reads one container's log while it is written, also when streams break or the container restarts. No line is
 * repeated, and no line is lost that the kubelet still has. The container's status starts a stream but never ends one,
 * because the last lines may arrive later than the status.
 */
export class ContainerLog {
  readonly #ref: ContainerRef
  readonly #source: LogSource
  readonly #clock: Clock
  readonly #slots: Semaphore
  readonly #listener: ContainerLogListener
  readonly #cursor: LogCursor
  readonly #done = Promise.withResolvers<void>()
  #run: ContainerRun | undefined
  /** The restart count of the last run that was opened. */
  #opened = -1
  /** The restart count of the last run that was read to its end. */
  #read = -1
  /** Streams opened since the last line. */
  #attempts = 0
  #hasLines = false
  /** Whether the next line is the first of a new run. */
  #isRestarted = false
  /** The new lines of the final stream, held until it ends. */
  readonly #finalLines: LogLine[] = []
  /** The last message of the kubelet. Every new stream repeats the message, but it is shown once. */
  #kubeletLine: string | undefined
  #state: 'idle' | 'reading' | 'finishing' | 'closed' = 'idle'
  #stopStream = () => {}
  #wake = () => {}

  /** @param oldest the time of the oldest line to read, in milliseconds since the epoch */
  constructor(
    ref: ContainerRef,
    oldest: number,
    listener: ContainerLogListener,
    { source, clock, slots }: { readonly source: LogSource; readonly clock: Clock; readonly slots: Semaphore },
  ) {
    this.#ref = ref
    this.#cursor = new LogCursor(oldest)
    this.#listener = listener
    this.#source = source
    this.#clock = clock
    this.#slots = slots
  }

  /** Whether the latest run has ended, by the container's status. */
  get hasEnded(): boolean {
    return this.#run?.hasEnded === true
  }

  update(run: ContainerRun): void {
    if (run.restarts === this.#run?.restarts && run.hasEnded === this.#run.hasEnded) return
    this.#run = run
    this.#wake()
    this.#start('reading')
  }

  /**
   * Reads the lines written so far, and then closes. Resolves when this is done or `close` is called. Skips a running
   * container whose log still waits for a slot.
   */
  finish(): Promise<void> {
    if (this.#state === 'finishing' || this.#state === 'closed') return this.#done.promise
    const hasMore = this.#run === undefined || (this.#run.hasEnded ? this.#hasMore : this.#opened >= 0)
    if (!hasMore) this.close()
    else if (this.#state === 'idle') this.#start('finishing')
    else {
      this.#state = 'finishing'
      this.#interrupt()
    }
    return this.#done.promise
  }

  /** Emits the lines that have already arrived, and stops reading. */
  close(): void {
    this.#emitFinalLines()
    this.#state = 'closed'
    this.#interrupt()
    this.#done.resolve()
  }

  #start(state: 'reading' | 'finishing'): void {
    if (this.#state !== 'idle') return
    this.#state = state
    void this.#readAll()
  }

  async #readAll(): Promise<void> {
    while (this.#state !== 'closed') {
      if (this.#state === 'finishing' || this.#hasMore) await this.#readRun()
      else await this.#pause(Number.POSITIVE_INFINITY)
    }
  }

  get #hasMore(): boolean {
    return this.#run !== undefined && this.#read < this.#run.restarts
  }

  /** Reads the log of the present run until the stream ends, and waits before the next attempt. */
  async #readRun(): Promise<void> {
    await this.#slots.acquire()
    const run = this.#run
    let pauseMs = 0
    try {
      const end = await this.#open(run?.restarts ?? 0)
      if (end === 'ended' && run?.hasEnded) {
        this.#read = run.restarts
        this.#listener.onRunEnd()
      }
      if (end === 'ended') pauseMs = this.#nextPauseMs
      else this.#attempts = 0
    } catch (error) {
      pauseMs = this.#handleFailure(error)
    } finally {
      this.#slots.release()
    }
    // The status may have changed meanwhile.
    if (this.#run === run && this.#hasMore && pauseMs > 0) await this.#pause(pauseMs)
  }

  async #open(restarts: number): Promise<StreamEnd> {
    if (this.#state === 'closed') return 'interrupted'
    const before = this.#opened
    this.#opened = Math.max(before, restarts)
    // A run started and ended between two versions of the status.
    if (restarts > before + 1) await this.#readStream(true).catch(() => {})
    this.#isRestarted ||= restarts > before
    return this.#readStream(false)
  }

  /** Reads one stream from the cursor on. The final stream ends with the present log; others follow the container. */
  async #readStream(previous: boolean): Promise<StreamEnd> {
    const isFinal = this.#state === 'finishing'
    const controller = new AbortController()
    let end: StreamEnd = 'ended'
    const stop = (why: StreamEnd) => {
      end = why
      controller.abort()
    }
    this.#stopStream = () => stop('interrupted')
    const silence = startSilenceTimer(this.#clock, () => stop('silent'))
    this.#cursor.reopen()
    this.#attempts += 1
    const request: LogStreamRequest = {
      ...this.#ref,
      previous,
      follow: !isFinal && !previous,
      since: this.#cursor.since,
      tailLines: isFinal ? finalLogLines : undefined,
      timeoutMs: 2 * logSilenceMs,
    }
    try {
      for await (const line of await this.#source.followLog(request, controller.signal)) {
        if (this.#state === 'closed') break
        silence.restart()
        if (!this.#isNew(line)) continue
        if (isFinal) this.#finalLines.push(line)
        else this.#emit(line)
      }
    } catch (error) {
      if (!controller.signal.aborted) throw error
    } finally {
      silence.stop()
      this.#stopStream = () => {}
      this.#emitFinalLines()
    }
    if (isFinal && !previous) this.close()
    return end
  }

  #isNew({ at, text }: LogLine): boolean {
    if (at !== undefined) return this.#cursor.accept(at)
    const isNew = text !== this.#kubeletLine
    this.#kubeletLine = text
    return isNew
  }

  /** Only all final lines together show whether lines are missing before them. */
  #emitFinalLines(): void {
    const lines = this.#finalLines.splice(0)
    if (lines.length >= finalLogLines) this.#listener.onGap()
    for (const line of lines) this.#emit(line)
  }

  #emit(line: LogLine): void {
    this.#attempts = 0
    if (this.#isRestarted && this.#hasLines) this.#listener.onRestart()
    this.#isRestarted = false
    this.#hasLines = true
    this.#listener.onLine(line)
  }

  /** Returns the delay before the next attempt. */
  #handleFailure(error: unknown): number {
    const failure = logFailureOf(error)
    const isGone = failure === 'gone'
    const isPermanent = isGone || failure === 'refused'
    const isLastAttempt = isPermanent || this.#state === 'finishing'
    // The status may report the start of a container too early, or never.
    const isReported = failure !== 'not-started' && this.#run !== undefined && !(isGone && this.#hasLines)
    if (isReported && (isLastAttempt || this.#attempts >= reportedLogAttempts)) this.#listener.onFailure(error)
    if (isLastAttempt) this.close()
    return Math.max(retryAfterOf(error), this.#nextPauseMs)
  }

  get #nextPauseMs(): number {
    return Math.min(maxLogRetryMs, firstLogRetryMs * 2 ** Math.min(10, this.#attempts))
  }

  #interrupt(): void {
    this.#stopStream()
    this.#wake()
  }

  async #pause(ms: number): Promise<void> {
    if (this.#state !== 'reading') return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = ms === Number.POSITIVE_INFINITY ? () => {} : this.#clock.after(ms, resolve)
    this.#wake = resolve
    await promise
    stop()
  }
}

/** Calls back when `restart` was not called for `logSilenceMs`. A restart sets no timer, because lines are many. */
function startSilenceTimer(clock: Clock, onSilent: () => void) {
  let restartedAt = clock.now()
  let cancel = () => {}
  const check = () => {
    const leftMs = restartedAt + logSilenceMs - clock.now()
    if (leftMs > 0) cancel = clock.after(leftMs, check)
    else onSilent()
  }
  check()
  return {
    restart: () => {
      restartedAt = clock.now()
    },
    stop: () => cancel(),
  }
}

/**
 * The position in a container's log, for a new stream that repeats and loses no line.
 *
 * The kubelet uses only the whole seconds of `sinceTime` (the API server passes it on as RFC 3339,
 * pkg/registry/core/pod/strategy.go, `LogLocation`), and returns the lines of that second again, in the order of the file.
 * Many lines may have the same time, and stdout and stderr may be out of order, so lines are counted.
 */
export class LogCursor {
  readonly #oldest: number
  #second: number | undefined
  /** Accepted lines of that second, including earlier lines that arrived after it. */
  #accepted = 0
  #latest = 0
  /** Number of repeated lines still expected, none later than `#repeatedUntil`. */
  #repeated = 0
  #repeatedUntil = 0

  /** @param oldest the time of the oldest line to read, in milliseconds since the epoch like all times here */
  constructor(oldest: number) {
    this.#oldest = oldest
  }

  /** Where to start reading. */
  get since(): number {
    return Math.max(this.#oldest, (this.#second ?? 0) * 1000)
  }

  /** Call when the log is opened again at `since`. */
  reopen(): void {
    this.#repeated = this.#accepted
    this.#repeatedUntil = this.#latest
  }

  /** Whether the next line, with this time, is new. */
  accept(at: number): boolean {
    if (this.#repeated > 0 && at <= this.#repeatedUntil) {
      this.#repeated -= 1
      return false
    }
    // Fewer lines are repeated if the node rotated the file or only the last lines were requested.
    this.#repeated = 0
    const second = Math.floor(at / 1000)
    if (this.#second === undefined || second > this.#second) {
      this.#second = second
      this.#accepted = 1
    } else if (second === this.#second) {
      this.#accepted += 1
    }
    this.#latest = Math.max(this.#latest, at)
    return true
  }
}
