import { tryParseJson } from '../errors.ts'
import { minMaskedCharacters, minNamedSecretCharacters, minSecretCharacters } from '../thresholds.ts'
import { visibleText } from './decoded-text.ts'

/* Finds secrets: values by their names and by how random they look, and in any text, tokens by their shape. */

/** Matches names of secret variables and flags: `DB_PASSWORD`, `client-secret`; not `KEYCLOAK_URL`, `SECRET_NAME`. */
export const secretVariable =
  /(password|passwd|passphrase|token|secret|(?:^|[-_])(?:pass|pwd)|(api|access|private|secret|signing|encryption)[-_]?key)$/i

/** Matches a value that only turns a setting on or off, as in `--use-access-token=true`. */
export const switchValue = /^(true|false|none|null)$/i

/** Matches names of public values, such as `username`. A value that is a plain word is then no secret. */
const publicName =
  /(?:user|name|host|port|database|db|schema|env|environment|region|zone|mode|type|level|driver|engine|provider|bucket|realm|domain)$/i

/** Matches common values of settings that also occur in logs, so they are not redacted. */
const commonWord =
  /^(?:production|development|postgres|postgresql|database|localhost|username|password|disabled|required|optional|internal|external|standard|preferred|undefined|unlimited|administrator)$/i

/** Minimum length of a text without blanks and without a name to count as a key. */
const minKeyLength = 24

/**
 * The secrets in a value of a Secret: the value itself if it has one line, passwords in URLs, and in longer values the
 * settings with secret names and the keys. Texts that also occur elsewhere are excluded; see `isSecretValue`.
 */
export function secretsIn(name: string, value: string): string[] {
  const lines = maskableLines(value)
  const [line = ''] = lines
  const own = lines.length > 1 ? [] : isSecretValue(name, line) ? [line] : []
  return [...own, ...secretsInText(value, lines)]
}

/**
 * The secrets in a setting, such as an environment variable. If the name is secret (`DB_PASSWORD`), the whole value is
 * a secret. Otherwise, only secrets found in the value count. A key without a name counts only if the key looks random,
 * because settings also contain long names, images and paths.
 */
export function secretsInSetting(name: string, value: string): string[] {
  const found = secretVariable.test(name)
    ? secretsIn(name, value)
    : secretsInText(value, maskableLines(value), isRandomKey)
  return found.filter((text) => !isPathOrVariable(text))
}

/** The secrets in a text by name: the whole text if its name is secret, else its settings with secret names. */
export function namedSecretsIn(name: string, value: string): string[] {
  if (isSecretField(name, value)) return secretsIn(name, value)
  return secretsInText(value, maskableLines(value), () => false).filter((text) => !isPathOrVariable(text))
}

/**
 * Whether the name of a field or annotation shows that its value is secret. The value of `existingSecret` or
 * `secretKey` may be only the name of a Secret or of its key. Such names stay readable, because messages about a
 * missing Secret show them.
 */
export function isSecretField(name: string, value: string): boolean {
  if (!secretVariable.test(name) || value === '' || switchValue.test(value) || isPathOrVariable(value)) return false
  const mayBeName = /secret([-_]?key)?$/i.test(name) && !/client[-_]?secret$/i.test(name)
  return !mayBeName || !/^[a-z0-9][a-z0-9.-]*$/.test(value) || isRandomText(value)
}

/** Matches the names of headers that contain a credential: `Authorization`, `Cookie`, `X-Api-Key`. */
const secretHeader = /(?:auth|authorization|cookie|credentials?|jwt|key|passphrase|password|secret|signature|token)$/i

/**
 * The secrets in the value of a header: the value if its name is secret or the value is long, and the credentials,
 * passwords and cookies in the value. Other short values such as `https` are not secret: the runner would drop every
 * job output that contains them.
 */
export function secretsInHeader(name: string, value: string): string[] {
  if (value.length < minKeyLength && (!secretHeader.test(name) || switchValue.test(value)))
    return uniqueMaskable(secretsInText(value, [value]))
  const [, scheme = '', credentials = ''] = /^(Basic|Bearer|Token)\s+(\S+)$/i.exec(value) ?? []
  const pair = /^basic$/i.test(scheme) ? Buffer.from(credentials, 'base64').toString() : ''
  return uniqueMaskable([value, credentials, pair, pair.replace(/^[^:]*:/, ''), ...secretsInText(value, [value])])
}

