import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Certificate, issueCertificates } from '../support/certificates.ts'

/** A kubeconfig with a fault, and the environment variables that belong to it. */
export interface Connection {
  /** Fields of the kubeconfig's `cluster`. */
  readonly cluster: object
  readonly user?: object
  readonly env?: NodeJS.ProcessEnv
  /** The hosts and ports that its proxy was asked for. */
  readonly asked?: readonly string[]
}

/** Where the faults happen. */
export interface Site {
  /** An API server with a certificate, on every loopback address. */
  readonly api: { readonly port: number; readonly received: readonly string[] }
  readonly certificates: Awaited<ReturnType<typeof issueAll>>
  /** Starts a server on a loopback address; returns its port. It ends with the site. */
  readonly start: (server: Server, address?: string) => Promise<number>
  /** Starts a program, and waits until it prints a word. It ends with the site. */
  readonly run: (program: string, args: readonly string[], word: string) => Promise<void>
  /** Writes a temporary file; returns its path. */
  readonly write: (content: string) => string
}

const issueAll = () =>
  issueCertificates({
    server: { names: 'IP:127.0.0.1,IP:::1,IP:fd00::1,DNS:localhost' },
    expired: { days: -1 },
    otherName: { names: 'DNS:other.example' },
    client: {},
    expiredClient: { days: -1 },
  })

/** Base64, as fields of a kubeconfig whose name ends in `-data` need it. */
const data = (pem: string) => Buffer.from(pem).toString('base64')

