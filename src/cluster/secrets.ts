import { jsonValue } from '../errors.ts'
import {
  maxSecretCharacters,
  minMaskedCharacters,
  minNamedSecretCharacters,
  minSecretCharacters,
} from '../thresholds.ts'
import { decodedTexts, withoutInvisible } from './decoded-text.ts'
import type { Entry, KubeconfigDocument } from './kubeconfig-file.ts'
import { isObject } from './objects.ts'
import { decoded } from './proxy.ts'
import { findTokens, type Span, urlPasswords } from './token-shapes.ts'

/** The replacement of a secret. */
const stars = '***'
/** How many characters of a secret find the place where it may begin. */
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
 * The secrets that a process knows: those of its credentials, and those that objects of the cluster contain. The time to
 * redact a text does not depend on their number.
 */
export class Secrets {
  readonly #added = new Set<string>()
  /** The values that were passed to `learnSecret` and `learnSetting`, by name: all pods of a template have the same values. */
  readonly #learned = new Map<string, Set<string>>()
  readonly #names = new Set<string>()
  readonly #byStart = new Map<string, SameStart>()
  /** 1 for each hash of characters with which a secret begins. */
  readonly #starts = new Uint8Array(1 << 16)

  /** Adds a credential. Texts of fewer than 3 characters are ignored; a short word is replaced where it stands alone. */
  readonly add = (secret: string): void => {
    this.#added.add(secret)
    this.#insertForms(secret, secret.length < minSecretCharacters && isWords(secret))
  }

  /** Whether `add` was called with this text. */
  has(secret: string): boolean {
    return this.#added.has(secret)
  }

  /** Adds what is secret in a value of a Secret (`secretsIn`), in each form in which a text may quote it. */
  readonly learnSecret = (name: string, value: string): void => this.#learn(name, value, secretsIn)

  /** Adds what is secret in a setting, such as an environment variable (`secretsInSetting`). */
  readonly learnSetting = (name: string, value: string): void => this.#learn(name, value, secretsInSetting)

  /** Adds what is secret by its name in a text that may contain settings, such as an annotation or argument. */
  readonly learnText = (name: string, value: string): void => this.#learn(name, value, namedSecretsIn)

  /**
   * Names of objects that the output shows, such as those of targets and namespaces. A value of a Secret that is equal to
   * one of them stays readable: to replace it elsewhere would hide nothing.
   */
  exempt(names: readonly string[]): void {
    for (const name of names) {
      this.#names.add(name)
      const text = searched(name)
      const same = this.#byStart.get(text.slice(0, startLength))
      if (this.#added.has(name) || same === undefined) continue
      same.texts.delete(text)
      same.sorted = undefined
    }
  }

  /**
   * Replaces every known secret in the text, and every text with the shape of a token, with `***`. Both are searched in the
   * text that a reader sees, and in what it encodes (`decodedTexts`); the rest of the text stays as it is.
   */
  readonly redact = (text: string): string => {
    const found = decodedTexts(text).flatMap((form) =>
      [...this.#findKnown(form.text), ...findTokens(form.text)].map(([start, end]) => form.originOf(start, end)),
    )
    return found.length === 0 ? text : replaceSpans(text, found)
  }

  #learn(name: string, value: string, find: (name: string, value: string) => readonly string[]): void {
    const learned = this.#learned.get(name) ?? new Set()
    if (value.length > maxSecretCharacters || learned.has(value)) return
    this.#learned.set(name, learned.add(value))
    for (const secret of find(name, value)) {
      if (this.#names.has(secret)) continue
      this.#insertForms(secret, isWords(secret) || secret.length < minSecretCharacters)
    }
  }

  #insertForms(secret: string, isWord: boolean): void {
    this.#insert(secret, isWord)
    // A text is decoded as a whole, also what looks like an encoding in the secret itself.
    const decoded = decodedTexts(secret).filter(({ text }) => text.length >= minNamedSecretCharacters)
    for (const { text } of decoded) if (text !== secret) this.#insert(text, isWord)
    for (const encoded of encodingsOf(secret)) this.#insert(encoded, false)
  }

  #insert(secret: string, isWord: boolean): void {
    const text = searched(secret)
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

  #findKnown(written: string): readonly Span[] {
    const text = unifyBlanks(written)
    const found: Span[] = []
    let from = 0
    let hash = 0
    let cutAt = text.indexOf('…')
    for (let index = 0; index < text.length; index += 1) {
      hash = nextHash(hash, text.charCodeAt(index))
      const start = index - startLength + 1
      if (this.#starts[hash] === 0 || start < from) continue
      if (cutAt !== -1 && cutAt < start) cutAt = text.indexOf('…', start)
      const length = this.#lengthAt(text, start, cutAt)
      if (length === 0) continue
      from = start + length
      found.push([start, from])
    }
    return found
  }

  /** The length of the secret at a place of the text, or of its part before the end of a cut text; 0 without one. */
  #lengthAt(text: string, start: number, cutAt: number): number {
    const same = this.#byStart.get(text.slice(start, start + startLength))
    if (same === undefined) return 0
    const found = same.lengths.find((length) => {
      const isWord = same.texts.get(text.slice(start, start + length))
      return isWord === false || (isWord === true && standsAlone(text, start, start + length))
    })
    if (found !== undefined) return Math.min(found, text.length - start)
    const partLength = cutAt - start
    if (partLength < minPartLength || partLength > maxPartLength) return 0
    same.sorted ??= [...same.texts.keys()].toSorted()
    return startsOne(same.sorted, text.slice(start, cutAt)) ? partLength : 0
  }
}

