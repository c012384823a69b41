import { type Mistake, UserError } from '../errors.ts'
import type { ReasonCode } from '../reasons.ts'

/** A mistake with the reason that it gives the outcome. */
export type Finding = Mistake & { readonly reason: ReasonCode }

/**
 * Does nothing when nothing was found.
 *
 * @throws UserError with all that was found, input by input and file by file, each in the order of its lines; the reason
 *   is that of the first
 */
export function throwAll(found: readonly Finding[]): void {
  const lineOf = ({ line = Number.POSITIVE_INFINITY }: Finding) => line
  const byInput = Map.groupBy(found, ({ input }) => input)
  const sorted = [...byInput.values()].flatMap((findings) => findings.sort((a, b) => lineOf(a) - lineOf(b)))
  const [first] = sorted
  if (first === undefined) return
  throw new UserError(
    sorted.map(({ reason, ...mistake }) => mistake),
    first.reason,
  )
}
