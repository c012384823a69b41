import { table } from '../../scripts/markdown.ts'
import { systemClock } from '../../src/cluster/clock.ts'
import { connect } from '../../src/cluster/cluster.ts'
import { UserError } from '../../src/errors.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { readFaultResults } from '../cluster/fault-results.ts'
import { happenings, workloads } from '../gate/simulation/happenings.ts'
import { expectSnapshot } from '../report/snapshot.ts'
import { startApiServer } from '../support/api-server.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { playRecording } from '../support/play-recording.ts'
import { recordingPath } from '../support/recordings.ts'
import { isThorough } from '../support/thorough.ts'
import { type Connection, connectionFaults, openSite, waysToConnect } from './connections.ts'
import { type Fault, faults, stages } from './faults.ts'
import { lastingFaults } from './lasting-faults.ts'

/** Rollouts that have ended, and their right ends. */
const rollouts = {
  'already-finished': { title: 'a ready Deployment', target: 'deployment/web', right: 'ready' },
  'image-name-invalid': {
    title: 'an invalid image name',
    target: 'deployment/web',
    right: 'failed: image-name-invalid',
  },
  'job-fails': { title: 'a failed Job', target: 'job/migrate', right: 'failed: job-failed' },
} as const

type RolloutName = keyof typeof rollouts

/** How often a fault happens: two requests, or every one. */
const durations = { twice: 2, 'for good': Number.POSITIVE_INFINITY } as const

interface Ending {
  /** `ready`, or the outcome and its reason. */
  readonly end: string
  readonly seconds: number
  /** How many requests met the fault. */
  readonly faulty: number
}

/** Gates a rollout against a server with a fault, in virtual time. */
async function gateWith(
  name: RolloutName,
  stage: (typeof stages)[string],
  fault: Fault,
  times: number,
): Promise<Ending> {
  const server = await startApiServer()
  try {
    const path = recordingPath(name)
    await playRecording(server, path, { speed: Number.POSITIVE_INFINITY })
    const { startedAt, serverOffsetMs, inputs } = await readHeader(path)
    const begin = Date.parse(startedAt) + 120_000
    const clock = new EventLoopClock(begin, times === 2 ? 50 : 200, (now) => {
      server.clockOffsetMs = now + serverOffsetMs - Date.now()
    })
    const after = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
    // Lists alone judge a rollout that has ended. Watches begin only if one of the lists takes longer than a second.
    let delaysPods = stage === stages['watch']
    let faulty = 0
    server.intercept(async (request, response) => {
      if (delaysPods && request.path.endsWith('/pods')) {
        delaysPods = false
        await after(3_000)
      }
      // Two objects are two pages.
      if (request.query.has('limit')) request.query.set('limit', '1')
      if (faulty >= times || !stage(request)) return 'answer'
      faulty++
      return fault({ request, response, after })
    })
    const { target } = rollouts[name]
    const raw = { resources: target, namespace: String(inputs['namespace']), kubeconfig: server.kubeconfig() }
    const ending = await gateInVirtualTime(raw, clock).then(
      ({ outcome, reason }) => (reason === '' ? outcome : `${outcome}: ${reason}`),
      (error: unknown) => {
        if (error instanceof UserError) return `misconfigured: ${error.reason}`
        throw error
      },
    )
    return { end: ending, seconds: (clock.now() - begin) / 1_000, faulty }
  } finally {
    await server.close()
  }
}

const cases = Object.entries(faults).flatMap(([fault, act]) =>
  Object.entries(stages).flatMap(([stage, matches]) =>
    Object.entries(durations).map(([duration, times]) => ({ fault, act, stage, matches, duration, times })),
  ),
)
/** A tenth of the cases, of every fault and stage; all of them in CI. */
const chosen = isThorough ? cases : cases.filter((_, index) => index % 11 === 0)
const names = Object.keys(rollouts) as RolloutName[]
const endings = new Map<string, Ending>()

