import { maxSecretCharacters, minNamedSecretCharacters, minSecretCharacters } from '../thresholds.ts'
import { decodedTexts, withoutInvisible } from './decoded-text.ts'
import {
  findTokens,
  hasOnlyWords,
  isLongBase64,
  namedSecretsIn,
  secretsIn,
  secretsInSetting,
  type TextRange,
  toBase64,
} from './secret-values.ts'

/* Collects the secrets that the process has read, and replaces them in any text. */

/** The replacement of a secret. */
const stars = '***'
/** How many characters at the start of a secret are indexed. */
const startLength = 3
/** A cut text (`…`) may end within a secret. Minimum length of the part of a secret that is then found. */
const minPartLength = 6
/** Maximum length of a secret whose base64 forms are stored, to save memory. Tokens have fewer than 2,000 characters. */
const maxEncodedLength = 2_000
/** The length of the lines in a certificate or key: https://www.rfc-editor.org/rfc/rfc7468#section-2. */
const minPemLine = 64
/** A cut text (`…`) may end within a secret. Maximum length of the part that is searched. */
const maxPartLength = 1_000

/** The known secrets that begin with the same characters. */
interface SameStart {
  /** Each secret, and whether it is replaced only as a whole word. */
  readonly texts: Map<string, boolean>
  /** The lengths of the secrets, the longest first, so that the longest secret at a place is replaced. */
  lengths: readonly number[]
  /** The keys of `texts` in sorted order; undefined after an insertion. */
  sorted?: readonly string[] | undefined
}

/** Finds the secrets in a value with a name. */
type Search = (name: string, value: string) => readonly string[]

/** Collects secrets and redacts texts. The time for redaction does not depend on the number of secrets. */
export class Secrets {
  readonly #onCredential: (secret: string) => void
  readonly #added = new Set<string>()
  /** The names and values that were already searched, in each way: all pods of a template have the same values. */
  readonly #searched = new Map<Search, Set<string>>()
  readonly #names = new Set<string>()
  readonly #byStart = new Map<string, SameStart>()
  /** 1 for each hash of the first characters of a secret. */
  readonly #starts = new Uint8Array(1 << 16)

  /** @param onCredential called once with each credential, before the credential is used */
  constructor(onCredential: (secret: string) => void = () => {}) {
    this.#onCredential = onCredential
  }

  /** Adds a credential. Ignores texts of fewer than 3 characters. A short word is replaced only as a whole word. */
  readonly add = (secret: string): void => {
    if (this.#added.has(secret)) return
    this.#added.add(secret)
    this.#onCredential(secret)
    this.#insertForms(secret, secret.length < minSecretCharacters && hasOnlyWords(secret))
  }

  /** Adds the secrets in a value of a Secret; see `secretsIn`. */
  readonly addFromSecret = (name: string, value: string): void => this.#addFound(name, value, secretsIn)

  /** Adds the secrets in a setting, such as an environment variable; see `secretsInSetting`. */
  readonly addFromSetting = (name: string, value: string): void => this.#addFound(name, value, secretsInSetting)

  /** Adds the secrets in an annotation or argument; see `namedSecretsIn`. */
  readonly addFromText = (name: string, value: string): void => this.#addFound(name, value, namedSecretsIn)

  /**
   * Excludes names from redaction, such as names of targets and namespaces. The output contains these names anyway, so
   * redacting an equal value of a Secret would hide nothing. Credentials are always redacted.
   */
  keepReadable(names: readonly string[]): void {
    for (const name of names) {
      this.#names.add(name)
      const text = toSearchForm(name)
      const same = this.#byStart.get(text.slice(0, startLength))
      if (this.#added.has(name) || same === undefined) continue
      same.texts.delete(text)
      same.sorted = undefined
    }
  }

  /** Replaces known secrets and token-shaped texts with `***`, also where the text contains them in an encoded form. */
  readonly redact = (text: string): string => {
    const found = decodedTexts(text).flatMap((form) =>
      [...this.#findKnown(form.text), ...findTokens(form.text)].map(([start, end]) => form.originOf(start, end)),
    )
    return found.length === 0 ? text : replaceRanges(text, found)
  }

  #addFound(name: string, value: string, search: Search): void {
    const searched = this.#searched.get(search) ?? new Set()
    const key = `${name}\0${value}`
    if (value.length > maxSecretCharacters || searched.has(key)) return
    this.#searched.set(search, searched.add(key))
    for (const secret of search(name, value)) {
      if (this.#names.has(secret)) continue
      this.#insertForms(secret, hasOnlyWords(secret) || secret.length < minSecretCharacters)
    }
  }

  /** Adds a secret as written, decoded and in base64. `isWord`: the secret is replaced only as a whole word. */
  #insertForms(secret: string, isWord: boolean): void {
    this.#insertForm(secret, isWord)
    // The secret may contain an escape sequence. If a text is decoded before the search, the secret in it is decoded
    // too.
    const decoded = decodedTexts(secret).filter(({ text }) => text.length >= minNamedSecretCharacters)
    for (const { text } of decoded) if (text !== secret) this.#insertForm(text, isWord)
    for (const encoded of base64FormsOf(secret)) this.#insertForm(encoded, false)
  }

  #insertForm(secret: string, isWord: boolean): void {
    const text = toSearchForm(secret)
    if (text.length < startLength) return
    const start = text.slice(0, startLength)
    const same = this.#byStart.get(start) ?? { texts: new Map<string, boolean>(), lengths: [] }
    this.#byStart.set(start, same)
    same.texts.set(text, isWord && same.texts.get(text) !== false)
    same.sorted = undefined
    if (!same.lengths.includes(text.length))
      same.lengths = [...same.lengths, text.length].toSorted((one, other) => other - one)
    this.#starts[start.split('').reduce((hash, unit) => nextHash(hash, unit.charCodeAt(0)), 0)] = 1
  }

  /** The ranges of known secrets in a text. A hash of three characters excludes most places without a look-up. */
  #findKnown(written: string): readonly TextRange[] {
    const text = unifyBlanks(written)
    const found: TextRange[] = []
    let from = 0
    let hash = 0
    let cutAt = text.indexOf('…')
    for (let index = 0; index < text.length; index += 1) {
      hash = nextHash(hash, text.charCodeAt(index))
      const start = index - startLength + 1
      if (this.#starts[hash] === 0 || start < from) continue
      if (cutAt !== -1 && cutAt < start) cutAt = text.indexOf('…', start)
      const length = this.#secretLengthAt(text, start, cutAt)
      if (length === 0) continue
      from = start + length
      found.push([start, from])
    }
    return found
  }

  /** The length of the secret that begins at `start`, or of its part before the cut at `cutAt`; 0 without a secret. */
  #secretLengthAt(text: string, start: number, cutAt: number): number {
    const same = this.#byStart.get(text.slice(start, start + startLength))
    if (same === undefined) return 0
    const found = same.lengths.find((length) => {
      const isWord = same.texts.get(text.slice(start, start + length))
      return isWord === false || (isWord === true && isStandalone(text, start, start + length))
    })
    if (found !== undefined) return Math.min(found, text.length - start)
    const partLength = cutAt - start
    if (partLength < minPartLength || partLength > maxPartLength) return 0
    same.sorted ??= [...same.texts.keys()].toSorted()
    return isStartOfAny(same.sorted, text.slice(start, cutAt)) ? partLength : 0
  }
}

