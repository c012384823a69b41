import { join } from 'node:path'
import { table } from '../../scripts/markdown.ts'
import { UserError } from '../../src/errors.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { expectSnapshot } from '../report/snapshot.ts'
import { startApiServer } from '../support/api-server.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { playRecording } from '../support/play-recording.ts'
import { recordingPath } from '../support/recordings.ts'
import { isThorough } from '../support/thorough.ts'
import { type Fault, faults, stages } from './faults.ts'

/** Rollouts that have ended, and their right ends. */
const rollouts = {
  'already-finished': { target: 'deployment/web', right: 'ready' },
  'image-name-invalid': { target: 'deployment/web', right: 'failed: image-name-invalid' },
  'job-fails': { target: 'job/migrate', right: 'failed: job-failed' },
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
    let faulty = 0
    server.intercept((request, response) => {
      // Two objects are two pages.
      if (request.query.has('limit')) request.query.set('limit', '1')
      if (faulty >= times || !stage(request)) return 'answer'
      faulty++
      const after = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
      return fault({ request, response, after })
    })
    const { target } = rollouts[name]
    const raw = { resources: target, namespace: String(inputs['namespace']), kubeconfig: server.kubeconfig() }
    const ending = await gateInVirtualTime(raw, clock).then(
      ({ verdict: { outcome, reason } }) => (reason === '' ? outcome : `${outcome}: ${reason}`),
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

describe.each(names)('%s', (name) => {
  test.each(chosen)(
    'is judged right, or not at all: $fault $stage, $duration',
    async ({ stage, matches, fault, act, duration, times }) => {
      const ending = await gateWith(name, matches, act, times)
      endings.set([name, fault, stage, duration].join('|'), ending)
      const { right } = rollouts[name]
      // At the start, the gate ends at what looks like a mistake in the inputs.
      const isRefused =
        stage === 'discovery' || fault === 'Status 401.' || (fault === 'Status 403.' && stage === 'first list')
      if (times === 2 && !isRefused) expect(ending.end).toBe(right)
      // A server that does not serve a kind has no object of it.
      else if (fault === 'Status 404.' && stage === 'first list') expect(ending.end).toBe('failed: not-found')
      // Pods that cannot be read are left to what their controller reports, which does not explain the failure.
      else if (/^Status 40[34]/.test(fault) && stage === 'second page')
        expect([right, 'stalled: no-progress']).toContain(ending.end)
      else if (ending.end !== right) expect(ending.end).toMatch(/^(?:unknown|misconfigured): /)
    },
  )
})

const everyCase = isThorough ? test : test.skip

everyCase('docs/reliability.md contains the results', () => {
  const rows = Object.keys(faults).flatMap((fault) =>
    Object.keys(stages).map((stage) => [
      fault,
      stage,
      ...Object.keys(durations).map((each) => describeEndings(fault, stage, each)),
    ]),
  )
  const text = [
    '# Reliability',
    '',
    'Made by `UPDATE_SNAPSHOTS=1 CI=true npm test -- test/reliability`. Each fault is applied to two requests of one stage, or to',
    'all of them, while the gate judges three rollouts: a ready one, one with an invalid image name, and a failed Job.',
    '**right** means that all three have the same outcome as without the fault. Otherwise the cell contains the outcome, which is',
    'never falsely ready or failed. The time is that of the slowest rollout.',
    '',
    ...table(['fault', 'stage', 'two requests', 'every request'], rows),
    '',
    'Further faults (connections that break within an event, restarts, expired resource versions, half-open connections,',
    'withdrawn access) are tested at every event of the recordings in `test/integration/cuts.test.ts` and',
    '`test/integration/blind.test.ts`, and on a real cluster in `test/cluster/scenarios/connections.ts`.',
    '',
  ]
  expectSnapshot(text.join('\n'), 'reliability.md', join(import.meta.dirname, '../../docs'))
})

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
