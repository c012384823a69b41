import type { Entry, KubeconfigDocument } from './kubeconfig-file.ts'
import { isObject } from './objects.ts'

/** Strings that must never be printed. */
export class Secrets {
  readonly #minLength: number
  readonly #known = new Set<string>()
  /** Longest first: a secret that contains a shorter one must be replaced as a whole. */
  #ordered: readonly string[] | undefined

  /** `minLength`: shorter secrets are ignored. */
  constructor(minLength = 1) {
    this.#minLength = minLength
  }

  readonly add = (secret: string): void => {
    if (secret.length < this.#minLength || this.#known.has(secret)) return
    this.#known.add(secret)
    this.#ordered = undefined
  }

  has(secret: string): boolean {
    return this.#known.has(secret)
  }

  /** Replaces every secret in the text with `***`. */
  readonly redact = (text: string): string => {
    this.#ordered ??= [...this.#known].toSorted((a, b) => b.length - a.length)
    return this.#ordered.reduce((hidden, secret) => hidden.replaceAll(secret, '***'), text)
  }
}

/** Shorter strings are not masked, to keep the log readable. */
const minSecretLength = 4

/**
 * Matches the names of variables and flags whose value is a secret: `DB_PASSWORD` and `client-secret`, but not
 * `KEYCLOAK_URL` or `SECRET_NAME`.
 */
export const secretVariable =
  /(password|passwd|passphrase|token|secret|(api|access|private|secret|signing|encryption)[-_]?key)$/i

/** Longer values are files or Helm releases, which logs do not quote. */
const maxValueLength = 10_000

/** Matches further names of settings whose value may be a secret: `TOKEN_CACHE`, but also `KEYCLOAK_REALM`. */
const maybeSecret = /token|secret|passw|credential|key/i

/** Values of a switch, as in `--use-access-token=true`. */
const isSwitch = /^(true|false|none|null)$/i

/**
 * The secrets of a kubeconfig: tokens, passwords, keys and certificates (as written, in base64, and decoded), and the
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

function clusterSecrets({ body }: Entry): string[] {
  return [
    ...encodedFile(body['certificate-authority-data']),
    ...[body['proxy-url'], body['server']].flatMap(urlPassword),
  ]
}

function urlPassword(url: unknown): string[] {
  const { password } = typeof url === 'string' && URL.canParse(url) ? new URL(url) : { password: '' }
  return password === '' ? [] : [password, decodeURIComponent(password)]
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
    .filter((line) => line.length >= minSecretLength && !line.startsWith('-----'))
}

/** Whether a line looks like base64 of a certificate or a kubeconfig: it is longer than any word. */
function isBase64(line: string): boolean {
  return /^[A-Za-z0-9+/_-]{24,}={0,2}$/.test(line)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function unique(strings: readonly string[]): string[] {
  return [...new Set(strings)].filter((text) => text.length >= minSecretLength)
}

/**
 * The parts of a Secret's value to redact: a value of one line, or those of several lines that look like keys. Short
 * values, words (`production`) and sentences are excluded, because they also occur in other text.
 */
export function secretsIn(value: string): string[] {
  if (value.length > maxValueLength) return []
  const lines = linesOf(value)
  const minLength = lines.length > 1 ? 24 : 8
  return lines.filter((line) => line.length >= minLength && !/\s|^[a-z-]+$/i.test(line))
}
