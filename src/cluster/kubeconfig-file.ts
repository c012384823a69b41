import { existsSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { load, YAMLException } from 'js-yaml'
import { errorText, removeQuotedText, UserError } from '../errors.ts'
import { inClusterContext } from './feed.ts'
import { isObject } from './objects.ts'
import {
  isLongBase64,
  isRandomText,
  maskableLines,
  namedArguments,
  percentDecoded,
  secretVariable,
  switchValue,
  toBase64,
  uniqueMaskable,
} from './secret-values.ts'

/* Finds and reads the kubeconfig, and lists its secrets. `kubeconfig.ts` then selects and checks a context. */

export type Section = Record<string, unknown>

/** An entry of `clusters`, `users` or `contexts`. `body`: the value of its field `cluster`, `user` or `context`. */
export interface NamedEntry {
  readonly name: string
  readonly body: Section
}

/** A kubeconfig, merged from one or more files. Its paths are absolute. */
export interface KubeconfigDocument {
  readonly currentContext: string | undefined
  readonly clusters: readonly NamedEntry[]
  readonly users: readonly NamedEntry[]
  readonly contexts: readonly NamedEntry[]
  /** The text of each file, and its base64 if the file or input is in base64. All are searched for secrets. */
  readonly texts: readonly string[]
  /** If the input is empty: the place where the kubeconfig was found, such as `~/.kube/config`. */
  readonly source?: string
}

/** The places to search for a kubeconfig. */
export interface KubeconfigPlaces {
  readonly env: NodeJS.ProcessEnv
  /** The home folder; empty if the user has none. */
  readonly home: string
  readonly serviceAccount: string
}

export const defaultPlaces: KubeconfigPlaces = {
  env: process.env,
  home: homeFolder(),
  serviceAccount: '/var/run/secrets/kubernetes.io/serviceaccount',
}

/** The home folder. Empty for a user without HOME and without an entry in /etc/passwd, for whom Node throws. */
function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return ''
  }
}

/**
 * Reads the kubeconfig. `input` is its text (YAML or JSON), base64 of the text, or the path of a file. Without `input`,
 * reads `$KUBECONFIG`, else `~/.kube/config`, as kubectl does. The service account of this pod is read only for the
 * context `in-cluster`: a self-hosted runner seldom runs in the gated cluster. client-node does not read all that
 * kubectl accepts (`test/cluster-api/libraries.test.ts`). Throws a `UserError` that quotes no secret.
 */
export function readKubeconfig(
  input: string | undefined,
  context: string | undefined,
  places: KubeconfigPlaces,
): KubeconfigDocument {
  if (input !== undefined) return readFromInput(input, places.home)
  const inCluster = serviceAccountDocument(places)
  if (inCluster && context === inClusterContext) return inCluster
  const listed = places.env['KUBECONFIG']?.trim()
  if (listed) return readPathList(listed)
  const standard = join(places.home, '.kube', 'config')
  if (places.home !== '' && existsSync(standard)) return { ...readKubeconfigFile(standard), source: '~/.kube/config' }
  throw kubeconfigMistake(
    `No kubeconfig was found: none is given, $KUBECONFIG is not set, and there is no ~/.kube/config. ${emptySecret}` +
      (inCluster
        ? ' To gate the cluster of the pod that this job runs in, set the input `context` to in-cluster.'
        : ''),
  )
}

/** A sentence for messages: why a kubeconfig may be empty. */
const emptySecret =
  'If it comes from a secret, the secret is empty or has another name: in a pull request from a fork (and from Dependabot) secrets are not available. Otherwise log in to the cluster first.'

/** Merges kubeconfigs. Of entries with the same name, the first is found first (kubernetes.io, "Merging kubeconfig files"). */
function mergeDocuments(documents: readonly KubeconfigDocument[]): KubeconfigDocument {
  return {
    currentContext: documents.map((document) => document.currentContext).find((name) => name !== undefined),
    clusters: documents.flatMap(({ clusters }) => clusters),
    users: documents.flatMap(({ users }) => users),
    contexts: documents.flatMap(({ contexts }) => contexts),
    texts: documents.flatMap(({ texts }) => texts),
  }
}

/** Reads a kubeconfig from the input, which is its text, base64 of the text, or the path of a file. */
function readFromInput(input: string, home: string): KubeconfigDocument {
  const text = input.replace(/^\uFEFF/, '').trim()
  if (text === '') throw kubeconfigMistake(`The kubeconfig is empty. ${emptySecret}`)
  const file = findExistingFile(text, home)
  if (file) return readKubeconfigFile(file)
  const decoded = decodeBase64(text)
  if (decoded !== undefined) return parseDocument(decoded, [text])
  if (mayBePath(text)) {
    throw kubeconfigMistake(
      `The file ${text} does not exist.${/^[/~]|^[A-Za-z]:/.test(text) ? '' : ` A relative path starts at ${process.cwd()}.`} Is it written by a later step?`,
    )
  }
  return parseDocument(text)
}

