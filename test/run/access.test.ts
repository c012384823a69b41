import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { systemClock } from '../../src/cluster/clock.ts'
import { connect } from '../../src/cluster/cluster.ts'
import { parseChecks } from '../../src/plan/checks.ts'
import type { HttpQuery } from '../../src/run/http-checker.ts'
import { askPod, checkPortForwardAccess } from '../../src/run/http-checker.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'
import { selfSignedCertificate } from '../support/certificates.ts'

const endings: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const webPod = { namespace: 'shop', pod: 'web-1' }
const query: HttpQuery = {
  method: 'GET',
  scheme: 'http',
  path: '/',
  headers: [],
  timeoutMs: 5_000,
}
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
  const cluster = connect({ kubeconfig }, { userAgent: 'rollout-gate/1.2.3', places })
  endings.push(() => cluster.close())
  return {
    server,
    review: (...lines: string[]) =>
      checkPortForwardAccess(parseChecks({ httpChecks: lines.join('\n'), holdMs: 0 }).httpChecks, cluster),
    ask: (changes: Partial<HttpQuery> = {}, port = 8080) =>
      askPod(cluster, { ...webPod, port }, { ...query, ...changes }, systemClock, signal),
  }
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
const line = 'deployment/web GET / -n shop'
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no failure',
    (error: Error) => error,
  )

test.each(['1.34', '1.35'])('a pod is requested by port-forward in Kubernetes %s', async (version) => {
  const { server, review, ask } = await start({ version: `v${version}.0` })
  const requests = await runPod(server, (_, response) => response.end('v2'))
  await review(line)
  expect(await ask({ path: '/version?full=1' })).toMatchObject({ status: 200, body: 'v2' })
  expect(requests[0]).toMatchObject({ method: 'GET', url: '/version?full=1', headers: { host: 'localhost:8080' } })
  expect(server.requests.at(-1)?.url).toBe('/api/v1/namespaces/shop/pods/web-1/portforward?ports=8080')
})

test('a pod is requested if the API server does not support access reviews', async () => {
  const { server, review, ask } = await start()
  server.deny({ verb: 'create', resource: 'selfsubjectaccessreviews' })
  await runPod(server, (_, response) => response.end('v2'))
  await review(line)
  expect(await ask()).toMatchObject({ body: 'v2' })
})

test('a refused forwarding leaves no connection open', async () => {
  const { server, ask } = await start()
  server.deny({ ...forwarding, verb: 'get' })
  const refused = server.ports.untilRefusedIsClosed()
  expect(await failure(ask())).toMatchObject({ name: 'ApiError', status: 403 })
  await refused
})

test.each(['get', 'create'])(
  'without the permission to %s pods/portforward, one line for each namespace is rejected',
  async (verb) => {
    const { server, review } = await start()
    server.deny({ ...forwarding, verb, namespace: 'shop' })
    expect(await failure(review('pod/other GET / -n other', line, line))).toMatchObject({
      reason: 'forbidden',
      mistakes: [
        {
          input: 'http-checks',
          line: 2,
          message:
            'The credentials do not permit to forward ports of pods in namespace shop. ' +
            'Add this rule to the user\'s Role: {apiGroups: [""], resources: ["pods/portforward"], verbs: ["get", "create"]}.',
        },
      ],
    })
  },
)

async function startWith(app: RequestListener, token?: string) {
  const started = await start(token === undefined ? {} : { tokens: [token] }, token)
  return { ...started, requests: await runPod(started.server, app) }
}

test('a request to a pod contains no credential of the cluster', async () => {
  const { ask, requests } = await startWith((_, response) => response.end(), 'sesame-open')
  await ask()
  expect(JSON.stringify(requests[0]?.rawHeaders)).not.toMatch(/sesame|authorization/i)
})

test.each([401, 403, 404, 429, 500, 503])('a response of a pod with the status %d is its answer', async (status) => {
  const { ask } = await startWith((_, response) => response.writeHead(status).end('{"kind":"Status"}'), 'sesame')
  expect(await ask()).toMatchObject({ status })
})

test('a redirect of a pod is not followed', async () => {
  const { ask, requests } = await startWith((_, response) => response.writeHead(302, { Location: '/login' }).end())
  expect(await ask()).toMatchObject({ status: 302, location: '/login' })
  expect(requests).toHaveLength(1)
})

test('a broken connection to the API server is not a missing answer of the pod', async () => {
  const { server, ask } = await start()
  await runPod(server, () => server.ports.breakConnections())
  expect(await failure(ask())).toMatchObject({ name: 'ConnectionError' })
})

test('the certificate of a pod is not verified', async () => {
  const { server, ask } = await start()
  const port = await listen(createTlsServer(await selfSignedCertificate(), (_, response) => response.end('v2')))
  server.ports.listen({ namespace: 'shop', name: 'web-1' }, 8443, port)
  expect(await ask({ scheme: 'https' }, 8443)).toMatchObject({ body: 'v2' })
})

test('TLS to a port without TLS is a missing answer', async () => {
  const { ask } = await startWith((_, response) => response.end('v2'))
  expect(await ask({ scheme: 'https' })).toEqual({ error: 'the server does not use TLS' })
})
