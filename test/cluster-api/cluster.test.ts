import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type Clock, systemClock } from '../../src/cluster/clock.ts'
import { connect } from '../../src/cluster/cluster.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { UserError } from '../../src/errors.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'
import { ManualClock } from './manual-clock.ts'
import { Observations } from './observations.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function start(options: ApiServerOptions = {}, token = 'sesame-open', clock: Clock = systemClock) {
  const server = await startApiServer(options)
  const opened = open(server.kubeconfig({ token, namespace: 'shop' }), clock)
  endings.push(() => server.close())
  return { server, ...opened }
}

/** Nothing listens on this port. */
const unreachable = JSON.stringify({
  'current-context': 'test',
  contexts: [{ name: 'test', context: { cluster: 'test' } }],
  clusters: [{ name: 'test', cluster: { server: 'http://127.0.0.1:9' } }],
})

function open(kubeconfig: string, clock: Clock = systemClock, timeoutMs = 0) {
  const masked: string[] = []
  const places = { env: {}, home: '/nowhere', serviceAccount: '/nowhere' }
  const cluster = connect(
    { kubeconfig },
    {
      clock,
      secrets: new Secrets((secret) => masked.push(secret)),
      timeoutMs,
      userAgent: 'rollout-gate/1',
      places,
    },
  )
  endings.push(() => cluster.close())
  return { cluster, masked }
}

async function userError(promise: Promise<unknown>): Promise<UserError> {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  )
  if (error instanceof UserError) return error
  throw new Error(`not the user's mistake: ${error}`)
}

const widgetsInShop = { apiVersion: 'acme.example/v1', kind: 'Widget', namespace: 'shop' }
const widgets = {
  group: 'acme.example',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  status: true,
  verbs: ['list', 'watch'],
}
const pods = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
const applyPod = (name: string, server: ApiServer) =>
  server.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop' }, spec: {} })

describe('the connection to the cluster', () => {
  test('sends no request at first and masks the secrets', async () => {
    const { server, cluster, masked } = await start()
    expect(cluster).toMatchObject({ context: 'test', namespace: 'shop' })
    expect(masked).toContain('sesame-open')
    expect(server.requests).toEqual([])
  })

  test('reads resources, version and server clock with three requests of discovery', async () => {
    const { server, cluster } = await start({ clockOffsetMs: 60_000 })
    const resources = await cluster.discover()
    expect(resources.some(({ kind }) => kind === 'Deployment')).toBe(true)
    expect(cluster.version).toBe('v1.34.4')
    expect(Math.abs(cluster.serverOffsetMs - 60_000)).toBeLessThan(1_000)
    expect(server.requests.map(({ path }) => path).sort()).toEqual(['/api', '/apis', '/version'])
  })
})

describe('the first requests', () => {
  test('fail at once for credentials that are refused twice', async () => {
    const { server, cluster } = await start({ tokens: ['another'] })
    const error = await userError(cluster.discover())
    expect(error.reason).toBe('credentials-expired')
    expect(error.message).toContain('user "test" (context "test")')
    expect(server.requests.length).toBeLessThanOrEqual(6)
  })

  test('fail at once for an invalid certificate', async () => {
    const { server } = await start({ tls: true })
    const kubeconfig = JSON.parse(server.kubeconfig({ token: 'sesame-open' }))
    delete kubeconfig.clusters[0].cluster['certificate-authority-data']
    const error = await userError(open(JSON.stringify(kubeconfig)).cluster.discover())
    expect(error.reason).toBe('api-unreachable')
    expect(error.message).toContain('certificate-authority-data')
  })

  test('fail for a user without access', async () => {
    const { server, cluster } = await start()
    server.failNext(9, 403)
    expect(await userError(cluster.discover())).toMatchObject({
      reason: 'forbidden',
      message: expect.stringContaining('system:discovery'),
    })
  })

  test('fail after 30 s of retries if the server does not answer', async () => {
    const clock = new ManualClock()
    const { server, cluster } = await start({}, 'sesame-open', clock)
    await server.stop()
    const startedAt = clock.now()
    const failed = userError(cluster.discover())
    for (const delayMs of [200, 400, 800, 1600, ...Array(8).fill(3000)]) {
      await clock.untilPending(delayMs)
      clock.advance(delayMs)
    }
    expect(await failed).toMatchObject({ reason: 'api-unreachable', message: expect.stringContaining('ECONNREFUSED') })
    expect(clock.now() - startedAt).toBeGreaterThan(26_000)
    expect(clock.now() - startedAt).toBeLessThanOrEqual(30_000)
  })

  test('fail at the timeout of the gate if that is shorter and the server does not answer', async () => {
    const clock = new ManualClock()
    const { cluster } = open(unreachable, clock, 5_000)
    const startedAt = clock.now()
    const failed = userError(cluster.discover())
    for (const delayMs of [200, 400, 800, 1600]) {
      await clock.untilPending(delayMs)
      clock.advance(delayMs)
    }
    expect(await failed).toMatchObject({ reason: 'api-unreachable' })
    expect(clock.now() - startedAt).toBeLessThanOrEqual(5_000)
  })

  test('succeed if the server answers within that time', async () => {
    const { server, cluster } = await start()
    server.failNext(1, 503)
    server.failNext(1, 0)
    expect(await cluster.discover()).not.toHaveLength(0)
  })
})