/** The text with `***` instead of each part; parts that overlap are one. */
function replaceSpans(text: string, spans: readonly Span[]): string {
  const pieces: string[] = []
  let end = 0
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    if (from >= end) pieces.push(text.slice(end, from), stars)
    end = Math.max(end, to)
  }
  return `${pieces.join('')}${text.slice(end)}`
}

/** A secret as the forms of a text are searched for it. */
function searched(secret: string): string {
  return unifyBlanks(withoutInvisible(secret))
}

/** White space as blanks: a secret may be printed in two lines. `+` is a blank too: it is one in a form. */
function unifyBlanks(text: string): string {
  return text.replace(/[+\t\n\v\f\r\x85\xa0\u2028\u2029]/g, ' ')
}

/** Whether one of the sorted texts starts with a part: it would be the first that is not before the part. */
function startsOne(sorted: readonly string[], part: string): boolean {
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

function standsAlone(text: string, start: number, end: number): boolean {
  const isPart = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}_-]/u.test(character)
  return !isPart(text[start - 1]) && !isPart(text[end])
}

/**
 * A secret in base64 and base64url, also within a longer text that contains the secret, such as `user:password`. There its
 * first and last characters also encode their neighbours, and are left out.
 */
function encodingsOf(secret: string): readonly string[] {
  // The lines of certificates and keys are many, and no password.
  if (secret.length > maxEncodedLength || (secret.length >= minPemLine && isBase64(secret))) return []
  const inBase64 = [0, 1, 2].map((offset) => {
    const bytes = Buffer.from('x'.repeat(offset) + secret)
    const first = Math.ceil((offset * 8) / 6)
    return bytes.toString('base64').slice(first, Math.floor((bytes.length * 8) / 6))
  })
  const encoded = [base64(secret), ...inBase64].filter((text) => text.length >= minSecretCharacters)
  const inUrl = encoded.filter((text) => /[+/]/.test(text))
  return [...encoded, ...inUrl.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))]
}

/**
 * Matches the names of variables and flags whose value is a secret: `DB_PASSWORD` and `client-secret`, but not
 * `KEYCLOAK_URL` or `SECRET_NAME`.
 */
const secretVariable =
  /(password|passwd|passphrase|token|secret|(?:^|[-_])(?:pass|pwd)|(api|access|private|secret|signing|encryption)[-_]?key)$/i

