import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { startCommand } from '../support/command.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function start(): Promise<ApiServer> {
  const server = await startApiServer()
  endings.push(() => server.close())
  server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
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

const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web' }
const readySince = (startedAt: string) => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True' }],
  containerStatuses: [{ name: 'app', ready: true, started: true, state: { running: { startedAt } } }],
})

function applyPod(server: ApiServer, status: object = { phase: 'Pending' }): void {
  const { apiVersion, kind, ...metadata } = ref
  server.apply({
    apiVersion,
    kind,
    metadata: { ...metadata, labels: { app: 'web' } },
    spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'acme/web:v1' }] },
    status,
  })
}

test('a mistake in the kubeconfig or its context names the flag', async () => {
  const server = await start()
  const { stderr, code } = run(server, ['trace', 'pod/web', '--context=pord'])
  expect(await code).toBe(2)
  expect(stderr.text).toMatch(/^--context: The kubeconfig has no context "pord"/)
})

describe('trace', () => {
  test('prints one view for each change without a terminal, and ends with 130', async () => {
    const server = await start()
    const { stdout, code, cancel } = run(server, ['trace', 'pod/web', '--settle-time', '0'])
    await stdout.until('waiting for pod/web to be created')
    applyPod(server)
    await stdout.until('in progress')
    server.patch(ref, { status: readySince(new Date(Date.now() - 3_600_000).toISOString()) })
    await stdout.until('✓ ready · running and ready')
    cancel()
    expect(await code).toBe(130)
    const pictures = stdout.text.trimEnd().split('\n\npod/web in shop')
    expect(pictures).toHaveLength(3)
    expect(stdout.text).not.toContain('\x1b')
  })

  test('ends with 0 when the resource is ready and --until-ready is given', async () => {
    const server = await start()
    applyPod(server, readySince(new Date(Date.now() - 3_600_000).toISOString()))
    const { stdout, code } = run(server, ['trace', 'pod/web', '--until-ready'])
    expect(await code).toBe(0)
    expect(stdout.text).toContain('✓ ready')
  })

  test('ends with 1 when the resource is not ready in time', async () => {
    const server = await start()
    const { stderr, code } = run(server, ['trace', 'pod/web', '--until-ready', '--timeout=100ms'])
    expect(await code).toBe(1)
    expect(stderr.text).toBe('The resource was not ready in time.\n')
  })

  test('leaves the terminal with its cursor and the last view', async () => {
    const server = await start()
    applyPod(server)
    const { stdout, code, cancel } = run(server, ['trace', 'pod/web'], { isTTY: true })
    await stdout.until('in progress')
    cancel()
    expect(await code).toBe(130)
    expect(stdout.text.lastIndexOf('\x1b[?25h')).toBeGreaterThan(stdout.text.lastIndexOf('\x1b[?25l'))
    expect(stdout.text.lastIndexOf('\x1b[?7h')).toBeGreaterThan(stdout.text.lastIndexOf('\x1b[?7l'))
    const last = stripVTControlCharacters(stdout.text.slice(stdout.text.lastIndexOf('\x1b[?25h')))
    expect(last).toMatch(/^pod\/web in shop.*\n… in progress · pulling images/)
  })

  test('reports what cannot be read, and ends with 2', async () => {
    const server = await start()
    server.deny({ verb: 'list', resource: 'pods' })
    const { stderr, code } = run(server, ['trace', 'pod/web'])
    expect(await code).toBe(2)
    expect(stderr.text).toMatch(/^pod\/web: It cannot be read: .*forbidden/)
  })

  test('accepts one resource by name, or a selector with one match', async () => {
    const server = await start()
    applyPod(server, readySince(new Date(Date.now() - 3_600_000).toISOString()))
    const selected = run(server, ['trace', 'pod', '-l', 'app=web', '--until-ready'])
    expect(await selected.code).toBe(0)
    expect(selected.stdout.text).toContain('pod/web in shop')
    const several = run(server, ['trace', 'pod', 'web', 'api'])
    expect(await several.code).toBe(2)
    expect(several.stderr.text).toContain('pod web api: trace shows one resource, and 2 are named: pod/web, pod/api.')
    const none = run(server, ['trace', 'pod', '-l', 'app=none'])
    expect(await none.code).toBe(2)
    expect(none.stderr.text).toContain('pod -l app=none matches nothing')
  })

  test('names a namespace that does not exist', async () => {
    const server = await start()
    const { stderr, cancel, code } = run(server, ['trace', 'pod/web', '-n', 'shpo'])
    await stderr.until('Namespace shpo does not exist.')
    cancel()
    await code
  })
})

