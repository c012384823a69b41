import { Client } from '../../src/cluster/client.ts'
import { collectionPath } from '../../src/cluster/discovery.ts'
import { findResource, secretNames, type WatchRequest } from '../../src/cluster/feed.ts'
import { loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { servedKind } from '../../src/cluster/list.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Redactor } from '../../src/cluster/redact.ts'
import { Reflector } from '../../src/cluster/reflector.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { rows } from '../kit/rows.ts'
import { play, type Verbs } from '../kit/steps.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'
import { ManualClock } from './manual-clock.ts'
import { Observations } from './observations.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const pods: WatchRequest = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
const web = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web' }
/**
 * The random number of the clock is 0.5: a watch is requested for 45 s + 8 s, and ends after 10 s more at the latest.
 */
const timeoutMs = 53_000
const overdueMs = 63_000
const silenceMs = 30_000

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function setUp(options: ApiServerOptions = {}) {
  const server = await startApiServer(options)
  endings.push(() => server.close())
  server.apply(podNamed('web'))
  return { server, clock: new ManualClock(), observed: new Observations() }
}

function podNamed(name: string, labels: Record<string, string> = {}) {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop', labels }, spec: { nodeName: '' } }
}

interface Setting {
  server: ApiServer
  clock: ManualClock
  observed: Observations
}

function follow({ server, clock, observed }: Setting, request: WatchRequest = pods) {
  const load = () => loadKubeconfig({ kubeconfig: server.kubeconfig({ token: 'first-token' }) })
  const client = new Client(load(), load, { clock, secrets: new Secrets(), userAgent: 'rollout-gate/test', env: {} })
  const path = async () => {
    const resource = findResource(server.discovery.resources, servedKind(request))
    return resource ? collectionPath(resource, request.namespace) : '/apis/gone.example/v1/things'
  }
  const reflector = new Reflector(request, {
    client,
    clock,
    redactor: new Redactor(),
    path,
    kindState: async () => (findResource(server.discovery.resources, request) ? 'served' : 'gone'),
    sink: observed.sink,
    isWatchedElsewhere: () => false,
  })
  const running = reflector.run()
  endings.push(async () => {
    reflector.close()
    client.close()
    await running
  })
  return reflector
}

/** Resolves once the watch is open for client and server, and no other timer is pending. */
const watching = ({ clock }: Setting) => clock.untilPending(silenceMs, overdueMs)
const lists = (server: ApiServer) =>
  server.requests.filter(({ query, path }) => !query.has('watch') && path.endsWith('/pods'))
const watches = (server: ApiServer) => server.requests.filter(({ query }) => query.has('watch'))

/** What the words of a step do; a number is a delay in milliseconds, or a count. */
const verbs: Verbs<Following> = {
  follows: (following) => {
    following.reflector = follow(following)
  },
  watches: (following) => watching(following),
  // Waits until exactly these timers are pending.
  waits: ({ clock }, delays) => clock.untilPending(...delays.map(Number)),
  advances: ({ clock }, [ms]) => clock.advance(Number(ms)),
  // `passes 100`, `passes 5000 x10`: waits until only this timer is pending, and lets it end; so many times.
  passes: async ({ clock }, [ms, times = 'x1']) => {
    for (let left = Number(times.slice(1)); left > 0; left--) {
      await clock.untilPending(Number(ms))
      clock.advance(Number(ms))
    }
  },
  // `sees ADDED web`, `sees ADDED web twice`: waits until it was reported.
  sees: ({ observed }, words) =>
    observed.until(words.filter((word) => word !== 'twice').join(' '), words.includes('twice') ? 2 : 1),
  says: ({ observed }, words) =>
    expect(observed.all.at(-1)).toMatchObject({ message: expect.stringContaining(words.join(' ')) }),
  // Waits for so many requests of lists or of watches; `exactly`: expects them.
  lists: ({ server }, [count, exactly]) =>
    exactly
      ? expect(lists(server)).toHaveLength(Number(count))
      : server.until((each) => lists(each).length === Number(count)),
  opens: ({ server }, [count]) => server.until((each) => watches(each).length === Number(count)),
  refreshes: ({ reflector }) => reflector?.refresh(),
  'begins-refresh': (following) => {
    following.refreshed = following.reflector?.refresh()
  },
  'ends-refresh': ({ refreshed }) => refreshed,
  closes: ({ server, reflector }) => {
    reflector?.close()
    return server.until(({ openWatches }) => openWatches.length === 0)
  },
  adds: ({ server }, [name = '']) => server.apply(podNamed(name)),
  changes: ({ server }, [name = '', phase]) => server.patch({ ...web, name }, { status: { phase } }),
  removes: ({ server }, [name = '']) => server.remove({ ...web, name }),
  hangs: ({ server }) => server.hang(true),
  answers: ({ server }) => server.hang(false),
  ends: ({ server }) => server.endWatches(),
  cuts: ({ server }, [where]) => server.cutWatches({ midEvent: where === 'mid-event' }),
  bookmarks: ({ server }) => server.sendBookmarks(),
  compacts: ({ server }) => server.compact(),
  errs: ({ server }, [status]) => server.errorWatches(Number(status)),
  stops: ({ server }) => server.stop(),
  starts: ({ server }) => server.start(),
  denies: ({ server }, [verb = '']) => server.deny({ verb, resource: 'pods' }),
  allows: ({ server }) => server.allowAll(),
  fails: ({ server }, [status, seconds]) => server.failNext(1, Number(status), { retryAfterSeconds: Number(seconds) }),
}

interface Following extends Setting {
  reflector?: Reflector
  refreshed?: Promise<void> | undefined
}

test.each(rows<[string, readonly string[], readonly string[]]>(data, 'what is reported'))(
  '%s',
  async (_, steps, reported) => {
    const following: Following = await setUp()
    await play(steps, verbs, following)
    expect(following.observed.words).toEqual(reported)
  },
)

describe('lists and watches', () => {
  test('share the equal parts of the specs of pods with the same owner', async () => {
    const setting = await setUp()
    const owned = (name: string, image: string, nodeName: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: 'shop',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'owner', controller: true }],
      },
      spec: { nodeName, containers: [{ name: 'app', image }] },
    })
    setting.server.apply(owned('one', 'app:1', 'node-1'))
    setting.server.apply(owned('two', 'app:1', 'node-2'))
    setting.server.apply(owned('other', 'app:2', 'node-1'))
    follow(setting)
    await setting.observed.until('SYNCED Pod')
    const specOf = (name: string) => {
      const found = setting.observed.all.find((each) => 'object' in each && each.object.metadata.name === name)
      return (found as { object: { spec: { containers: object[]; nodeName: string } } }).object.spec
    }
    expect(specOf('two').containers).toBe(specOf('one').containers)
    expect(specOf('two').nodeName).toBe('node-2')
    expect(specOf('other').containers).toEqual([{ name: 'app', image: 'app:2' }])
  })

  test('report objects with their kind, and SYNCED with the whole request', async () => {
    const setting = await setUp()
    const request = { ...pods, name: 'web', labelSelector: 'app=web' }
    setting.server.apply(podNamed('web', { app: 'web' }))
    follow(setting, request)
    await setting.observed.until('SYNCED Pod')
    expect(setting.observed.all).toMatchObject([
      { type: 'ADDED', object: { apiVersion: 'v1', kind: 'Pod' } },
      { type: 'SYNCED', ...request },
    ])
  })

  test('send the name and labels of the request to the server', async () => {
    const setting = await setUp()
    setting.server.apply(podNamed('api', { app: 'api' }))
    setting.server.apply(podNamed('other', { app: 'api' }))
    follow(setting, { ...pods, name: 'api', labelSelector: 'app=api' })
    await watching(setting)
    expect(setting.observed.words).toEqual(['ADDED api', 'SYNCED Pod'])
    const [watch] = watches(setting.server)
    expect(watch?.query.get('fieldSelector')).toBe('metadata.name=api')
    expect(watch?.query.get('labelSelector')).toBe('app=api')
  })

  test('miss no change between a list and its watch', async () => {
    const setting = await setUp()
    let changed = false
    setting.observed.until('SYNCED Pod').then(() => {
      setting.server.patch(web, { status: { phase: 'Running' } })
      changed = true
    })
    follow(setting)
    await setting.observed.until('MODIFIED web')
    expect(changed).toBe(true)
  })

  test('read long lists in pages, and list again if the snapshot expires', async () => {
    const setting = await setUp()
    for (let index = 0; index < 1100; index++) setting.server.apply(podNamed(`p${index}`))
    setting.server.failNext(1, 410, { filter: ({ query }) => query.has('continue') })
    follow(setting)
    await setting.observed.until('SYNCED Pod')
    expect(setting.observed.words.filter((words) => words.startsWith('ADDED'))).toHaveLength(1101)
    expect(setting.observed.words).not.toContain('ERROR 410')
    expect(lists(setting.server).map(({ query }) => query.get('limit'))).toEqual(['500', '500', null])
  })

  test('join an event that arrives in several parts', async () => {
    const setting = await setUp()
    setting.server.splitEvents(7)
    follow(setting)
    await watching(setting)
    setting.server.patch(web, { metadata: { annotations: { note: 'schöne Grüße ✓' } } })
    await setting.observed.until('MODIFIED web')
    expect(setting.observed.all.at(-1)).toMatchObject({
      object: { metadata: { annotations: { note: 'schöne Grüße ✓' } } },
    })
  })

  test('request bookmarks and end within a minute', async () => {
    const setting = await setUp()
    follow(setting)
    await watching(setting)
    const [watch] = watches(setting.server)
    expect(watch?.query.get('allowWatchBookmarks')).toBe('true')
    expect(watch?.query.get('timeoutSeconds')).toBe(String(timeoutMs / 1000))
  })
})