/** A case in words: which requests meet which fault. */
function inWords({ stage, fault, duration }: (typeof cases)[number]): string {
  const subjects: Readonly<Record<string, string>> = {
    discovery: 'discovery',
    events: 'events',
    log: 'a log',
    watch: 'a watch',
  }
  const text = fault.replace(/\.$/, '').replace(/^The|^A/, (article) => article.toLowerCase())
  return `${duration === 'twice' ? 'two requests' : 'all requests'} for ${subjects[stage] ?? `the ${stage}`} fail: ${text}`
}

describe.each(names.map((name) => [rollouts[name].title, name] as const))('%s', (_, name) => {
  test.each(chosen.map((each) => [inWords(each), each] as const))(
    'has its right outcome or none if %s',
    async (_, { stage, matches, fault, act, duration, times }) => {
      const ending = await gateWith(name, matches, act, times)
      endings.set([name, fault, stage, duration].join('|'), ending)
      if (stage === 'watch') expect(ending.faulty).toBeGreaterThan(0)
      const { right } = rollouts[name]
      // At the start, the gate ends at what looks like a mistake in the inputs.
      const isRefused =
        stage === 'discovery' || fault === 'Status 401.' || (fault === 'Status 403.' && stage === 'first list')
      if (times === 2 && !isRefused) expect(ending.end).toBe(right)
      // Pods that cannot be read are left to what their controller reports, which does not explain the failure.
      else if (fault === 'Status 403.' && stage === 'second page')
        expect([right, 'stalled: no-progress']).toContain(ending.end)
      else if (ending.end !== right) expect(ending.end).toMatch(/^(?:unknown|misconfigured): /)
    },
  )
})

/** Requests are repeated for 30 s. With this speed, the tests wait for 1 s. Time limits of requests, 30 s, stay as they are. */
const speed = 30
const speedUpFrom = systemClock.now()
const fastClock = {
  ...systemClock,
  now: () => speedUpFrom + (systemClock.now() - speedUpFrom) * speed,
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
  const options = { clock: fastClock, userAgent: 'test', places }
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

/** The error of each fault of a connection. */
const connectionErrors = new Map<string, string>()

let site: Awaited<ReturnType<typeof openSite>>
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())

test.each(connectionFaults.map((fault) => [fault.title, fault] as const))(
  'the error names what is wrong: %s',
  async (_, { title, open, names }) => {
    const error = (await errorOf(await open(site))) ?? 'none'
    expect(error).toMatch(/^api-unreachable: /)
    expect(error).toContain(names)
    connectionErrors.set(title, error)
  },
)

test.each(waysToConnect.map((way) => [way.title, way] as const))(
  'the API server is reached %s',
  async (_, { open, asks }) => {
    const connection = await open(site)
    expect(await errorOf(connection)).toBeUndefined()
    if (asks !== undefined) expect(connection.asked).toContain(asks)
  },
)

const everyCase = isThorough ? test : test.skip