/** Replaces each range of a text with `***`. Ranges that overlap become one `***`. */
function replaceRanges(text: string, ranges: readonly TextRange[]): string {
  const pieces: string[] = []
  let end = 0
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    if (from >= end) pieces.push(text.slice(end, from), stars)
    end = Math.max(end, to)
  }
  return `${pieces.join('')}${text.slice(end)}`
}

/** The form in which a secret is searched: without invisible characters, and with blanks as its only white space. */
function toSearchForm(secret: string): string {
  return unifyBlanks(withoutInvisible(secret))
}

/** Replaces white space with blanks: a secret may be printed on two lines. Also replaces `+`, a blank in form data. */
function unifyBlanks(text: string): string {
  return text.replace(/[+\t\n\v\f\r\x85\xa0\u2028\u2029]/g, ' ')
}

/** Whether one of the sorted texts starts with `part`. Only the first text that is not before `part` can. */
function isStartOfAny(sorted: readonly string[], part: string): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sorted[middle] ?? '') < part) from = middle + 1
    else to = middle
  }
  return sorted[from]?.startsWith(part) === true
}

/** The hash of the last three characters. Each shift removes the oldest character. */
function nextHash(hash: number, code: number): number {
  return ((hash << 6) ^ code) & 0xffff
}

function isStandalone(text: string, start: number, end: number): boolean {
  const isWordCharacter = (character: string | undefined) =>
    character !== undefined && /[\p{L}\p{N}_-]/u.test(character)
  return !isWordCharacter(text[start - 1]) && !isWordCharacter(text[end])
}

/**
 * The base64 and base64url forms of a secret, alone or inside a longer text such as `user:password`. Inside a text, the
 * first and last characters of the base64 also encode the neighbouring characters, so they are omitted.
 */
function base64FormsOf(secret: string): readonly string[] {
  // Skips lines of certificates and keys: they are many, and not part of a credential like `user:password`.
  if (secret.length > maxEncodedLength || (secret.length >= minPemLine && isLongBase64(secret))) return []
  const inBase64 = [0, 1, 2].map((offset) => {
    const bytes = Buffer.from('x'.repeat(offset) + secret)
    const first = Math.ceil((offset * 8) / 6)
    return bytes.toString('base64').slice(first, Math.floor((bytes.length * 8) / 6))
  })
  const encoded = [toBase64(secret), ...inBase64].filter((text) => text.length >= minSecretCharacters)
  const inUrl = encoded.filter((text) => /[+/]/.test(text))
  return [...encoded, ...inUrl.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))]
}