describe('the next watch', () => {
  test('starts where the previous watch ended after its timeout, without a list', async () => {
    const setting = await setUp()
    follow(setting)
    await watching(setting)
    setting.server.patch(web, { status: { phase: 'Running' } })
    await setting.observed.until('MODIFIED web')
    setting.server.endWatches()
    await setting.server.until((server) => watches(server).length === 2)
    expect(lists(setting.server)).toHaveLength(1)
    expect(watches(setting.server)[1]?.query.get('resourceVersion')).toBe(
      setting.server.get(web)?.metadata.resourceVersion,
    )
  })

  test('starts at the last bookmark', async () => {
    const setting = await setUp()
    follow(setting)
    await watching(setting)
    setting.server.apply({ ...podNamed('elsewhere'), metadata: { name: 'elsewhere', namespace: 'other' } })
    setting.server.sendBookmarks()
    setting.server.endWatches()
    await setting.server.until((server) => watches(server).length === 2)
    expect(Number(watches(setting.server)[1]?.query.get('resourceVersion'))).toBeGreaterThan(
      Number(watches(setting.server)[0]?.query.get('resourceVersion')),
    )
  })

  test.each(['event', 'status'] as const)(
    'an expired resource version (410 as %s) leads to a list whose differences are reported',
    async (as) => {
      const setting = await setUp()
      setting.server.apply(podNamed('goes'))
      setting.server.apply(podNamed('stays'))
      follow(setting)
      await watching(setting)
      setting.server.hang(true)
      setting.server.patch(web, { status: { phase: 'Running' } })
      const last = setting.server.get({ ...web, name: 'goes' })
      setting.server.remove({ ...web, name: 'goes' })
      setting.server.apply(podNamed('new'))
      setting.server.compact({ as })
      setting.server.cutWatches()
      setting.server.hang(false)
      await setting.clock.untilPending(100)
      setting.clock.advance(100)
      await setting.observed.until('ADDED new')
      await watching(setting)
      expect(setting.observed.words.slice(4).sort()).toEqual(['ADDED new', 'DELETED goes', 'MODIFIED web'])
      expect(setting.observed.all.find(({ type }) => type === 'DELETED')).toMatchObject({
        object: { metadata: { uid: last?.metadata.uid } },
      })
    },
  )

  describe('after a server was restored from a backup, the lower resource versions', () => {
    async function restored() {
      const setting = await setUp()
      for (let count = 0; count < 200; count++) setting.server.patch(web, { status: { message: `${count}` } })
      follow(setting)
      await watching(setting)
      await setting.server.restoreBackup()
      await setting.clock.untilPending(100)
      setting.clock.advance(100)
      await watching(setting)
      // The next watch starts at a version that the server does not have yet: it receives no changes.
      setting.server.patch(web, { status: { phase: 'Running' } })
      return setting
    }

    /** Its versions cannot be compared with those before: objects without a version replace the known ones. */
    async function expectFound({ observed, server }: Setting) {
      await observed.until('MODIFIED web')
      expect(observed.all.at(-1)).toMatchObject({ object: { status: { phase: 'Running' } } })
      expect((observed.all.at(-1) as { object: KubeObject }).object.metadata.resourceVersion).toBeUndefined()
      server.patch(web, { status: { phase: 'Failed' } })
      await observed.until('MODIFIED web', 2)
    }

    test('are detected by a bookmark', async () => {
      const setting = await restored()
      setting.server.sendBookmarks()
      await expectFound(setting)
    })

    test('are detected by the small list after silence', async () => {
      const setting = await restored()
      setting.clock.advance(silenceMs)
      await expectFound(setting)
    })
  })

  test.each([
    ['that is no JSON', undefined, 'not JSON'],
    ['that is null', 'null', 'not an event'],
    ['without a name', '{"type":"ADDED","object":{"metadata":{"resourceVersion":"99"}}}', 'not an event'],
    [
      'with a number as name',
      '{"type":"ADDED","object":{"metadata":{"resourceVersion":"99","name":7}}}',
      'not an event',
    ],
    ['with a list as object', '{"type":"DELETED","object":[{"metadata":null}]}', 'not an event'],
  ])('a line %s is reported, and its change is found by a list', async (_, line, message) => {
    const setting = await setUp()
    follow(setting)
    await watching(setting)
    setting.server.sendBrokenLine(line)
    await setting.observed.until('ERROR 0')
    expect(setting.observed.all.at(-1)).toMatchObject({ message: expect.stringContaining(message), kind: 'Pod' })
    await setting.clock.untilPending(100)
    setting.clock.advance(100)
    await setting.observed.until('ALIVE')
    expect(lists(setting.server)).toHaveLength(2)
  })
})