/** Matches further names of settings whose value may be a secret: `TOKEN_CACHE`, but also `KEYCLOAK_REALM`. */
const maybeSecret = /token|secret|passw|credential|key/i

/** Values of a switch, as in `--use-access-token=true`. */
const isSwitch = /^(true|false|none|null)$/i

/**
 * The secrets of a kubeconfig: tokens, passwords, keys and client certificates (as written, in base64, and decoded), and the
 * lines that contain them. The runner masks single lines, so multi-line secrets are split. Lines without a secret are
 * excluded: masking `}` or `kind: Config` would make every log unreadable. The runner also drops every job output that
 * contains a masked word, so a setting that may be a secret by its name must look like one too.
 */
export function secretsOf(document: KubeconfigDocument): string[] {
  const values = [...document.users.flatMap(userSecrets), ...document.clusters.flatMap(clusterSecrets)]
  const [text, ...encoded] = document.texts
  const lines = [text ?? '', ...encoded].flatMap((whole) => whole.split(/\r?\n/)).map((line) => line.trim())
  const secretLines = lines.filter((line) => isBase64(line) || values.some((value) => line.includes(value)))
  const whole = encoded.map((text) => text.replace(/\s+/g, ''))
  return unique([...values, ...values.map(base64), ...secretLines, ...whole])
}

/** Matches the names of headers whose value is a credential: `Authorization`, `Cookie`, `X-Api-Key`. */
const secretHeader = /(?:auth|authorization|cookie|credentials?|jwt|key|passphrase|password|secret|signature|token)$/i

/**
 * The secrets in the value of a header: the whole value if it is a credential by its name, or long; and the credentials in it
 * without their scheme, with the password of `Basic`, and the cookies. Short values such as `https` and `1` are none: the
 * runner drops every job output that contains a masked text.
 */
export function secretsInHeader(name: string, value: string): string[] {
  if (value.length < minKeyLength && (!secretHeader.test(name) || isSwitch.test(value)))
    return unique(secretsInside(value, [value]))
  const [, scheme = '', credentials = ''] = /^(Basic|Bearer|Token)\s+(\S+)$/i.exec(value) ?? []
  const pair = /^basic$/i.test(scheme) ? Buffer.from(credentials, 'base64').toString() : ''
  return unique([value, credentials, pair, pair.replace(/^[^:]*:/, ''), ...secretsInside(value, [value])])
}

/** The strings to mask for a credential: its lines, as written and in base64. */
export function formsOf(secret: string): string[] {
  const lines = linesOf(secret)
  return unique([...lines, ...lines.map(base64)])
}

function userSecrets({ body }: Entry): string[] {
  const { token, username, password } = body
  const exec = isObject(body['exec']) ? body['exec'] : {}
  const provider = isObject(body['auth-provider']) ? body['auth-provider']['config'] : undefined
  return [
    ...texts(token),
    ...texts(password),
    ...(username && password ? [base64(`${username}:${password}`)] : []),
    ...encodedFile(body['client-certificate-data']),
    ...encodedFile(body['client-key-data']),
    ...(isObject(provider) ? secretSettings(Object.entries(provider)) : []),
    ...(Array.isArray(exec['env'])
      ? secretSettings(exec['env'].map((variable) => [variable?.name, variable?.value]))
      : []),
    ...(Array.isArray(exec['args']) ? secretArguments(exec['args']) : []),
  ]
}

/** The secrets of a cluster entry. The certificates of authorities are not among them: they are public, and may be many. */
function clusterSecrets({ body }: Entry): string[] {
  return [body['proxy-url'], body['server']].flatMap(urlPassword)
}

function urlPassword(url: unknown): string[] {
  const { password } = typeof url === 'string' && URL.canParse(url) ? new URL(url) : { password: '' }
  return password === '' ? [] : [password, decoded(password) ?? password]
}

function secretSettings(settings: readonly (readonly [unknown, unknown])[]): string[] {
  return settings.flatMap(([name, value]) => secretSetting(String(name), value))
}

