import type { Agent } from 'node:http'
import { BlockList, isIP } from 'node:net'
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
  const { protocol, host, username, password } = new URL(proxy)
  if (decoded(`${username}${password}`) === undefined)
    throw mistake(
      'The credentials in the address of the proxy (`proxy-url`, HTTPS_PROXY) contain a `%` that begins no escape. Write it as %25.',
    )
  return `${protocol}//${host}`
}

/** The agent that connects to a server through a proxy. Only gates behind a proxy load its library. */
export async function agentFor(proxy: string, server: string): Promise<Agent> {
  if (proxy.startsWith('socks')) {
    const { SocksProxyAgent } = await import('socks-proxy-agent')
    // SOCKS5 proxies resolve the name of the server, as in kubectl (golang.org/x/net `internal/socks/client.go`): the name of a
    // private cluster may be known to them alone.
    return new SocksProxyAgent(proxy.replace(/^socks5:/, 'socks5h:'))
  }
  const { HttpProxyAgent, HttpsProxyAgent } = await import('hpagent')
  return new (server.startsWith('http:') ? HttpProxyAgent : HttpsProxyAgent)({ proxy })
}

/** The text without its percent-encoding; undefined if a `%` in it begins no escape. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