describe('a silent watch', () => {
  test('leads to a small list after 30 s and is opened again', async () => {
    const setting = await setUp()
    follow(setting)
    await setting.clock.untilPending(silenceMs, overdueMs)
    setting.clock.advance(silenceMs)
    await setting.server.until((server) => watches(server).length === 2)
    expect(lists(setting.server)[1]?.query.get('limit')).toBe('1')
    expect(lists(setting.server)).toHaveLength(2)
    expect(setting.observed.words).toEqual(['ADDED web', 'SYNCED Pod'])
  })
})

describe('a failed list', () => {
  test('of a missing kind is reported as 404', async () => {
    const setting = await setUp()
    follow(setting, { apiVersion: 'gone.example/v1', kind: 'Thing' })
    await setting.observed.until('ERROR 404')
    await setting.clock.untilPending(5_000)
  })

  test('with credentials that are refused twice is final', async () => {
    const setting = await setUp({ tokens: ['first-token'] })
    follow(setting)
    await watching(setting)
    setting.server.refuseTokens()
    setting.server.endWatches()
    await setting.clock.untilPending(100)
    setting.clock.advance(100)
    await setting.clock.untilPending(20_000)
    expect(setting.observed.words).toEqual(['ADDED web', 'SYNCED Pod', 'ERROR 401'])
    expect(setting.observed.all.at(-1)).toMatchObject({ final: true })
    expect(watches(setting.server)).toHaveLength(3)
  })

  test('of a later page of a list reports the page before as the last success', async () => {
    const setting = await setUp()
    for (let index = 0; index < 600; index++) setting.server.apply(podNamed(`p${index}`))
    follow(setting)
    await watching(setting)
    setting.clock.advance(20_000)
    setting.server.failNext(1, 410, { filter: ({ query }) => query.has('watch') })
    setting.server.failNext(1, 500, { filter: ({ query }) => query.has('continue') })
    setting.server.endWatches()
    await setting.observed.until('ERROR 500')
    expect(setting.observed.all.at(-1)).toMatchObject({ lastSuccessAt: setting.clock.now() })
  })
})

