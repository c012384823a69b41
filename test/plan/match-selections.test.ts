import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WatchRequest } from '../../src/cluster/feed.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { resolveReferences } from '../../src/plan/resolve.ts'
import { matchLimitMs, matchSelections } from '../../src/plan/resolve-targets.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'

const seconds = (count: number) => count * 1_000

/**
 * Runs the selection of lines while objects appear.
 * @param created the second at which the objects of each kind appear
 * @returns the names that each kind matches, what was waited for, and when the wait was over, in seconds
 */
async function match(
  lines: string,
  created: Readonly<Record<string, readonly number[]>>,
  options: { limit?: number; cancelAt?: number } = {},
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
    limitMs: ({ clocks }) => clocks.milestoneTimeoutsMs?.['created'] ?? seconds(options.limit ?? 30),
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

it('a line with a selector does not wait if it matches', async () => {
  expect(await match('deploy -l app=web', { Deployment: [0] })).toEqual({
    endedAt: 0,
    waiting: [],
    names: ['Deployment-0'],
  })
})

it('a line with a selector waits for its first match, and 5 s longer for other objects of the same apply', async () => {
  expect(await match('deploy -l app=web', { Deployment: [8, 10] })).toEqual({
    endedAt: 15,
    waiting: ['deployment -l app=web'],
    names: ['Deployment-0', 'Deployment-1'],
  })
})

it('a line with a selector is without a match after the time for `created`, as a misspelt name', async () => {
  expect(await match('deploy -l app=wbe', {})).toMatchObject({ endedAt: 30, names: [] })
})

it('a line with a selector has its own time for `created`', async () => {
  expect(await match('deploy -l app=wbe --milestone-timeouts=created=5s', {})).toMatchObject({ endedAt: 5 })
})

it('a line with a selector does not wait for further kinds if one of them matches', async () => {
  expect(await match('deploy,sts -l app=web', { Deployment: [0] })).toMatchObject({ endedAt: 0, waiting: [] })
})

it('a line with a selector waits for any of its kinds', async () => {
  expect(await match('deploy,sts -l app=web', { StatefulSet: [3] })).toMatchObject({
    endedAt: 8,
    waiting: ['deployment -l app=web', 'statefulset -l app=web'],
    names: ['StatefulSet-0'],
  })
})

it('a line with a selector does not wait to be deleted', async () => {
  expect(await match('pod -l app=old --for=delete', {})).toMatchObject({ endedAt: 0, waiting: [] })
})

it('a line with a selector does not delay another line that matches by more than its own wait', async () => {
  expect(await match('deploy -l app=web\nsts -l app=db', { Deployment: [0] })).toMatchObject({
    endedAt: 30,
    waiting: ['statefulset -l app=db'],
    names: ['Deployment-0'],
  })
})

it('a line with a selector stops waiting when the job is cancelled', async () => {
  expect(await match('deploy -l app=web', {}, { cancelAt: 2 })).toMatchObject({ endedAt: 2 })
})

const inputs = { awaitChangeMs: 0, milestoneTimeoutsMs: { created: 30_000 }, timeoutMs: 600_000 }

it.each([
  ['the time of created', {}, {}, 30_000],
  ['the time of created of its own line', { milestoneTimeoutsMs: { created: 5_000 } }, {}, 5_000],
  ['the time for its change', {}, { awaitChangeMs: 60_000 }, 60_000],
  ['the timeout, if that is shorter', {}, { timeoutMs: 8_000 }, 8_000],
  ['the timeout of its own line, if that is shorter', { timeoutMs: 7_000 }, {}, 7_000],
  ['the timeout, if nothing else limits it', {}, { milestoneTimeoutsMs: { created: 0 } }, 600_000],
  ['without an end, if no clock runs', {}, { milestoneTimeoutsMs: {}, timeoutMs: 0 }, Infinity],
])('the wait of a line with a selector is %s', (_, clocks, others, limitMs) => {
  expect(matchLimitMs({ clocks }, { ...inputs, ...others })).toBe(limitMs)
})