function findExistingFile(text: string, home: string): string | undefined {
  if (text.includes('\n') || text.length > 4096) return undefined
  const path = text.startsWith('~/') && home !== '' ? join(home, text.slice(2)) : resolve(text)
  if (!existsSync(path)) return undefined
  if (statSync(path).isDirectory()) throw kubeconfigMistake(`${text} is a folder; name the kubeconfig file in it.`)
  return path
}

/**
 * Decodes base64 in any form: wrapped, without padding, or URL-safe. Undefined for other text. The text of a kubeconfig
 * contains `:`, which base64 never contains.
 */
function decodeBase64(text: string): string | undefined {
  const compact = text.replace(/\s+/g, '')
  if (compact.length < 16 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact) || /^[./~]/.test(text)) return undefined
  const decoded = Buffer.from(compact, 'base64').toString('utf8')
  if (decoded.includes('\uFFFD') || !decoded.includes(':')) {
    throw kubeconfigMistake(
      'The kubeconfig looks like base64, but not of a kubeconfig: it was cut off, or encoded twice. Encode it once: base64 -w0 ~/.kube/config',
    )
  }
  return decoded
}

function mayBePath(text: string): boolean {
  return /^[^\s{}"']{1,256}$/.test(text) && /^[./~]|^[A-Za-z]:[\\/]|[\\/.]/.test(text) && !/:\S*:/.test(text)
}

/** Reads and merges the files in $KUBECONFIG, as kubectl does. */
function readPathList(listed: string): KubeconfigDocument {
  const paths = listed.split(delimiter).filter((path) => path !== '')
  const existing = paths.filter((path) => existsSync(path))
  if (existing.length === 0) {
    // The message does not quote the variable, which may contain the kubeconfig itself.
    throw kubeconfigMistake(
      '$KUBECONFIG names no file that exists. Write the file in a step before this one, or give the kubeconfig itself in the input `kubeconfig`.',
    )
  }
  return { ...mergeDocuments(existing.map(readKubeconfigFile)), source: `$KUBECONFIG (${existing.join(', ')})` }
}

function readKubeconfigFile(path: string): KubeconfigDocument {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw kubeconfigMistake(`The file ${path} cannot be read: ${errorText(error)}`)
  }
  const content = text.replace(/^\uFEFF/, '').trim()
  if (content === '') throw kubeconfigMistake(`The file ${path} is empty.`)
  const decoded = decodeBase64(content)
  const document = decoded === undefined ? parseDocument(content) : parseDocument(decoded, [content])
  return withAbsolutePaths(document, dirname(resolve(path)))
}

/** Parses a kubeconfig. `encoded`: the same text in base64, if the user wrote base64; it is secret too. */
function parseDocument(text: string, encoded: readonly string[] = []): KubeconfigDocument {
  let content: unknown
  try {
    content = load(text)
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    // Uses only the reason: the snippet quotes the kubeconfig. The reason may do so too (`*secret` looks like an
    // alias).
    const reason = removeQuotedText(error.reason.slice(0, 500))
    const flattened = text.includes('\n')
      ? ''
      : ' Its line breaks are gone: quote it in the shell, or give it in base64.'
    throw kubeconfigMistake(
      `The kubeconfig is neither YAML nor JSON: ${reason}.${flattened}`,
      error.mark && error.mark.line + 1,
    )
  }
  if (!isObject(content)) {
    throw kubeconfigMistake(
      'The kubeconfig is neither a kubeconfig (YAML or JSON), nor base64 of one, nor the path of an existing file.',
    )
  }
  const currentContext = content['current-context']
  return {
    currentContext: typeof currentContext === 'string' && currentContext !== '' ? currentContext : undefined,
    clusters: readNamedEntries(content, 'clusters', 'cluster'),
    users: readNamedEntries(content, 'users', 'user'),
    contexts: readNamedEntries(content, 'contexts', 'context'),
    texts: [text, ...encoded],
  }
}

function readNamedEntries(content: Section, list: string, body: string): NamedEntry[] {
  const values = content[list] ?? []
  if (!Array.isArray(values)) throw kubeconfigMistake(`In the kubeconfig, \`${list}\` is not a list.`)
  return values.map((value, index) => {
    if (!isObject(value) || typeof value['name'] !== 'string' || value['name'] === '') {
      throw kubeconfigMistake(`In the kubeconfig, entry ${index + 1} of \`${list}\` has no name.`)
    }
    return { name: value['name'], body: isObject(value[body]) ? value[body] : {} }
  })
}

const pathSettings = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile']

function withAbsolutePaths(document: KubeconfigDocument, folder: string): KubeconfigDocument {
  const withAbsoluteSettings = ({ name, body }: NamedEntry): NamedEntry => {
    const settings = Object.entries(body).map(([setting, value]) => {
      const isPath = pathSettings.includes(setting) && typeof value === 'string' && value !== ''
      if (setting === 'exec' && isObject(value)) return [setting, withAbsoluteCommand(value, folder)]
      return [setting, isPath ? resolve(folder, value) : value]
    })
    return { name, body: Object.fromEntries(settings) }
  }
  return {
    ...document,
    clusters: document.clusters.map(withAbsoluteSettings),
    users: document.users.map(withAbsoluteSettings),
  }
}

