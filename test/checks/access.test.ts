import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { Access, type NeededAccess } from '../../src/checks/access.ts'
import type { HttpQuery } from '../../src/checks/exchange.ts'
import { systemClock } from '../../src/cluster/clock.ts'
import { connect } from '../../src/cluster/cluster.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'
import { selfSignedCertificate } from '../support/certificates.ts'

const endings: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const pod = { namespace: 'shop', pod: 'web-1', port: 8080 }
const query: HttpQuery = { method: 'GET', headers: [], timeoutMs: 5_000, maxBytes: 64 << 10 }
const plain = { scheme: 'http', path: '/' } as const
const signal = new AbortController().signal

/** Listens on a free port of this machine. */
async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  endings.push(() => server.close())
  return (server.address() as AddressInfo).port
}

async function start(options: ApiServerOptions = {}, token?: string) {
  const server = await startApiServer(options)
  endings.push(() => server.close())
  const places = { env: {}, home: '/nowhere', serviceAccount: '/nowhere' }
  const kubeconfig = server.kubeconfig({ namespace: 'shop', ...(token !== undefined && { token }) })
  const cluster = connect({ kubeconfig }, { mask: () => {}, userAgent: 'rollout-gate/1.2.3', places })
  endings.push(() => cluster.close())
  return { server, access: new Access(cluster, systemClock) }
}

/** A pod `web-1` in `shop` with this application on port 8080. */
async function runPod(server: ApiServer, app: RequestListener): Promise<IncomingMessage[]> {
  const requests: IncomingMessage[] = []
  const port = await listen(
    createServer((request, response) => {
      requests.push(request)
      app(request, response)
    }),
  )
  server.ports.listen({ namespace: 'shop', name: 'web-1' }, 8080, port)
  return requests
}

const forwarding = { resource: 'pods/portforward' }
const need: NeededAccess = { line: 1, namespace: 'shop', method: 'GET', headers: [] }
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no failure',
    (error: Error) => error,
  )

describe.each(['1.34', '1.35'])('through Kubernetes %s', (version) => {
  test('a pod is asked by a forwarded port', async () => {
    const { server, access } = await start({ version: `v${version}.0` })
    const requests = await runPod(server, (_, response) => response.end('v2'))
    await access.review([need])
    expect(await access.askPod(pod, { scheme: 'http', path: '/version?full=1' }, query, signal)).toMatchObject({
      status: 200,
      body: 'v2',
    })
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/version?full=1', headers: { host: 'localhost:8080' } })
    expect(server.requests.at(-1)?.url).toBe('/api/v1/namespaces/shop/pods/web-1/portforward?ports=8080')
  })

  test.each(['get', 'create'])('a pod is asked through the proxy without %s of pods/portforward', async (verb) => {
    const { server, access } = await start({ version: `v${version}.0` })
    server.deny({ ...forwarding, verb })
    const requests = await runPod(server, (_, response) => response.end('v2'))
    await access.review([need])
    expect(await access.askPod(pod, plain, query, signal)).toMatchObject({ status: 200, body: 'v2' })
    expect(requests).toHaveLength(1)
    expect(server.requests.at(-1)?.url).toBe('/api/v1/namespaces/shop/pods/web-1:8080/proxy/')
  })
})

test('if the API server does not review access, forwarding is tried before the proxy', async () => {
  const { server, access } = await start()
  server.deny({ verb: 'create', resource: 'selfsubjectaccessreviews' })
  server.deny({ ...forwarding, verb: 'get' })
  await runPod(server, (_, response) => response.end('v2'))
  await access.review([need])
  expect(await access.askPod(pod, plain, query, signal)).toMatchObject({ body: 'v2' })
  const tried = server.requests.map(({ url }) => /portforward|proxy/.exec(url)?.[0]).filter(Boolean)
  expect(tried).toEqual(['portforward', 'proxy'])
})

test('a refused forwarding leaves no connection open', async () => {
  const { server, access } = await start()
  server.deny({ ...forwarding, verb: 'get' })
  await runPod(server, (_, response) => response.end())
  const refused = server.ports.untilRefusedIsClosed()
  await access.askPod(pod, plain, query, signal)
  await refused
})

test('the missing access of all lines is one error with the rules to add', async () => {
  const { server, access } = await start()
  for (const resource of ['pods/portforward', 'pods/proxy']) server.deny({ verb: '*', resource, namespace: 'shop' })
  const needs = [
    need,
    { ...need, line: 2 },
    { ...need, line: 3, method: 'POST' },
    { ...need, line: 4, namespace: 'other' },
  ]
  expect(await failure(access.review(needs))).toMatchObject({
    reason: 'forbidden',
    mistakes: [
      {
        input: 'http-checks',
        line: 1,
        message:
          'The credentials permit neither to forward ports of pods in namespace shop nor to use pods/proxy there. ' +
          'Add one of these rules to the user\'s Role: {apiGroups: [""], resources: ["pods/portforward"], verbs: ["get", "create"]} ' +
          'or {apiGroups: [""], resources: ["pods/proxy"], verbs: ["get"]}.',
      },
      { input: 'http-checks', line: 3, message: expect.stringContaining('["pods/proxy"], verbs: ["create"]}') },
    ],
  })
})

