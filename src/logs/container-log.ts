import type { Clock } from '../cluster/clock.ts'
import { ApiError } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import type { LogLine, LogStreamRequest } from '../cluster/logs.ts'
import type { Semaphore } from '../cluster/semaphore.ts'
import { UserError } from '../errors.ts'
import { Cursor } from './cursor.ts'

/** Where logs come from. */
export interface LogSource {
  followLog(request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>>
}

/** How often a container has been started again, and whether that run is over, as its status says. */
export interface Run {
  readonly restarts: number
  readonly isOver: boolean
}

/** What is heard of a container's log. */
export interface LogListener {
  readonly onLine: (line: LogLine) => void
  /** Lines were left out, for there were too many to read at the end. */
  readonly onGap: () => void
  /** The lines that follow are of a later run. */
  readonly onRestart: () => void
  /** All that a run wrote was told. */
  readonly onRunEnd: () => void
  /** It cannot be read, and that did not heal at once. */
  readonly onFailure: (error: unknown) => void
}

/**
 * A stream that says nothing for so long is opened anew: the connection may have died without a word, and a kubelet may
 * lose a file that it rotates. It costs one request, and no line.
 */
const silenceMs = 60_000
/** At the end there is no time for more: more than is shown, and little enough to come in a moment. */
const lastLines = 1_000
const firstPauseMs = 500
const longestPauseMs = 10_000
/** A connection that breaks once is gone on with; what fails so often in a row, people should know. */
const toldAttempts = 3

/**
 * Reads one container's log as it is written, through cuts and restarts: no line twice, none lost that the kubelet still
 * has. Its status only says when there is something to read; a stream is never given up because a container has ended,
 * for its last lines may still be on their way.
 */
export class ContainerLog {
  readonly #ref: ContainerRef
  readonly #source: LogSource
  readonly #clock: Clock
  readonly #slots: Semaphore
  readonly #listener: LogListener
  readonly #cursor: Cursor
  readonly #done = Promise.withResolvers<void>()
  #run: Run | undefined
  /** The last run whose log was opened, and the last that was read to its end. */
  #opened = -1
  #read = -1
  /** How often it was opened since a line came. */
  #attempts = 0
  #hasLines = false
  /** The next line is the first of another run than the last one. */
  #isRestarted = false
  /** The new lines of the last pass. */
  readonly #last: LogLine[] = []
  #kubeletsWord: string | undefined
  #state: 'idle' | 'reading' | 'finishing' | 'closed' = 'idle'
  #stopPass = () => {}
  #wake = () => {}

  /** `oldest`: lines written before are not wanted; milliseconds since the epoch. */
  constructor(
    ref: ContainerRef,
    oldest: number,
    listener: LogListener,
    around: { readonly source: LogSource; readonly clock: Clock; readonly slots: Semaphore },
  ) {
    this.#ref = ref
    this.#cursor = new Cursor(oldest)
    this.#listener = listener
    this.#source = around.source
    this.#clock = around.clock
    this.#slots = around.slots
  }

  /** It runs no more, as far as its status says. */
  get isOver(): boolean {
    return this.#run?.isOver === true
  }

