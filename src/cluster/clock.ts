/**
 * Time and chance as the cluster room needs them, injected so that tests run hours in no time.
 * `now` is milliseconds since the epoch on this machine's clock; `random` is in [0, 1).
 */
export interface Clock {
  now(): number
  random(): number
  /** Calls back once, `delayMs` from now, unless the returned function is called before. */
  after(delayMs: number, callback: () => void): () => void
}

/** Monotonic: the machine's clock as it stood when the process began, so that a correction of it is no passing of time. */
export const systemClock: Clock = {
  now: () => Math.round(performance.timeOrigin + performance.now()),
  random: () => Math.random(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Waits `delayMs`, or until the signal is aborted; never rejects. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const wake = () => {
      cancel()
      signal.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = clock.after(delayMs, wake)
    signal.addEventListener('abort', wake)
  })
}
