/**
 * Measures for how long nothing moved. It stands still while somebody has a reason to wait: time that passes while it is
 * held does not count.
 */
export class StallClock {
  #since: number
  #heldSince: number | undefined

  constructor(now: number) {
    this.#since = now
  }

  /** Something moved: begin anew. */
  restart(now: number): void {
    this.#since = now
    if (this.#heldSince !== undefined) this.#heldSince = now
  }

  hold(isHeld: boolean, now: number): void {
    if (isHeld) {
      this.#heldSince ??= now
    } else if (this.#heldSince !== undefined) {
      this.#since += now - this.#heldSince
      this.#heldSince = undefined
    }
  }

  /** When nothing will have moved for `timeoutMs`; undefined while held or when the clock is off. */
  dueAt(timeoutMs: number): number | undefined {
    return timeoutMs === 0 || this.#heldSince !== undefined ? undefined : this.#since + timeoutMs
  }
}
