import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WatchRequest } from '../../src/cluster/feed.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { matchLimitMs, matchSelections, resolveReferences } from '../../src/plan/resolve.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { rows } from '../kit/rows.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const seconds = (count: number) => count * 1_000
const inputs = { awaitChangeMs: 0, milestoneTimeoutsMs: { created: 30_000 }, timeoutMs: 600_000 }

/**
 * Runs the selection of lines while objects appear.
 * @param created the second at which the objects of each kind appear
 * @returns the names that each kind matches, what was waited for, and when the wait was over, in seconds
 */
async function match(
  lines: string,
  created: Readonly<Record<string, readonly number[]>>,
  options: { cancelAt?: number } = {},
) {
  const clock = new ManualClock(0)
  const job = new AbortController()
  const waiting: string[] = []
  const defaults = { namespace: 'shop', milestones: [], milestonesOf: () => ['created', 'ready'] }
  const resolution = resolveReferences(parseReferences(lines), BUILT_IN_RESOURCES, defaults)
  const list = async ({ kind }: WatchRequest) =>
    (created[kind] ?? []).flatMap((at, index) => (clock.now() >= seconds(at) ? [`${kind}-${index}`] : []))
  let endedAt: number | undefined
  const matching = matchSelections(resolution, list, {
    inputs,
    clock,
    signal: job.signal,
    onWaiting: (selectors) => waiting.push(...selectors),
  }).finally(() => {
    endedAt = clock.now() / 1_000
  })
  while (endedAt === undefined) {
    if (clock.now() >= seconds(options.cancelAt ?? Infinity)) job.abort()
    for (let turns = 0; turns < 5; turns++) await nextTurn()
    if (endedAt === undefined) clock.advance(1_000)
  }
  const namesOf = await matching
  return { endedAt, waiting, names: resolution.selections.flatMap(namesOf) }
}

it.each(
  rows<[string, string, Readonly<Record<string, readonly number[]>>, number, readonly string[], readonly string[]]>(
    data,
    'a line with a selector',
  ),
)('a line with a selector %s', async (_, lines, created, endedAt, waiting, names) => {
  expect(await match(lines, created)).toEqual({ endedAt, waiting, names })
})

it('a line with a selector stops waiting when the job is cancelled', async () => {
  expect(await match('deploy -l app=web', {}, { cancelAt: 2 })).toMatchObject({ endedAt: 2 })
})

it.each([
  ['for the timeout of the milestone created', {}, {}, 30_000],
  ['for the timeout of the milestone created of its own line', { milestoneTimeoutsMs: { created: 5_000 } }, {}, 5_000],
  ['for the timeout of its change', {}, { awaitChangeMs: 60_000 }, 60_000],
  ['for the timeout of the gate if that is shorter', {}, { timeoutMs: 8_000 }, 8_000],
  ['for the timeout of its own line if that is shorter', { timeoutMs: 7_000 }, {}, 7_000],
  ['for the timeout of the gate if no other clock runs', {}, { milestoneTimeoutsMs: { created: 0 } }, 600_000],
  ['without a limit if no clock runs', {}, { milestoneTimeoutsMs: {}, timeoutMs: 0 }, Infinity],
])('a line with a selector waits %s', (_, clocks, others, limitMs) => {
  expect(matchLimitMs({ clocks }, { ...inputs, ...others })).toBe(limitMs)
})
