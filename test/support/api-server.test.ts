import { writeFileSync } from 'node:fs'
import { request as tlsRequest } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { Pod } from '../../src/cluster/objects.ts'
import { patterns, readData, requireOptions } from '../kit/rows.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from './api-server.ts'
import { folder } from './fresh-folder.ts'
import { openRecording, playRecording } from './play-recording.ts'
import { eventText, getJson, type List, openLines, openWatch, type WatchEvent } from './requests.ts'
import type { Status } from './status.ts'
import type { Manifest } from './store.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')
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

const PODS = '/api/v1/namespaces/shop/pods'

function namesOf({ items }: List): string[] {
  return items.map(({ metadata }) => metadata.name)
}

const startedAt = '2025-03-01T12:00:00.400Z'

/** The file of a recording of these events, one every 100 ms unless they have a time. */
function recording(events: readonly object[], { gzip = false, header = {} } = {}): string {
  const lines = [
    { recording: 'rollout-gate/v1', startedAt, server: 'v1.34.4', ...header },
    ...events.map((event, index) => ({ at: new Date(Date.parse(startedAt) + index * 100).toISOString(), ...event })),
  ]
  const content = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const file = join(folder, gzip ? 'recording.ndjson.gz' : 'recording.ndjson')
  writeFileSync(file, gzip ? gzipSync(content) : content)
  return file
}

/** What is done with a server, as the head of the file of data says; one of the first twelve. */
interface Step {
  readonly start?: ApiServerOptions
  readonly apply?: string | Manifest
  readonly serve?: Parameters<ApiServer['discovery']['serve']>[0]
  readonly unserve?: Parameters<ApiServer['discovery']['unserve']>[0]
  readonly call?: readonly [method: keyof ApiServer, ...values: unknown[]]
  readonly get?: string
  readonly open?: string
  readonly next?: string
  /** Asks whether these attributes are allowed. */
  readonly review?: object
  readonly record?: readonly object[]
  readonly play?: object
  readonly step?: string
  readonly with?: RequestInit
  /** Of a recording. */
  readonly gzip?: boolean
  readonly faults?: boolean
  readonly as?: string
}

/** What comes of a step. */
interface Expected {
  /** Has these fields; a text `/…/` stands for texts that the expression matches. */
  readonly is?: object
  readonly equals?: unknown
  readonly lacks?: readonly string[]
  readonly names?: readonly string[]
  readonly status?: number
  /** Type and name. */
  readonly event?: string
  /** The stream has no further line. */
  readonly ends?: true
  /** The error contains this text. */
  readonly fails?: string
}

const options =
  'start apply serve unserve call get open next review record play step with gzip faults as is equals lacks names status event ends fails'

/** Replaces `{list.metadata.resourceVersion}` by that field of an earlier result. */
function fill(value: unknown, saved: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === 'string')
    return value.replace(/\{(\w+(?:\.\w+)+)\}/g, (_, path: string) => String(fieldOf(saved, path)))
  if (Array.isArray(value)) return value.map((each) => fill(each, saved))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each, saved)]))
}

function fieldOf(saved: ReadonlyMap<string, unknown>, path: string): unknown {
  const [name = '', ...keys] = path.split('.')
  return keys.reduce((value, key) => (value as Record<string, unknown>)[key], saved.get(name))
}

/** A server, the results of the steps by their names, and the open streams. */
class Session {
  readonly #results = new Map<string, unknown>()
  readonly #streams = new Map<string, () => Promise<string | undefined>>()
  #server: ApiServer | undefined
  #recording = ''
  #player: Awaited<ReturnType<typeof openRecording>> | undefined

  async take(given: Step & Expected): Promise<void> {
    requireOptions(given, options.split(' '), [data])
    const step = fill(given, this.#results) as Step & Expected
    const result = this.#run(step)
    if (step.fails !== undefined) {
      await expect(result).rejects.toThrow(step.fails)
      return
    }
    const value = await result
    if (step.as !== undefined) this.#results.set(step.as, value)
    if (step.ends) expect(value).toBeUndefined()
    if (step.is !== undefined) expect(value).toMatchObject(patterns(step.is))
    if (step.equals !== undefined) expect(value).toEqual(patterns(step.equals))
    for (const field of step.lacks ?? []) expect(value).not.toHaveProperty(field)
    if (step.names !== undefined) expect(namesOf(value as List)).toEqual(step.names)
    if (step.event !== undefined) expect(eventText(value as WatchEvent)).toBe(step.event)
  }

  async #run(step: Step & Expected): Promise<unknown> {
    if (step.start !== undefined) this.#server = await start(step.start)
    this.#server ??= await start()
    const server = this.#server
    if (step.apply !== undefined)
      return server.apply(typeof step.apply === 'string' ? podNamed(step.apply) : step.apply)
    if (step.serve !== undefined) return server.discovery.serve(step.serve)
    if (step.unserve !== undefined) return server.discovery.unserve(step.unserve)
    if (step.call !== undefined) {
      const [method, ...values] = step.call
      return (server[method] as (...values: readonly unknown[]) => unknown).apply(server, [...values])
    }
    if (step.open !== undefined)
      return void this.#streams.set(step.as ?? step.open, await openLines(server, pathOf(step.open)))
    if (step.next !== undefined) return parse(await this.#streams.get(step.next)?.())
    if (step.review !== undefined) return review(server, 'access', { resourceAttributes: step.review })
    if (step.record !== undefined) {
      this.#recording = recording(step.record, step)
      this.#player = await openRecording(server, this.#recording, step)
    }
    if (step.play !== undefined) return playRecording(server, this.#recording, { speed: Number.POSITIVE_INFINITY })
    if (step.step !== undefined) return this.#player?.stepUntil(({ type }) => [type, 'any'].includes(step.step ?? ''))
    if (step.get === undefined) return undefined
    const response = await fetch(server.url + pathOf(step.get), step.with)
    if (step.status !== undefined) expect(response.status).toBe(step.status)
    return parse(await response.text())
  }
}

function pathOf(path: string): string {
  return path.startsWith('/') ? path : `/api/v1/namespaces/shop/${path}`
}

/** A JSON document, or any other text as it is. */
function parse(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? '')
  } catch {
    return line
  }
}

