import type { AskedPod } from '../lifecycle/assessment.ts'

export type { AskedPod }

/**
 * A request or query that the gate needs besides its watches. An event `ANSWER` or `METRIC` answers it; a question that the gate
 * no longer has needs no answer. `at`: when it is due, milliseconds since the epoch on the clock of the feed.
 */
export type Question =
  /** `check`: index among `http-checks`. Without `pod`, the URL is asked. */
  | { readonly type: 'request'; readonly check: number; readonly pod?: AskedPod; readonly at: number }
  /** `check`: index among `metrics`; `query`: with its variables replaced. */
  | { readonly type: 'metric'; readonly check: number; readonly query: string; readonly at: number }

/** One array: the gate's caller compares them by identity. */
export const noQuestions: readonly Question[] = []
