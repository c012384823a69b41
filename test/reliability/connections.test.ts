import { systemClock } from '../../src/cluster/clock.ts'
import { connect } from '../../src/cluster/cluster.ts'
import { UserError } from '../../src/errors.ts'
import { type Connection, connectionFaults, openSite, waysToConnect } from './connections.ts'

import.meta.jest.setTimeout(60_000)

/** Requests are repeated for 30 s. With this speed, the tests wait for 3 s. Time limits of requests, 30 s, stay as they are. */
const speed = 10
const start = systemClock.now()
const fastClock = {
  ...systemClock,
  now: () => start + (systemClock.now() - start) * speed,
  after: (ms: number, work: () => void) => systemClock.after(ms < 10_000 ? ms / speed : ms, work),
}

/** The error of the first requests, as `reason: message`; undefined if they succeed. */
async function errorOf({ cluster, user = {}, env = {} }: Connection): Promise<string | undefined> {
  const kubeconfig = JSON.stringify({
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'ci', user }],
    contexts: [{ name: 'prod', context: { cluster: 'test', user: 'ci' } }],
    'current-context': 'prod',
  })
  const places = { env, home: '/nowhere', serviceAccount: '/nowhere' }
  const options = { clock: fastClock, mask: () => {}, userAgent: 'test', places }
  const client = connect({ kubeconfig }, options)
  try {
    await client.discover()
    return undefined
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return `${error.reason}: ${error.mistakes.map(({ message }) => message).join(' ')}`
  } finally {
    client.close()
  }
}

let site: Awaited<ReturnType<typeof openSite>>
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

test.concurrent.each(connectionFaults.map((fault) => [fault.title, fault] as const))(
  'the error names what is wrong: %s',
  async (_, { open, names }) => {
    const error = (await errorOf(await open(site))) ?? 'none'
    expect(error).toMatch(/^api-unreachable: /)
    expect(error).toContain(names)
  },
)

test.concurrent.each(waysToConnect.map((way) => [way.title, way] as const))(
  'the API server is reached %s',
  async (_, { open, asks }) => {
    const connection = await open(site)
    expect(await errorOf(connection)).toBeUndefined()
    if (asks !== undefined) expect(connection.asked).toContain(asks)
  },
)
