import { type ApiServer, type ApiServerOptions, startApiServer } from './api-server.ts'

interface Meta {
  name: string
  namespace?: string
  uid?: string
  resourceVersion: string
  generation?: number
  creationTimestamp?: string
  labels?: Record<string, string>
}

interface Item {
  kind?: string
  apiVersion?: string
  metadata: Meta
  status?: object
}

interface List {
  kind: string
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number }
  items: Item[]
}

interface WatchEvent {
  type: string
  object: Item & { code?: number; reason?: string; message?: string }
}

const servers: ApiServer[] = []
const aborts: AbortController[] = []

async function start(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await startApiServer(options)
  servers.push(server)
  return server
}

afterEach(async () => {
  for (const abort of aborts.splice(0)) abort.abort()
  for (const server of servers.splice(0)) await server.close()
})

async function getJson<T>(server: ApiServer, path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(server.url + path, init)
  return (await response.json()) as T
}

/** Opens a watch and hands out its lines one by one: `undefined` at its end, an error when the connection breaks. */
async function openLines(server: ApiServer, path: string): Promise<() => Promise<string | undefined>> {
  const abort = new AbortController()
  aborts.push(abort)
  const response = await fetch(server.url + path, { signal: abort.signal })
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  return async () => {
    while (!rest.includes('\n')) {
      const chunk = await chunks?.read()
      if (!chunk || chunk.done) return rest === '' ? undefined : rest
      rest += chunk.value
    }
    const [line = '', ...more] = rest.split('\n')
    rest = more.join('\n')
    return line
  }
}

async function openWatch(server: ApiServer, path: string): Promise<() => Promise<WatchEvent>> {
  const nextLine = await openLines(server, path)
  return async () => JSON.parse((await nextLine()) ?? '{"type":"end","object":{}}') as WatchEvent
}

function pod(name: string, labels: Record<string, string> = {}, phase = 'Pending') {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels },
    spec: { containers: [{ name: 'app', image: 'acme/app:1' }] },
    status: { phase },
  }
}

const PODS = '/api/v1/namespaces/shop/pods'

describe('the API server', () => {
  test('lists what was applied, items of built-in kinds without kind and apiVersion', async () => {
    const server = await start()
    server.apply(pod('b'))
    server.apply(pod('a'))
    const list = await getJson<List>(server, PODS)
    expect(list.kind).toBe('PodList')
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect(list.items[0]).not.toHaveProperty('kind')
    expect(list.items[0]).not.toHaveProperty('apiVersion')
    expect(list.metadata.resourceVersion).toBe(
      list.items[1] && String(Number(list.items[1].metadata.resourceVersion) + 1),
    )
  })

  test('a watch begins after the resource version that it names, and misses nothing', async () => {
    const server = await start()
    server.apply(pod('a'))
    const { metadata } = await getJson<List>(server, PODS)
    server.apply(pod('b'))
    const next = await openWatch(server, `${PODS}?watch=1&resourceVersion=${metadata.resourceVersion}`)
    server.patch({ apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'a' }, { status: { phase: 'Running' } })
    server.remove({ apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'b' })
    const events = [await next(), await next(), await next()]
    expect(events.map((event) => `${event.type} ${event.object.kind} ${event.object.metadata.name}`)).toEqual([
      'ADDED Pod b',
      'MODIFIED Pod a',
      'DELETED Pod b',
    ])
    const versions = events.map((event) => Number(event.object.metadata.resourceVersion))
    expect(versions).toEqual([...versions].sort())
  })
})