describe('a refresh', () => {
  test('ends with a report that the server does not answer, with the time of the last success', async () => {
    const setting = await setUp()
    const reflector = follow(setting)
    await watching(setting)
    const lastSuccessAt = setting.clock.now()
    setting.server.hang(true)
    setting.clock.advance(20_000)
    const refreshed = reflector.refresh()
    await setting.server.until((server) => lists(server).length === 2)
    setting.clock.advance(10_000)
    await refreshed
    expect(setting.observed.all.at(-1)).toMatchObject({ type: 'ERROR', code: 0, lastSuccessAt })
  })

  test('of a closed reflector does not hang', async () => {
    const setting = await setUp()
    const reflector = follow(setting)
    await setting.observed.until('SYNCED Pod')
    reflector.close()
    await expect(reflector.refresh()).resolves.toBeUndefined()
  })
})

test('the names of Secrets are listed without their data and annotations', async () => {
  const setting = await setUp()
  const secret = (data: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'web-tls',
      namespace: 'shop',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': data },
    },
    data: { 'tls.key': data },
  })
  setting.server.apply(secret('first'))
  follow(setting, { ...secretNames, namespace: 'shop', name: 'web-tls' })
  await watching(setting)
  setting.server.apply(secret('second'))
  await setting.observed.until('MODIFIED web-tls')
  expect(setting.observed.words).toEqual(['ADDED web-tls', 'SYNCED SecretName', 'MODIFIED web-tls'])
  expect(JSON.stringify(setting.observed.all)).not.toMatch(/first|second|tls\.key/)
  expect(setting.server.requests.map(({ headers }) => headers['accept']).every((each) => each?.includes(';as='))).toBe(
    true,
  )
})
