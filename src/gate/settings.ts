/** How the user wants to be told, and when it is over. Durations in milliseconds, 0 turns a clock off. */
export interface GateSettings {
  /** When the gate began: milliseconds since the epoch. */
  readonly startedAt: number
  readonly timeoutMs: number
  readonly stallTimeoutMs: number
  /** The user wrote the stall timeout himself: it is taken literally, whatever the workload's own numbers ask for. */
  readonly stallIsLiteral: boolean
  readonly milestoneTimeoutsMs: Readonly<Record<string, number>>
  readonly settleMs: number
  readonly maxRestarts: number
  readonly failFast: boolean
  readonly onSuperseded: 'fail' | 'pass'
  readonly context: string
  readonly serverVersion: string
  /** Server's clock minus the runner's. */
  readonly serverOffsetMs: number
}
