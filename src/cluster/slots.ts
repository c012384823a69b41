/** So many at a time; the others wait in the order in which they came. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(slots: number) {
    this.#free = slots
  }

  /** None is free now. */
  get isFull(): boolean {
    return this.#free === 0
  }

  /** Resolves once there is a slot for the caller, who gives it back with `release`. */
  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
