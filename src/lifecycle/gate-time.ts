/** What folding and counting what was seen needs to know of its surroundings. */
export interface GateTime {
  /** When the gate began, on the runner's clock. */
  readonly startedAt: number
  readonly settleMs: number
  /** A timestamp of the server on the runner's clock. */
  time(timestamp: string | null | undefined): number | undefined
}