everyCase('results.md contains the results of all cases, for docs/guarantees.md', () => {
  const rows = Object.keys(faults).flatMap((fault) =>
    Object.keys(stages).map((stage) => [
      fault,
      stage,
      ...Object.keys(durations).map((each) => describeEndings(fault, stage, each)),
    ]),
  )
  const text = [
    '# Results of the tests of reliability',
    '',
    'docs/guarantees.md sums them up. Written by `UPDATE_SNAPSHOTS=1 CI=true npm test -- test/reliability`.',
    '',
    '## Connections',
    '',
    'The error of the first requests (outcome `misconfigured`, reason `api-unreachable`).',
    '',
    ...table(['fault', 'error'], connectionRows()),
    '',
    'The API server is reached:',
    '',
    ...waysToConnect.map(({ title }) => `- ${title}`),
    '- past the proxy of the environment, as NO_PROXY requires: hosts, domains, addresses, CIDR ranges',
    '  (`test/cluster-api/proxy.test.ts`)',
    '',
    '## Requests',
    '',
    'Each fault is applied to two requests of one stage, or to all of them, while the gate judges three rollouts: a ready one, one',
    'with an invalid image name, and a failed Job. **right** means that all three have the same outcome as without the fault.',
    'Otherwise the cell contains the outcome. The time is a limit for the slowest rollout.',
    '',
    ...table(['fault', 'stage', 'two requests', 'every request'], rows),
    '',
    '## Watches',
    '',
    'These faults happen at every event of recordings of real rollouts (`test/integration/cuts.test.ts`, `test/integration/blind.test.ts`),',
    'and change no verdict: connections that are reset or break within an event, expired resource versions, restarts of the server,',
    'a server that was restored from a backup with lower resource versions, repeated events, old events after new ones, objects of',
    '1 MB, and streams with bookmarks only.',
    '',
    'One to four of these faults begin at random moments, and last for up to 25 s each (`test/reliability/lasting-faults.test.ts`). A',
    'rollout that becomes ready is judged as ready, and one that fails is never ready. If access to the target is withdrawn, the outcome',
    'may be unknown.',
    '',
    ...Object.keys(lastingFaults).map((fault) => `- ${fault}`),
    '',
    '## During a rollout',
    '',
    'What else happens in a cluster while the gate waits, one by one and in random combinations, to these workloads and a Service',
    'before them, with simulated controllers (`test/gate/combinations.property.test.ts`):',
    `${Object.keys(workloads).join(', ')}.`,
    'A version that becomes ready is judged as ready, once its rollout is complete. A version that does not is never ready.',
    '',
    ...Object.keys(happenings).map((happening) => `- ${happening}`),
    '',
    '## On a real cluster',
    '',
    'Results of `npm run test:cluster`: the gate watches a real rollout (Kubernetes 1.34) while the fault happens. The healthy rollout',
    'becomes ready, the container of the crashing one exits, and the image of the last one does not exist.',
    '',
    ...table(['fault', ...clusterRollouts], clusterRows()),
    '',
  ]
  expectSnapshot(text.join('\n'), 'results.md', import.meta.dirname)
})

/** Ports differ in each run. */
function connectionRows(): string[][] {
  return connectionFaults.map(({ title }) => [
    title,
    (connectionErrors.get(title) ?? '')
      .replace(/^[a-z-]+: /, '')
      .replaceAll(/(127\.0\.0\.1|\[::1\]):\d+/g, '$1:PORT')
      .replaceAll(/\d{4}-\d\d-\d\d/g, 'DATE')
      .replace('EAI_AGAIN', 'ENOTFOUND'),
  ])
}

const clusterRollouts = ['healthy', 'crashing', 'missing-image']

/** A row for each fault; a rollout that no scenario has is empty. */
function clusterRows(): string[][] {
  return [...Map.groupBy(readFaultResults(), ({ fault }) => fault)].map(([fault, results]) => [
    fault,
    ...clusterRollouts.map((name) => {
      const result = results.find(({ rollout }) => rollout === name)
      return result === undefined ? '' : `${result.end}${result.isRight ? '' : ' (not expected)'}`
    }),
  ])
}

function describeEndings(fault: string, stage: string, duration: string): string {
  const all = names.map((name) => ({ name, ending: endings.get([name, fault, stage, duration].join('|')) }))
  const met = all.filter(({ ending }) => ending !== undefined && ending.faulty > 0)
  if (met.length === 0) return 'no such request'
  const ends = new Set(
    met.map(({ name, ending }) => (ending?.end === rollouts[name].right ? 'right' : (ending?.end ?? ''))),
  )
  const slowest = Math.max(...met.map(({ ending }) => ending?.seconds ?? 0))
  const limit = [15, 60, 180, 600].find((seconds) => slowest <= seconds)
  return `${[...ends].toSorted().join(' or ')}, ${limit === undefined ? 'later' : `within ${limit} s`}`
}
