import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { readData, rows } from '../kit/rows.ts'
import { play, type Verbs } from '../kit/steps.ts'
import { toPattern } from '../kit/words.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { startCommand } from '../support/command.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function start(): Promise<ApiServer> {
  const server = await startApiServer()
  endings.push(() => server.close())
  return server
}

function run(server: ApiServer, argv: readonly string[], { isTTY = false } = {}) {
  const kubeconfig = server.kubeconfig({ namespace: 'shop' })
  // Nothing here is about settling, which takes real seconds.
  const unsettled = argv.includes('--until-ready') ? ['--settle-time=0'] : []
  const { stdout, stderr, ended, cancel } = startCommand([...argv, ...unsettled, `--kubeconfig=${kubeconfig}`], {
    isTTY,
  })
  const code = ended.then(({ code }) => code)
  endings.push(async () => {
    cancel()
    await code
  })
  return { stdout, stderr, code, cancel }
}

const data = import.meta.filename.replace('.test.ts', '.yaml')
const { objects } = readData(data) as { readonly objects: Readonly<Record<string, KubeObject>> }

const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web' }
const apply = (server: ApiServer, name: string) => server.apply(objects[name] as KubeObject)

/** What is printed at the end and what is not, in which `…` stands for any other words. */
interface Expected {
  readonly code: number
  readonly stdout?: string
  readonly stderr?: string
  readonly lacks?: string
  /** How many views of pod/web are printed. */
  readonly count?: number
}

/** A server, and the command that runs. */
interface Viewing {
  readonly server: ApiServer
  running?: ReturnType<typeof run>
}

/** What a step does: `prints` and `warns` await words on stdout and stderr. */
const verbs: Verbs<Viewing> = {
  applies: ({ server }, [name = '']) => apply(server, name),
  denies: ({ server }, [resource = '']) => server.deny({ verb: 'list', resource }),
  runs: (viewing, args) => {
    viewing.running = run(viewing.server, args)
  },
  prints: ({ running }, words) => running?.stdout.until(words.join(' ')),
  warns: ({ running }, words) => running?.stderr.until(words.join(' ')),
  cancels: ({ running }) => running?.cancel(),
}

test.each(rows<[string, readonly string[], Expected]>(data, 'views'))('%s', async (_, steps, expected) => {
  const viewing: Viewing = { server: await start() }
  await play(steps, verbs, viewing)
  const { running } = viewing
  expect(await running?.code).toBe(expected.code)
  expect(running?.stdout.text).toMatch(toPattern(expected.stdout ?? '…'))
  expect(running?.stderr.text).toMatch(toPattern(expected.stderr ?? '…'))
  if (expected.lacks !== undefined) expect(running?.stdout.text).not.toContain(expected.lacks)
  if (expected.count !== undefined)
    expect(running?.stdout.text.match(/^pod\/web in shop/gm)).toHaveLength(expected.count)
})

describe('trace', () => {
  test('restores the cursor and keeps the last view in the terminal', async () => {
    const server = await start()
    apply(server, 'pod')
    const { stdout, code, cancel } = run(server, ['trace', 'pod/web'], { isTTY: true })
    await stdout.until('in progress')
    cancel()
    expect(await code).toBe(130)
    expect(stdout.text.lastIndexOf('\x1b[?25h')).toBeGreaterThan(stdout.text.lastIndexOf('\x1b[?25l'))
    expect(stdout.text.lastIndexOf('\x1b[?7h')).toBeGreaterThan(stdout.text.lastIndexOf('\x1b[?7l'))
    const last = stripVTControlCharacters(stdout.text.slice(stdout.text.lastIndexOf('\x1b[?25h')))
    expect(last).toMatch(/^pod\/web in shop.*\n… in progress · pulling images/)
  })

  test('accepts one resource by name or a selector with one match', async () => {
    const server = await start()
    apply(server, 'readyPod')
    const selected = run(server, ['trace', 'pod', '-l', 'app=web', '--until-ready'])
    expect(await selected.code).toBe(0)
    expect(selected.stdout.text).toContain('pod/web in shop')
    const several = run(server, ['trace', 'pod', 'web', 'api'])
    expect(await several.code).toBe(2)
    expect(several.stderr.text).toContain('REFERENCE: trace shows one resource, and 2 are named.')
    const none = run(server, ['trace', 'pod', '-l', 'app=none'])
    expect(await none.code).toBe(2)
    expect(none.stderr.text).toContain('pod -l app=none matches nothing')
  })
})

describe('changes', () => {
  test('with JSON prints one line for each change and nothing else', async () => {
    const server = await start()
    apply(server, 'pod')
    const { stdout, code, cancel } = run(server, ['changes', 'pod/web', 'pod/api', '-o', 'json'])
    await stdout.until('ADDED')
    server.remove(ref)
    await stdout.until('DELETED')
    cancel()
    await code
    const lines = stdout.text
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each))
    expect(lines.map(({ target, type }) => `${target} ${type}`)).toEqual(['pod/web ADDED', 'pod/web DELETED'])
  })

  test('of a Helm release prints only the objects of that release', async () => {
    const server = await start()
    const released = (name: string, release: string, replicas: number) => ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name,
        namespace: 'shop',
        labels: { 'app.kubernetes.io/managed-by': 'Helm' },
        annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': 'shop' },
      },
      spec: { replicas },
    })
    server.deny({ verb: 'list', resource: 'jobs', group: 'batch' })
    for (const release of ['web', 'api', 'other']) server.apply(released(release, release, 1))
    const { stdout, code, cancel } = run(server, ['changes', 'helm/web', '!helm/api', '-o', 'json'])
    await stdout.until('ADDED')
    for (const release of ['api', 'other', 'web']) server.apply(released(release, release, 2))
    await stdout.until('MODIFIED')
    cancel()
    expect(await code).toBe(130)
    const lines = stdout.text
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each))
    expect(lines.map(({ target, type }) => `${target} ${type}`)).toEqual([
      'replicaset.apps/web ADDED',
      'replicaset.apps/web MODIFIED',
    ])
  })
})

describe('status', () => {
  test('of a Helm release exits when the objects of that release are ready', async () => {
    const server = await start()
    const applyClaim = (release: string, status: object) =>
      server.apply({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: {
          name: release,
          namespace: 'shop',
          labels: { 'app.kubernetes.io/managed-by': 'Helm' },
          annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': 'shop' },
        },
        spec: {},
        status,
      })
    applyClaim('web', { phase: 'Bound' })
    applyClaim('api', { phase: 'Pending' })
    const { stdout, code } = run(server, ['status', 'helm/web', '--until-ready'])
    expect(await code).toBe(0)
    expect(stdout.text).toContain('persistentvolumeclaim/web')
    expect(stdout.text).not.toContain('api')
  })

  test('prints the objects of a manifest', async () => {
    const server = await start()
    apply(server, 'pod')
    const file = join(mkdtempSync(join(tmpdir(), 'status-')), 'web.yaml')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } }))
    const { stdout, cancel, code } = run(server, ['status', '-f', file])
    await stdout.until('phase: Pending')
    cancel()
    expect(await code).toBe(130)
  })
})
