import type { Clock, Semaphore } from '../cluster/clock.ts'
import { retryAfterOf } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import { type LogLine, type LogStreamRequest, logFailureOf } from '../cluster/logs.ts'
import { firstLogRetryMs, logSilenceMs, maxLogRetryMs, reportedLogAttempts } from '../thresholds.ts'

/** What live logs use of the class `Cluster`. */
export interface LogSource {
  followLog(request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>>
}

/** The latest run of a container, from its status. */
export interface ContainerRun {
  readonly restarts: number
  readonly hasEnded: boolean
}

/** Shows the lines of a log. */
interface LogView {
  add(line: LogLine): void
  /** Called at the end of each run, and at the end. */
  flush(): void
  note(text: string): void
}

interface ContainerLogResources {
  readonly source: LogSource
  readonly clock: Clock
  readonly slots: Semaphore
  /** Called when the log cannot be read, even after retries. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Reads one container's log while it is written, also when streams break or the container restarts: each stream begins with the
 * latest line of the one before. No line is repeated. The container's status starts a stream but never ends one, because the last
 * lines may arrive later than the status.
 */
export class ContainerLog {
  readonly #ref: ContainerRef
  readonly #resources: ContainerLogResources
  readonly #view: LogView
  /** The time of the oldest line to read. */
  readonly #oldest: number
  /** The time of the latest line; a new stream repeats the lines until then. */
  #latest = 0
  readonly #done = Promise.withResolvers<void>()
  #run: ContainerRun | undefined
  #opened = -1
  /** The restart count of the last run that was read to its end. */
  #read = -1
  /** Streams opened since the last line. */
  #attempts = 0
  /** The restart count of the run that wrote the last line. */
  #shown: number | undefined
  /** The last message of the kubelet. */
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
          this.#view.flush()
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
    if (restarts > before + 1) await this.#readStream(restarts - 1, true).catch(() => {})
    return this.#readStream(restarts, false)
  }

  /**
   * Reads one stream from the latest line on. The final stream ends with the present log; others follow the container. Returns
   * whether the server ended the stream, not `#interrupt` or its silence.
   */
  async #readStream(run: number, previous: boolean): Promise<boolean> {
    const { source } = this.#resources
    const isFinal = this.#state === 'finishing'
    const stream = new AbortController()
    this.#stream = stream
    this.#lastLineAt = this.#resources.clock.now()
    this.#watchSilence(stream)
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
        // Lines of stdout and stderr may be out of order: only the first ones are those of the stream before.
        if (line.at !== undefined) isRepeated &&= line.at <= this.#latest
        if (line.at === undefined ? this.#isNewMessage(line) : !isRepeated) this.#emit(line, run)
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

  /** Aborts a stream that brings no line for `logSilenceMs`. A line sets no timer, because lines are many. */
  #watchSilence(stream: AbortController): void {
    const { clock } = this.#resources
    const leftMs = this.#lastLineAt + logSilenceMs - clock.now()
    if (leftMs <= 0) stream.abort()
    else this.#stopSilenceTimer = clock.after(leftMs, () => this.#watchSilence(stream))
  }

  /** Every stream repeats the last message of the kubelet, which has no time. */
  #isNewMessage({ text }: LogLine): boolean {
    const isNew = text !== this.#kubeletLine
    this.#kubeletLine = text
    return isNew
  }

  #emit(line: LogLine, run: number): void {
    this.#latest = Math.max(this.#latest, line.at ?? 0)
    this.#attempts = 0
    if (run > (this.#shown ?? run)) this.#view.note('restarted')
    this.#shown = run
    this.#view.add(line)
  }

  /** Returns the delay before the next attempt. */
  #handleFailure(error: unknown): number {
    const failure = logFailureOf(error)
    const isGone = failure === 'gone'
    const isPermanent = isGone || failure === 'refused'
    const isLastAttempt = isPermanent || this.#state === 'finishing'
    // The status may report the start of a container too early, or never.
    const isReported = failure !== 'not-started' && this.#run !== undefined && !(isGone && this.#shown !== undefined)
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