describe('the watches of the cluster', () => {
  test('begin before discovery, and two equal requests share one watch', async () => {
    const { server, cluster } = await start()
    applyPod('web', server)
    const observed = new Observations()
    cluster.watch(pods, observed.sink)
    cluster.watch({ ...pods }, observed.sink)
    await Promise.all([cluster.discover(), observed.until('SYNCED Pod')])
    expect(observed.words).toEqual(['ADDED web', 'SYNCED Pod'])
    expect(server.requests.filter(({ path }) => path === '/apis')).toHaveLength(1)
  })

  test('find a kind whose CRD is installed later', async () => {
    const clock = new ManualClock()
    const { server, cluster } = await start({}, 'sesame-open', clock)
    await cluster.discover()
    const observed = new Observations()
    cluster.watch(widgetsInShop, observed.sink)
    await clock.untilPending(5_000)
    server.discovery.serve(widgets)
    clock.advance(5_000)
    await observed.until('SYNCED Widget')
    expect(observed.words).toEqual(['ERROR 404', 'ALIVE', 'SYNCED Widget'])
  })

  test.each([
    ['send no request for a pod name without a namespace', { apiVersion: 'v1', kind: 'Pod', name: 'web' }],
    [
      'send no request for a node name with a namespace',
      { apiVersion: 'v1', kind: 'Node', namespace: 'shop', name: 'web' },
    ],
  ])('%s', async (_, request) => {
    const clock = new ManualClock()
    const { server, cluster } = await start({}, 'sesame-open', clock)
    applyPod('web', server)
    server.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'web' } })
    await cluster.discover()
    const observed = new Observations()
    cluster.watch(request, observed.sink)
    await observed.until('ERROR 404')
    await clock.untilPending(5_000)
    expect(observed.words).toEqual(['ERROR 404'])
    expect(server.requests.map(({ path }) => path).filter((path) => /pods|nodes/.test(path))).toEqual([])
  })

  describe('find that an object whose kind answers 404', () => {
    const cases: [name: string, happens: (server: ApiServer) => void, observed: readonly string[]][] = [
      ['is deleted with its CRD', () => {}, ['ERROR 404', 'DELETED w']],
      [
        'exists if its CRD serves another version now',
        (server) => server.discovery.serve({ ...widgets, version: 'v2' }),
        ['ERROR 404'],
      ],
      [
        'may exist if another version of the group does not answer',
        (server) => {
          server.discovery.serve({ ...widgets, version: 'v2', kind: 'Gadget', plural: 'gadgets' })
          server.discovery.markStale('acme.example/v2')
        },
        ['ERROR 503'],
      ],
      [
        'may exist if the kinds of the server cannot be read',
        (server) => server.failNext(Infinity, 500, { filter: ({ path }) => path === '/apis' }),
        ['ERROR 500'],
      ],
      ['may exist if a proxy answers 404 to every request', (server) => server.failNext(Infinity, 404), ['ERROR 0']],
      [
        'exists if the server still serves its kind: a proxy may have answered',
        (server) => {
          server.discovery.serve(widgets)
          server.failNext(Infinity, 404, { filter: ({ path }) => path.endsWith('/widgets') })
        },
        ['ERROR 503'],
      ],
    ]
    test.each(cases)('%s', async (_, happens, expected) => {
      const clock = new ManualClock()
      const { server, cluster } = await start({ resources: [...BUILT_IN_RESOURCES, widgets] }, 'sesame-open', clock)
      server.apply({ apiVersion: 'acme.example/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'shop' } })
      server.intercept(({ query }) => {
        if (query.has('watch')) {
          server.discovery.unserve(widgets)
          happens(server)
        }
        return 'answer'
      })
      const observed = new Observations()
      cluster.watch(widgetsInShop, observed.sink)
      await observed.until(expected.at(-1) ?? '')
      await clock.untilPending(/^ERROR [05]/.test(observed.words.at(-1) ?? '') ? 100 : 5_000)
      expect(observed.words).toEqual(['ADDED w', 'SYNCED Widget', ...expected])
    })
  })

  test('give up a list of more than 256 MiB in all pages', async () => {
    const { server, cluster } = await start({}, 'sesame-open')
    const page = gzipSync(`{"metadata":{"continue":"more"},"items":[]}${' '.repeat(100 << 20)}`, { level: 1 })
    server.intercept(({ path }, response) => {
      if (!path.endsWith('/pods')) return 'answer'
      response.setHeader('Content-Type', 'application/json').setHeader('Content-Encoding', 'gzip').end(page)
      return 'answered'
    })
    await expect(cluster.listObjects(pods)).rejects.toThrow('the list of Pod has more than 256 MiB')
    expect(server.requests.filter(({ path }) => path.endsWith('/pods'))).toHaveLength(3)
  }, 30_000)

  test('wait for the other first lists, at most one second', async () => {
    const clock = new ManualClock()
    const { server, cluster } = await start({}, 'sesame-open', clock)
    const observed = new Observations()
    const released = Promise.withResolvers<'answer'>()
    server.intercept(({ path }) => (path.endsWith('/events') ? released.promise : 'answer'))
    cluster.watch({ apiVersion: 'v1', kind: 'Event', namespace: 'shop' }, observed.sink)
    cluster.watch(pods, observed.sink)
    await observed.until('SYNCED Pod')
    await clock.untilPending(1_000, 30_000)
    expect(server.openWatches).toEqual([])
    clock.advance(1_000)
    await server.until(({ openWatches }) => openWatches.length === 1)
    expect(server.openWatches).toMatchObject([{ plural: 'pods' }])
    released.resolve('answer')
    await server.until(({ openWatches }) => openWatches.length === 2)
  })

  test('do not open if the last first list closes the cluster', async () => {
    const { server, cluster } = await start()
    const closed = Promise.withResolvers<void>()
    cluster.watch(pods, ({ type }) => {
      if (type !== 'SYNCED') return
      setImmediate(() => {
        cluster.close()
        closed.resolve()
      })
    })
    await closed.promise
    await fetch(server.url).catch(() => {})
    expect(server.requests.filter(({ url }) => url.includes('watch=true'))).toEqual([])
  })

  test('stay unavailable after a failure while other watches succeed', async () => {
    const { server, cluster } = await start()
    const observed = new Observations()
    server.failNext(Infinity, 500, { filter: ({ path }) => path.endsWith('/events') })
    cluster.watch({ apiVersion: 'v1', kind: 'Event', namespace: 'shop' }, observed.sink)
    await observed.until('ERROR 500')
    cluster.watch(pods, observed.sink)
    await observed.until('SYNCED Pod')
    expect(observed.words).toEqual(['ERROR 500', 'SYNCED Pod'])
  })

  test('are refreshed when they listed again or reported a failure', async () => {
    const { server, cluster } = await start()
    const observed = new Observations()
    cluster.watch(pods, observed.sink)
    await observed.until('SYNCED Pod')
    applyPod('web', server)
    await cluster.refresh([pods])
    expect(observed.words).toEqual(['SYNCED Pod', 'ADDED web'])
    await server.stop()
    await cluster.refresh([pods])
    expect(observed.words.at(-1)).toBe('ERROR 0')
  })

  describe('find that an object that a selector no longer matches', () => {
    const labelled = (server: ApiServer, labels: Record<string, string>) =>
      server.apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'db-0', namespace: 'shop', labels },
        spec: { nodeName: '' },
      })
    const reference = { ...pods, name: 'db-0' }

    test('counts as deleted, and as added when its labels match again', async () => {
      const { server, cluster } = await start()
      const observed = new Observations()
      labelled(server, { app: 'db' })
      cluster.watch({ ...pods, labelSelector: 'app=db' }, observed.sink)
      await observed.until('SYNCED Pod')
      await server.until(({ openWatches }) => openWatches.length === 1)
      server.patch(reference, { metadata: { labels: { app: 'other' } } })
      await observed.until('DELETED db-0')
      server.patch(reference, { metadata: { labels: { app: 'db' } } })
      await observed.until('ADDED db-0', 2)
      server.remove(reference)
      await observed.until('DELETED db-0', 2)
      expect(observed.words).toEqual(['ADDED db-0', 'SYNCED Pod', 'DELETED db-0', 'ADDED db-0', 'DELETED db-0'])
    })

    test('is left to another watch that contains it', async () => {
      const { server, cluster } = await start()
      const observed = new Observations()
      labelled(server, { app: 'db', role: 'primary' })
      cluster.watch({ ...pods, labelSelector: 'app=db' }, observed.sink)
      cluster.watch({ ...pods, labelSelector: 'role=primary' }, observed.sink)
      await observed.until('SYNCED Pod', 2)
      await server.until(({ openWatches }) => openWatches.length === 2)
      server.patch(reference, { metadata: { labels: { app: 'db', role: 'replica' } } })
      await observed.until('MODIFIED db-0')
      await cluster.refresh([{ ...pods, labelSelector: 'role=primary' }])
      expect(observed.words).not.toContain('DELETED db-0')
    })

    test('counts as deleted before the refresh ends if only a new list lacks the object', async () => {
      const { server, cluster } = await start()
      const observed = new Observations()
      labelled(server, { app: 'db' })
      cluster.watch({ ...pods, labelSelector: 'app=db' }, observed.sink)
      await observed.until('SYNCED Pod')
      server.hang(true)
      server.patch(reference, { metadata: { labels: { app: 'other' } } })
      server.hang(false)
      await cluster.refresh([{ ...pods, labelSelector: 'app=db' }])
      expect(observed.words).toEqual(['ADDED db-0', 'SYNCED Pod', 'DELETED db-0'])
    })
  })

  test('report nothing after the cluster is closed', async () => {
    const { server, cluster } = await start()
    const observed = new Observations()
    cluster.watch(pods, observed.sink)
    await observed.until('SYNCED Pod')
    cluster.close()
    cluster.watch({ ...pods, name: 'web' }, observed.sink)
    applyPod('web', server)
    await server.until(({ openWatches }) => openWatches.length === 0)
    expect(observed.words).toEqual(['SYNCED Pod'])
  })
})