/** Finds the values in `--client-secret=…` and `--client-secret …`. */
function secretArguments(args: readonly unknown[]): string[] {
  return args.flatMap((argument, index) => {
    const [name = '', value] = String(argument).split(/=(.*)/s)
    if (name.startsWith('-')) return secretSetting(name, value)
    const before = String(args[index - 1] ?? '')
    return before.startsWith('-') && !before.includes('=') ? secretSetting(before, argument) : []
  })
}

/** The lines of a setting's value that are secret by the setting's name, or may be by its name and look so. */
function secretSetting(name: string, value: unknown): string[] {
  if (secretVariable.test(name)) return texts(value).filter((line) => !isSwitch.test(line))
  return maybeSecret.test(name) ? texts(value).filter(looksSecret) : []
}

/**
 * Whether a text looks random: 24 letters and digits in a row, or 12 that form four or more words and numbers, such as
 * `k3JH8sdf0QmZ`. Words, names and paths do not.
 */
function looksSecret(text: string): boolean {
  return text
    .split(/[^A-Za-z0-9]+/)
    .some((run) => run.length >= 24 || (run.length >= 12 && (run.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? []).length >= 4))
}

/** The secrets of a file in base64: the text itself and its decoded lines. Text before and after PEM blocks is public. */
function encodedFile(data: unknown): string[] {
  return texts(data).flatMap((text) => {
    const content = Buffer.from(text, 'base64').toString('latin1')
    const blocks = content.match(/-----BEGIN [^-]*-----[^-]*-----END [^-]*-----/g) ?? [content]
    return [text, ...blocks.flatMap(linesOf)]
  })
}

function texts(value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' ? linesOf(String(value)) : []
}

function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= minMaskedCharacters && !line.startsWith('-----'))
}

