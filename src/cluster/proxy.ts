import type { Agent } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'
import { mistake } from './kubeconfig-file.ts'

/**
 * The proxy for a server from the environment, as in kubectl (Go's `http.ProxyFromEnvironment`): `HTTPS_PROXY` or
 * `HTTP_PROXY` by the server's scheme, in upper or lower case, unless the server is on this machine or in `NO_PROXY` (names
 * with their subdomains, addresses, CIDR ranges, each with an optional port, or `*`). Node's own `Agent({ proxyEnv })` lacks
 * ranges, subdomains and SOCKS (`test/cluster-api/libraries.test.ts`), and Node before 22.21 and 24.5 ignores it.
 */
export function proxyFromEnvironment(server: string, env: NodeJS.ProcessEnv): string | undefined {
  const url = new URL(server)
  const host = hostnameOf(url)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const proxy =
    url.protocol === 'https:' ? env['HTTPS_PROXY'] || env['https_proxy'] : env['HTTP_PROXY'] || env['http_proxy']
  if (!proxy || isLoopback(host)) return undefined
  const exceptions = (env['NO_PROXY'] || env['no_proxy'] || '').split(',').map((entry) => entry.trim().toLowerCase())
  if (exceptions.some((entry) => entry !== '' && matches(entry, host.toLowerCase(), port))) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

/** The host of an address, without the brackets of IPv6. */
export function hostnameOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** `localhost` or an IPv4 or IPv6 loopback address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [network, prefix] = entry.split('/')
  if (network !== undefined && prefix !== undefined && isIP(network)) return inRange(network, Number(prefix), host)
  const withPort = isIP(entry) ? null : /^(.*):(\d+)$/.exec(entry)
  if (withPort && withPort[2] !== port) return false
  const name = (withPort?.[1] ?? entry).replace(/^\[|\]$/g, '').replace(/^\*?\./, '')
  return host === name || (!isIP(host) && host.endsWith(`.${name}`))
}

function inRange(network: string, prefix: number, host: string): boolean {
  const family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
  if (isIP(host) === 0 || !(prefix >= 0 && prefix <= (family === 'ipv6' ? 128 : 32))) return false
  const range = new BlockList()
  range.addSubnet(network, prefix, family)
  return range.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')
}

/** Scheme and host of a proxy, without its credentials. Throws a `UserError` for another form of address. */
export function hostOfProxy(proxy: string): string {
  if (!/^(?:https?|socks\w*):\/\/./.test(proxy) || !URL.canParse(proxy))
    throw mistake('The address of the proxy (`proxy-url`, HTTPS_PROXY) is not of the form http://HOST:PORT.')
  const { protocol, host } = new URL(proxy)
  return `${protocol}//${host}`
}

/** The agent that connects to a server through a proxy. Only gates behind a proxy load its library. */
export async function agentFor(proxy: string, server: string): Promise<Agent> {
  const address = proxyForLibrary(proxy)
  if (proxy.startsWith('socks')) {
    const { SocksProxyAgent } = await import('socks-proxy-agent')
    return new SocksProxyAgent(address)
  }
  const { HttpProxyAgent, HttpsProxyAgent } = await import('hpagent')
  const url = new URL(server)
  const agent = new (url.protocol === 'http:' ? HttpProxyAgent : HttpsProxyAgent)({ proxy: address })
  if (isIP(hostnameOf(url)) === 6) addBrackets(agent as unknown as ProxyAgent, hostnameOf(url))
  return agent
}

/**
 * The address of a proxy for the libraries hpagent and socks-proxy-agent. A `%` in its credentials that begins no escape is
 * meant literally: the libraries would throw. SOCKS5 proxies resolve the name of the server, as in kubectl
 * (golang.org/x/net `internal/socks/client.go`): the name of a private cluster may be known to them alone.
 */
export function proxyForLibrary(proxy: string): string {
  return proxy.replace(/^socks5:/, 'socks5h:').replace(/(?<=^\w+:\/\/)[^/?#]*(?=@)/, decodable)
}

function decodable(text: string): string {
  const escaped = text.replace(/%(?![\da-f]{2})/gi, '%25')
  return decodedOrSame(escaped) === escaped && escaped.includes('%') ? text.replaceAll('%', '%25') : escaped
}

/** The text without its percent-encoding; the text itself if it is not encoded. */
export function decodedOrSame(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** An agent of the library hpagent. */
interface ProxyAgent {
  createConnection(options: ConnectionOptions, callback: unknown): unknown
}

/** The agent requests `fd00::1:6443` from a proxy. An IPv6 address needs brackets (RFC 9110, 9.3.6). */
function addBrackets(agent: ProxyAgent, address: string): void {
  const create = agent.createConnection.bind(agent)
  agent.createConnection = (options, callback) =>
    create(
      {
        ...options,
        host: `[${address}]`,
        checkServerIdentity: (_, certificate) => checkServerIdentity(options.servername || address, certificate),
      },
      callback,
    )
}
