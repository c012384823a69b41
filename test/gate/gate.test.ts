import type { PodStatus } from '../../src/cluster/objects.ts'
import {
  added,
  alive,
  allSynced,
  at,
  createGate,
  createTarget,
  createWorkload,
  deleted,
  failed,
  modified,
  progressing,
  report,
  run,
  runUntil,
} from '../kit/gate.ts'
import { complete, is, moment, podIs } from '../kit/objects.ts'
import { toPattern } from '../kit/words.ts'

const web = createWorkload('web')
const neverPull = podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })

it.each([
  ['with the same time lead to one assessment', 1, []],
  ['with different times lead to two assessments', 2, ['1 note no longer ready: …']],
])('events %s', (_, seconds, notes) => {
  const settings = { continuesAfterVerdict: true, timeoutMs: 0, givesNoVerdict: true }
  const unready = web.pod(podIs.unready({ state: is.running() }), { resourceVersion: '2' })
  const { entries } = runUntil(
    5,
    [
      at(0, web.done, allSynced),
      at(1, modified(unready, web.deployment(progressing))),
      at(seconds, modified(web.pod(podIs.ready(-60), { resourceVersion: '3' }), web.deployment(complete()))),
    ],
    { settings },
  )
  expect(entries.filter((each) => each.includes(' note '))).toEqual(
    notes.map((each) => expect.stringMatching(toPattern(each))),
  )
})

it('a change shortly before the timeout makes a target with many pods ready', () => {
  const replicas = 200
  const deployment = (ready: number) =>
    web.deployment(complete(replicas, { readyReplicas: ready, availableReplicas: ready }), { spec: { replicas } })
  const last = (status: PodStatus, resourceVersion: string) => web.pod(status, { name: 'web-1-last', resourceVersion })
  const others = Array.from({ length: replicas - 1 }, (_, index) =>
    web.pod(podIs.ready(-60), { name: `web-1-${index}` }),
  )
  const { outcome, seconds } = run(
    [
      at(0, added(deployment(0), web.replicaSet, last(podIs.unready({}), '1'), ...others), allSynced),
      at(9.99, modified(last(podIs.unready({ state: is.running() }), '2'))),
      at(9.995, modified(last(podIs.ready(-60), '3'), deployment(replicas))),
    ],
    { settings: { timeoutMs: 10_000 } },
  )
  expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 10 })
})

describe('after the verdict', () => {
  it('no event changes the record', () => {
    const steps = [at(0, web.done, allSynced)]
    const gate = createGate(steps)
    gate.handle(steps.flat())
    const before = report(gate)
    const later = [
      ...at(1, modified(web.pod(neverPull), web.deployment(progressing)), { type: 'CANCEL' } as const),
      ...at(2, deleted(web.deployment())),
      ...at(900, failed(0), alive),
    ]
    gate.handle(later)
    gate.advance(moment(5_000))
    expect(report(gate)).toEqual(before)
    expect(gate.nextDeadline()).toBeUndefined()
  })

  it('logs are still stored as evidence', () => {
    const gate = createGate([])
    gate.advance(moment(30))
    const log = { namespace: 'shop', pod: 'web-1-a', container: 'app', previous: false, text: 'boom' }
    gate.handle([{ at: moment(31), type: 'LOG', ...log }])
    expect(gate.store.logOf('shop', 'web-1-a', 'app', false)?.text).toBe('boom')
  })
})

it('a heartbeat stays short even if a status message is long', () => {
  const message = 'x'.repeat(500)
  const object = {
    apiVersion: 'acme.example/v1',
    kind: 'Database',
    metadata: { name: 'orders', namespace: 'shop', uid: 'o' },
    status: { conditions: [{ type: 'Ready', status: 'False', message }] },
  }
  const target = createTarget({ apiVersion: 'acme.example/v1', kind: 'Database', name: 'orders' })
  const { entries } = runUntil(31, [at(0, added(object), allSynced)], { targets: [target] })
  const heartbeat = entries.find((entry) => entry.includes('heartbeat')) ?? ''
  expect(heartbeat).toContain('x…)')
  expect(heartbeat.length).toBeLessThan(150)
})
