import type { Mistake } from '../errors.ts'
import { formatDuration, parseDuration } from './duration.ts'
import type { ParsedReferences } from './references.ts'

/**
 * The contradictions between the timeout that the user wrote for the gate and longer ones of references: the gate's would
 * end those too (DESIGN §2, Clocks).
 *
 * @param timeout the text of the input `timeout`; without one the gate's timeout follows the references
 * @returns one mistake for each line, in the order of the references
 */
export function timeoutMistakes(
  { input, references }: Pick<ParsedReferences, 'input' | 'references'>,
  timeout: string | undefined,
): readonly Mistake[] {
  const gateMs = parseDuration(timeout ?? '', () => {})
  const mistakes = new Map<string, Mistake>()
  for (const { line, clocks, manifest, exclude } of references) {
    const message = exclude ? undefined : explainLongTimeout(clocks.timeoutMs, gateMs)
    if (message === undefined) continue
    const place = {
      input: manifest?.file ?? input,
      line: manifest?.lineOf(['metadata', 'annotations', 'rollout-gate/timeout']) ?? line,
    }
    mistakes.set(JSON.stringify(place), { ...place, message })
  }
  return [...mistakes.values()]
}

/**
 * Why a reference's own timeout has no effect beside the gate's that the user wrote; undefined when it has one.
 * Both in milliseconds, 0 is off.
 */
export function explainLongTimeout(ownMs: number | undefined, gateMs: number | undefined): string | undefined {
  if (ownMs === undefined || gateMs === undefined || gateMs === 0) return undefined
  const remedy = 'Raise timeout, or leave it out: then the gate may take as long as its references.'
  if (ownMs === 0)
    return `Its timeout is off, but the gate's timeout of ${formatDuration(gateMs)} ends it too. ${remedy}`
  if (ownMs <= gateMs) return undefined
  return `Its timeout of ${formatDuration(ownMs)} is longer than the gate's timeout of ${formatDuration(gateMs)}, which ends it too. ${remedy}`
}
