import { request as tlsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Deployment } from '../../src/cluster/objects.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from './api-server.ts'
import { eventText, getJson, type Item, type List, openLines, openWatch } from './requests.ts'
import type { Status } from './status.ts'

const servers: ApiServer[] = []

async function start(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await startApiServer(options)
  servers.push(server)
  return server
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

function podNamed(name: string, labels: Record<string, string> = {}, phase = 'Pending') {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels },
    spec: { containers: [{ name: 'app', image: 'acme/app:1' }] },
    status: { phase },
  }
}

function podRef(name: string) {
  return { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name }
}

const PODS = '/api/v1/namespaces/shop/pods'
const WEB_LOG = { namespace: 'shop', pod: 'web', container: 'app' }

function namesOf({ items }: List): string[] {
  return items.map(({ metadata }) => metadata.name)
}

describe('the store', () => {
  const web: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { replicas: 1 },
    status: { observedGeneration: 1 },
  }

  test('gives a new object a uid, a creation timestamp, generation 1 and a resource version', async () => {
    const { metadata } = (await start()).apply(web)
    expect(metadata).toMatchObject({
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      generation: 1,
      resourceVersion: expect.stringMatching(/^\d+$/),
    })
  })

  test('increases the generation only when the spec changes', async () => {
    const server = await start()
    const created = server.apply(web)
    const scaled = server.apply({ ...web, spec: { replicas: 2 } })
    expect(scaled.metadata).toMatchObject({ uid: created.metadata.uid, generation: 2 })
    const observed = server.patch({ ...web, ...web.metadata }, { status: { observedGeneration: 2 } })
    expect(observed.metadata.generation).toBe(2)
    expect(server.patch({ ...web, ...web.metadata }, { spec: { replicas: 3 } }).metadata.generation).toBe(3)
  })

  test('keeps the status of an object that is applied without one', async () => {
    const server = await start()
    server.apply(web)
    const { status: _, ...manifest } = web
    expect(server.apply({ ...manifest, spec: { replicas: 2 } }).status).toEqual(web.status)
  })

  test('ignores a write that changes nothing', async () => {
    const server = await start()
    expect(server.apply(web).metadata.resourceVersion).toBe(server.apply(web).metadata.resourceVersion)
  })

  test('rejects a kind that it does not serve', async () => {
    const server = await start()
    expect(() => server.apply({ apiVersion: 'acme.io/v1', kind: 'Anvil', metadata: { name: 'a' } })).toThrow(
      'The server does not serve Anvil in acme.io/v1',
    )
  })

  test('serves an object in every version of its group', async () => {
    const server = await start()
    server.apply({ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'web' } })
    const path = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/web'
    expect(await getJson<Item>(server, path)).toMatchObject({ apiVersion: 'autoscaling/v1' })
  })
})

