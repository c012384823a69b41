import { Client } from '../../src/cluster/client.ts'
import { type Clock, systemClock } from '../../src/cluster/clock.ts'
import { discover, readServerVersion } from '../../src/cluster/discovery.ts'
import { loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'

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
  const client = new Client(load(), load, { clock, secrets: new Secrets(), userAgent: 'test', env: {} })
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

test('discovery finds every resource, those of the core group first', async () => {
  const { server, client } = await start()
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

test('discovery reports a group as stale if its server is down, and finds the other groups', async () => {
  const { server, client } = await start()
  server.discovery.serve(metrics)
  server.discovery.markStale('metrics.k8s.io/v1beta1')
  const { resources, stale } = await discover(client)
  expect(stale).toEqual(['metrics.k8s.io/v1beta1'])
  expect(resources.some(({ kind }) => kind === 'Deployment')).toBe(true)
})

test('a server without aggregated discovery is an error with the oldest supported version', async () => {
  const { server, client } = await start()
  server.intercept(({ path }, response) => {
    if (path !== '/apis') return 'answer'
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ kind: 'APIGroupList', groups: [] }))
    return 'answered'
  })
  await expect(discover(client)).rejects.toMatchObject({
    code: 'EBADMSG',
    message: expect.stringContaining('which Kubernetes 1.27 and newer have'),
  })
})

test.each([
  ['versions', { items: [{ metadata: { name: 'acme.example' }, versions: null }, null] }],
  ['resources', { items: [{ metadata: { name: 'acme.example' }, versions: [{ version: 'v1', resources: null }] }] }],
])('discovery accepts null as an empty list of %s', async (_, answer) => {
  const { server, client } = await start()
  server.intercept(({ path }, response) => {
    if (path !== '/apis') return 'answer'
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer))
    return 'answered'
  })
  expect((await discover(client)).resources.every(({ group }) => group === '')).toBe(true)
})

test('discovery needs two requests', async () => {
  const { server, client } = await start()
  await discover(client)
  expect(server.requests.map(({ path }) => path).sort()).toEqual(['/api', '/apis'])
})

test('discovery reads the server version and accepts a refusal of it', async () => {
  const { server, client } = await start()
  expect(await readServerVersion(client)).toBe('v1.34.4')
  server.failNext(1, 403)
  expect(await readServerVersion(client)).toBeUndefined()
})
