import { helmRevisions } from '../../src/cluster/feed.ts'
import type { ApiServer } from '../support/api-server.ts'
import { type Ending, gateRecording, type Interference, readRecording } from '../support/gate-recording.ts'
import { hasAnswers, readExpectations, recordingPath, titledRecordings } from '../support/recordings.ts'
import { sampled } from '../support/thorough.ts'

const expectations = readExpectations()

/** Maximum delay of a verdict by a cut: its detection, a pause of 0.1 s, the lists. */
const latestSeconds = 3

/** Discovery and first lists of the live run took some time before its clocks began. */
const earliestSeconds = 2

type Cut = (server: ApiServer) => void | Promise<void>

const cuts: Readonly<Record<string, Cut>> = {
  'a reset of all connections': (server) => server.cutWatches(),
  'a connection that breaks within an event': (server) => server.cutWatches({ midEvent: true }),
  'a reset that makes all resource versions expire': (server) => {
    server.compact()
    server.cutWatches()
  },
  'a watch that the server ends and refuses to resume': (server) => {
    server.compact({ as: 'status' })
    server.endWatches()
  },
  'a restart of the API server': async (server) => {
    await server.stop()
    await server.start()
  },
}

const read = (name: string) => readRecording(recordingPath(name))
const play = (name: string, interference: Interference = {}) => gateRecording(recordingPath(name), interference)

/** What differs from the live run, if anything. */
function difference(name: string, { outcome, reason, seconds }: Ending): string | undefined {
  const live = expectations[name]
  const isSame = outcome === live?.outcome && reason === live.reason
  if (isSame && seconds > live.seconds - earliestSeconds && seconds < live.seconds + latestSeconds) return undefined
  return `${outcome} ${reason} after ${seconds} s, not ${live?.outcome} ${live?.reason} after ${live?.seconds} s`
}

import.meta.jest.setTimeout(60_000)

const names: string[] = []
for (const [name, { outcome }] of Object.entries(expectations)) {
  if (hasAnswers(recordingPath(name))) continue
  const { isDisturbed, header } = await read(name)
  // A recording of a cancelled action ends before the rollout. The server that plays recordings has no Secrets, which contain the
  // revisions of Helm.
  const isOfHelm = header.targets?.some(({ kind }) => kind === helmRevisions.kind)
  if (outcome !== 'cancelled' && !isDisturbed && !isOfHelm) names.push(name)
}

test.each(titledRecordings(sampled(names, 4)))(
  '%s ends with the live verdict if a server plays it',
  async (_, name) => {
    expect(difference(name, await play(name))).toBeUndefined()
  },
)

/**
 * Recordings with every outcome and every class of failure. Longer ones with the same outcome would only take longer.
 */
const cutNames = [
  'already-finished',
  'bare-pod',
  'crash-loop',
  'deleted',
  'first-create',
  'image-name-invalid',
  'image-never-pull',
  'image-not-found',
  'image-unauthorized',
  'job-fails',
  'job-retries',
  'misspelt-name',
  'no-readiness-probe',
  'paused',
  'progress-deadline-exceeded',
  'replicaset',
  'rollout-undo',
  'second-apply',
  'slow-pull',
  'stalled',
  'statefulset',
  'update',
]

/** The moments of a recording: others for each kind of cut. */
function momentsOf({ later }: { readonly later: readonly number[] }, cut: number, every = 24): readonly number[] {
  return sampled([...later.keys()], every, 5 * cut + later.length)
}

describe.each(Object.entries(cuts).map(([name, cut], index) => [name, cut, index] as const))(
  '%s does not change the verdict',
  (_, cut, index) => {
    test.each(titledRecordings(cutNames))('at any moment of %s', async (_, name) => {
      const differences: string[] = []
      for (const moment of momentsOf(await read(name), index)) {
        const ending = await play(name, { before: (event, server) => (event === moment ? cut(server) : undefined) })
        const found = difference(name, ending)
        if (found !== undefined) differences.push(`cut before event ${moment}: ${found}`)
      }
      expect(differences).toEqual([])
    })
  },
)

interface SentEvent {
  readonly type: string
  readonly object: { readonly metadata: Record<string, unknown> }
}

/** What a stream contains instead of each event. */
const streams: Readonly<Record<string, (event: SentEvent, first: SentEvent) => readonly SentEvent[]>> = {
  'every event twice': (event) => [event, event],
  'an old event after every event': (event, first) => (event === first ? [event] : [event, first]),
  'objects of 1 MB': ({ type, object }) => {
    const metadata = { ...object.metadata, annotations: { 'example.com/large': 'x'.repeat(1 << 20) } }
    return [{ type, object: { ...object, metadata } }]
  },
}

const fewNames = ['update', 'image-not-found', 'no-readiness-probe']

describe.each(Object.entries(streams))('a watch with %s does not change the verdict', (title, eventsFor) => {
  test.each(titledRecordings(sampled(fewNames, 3, title.length)))('of %s', async (_, name) => {
    let changed = 0
    const prepare = (server: ApiServer) =>
      server.intercept((request, response) => {
        if (!request.query.has('watch')) return 'answer'
        const write = response.write.bind(response) as (chunk: unknown) => boolean
        let first: SentEvent | undefined
        response.write = (chunk: unknown) => {
          const event = JSON.parse(String(chunk)) as SentEvent
          first ??= event
          changed += 1
          return write(
            `${eventsFor(event, first)
              .map((each) => JSON.stringify(each))
              .join('\n')}\n`,
          )
        }
        return 'answer'
      })
    expect(difference(name, await play(name, { prepare }))).toBeUndefined()
    expect(changed).toBeGreaterThan(0)
  })
})

describe('an API server that is restored from a backup does not change the verdict', () => {
  test.each(titledRecordings(fewNames))('at any moment of %s', async (_, name) => {
    const differences: string[] = []
    for (const moment of momentsOf(await read(name), 0, 4)) {
      const before = (event: number, server: ApiServer) => (event === moment ? server.restoreBackup() : undefined)
      const { outcome, reason } = await play(name, { before })
      const live = expectations[name]
      if (outcome !== live?.outcome || reason !== live.reason)
        differences.push(`before event ${moment}: ${outcome} ${reason}`)
    }
    expect(differences).toEqual([])
  })
})

describe.each([
  ['that is reset', 0],
  ['that gets 410 Gone', 410],
  ['that gets 429 Too Many Requests', 429],
  ['that gets 503 Service Unavailable', 503],
])('a request %s does not change the verdict', (_, code) => {
  test.each(titledRecordings(sampled(fewNames, 3, code)))('of %s', async (_, name) => {
    const differences: string[] = []
    for (let nth = 0, reached = true; reached; nth++) {
      let seen = 0
      const prepare = (server: ApiServer) => server.failNext(1, code, { filter: () => seen++ === nth })
      const found = difference(name, await play(name, { prepare }))
      if (found !== undefined) differences.push(`request ${nth}: ${found}`)
      reached = seen > nth
    }
    expect(differences).toEqual([])
  })
})