describe('a list', () => {
  test('is sorted by name, and items of built-in kinds have no kind and apiVersion', async () => {
    const server = await start()
    server.apply(podNamed('b'))
    server.apply(podNamed('a'))
    const list = await getJson<List>(server, PODS)
    expect(list.kind).toBe('PodList')
    expect(namesOf(list)).toEqual(['a', 'b'])
    expect(list.items[0]).not.toHaveProperty('kind')
    expect(list.items[0]).not.toHaveProperty('apiVersion')
  })

  test('of custom resources has kind and apiVersion in its items', async () => {
    const server = await start()
    server.discovery.serve({
      group: 'acme.io',
      version: 'v1',
      kind: 'Anvil',
      plural: 'anvils',
      namespaced: true,
      status: true,
      verbs: ['get', 'list', 'watch'],
    })
    server.apply({ apiVersion: 'acme.io/v1', kind: 'Anvil', metadata: { name: 'a' } })
    const { items } = await getJson<List>(server, '/apis/acme.io/v1/anvils')
    expect(items[0]).toMatchObject({ apiVersion: 'acme.io/v1', kind: 'Anvil' })
  })

  test('has pages of one revision, whatever is written between them', async () => {
    const server = await start()
    for (const name of ['a', 'b', 'c', 'd']) server.apply(podNamed(name))
    const first = await getJson<List>(server, `${PODS}?limit=2`)
    expect(first.metadata.remainingItemCount).toBe(2)
    server.apply(podNamed('bb'))
    server.remove(podRef('c'))
    const second = await getJson<List>(server, `${PODS}?limit=2&continue=${first.metadata.continue}`)
    expect([...namesOf(first), ...namesOf(second)]).toEqual(['a', 'b', 'c', 'd'])
    expect(second.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion })
  })

  test('cannot be continued after a compaction', async () => {
    const server = await start()
    for (const name of ['a', 'b']) server.apply(podNamed(name))
    const first = await getJson<List>(server, `${PODS}?limit=1`)
    server.compact()
    const path = `${PODS}?limit=1&continue=${first.metadata.continue}`
    expect(await getJson<Status>(server, path)).toMatchObject({ code: 410, reason: 'Expired' })
  })

  test('from version 0 is not paged, and one from the future times out', async () => {
    const server = await start()
    for (const name of ['a', 'b']) server.apply(podNamed(name))
    expect(namesOf(await getJson<List>(server, `${PODS}?limit=1&resourceVersion=0`))).toEqual(['a', 'b'])
    expect(await getJson<Status>(server, `${PODS}?resourceVersion=99999`)).toMatchObject({
      code: 504,
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
    })
  })

  test.each([
    ['labelSelector=app%3Dweb', ['a', 'b']],
    ['labelSelector=app==web,tier!=db', ['a']],
    ['labelSelector=app in (web,api)', ['a', 'b', 'c']],
    ['labelSelector=tier notin (db),app', ['a', 'c']],
    ['labelSelector=!app', ['d']],
    ['fieldSelector=metadata.name%3Da', ['a']],
    ['fieldSelector=metadata.name!=a,status.phase=Running', ['c']],
  ])('narrowed by a selector holds what it selects (%#)', async (query, names) => {
    const server = await start()
    server.apply(podNamed('a', { app: 'web' }))
    server.apply(podNamed('b', { app: 'web', tier: 'db' }))
    server.apply(podNamed('c', { app: 'api' }, 'Running'))
    server.apply(podNamed('d'))
    expect(namesOf(await getJson<List>(server, `${PODS}?${query}`))).toEqual(names)
  })

  test('of events can be filtered by their involved object', async () => {
    const server = await start()
    for (const name of ['a', 'b']) {
      const involvedObject = { kind: 'Pod', name, uid: `uid-${name}` }
      server.apply({
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: `${name}.1` },
        involvedObject,
        reason: 'Failed',
      })
    }
    const query = 'fieldSelector=involvedObject.kind=Pod,involvedObject.uid=uid-b'
    expect(namesOf(await getJson<List>(server, `/api/v1/events?${query}`))).toEqual(['b.1'])
  })

  test.each(['fieldSelector=spec.colour=red', 'labelSelector=a in b', 'resourceVersion=new'])(
    'refuses %s with 400',
    async (query) => {
      expect(await getJson<Status>(await start(), `${PODS}?${query}`)).toMatchObject({
        code: 400,
        reason: 'BadRequest',
      })
    },
  )

  test('that is large is compressed for clients that accept gzip', async () => {
    const server = await start()
    server.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'big' },
      data: { text: 'x'.repeat(200_000) },
    })
    const response = await fetch(`${server.url}/api/v1/configmaps`, { headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(namesOf((await response.json()) as List)).toEqual(['big'])
  })
})

