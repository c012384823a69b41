import type { KubeObject } from '../../src/cluster/objects.ts'
import { reportSchema, singleCheckSchema } from '../../src/gate/report-schema.ts'
import { readData, rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { runCommand } from '../support/command.ts'
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

const data = import.meta.filename.replace('.test.ts', '.yaml')
const { objects } = readData(data) as { readonly objects: Readonly<Record<string, KubeObject>> }

const apply = (...names: readonly string[]) => {
  for (const name of names) server.apply(objects[name] as KubeObject)
}

/** The code, and what is printed and what is not, in which `…` stands for any other words. */
interface Expected {
  readonly code: number
  readonly prints?: readonly string[]
  readonly lacks?: readonly string[]
}

test.each(rows<[string, readonly string[], readonly string[], Expected]>(data, 'looks'))(
  '%s',
  async (_, names, args, { code, prints = [], lacks = [] }) => {
    apply(...names)
    const run = await why(...args)
    const printed = `${run.stdout}${run.stderr}`
    for (const words of prints) expect(printed).toMatch(toPattern(words))
    for (const words of lacks) expect(printed).not.toContain(words)
    expect(run.code).toBe(code)
  },
)

describe('the report of a look', () => {
  test('has the outcome of what progresses', async () => {
    apply('unobserved')
    const { stdout } = await why('deployment/web', '--json')
    expect(singleCheckSchema.parse(JSON.parse(stdout))).toMatchObject({
      outcome: 'progressing',
      message: '1 of 1 in progress',
      targets: [{ outcome: 'progressing' }],
    })
  })

  test('has the reason of what failed, and what is ready', async () => {
    apply('web', 'broken')
    const { stdout } = await why('--json')
    expect(reportSchema.parse(JSON.parse(stdout))).toMatchObject({
      outcome: 'failed',
      reason: 'image-never-pull',
      targets: [{ target: 'pod/once' }, { target: 'deployment.apps/web', outcome: 'ready' }],
    })
  })
})

describe('a look without a reference', () => {
  test('is about everything that nothing else controls', async () => {
    apply('web', 'ownedByWeb', 'settings')
    const { stdout } = await why('--json')
    expect(JSON.parse(stdout).targets.map(({ target }: { target: string }) => target)).toEqual(['deployment.apps/web'])
  })

  test.each([
    ['of a namespace', []],
    ['of all namespaces', ['-A']],
  ])('%s lists each kind once, and watches nothing', async (_, flags) => {
    apply('web', 'ownedByWeb')
    const { stdout } = await why(...flags)
    expect(stdout).toContain('1 resource in shop')
    const lists = server.requests.filter(({ path }) => /^\/apis?\/.*\/[a-z]+$/.test(path))
    expect(lists.filter(({ query }) => query.has('watch'))).toEqual([])
    const kinds = lists.map(({ path }) => path.split('/').at(-1))
    expect(kinds).toEqual([...new Set(kinds)])
    expect(kinds).toEqual(expect.arrayContaining(['deployments', 'replicasets', 'pods', 'events']))
  })

  test('reads in its namespaces the kinds that may not be listed in all', async () => {
    apply('web')
    server.deny({ verb: 'list', resource: 'events', namespace: '' })
    const { code } = await why('-A')
    expect(code).toBe(0)
    const events = server.requests.filter(({ path }) => path.endsWith('/events'))
    expect(events.map(({ path }) => path)).toEqual(['/api/v1/events', '/api/v1/namespaces/shop/events'])
  })

  test('leaves out what may not be listed', async () => {
    apply('web')
    server.deny({ verb: 'list', resource: 'jobs' })
    const { code } = await why()
    expect(code).toBe(0)
  })
})
