/**
 * How far a container's log was read, so that it can be gone on with where it was left: no line twice, none lost.
 *
 * The kubelet heeds only the whole seconds of `sinceTime` (the API server passes it on as RFC 3339,
 * pkg/registry/core/pod/strategy.go, `LogLocation`), and gives the lines of that second again, in the order of the file.
 * Many lines may bear one time, and those of stdout and stderr may be out of order: so they are counted.
 */
export class Cursor {
  readonly #oldest: number
  #second: number | undefined
  /** How many lines of that second, or later ones out of order, were taken. */
  #taken = 0
  #latest = 0
  /** How many lines are still to come that came before, the latest of them at that time. */
  #repeated = 0
  #repeatedUntil = 0

  /** `oldest`: what was written before that moment is not wanted. Milliseconds since the epoch, as all times here. */
  constructor(oldest: number) {
    this.#oldest = oldest
  }

  /** From when on to read. */
  get since(): number {
    return Math.max(this.#oldest, (this.#second ?? 0) * 1000)
  }

  /** The log is opened anew, from `since` on. */
  reopen(): void {
    this.#repeated = this.#taken
    this.#repeatedUntil = this.#latest
  }

  /** Takes the time of the next line that came; false when that line was there before. */
  takes(at: number): boolean {
    if (this.#repeated > 0 && at <= this.#repeatedUntil) {
      this.#repeated -= 1
      return false
    }
    // Lines may be missing, because the node has rotated the file or only the last ones were asked for.
    this.#repeated = 0
    const second = Math.floor(at / 1000)
    if (this.#second === undefined || second > this.#second) {
      this.#second = second
      this.#taken = 1
    } else if (second === this.#second) {
      this.#taken += 1
    }
    this.#latest = Math.max(this.#latest, at)
    return true
  }
}
