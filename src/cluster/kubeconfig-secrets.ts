import type { Entry, KubeconfigDocument } from './kubeconfig-file.ts'
import { isObject } from './objects.ts'
import { decoded } from './proxy.ts'
import { base64, isBase64, isSwitch, linesOf, looksSecret, secretVariable, unique } from './secret-values.ts'

/** Matches further names of settings whose value may be a secret: `TOKEN_CACHE`, but also `KEYCLOAK_REALM`. */
const maybeSecret = /token|secret|passw|credential|key/i

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