/** Makes a command like `./bin/plugin` absolute: it is relative to the kubeconfig. A bare name is found through PATH. */
function withAbsoluteCommand(exec: Section, folder: string): Section {
  const command = exec['command']
  return typeof command === 'string' && /[\\/]/.test(command) && !isAbsolute(command)
    ? { ...exec, command: resolve(folder, command) }
    : exec
}

/** A kubeconfig for the pod of this process, from its environment and its service account. Undefined outside of a pod. */
function serviceAccountDocument({ env, serviceAccount: folder }: KubeconfigPlaces): KubeconfigDocument | undefined {
  const host = env['KUBERNETES_SERVICE_HOST']
  const tokenFile = join(folder, 'token')
  if (!host || !existsSync(tokenFile)) return undefined
  const namespaceFile = join(folder, 'namespace')
  const namespace = existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : 'default'
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`
  const name = inClusterContext
  return {
    currentContext: name,
    clusters: [{ name, body: { server, 'certificate-authority': join(folder, 'ca.crt') } }],
    users: [{ name, body: { tokenFile } }],
    contexts: [{ name, body: { cluster: name, user: name, namespace } }],
    texts: [],
    source: 'the service account of this pod',
  }
}

export function kubeconfigMistake(message: string, line?: number): UserError {
  return new UserError([{ input: 'kubeconfig', message, line }])
}

/** Matches names of settings that may contain a secret, such as `TOKEN_CACHE`. Also matches `KEYCLOAK_REALM`. */
const maybeSecret = /token|secret|passw|credential|key/i

/**
 * The strings of a kubeconfig to mask: tokens, passwords, keys and client certificates, and the lines that contain
 * them. Secrets with several lines are split, because the runner masks single lines. The value of a setting with an
 * ambiguous name is masked only if the value looks random: the runner drops job outputs that contain a masked string.
 */
export function secretsOfKubeconfig(document: KubeconfigDocument): string[] {
  // The certificate authority of a cluster is public.
  const urls = document.clusters.flatMap(({ body }) => [body['proxy-url'], body['server']])
  const values = [...document.users.flatMap(secretsOfUser), ...urls.flatMap(passwordOfUrl)]
  const [text, ...encoded] = document.texts
  const lines = [text ?? '', ...encoded].flatMap((whole) => whole.split(/\r?\n/)).map((line) => line.trim())
  const secretLines = lines.filter((line) => isLongBase64(line) || values.some((value) => line.includes(value)))
  const whole = encoded.map((text) => text.replace(/\s+/g, ''))
  return uniqueMaskable([...values, ...values.map(toBase64), ...secretLines, ...whole])
}

function secretsOfUser({ body }: NamedEntry): string[] {
  const { token, username, password } = body
  const exec = isObject(body['exec']) ? body['exec'] : {}
  const provider = isObject(body['auth-provider']) ? body['auth-provider']['config'] : undefined
  return [
    ...maskableTexts(token),
    ...maskableTexts(password),
    ...(username && password ? [toBase64(`${username}:${password}`)] : []),
    ...secretsOfEncodedFile(body['client-certificate-data']),
    ...secretsOfEncodedFile(body['client-key-data']),
    ...(isObject(provider) ? secretsOfSettings(Object.entries(provider)) : []),
    ...(Array.isArray(exec['env'])
      ? secretsOfSettings(exec['env'].map((variable) => [variable?.name, variable?.value]))
      : []),
    ...(Array.isArray(exec['args']) ? secretsOfSettings(namedArguments(exec['args'])) : []),
  ]
}

function passwordOfUrl(url: unknown): string[] {
  const { password } = typeof url === 'string' && URL.canParse(url) ? new URL(url) : { password: '' }
  return password === '' ? [] : [password, percentDecoded(password) ?? password]
}

function secretsOfSettings(settings: readonly (readonly [unknown, unknown])[]): string[] {
  return settings.flatMap(([name, value]) => secretLinesOfSetting(String(name), value))
}

/** The secret lines in a setting: all lines if its name is secret, random lines if its name may be secret. */
function secretLinesOfSetting(name: string, value: unknown): string[] {
  if (secretVariable.test(name)) return maskableTexts(value).filter((line) => !switchValue.test(line))
  return maybeSecret.test(name) ? maskableTexts(value).filter(isRandomText) : []
}

/** The secrets of a file in base64: the base64 itself, and the decoded lines of its PEM blocks. Other text is public. */
function secretsOfEncodedFile(data: unknown): string[] {
  return maskableTexts(data).flatMap((text) => {
    const content = Buffer.from(text, 'base64').toString('latin1')
    const blocks = content.match(/-----BEGIN [^-]*-----[^-]*-----END [^-]*-----/g) ?? [content]
    return [text, ...blocks.flatMap(maskableLines)]
  })
}

function maskableTexts(value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' ? maskableLines(String(value)) : []
}