/** Whether a line looks like base64 of a certificate or a kubeconfig: it is longer than any word. */
function isBase64(line: string): boolean {
  return /^[A-Za-z0-9+/_-]{24,}={0,2}$/.test(line)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function unique(strings: readonly string[]): string[] {
  return [...new Set(strings)].filter((text) => text.length >= minMaskedCharacters)
}

/** The minimum length of a line without a name and without blanks that is taken for a key, in a text of several lines. */
const minKeyLength = 24

/** Names of values that are shown, such as `username`: a word in one of them is no secret. */
const publicName =
  /(?:user|name|host|port|database|db|schema|env|environment|region|zone|mode|type|level|driver|engine|provider|bucket|realm|domain)$/i
/** Words of eight letters and more that are settings and defaults, and occur in logs. */
const commonWord =
  /^(?:production|development|postgres|postgresql|database|localhost|username|password|disabled|required|optional|internal|external|standard|preferred|undefined|unlimited|administrator)$/i

/**
 * What is secret in a value of a Secret: the value, if it is one line; passwords in URLs; in JSON and in text of several
 * lines, values whose names look secret, and what looks like a key. Excluded is what also occurs in other text: fewer than
 * 8 characters (6 if its name looks secret), and words that are defaults, that repeat their name
 * (`POSTGRES_PASSWORD: postgres`) or whose name is public (`username`).
 */
export function secretsIn(name: string, value: string): string[] {
  const lines = linesOf(value)
  const [line = ''] = lines
  const own = lines.length > 1 ? [] : isSecretValue(name, line) ? [line] : []
  return [...own, ...secretsInside(value, lines)]
}

/**
 * What is secret in a setting: its whole value if its name looks secret (`DB_PASSWORD`), and what it contains. Settings
 * contain names, images and paths of 24 characters too, so that a text without a name must look like a key.
 */
export function secretsInSetting(name: string, value: string): string[] {
  const found = secretVariable.test(name) ? secretsIn(name, value) : secretsInside(value, linesOf(value), isRandomKey)
  return found.filter((text) => !isPlace(text))
}

function namedSecretsIn(name: string, value: string): string[] {
  if (isSecretField(name, value)) return secretsIn(name, value)
  return secretsInside(value, linesOf(value), () => false).filter((text) => !isPlace(text))
}

/** A path of a file or a variable, as in `TLS_PRIVATE_KEY=/etc/tls/tls.key`: errors quote them. */
function isPlace(text: string): boolean {
  return /^(?:\.{0,2}(?:\/[\w.-]+){2,}|\$\([\w.-]+\)|\$\{[\w.-]+\}|\$\w+)$/.test(text) && !looksSecret(text)
}

/**
 * Whether a field or annotation contains a secret by its name. One such as `existingSecret` or `secretKey` may contain the
 * name of a Secret or of its key, which explanations of a missing one show.
 */
export function isSecretField(name: string, value: string): boolean {
  if (!secretVariable.test(name) || value === '' || isSwitch.test(value) || isPlace(value)) return false
  const mayBeName = /secret([-_]?key)?$/i.test(name) && !/client[-_]?secret$/i.test(name)
  return !mayBeName || !/^[a-z0-9][a-z0-9.-]*$/.test(value) || looksSecret(value)
}

function secretsInside(value: string, lines: readonly string[], isUnnamedSecret = isKey): string[] {
  const inJson = /^\s*[[{]/.test(value) ? namedTexts(jsonValue(value)) : []
  const ofLines = lines.length > 1 ? lines.map((line) => lineSetting.exec(line) ?? ['', '', line]) : []
  const inline = [...value.matchAll(inlineSetting)]
  const nested = inline.flatMap(([, , text = '']) => [...text.matchAll(inlineSetting)])
  const settings = [...ofLines, ...inline, ...nested].map(([, name = '', text = '']) => [name, text] as const)
  const named = [...inJson, ...settings].filter(([name, text]) =>
    secretVariable.test(name) ? isSecretValue(name, text) : isUnnamedSecret(text),
  )
  return [...named.map(([, text]) => text), ...passwordsInUrls(value)]
}

/** A setting: `Server=db;Password=x`, `host=db password=x`, `?user=u&password=x`, also in another: `--set=db.password=x`. */
const inlineSetting = /(?<![\w.-])([\w.-]{1,100})=([^\s;,&"']+)/g
/** A line `name: value` or `name=value` of a file. */
const lineSetting = /^["']?([\w.-]{1,100})["']?\s{0,10}[:=]\s{0,10}["']?(.+?)["']?,?$/

function isSecretValue(name: string, text: string): boolean {
  if (!isWords(text)) return text.length >= (secretVariable.test(name) ? minNamedSecretCharacters : minSecretCharacters)
  const repeatsName = name.toLowerCase().includes(text.toLowerCase())
  return text.length >= minSecretCharacters && !commonWord.test(text) && !publicName.test(name) && !repeatsName
}

/** Letters, hyphens and blanks only. Such a text is replaced where it stands alone, not in other words. */
function isWords(text: string): boolean {
  return /^[\p{L}\p{M}\s'-]+$/u.test(text)
}

function isKey(text: string): boolean {
  return text.length >= minKeyLength && !/\s/.test(text) && !/:\/\//.test(text) && !isWords(text)
}

/** A key that is neither the id of an object nor a digest. */
function isRandomKey(text: string): boolean {
  return (
    isKey(text) && looksSecret(text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|sha\d{3}:[0-9a-f]+/gi, ''))
  )
}

/** The texts in a value of JSON with the names of their fields. */
function namedTexts(value: unknown, name = '', depth = 0): (readonly [name: string, text: string])[] {
  if (typeof value === 'string') return [[name, value]]
  if (typeof value !== 'object' || value === null || depth > maxJsonDepth) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    namedTexts(inner, Array.isArray(value) ? name : key, depth + 1),
  )
}

const maxJsonDepth = 20

/** The passwords of all URLs in a text, as written and decoded. */
function passwordsInUrls(text: string): string[] {
  const written = urlPasswords(text)
  return [...written, ...written.flatMap((each) => decoded(each) ?? [])].filter((password) =>
    isSecretValue('password', password),
  )
}