function review<T>(server: ApiServer, kind: 'access' | 'rules', spec: object): Promise<T> {
  const init = { method: 'POST', body: JSON.stringify({ spec }) }
  return getJson<T>(server, `/apis/authorization.k8s.io/v1/selfsubject${kind}reviews`, init)
}

const groups = Object.entries(readData(data) as Record<string, Record<string, readonly (Step & Expected)[]>>)

describe.each(groups)('%s', (_, cases) => {
  test.each(Object.entries(cases))('%s', async (_, steps) => {
    const session = new Session()
    for (const step of steps) await session.take(step)
  })
})

describe('a list', () => {
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
})

describe('an access review', () => {
  const path = '/apis/authorization.k8s.io/v1'
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

describe('a fault', () => {
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

function podAt(name: string, resourceVersion: string, fields: Partial<Pod> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      resourceVersion,
      generation: 1,
      creationTimestamp: '2025-03-01T11:59:50Z',
    },
    ...fields,
  }
}

describe('playing a recording', () => {
  test('takes the recorded time divided by the speed', async () => {
    const server = await start()
    const events = Array.from({ length: 11 }, () => ({ type: 'ALIVE' }))
    const file = recording(events)
    const begin = performance.now()
    await playRecording(server, file, { speed: 10 })
    expect(performance.now() - begin).toBeGreaterThanOrEqual(95)
  })

  test('can be aborted', async () => {
    const server = await start()
    const hours = { at: '2025-03-01T18:00:00.000Z', type: 'END' }
    const file = recording([{ type: 'ADDED', object: podAt('a', '1') }, hours])
    const next = await openWatch(server, `${PODS}?watch=1`)
    const abort = new AbortController()
    const refused = expect(playRecording(server, file, { signal: abort.signal })).rejects.toThrow()
    await next()
    abort.abort()
    await refused
  })

  test('shifts timestamps to now by whole seconds, and no other text', async () => {
    const server = await start()
    const status: Pod['status'] = {
      startTime: '2025-03-01T12:00:00Z',
      message: 'since 2025-03-01T12:00:00Z',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2025-03-01T12:00:01.123456Z' }],
      containerStatuses: [{ name: 'app', state: { terminated: { startedAt: '1970-01-01T00:00:00Z' } } }],
    }
    const file = recording([{ type: 'ADDED', object: podAt('a', '1', { status }) }], {
      header: { serverOffsetMs: -120 },
    })
    const before = Date.now()
    await playRecording(server, file, { speed: Number.POSITIVE_INFINITY, shiftTimes: true })
    const shown = await getJson<Pod>(server, `${PODS}/a`)
    const created = Date.parse(shown.metadata.creationTimestamp ?? '')
    // The pod was created 10.4 s before the recording began; rounding makes it up to a second older.
    expect(before - created).toBeGreaterThanOrEqual(10_000)
    expect(before - created).toBeLessThanOrEqual(11_400)
    expect(Date.parse(shown.status?.startTime ?? '') - created).toBe(10_000)
    expect(shown.status?.conditions?.[0]?.lastTransitionTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.123456Z$/)
    expect(shown.status?.message).toBe('since 2025-03-01T12:00:00Z')
    expect(shown.status?.containerStatuses).toEqual(status.containerStatuses)
    expect(server.clockOffsetMs).toBe(-120)
  })

  test('rejects a file that is not a recording, with the line of the mistake', async () => {
    const server = await start()
    const file = join(folder, 'broken.ndjson')
    writeFileSync(file, '{"kind":"List"}\n')
    await expect(openRecording(server, file)).rejects.toThrow(
      `${file} is not a recording: its first line is not a header`,
    )
    writeFileSync(file, `{"recording":"rollout-gate/v1","startedAt":"${startedAt}"}\n{"at":\n`)
    await expect(playRecording(server, file)).rejects.toThrow(`${file}, line 2 is not JSON`)
    await expect(openRecording(server, join(folder, 'missing.ndjson'))).rejects.toThrow('ENOENT')
    writeFileSync(`${file}.gz`, 'not gzip')
    await expect(openRecording(server, `${file}.gz`)).rejects.toThrow('incorrect header check')
  })
})