describe('a watch', () => {
  test('starts after its resource version and misses nothing', async () => {
    const server = await start()
    server.apply(podNamed('a'))
    const { metadata } = await getJson<List>(server, PODS)
    server.apply(podNamed('b'))
    const next = await openWatch(server, `${PODS}?watch=1&resourceVersion=${metadata.resourceVersion}`)
    server.patch(podRef('a'), { status: { phase: 'Running' } })
    server.remove(podRef('b'))
    const events = [await next(), await next(), await next()]
    expect(events.map(eventText)).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b'])
    expect(events[0]?.object).toMatchObject({ kind: 'Pod', apiVersion: 'v1' })
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion))
    const first = Number(metadata.resourceVersion)
    expect(versions).toEqual([first + 1, first + 2, first + 3])
  })

  test('without a version starts with all objects', async () => {
    const server = await start()
    server.apply(podNamed('a'))
    const next = await openWatch(server, `${PODS}?watch=true`)
    expect(eventText(await next())).toBe('ADDED a')
  })

  test('has only events of its namespace and kind', async () => {
    const server = await start()
    const next = await openWatch(server, `${PODS}?watch=1`)
    server.apply({ ...podNamed('elsewhere'), metadata: { name: 'elsewhere', namespace: 'other' } })
    server.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'config', namespace: 'shop' } })
    server.apply(podNamed('here'))
    expect(eventText(await next())).toBe('ADDED here')
  })

  test('reports an object that no longer matches as deleted, with its last matching state and the version of the change', async () => {
    const server = await start()
    server.apply(podNamed('a', { app: 'web' }))
    const next = await openWatch(server, `${PODS}?watch=1&labelSelector=app=web`)
    await next()
    const changed = server.apply(podNamed('a', { app: 'other' }))
    const { type, object } = await next()
    expect(type).toBe('DELETED')
    expect(object.metadata.labels).toEqual({ app: 'web' })
    expect(object.metadata.resourceVersion).toBe(changed.metadata.resourceVersion)
    server.apply(podNamed('a', { app: 'web' }))
    expect(eventText(await next())).toBe('ADDED a')
  })

  test('from a compacted version gets 410 as an event and ends', async () => {
    const server = await start()
    const { metadata } = await getJson<List>(server, PODS)
    server.compact()
    const next = await openLines(server, `${PODS}?watch=1&resourceVersion=${metadata.resourceVersion}`)
    expect(JSON.parse((await next()) ?? '')).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })
    expect(await next()).toBeUndefined()
  })

  test('from a compacted version gets 410 as a status if requested', async () => {
    const server = await start()
    const { metadata } = await getJson<List>(server, PODS)
    server.compact({ as: 'status' })
    const response = await fetch(`${server.url}${PODS}?watch=1&resourceVersion=${metadata.resourceVersion}`)
    expect(response.status).toBe(410)
  })

  test('from the version of a list after a compaction works', async () => {
    const server = await start()
    server.compact()
    const { metadata } = await getJson<List>(server, PODS)
    const next = await openWatch(server, `${PODS}?watch=1&resourceVersion=${metadata.resourceVersion}`)
    server.apply(podNamed('a'))
    expect(eventText(await next())).toBe('ADDED a')
  })

  test('ends after its timeout', async () => {
    const next = await openLines(await start(), `${PODS}?watch=1&timeoutSeconds=1`)
    expect(await next()).toBeUndefined()
  })

  test('gets bookmarks if it requested them', async () => {
    const server = await start({ bookmarkEveryMs: 20 })
    const { metadata } = server.apply(podNamed('a'))
    const query = `watch=1&resourceVersion=${metadata.resourceVersion}`
    const next = await openWatch(server, `${PODS}?${query}&allowWatchBookmarks=true`)
    expect(await next()).toMatchObject({
      type: 'BOOKMARK',
      object: { kind: 'Pod', metadata: { resourceVersion: metadata.resourceVersion } },
    })
    const plain = await openWatch(server, `${PODS}?${query}`)
    await next()
    server.apply(podNamed('b'))
    expect(eventText(await plain())).toBe('ADDED b')
  })
})