  /** Takes what the container's status says now. */
  update(run: Run): void {
    if (run.restarts === this.#run?.restarts && run.isOver === this.#run.isOver) return
    this.#run = run
    this.#wake()
    this.#start('reading')
  }

  /**
   * Tells what there is by now, and then no more. Resolves when that is done, or at once after `close`. Of a container that
   * runs and was never read, as others were before it, nothing is told.
   */
  finish(): Promise<void> {
    if (this.#state === 'finishing' || this.#state === 'closed') return this.#done.promise
    const hasMore = this.#run === undefined || (this.#run.isOver ? this.#hasMore : this.#opened >= 0)
    if (!hasMore) this.close()
    else if (this.#state === 'idle') this.#start('finishing')
    else {
      this.#state = 'finishing'
      this.#interrupt()
    }
    return this.#done.promise
  }

  /** Ends at once. What has come is told. */
  close(): void {
    this.#tellLast()
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

  /** Reads the log of the present run until it ends, and waits a moment where that was not the end of the run. */
  async #readRun(): Promise<void> {
    await this.#slots.acquire()
    const run = this.#run
    let pauseMs = 0
    try {
      const end = await this.#open(run?.restarts ?? 0)
      if (end === 'ended' && run?.isOver) {
        this.#read = run.restarts
        this.#listener.onRunEnd()
      }
      if (end === 'ended') pauseMs = this.#nextPauseMs
      else this.#attempts = 0
    } catch (error) {
      pauseMs = this.#failed(error)
    } finally {
      this.#slots.release()
    }
    // What the status said meanwhile is to be looked at first.
    if (this.#run === run && this.#hasMore && pauseMs > 0) await this.#pause(pauseMs)
  }

  async #open(restarts: number): Promise<'ended' | 'silent' | 'interrupted'> {
    if (this.#state === 'closed') return 'interrupted'
    const before = this.#opened
    this.#opened = Math.max(before, restarts)
    // It died and was started again between two words of its status.
    if (restarts > before + 1) await this.#pass(true).catch(() => {})
    this.#isRestarted ||= restarts > before
    return this.#pass(false)
  }

  /** Reads once from where it was left. The last pass takes what there is; others go on while the container runs. */
  async #pass(previous: boolean): Promise<'ended' | 'silent' | 'interrupted'> {
    const isLast = this.#state === 'finishing'
    const controller = new AbortController()
    let end: 'ended' | 'silent' | 'interrupted' = 'ended'
    const stop = (why: 'silent' | 'interrupted') => {
      end = why
      controller.abort()
    }
    this.#stopPass = () => stop('interrupted')
    let heardAt = this.#clock.now()
    let stopListening = () => {}
    const listen = () => {
      const leftMs = heardAt + silenceMs - this.#clock.now()
      if (leftMs > 0) stopListening = this.#clock.after(leftMs, listen)
      else stop('silent')
    }
    listen()
    this.#cursor.reopen()
    this.#attempts += 1
    const request: LogStreamRequest = {
      ...this.#ref,
      previous,
      follow: !isLast && !previous,
      since: this.#cursor.since,
      ...(isLast ? { tailLines: lastLines } : {}),
      timeoutMs: 2 * silenceMs,
    }
    try {
      for await (const line of await this.#source.followLog(request, controller.signal)) {
        if (this.#state === 'closed') break
        heardAt = this.#clock.now()
        if (!this.#isNew(line)) continue
        if (isLast) this.#last.push(line)
        else this.#tell(line)
      }
    } catch (error) {
      if (!controller.signal.aborted) throw error
    } finally {
      stopListening()
      this.#stopPass = () => {}
      this.#tellLast()
    }
    if (isLast && !previous) this.close()
    return end
  }

  #isNew({ at, text }: LogLine): boolean {
    if (at !== undefined) return this.#cursor.takes(at)
    // The kubelet says the same at each opening.
    const isNew = text !== this.#kubeletsWord
    this.#kubeletsWord = text
    return isNew
  }

  /** Whether lines are missing between those told and the last ones shows when these are all there. */
  #tellLast(): void {
    const last = this.#last.splice(0)
    if (last.length >= lastLines) this.#listener.onGap()
    for (const line of last) this.#tell(line)
  }

  #tell(line: LogLine): void {
    this.#attempts = 0
    if (this.#isRestarted && this.#hasLines) this.#listener.onRestart()
    this.#isRestarted = false
    this.#hasLines = true
    this.#listener.onLine(line)
  }

  /** Says how long to wait until the next try, if there is to be one. */
  #failed(error: unknown): number {
    const { status = 0, retryAfterMs = 0 } = error instanceof ApiError ? error : {}
    const isGone = status === 404
    const isFinal = isGone || status === 401 || status === 403 || error instanceof UserError
    const isLast = this.#state === 'finishing'
    // 400: it has not started, which its status said too early, or not at all.
    const isNews = status !== 400 && this.#run !== undefined && !(isGone && this.#hasLines)
    if (isNews && (isFinal || isLast || this.#attempts >= toldAttempts)) this.#listener.onFailure(error)
    if (isFinal || isLast) this.close()
    return Math.max(retryAfterMs, this.#nextPauseMs)
  }

  get #nextPauseMs(): number {
    return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(10, this.#attempts))
  }

  #interrupt(): void {
    this.#stopPass()
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