test('a header that the API server would use itself needs a forwarded port', async () => {
  const { server, access } = await start()
  server.deny({ ...forwarding, verb: 'create' })
  const headers = [['authorization', 'Bearer of-the-app']] as const
  expect(await failure(access.review([{ ...need, headers }]))).toMatchObject({
    reason: 'forbidden',
    mistakes: [{ message: expect.stringMatching(/^The header authorization cannot pass the proxy of the API server/) }],
  })
  expect(await failure(access.askPod(pod, plain, { ...query, headers }, signal))).toMatchObject({
    name: 'MissingAnswer',
  })
})

describe.each([
  ['a forwarded port', undefined],
  ['the proxy', { ...forwarding, verb: '*' }],
])('through %s', (_, denial) => {
  async function startWith(app: RequestListener, token?: string) {
    const tokens = token === undefined ? {} : { tokens: [token] }
    const started = await start(tokens, token)
    if (denial) started.server.deny(denial)
    const requests = await runPod(started.server, app)
    return { ...started, requests, ask: () => started.access.askPod(pod, plain, query, signal) }
  }

  test('no credential of the cluster reaches the pod', async () => {
    const { ask, requests } = await startWith((_, response) => response.end(), 'sesame-open')
    await ask()
    expect(JSON.stringify(requests[0]?.rawHeaders)).not.toMatch(/sesame|authorization/i)
  })

  test.each([401, 403, 404, 429, 500, 503])('a status %d of the pod is its answer', async (status) => {
    const { ask } = await startWith(
      (_, response) => response.writeHead(status).end('{"kind":"Status"} of a test'),
      'sesame',
    )
    expect(await ask()).toMatchObject({ status })
  })

  test.each([401, 403, 404])('a pod that is an API server may answer %d with a Status', async (code) => {
    const answer = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code,
      message: 'forbidden: User "system:anonymous"',
      details: {},
    }
    const { ask } = await startWith((_, response) => response.writeHead(code).end(JSON.stringify(answer)), 'sesame')
    expect(await ask()).toMatchObject({ status: code })
  })

  test('a redirect is not followed', async () => {
    const { ask, requests } = await startWith((_, response) => response.writeHead(302, { Location: '/login' }).end())
    expect(await ask()).toMatchObject({ status: 302, location: '/login' })
    expect(requests).toHaveLength(1)
  })

  test('a port on which nothing listens refuses the connection', async () => {
    const { access } = await startWith(() => {})
    const closed = access.askPod({ ...pod, port: 9999 }, plain, query, signal)
    expect(await failure(closed)).toMatchObject({ name: 'MissingAnswer', message: 'connection refused' })
  })

  test('refused credentials are an error of the API server, not an answer', async () => {
    const { ask, server } = await startWith((_, response) => response.end(), 'sesame')
    server.refuseTokens()
    expect(await failure(ask())).toMatchObject({ name: 'ApiError', status: 401 })
  })

  test('an error of the API server is no answer of the pod', async () => {
    const { ask, server } = await startWith((_, response) => response.end())
    server.failNext(1, 500)
    expect(await failure(ask())).toMatchObject({ name: 'ApiError', status: 500 })
  })
})

test('a broken connection to the API server is no missing answer of the pod', async () => {
  const { server, access } = await start()
  await runPod(server, () => server.ports.breakConnections())
  expect(await failure(access.askPod(pod, plain, query, signal))).toMatchObject({ name: 'ConnectionError' })
})

test('a path cannot leave the proxy', async () => {
  const { server, access } = await start()
  server.deny({ ...forwarding, verb: '*' })
  const requests = await runPod(server, (_, response) => response.end())
  await access.askPod(pod, { scheme: 'http', path: '/../../%2e%2e/secrets' }, query, signal)
  expect(requests[0]?.url).toBe('/secrets')
  expect(server.requests.at(-1)?.url).toBe('/api/v1/namespaces/shop/pods/web-1:8080/proxy/secrets')
})

test('the certificate of a pod is not verified', async () => {
  const { server, access } = await start()
  const port = await listen(createTlsServer(await selfSignedCertificate(), (_, response) => response.end('v2')))
  server.ports.listen({ namespace: 'shop', name: 'web-1' }, 8443, port)
  const secure = { scheme: 'https', path: '/' } as const
  expect(await access.askPod({ ...pod, port: 8443 }, secure, query, signal)).toMatchObject({ body: 'v2' })
})

test('TLS to a port without TLS is a missing answer', async () => {
  const { server, access } = await start()
  await runPod(server, (_, response) => response.end('v2'))
  const asked = access.askPod(pod, { scheme: 'https', path: '/' }, query, signal)
  expect(await failure(asked)).toMatchObject({ name: 'MissingAnswer', message: 'the server does not use TLS' })
})
