import type { KubeObject } from '../../src/cluster/objects.ts'
import { singleCheckSchema } from '../../src/gate/report-schema.ts'
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

/** The code, what is printed and what is not, in which `…` stands for any other words, and fields of the report of `--json`. */
interface Expected {
  readonly code: number
  readonly prints?: readonly string[]
  readonly lacks?: readonly string[]
  readonly report?: object
}

test.each(rows<[string, readonly string[], readonly string[], Expected]>(data, 'looks'))(
  '%s',
  async (_, names, args, { code, prints = [], lacks = [], report }) => {
    apply(...names)
    const run = await why(...args)
    const printed = `${run.stdout}${run.stderr}`
    for (const words of prints) expect(printed).toMatch(toPattern(words))
    for (const words of lacks) expect(printed).not.toContain(words)
    if (report) expect(singleCheckSchema.parse(JSON.parse(run.stdout))).toMatchObject(report)
    expect(run.code).toBe(code)
  },
)

describe('the command why without a reference', () => {
  test.each([
    ['in one namespace', []],
    ['in all namespaces', ['-A']],
  ])('%s lists each kind once and watches nothing', async (_, flags) => {
    apply('web', 'ownedByWeb')
    const { stdout } = await why(...flags)
    expect(stdout).toContain('1 resource in shop')
    const lists = server.requests.filter(({ path }) => /^\/apis?\/.*\/[a-z]+$/.test(path))
    expect(lists.filter(({ query }) => query.has('watch'))).toEqual([])
    const kinds = lists.map(({ path }) => path.split('/').at(-1))
    expect(kinds).toEqual([...new Set(kinds)])
    expect(kinds).toEqual(expect.arrayContaining(['deployments', 'replicasets', 'pods', 'events']))
  })

  test('reads kinds in its namespaces if they may not be listed in all', async () => {
    apply('web')
    server.deny({ verb: 'list', resource: 'events', namespace: '' })
    const { code } = await why('-A')
    expect(code).toBe(0)
    const events = server.requests.filter(({ path }) => path.endsWith('/events'))
    expect(events.map(({ path }) => path)).toEqual(['/api/v1/events', '/api/v1/namespaces/shop/events'])
  })

  test('does not show kinds that may not be listed', async () => {
    apply('web')
    server.deny({ verb: 'list', resource: 'jobs' })
    const { code } = await why()
    expect(code).toBe(0)
  })
})
