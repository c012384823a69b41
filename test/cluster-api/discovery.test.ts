import type { ServerResponse } from 'node:http'
import { Client } from '../../src/cluster/client.ts'
import { type Clock, systemClock } from '../../src/cluster/clock.ts'
import { type Discovery, discover, serverVersion } from '../../src/cluster/discovery.ts'
import { loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function start(
  options: ApiServerOptions = {},
  clock: Clock = systemClock,
): Promise<{ server: ApiServer; client: Client }> {
  const server = await startApiServer(options)
  const load = () => loadKubeconfig({ kubeconfig: server.kubeconfig() })
  const client = new Client(load(), load, { clock, mask: () => {}, userAgent: 'test', env: {} })
  endings.push(
    () => server.close(),
    () => client.close(),
  )
  return { server, client }
}

const metrics = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: 'PodMetrics',
  plural: 'pods',
  namespaced: true,
  status: false,
}

describe.each([true, false])('with aggregated discovery %s', (aggregatedDiscovery) => {
  test('every resource is found, the core group first', async () => {
    const { server, client } = await start({ aggregatedDiscovery })
    const { resources, stale } = await discover(client)
    const serves = ({ group, version, kind, plural, namespaced, status }: (typeof resources)[number]) => ({
      group,
      version,
      kind,
      plural,
      namespaced,
      status,
    })
    expect(resources.map(serves)).toEqual(expect.arrayContaining(server.discovery.resources.map(serves)))
    expect(resources).toHaveLength(server.discovery.resources.length)
    expect(resources[0]?.group).toBe('')
    expect(stale).toEqual([])
    expect(resources.find(({ kind }) => kind === 'Deployment')).toMatchObject({
      group: 'apps',
      version: 'v1',
      plural: 'deployments',
      shortNames: ['deploy'],
      namespaced: true,
      status: true,
      verbs: expect.arrayContaining(['list', 'watch']),
    })
  })

  test('a group whose server is down is stale, and the other groups are found', async () => {
    const { server, client } = await start({ aggregatedDiscovery })
    server.discovery.serve(metrics)
    server.discovery.markStale('metrics.k8s.io/v1beta1')
    const { resources, stale } = await discover(client)
    expect(stale).toEqual(['metrics.k8s.io/v1beta1'])
    expect(resources.some(({ kind }) => kind === 'Deployment')).toBe(true)
  })
})

describe('without aggregated discovery', () => {
  const answering = (body: string) => (response: ServerResponse) => {
    response.end(body)
    return 'answered' as const
  }
  const html = answering('<html>Sign in</html>')

  test.each<[string, (response: ServerResponse) => 'answered' | Promise<'answered'>]>([
    ['hangs', () => new Promise(() => {})],
    ['answers HTML', html],
    ['answers null', answering('null')],
    ['cuts its JSON', answering('{"resources": [')],
  ])('a group that %s is stale or empty, and the other groups are found', async (_, answer) => {
    const clock = new EventLoopClock(Date.now(), 20)
    const { server, client } = await start({ aggregatedDiscovery: false }, clock)
    server.discovery.serve(metrics)
    server.intercept(({ path }, response) => (path.startsWith('/apis/metrics') ? answer(response) : 'answer'))
    let found: Discovery | undefined
    void discover(client).then((discovery) => {
      found = discovery
    })
    await clock.runUntil(clock.now() + 11_000, () => found !== undefined)
    expect(found?.resources.some(({ kind }) => kind === 'Deployment')).toBe(true)
    expect(found?.resources.some(({ kind }) => kind === 'PodMetrics')).toBe(false)
  })

  test('a server on which no group answers is an error, not a server without kinds', async () => {
    const { server, client } = await start({ aggregatedDiscovery: false })
    server.intercept(({ path }, response) => (/^\/apis?$/.test(path) ? 'answer' : html(response)))
    await expect(discover(client)).rejects.toMatchObject({ code: 'EBADMSG' })
  })
})

test.each([
  { items: [{ metadata: { name: 'acme.example' }, versions: null }, null] },
  { items: [{ metadata: { name: 'acme.example' }, versions: [{ version: 'v1', resources: null }] }] },
  { groups: [{ name: 'acme.example', versions: null }] },
])('empty lists in Go are null: %j', async (answer) => {
  const { server, client } = await start()
  server.intercept(({ path }, response) => {
    if (path !== '/apis') return 'answer'
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer))
    return 'answered'
  })
  expect((await discover(client)).resources.every(({ group }) => group === '')).toBe(true)
})

test('two requests are enough on a server with aggregated discovery', async () => {
  const { server, client } = await start()
  await discover(client)
  expect(server.requests.map(({ path }) => path).sort()).toEqual(['/api', '/apis'])
})

test('the version is read, and its refusal is no failure', async () => {
  const { server, client } = await start()
  expect(await serverVersion(client)).toBe('v1.34.4')
  server.failNext(1, 403)
  expect(await serverVersion(client)).toBeUndefined()
})