export async function openSite(): Promise<Site & { readonly close: () => void }> {
  const certificates = await issueAll()
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  const start = async (server: Server, address = '127.0.0.1') => {
    server.on('connection', (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    })
    servers.push(server)
    server.listen(0, address)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const received: string[] = []
  const api = createHttpsServer({ ...certificates.server }, (request, response) => {
    received.push(String(request.headers.authorization ?? ''))
    const body = request.url === '/version' ? { gitVersion: 'v1.34.4' } : { kind: 'APIGroupDiscoveryList', items: [] }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  const port = await start(api, '::')
  const folder = mkdtempSync(join(tmpdir(), 'connections-'))
  let files = 0
  const write = (content: string) => {
    files += 1
    const path = join(folder, String(files))
    writeFileSync(path, content)
    return path
  }
  const children: ChildProcess[] = []
  const run = async (program: string, args: readonly string[], word: string) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    children.push(child)
    for await (const text of child.stdout.iterator({ destroyOnReturn: false })) if (String(text).includes(word)) return
    throw new Error(`${program} did not print ${word}`)
  }
  const close = () => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
    for (const server of servers) server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { api: { port, received }, certificates, start, run, write, close }
}

const trusted = ({ certificates }: Site, port: number, host = '127.0.0.1') => ({
  server: `https://${host}:${port}`,
  'certificate-authority-data': data(certificates.authority),
})

/**
 * A TLS server of the `openssl` command, which sends alerts as other servers do. Node's ends the connection without one.
 */
async function tlsServer(
  site: Site,
  certificate: Certificate,
  { requiresCertificate = false }: { requiresCertificate?: boolean } = {},
): Promise<Connection> {
  const port = await closedPort()
  const key = site.write(certificate.key)
  const cert = site.write(certificate.cert)
  const verify = ['-Verify', '1', '-verify_return_error', '-CAfile', site.write(site.certificates.authority)]
  const args = ['-accept', String(port), '-key', key, '-cert', cert, '-www']
  await site.run('openssl', ['s_server', ...args, ...(requiresCertificate ? verify : [])], 'ACCEPT')
  return { cluster: trusted(site, port) }
}

/** A proxy that opens tunnels to the API server, whatever host is asked for, or answers with a status. */
async function proxy(site: Site, { status = 200, requires }: { status?: number; requires?: string } = {}) {
  const asked: string[] = []
  const server = createHttpServer((_, response) => response.writeHead(status).end())
  server.on('connect', (request, socket: Socket) => {
    asked.push(request.url ?? '')
    const { 'proxy-authorization': given = '' } = request.headers
    const answer = requires !== undefined && given !== `Basic ${data(requires)}` ? 407 : status
    socket.write(`HTTP/1.1 ${answer} Answer\r\n\r\n`)
    if (answer === 200) tunnel(socket, site.api.port)
    else socket.end()
  })
  return { port: await site.start(server), asked }
}

function tunnel(socket: Socket, port: number): void {
  const upstream = connect(port, '127.0.0.1')
  socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
  upstream.on('error', () => socket.destroy())
  upstream.pipe(socket).pipe(upstream)
}

/** A SOCKS5 proxy (RFC 1928) that opens tunnels to the API server; with RFC 1929 if it requires `user:password`. */
async function socksProxy(site: Site, requires?: string): Promise<number> {
  const server = createServer((socket) => {
    const steps: ((message: Buffer) => boolean)[] = [
      () => socket.write(Buffer.from([5, requires === undefined ? 0 : 2])),
      ...(requires === undefined
        ? []
        : [
            (message: Buffer) => {
              const end = 2 + (message[1] ?? 0)
              const isRight = `${message.subarray(2, end)}:${message.subarray(end + 1)}` === requires
              return socket.write(Buffer.from([1, isRight ? 0 : 1]))
            },
          ]),
      () => {
        socket.removeAllListeners('data')
        socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
        tunnel(socket, site.api.port)
        return true
      },
    ]
    socket.on('data', (message) => steps.shift()?.(message))
    socket.on('error', () => {})
  })
  return site.start(server)
}

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A server that only the proxy of the environment reaches. */
async function behindProxy(site: Site, host: string): Promise<Connection> {
  const { port, asked } = await proxy(site)
  const cluster = { ...trusted(site, 6443, host), 'tls-server-name': 'localhost' }
  return { cluster, env: { HTTPS_PROXY: `http://127.0.0.1:${port}` }, asked }
}

const throughProxy = (site: Site, proxyUrl: string): Connection => ({
  cluster: { ...trusted(site, 6443, 'localhost'), 'proxy-url': proxyUrl },
})

/** A fault of a connection, and what the error must contain. */
export interface ConnectionFault {
  /** For test/reliability/results.md. */
  readonly title: string
  readonly names: string
  readonly open: (site: Site) => Promise<Connection>
}

interface Way {
  readonly title: string
  readonly open: (site: Site) => Promise<Connection>
  /** The host and port that the proxy must be asked for. */
  readonly asks?: string
}

/** The faults between the gate and the API server. */
export const connectionFaults: readonly ConnectionFault[] = [
  {
    title: 'The certificate of the server has expired.',
    names: "certificate has expired. Renew the cluster's certificate, or check the clock of this machine.",
    open: (site) => tlsServer(site, site.certificates.expired),
  },
  {
    title: 'The certificate of the server is for another host.',
    names: "IP: 127.0.0.1 is not in the cert's list. Use an address in the certificate, or set tls-server-name",
    open: (site) => tlsServer(site, site.certificates.otherName),
  },
  {
    title: 'The authority of the certificate is unknown.',
    names: "The certificate-authority-data of the kubeconfig must contain the CA that signed the server's certificate.",
    open: async (site) => ({
      cluster: { server: `https://127.0.0.1:${site.api.port}` },
    }),
  },
  {
    title: 'The kubeconfig has the authority of another cluster.',
    names: "The certificate-authority-data of the kubeconfig must contain the CA that signed the server's certificate.",
    open: async (site) => ({
      cluster: {
        ...trusted(site, site.api.port),
        'certificate-authority-data': data((await issueCertificates({})).authority),
      },
    }),
  },
  {
    title: 'The server uses no TLS, and its address is https://.',
    names: 'the server does not use TLS, or only an old version (EPROTO). Is its address http://',
    open: async (site) => ({
      cluster: trusted(site, await site.start(createHttpServer((_, response) => response.end()))),
    }),
  },
  {
    title: 'The server uses TLS, and its address is http://.',
    names: 'Its address starts with http://. If the server uses TLS, write https://.',
    open: async (site) => ({
      cluster: { server: `http://127.0.0.1:${site.api.port}` },
    }),
  },
  {
    title: 'A server in Go uses TLS, and its address is http://.',
    names: 'Client sent an HTTP request to an HTTPS server. Its address starts with http://.',
    open: async (site) => {
      const answer = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n'
      return {
        cluster: { server: `http://127.0.0.1:${await site.start(createServer((socket) => socket.end(answer)))}` },
      }
    },
  },
  {
    title: 'The server requires a client certificate, and the kubeconfig has none.',
    names: 'the server does not accept the client certificate of the kubeconfig',
    open: (site) => tlsServer(site, site.certificates.server, { requiresCertificate: true }),
  },
  {
    title: 'The client certificate has expired.',
    names: 'the server does not accept the client certificate of the kubeconfig',
    open: async (site) => {
      const { cert, key } = site.certificates.expiredClient
      return {
        ...(await tlsServer(site, site.certificates.server, { requiresCertificate: true })),
        user: { 'client-certificate-data': data(cert), 'client-key-data': data(key) },
      }
    },
  },
  {
    title: 'The client certificate is of another authority.',
    names: 'the server does not accept the client certificate of the kubeconfig',
    open: async (site) => {
      const { client } = await issueCertificates({ client: {} })
      return {
        ...(await tlsServer(site, site.certificates.server, { requiresCertificate: true })),
        user: { 'client-certificate-data': data(client.cert), 'client-key-data': data(client.key) },
      }
    },
  },
  {
    title: 'The key belongs to another client certificate.',
    names: 'or its client-key belongs to another one',
    open: async (site) => ({
      cluster: trusted(site, site.api.port),
      user: {
        'client-certificate-data': data(site.certificates.client.cert),
        'client-key-data': data(site.certificates.server.key),
      },
    }),
  },
  {
    title: 'The name of the server does not exist.',
    names: 'Is the name right, and can this runner resolve it?',
    open: async () => ({ cluster: { server: 'https://api.invalid:6443' } }),
  },
  {
    title: 'Nothing listens on the port of the server.',
    names: 'connect ECONNREFUSED 127.0.0.1:',
    open: async (site) => ({ cluster: trusted(site, await closedPort()) }),
  },
  {
    title: 'The proxy refuses the connection to the server.',
    names: 'the proxy answered with status 403 instead of a connection. Is the address of the proxy right',
    open: async (site) => throughProxy(site, `http://127.0.0.1:${(await proxy(site, { status: 403 })).port}`),
  },
  {
    title: 'The proxy cannot reach the server.',
    names: 'the proxy answered with status 502 instead of a connection.',
    open: async (site) => throughProxy(site, `http://127.0.0.1:${(await proxy(site, { status: 502 })).port}`),
  },
  {
    title: 'The proxy requires credentials, and the kubeconfig has none.',
    names: 'the proxy answered with status 407 instead of a connection. Is the address of the proxy right',
    open: async (site) =>
      throughProxy(site, `http://127.0.0.1:${(await proxy(site, { requires: 'ci:pass-word-1' })).port}`),
  },
  {
    title: 'Nothing listens on the port of the proxy.',
    names: 'through the proxy http://127.0.0.1:',
    open: async (site) => throughProxy(site, `http://127.0.0.1:${await closedPort()}`),
  },
  {
    title: 'Nothing listens on the port of the SOCKS proxy.',
    names: 'through the proxy socks5://127.0.0.1:',
    open: async (site) => throughProxy(site, `socks5://127.0.0.1:${await closedPort()}`),
  },
  {
    title: 'The SOCKS proxy requires credentials, and the kubeconfig has none.',
    names: 'the proxy does not accept the credentials.',
    open: async (site) => throughProxy(site, `socks5://127.0.0.1:${await socksProxy(site, 'ci:pass-word-1')}`),
  },
]

/** The ways to an API server. */
export const waysToConnect: readonly Way[] = [
  {
    title: 'directly, by an IPv4 address',
    open: async (site) => ({ cluster: trusted(site, site.api.port) }),
  },
  {
    title: 'directly, by an IPv6 address',
    open: async (site) => ({ cluster: trusted(site, site.api.port, '[::1]') }),
  },
  {
    title: 'through the proxy of `proxy-url`',
    open: async (site) => throughProxy(site, `http://127.0.0.1:${(await proxy(site)).port}`),
  },
  {
    title: 'through a proxy with credentials',
    open: async (site) =>
      throughProxy(site, `http://ci:pass-word-1@127.0.0.1:${(await proxy(site, { requires: 'ci:pass-word-1' })).port}`),
  },
  {
    title: 'through the proxy of HTTPS_PROXY',
    open: (site) => behindProxy(site, 'api.example'),
    asks: 'api.example:6443',
  },
  {
    title: 'through a SOCKS proxy',
    open: async (site) => throughProxy(site, `socks5://127.0.0.1:${await socksProxy(site)}`),
  },
  {
    title: 'through a SOCKS proxy with credentials',
    open: async (site) =>
      throughProxy(site, `socks5://ci:pass-word-1@127.0.0.1:${await socksProxy(site, 'ci:pass-word-1')}`),
  },
]
