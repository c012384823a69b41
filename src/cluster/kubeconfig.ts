import { existsSync, readFileSync } from 'node:fs'
import type { Agent } from 'node:http'
import type { RequestOptions } from 'node:https'
import net, { isIP } from 'node:net'
import { didYouMean, UserError } from '../errors.ts'
import type { ExecCredential, ExecPlugin } from './exec-plugin.ts'
import {
  defaultPlaces,
  type KubeconfigDocument,
  type KubeconfigPlaces,
  kubeconfigMistake,
  type NamedEntry,
  readKubeconfig,
  type Section,
  secretsOfKubeconfig,
} from './kubeconfig-file.ts'
import { isObject } from './objects.ts'

/* Selects and checks a context of the kubeconfig, and adds its credentials to requests. */

/** The inputs that select the cluster. Missing inputs have the same defaults as in kubectl. */
export interface KubeconfigInput {
  /** The kubeconfig as text (YAML or JSON), base64 of this text, or the path of a file. */
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
}

/** A kubeconfig, checked without access to the cluster. */
export interface Kubeconfig {
  /**
   * Adds the certificates, the credentials and the proxy of the kubeconfig to a request, and the headers for
   * impersonation (`as`, `as-groups`, `as-uid`, `as-user-extra`). Reads credential files each time, because tokens in
   * files rotate.
   * @param credential the credentials that the exec plugin printed
   */
  readonly applyTo: (request: RequestOptions, credential?: ExecCredential) => Promise<void>
  /** If the input is empty: the place where the kubeconfig was found, such as `~/.kube/config`. */
  readonly source?: string
  readonly context: string
  readonly namespace: string
  /** The API server's address. On Rancher it includes a path. */
  readonly server: string
  readonly user: string
  /** Scheme and host of the proxy to the server, without its credentials. */
  readonly proxy?: string
  /** The plugin that prints the credentials. Undefined if the kubeconfig contains a token. */
  readonly exec?: ExecPlugin
  /** The cluster information that an exec plugin receives for `provideClusterInfo`. */
  readonly execCluster: object
  /** The strings to mask before the process prints anything. */
  readonly secrets: readonly string[]
}

/** Loads the kubeconfig and selects a context, without access to the cluster. Throws a `UserError` with a remedy. */
export function loadKubeconfig(input: KubeconfigInput, places: KubeconfigPlaces = defaultPlaces): Kubeconfig {
  const document = readKubeconfig(input.kubeconfig, input.context, places)
  try {
    return createKubeconfig(document, input, places)
  } catch (error) {
    if (!(error instanceof UserError) || document.source === undefined) throw error
    const found = `The kubeconfig is ${document.source}, because none is given.`
    throw new UserError(error.mistakes.map((each) => ({ ...each, message: `${each.message} ${found}` })))
  }
}

function createKubeconfig(document: KubeconfigDocument, input: KubeconfigInput, places: KubeconfigPlaces): Kubeconfig {
  const context = chooseContext(document, input.context)
  const cluster = findCluster(document, context)
  const user = findUser(document, context)
  const server = String(cluster.body['server'])
  checkCluster(cluster, user)
  checkUser(user)
  const proxy = cluster.body['proxy-url'] || proxyFromEnvironment(server, places.env)
  const namespace = input.namespace || context.body['namespace'] || 'default'
  const { exec, token, tokenFile } = user.body
  const extensions = Array.isArray(cluster.body['extensions']) ? cluster.body['extensions'] : []
  const config = extensions.find((entry) => entry?.name === 'client.authentication.k8s.io/exec')?.extension
  return {
    applyTo: createApplyTo(cluster, user, proxy ? String(proxy) : undefined),
    source: document.source,
    context: context.name,
    namespace: String(namespace),
    server: server.replace(/(?<!\/)\/+$/, ''),
    user: user.name,
    proxy: proxy ? proxyWithoutCredentials(String(proxy)) : undefined,
    exec: isObject(exec) && !token && !tokenFile ? (exec as unknown as ExecPlugin) : undefined,
    execCluster: { ...cluster.body, extensions: undefined, config },
    secrets: secretsOfKubeconfig(document),
  }
}

