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
  readonly onRunEnd: () => void
  /** Called when the log cannot be read, even after retries. */
  readonly onFailure: (error: unknown) => void
}

interface ContainerLogResources {
  readonly source: LogSource
  readonly clock: Clock
  readonly slots: Semaphore
}

/**
 * Reads one container's log while it is written, also when streams break or the container restarts. No line is
 * repeated, and no line is lost that the kubelet still has. The container's status starts a stream but never ends one,
 * because the last lines may arrive later than the status.
 */
export class ContainerLog {
  readonly #ref: ContainerRef
  readonly #resources: ContainerLogResources
  readonly #listener: ContainerLogListener
  readonly #cursor: LogCursor
  readonly #done = Promise.withResolvers<void>()
  #run: ContainerRun | undefined
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
  #stream = new AbortController()
  #lastLineAt = 0
  #stopSilenceTimer = () => {}
  #wake = () => {}

  /** @param oldest the time of the oldest line to read, in milliseconds since the epoch */
  constructor(ref: ContainerRef, oldest: number, listener: ContainerLogListener, resources: ContainerLogResources) {
    this.#ref = ref
    this.#cursor = new LogCursor(oldest)
    this.#listener = listener
    this.#resources = resources
  }

  /** Whether the latest run has ended, by the container's status. */
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
   * Reads the lines written so far, and then closes. Resolves when this is done or `close` is called. Skips a running
   * container whose log still waits for a slot.
   */
  finish(): Promise<void> {
    if (this.#state === 'finishing' || this.#isClosed) return this.#done.promise
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
    return this.#run !== undefined && this.#read < this.#run.restarts
  }

  /** Reads the log of the present run until the stream ends, and waits before the next attempt. */
  async #readRun(): Promise<void> {
    const { slots } = this.#resources
    await slots.acquire()
    const run = this.#run
    let pauseMs = 0
    try {
      if (!this.#isClosed && (await this.#open(run?.restarts ?? 0))) {
        pauseMs = this.#nextPauseMs
        if (run?.hasEnded) {
          this.#read = run.restarts
          this.#listener.onRunEnd()
        }
      }
    } catch (error) {
      pauseMs = this.#handleFailure(error)
    } finally {
      slots.release()
    }
    // The status may have changed meanwhile.
    if (this.#run === run && this.#hasMore && pauseMs > 0) await this.#pause(pauseMs)
  }

  async #open(restarts: number): Promise<boolean> {
    const before = this.#opened
    this.#opened = Math.max(before, restarts)
    // A run started and ended between two versions of the status.
    if (restarts > before + 1) await this.#readStream(true).catch(() => {})
    this.#isRestarted ||= restarts > before
    return this.#readStream(false)
  }

  /**
   * Reads one stream from the cursor on. The final stream ends with the present log; others follow the container. Returns
   * whether the server ended the stream, not `#interrupt` or its silence.
   */
  async #readStream(previous: boolean): Promise<boolean> {
    const { source } = this.#resources
    const isFinal = this.#state === 'finishing'
    const stream = new AbortController()
    this.#stream = stream
    this.#lastLineAt = this.#resources.clock.now()
    this.#watchSilence(stream)
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
      for await (const line of await source.followLog(request, stream.signal)) {
        if (this.#isClosed) break
        this.#lastLineAt = this.#resources.clock.now()
        if (!this.#isNew(line)) continue
        if (isFinal) this.#finalLines.push(line)
        else this.#emit(line)
      }
    } catch (error) {
      if (!stream.signal.aborted) throw error
      this.#attempts = 0
    } finally {
      this.#stopSilenceTimer()
      this.#emitFinalLines()
    }
    const isWhole = !stream.signal.aborted
    if (isFinal && !previous) this.close()
    return isWhole
  }

  /** Aborts a stream that brings no line for `logSilenceMs`. A line sets no timer, because lines are many. */
  #watchSilence(stream: AbortController): void {
    const { clock } = this.#resources
    const leftMs = this.#lastLineAt + logSilenceMs - clock.now()
    if (leftMs <= 0) stream.abort()
    else this.#stopSilenceTimer = clock.after(leftMs, () => this.#watchSilence(stream))
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

  async #pause(ms?: number): Promise<void> {
    if (this.#state !== 'reading') return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = ms === undefined ? () => {} : this.#resources.clock.after(ms, resolve)
    this.#wake = resolve
    await promise
    stop()
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
  #since: number
  /** Accepted lines of that second, including earlier lines that arrived after it. */
  #accepted = 0
  #latest = 0
  /** Number of repeated lines still expected, none later than `#latest`. */
  #repeated = 0

  /** @param oldest the time of the oldest line to read, in milliseconds since the epoch like all times here */
  constructor(oldest: number) {
    this.#since = startOfSecond(oldest)
  }

  /** Where to start reading. */
  get since(): number {
    return this.#since
  }

  /** Call when the log is opened again at `since`. */
  reopen(): void {
    this.#repeated = this.#accepted
  }

  /** Whether the next line, with this time, is new. */
  accept(at: number): boolean {
    if (this.#repeated > 0 && at <= this.#latest) {
      this.#repeated -= 1
      return false
    }
    // Fewer lines are repeated if the node rotated the file or only the last lines were requested.
    this.#repeated = 0
    const second = startOfSecond(at)
    if (second > this.#since) {
      this.#since = second
      this.#accepted = 0
    }
    if (second === this.#since) this.#accepted += 1
    this.#latest = Math.max(this.#latest, at)
    return true
  }
}

function startOfSecond(at: number): number {
  return Math.floor(at / 1000) * 1000
}
