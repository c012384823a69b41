import type { Observation } from '../../src/cluster/feed.ts'

/** A sink that stores each observation as a short text: `ADDED web`, `SYNCED Pod`, `ERROR 403`. */
export class Observations {
  readonly all: Observation[] = []
  #waiting = new Set<() => void>()

  readonly sink = (observation: Observation): void => {
    this.all.push(observation)
    for (const look of this.#waiting) look()
  }

  get words(): string[] {
    return this.all.map(inWords)
  }

  /** Resolves once this text was observed this many times. */
  until(words: string, times = 1): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.words.filter((known) => known === words).length < times) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }
}

function inWords(observation: Observation): string {
  switch (observation.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return `${observation.type} ${observation.object.metadata.name}`
    case 'SYNCED':
      return `SYNCED ${observation.kind}`
    case 'ERROR':
      return `ERROR ${observation.code}`
    default:
      return observation.type
  }
}
