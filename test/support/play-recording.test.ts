import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Pod } from '../../src/cluster/objects.ts'
import { server } from './fresh-server.ts'
import { openRecording, playRecording } from './play-recording.ts'
import { eventText, getJson, type Item, type List, openLines, openWatch } from './requests.ts'

const STARTED_AT = '2025-03-01T12:00:00.400Z'
const PODS = '/api/v1/namespaces/shop/pods'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recording-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

/** A recording of these events, one every 100 ms unless they have a time. */
async function recording(events: object[], { name = 'recording.ndjson', header = {} } = {}): Promise<string> {
  const lines = [
    { recording: 'rollout-gate/v1', startedAt: STARTED_AT, server: 'v1.34.4', ...header },
    ...events.map((event, index) => ({ at: new Date(Date.parse(STARTED_AT) + index * 100).toISOString(), ...event })),
  ]
  const content = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const file = join(folder, name)
  await writeFile(file, name.endsWith('.gz') ? gzipSync(content) : content)
  return file
}

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
  test('sends its changes to watches, with unchanged objects', async () => {
    const next = await openWatch(server, `${PODS}?watch=1`)
    const object = podAt('a', '5001', { status: { phase: 'Pending' } })
    const file = await recording([
      { type: 'ADDED', object },
      { type: 'SYNCED', apiVersion: 'v1', kind: 'Pod', namespace: 'shop' },
      { type: 'MODIFIED', object: podAt('a', '5003', { status: { phase: 'Running' } }) },
      { type: 'DELETED', object: podAt('a', '5004', { status: { phase: 'Failed' } }) },
      { type: 'END' },
    ])
    await playRecording(server, file, { speed: Number.POSITIVE_INFINITY })
    expect(await next()).toEqual({ type: 'ADDED', object })
    expect((await next()).object).toMatchObject({ metadata: { resourceVersion: '5003' }, status: { phase: 'Running' } })
    expect(await next()).toMatchObject({ type: 'DELETED', object: { status: { phase: 'Failed' } } })
  })

  test('keeps versions in the order of the recording when a list was out of order', async () => {
    const file = await recording([
      { type: 'ADDED', object: podAt('a', '5009') },
      { type: 'ADDED', object: podAt('b', '4000') },
      { type: 'MODIFIED', object: podAt('b', '5020', { status: { phase: 'Running' } }) },
    ])
    const next = await openWatch(server, `${PODS}?watch=1`)
    await playRecording(server, file, { speed: Number.POSITIVE_INFINITY })
    const events = [await next(), await next(), await next()]
    expect(events.map((event) => `${eventText(event)} ${event.object.metadata.resourceVersion}`)).toEqual([
      'ADDED a 5009',
      'ADDED b 5010',
      'MODIFIED b 5020',
    ])
  })

  test('reads gzip, logs, discovery and kinds without discovery', async () => {
    const anvil = { apiVersion: 'acme.io/v1', kind: 'Anvil', metadata: { name: 'x', namespace: 'shop' } }
    const gantry = { ...anvil, apiVersion: 'acme.io/v1', kind: 'Gantry' }
    const described = {
      group: 'acme.io',
      version: 'v1',
      kind: 'Anvil',
      plural: 'anvilz',
      namespaced: true,
      status: true,
    }
    const resource = { ...described, verbs: ['get', 'list', 'watch'] }
    const log = { namespace: 'shop', pod: 'a', container: 'app', previous: true }
    const events = [
      { type: 'DISCOVERY', resources: [resource] },
      { type: 'ADDED', object: anvil },
      { type: 'ADDED', object: gantry },
      { type: 'ADDED', object: podAt('a', '1', { spec: { containers: [{ name: 'app' }] } }) },
      { type: 'LOG', ...log, text: 'gone\n' },
    ]
    const file = await recording(events, { name: 'recording.ndjson.gz' })
    await playRecording(server, file, { speed: Number.POSITIVE_INFINITY })
    const namespace = '/apis/acme.io/v1/namespaces/shop'
    expect((await getJson<Item>(server, `${namespace}/anvilz/x`)).kind).toBe('Anvil')
    expect((await getJson<Item>(server, `${namespace}/gantries/x`)).kind).toBe('Gantry')
    expect(await (await fetch(`${server.url}${PODS}/a/log?previous=true`)).text()).toBe('gone\n')
  })

  test('applies one line for each step', async () => {
    const file = await recording([
      { type: 'ADDED', object: podAt('a', '1') },
      { type: 'SYNCED', apiVersion: 'v1', kind: 'Pod' },
      { type: 'ADDED', object: podAt('b', '2') },
    ])
    const player = await openRecording(server, file)
    const names = async () => (await getJson<List>(server, PODS)).items.map(({ metadata }) => metadata.name)
    expect(await names()).toEqual([])
    expect(await player.stepUntil(({ type }) => type === 'SYNCED')).toMatchObject({ type: 'SYNCED' })
    expect(await names()).toEqual(['a'])
    expect(await player.step()).toMatchObject({ type: 'ADDED' })
    expect(await names()).toEqual(['a', 'b'])
    expect(await player.step()).toBeUndefined()
  })

  test('takes the recorded time divided by the speed', async () => {
    const events = Array.from({ length: 11 }, () => ({ type: 'ALIVE' }))
    const file = await recording(events)
    const startedAt = performance.now()
    await playRecording(server, file, { speed: 10 })
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95)
  })

  test('can be aborted', async () => {
    const hours = { at: '2025-03-01T18:00:00.000Z', type: 'END' }
    const file = await recording([{ type: 'ADDED', object: podAt('a', '1') }, hours])
    const next = await openWatch(server, `${PODS}?watch=1`)
    const abort = new AbortController()
    const refused = expect(playRecording(server, file, { signal: abort.signal })).rejects.toThrow()
    await next()
    abort.abort()
    await refused
  })

  test('shifts timestamps to now by whole seconds, and no other text', async () => {
    const status: Pod['status'] = {
      startTime: '2025-03-01T12:00:00Z',
      message: 'since 2025-03-01T12:00:00Z',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2025-03-01T12:00:01.123456Z' }],
      containerStatuses: [{ name: 'app', state: { terminated: { startedAt: '1970-01-01T00:00:00Z' } } }],
    }
    const file = await recording([{ type: 'ADDED', object: podAt('a', '1', { status }) }], {
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

  test('replays recorded errors as faults with the option faults', async () => {
    const file = await recording([
      { type: 'ERROR', code: 410, apiVersion: 'v1', kind: 'Pod', message: 'too old' },
      { type: 'ERROR', code: 0, message: 'connection refused' },
      { type: 'ALIVE' },
      { type: 'ERROR', code: 403, apiVersion: 'v1', kind: 'Event', message: 'forbidden' },
    ])
    const player = await openRecording(server, file, { faults: true })
    const pods = await openLines(server, `${PODS}?watch=1`)
    const events = await openLines(server, '/api/v1/events?watch=1')
    await player.step()
    expect(JSON.parse((await pods()) ?? '')).toMatchObject({ type: 'ERROR', object: { code: 410 } })
    await player.step()
    await expect(events()).rejects.toThrow()
    await expect(fetch(server.url + PODS)).rejects.toThrow()
    await player.step()
    expect((await fetch(server.url + PODS)).status).toBe(200)
    await player.step()
    expect((await fetch(`${server.url}/api/v1/events`)).status).toBe(403)
  })

  test('ignores recorded errors by default', async () => {
    const file = await recording([{ type: 'ERROR', code: 503, message: 'unavailable' }])
    await playRecording(server, file, { speed: Number.POSITIVE_INFINITY })
    expect((await fetch(server.url + PODS)).status).toBe(200)
  })

  test('rejects a file that is not a recording, with the line of the mistake', async () => {
    const file = join(folder, 'broken.ndjson')
    await writeFile(file, '{"kind":"List"}\n')
    await expect(openRecording(server, file)).rejects.toThrow(
      `${file} is not a recording: its first line is not a header`,
    )
    await writeFile(file, `{"recording":"rollout-gate/v1","startedAt":"${STARTED_AT}"}\n{"at":\n`)
    await expect(playRecording(server, file)).rejects.toThrow(`${file}, line 2 is not JSON`)
    await expect(openRecording(server, join(folder, 'missing.ndjson'))).rejects.toThrow('ENOENT')
    await writeFile(`${file}.gz`, 'not gzip')
    await expect(openRecording(server, `${file}.gz`)).rejects.toThrow('incorrect header check')
  })
})
