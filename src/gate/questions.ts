import type { AskedPod } from '../lifecycle/assessment.ts'

export type { AskedPod }

/**
 * A request that the gate needs besides its watches. An event `ANSWER` answers it; a question that the gate no longer has needs
 * no answer.
 */
export interface Question {
  /** Index among `http-checks`. */
  readonly check: number
  readonly pod: AskedPod
  /** When it is due, milliseconds since the epoch on the clock of the feed. */
  readonly at: number
}

/** One array: the gate's caller compares them by identity. */
export const noQuestions: readonly Question[] = []
