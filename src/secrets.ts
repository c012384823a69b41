/** Strings that must not be shown to anybody, wherever they come from. */
export class Secrets {
  readonly #shortest: number
  readonly #known = new Set<string>()
  /** The longest first: of a secret that holds another one, nothing must be left over. */
  #ordered: readonly string[] | undefined

  /** `shortest`: those with fewer characters are passed over. */
  constructor(shortest = 1) {
    this.#shortest = shortest
  }

  readonly add = (secret: string): void => {
    if (secret.length < this.#shortest || this.#known.has(secret)) return
    this.#known.add(secret)
    this.#ordered = undefined
  }

  has(secret: string): boolean {
    return this.#known.has(secret)
  }

  /** The text with stars for every secret in it. */
  readonly hide = (text: string): string => {
    this.#ordered ??= [...this.#known].toSorted((a, b) => b.length - a.length)
    return this.#ordered.reduce((hidden, secret) => hidden.replaceAll(secret, '***'), text)
  }
}
