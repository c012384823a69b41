import { jsonValue } from '../errors.ts'
import { minMaskedCharacters, minNamedSecretCharacters, minSecretCharacters } from '../thresholds.ts'
import { urlPasswords } from './token-shapes.ts'

/*
 * Which values are secret: those of Secrets, settings and headers, by their names and by how random they look.
 * `token-shapes.ts` finds what is secret in any text by its shape.
 */

/**
 * Matches the names of variables and flags whose value is a secret: `DB_PASSWORD` and `client-secret`, but not
 * `KEYCLOAK_URL` or `SECRET_NAME`.
 */
export const secretVariable =
  /(password|passwd|passphrase|token|secret|(?:^|[-_])(?:pass|pwd)|(api|access|private|secret|signing|encryption)[-_]?key)$/i

/** Values of a switch, as in `--use-access-token=true`. */
export const switchValue = /^(true|false|none|null)$/i

/** Names of values that are shown, such as `username`: a word in one of them is no secret. */
const publicName =
  /(?:user|name|host|port|database|db|schema|env|environment|region|zone|mode|type|level|driver|engine|provider|bucket|realm|domain)$/i

/** Words of eight letters and more that are settings and defaults, and occur in logs. */
const commonWord =
  /^(?:production|development|postgres|postgresql|database|localhost|username|password|disabled|required|optional|internal|external|standard|preferred|undefined|unlimited|administrator)$/i

/** The minimum length of a line without a name and without blanks that is taken for a key, in a text of several lines. */
const minKeyLength = 24

/**
 * What is secret in a value of a Secret: the value, if it is one line; passwords in URLs; in JSON and in text of several
 * lines, values whose names look secret, and what looks like a key. Excluded is what also occurs in other text: fewer than
 * 8 characters (6 if its name looks secret), and words that are defaults, that repeat their name
 * (`POSTGRES_PASSWORD: postgres`) or whose name is public (`username`).
 */
export function secretsIn(name: string, value: string): string[] {
  const lines = maskableLines(value)
  const [line = ''] = lines
  const own = lines.length > 1 ? [] : isSecretValue(name, line) ? [line] : []
  return [...own, ...secretsInText(value, lines)]
}

/**
 * What is secret in a setting: its whole value if its name looks secret (`DB_PASSWORD`), and what it contains. Settings
 * contain names, images and paths of 24 characters too, so that a text without a name must look like a key.
 */
export function secretsInSetting(name: string, value: string): string[] {
  const found = secretVariable.test(name)
    ? secretsIn(name, value)
    : secretsInText(value, maskableLines(value), isRandomKey)
  return found.filter((text) => !isPathOrVariable(text))
}

/** The secrets in a text: the text itself if its name is secret, and the values of settings with secret names. */
export function namedSecretsIn(name: string, value: string): string[] {
  if (isSecretField(name, value)) return secretsIn(name, value)
  return secretsInText(value, maskableLines(value), () => false).filter((text) => !isPathOrVariable(text))
}

/**
 * Whether a field or annotation contains a secret by its name. A field such as `existingSecret` or `secretKey` may
 * contain the name of a Secret or of a key in it, which is no secret: explanations of a missing Secret show it.
 */
export function isSecretField(name: string, value: string): boolean {
  if (!secretVariable.test(name) || value === '' || switchValue.test(value) || isPathOrVariable(value)) return false
  const mayBeName = /secret([-_]?key)?$/i.test(name) && !/client[-_]?secret$/i.test(name)
  return !mayBeName || !/^[a-z0-9][a-z0-9.-]*$/.test(value) || isRandomText(value)
}

/** Matches the names of headers whose value is a credential: `Authorization`, `Cookie`, `X-Api-Key`. */
const secretHeader = /(?:auth|authorization|cookie|credentials?|jwt|key|passphrase|password|secret|signature|token)$/i

/**
 * The secrets in the value of a header: the value itself if the header is a credential by its name, or if the value is
 * long; credentials without their scheme, the password of `Basic`, and cookies. Other short values such as `https` are
 * no secrets: the runner drops every job output that contains a masked text.
 */
export function secretsInHeader(name: string, value: string): string[] {
  if (value.length < minKeyLength && (!secretHeader.test(name) || switchValue.test(value)))
    return uniqueMaskable(secretsInText(value, [value]))
  const [, scheme = '', credentials = ''] = /^(Basic|Bearer|Token)\s+(\S+)$/i.exec(value) ?? []
  const pair = /^basic$/i.test(scheme) ? Buffer.from(credentials, 'base64').toString() : ''
  return uniqueMaskable([value, credentials, pair, pair.replace(/^[^:]*:/, ''), ...secretsInText(value, [value])])
}

/** The strings to mask for a credential: its lines, as written and in base64. */
export function stringsToMask(secret: string): string[] {
  const lines = maskableLines(secret)
  return uniqueMaskable([...lines, ...lines.map(toBase64)])
}