describe('changes', () => {
  test('prints the whole object, then differences', async () => {
    const server = await start()
    const { stdout, stderr, code, cancel } = run(server, ['changes', 'pod/web'])
    await stderr.until('Waiting for pod/web in shop to be created.')
    applyPod(server)
    await stdout.until('pod/web created')
    server.patch(ref, { status: { phase: 'Running' } })
    await stdout.until('+   phase: Running')
    expect(stdout.text).toContain('       -   phase: Pending')
    cancel()
    expect(await code).toBe(130)
  })

  test('prints as JSON one line for each change and nothing else', async () => {
    const server = await start()
    applyPod(server)
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

  test('of a Helm release prints its objects, and no others of the same kinds', async () => {
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

  test('leaves out excluded objects', async () => {
    const server = await start()
    applyPod(server)
    server.apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' }, spec: {} })
    const { stdout, cancel, code } = run(server, ['changes', 'pods,services', '--all', '!pod/web'])
    await stdout.until('service/web')
    cancel()
    await code
    expect(stdout.text).not.toContain('pod/web')
  })
})

describe('--until-ready', () => {
  const startedAt = new Date(Date.now() - 3_600_000).toISOString()

  test.each(['status', 'changes'])('ends %s with 0 once all that it follows are ready', async (command) => {
    const server = await start()
    applyPod(server)
    const { stdout, code } = run(server, [command, 'pod/web', 'configmap/settings', '--until-ready'])
    await stdout.until('phase: Pending')
    server.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' }, data: {} })
    server.patch(ref, { status: readySince(startedAt) })
    expect(await code).toBe(0)
  })

  test('waits for the objects that a selector matches at the start, and for no others', async () => {
    const server = await start()
    applyPod(server)
    const { stdout, code } = run(server, ['status', 'pods', '-l', 'app=web', '--until-ready'])
    await stdout.until('phase: Pending')
    server.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'later', namespace: 'shop', labels: { app: 'web' } },
    })
    server.patch(ref, { status: readySince(startedAt) })
    expect(await code).toBe(0)
    expect(stdout.text).not.toContain('later')
  })

  test('is a mistake for a selector that matches nothing', async () => {
    const { stderr, code } = run(await start(), ['status', 'pods', '-l', 'app=web', '--until-ready'])
    expect(await code).toBe(2)
    expect(stderr.text).toContain('pods: pod -l app=web matches nothing.')
  })

  test('ignores excluded objects', async () => {
    const server = await start()
    applyPod(server)
    const api = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'api', namespace: 'shop' } }
    server.apply({
      ...api,
      spec: { containers: [{ name: 'app', image: 'acme/api:v1' }] },
      status: readySince(startedAt),
    })
    expect(await run(server, ['status', 'pods', '--all', '!pod/web', '--until-ready']).code).toBe(0)
  })
})

describe('status', () => {
  test('of a Helm release ends once its objects are ready, whatever others of the same kinds are like', async () => {
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

  test('names a namespace that does not exist', async () => {
    const server = await start()
    const { stderr, cancel, code } = run(server, ['status', 'pod/web', '-n', 'shpo'])
    await stderr.until('Namespace shpo does not exist.')
    cancel()
    await code
  })

  test('follows the objects of a manifest', async () => {
    const server = await start()
    applyPod(server)
    const file = join(mkdtempSync(join(tmpdir(), 'status-')), 'web.yaml')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } }))
    const { stdout, cancel, code } = run(server, ['status', '-f', file])
    await stdout.until('phase: Pending')
    cancel()
    expect(await code).toBe(130)
  })

  test('prints only the status', async () => {
    const server = await start()
    applyPod(server)
    const { stdout, code, cancel } = run(server, ['status', 'pod/web'])
    await stdout.until('phase: Pending')
    cancel()
    expect(await code).toBe(130)
    expect(stdout.text).not.toContain('acme/web:v1')
  })

  test('refuses an unknown format', async () => {
    const server = await start()
    const { stderr, code } = run(server, ['status', 'pod/web', '-o', 'yaml'])
    expect(await code).toBe(2)
    expect(stderr.text).toBe('-o: "yaml" is not one of text, json.\n')
  })
})