describe('discovery', () => {
  const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

  interface AggregatedList {
    kind: string
    items: {
      metadata: { name?: string }
      versions: { version: string; freshness: string; resources?: { resource: string }[] }[]
    }[]
  }

  test('is one document for clients that request aggregated discovery', async () => {
    const server = await start()
    const response = await fetch(`${server.url}/apis`, { headers: { accept: AGGREGATED } })
    expect(response.headers.get('content-type')).toContain('as=APIGroupDiscoveryList')
    const { kind, items } = (await response.json()) as AggregatedList
    expect(kind).toBe('APIGroupDiscoveryList')
    const apps = items.find(({ metadata }) => metadata.name === 'apps')
    expect(apps?.versions[0]?.resources).toContainEqual(
      expect.objectContaining({
        resource: 'deployments',
        responseKind: { group: 'apps', version: 'v1', kind: 'Deployment' },
        scope: 'Namespaced',
        singularResource: 'deployment',
        shortNames: ['deploy'],
        categories: ['all'],
        subresources: expect.arrayContaining([expect.objectContaining({ subresource: 'status' })]),
      }),
    )
    const autoscaling = items.find(({ metadata }) => metadata.name === 'autoscaling')
    expect(autoscaling?.versions.map(({ version }) => version)).toEqual(['v2', 'v1'])
    const core = await getJson<AggregatedList>(server, '/api', { headers: { accept: AGGREGATED } })
    expect(core.items[0]?.versions[0]?.resources?.map(({ resource }) => resource)).toContain('pods')
  })

  test('lists a group whose server is down, without its resources', async () => {
    const server = await start()
    server.discovery.markStale('metrics.k8s.io/v1beta1')
    const { items } = await getJson<AggregatedList>(server, '/apis', { headers: { accept: AGGREGATED } })
    const metrics = items.find(({ metadata }) => metadata.name === 'metrics.k8s.io')
    expect(metrics?.versions).toEqual([{ version: 'v1beta1', freshness: 'Stale' }])
    expect(await getJson<Status>(server, '/apis/metrics.k8s.io/v1beta1')).toMatchObject({ code: 503 })
  })

  test('follows added and removed resources', async () => {
    const server = await start()
    const anvil = { group: 'acme.io', version: 'v1', kind: 'Anvil', plural: 'anvils', namespaced: true, status: true }
    server.discovery.serve(anvil)
    expect(await getJson(server, '/apis/acme.io/v1')).toMatchObject({ kind: 'APIResourceList' })
    server.discovery.unserve(anvil)
    expect(await getJson<Status>(server, '/apis/acme.io/v1')).toMatchObject({ code: 404 })
  })
})

describe('a refusal', () => {
  test('of a missing object is the 404 of the real server', async () => {
    const path = '/apis/apps/v1/namespaces/shop/deployments/web'
    expect(await getJson<Status>(await start(), path)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'deployments.apps "web" not found',
      reason: 'NotFound',
      details: { name: 'web', group: 'apps', kind: 'deployments' },
      code: 404,
    })
  })

  test('of an unknown resource is a Status, of an unknown path plain text', async () => {
    const server = await start()
    expect(await getJson<Status>(server, '/api/v1/anvils')).toMatchObject({
      code: 404,
      message: 'the server could not find the requested resource',
    })
    expect(await (await fetch(`${server.url}/nowhere`)).text()).toBe('404 page not found\n')
  })

  test('of a write is 405', async () => {
    const server = await start()
    server.apply(podNamed('web'))
    const answer = await getJson<Status>(server, `${PODS}/web`, { method: 'DELETE' })
    expect(answer.code).toBe(405)
    expect(server.get(podRef('web'))).toBeDefined()
  })

  test('for a missing permission names user, verb, resource and namespace', async () => {
    const server = await start()
    server.deny({ verb: 'list', resource: 'deployments', namespace: 'shop' })
    const path = '/apis/apps/v1/namespaces/shop/deployments'
    expect(await getJson<Status>(server, path)).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message:
        'deployments.apps is forbidden: User "system:serviceaccount:ci:deployer" cannot list resource "deployments" in API group "apps" in the namespace "shop"',
      details: { group: 'apps', kind: 'deployments' },
    })
    expect(await getJson<Status>(server, '/apis/apps/v1/deployments')).toMatchObject({ kind: 'DeploymentList' })
    server.allowAll()
    expect(await getJson<List>(server, path)).toMatchObject({ kind: 'DeploymentList' })
  })

  test('of cluster-scoped requests leaves the namespaces allowed', async () => {
    const server = await start()
    server.deny({ verb: '*', resource: '*', namespace: '' })
    expect(await getJson<Status>(server, '/api/v1/pods')).toMatchObject({
      code: 403,
      message: expect.stringContaining('at the cluster scope'),
    })
    expect(await getJson<List>(server, PODS)).toMatchObject({ kind: 'PodList' })
  })

  test('of logs does not affect pods', async () => {
    const server = await start()
    server.apply(podNamed('web'))
    server.deny({ verb: 'get', resource: 'pods/log' })
    expect(await getJson<Status>(server, `${PODS}/web/log`)).toMatchObject({ code: 403 })
    expect(await getJson<Item>(server, `${PODS}/web`)).toMatchObject({ kind: 'Pod' })
  })

  test('of a token is 401, for unknown and for refused tokens', async () => {
    const server = await start({ tokens: ['good'] })
    const headers = { authorization: 'Bearer good' }
    expect(await getJson<Status>(server, PODS)).toMatchObject({ code: 401, message: 'Unauthorized' })
    expect(await getJson<List>(server, PODS, { headers })).toMatchObject({ kind: 'PodList' })
    server.refuseTokens()
    expect(await getJson<Status>(server, PODS, { headers })).toMatchObject({ code: 401 })
    server.acceptTokens(['good'])
    expect(await getJson<List>(server, PODS, { headers })).toMatchObject({ kind: 'PodList' })
  })
})