function chooseContext(document: KubeconfigDocument, wanted: string | undefined): NamedEntry {
  const names = [...new Set(document.contexts.map(({ name }) => name))]
  if (names.length === 0) {
    throw kubeconfigMistake(
      'The kubeconfig has no contexts. Write it with: kubectl config view --raw --minify --flatten',
    )
  }
  const name = wanted || document.currentContext
  if (name === undefined) {
    throw kubeconfigMistake(`The kubeconfig has no current-context. Choose one of its contexts: ${names.join(', ')}.`)
  }
  const context = document.contexts.find((entry) => entry.name === name)
  if (!context) {
    const end = `It has: ${names.join(', ')}.${didYouMean(name, names)}`
    if (!wanted)
      throw kubeconfigMistake(`The kubeconfig has no context "${name}", which its current-context names. ${end}`)
    throw new UserError([{ input: 'context', message: `The kubeconfig has no context "${name}". ${end}` }])
  }
  return context
}

function findCluster(document: KubeconfigDocument, { name: context, body }: NamedEntry): NamedEntry {
  const cluster = document.clusters.find(({ name }) => name === body['cluster'])
  if (!cluster) {
    throw kubeconfigMistake(
      `The context "${context}" of the kubeconfig names the cluster "${body['cluster'] ?? ''}", which is missing.`,
    )
  }
  const server = cluster.body['server']
  if (typeof server !== 'string' || !/^https?:\/\//.test(server) || !URL.canParse(server)) {
    throw kubeconfigMistake(
      `The cluster "${cluster.name}" of the kubeconfig has no server address (\`server: https://…\`).`,
    )
  }
  return cluster
}

/** The user of a context. Without a user, requests are anonymous, as in kubectl. */
function findUser(document: KubeconfigDocument, { name: context, body }: NamedEntry): NamedEntry {
  if (!body['user']) return { name: 'anonymous', body: {} }
  const user = document.users.find(({ name }) => name === body['user'])
  if (!user) {
    throw kubeconfigMistake(
      `The context "${context}" of the kubeconfig names the user "${body['user']}", which is missing.`,
    )
  }
  return user
}

function checkCluster({ name, body }: NamedEntry, user: NamedEntry): void {
  checkFile(body, 'certificate-authority', `cluster "${name}"`)
  checkPem(body, 'certificate-authority-data', `cluster "${name}"`)
  const url = new URL(String(body['server']))
  const bare = url.protocol === 'http:' && !isLoopback(hostnameOf(url))
  if (bare && Object.keys(user.body).length > 0 && body['insecure-skip-tls-verify'] !== true) {
    throw kubeconfigMistake(
      `The cluster "${name}" of the kubeconfig has an http:// address: credentials would be sent unencrypted. Use https://, or set insecure-skip-tls-verify: true.`,
    )
  }
}

function checkUser({ name, body }: NamedEntry): void {
  for (const file of ['client-certificate', 'client-key', 'tokenFile']) checkFile(body, file, `user "${name}"`)
  for (const data of ['client-certificate-data', 'client-key-data']) checkPem(body, data, `user "${name}"`)
  const { token, exec } = body
  if (token === 'REDACTED') throw removedSecretsMistake(`user "${name}"`)
  if (typeof token === 'string' && /[^\x21-\x7e]/.test(token.trim())) {
    throw kubeconfigMistake(
      `The token of user "${name}" in the kubeconfig contains blanks or line breaks: was it pasted in pieces?`,
    )
  }
  // An ignored `auth-provider` would make requests anonymous. Their 403 would suggest a missing permission.
  if (body['auth-provider'])
    throw kubeconfigMistake(
      `User "${name}" in the kubeconfig has an \`auth-provider\`, which Kubernetes removed in 1.26. Use a credential plugin (\`exec\`).`,
    )
  if (isObject(exec) && !isValidPlugin(exec)) {
    throw kubeconfigMistake(
      `The \`exec\` section of user "${name}" in the kubeconfig is invalid: it needs a \`command\`; \`args\` is a list of arguments, and \`env\` a list of \`- name: NAME\` with \`value: VALUE\`.`,
    )
  }
}

