import { suspendedMs } from '../thresholds.ts'
import { ConnectionError } from './failures.ts'

/* Clocks, timers and time limits. */

/** The interval at which the clock checks that the process runs. */
const clockCheckMs = suspendedMs / 10

/** The source of time (`now`: milliseconds since the epoch) and of random numbers (`random`: in [0, 1)). */
export interface Clock {
  now(): number
  random(): number
  /** Calls back once after `delayMs`. The returned function cancels the timer. */
  after(delayMs: number, callback: () => void): () => void
}

/**
 * Creates a clock that starts at the machine's time and never goes back. Later corrections of the machine's clock have
 * no effect. While the process is suspended, the clock stands still: no answer can arrive, so nothing may time out.
 * @param uptimeMs returns a number of milliseconds that never decreases
 */
export function createSystemClock(uptimeMs: () => number): Clock {
  let offsetMs = Date.now() - uptimeMs()
  let runningAt = uptimeMs()
  const now = () => {
    const uptime = uptimeMs()
    const sinceMs = uptime - runningAt
    if (sinceMs >= suspendedMs) offsetMs -= sinceMs
    runningAt = uptime
    return uptime + offsetMs
  }
  setInterval(now, clockCheckMs).unref()
  const after = (delayMs: number, callback: () => void) => {
    const dueAt = now() + delayMs
    let timer: NodeJS.Timeout
    const wait = (ms: number) => {
      timer = setTimeout(() => {
        const remainingMs = dueAt - now()
        // A timer may fire some milliseconds early. More time remains only if the process was suspended.
        if (remainingMs > clockCheckMs) wait(remainingMs)
        else callback()
      }, ms)
    }
    wait(delayMs)
    return () => clearTimeout(timer)
  }
  return { now, random: Math.random, after }
}

export const systemClock: Clock = createSystemClock(() => Number(process.hrtime.bigint() / 1_000_000n))

/** Waits for `delayMs`, or until the signal is aborted. Never rejects. */
export async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(delayMs, resolve)
  await awaitUnlessAborted(promise, signal)
  cancel()
}

/** The result of `work`; undefined if the signal is aborted first. Then `work` continues, but its result is ignored. */
export async function awaitUnlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const stop = () => resolve(undefined)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The result of `work`; undefined if `work` takes longer than `limitMs`. */
export async function awaitAtMost<T>(clock: Clock, limitMs: number, work: Promise<T>): Promise<T | undefined> {
  const late = new AbortController()
  const cancel = clock.after(limitMs, () => late.abort())
  try {
    return await awaitUnlessAborted(work, late.signal)
  } finally {
    cancel()
  }
}

export function noAnswerError(limitMs: number): ConnectionError {
  return new ConnectionError('ETIMEDOUT', `no answer within ${limitMs / 1000} s`)
}

/**
 * Runs `work` with a time limit. Rejects with a `ConnectionError` (ETIMEDOUT) if `timeoutMs` have passed since the
 * start or since the last call of `extend`. If a signal is aborted, rejects with the reason of the signal.
 */
export async function withTimeout<T>(
  clock: Clock,
  timeoutMs: number,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal, extend: () => void) => Promise<T>,
  createError: (limitMs: number) => ConnectionError = noAnswerError,
): Promise<T> {
  const late = new AbortController()
  const signal = AbortSignal.any([...signals, late.signal])
  const expire = () => late.abort(createError(timeoutMs))
  let cancel = clock.after(timeoutMs, expire)
  const extend = () => {
    cancel()
    cancel = clock.after(timeoutMs, expire)
  }
  try {
    return await work(signal, extend)
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    cancel()
  }
}

/**
 * How far the server's clock is ahead of the local clock, calculated from the `Date` headers of answers.
 *
 * The server writes the date, in whole seconds, after the client sends a request and before the client receives the
 * answer. So each answer limits the offset to a range.
 */
export class ServerOffset {
  #low = Number.NEGATIVE_INFINITY
  #high = Number.POSITIVE_INFINITY

  /** Narrows the range of the offset. `sentAt` and `receivedAt`: times of the local clock. Ignores an invalid date. */
  addDateHeader(date: string | undefined, sentAt: number, receivedAt: number): void {
    const written = Date.parse(date ?? '')
    if (Number.isNaN(written)) return
    const low = written - receivedAt
    const high = written + 999 - sentAt
    const contradicts = low > this.#high || high < this.#low
    // The ranges do not overlap: one of the clocks was corrected, so the old range is wrong.
    this.#low = contradicts ? low : Math.max(this.#low, low)
    this.#high = contradicts ? high : Math.min(this.#high, high)
  }

  /** Server time minus local time, in milliseconds; 0 before the first answer. */
  get offsetMs(): number {
    return Number.isFinite(this.#low) ? Math.round((this.#low + this.#high) / 2) : 0
  }
}

/** Limits how many callers run at a time. Further callers wait in order. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(slots: number) {
    this.#free = slots
  }

  get isFull(): boolean {
    return this.#free === 0
  }

  /** Runs `work` once a slot is free, then frees the slot. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.acquireSlot()
    try {
      return await work()
    } finally {
      this.releaseSlot()
    }
  }

  /** Resolves once a slot is free. The caller must call `releaseSlot`. */
  async acquireSlot(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  releaseSlot(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
