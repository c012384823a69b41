import { type Mistake, UserError } from '../errors.ts'
import type { ReasonCode } from '../lifecycle/reasons.ts'

/** A mistake with the reason that it gives the outcome. */
export type Finding = Mistake & { readonly reason: ReasonCode }

/**
 * Does nothing when nothing was found.
 *
 * @throws UserError with all that was found, in the order of the lines; the reason is that of the first
 */
export function throwAll(found: readonly Finding[]): void {
  const sorted = [...found].sort((a, b) => (a.line ?? Number.POSITIVE_INFINITY) - (b.line ?? Number.POSITIVE_INFINITY))
  const [first] = sorted
  if (first === undefined) return
  throw new UserError(
    sorted.map(({ reason, ...mistake }) => mistake),
    first.reason,
  )
}
