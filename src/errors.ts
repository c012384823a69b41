/* Mistakes of the user, and the words of their messages. */

/** Why a gate cannot start. */
export type MistakeReason =
  | 'input-invalid'
  | 'kind-unknown'
  | 'not-found'
  | 'forbidden'
  | 'credentials-expired'
  | 'api-unreachable'

/** Where the user wrote something. */
export interface Place {
  /** The input (`resources`), environment variable or file. */
  readonly input: string
  /** Line in the input or file, counted from 1. */
  readonly line?: number
}

/** A mistake in an input, with its place and remedy. */
export interface Mistake extends Place {
  /** The error and its remedy, in full sentences. */
  readonly message: string
}

/** The error for invalid input. It contains all mistakes (outcome `misconfigured`). */
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

/** The error with changed mistakes, if it contains mistakes; any other error unchanged. */
export function mapMistakes(error: unknown, change: (mistake: Mistake) => Mistake): unknown {
  return error instanceof UserError ? new UserError(error.mistakes.map(change), error.reason) : error
}

/**
 * Runs both functions and returns their results.
 * @throws UserError with the mistakes of both
 */
export async function collectMistakes<A, B>(
  first: () => A | Promise<A>,
  second: () => B | Promise<B>,
): Promise<[A, B]> {
  const results = await Promise.allSettled([first, second].map(async (attempt) => attempt()))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const other = errors.find((error) => !(error instanceof UserError))
  if (other !== undefined) throw other
  const [error, ...more] = errors as UserError[]
  if (error === undefined) return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as [A, B]
  throw new UserError(
    [error, ...more].flatMap(({ mistakes }) => mistakes),
    error.reason,
  )
}

/** The message of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * The message of a parser without what it quotes: a password that begins with `*`, `!` or `%` is read as an alias, a tag or a
 * directive of YAML.
 */
export function withoutQuotedText(message: string): string {
  return message
    .replace(/"[^"]*"|<[^>]*>/g, '"…"')
    .replace(/(?:(?<=[\w)]):|(?<=directive|escape sequence|resolved, so|YAML version)) .*$/s, '')
    .replace(/^The \S+ tag/, 'The tag')
}

/** A message of another program, without its end, so that a full stop and a sentence may follow. */
export function withoutEnd(message: string): string {
  return message.replace(/[.:\s]{1,9}$/, '')
}

/** `resources, line 3: …` */
export function describeMistake({ message, ...place }: Mistake): string {
  return `${describePlace(place)}: ${message}`
}

/**
 * The maximum number of mistakes that are described. A reader corrects the first ones and tries again: a wrong file may
 * have thousands.
 */
const maxDescribed = 50

/** The texts of mistakes: of the first 50, and how many more there are. */
export function describeMistakes(mistakes: readonly Mistake[]): readonly string[] {
  const texts = mistakes.slice(0, maxDescribed).map(describeMistake)
  const more = mistakes.length - texts.length
  return more === 0 ? texts : [...texts, `${more} more mistake${more === 1 ? '' : 's'}.`]
}

/** `resources, line 3` */
export function describePlace({ input, line }: Place): string {
  return line === undefined ? input : `${input}, line ${line}`
}

/** A parser calls this function for each mistake, with full sentences. The parser's caller adds the input and line. */
export type AddMistake = (message: string) => void

/** The user's text in quotes, shortened for a message. */
export function quote(text: string): string {
  return `"${cutText(text, 80)}"`
}

/** The start of a long text, with `…` at its end. Later redaction finds a part of a secret only before this mark. */
export function cutText(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text
}

/** A mistake with the reason that the outcome gets; by default `input-invalid`. */
export type MistakeWithReason = Mistake & { readonly reason?: MistakeReason }

/**
 * Throws if there are mistakes. A line with several names may have the same mistake for each: it is reported once.
 * @throws UserError with all mistakes, grouped by input or file and sorted by line, and with the reason of the first mistake
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

/** The maximum length of a word that gets a suggestion: the cost of an edit distance is the product of both lengths. */
const maxWordLength = 80

/** The candidates that `word` probably misspells, nearest first. */
export function nearestWords(word: string, candidates: Iterable<string>, limit = 3): string[] {
  if (word.length > maxWordLength) return []
  const allowed = word.length <= 5 ? 1 : Math.max(2, Math.floor(word.length / 3))
  return [...new Set(candidates)]
    .filter((candidate) => Math.abs(candidate.length - word.length) <= allowed)
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/** The edit distance; two swapped letters beside each other count as one edit. */
function distanceOf(word: string, other: string): number {
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
 * A hint for the end of a message: ` Did you mean timeout?`, or empty.
 * @param dashes for flags, `--`: written before each candidate; the word may begin with dashes too
 */
export function didYouMean(word: string, candidates: Iterable<string>, dashes = ''): string {
  const near = nearestWords(dashes === '' ? word : word.replace(/^--?/, ''), candidates)
  return near.length === 0 ? '' : ` Did you mean ${near.map((name) => `${dashes}${name}`).join(' or ')}?`
}

/** The value of a text of JSON; undefined for any other text. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The text in one line. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
