/* Mistakes of the user: their error, messages, places and suggestions. */

/** The reason of a gate that cannot start. */
export type MistakeReason =
  | 'input-invalid'
  | 'kind-unknown'
  | 'not-found'
  | 'forbidden'
  | 'credentials-expired'
  | 'api-unreachable'

/** The place of a text that the user wrote. */
export interface Place {
  /** The name of the input (`resources`), environment variable or file. */
  readonly input: string
  /** The line in the input or file, counted from 1. */
  readonly line?: number
}

/** A mistake of the user, with its place and remedy. */
export interface Mistake extends Place {
  /** What is wrong, and the remedy, in full sentences. */
  readonly message: string
}

/** The error for invalid input, with all mistakes. The outcome is then `misconfigured`. */
export class UserError extends Error {
  readonly reason: MistakeReason
  readonly mistakes: readonly Mistake[]

  constructor(mistakes: readonly Mistake[], reason: MistakeReason = 'input-invalid') {
    super(describeMistakes(mistakes).join('\n'))
    this.name = 'UserError'
    this.reason = reason
    this.mistakes = mistakes
  }
}

/** Changes the mistakes in a UserError. Returns any other error unchanged. */
export function mapMistakes(error: unknown, change: (mistake: Mistake) => Mistake): unknown {
  return error instanceof UserError ? new UserError(error.mistakes.map(change), error.reason) : error
}

/** Runs all functions at once, and returns all results. @throws UserError with the mistakes of all */
export async function collectMistakes<Results extends readonly unknown[]>(
  ...attempts: { readonly [Index in keyof Results]: () => Results[Index] | Promise<Results[Index]> }
): Promise<Results> {
  const results = await Promise.allSettled(attempts.map(async (attempt) => attempt()))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const other = errors.find((error) => !(error instanceof UserError))
  if (other !== undefined) throw other
  const [error, ...more] = errors as UserError[]
  if (error === undefined)
    return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as Results
  throw new UserError(
    [error, ...more].flatMap(({ mistakes }) => mistakes),
    error.reason,
  )
}

/** The message of anything that was thrown: not only errors can be thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A YAML parser's message without quoted text: a password that begins with `*`, `!` or `%` is read as YAML syntax. */
export function removeQuotedText(message: string): string {
  return message
    .replace(/"[^"]*"|<[^>]*>/g, '"…"')
    .replace(/(?:(?<=[\w)]):|(?<=directive|escape sequence|resolved, so|YAML version)) .*$/s, '')
    .replace(/^The \S+ tag/, 'The tag')
}

/** A message of another program without its final punctuation, so that a full stop and a sentence can follow. */
export function removeFinalPunctuation(message: string): string {
  return message.replace(/[.:\s]{1,9}$/, '')
}

/** A mistake with its place: `resources, line 3: …`. */
export function describeMistake({ message, ...place }: Mistake): string {
  return `${describePlace(place)}: ${message}`
}

/** The maximum number of described mistakes: a wrong file may have thousands. */
const maxDescribed = 50

/** The texts of the first 50 mistakes, and the number of the others. */
export function describeMistakes(mistakes: readonly Mistake[]): readonly string[] {
  const texts = mistakes.slice(0, maxDescribed).map(describeMistake)
  const more = mistakes.length - texts.length
  return more === 0 ? texts : [...texts, `${more} more mistake${more === 1 ? '' : 's'}.`]
}

/** A place as text: `resources, line 3`. */
export function describePlace({ input, line }: Place): string {
  return line === undefined ? input : `${input}, line ${line}`
}

/** A parser calls this function with the message of each mistake, in full sentences. Its caller adds the place. */
export type AddMistake = (message: string) => void

/** A text of the user in quotes, shortened for a message. */
export function quote(text: string): string {
  return `"${cutText(text, 81)}"`
}

/**
 * A text of at most `limit` characters. A longer text ends in `…`: redaction finds a part of a secret only before it.
 * @param isCut whether the text is already incomplete
 */
export function cutText(text: string, limit: number, isCut = false): string {
  if (text.length <= limit && !isCut) return text
  // The cut may leave half a character (a lone surrogate).
  return `${text.slice(0, limit - 1).replace(/\p{Cs}$/u, '')}…`
}

/** A mistake with the reason for the outcome; by default `input-invalid`. */
export type MistakeWithReason = Mistake & { readonly reason?: MistakeReason }

/**
 * Throws if there are mistakes. Duplicates are removed: a line with several names may have the same mistake for each.
 * @throws UserError with the reason of the first mistake, and all mistakes, grouped by input or file and sorted by line
 */
export function throwMistakes(mistakes: readonly MistakeWithReason[]): void {
  const lineOf = ({ line = Number.POSITIVE_INFINITY }: MistakeWithReason) => line
  const distinct = new Map(mistakes.map((mistake) => [JSON.stringify(mistake), mistake]))
  const byInput = [...Map.groupBy(distinct.values(), ({ input }) => input).values()]
  const sorted = byInput.flatMap((ofInput) => ofInput.sort((a, b) => lineOf(a) - lineOf(b)))
  if (sorted.length === 0) return
  throw new UserError(
    sorted.map(({ reason, ...mistake }) => mistake),
    sorted[0]?.reason,
  )
}

/** The maximum length of a word that gets a suggestion: the time for an edit distance grows with its square. */
const maxWordLength = 80

/** The candidates of which a word is probably a misspelling, the nearest first. */
export function nearestWords(word: string, candidates: Iterable<string>, limit = 3): string[] {
  if (word.length > maxWordLength) return []
  const allowed = word.length <= 5 ? 1 : Math.max(2, Math.floor(word.length / 3))
  return [...new Set(candidates)]
    .filter((candidate) => Math.abs(candidate.length - word.length) <= allowed)
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/** The edit distance of two words. Two swapped neighbouring letters count as one edit. */
function editDistance(word: string, other: string): number {
  let before: readonly number[] = []
  let last: readonly number[] = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= word.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = word[i - 1] === other[j - 1]
      const replaced = (last[j - 1] ?? 0) + (isSame ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity
      row.push(Math.min(replaced, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    before = last
    last = row
  }
  return last[other.length] ?? 0
}

/**
 * The end of a message: ` Did you mean timeout?`. Empty if no candidate is near.
 * @param dashes `--` for flags: precedes each candidate, and is removed from the word
 */
export function didYouMean(word: string, candidates: Iterable<string>, dashes = ''): string {
  const near = nearestWords(dashes === '' ? word : word.replace(/^--?/, ''), candidates)
  return near.length === 0 ? '' : ` Did you mean ${near.map((name) => `${dashes}${name}`).join(' or ')}?`
}

/** The value of a JSON text; undefined if the text is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A text in one line: each run of white space becomes a space. */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
