import type { TargetOutcome } from '../gate/timeline.ts'

/** How an outcome looks and reads. */
export interface OutcomeWords {
  /** For Markdown. */
  readonly icon: string
  /** For the log. */
  readonly mark: '✓' | '✗' | '!' | '…'
  /** What happened: `failed`. */
  readonly verb: string
  /** What joins it to its duration: `failed after 42 s`. */
  readonly preposition: 'in' | 'after' | 'for'
}

export const outcomeWords: Readonly<Record<TargetOutcome, OutcomeWords>> = {
  ready: { icon: '✅', mark: '✓', verb: 'ready', preposition: 'in' },
  failed: { icon: '❌', mark: '✗', verb: 'failed', preposition: 'after' },
  stalled: { icon: '🛑', mark: '✗', verb: 'stalled', preposition: 'after' },
  'timed-out': { icon: '⌛', mark: '✗', verb: 'timed out', preposition: 'after' },
  superseded: { icon: '⏭️', mark: '!', verb: 'superseded', preposition: 'after' },
  cancelled: { icon: '🚫', mark: '!', verb: 'cancelled', preposition: 'after' },
  misconfigured: { icon: '⚠️', mark: '✗', verb: 'not judged', preposition: 'after' },
  unknown: { icon: '❓', mark: '!', verb: 'unknown', preposition: 'after' },
  progressing: { icon: '⏳', mark: '…', verb: 'in progress', preposition: 'for' },
}

/** `1 target`, `3 targets`. */
export function count(n: number, singular: string, plural = `${singular}s`): string {
  return `${n} ${n === 1 ? singular : plural}`
}

/** A message as the start of a paragraph. Only words that are no names rise. */
export function capitalised(message: string): string {
  return message.replace(
    /^(?:the|an?|no|not|its?|this|all|only|still|waiting|another|init|container|pods?|image|running|exited|ran|cannot)\b(?=[ ,])/,
    (word) => {
      return word.charAt(0).toUpperCase() + word.slice(1)
    },
  )
}