/** Whether an `exec` section has valid fields. */
function isValidPlugin({ command, args, env }: Section): boolean {
  const isListOf = (value: unknown, isItem: (item: unknown) => boolean) =>
    value === undefined || value === null || (Array.isArray(value) && value.every(isItem))
  return (
    typeof command === 'string' &&
    command !== '' &&
    isListOf(args, (argument) => typeof argument !== 'object') &&
    isListOf(env, (variable) => isObject(variable) && typeof variable['name'] === 'string')
  )
}

function checkFile(body: Section, setting: string, owner: string): void {
  const path = body[setting]
  // As in kubectl: if the setting is also given as data, the file is not read and need not exist.
  if (typeof path !== 'string' || path === '' || body[`${setting}-data`] || existsSync(path)) return
  throw kubeconfigMistake(
    `The ${setting} of the ${owner} in the kubeconfig is the file ${path}, which does not exist on this machine. ` +
      'Write a kubeconfig that contains everything with: kubectl config view --raw --minify --flatten',
  )
}

function checkPem(body: Section, setting: string, owner: string): void {
  const data = body[setting]
  if (data === undefined || data === null || data === '') return
  if (data === 'DATA+OMITTED' || data === 'REDACTED') throw removedSecretsMistake(owner)
  if (typeof data === 'string' && Buffer.from(data, 'base64').includes('-----BEGIN ')) return
  throw kubeconfigMistake(
    `The ${setting} of the ${owner} in the kubeconfig is not base64 of a PEM file (-----BEGIN …).`,
  )
}

function removedSecretsMistake(owner: string): Error {
  return kubeconfigMistake(
    `The kubeconfig was printed without its secrets (${owner}). Write it with: kubectl config view --raw --minify --flatten`,
  )
}

/** The content of a certificate or key: from the data in the kubeconfig, else from the file. */
function readPem({ body }: NamedEntry, setting: string): Buffer | undefined {
  const [data, file] = [body[`${setting}-data`], body[setting]]
  if (data) return Buffer.from(String(data), 'base64')
  return file ? readFileSync(String(file)) : undefined
}

