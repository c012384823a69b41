import { BlockList, isIP } from 'node:net'

/**
 * The proxy that the environment prescribes for a server, as kubectl reads it (Go's `http.ProxyFromEnvironment`):
 * `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, in capitals or not, unless the server is on this machine or
 * stands in `NO_PROXY` (names with their subdomains, addresses, CIDR ranges, each with an optional port, or `*`).
 */
export function proxyFromEnvironment(server: string, env: NodeJS.ProcessEnv): string | undefined {
  const url = new URL(server)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const proxy =
    url.protocol === 'https:' ? env['HTTPS_PROXY'] || env['https_proxy'] : env['HTTP_PROXY'] || env['http_proxy']
  if (!proxy || isLoopback(host)) return undefined
  const exceptions = (env['NO_PROXY'] || env['no_proxy'] || '').split(',').map((entry) => entry.trim().toLowerCase())
  if (exceptions.some((entry) => entry !== '' && matches(entry, host.toLowerCase(), port))) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

/** `localhost` and the loopback addresses of both families. */
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
