import type { Entry } from '../gate/timeline.ts'
import { type LogLayout, renderEntry, renderReadyTogether } from './log.ts'

/** Fewer are told one by one. */
const fewestTogether = 4

/**
 * Turns entries into lines as they come. Of many targets that are ready in the same second and say the same (the
 * ConfigMaps of an apply) one line is made: it stands when something else comes, or at the end of the present turn.
 */
export class EntryFolder {
  readonly #layout: LogLayout
  readonly #print: (line: string) => void
  #held: Entry[] = []

  constructor(layout: LogLayout, print: (line: string) => void) {
    this.#layout = layout
    this.#print = print
  }

  entry(entry: Entry): void {
    const [first] = this.#held
    if (first !== undefined && !isAlike(first, entry)) this.flush()
    if (!isReady(entry)) {
      this.#print(renderEntry(entry, this.#layout))
      return
    }
    if (this.#held.length === 0) queueMicrotask(() => this.flush())
    this.#held.push(entry)
  }

  /** Tells what was held back. */
  flush(): void {
    const held = this.#held
    this.#held = []
    if (held.length >= fewestTogether) this.#print(renderReadyTogether(held, this.#layout))
    else for (const entry of held) this.#print(renderEntry(entry, this.#layout))
  }
}

/** The lines of entries that are all known. */
export function renderEntries(entries: readonly Entry[], layout: LogLayout): string[] {
  const lines: string[] = []
  const folder = new EntryFolder(layout, (line) => lines.push(line))
  for (const entry of entries) folder.entry(entry)
  folder.flush()
  return lines
}

function isReady({ kind, outcome, target }: Entry): boolean {
  return kind === 'verdict' && outcome === 'ready' && target !== undefined
}

function isAlike(one: Entry, other: Entry): boolean {
  const second = ({ at }: Entry) => Math.floor(at / 1_000)
  return isReady(other) && one.text === other.text && second(one) === second(other)
}