test('a list contains the present objects without their secrets', async () => {
  const { server, cluster } = await start()
  server.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'shop' },
    data: { password: 'aHVudGVyMg==' },
  })
  const secrets = await cluster.listObjects({ apiVersion: 'v1', kind: 'Secret', namespace: 'shop' })
  expect(secrets).toMatchObject([{ kind: 'Secret', metadata: { name: 's' } }])
  expect(JSON.stringify(secrets)).not.toContain('aHVudGVyMg==')
  await expect(cluster.listObjects({ apiVersion: 'v1', kind: 'Nonsense' })).rejects.toThrow(
    'does not have the kind Nonsense',
  )
})

test('a closed cluster keeps no process alive', async () => {
  const { server } = await start()
  const module = fileURLToPath(new URL('../../src/cluster/cluster.ts', import.meta.url))
  const script = `
    const { connect } = await import(${JSON.stringify(module)})
    const cluster = connect({ kubeconfig: process.env.TEST_KUBECONFIG }, { userAgent: 'test' })
    await cluster.discover()
    cluster.watch(${JSON.stringify(pods)}, ({ type }) => type === 'SYNCED' && setImmediate(() => cluster.close()))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: process.env['PATH'], TEST_KUBECONFIG: server.kubeconfig() },
  })
  const errors = text(child.stderr)
  const [code] = await once(child, 'exit')
  expect(await errors).toBe('')
  expect(code).toBe(0)
})