describe('an access review', () => {
  const path = '/apis/authorization.k8s.io/v1'

  test('allows all requests that are not denied', async () => {
    const server = await start()
    server.deny({ verb: 'get', resource: 'pods/log', namespace: 'shop' })
    const review = (resourceAttributes: object) =>
      getJson<{ status: { allowed: boolean } }>(server, `${path}/selfsubjectaccessreviews`, {
        method: 'POST',
        body: JSON.stringify({ spec: { resourceAttributes } }),
      })
    const log = { verb: 'get', resource: 'pods', subresource: 'log' }
    expect((await review({ ...log, namespace: 'shop' })).status.allowed).toBe(false)
    expect((await review({ ...log, namespace: 'other' })).status.allowed).toBe(true)
    expect((await review({ verb: 'get', resource: 'pods', namespace: 'shop' })).status.allowed).toBe(true)
  })

  test('in another format than JSON is refused', async () => {
    const init = { method: 'POST', body: 'k8s\0' }
    const answer = await getJson<Status>(await start(), `${path}/selfsubjectaccessreviews`, init)
    expect(answer).toMatchObject({ code: 415, reason: 'UnsupportedMediaType' })
  })

  test('of the rules omits denied resources', async () => {
    const server = await start()
    const review = () =>
      getJson<{ status: object }>(server, `${path}/selfsubjectrulesreviews`, {
        method: 'POST',
        body: JSON.stringify({ spec: { namespace: 'shop' } }),
      })
    expect((await review()).status).toMatchObject({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    })
    server.deny({ verb: 'watch', resource: 'pods' })
    server.deny({ verb: '*', resource: 'secrets' })
    const { resourceRules } = (await review()).status as { resourceRules: { resources: string[]; verbs: string[] }[] }
    const verbsOf = (resource: string) => resourceRules.find(({ resources }) => resources.includes(resource))?.verbs
    expect(verbsOf('pods')).toEqual(expect.arrayContaining(['get', 'list']))
    expect(verbsOf('pods')).not.toContain('watch')
    expect(verbsOf('secrets')).toBeUndefined()
  })
})

describe('a log', () => {
  async function log(server: ApiServer, query = ''): Promise<string> {
    return (await fetch(`${server.url}${PODS}/web/log?${query}`)).text()
  }

  test('is limited to a tail and to a number of bytes', async () => {
    const server = await start()
    server.apply(podNamed('web'))
    server.setLog(WEB_LOG, 'one\ntwo\nthree\n')
    server.setLog({ ...WEB_LOG, previous: true }, 'before\n')
    expect(await log(server)).toBe('one\ntwo\nthree\n')
    expect(await log(server, 'container=app&tailLines=2')).toBe('two\nthree\n')
    expect(await log(server, 'tailLines=2&limitBytes=5')).toBe('two\nt')
    expect(await log(server, 'previous=true')).toBe('before\n')
    expect(await log(server, 'tailLines=1&timestamps=true')).toMatch(/^\d{4}-\S+Z three\n$/)
  })

  test('that does not exist is refused as by the real server', async () => {
    const server = await start()
    expect(await log(server)).toContain('pods \\"web\\" not found')
    const containers = [{ name: 'app' }, { name: 'proxy' }]
    const waiting = { name: 'app', state: { waiting: { reason: 'ContainerCreating' } } }
    server.apply({ ...podNamed('web'), spec: { containers }, status: { containerStatuses: [waiting] } })
    expect(await log(server)).toContain('a container name must be specified for pod web, choose one of: [app proxy]')
    expect(await log(server, 'container=db')).toContain('container db is not valid for pod web')
    expect(await log(server, 'container=app')).toContain('is waiting to start: ContainerCreating')
    expect(await log(server, 'container=proxy&previous=true')).toContain('previous terminated container')
    expect(await log(server, 'container=proxy')).toBe('')
  })

  test('is followed until its container ends', async () => {
    const server = await start()
    server.apply(podNamed('web'))
    server.setLog(WEB_LOG, 'one\n')
    const next = await openLines(server, `${PODS}/web/log?follow=true`)
    expect(await next()).toBe('one')
    server.appendLog(WEB_LOG, 'two\n')
    expect(await next()).toBe('two')
    server.endLog(WEB_LOG)
    expect(await next()).toBeUndefined()
  })
})