/** The values in the arguments of a command, each with the name of its flag: `--password=x`, `--password x`. */
export function namedArguments(args: readonly unknown[]): (readonly [flag: string, value: string])[] {
  const texts = args.map((argument) => (/^(?:string|number)$/.test(typeof argument) ? String(argument) : ''))
  return texts.flatMap((text, index) => {
    const [flag = '', value] = text.split(/=(.*)/s)
    const before = texts[index - 1] ?? ''
    // One argument may contain several flags, and a password may begin with `-`. So the whole argument is a value too.
    const whole = [/^-[^=]*$/.test(before) ? before : '', text] as const
    return flag.startsWith('-') && value !== undefined ? [whole, [flag, value] as const] : [whole]
  })
}

/** The strings to mask for a credential: each of its lines, as written and in base64. */
export function stringsToMask(secret: string): string[] {
  const lines = maskableLines(secret)
  return uniqueMaskable([...lines, ...lines.map(toBase64)])
}

/**
 * The secrets in a text with settings: in JSON, in lines (`name: value`), within a line (`password=x`) and in URLs.
 * @param isUnnamedSecret whether a text is secret although it has no secret name
 */
function secretsInText(value: string, lines: readonly string[], isUnnamedSecret = mayBeKey): string[] {
  const inJson = /^\s*[[{]/.test(value) ? textsWithFieldNames(tryParseJson(value)) : []
  const ofLines = lines.length > 1 ? lines.map((line) => lineSetting.exec(line) ?? ['', '', line]) : []
  const inline = [...value.matchAll(inlineSetting)]
  const nested = inline.flatMap(([, , text = '']) => [...text.matchAll(inlineSetting)])
  const settings = [...ofLines, ...inline, ...nested].map(([, name = '', text = '']) => [name, text] as const)
  const named = [...inJson, ...settings].filter(([name, text]) =>
    secretVariable.test(name) ? isSecretValue(name, text) : isUnnamedSecret(text),
  )
  return [...named.map(([, text]) => text), ...passwordsInUrls(value)]
}

/** Matches each setting within a line: `Server=db;Password=x`, `host=db password=x`, `--set=db.password=x`. */
const inlineSetting = /(?<![\w.-])([\w.-]{1,100})=([^\s;,&"']+)/g

/** Matches a line of a settings file: `name: value` or `name=value`. */
const lineSetting = /^["']?([\w.-]{1,100})["']?\s{0,10}[:=]\s{0,10}["']?(.+?)["']?,?$/

/**
 * Whether a value is secret: long enough (8 characters, or 6 if its name is secret) and no common word. A word with a
 * public name, or a word that is part of its name (`POSTGRES_PASSWORD: postgres`), is not secret.
 */
function isSecretValue(name: string, text: string): boolean {
  if (!hasOnlyWords(text))
    return text.length >= (secretVariable.test(name) ? minNamedSecretCharacters : minSecretCharacters)
  const repeatsName = name.toLowerCase().includes(text.toLowerCase())
  return text.length >= minSecretCharacters && !commonWord.test(text) && !publicName.test(name) && !repeatsName
}

/** Whether a text is a path or a variable (`TLS_PRIVATE_KEY=/etc/tls/tls.key`), which messages must be able to show. */
function isPathOrVariable(text: string): boolean {
  return /^(?:\.{0,2}(?:\/[\w.-]+){2,}|\$\([\w.-]+\)|\$\{[\w.-]+\}|\$\w+)$/.test(text) && !isRandomText(text)
}

/** Whether a text consists of words. A secret of words is replaced only if it is not part of a longer word. */
export function hasOnlyWords(text: string): boolean {
  return /^[\p{L}\p{M}\s'-]+$/u.test(text)
}

/** Whether a text may be a key: long, without blanks, and neither words nor a URL. */
function mayBeKey(text: string): boolean {
  return text.length >= minKeyLength && !/\s/.test(text) && !/:\/\//.test(text) && !hasOnlyWords(text)
}

/** Whether a text looks like a random key, apart from UUIDs and digests in it. */
function isRandomKey(text: string): boolean {
  return (
    mayBeKey(text) && isRandomText(text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|sha\d{3}:[0-9a-f]+/gi, ''))
  )
}

/**
 * Whether a text looks random: 24 letters and digits in a row, or 12 that consist of four or more words and numbers,
 * like `k3JH8sdf0QmZ`. Words, names and paths do not look random.
 */
export function isRandomText(text: string): boolean {
  return text
    .split(/[^A-Za-z0-9]+/)
    .some((run) => run.length >= 24 || (run.length >= 12 && (run.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? []).length >= 4))
}

/** All texts in a JSON value, each with the name of its field. */
function textsWithFieldNames(value: unknown, name = '', depth = 0): (readonly [name: string, text: string])[] {
  if (typeof value === 'string') return [[name, value]]
  if (typeof value !== 'object' || value === null || depth > maxJsonDepth) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    textsWithFieldNames(inner, Array.isArray(value) ? name : key, depth + 1),
  )
}

const maxJsonDepth = 20

/** The passwords of all URLs in a text, each as written and decoded. */
function passwordsInUrls(text: string): string[] {
  const written = urlPasswords(text)
  return [...written, ...written.flatMap((each) => percentDecoded(each) ?? [])].filter((password) =>
    isSecretValue('password', password),
  )
}

/** The lines of a text that may be masked. Short lines and the marker lines of PEM blocks (`-----BEGIN …`) may not. */
export function maskableLines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line.length >= minMaskedCharacters && !line.startsWith('-----'))
}

/** Whether a line looks like base64 of a certificate or kubeconfig: at least 24 characters. */
export function isLongBase64(line: string): boolean {
  return /^[A-Za-z0-9+/_-]{24,}={0,2}$/.test(line)
}

export function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

export function uniqueMaskable(strings: readonly string[]): string[] {
  return [...new Set(strings)].filter((text) => text.length >= minMaskedCharacters)
}

/** Decodes percent-encoding; undefined if the encoding is invalid. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * The shapes of tokens, in the formats that vendors document. Scanners such as secretlint or gitleaks have more
 * patterns, but also features for repositories that a gate does not need.
 *
 * Every quantifier is bounded, or follows a prefix that cannot repeat, so that matching takes linear time.
 */
const tokenShapes: readonly RegExp[] = [
  // GitHub: https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats
  /gh[oprsu]_[A-Za-z0-9_.-]{20,}|github_pat_\w{20,}/,
  // GitLab: https://docs.gitlab.com/security/tokens/#token-prefixes
  /gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w.-]{20,}/,
  // AWS: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
  /A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/,
  // JWT with three parts and JWE with five parts: https://www.rfc-editor.org/rfc/rfc7519#section-3.1
  /(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]{0,10000}){2,4}/,
  // Slack: https://docs.slack.dev/authentication/tokens
  /xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}/,
  // Slack webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
  /hooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/]{20,}/,
  // Google Cloud: https://cloud.google.com/docs/authentication/api-keys and https://cloud.google.com/docs/authentication/token-types
  /AIza[\w-]{35}|ya29\.[\w-]{20,}/,
  // npm and PyPI: https://docs.npmjs.com/about-access-tokens and https://pypi.org/help/#apitoken
  /npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}/,
  // Docker: https://docs.docker.com/security/access-tokens
  /dckr_(?:oat|pat)_[\w-]{20,}/,
  // Vault and Terraform: https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes and https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
  /hv[brs]\.[\w-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}/,
  // Stripe: https://docs.stripe.com/keys
  /[rs]k_(?:live|test)_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9]{20,}/,
  // OpenAI and Anthropic: https://platform.openai.com/docs/api-reference/authentication and https://docs.anthropic.com/en/api/overview
  /sk-(?:ant|proj|svcacct)-[\w-]{20,}/,
  // DigitalOcean: https://docs.digitalocean.com/reference/api/create-personal-access-token
  /do[opr]_v1_[a-f0-9]{64}/,
  // SendGrid and Hugging Face: https://docs.sendgrid.com/ui/account-and-settings/api-keys and https://huggingface.co/docs/hub/security-tokens
  /SG\.[\w-]{16,64}\.[\w-]{16,}|hf_[A-Za-z0-9]{30,}/,
  // Azure Storage: https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string
  /(?<=(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{40,}={0,2}/,
  // The query of a URL: tokens, and signatures of https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html and
  // https://learn.microsoft.com/rest/api/storageservices/create-service-sas
  /(?<=[?&](?:access_token|api_?key|password|secret|sig|token|X-Amz-Signature|X-Amz-Security-Token)=)[^\s&"'<>]{8,}/,
  // Basic and Bearer credentials: https://www.rfc-editor.org/rfc/rfc7617 and https://www.rfc-editor.org/rfc/rfc6750#section-2.1
  /(?<=\b(?:Basic|Bearer) )[A-Za-z0-9._~+/-]{16,}={0,2}/,
]

/** The minimum length of a token. */
const minTokenLength = 20

const anyToken = new RegExp(tokenShapes.map(({ source }) => `(?<![A-Za-z0-9])(?:${source})`).join('|'), 'g')

/** A private key: https://www.rfc-editor.org/rfc/rfc7468#section-10. A key without its last line ends with the text. */
const privateKey =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g

/** The end of a private key, for a text that begins inside a key, like the last lines of a log. */
const endOfKey = /(?:(?<=^|\s)[A-Za-z0-9+/=]{16,76}\s{1,16}){1,250}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g

/** A range of a text: the index of its first character, and the index after its last character. */
export type TextRange = readonly [start: number, end: number]

/** The part of a URL before its password (RFC 3986, section 3.2.1). Excludes image digests. */
const beforePassword = /:\/\/(?!sha\d{3}:)[^\s:@/?#"'<>]{0,128}:/g
/** Matches a port before a path: such digits are no password. */
const port = /^\d{1,5}[/?#…]/
const maxPasswordLength = 512

/**
 * The ranges of the passwords in URLs. A password may contain `/` and `@`. So the password ends at the last `@` before
 * a blank or quote, or where the text is cut (`…`).
 */
function findUrlPasswords(text: string): readonly TextRange[] {
  const found: TextRange[] = []
  beforePassword.lastIndex = 0
  while (beforePassword.exec(text) !== null) {
    const start = beforePassword.lastIndex
    const [rest = ''] = /^[^\s"'<>]*/.exec(text.slice(start, start + maxPasswordLength + 1)) ?? []
    const length = rest.includes('@') ? rest.lastIndexOf('@') : rest.indexOf('…')
    if (length < 1 || port.test(rest)) continue
    found.push([start, start + length])
    beforePassword.lastIndex = start + length
  }
  return found
}

/** The passwords of all URLs in a text, as written. */
function urlPasswords(text: string): readonly string[] {
  return text.includes('://') ? findUrlPasswords(text).map(([start, end]) => text.slice(start, end)) : []
}

/** The ranges of tokens, private keys, and passwords of URLs in a text. */
export function findTokens(text: string): readonly TextRange[] {
  const keys = text.includes('PRIVATE KEY') ? [...findMatches(text, privateKey), ...findMatches(text, endOfKey)] : []
  const passwords = text.includes('://') && /[@…]/.test(text) ? findUrlPasswords(text) : []
  return [...keys, ...passwords, ...(text.length < minTokenLength ? [] : findMatches(text, anyToken))]
}

function findMatches(text: string, pattern: RegExp): readonly TextRange[] {
  // If nothing matches, `search` is much faster than `matchAll`.
  if (text.search(pattern) === -1) return []
  return Array.from(text.matchAll(pattern), ({ 0: { length }, index }) => [index, index + length] as const)
}

/** The maximum number of lines of a private key. A key of 16,384 bits has 200 lines. */
const maxKeyLines = 250

/** Redacts private keys in a log that is read line by line. */
export class PrivateKeyRedactor {
  #linesLeft = 0

  /** Returns the next line of the log, or `***` if the line is inside a private key. */
  redact(line: string): string {
    const isInKey = this.#linesLeft > 0
    const last = [...visibleText(line).matchAll(/-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY/g)].at(-1)
    if (last === undefined) this.#linesLeft = Math.max(0, this.#linesLeft - 1)
    else this.#linesLeft = last[1] === 'BEGIN' ? maxKeyLines : 0
    return isInKey ? '***' : line
  }
}
