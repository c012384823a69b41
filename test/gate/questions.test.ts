import { expect, it } from '@jest/globals'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import { answers, createChecks, createServer } from '../kit/checks.ts'
import { added, allSynced, at, createGate, createTarget, synced } from '../kit/gate.ts'
import { start } from '../kit/objects.ts'

type Raw = Parameters<typeof createChecks>[0]

const server = createServer(2)
const whenReady = at(1, added(server.deployment(), server.replicaSet, ...server.pods()), allSynced, synced('Service'))

/** What the gate asks after these events: `web-1-a at 11 s`, `web-1-a at once`. */
function asked(raw: Raw, ...events: readonly (readonly FeedEvent[])[]): readonly string[] {
  const targets = [createTarget()]
  const steps = [whenReady, ...events]
  const gate = createGate(steps, { targets, afterReady: createChecks(raw, targets) })
  for (const event of steps.flat()) {
    gate.handle([event])
    // The watches have answered.
    gate.advance(event.at)
  }
  return gate.questions.map(({ pod, at }) => `${pod} at ${at === 0 ? 'once' : `${(at - start) / 1_000} s`}`)
}

const requests = 'deployment/web GET /healthz'

it.each<[string, Raw, readonly FeedEvent[], readonly string[]]>([
  ['one pod as soon as it is ready', { 'http-checks': requests }, [], ['web-1-a at once']],
  [
    'every pod with --each-pod',
    { 'http-checks': `${requests} --each-pod` },
    [],
    ['web-1-a at once', 'web-1-b at once'],
  ],
  [
    'the same pod 10 s after a wrong answer',
    { 'http-checks': requests },
    answers([3], { status: 500 }),
    ['web-1-a at 13 s'],
  ],
  ['nothing after a right answer', { 'http-checks': requests }, answers([3]), []],
  ['the pod again in the hold', { 'http-checks': requests, hold: '1m' }, answers([3]), ['web-1-a at 13 s']],
  [
    'the pod again after each answer in the hold',
    { 'http-checks': requests, hold: '1m' },
    answers([3, 14]),
    ['web-1-a at 24 s'],
  ],
  [
    'every pod again in the hold with --each-pod',
    { 'http-checks': `${requests} --each-pod`, hold: '1m' },
    [...answers([3]), ...answers([4], {}, 'web-1-b')],
    ['web-1-a at 13 s', 'web-1-b at 14 s'],
  ],
])('the gate asks %s', (_, raw, events, expected) => expect(asked(raw, events)).toEqual(expected))

it('while the change of a target is awaited, its pods are neither watched nor asked', () => {
  const targets = [createTarget()]
  const settings = { awaitChangeMs: 60_000 }
  const gate = createGate([whenReady], {
    targets,
    settings,
    afterReady: createChecks({ 'http-checks': requests }, targets),
  })
  gate.handle(whenReady)
  expect(gate.requests.some(({ kind }) => kind === 'Pod')).toBe(false)
  expect(gate.questions).toEqual([])
})
