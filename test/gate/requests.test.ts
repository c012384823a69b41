import { describe, expect, it } from '@jest/globals'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import { answers, createChecks, createServer } from '../kit/checks.ts'
import { added, allSynced, at, type Run, run, synced } from '../kit/gate.ts'
import { rows } from '../kit/rows.ts'
import { endOf } from '../kit/tape-cases.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const lists: Observation[] = [...allSynced, ...synced('Service')]

/** A server that is ready at 1 s, when it is listed. */
function readyServer(): FeedEvent[] {
  const server = createServer()
  return at(1, added(server.deployment(), server.replicaSet, ...server.pods()), lists)
}

type Raw = Parameters<typeof createChecks>[0]

function check(raw: Raw, steps: readonly (readonly FeedEvent[])[]): Run {
  return run(steps, { afterReady: createChecks(raw) })
}

/** What pod `web-1-a` answers in a second: a status, an error, or more. */
type Answers = Readonly<Record<number, number | string | Parameters<typeof answers>[1]>>
type Case = readonly [title: string, raw: Raw, answers: Answers, end: string]

function answersOf(each: Answers): FeedEvent[] {
  return Object.entries(each).flatMap(([second, answer]) => {
    if (typeof answer === 'number') return answers([Number(second)], { status: answer })
    return answers([Number(second)], typeof answer === 'string' ? { status: undefined, error: answer } : answer)
  })
}

describe.each(['a Deployment with http-checks', 'a hold'])('%s', (table) => {
  it.each(rows<Case>(data, table))('%s', (_, raw, each, end) => {
    expect(endOf(check(raw, [readyServer(), answersOf(each)]))).toBe(end)
  })
})

it('100 pods that hang are proven as failed before the gate ends', () => {
  const server = createServer(100)
  const names = Array.from({ length: 100 }, (_, index) => `web-1-${String(index).padStart(3, '0')}`)
  const pods = names.map((name) => server.pod(name))
  const listed = at(1, added(server.deployment(), server.replicaSet, ...pods), lists)
  const right = names.flatMap((name) => answers([2], {}, name))
  // Six rounds of 16 requests that time out after 5 s: each pod is asked about every 35 s.
  const hanging = [0, 1, 2, 3].flatMap((round) =>
    names.flatMap((name, index) =>
      answers([15 + 35 * round + 5 * Math.floor(index / 16)], { status: undefined, error: 'no answer for 5 s' }, name),
    ),
  )
  const afterReady = createChecks({ 'http-checks': 'deployment/web GET / --each-pod', hold: '30s' })
  const result = run([listed, right, hanging], { afterReady })
  expect(endOf(result)).toBe('failed no-answer 85')
})