describe('a fault', () => {
  test('cut watches break and can be opened again', async () => {
    const server = await start()
    const next = await openWatch(server, `${PODS}?watch=1`)
    server.cutWatches()
    await expect(next()).rejects.toThrow()
    const again = await openWatch(server, `${PODS}?watch=1`)
    server.apply(podNamed('a'))
    expect(eventText(await again())).toBe('ADDED a')
  })

  test('a watch can be cut in the middle of an event', async () => {
    const server = await start()
    const response = await fetch(`${server.url}${PODS}?watch=1`)
    const reader = response.body?.getReader()
    server.cutWatches({ midEvent: true })
    const { value } = (await reader?.read()) ?? {}
    expect(new TextDecoder().decode(value)).toBe('{"type":"MODIFIED","object":{"kind":"')
    await expect(reader?.read()).rejects.toThrow()
  })

  test('a hanging server sends nothing; afterwards it sends everything', async () => {
    const server = await start()
    const next = await openWatch(server, `${PODS}?watch=1&timeoutSeconds=60`)
    server.hang(true)
    server.apply(podNamed('a'))
    let isAnswered = false
    const event = next().finally(() => {
      isAnswered = true
    })
    const answer = getJson<List>(server, PODS).finally(() => {
      isAnswered = true
    })
    await server.until(({ requests }) => requests.length === 2)
    expect(isAnswered).toBe(false)
    server.hang(false)
    expect(eventText(await event)).toBe('ADDED a')
    expect(namesOf(await answer)).toEqual(['a'])
  })

  test('a hanging server can be closed', async () => {
    const server = await start()
    server.hang(true)
    const answer = fetch(server.url + PODS)
    const refused = expect(answer).rejects.toThrow()
    await server.until(({ requests }) => requests.length === 1)
    await server.close()
    await refused
  })

  test('failNext fails the next requests', async () => {
    const server = await start()
    server.failNext(1, 429, { retryAfterSeconds: 3 })
    server.failNext(1, 500, { filter: ({ path }) => path.endsWith('/events') })
    const busy = await fetch(server.url + PODS)
    expect(busy.status).toBe(429)
    expect(busy.headers.get('retry-after')).toBe('3')
    expect((await fetch(server.url + PODS)).status).toBe(200)
    expect(await getJson<Status>(server, '/api/v1/events')).toMatchObject({ code: 500, reason: 'InternalError' })
    expect((await fetch(`${server.url}/api/v1/events`)).status).toBe(200)
  })

  test('requests can fail by a reset connection until stopFailing', async () => {
    const server = await start()
    server.failNext(Number.POSITIVE_INFINITY, 0)
    await expect(fetch(server.url + PODS)).rejects.toThrow()
    await expect(fetch(server.url + PODS)).rejects.toThrow()
    server.stopFailing()
    expect((await fetch(server.url + PODS)).status).toBe(200)
  })

  test('a stopped server starts again on its port with its objects', async () => {
    const server = await start()
    const { url } = server
    const { metadata } = server.apply(podNamed('a'))
    const next = await openWatch(server, `${PODS}?watch=1&resourceVersion=${metadata.resourceVersion}`)
    await server.stop()
    await expect(next()).rejects.toThrow()
    await expect(fetch(url)).rejects.toThrow()
    await server.start()
    expect(server.url).toBe(url)
    expect(namesOf(await getJson<List>(server, PODS))).toEqual(['a'])
  })

  test('a broken line is sent unchanged', async () => {
    const server = await start()
    const next = await openLines(server, `${PODS}?watch=1`)
    server.sendBrokenLine()
    const line = (await next()) ?? ''
    expect(() => JSON.parse(line)).toThrow()
  })

  test('an event can be split in the middle of characters', async () => {
    const server = await start()
    const response = await fetch(`${server.url}${PODS}?watch=1`)
    const reader = response.body?.getReader()
    server.splitEvents(7)
    const { metadata } = server.apply({
      ...podNamed('a'),
      metadata: { name: 'a', namespace: 'shop', labels: { text: '😀😀😀' } },
    })
    const chunks: Buffer[] = []
    while (chunks.at(-1)?.includes('\n') !== true) chunks.push(Buffer.from((await reader?.read())?.value ?? []))
    expect(chunks.length).toBeGreaterThan(10)
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ type: 'ADDED', object: { metadata } })
  })

  test('an ERROR event ends the watches of one resource', async () => {
    const server = await start()
    const pods = await openLines(server, `${PODS}?watch=1`)
    const events = await openWatch(server, '/api/v1/events?watch=1')
    server.errorWatches(500, 'pods')
    expect(JSON.parse((await pods()) ?? '')).toMatchObject({ type: 'ERROR', object: { code: 500 } })
    expect(await pods()).toBeUndefined()
    server.apply({ apiVersion: 'v1', kind: 'Event', metadata: { name: 'a' } })
    expect(eventText(await events())).toBe('ADDED a')
  })

  test('the clock offset is in the Date header and in timestamps', async () => {
    const server = await start({ clockOffsetMs: 3_600_000 })
    const date = Date.parse((await fetch(server.url + PODS)).headers.get('date') ?? '')
    expect(date - Date.now()).toBeGreaterThan(3_590_000)
    expect(Date.parse(server.apply(podNamed('a')).metadata.creationTimestamp ?? '') - Date.now()).toBeGreaterThan(
      3_590_000,
    )
  })
})

