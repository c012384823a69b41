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
  runUntil,
} from '../kit/gate.ts'
import { is, moment, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const neverPull = podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })

describe('after the verdict', () => {
  it('nothing changes', () => {
    const steps = [at(0, web.done, allSynced)]
    const gate = createGate(steps)
    for (const event of steps.flat()) gate.handle(event)
    const before = report(gate)
    const later = [
      ...at(1, modified(web.pod(neverPull), web.deployment(progressing)), { type: 'CANCEL' } as const),
      ...at(2, deleted(web.deployment())),
      ...at(900, failed(0), alive),
    ]
    for (const event of later) gate.handle(event)
    gate.advance(moment(5_000))
    expect(report(gate)).toEqual(before)
    expect(gate.nextDeadline()).toBeUndefined()
  })

  it('logs are still stored, as evidence', () => {
    const gate = createGate([])
    gate.advance(moment(30))
    const log = { namespace: 'shop', pod: 'web-1-a', container: 'app', previous: false, text: 'boom' }
    gate.handle({ at: moment(31), type: 'LOG', ...log })
    expect(gate.store.log('shop', 'web-1-a', 'app', false)?.text).toBe('boom')
  })
})

it('contain a heartbeat that stays short, however long a status is', () => {
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
