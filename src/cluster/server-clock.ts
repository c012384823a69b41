/**
 * How far the server's clock is ahead of ours, from the `Date` headers of its answers.
 *
 * An answer dated `D` (whole seconds, so truly between D and D + 1 s) was written between our sending and our receiving.
 * Each answer so bounds the offset from both sides; the bounds of all answers together are far tighter than any one.
 */
export class ServerClock {
  #low = Number.NEGATIVE_INFINITY
  #high = Number.POSITIVE_INFINITY

  /** `sentAt` and `receivedAt`: milliseconds since the epoch on our clock. Without a readable date nothing is learned. */
  observe(date: string | undefined, sentAt: number, receivedAt: number): void {
    const written = Date.parse(date ?? '')
    if (Number.isNaN(written)) return
    const low = written - receivedAt
    const high = written + 999 - sentAt
    const contradicts = low > this.#high || high < this.#low
    // A clock was set meanwhile: what was known before is worth nothing.
    this.#low = contradicts ? low : Math.max(this.#low, low)
    this.#high = contradicts ? high : Math.min(this.#high, high)
  }

  /** Server minus ours, in milliseconds; 0 until anything is known. */
  get offsetMs(): number {
    return Number.isFinite(this.#low) ? Math.round((this.#low + this.#high) / 2) : 0
  }
}
