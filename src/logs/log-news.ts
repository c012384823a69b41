/** What a container said, or what is to be known of its log. Nothing of it is escaped yet. */
export interface LogNews {
  /** When it came, in milliseconds since the epoch. */
  readonly at: number
  /** The target's place among the targets. */
  readonly target: number
  readonly pod: string
  readonly container: string
  /** A line of the log, or a note of ours. */
  readonly type: 'line' | 'note'
  readonly text: string
  /** How much is left out of a line that is too long. */
  readonly cutBytes?: number
}
