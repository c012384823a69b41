import { maxSecretCharacters, minNamedSecretCharacters, minSecretCharacters } from '../thresholds.ts'
import { decodedTexts, withoutInvisible } from './decoded-text.ts'
import { hasOnlyWords, isLongBase64, namedSecretsIn, secretsIn, secretsInSetting, toBase64 } from './secret-values.ts'
import { findTokens, type TextRange } from './token-shapes.ts'

/* The secrets that the process has read, and their replacement in any text. */

/** The replacement of a secret. */
const stars = '***'
/** The number of first characters by which a place is found where a secret may begin. */
const startLength = 3
/** The minimum length of the part of a secret that is found before the end of a cut text (`…`). */
const minPartLength = 6
/**
 * The maximum length of a secret whose encoded forms are kept: more would need much memory. The longest tokens have less
 * than 2,000 characters.
 */
const maxEncodedLength = 2_000
/** The length of a line of a certificate or key: https://www.rfc-editor.org/rfc/rfc7468#section-2. */
const minPemLine = 64
/** The longest part of a secret that is searched before the end of a cut text. */
const maxPartLength = 1_000

/** The known secrets that begin with the same characters. */
interface SameStart {
  /** Each secret, and whether it is replaced only where it stands alone. */
  readonly texts: Map<string, boolean>
  /** The lengths of the secrets, the longest first: a secret that contains a shorter one is replaced as a whole. */
  lengths: readonly number[]
  /** The same texts in order; undefined after an insertion. */
  sorted?: readonly string[] | undefined
}

/**
 * The secrets that a process knows, from its credentials and from objects of the cluster. The time to redact a text
 * does not depend on their number.
 */
export class Secrets {
  readonly #added = new Set<string>()
  /** The values that were passed to `learnSecret` and `learnSetting`, by name: all pods of a template have the same values. */
  readonly #searched = new Map<string, Set<string>>()
  readonly #names = new Set<string>()
  readonly #byStart = new Map<string, SameStart>()
  /** 1 for each hash of characters with which a secret begins. */
  readonly #starts = new Uint8Array(1 << 16)

  /** Adds a credential. Texts of fewer than 3 characters are ignored; a short word is replaced where it stands alone. */
  readonly add = (secret: string): void => {
    this.#added.add(secret)
    this.#insertForms(secret, secret.length < minSecretCharacters && hasOnlyWords(secret))
  }

  /** Whether `add` was called with this text. */
  has(secret: string): boolean {
    return this.#added.has(secret)
  }

  /** Adds what is secret in a value of a Secret (`secretsIn`), in each form in which a text may quote it. */
  readonly addFromSecret = (name: string, value: string): void => this.#addFound(name, value, secretsIn)

  /** Adds what is secret in a setting, such as an environment variable (`secretsInSetting`). */
  readonly addFromSetting = (name: string, value: string): void => this.#addFound(name, value, secretsInSetting)

  /** Adds what is secret by its name in a text that may contain settings, such as an annotation or argument. */
  readonly addFromText = (name: string, value: string): void => this.#addFound(name, value, namedSecretsIn)

  /**
   * Keeps names readable that the output shows, such as names of targets and namespaces. If a Secret contains such a
   * name as a value, replacing the name would hide nothing. Credentials are replaced in any case.
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

  /**
   * Replaces every known secret in the text, and every text with the shape of a token, with `***`. Both are searched in
   * the text as it is shown, and in its decoded forms (`decodedTexts`). The rest of the text stays as it is.
   */
  readonly redact = (text: string): string => {
    const found = decodedTexts(text).flatMap((form) =>
      [...this.#findKnown(form.text), ...findTokens(form.text)].map(([start, end]) => form.originOf(start, end)),
    )
    return found.length === 0 ? text : replaceRanges(text, found)
  }

  #addFound(name: string, value: string, find: (name: string, value: string) => readonly string[]): void {
    const learned = this.#searched.get(name) ?? new Set()
    if (value.length > maxSecretCharacters || learned.has(value)) return
    this.#searched.set(name, learned.add(value))
    for (const secret of find(name, value)) {
      if (this.#names.has(secret)) continue
      this.#insertForms(secret, hasOnlyWords(secret) || secret.length < minSecretCharacters)
    }
  }

  /** Adds a secret in each form in which a text may contain it. @param isWord replaced only where it stands alone */
  #insertForms(secret: string, isWord: boolean): void {
    this.#insert(secret, isWord)
    // A secret may contain what looks like an encoding. If a text with the secret is decoded, that part is decoded too.
    const decoded = decodedTexts(secret).filter(({ text }) => text.length >= minNamedSecretCharacters)
    for (const { text } of decoded) if (text !== secret) this.#insert(text, isWord)
    for (const encoded of base64FormsOf(secret)) this.#insert(encoded, false)
  }

  #insert(secret: string, isWord: boolean): void {
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

  /** The places of known secrets. A hash of three characters rules out most places without a look-up. */
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

  /** The length of the secret that begins at `start`, or of its part before the end of a cut text; 0 if none begins. */
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

/** The text with `***` instead of each part; parts that overlap are one. */
function replaceRanges(text: string, ranges: readonly TextRange[]): string {
  const pieces: string[] = []
  let end = 0
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    if (from >= end) pieces.push(text.slice(end, from), stars)
    end = Math.max(end, to)
  }
  return `${pieces.join('')}${text.slice(end)}`
}

/** A secret in the form that is searched for. */
function toSearchForm(secret: string): string {
  return unifyBlanks(withoutInvisible(secret))
}

/** White space as blanks: a secret may be printed in two lines. `+` too: in the data of a form, it is a blank. */
function unifyBlanks(text: string): string {
  return text.replace(/[+\t\n\v\f\r\x85\xa0\u2028\u2029]/g, ' ')
}

/** Whether one of the sorted texts starts with a part. Only the first text that is not sorted before the part can. */
function isStartOfAny(sorted: readonly string[], part: string): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sorted[middle] ?? '') < part) from = middle + 1
    else to = middle
  }
  return sorted[from]?.startsWith(part) === true
}

/** The hash of the last three characters: earlier ones are shifted out. */
function nextHash(hash: number, code: number): number {
  return ((hash << 6) ^ code) & 0xffff
}

function isStandalone(text: string, start: number, end: number): boolean {
  const isPart = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}_-]/u.test(character)
  return !isPart(text[start - 1]) && !isPart(text[end])
}

/**
 * A secret in base64 and base64url, also within a longer text that contains the secret, such as `user:password`. There its
 * first and last characters also encode their neighbours, and are left out.
 */
function base64FormsOf(secret: string): readonly string[] {
  // The lines of certificates and keys are many, and no password.
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
