import type { KubeObject } from '../../src/cluster/objects.ts'
import { lookSchema, reportSchema } from '../../src/gate/report-schema.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { runCommand } from '../support/command.ts'
import { rolledOut, unobserved } from './objects.ts'
import { enterWorkFolder } from './work-folder.ts'

let leave: () => void
let server: ApiServer

beforeEach(async () => {
  server = await startApiServer()
  server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  ;({ leave } = enterWorkFolder(server.kubeconfig({ namespace: 'shop' })))
})

afterEach(async () => {
  leave()
  await server.close()
})

function why(...argv: string[]) {
  return runCommand(['why', ...argv])
}

/** A pod whose image does not exist. */
function missingImage(name: string, owner?: KubeObject, namespace = 'shop'): KubeObject {
  const ownerReferences =
    owner === undefined
      ? []
      : [
          {
            apiVersion: owner.apiVersion,
            kind: owner.kind,
            name: owner.metadata.name,
            uid: owner.metadata.uid ?? '',
            controller: true,
          },
        ]
  const waiting = { reason: 'ErrImageNeverPull', message: 'Container image "acme/web:v9" is not present' }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: `uid-${name}`, labels: { app: 'web' }, ownerReferences },
    spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'acme/web:v9' }] },
    status: {
      phase: 'Pending',
      containerStatuses: [{ name: 'app', ready: false, restartCount: 0, state: { waiting } }],
    },
  } as KubeObject
}

describe('one look', () => {
  test('ends with 0 when all is ready', async () => {
    server.apply(rolledOut('web'))
    server.apply(rolledOut('api'))
    const { code, stdout, stderr } = await why()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^context \S+ · 2 resources in shop · 2 ready\n$/)
  })

  test('ends with 0 when what is not ready progresses without a problem', async () => {
    server.apply(unobserved('web'))
    const { code, stdout } = await why('deployment/web')
    expect(code).toBe(0)
    expect(stdout).toMatch(/1 in progress\n… deployment\/web /)
    const { stdout: json } = await why('deployment/web', '--json')
    expect(lookSchema.parse(JSON.parse(json))).toMatchObject({
      outcome: 'progressing',
      message: '1 of 1 in progress',
      targets: [{ outcome: 'progressing' }],
    })
  })

  test('ends with 1, and names the reason and the remedy, when something has a problem', async () => {
    server.apply(rolledOut('web'))
    server.apply(missingImage('once'))
    const { code, stdout } = await why()
    expect(code).toBe(1)
    expect(stdout).toContain('2 resources in shop · 1 failed, 1 ready')
    expect(stdout).toContain('✗ pod/once: ')
    expect(stdout).toContain('What to do: ')
    const { stdout: json } = await why('--json')
    expect(reportSchema.parse(JSON.parse(json))).toMatchObject({
      outcome: 'failed',
      reason: 'image-never-pull',
      targets: [{ target: 'pod/once' }, { target: 'deployment.apps/web', outcome: 'ready' }],
    })
  })

  test('names what does not exist', async () => {
    const { code, stdout } = await why('deployment/web')
    expect(code).toBe(1)
    expect(stdout).toContain('deployment/web does not exist')
    expect(stdout).toContain('For another namespace, write -n after the reference.')
  })

  test('does not wait for a selector without a match', async () => {
    const { code } = await why('deployments', '-l', 'app=none')
    expect(code).toBe(1)
  })

  test('shows a resource that only waits for another one below that other resource', async () => {
    server.apply(missingImage('once'))
    server.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { type: 'ClusterIP', clusterIP: '10.0.0.1', selector: { app: 'web' }, ports: [{ port: 80 }] },
    })
    const { stdout } = await why()
    expect(stdout).toContain('1 failed, 1 waiting for another target')
    expect(stdout).toContain('  service/web waits for pod/once\n')
    expect(stdout).not.toContain('✗ service/web')
  })
})

describe('a look without a reference', () => {
  test('is about everything that nothing else controls', async () => {
    const owner = server.apply(rolledOut('web'))
    server.apply(missingImage('web-x', owner))
    server.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } })
    const { stdout } = await why('--json')
    expect(JSON.parse(stdout).targets.map(({ target }: { target: string }) => target)).toEqual(['deployment.apps/web'])
  })

  test('is about one namespace, with -A about all of them, with -l about what has the labels', async () => {
    server.apply(rolledOut('web'))
    server.apply(rolledOut('api'))
    server.apply(missingImage('once', undefined, 'other'))
    const here = await why('-l', 'app=web')
    expect(here.stdout).toContain('1 resource in shop · 1 ready')
    const everywhere = await why('-A')
    expect(everywhere.code).toBe(1)
    expect(everywhere.stdout).toContain('3 resources in 2 namespaces')
    const other = await why('-n', 'other')
    expect(other.stdout).toContain('1 resource in other')
  })

  test.each([
    ['of a namespace', []],
    ['of all namespaces', ['-A']],
  ])('%s lists each kind once, and watches nothing', async (_, flags) => {
    const owner = server.apply(rolledOut('web'))
    server.apply(missingImage('web-x', owner))
    const { stdout } = await why(...flags)
    expect(stdout).toContain('1 resource in shop')
    const lists = server.requests.filter(({ path }) => /^\/apis?\/.*\/[a-z]+$/.test(path))
    expect(lists.filter(({ query }) => query.has('watch'))).toEqual([])
    const kinds = lists.map(({ path }) => path.split('/').at(-1))
    expect(kinds).toEqual([...new Set(kinds)])
    expect(kinds).toEqual(expect.arrayContaining(['deployments', 'replicasets', 'pods', 'events']))
  })

  test('reads in its namespaces the kinds that may not be listed in all', async () => {
    server.apply(rolledOut('web'))
    server.deny({ verb: 'list', resource: 'events', namespace: '' })
    const { code } = await why('-A')
    expect(code).toBe(0)
    const events = server.requests.filter(({ path }) => path.endsWith('/events'))
    expect(events.map(({ path }) => path)).toEqual(['/api/v1/events', '/api/v1/namespaces/shop/events'])
  })

  test('of an empty namespace ends with 0', async () => {
    const { code, stdout } = await why('-n', 'empty')
    expect(code).toBe(0)
    expect(stdout).toMatch(/ · 0 resources\n$/)
  })

  test('leaves out what may not be listed', async () => {
    server.apply(rolledOut('web'))
    server.deny({ verb: 'list', resource: 'jobs' })
    const { code } = await why()
    expect(code).toBe(0)
  })

  test('takes no moment without a recording', async () => {
    const { code, stderr } = await why('--at=0:34')
    expect(code).toBe(2)
    expect(stderr).toContain('--at: It is a moment of a recording. Name that with --recording=FILE.')
  })

  test('takes no references together with -A', async () => {
    const { code, stderr } = await why('-A', 'deployment/web')
    expect(code).toBe(2)
    expect(stderr).toContain('-A: It stands for everything in all namespaces.')
  })
})
