import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGzip, gzipSync } from 'node:zlib'
import { Client } from '../../src/cluster/client.ts'
import { type Clock, systemClock } from '../../src/cluster/clock.ts'
import { ApiError, ConnectionError } from '../../src/cluster/failures.ts'
import { loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'

const endings: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function start(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await startApiServer(options)
  endings.push(() => server.close())
  return server
}

/** A server that answers everything in one way; its address. */
async function startPlain(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  endings.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Connecting {
  env?: NodeJS.ProcessEnv
  clock?: Clock
  masked?: string[]
}

function connect(kubeconfig: string | (() => string), { env = {}, clock = systemClock, masked = [] }: Connecting = {}) {
  const text = typeof kubeconfig === 'string' ? () => kubeconfig : kubeconfig
  const load = () => loadKubeconfig({ kubeconfig: text() }, { env, home: '/nowhere', serviceAccount: '/nowhere' })
  const client = new Client(load(), load, {
    clock,
    secrets: new Secrets((secret) => masked.push(secret)),
    userAgent: 'rollout-gate/1.2.3',
    env,
  })
  endings.push(() => client.close())
  return client
}

/** The kubeconfig of a server with changes to its cluster and user. */
function changed(server: ApiServer | string, { cluster = {}, user = {} }: { cluster?: object; user?: object }): string {
  const text = typeof server === 'string' ? undefined : server.kubeconfig()
  const given = text ? JSON.parse(text) : { clusters: [{ cluster: { server } }] }
  return JSON.stringify({
    clusters: [{ name: 'test', cluster: { ...given.clusters[0].cluster, ...cluster } }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  })
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'success',
    (error) => error,
  )

describe('a request', () => {
  test('has the token and the user agent', async () => {
    const server = await start({ tokens: ['sesame-open'] })
    expect(await connect(server.kubeconfig({ token: 'sesame-open' })).requestJson('/version')).toMatchObject({
      gitVersion: 'v1.34.4',
    })
    expect(server.requests[0]?.headers).toMatchObject({
      'user-agent': 'rollout-gate/1.2.3',
      authorization: 'Bearer sesame-open',
    })
  })

  test('uses TLS with the certificate authority of the kubeconfig', async () => {
    const server = await start({ tls: true })
    expect(await connect(server.kubeconfig()).requestJson('/version')).toMatchObject({ gitVersion: 'v1.34.4' })
  })

  test('keeps its connection for the next request', async () => {
    const ports = new Set<number | undefined>()
    const url = await startPlain(({ socket }, response) => {
      ports.add(socket.remotePort)
      response.end('{}')
    })
    const client = connect(changed(url, {}))
    await client.requestJson('/')
    await client.requestJson('/')
    expect(ports.size).toBe(1)
  })

  test('is repeated if the kept connection was just closed', async () => {
    let answered = 0
    const url = await startPlain(({ socket }, response) => {
      answered += 1
      if (answered === 2) socket.resetAndDestroy()
      else response.end('{}')
    })
    const client = connect(changed(url, {}))
    await client.requestJson('/')
    expect(await client.requestJson('/')).toEqual({})
    expect(answered).toBe(3)
  })

  test('keeps the path of the server address, as for Rancher', async () => {
    const paths: (string | undefined)[] = []
    const url = await startPlain((request, response) => {
      paths.push(request.url)
      response.end('{}')
    })
    await connect(changed(`${url}/k8s/clusters/c-1/`, {})).requestJson('/api/v1/pods?limit=1')
    expect(paths).toEqual(['/k8s/clusters/c-1/api/v1/pods?limit=1'])
  })

  test('impersonates another user and groups', async () => {
    const server = await start()
    await connect(changed(server, { user: { as: 'ci', 'as-groups': ['deployers', 'all'] } })).requestJson('/version')
    expect(server.requests[0]?.headers).toMatchObject({
      'impersonate-user': 'ci',
      'impersonate-group': 'deployers, all',
    })
  })

  test('has a user name and a password', async () => {
    const server = await start()
    await connect(changed(server, { user: { username: 'bob', password: 'builder' } })).requestJson('/version')
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from('bob:builder').toString('base64')}`,
    })
  })

  test('decompresses a large gzip response', async () => {
    const server = await start()
    for (let index = 0; index < 300; index++) {
      server.apply({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `c${index}` },
        data: { text: 'x'.repeat(1000) },
      })
    }
    const list = (await connect(server.kubeconfig()).requestJson('/api/v1/configmaps')) as { items: object[] }
    expect(server.requests[0]?.headers['accept-encoding']).toBe('gzip')
    expect(list.items).toHaveLength(300)
  })

  test.each(['gzip', 'GZIP', 'x-gzip'])('decompress a response with the content encoding %s', async (coding) => {
    const url = await startPlain((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
      response.end(gzipSync('{"kind":"PodList"}'))
    })
    expect(await connect(changed(url, {})).requestJson('/api/v1/pods')).toEqual({ kind: 'PodList' })
  })

  test('is not compressed for a stream, but a compressed stream is read event by event', async () => {
    const zip = createGzip()
    const encodings: unknown[] = []
    const url = await startPlain((request, response) => {
      encodings.push(request.headers['accept-encoding'])
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      zip.pipe(response)
      zip.write('{"type":"ADDED"}\n')
      zip.flush()
    })
    const { signal } = new AbortController()
    const stream = await connect(changed(url, {})).openStream('/api/v1/pods?watch=1', { signal })
    const lines = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
    expect(String((await lines.next()).value)).toBe('{"type":"ADDED"}\n')
    zip.end('{"type":"MODIFIED"}\n')
    expect(String((await lines.next()).value)).toBe('{"type":"MODIFIED"}\n')
    expect(await lines.next()).toMatchObject({ done: true })
    expect(encodings).toEqual(['identity'])
  })

  test('uses the proxy of the environment', async () => {
    const server = await start({ tls: true })
    const targets: (string | undefined)[] = []
    const proxy = createServer()
    proxy.on('connect', (request, socket) => {
      targets.push(request.url)
      const upstream = dial(Number(new URL(server.url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        upstream.pipe(socket).pipe(upstream)
      })
      upstream.on('error', () => socket.destroy())
      socket.on('error', () => upstream.destroy())
      endings.push(() => socket.destroy())
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    endings.push(() => proxy.close())
    const env = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
    const cluster = { server: 'https://api.example:6443', 'tls-server-name': 'localhost' }
    expect(await connect(changed(server, { cluster }), { env }).requestJson('/version')).toMatchObject({
      gitVersion: 'v1.34.4',
    })
    expect(targets).toEqual(['api.example:6443'])
  })
})

describe('a refused request', () => {
  test('has the status, reason and message of the server', async () => {
    const server = await start()
    server.deny({ verb: 'list', resource: 'pods' })
    const error = await failure(connect(server.kubeconfig()).requestJson('/api/v1/pods'))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({
      status: 403,
      message: expect.stringContaining('pods is forbidden'),
    })
  })

  test('has the Retry-After of the server', async () => {
    const server = await start()
    server.failNext(1, 429, { retryAfterSeconds: 3 })
    expect(await failure(connect(server.kubeconfig()).requestJson('/version'))).toMatchObject({
      status: 429,
      retryAfterMs: 3000,
    })
  })

  test('with an HTML body keeps its status', async () => {
    const url = await startPlain((_, response) => response.writeHead(502).end('<html>'))
    expect(await failure(connect(changed(url, {})).requestJson('/'))).toMatchObject({
      status: 502,
      message: 'Bad Gateway',
    })
  })
})

describe('credentials', () => {
  test('are read again once if they are refused', async () => {
    const server = await start({ tokens: ['new-token'] })
    const tokens = ['old-token', 'new-token']
    const client = connect(() => server.kubeconfig({ token: tokens.shift() ?? '' }))
    expect(await client.requestJson('/version')).toMatchObject({ gitVersion: 'v1.34.4' })
  })

  test('that are refused twice are reported as refused', async () => {
    const server = await start({ tokens: [] })
    const masked: string[] = []
    const tokens = ['first-token', 'second-token', 'third-token']
    const client = connect(() => server.kubeconfig({ token: tokens.shift() ?? '' }), { masked })
    expect(await failure(client.requestJson('/version'))).toMatchObject({ status: 401 })
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer first-token',
      'Bearer second-token',
    ])
    expect(masked).toContain('second-token')
  })

  test('that cannot be read again are reported as refused, with the cause', async () => {
    const server = await start({ tokens: [] })
    let readings = 0
    const client = connect(() => (readings++ === 0 ? server.kubeconfig({ token: 'first-token' }) : ' '))
    expect(await failure(client.requestJson('/version'))).toMatchObject({
      status: 401,
      message: expect.stringContaining('is empty'),
    })
  })

  test('are read once for all requests that were refused together', async () => {
    const server = await start({ tokens: ['new-token'] })
    let readings = 0
    const client = connect(() => server.kubeconfig({ token: readings++ === 0 ? 'old-token' : 'new-token' }))
    await Promise.all([client.requestJson('/version'), client.requestJson('/api'), client.requestJson('/apis')])
    expect(readings).toBe(2)
  })

  test('in a token file are read for each request and masked before use', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'token-'))
    endings.push(() => rmSync(folder, { recursive: true }))
    const tokenFile = join(folder, 'token')
    const server = await start({ tokens: ['second-token'] })
    writeFileSync(tokenFile, 'first-token\n')
    const masked: string[] = []
    const client = connect(changed(server, { user: { tokenFile } }), { masked })
    expect(await failure(client.requestJson('/version'))).toMatchObject({ status: 401 })
    writeFileSync(tokenFile, 'second-token\n')
    await client.requestJson('/version')
    expect(masked).toEqual(expect.arrayContaining(['first-token', 'second-token']))
  })

  test('of a plugin are masked, kept until they expire, and then renewed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plugin-'))
    endings.push(() => rmSync(folder, { recursive: true }))
    const runs = join(folder, 'runs')
    writeFileSync(runs, '')
    const script = `
      const fs = require('node:fs')
      fs.appendFileSync(${JSON.stringify(runs)}, 'x')
      const token = 'plugin-token-' + fs.readFileSync(${JSON.stringify(runs)}, 'utf8').length
      console.log(JSON.stringify({ status: { token, expirationTimestamp: '2030-01-01T00:15:00Z' } }))`
    let now = Date.UTC(2030, 0, 1)
    const masked: string[] = []
    const server = await start()
    const client = connect(changed(server, { user: { exec: { command: process.execPath, args: ['-e', script] } } }), {
      clock: { ...systemClock, now: () => now },
      masked,
    })
    await client.requestJson('/version')
    await client.requestJson('/version')
    now += 15 * 60_000
    await client.requestJson('/version')
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer plugin-token-1',
      'Bearer plugin-token-1',
      'Bearer plugin-token-2',
    ])
    expect(masked).toEqual(expect.arrayContaining(['plugin-token-1', 'plugin-token-2']))
  })
})

describe('a connection fails', () => {
  test('to a closed port', async () => {
    const server = await start()
    await server.stop()
    const error = await failure(connect(server.kubeconfig()).requestJson('/version'))
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ code: 'ECONNREFUSED', certificate: false })
  })

  test('to a server with an untrusted certificate', async () => {
    const server = await start({ tls: true })
    const error = await failure(
      connect(changed(server, { cluster: { 'certificate-authority-data': undefined } })).requestJson('/version'),
    )
    expect(error).toMatchObject({ certificate: true, code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  })

  test('to a server with another name than its certificate', async () => {
    const server = await start({ tls: true })
    const error = await failure(
      connect(changed(server, { cluster: { 'tls-server-name': 'other.example' } })).requestJson('/version'),
    )
    expect(error).toMatchObject({ certificate: true, code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  test('not because of an untrusted certificate with insecure-skip-tls-verify', async () => {
    const server = await start({ tls: true })
    const cluster = { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true }
    expect(await connect(changed(server, { cluster })).requestJson('/version')).toMatchObject({ gitVersion: 'v1.34.4' })
  })

  test('to a server without TLS', async () => {
    const server = await start()
    const cluster = { server: server.url.replace('http:', 'https:') }
    expect(await failure(connect(changed(server, { cluster })).requestJson('/version'))).toMatchObject({
      certificate: true,
    })
  })

  test('after a timeout', async () => {
    const server = await start()
    server.hang(true)
    const error = await failure(connect(server.kubeconfig()).requestJson('/version', { timeoutMs: 20 }))
    expect(error).toMatchObject({ code: 'ETIMEDOUT', message: 'no answer within 0.02 s' })
  })

  test('to a server that is no API server', async () => {
    const url = await startPlain((_, response) => response.setHeader('Content-Type', 'text/html').end('<html>Log in'))
    expect(await failure(connect(changed(url, {})).requestJson('/'))).toMatchObject({
      message: expect.stringContaining('text/html'),
    })
  })

  test('if the response is too large', async () => {
    const url = await startPlain((_, response) => response.end('x'.repeat(100_000)))
    expect(await failure(connect(changed(url, {})).requestText('/', { maxBytes: 50_000 }))).toMatchObject({
      code: 'E2BIG',
    })
  })

  test('if the client is closed', async () => {
    const server = await start()
    server.hang(true)
    const client = connect(server.kubeconfig())
    const asked = failure(client.requestJson('/version'))
    await server.until(({ requests }) => requests.length === 1)
    client.close()
    expect(await asked).toMatchObject({ code: 'ECANCELED' })
  })
})

test('the Date header sets the clock offset of the server', async () => {
  const server = await start({ clockOffsetMs: -90_000 })
  const client = connect(server.kubeconfig())
  await client.requestJson('/version')
  // A busy machine answers late.
  expect(Math.abs(client.serverOffsetMs + 90_000)).toBeLessThan(20_000)
})
