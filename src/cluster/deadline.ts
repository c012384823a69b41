import type { Clock } from './clock.ts'
import { ConnectionError } from './failures.ts'

/**
 * Runs work that a signal can end. It is ended when its time is up, which begins anew with each call of `extend`, which rejects with a `ConnectionError` ETIMEDOUT, or
 * when one of the given signals is aborted, which rejects with that signal's reason, whatever the work made of it.
 */
export async function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal, extend: () => void) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const forward = () => controller.abort(signals.find(({ aborted }) => aborted)?.reason)
  const expire = () => controller.abort(new ConnectionError('ETIMEDOUT', `no answer within ${timeoutMs / 1000} s`))
  let cancel = clock.after(timeoutMs, expire)
  const extend = () => {
    cancel()
    cancel = clock.after(timeoutMs, expire)
  }
  for (const signal of signals) signal.addEventListener('abort', forward)
  if (signals.some(({ aborted }) => aborted)) forward()
  try {
    return await work(controller.signal, extend)
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error
  } finally {
    cancel()
    for (const signal of signals) signal.removeEventListener('abort', forward)
  }
}