/**
 * The secrets among the settings in a text: in JSON, one a line, within a line (`password=x`), and in URLs.
 * @param isUnnamedSecret whether a text is secret although its name does not look so
 */
function secretsInText(value: string, lines: readonly string[], isUnnamedSecret = mayBeKey): string[] {
  const inJson = /^\s*[[{]/.test(value) ? textsWithFieldNames(jsonValue(value)) : []
  const ofLines = lines.length > 1 ? lines.map((line) => lineSetting.exec(line) ?? ['', '', line]) : []
  const inline = [...value.matchAll(inlineSetting)]
  const nested = inline.flatMap(([, , text = '']) => [...text.matchAll(inlineSetting)])
  const settings = [...ofLines, ...inline, ...nested].map(([, name = '', text = '']) => [name, text] as const)
  const named = [...inJson, ...settings].filter(([name, text]) =>
    secretVariable.test(name) ? isSecretValue(name, text) : isUnnamedSecret(text),
  )
  return [...named.map(([, text]) => text), ...passwordsInUrls(value)]
}

/** A setting in a line: `Server=db;Password=x`, `host=db password=x`, `?user=u&password=x`, `--set=db.password=x`. */
const inlineSetting = /(?<![\w.-])([\w.-]{1,100})=([^\s;,&"']+)/g

/** A line `name: value` or `name=value` of a file. */
const lineSetting = /^["']?([\w.-]{1,100})["']?\s{0,10}[:=]\s{0,10}["']?(.+?)["']?,?$/

/** Whether the value of a setting is secret: it is long enough, and no word that logs contain anyway. */
function isSecretValue(name: string, text: string): boolean {
  if (!hasOnlyWords(text))
    return text.length >= (secretVariable.test(name) ? minNamedSecretCharacters : minSecretCharacters)
  const repeatsName = name.toLowerCase().includes(text.toLowerCase())
  return text.length >= minSecretCharacters && !commonWord.test(text) && !publicName.test(name) && !repeatsName
}

/** Whether a text is a path (`TLS_PRIVATE_KEY=/etc/tls/tls.key`) or a variable: no secret, and errors quote it. */
function isPathOrVariable(text: string): boolean {
  return /^(?:\.{0,2}(?:\/[\w.-]+){2,}|\$\([\w.-]+\)|\$\{[\w.-]+\}|\$\w+)$/.test(text) && !isRandomText(text)
}

/** Whether a text has only letters, hyphens and blanks. Such a text is replaced only where it is not part of a word. */
export function hasOnlyWords(text: string): boolean {
  return /^[\p{L}\p{M}\s'-]+$/u.test(text)
}

/** Whether a text without a name may be a key: long, in one word, and no URL. */
function mayBeKey(text: string): boolean {
  return text.length >= minKeyLength && !/\s/.test(text) && !/:\/\//.test(text) && !hasOnlyWords(text)
}

/** A key that is neither the id of an object nor a digest. */
function isRandomKey(text: string): boolean {
  return (
    mayBeKey(text) && isRandomText(text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|sha\d{3}:[0-9a-f]+/gi, ''))
  )
}

/**
 * Whether a text looks random: 24 letters and digits in a row, or 12 that form four or more words and numbers, such as
 * `k3JH8sdf0QmZ`. Words, names and paths do not.
 */
export function isRandomText(text: string): boolean {
  return text
    .split(/[^A-Za-z0-9]+/)
    .some((run) => run.length >= 24 || (run.length >= 12 && (run.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? []).length >= 4))
}

/** The texts in a value of JSON with the names of their fields. */
function textsWithFieldNames(value: unknown, name = '', depth = 0): (readonly [name: string, text: string])[] {
  if (typeof value === 'string') return [[name, value]]
  if (typeof value !== 'object' || value === null || depth > maxJsonDepth) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    textsWithFieldNames(inner, Array.isArray(value) ? name : key, depth + 1),
  )
}

const maxJsonDepth = 20

/** The passwords of all URLs in a text, as written and decoded. */
function passwordsInUrls(text: string): string[] {
  const written = urlPasswords(text)
  return [...written, ...written.flatMap((each) => percentDecoded(each) ?? [])].filter((password) =>
    isSecretValue('password', password),
  )
}

/** The lines that may be masked: not those of a few characters, nor the first and last lines of PEM blocks. */
export function maskableLines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= minMaskedCharacters && !line.startsWith('-----'))
}

/** Whether a line looks like base64 of a certificate or a kubeconfig: it is longer than any word. */
export function isLongBase64(line: string): boolean {
  return /^[A-Za-z0-9+/_-]{24,}={0,2}$/.test(line)
}

export function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

export function uniqueMaskable(strings: readonly string[]): string[] {
  return [...new Set(strings)].filter((text) => text.length >= minMaskedCharacters)
}

/** The text without its percent-encoding; undefined if a `%` in it begins no escape. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