/** Creates the function that adds certificates, credentials and the proxy to a request. */
function createApplyTo(cluster: NamedEntry, user: NamedEntry, proxy: string | undefined): Kubeconfig['applyTo'] {
  let agent: Promise<Agent> | undefined
  return async (request, credential = {}) => {
    const { token, tokenFile, username, password } = user.body
    const serverName = cluster.body['tls-server-name']
    const ca = readPem(cluster, 'certificate-authority')
    const cert = credential.certificate ?? readPem(user, 'client-certificate')
    const key = credential.key ?? readPem(user, 'client-key')
    if (proxy !== undefined) agent ??= createProxyAgent(proxy, String(cluster.body['server']))
    Object.assign(request, {
      ...(cluster.body['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
      ...(serverName ? { servername: String(serverName) } : {}),
      ...(ca ? { ca } : {}),
      ...(cert ? { cert } : {}),
      ...(key ? { key } : {}),
      ...(username ? { auth: `${username}:${password}` } : {}),
      ...(agent ? { agent: await agent } : {}),
    })
    const bearer = credential.token ?? (tokenFile ? readFileSync(String(tokenFile), 'utf8') : token)
    request.headers = {
      ...request.headers,
      ...impersonationHeaders(user),
      ...(bearer ? { Authorization: `Bearer ${String(bearer).trim()}` } : {}),
    }
  }
}

function impersonationHeaders({ body }: NamedEntry): Record<string, string | string[]> {
  const { as, 'as-groups': groups, 'as-uid': uid, 'as-user-extra': extra } = body
  return {
    ...(as ? { 'Impersonate-User': String(as) } : {}),
    ...(uid ? { 'Impersonate-Uid': String(uid) } : {}),
    ...(Array.isArray(groups) ? { 'Impersonate-Group': groups.map(String) } : {}),
    ...(isObject(extra)
      ? Object.fromEntries(
          Object.entries(extra).map(([key, values]) => [
            `Impersonate-Extra-${encodeURIComponent(key)}`,
            [values].flat().map(String),
          ]),
        )
      : {}),
  }
}

/**
 * The proxy for a server, from `HTTPS_PROXY` or `HTTP_PROXY`, as in kubectl (Go's `http.ProxyFromEnvironment`).
 * Undefined if the server is on this machine or in `NO_PROXY`. Node's `Agent({ proxyEnv })` supports neither CIDR
 * ranges nor subdomains and SOCKS (`test/cluster-api/libraries.test.ts`).
 */
export function proxyFromEnvironment(server: string, env: NodeJS.ProcessEnv): string | undefined {
  const url = new URL(server)
  const host = hostnameOf(url)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const proxy =
    url.protocol === 'https:' ? env['HTTPS_PROXY'] || env['https_proxy'] : env['HTTP_PROXY'] || env['http_proxy']
  if (!proxy || isLoopback(host)) return undefined
  const exceptions = (env['NO_PROXY'] || env['no_proxy'] || '').split(',').map((entry) => entry.trim().toLowerCase())
  if (exceptions.some((entry) => entry !== '' && isNoProxyMatch(entry, host.toLowerCase(), port))) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

/** The hostname of a URL, without the brackets around an IPv6 address. */
function hostnameOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** Whether a host is `localhost`, or an IPv4 or IPv6 loopback address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Whether an entry of `NO_PROXY` matches: `*`, a name with its subdomains, an address, or a CIDR range. */
function isNoProxyMatch(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [network, prefix] = entry.split('/')
  if (network !== undefined && prefix !== undefined && isIP(network)) return isInRange(network, Number(prefix), host)
  const withPort = isIP(entry) ? null : /^(.*):(\d+)$/.exec(entry)
  if (withPort && withPort[2] !== port) return false
  const name = (withPort?.[1] ?? entry).replace(/^\[|\]$/g, '').replace(/^\*?\./, '')
  return host === name || (!isIP(host) && host.endsWith(`.${name}`))
}

function isInRange(network: string, prefix: number, host: string): boolean {
  const family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
  if (isIP(host) === 0 || !(prefix >= 0 && prefix <= (family === 'ipv6' ? 128 : 32))) return false
  // `net.BlockList` is read only here: Node loads the class at that moment, and only proxies need it.
  const range = new net.BlockList()
  range.addSubnet(network, prefix, family)
  return range.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')
}

/** The scheme and host of a proxy, without credentials. Throws a `UserError` if the address has another form. */
function proxyWithoutCredentials(proxy: string): string {
  if (!/^(?:https?|socks\w*):\/\/./.test(proxy) || !URL.canParse(proxy))
    throw kubeconfigMistake('The address of the proxy (`proxy-url`, HTTPS_PROXY) is not of the form http://HOST:PORT.')
  const { protocol, host } = new URL(proxy)
  return `${protocol}//${host}`
}

/** Creates the agent that connects to a server through a proxy. Its library is loaded only if there is a proxy. */
async function createProxyAgent(proxy: string, server: string): Promise<Agent> {
  if (proxy.startsWith('socks')) {
    const { SocksProxyAgent } = await import('socks-proxy-agent')
    // The SOCKS5 proxy resolves the server's name, as in kubectl (golang.org/x/net `internal/socks/client.go`): only
    // the proxy may know the name of a private cluster.
    return new SocksProxyAgent(proxy.replace(/^socks5:/, 'socks5h:'))
  }
  const { HttpProxyAgent, HttpsProxyAgent } = await import('hpagent')
  return new (server.startsWith('http:') ? HttpProxyAgent : HttpsProxyAgent)({ proxy })
}