describe('information for tests', () => {
  test('contains the requests, in order', async () => {
    const server = await start()
    await fetch(`${server.url}${PODS}?limit=5`)
    expect(server.requests).toMatchObject([{ method: 'GET', path: PODS, url: `${PODS}?limit=5` }])
    expect(server.requests[0]?.query.get('limit')).toBe('5')
  })

  test('contains the open watches', async () => {
    const server = await start()
    const opened = server.until(({ openWatches }) => openWatches.length === 1)
    const next = await openLines(server, `${PODS}?watch=1`)
    await opened
    expect(server.openWatches).toEqual([{ plural: 'pods', url: `${PODS}?watch=1` }])
    server.endWatches()
    expect(await next()).toBeUndefined()
    await server.until(({ openWatches }) => openWatches.length === 0)
  })

  test('contains a kubeconfig for the server', async () => {
    const server = await start()
    expect(JSON.parse(server.kubeconfig({ token: 'good', namespace: 'shop' }))).toMatchObject({
      clusters: [{ cluster: { server: server.url } }],
      users: [{ user: { token: 'good' } }],
      contexts: [{ context: { namespace: 'shop' } }],
    })
  })

  test('contains a kubeconfig with the authority, over https', async () => {
    const server = await start({ tls: true })
    server.apply(podNamed('a'))
    const { clusters } = JSON.parse(server.kubeconfig()) as {
      clusters: { cluster: { 'certificate-authority-data': string } }[]
    }
    const ca = Buffer.from(clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64')
    const body = await new Promise<string>((resolve, reject) => {
      tlsRequest(server.url + PODS, { ca }, (response) => resolve(text(response)))
        .on('error', reject)
        .end()
    })
    expect(namesOf(JSON.parse(body) as List)).toEqual(['a'])
    await expect(fetch(server.url)).rejects.toThrow()
  })
})
