import { addDiagnosis } from '../../src/diagnosis/diagnosis.ts'
import { added, allSynced, at, createTarget, createWorkload, modified, run, synced } from '../kit/gate.ts'
import { complete } from '../kit/objects.ts'

const identity = { apiVersion: 'acme.io/v1', kind: 'Widget' }
const metadata = { name: 'w', namespace: 'shop', uid: 'w-uid' }
const widgetTarget = createTarget({ ...identity, name: 'w' })
const web = createWorkload('web')
const targets = [widgetTarget, web.target]

/** A custom resource that no rule can read. */
const unreadable = {
  ...identity,
  metadata,
  get status(): object {
    throw new TypeError('status.parts is not iterable')
  },
}

const unjudged = {
  outcome: 'unknown',
  reason: '',
  message: 'Rollout Gate itself failed when it judged this object: status.parts is not iterable',
  seconds: 1,
}

test('an error of a rule ends only its own target as unknown', () => {
  const {
    outcome,
    message,
    targets: records,
  } = run(
    [
      at(1, added(unreadable), synced('Widget'), web.creating, allSynced),
      at(60, modified(web.deployment(complete())), web.done),
    ],
    { targets },
  )
  expect(records).toEqual([unjudged, expect.objectContaining({ outcome: 'ready', seconds: 60 })])
  expect(outcome).toBe('unknown')
  expect(message).toBe(`widget/w: ${unjudged.message}`)
})

test('a target that could not be assessed has a message that asks for a report', () => {
  const { record } = run([at(1, added(unreadable), synced('Widget'))], { targets: [widgetTarget] })
  const { hint, targets: records } = addDiagnosis(record, {} as never, 0)
  expect(hint).toBeUndefined()
  expect(records[0]?.hint).toMatch(/^An object of the cluster has a field that was not expected. Please report it/)
})

test('an object whose generation is not a number is assessed as if it had none', () => {
  const done = web.deployment(complete())
  const generation = { of: 'w' } as unknown as number
  const object = { ...done, metadata: { ...done.metadata, generation } }
  const { targets: records } = run([at(1, added(object), web.done, allSynced)], { targets: [web.target] })
  expect(records).toMatchObject([{ outcome: 'ready' }])
})

test('an object with invalid metadata ends its target as unknown', () => {
  const invalid = { ...web.deployment(), spec: { replicas: 'three' } }
  const { targets: records } = run([at(1, added(invalid), allSynced)], { targets: [web.target] })
  const message = 'its object is invalid: spec.replicas has the wrong type'
  expect(records).toEqual([{ outcome: 'unknown', reason: '', message, seconds: 1 }])
})

test('an object with invalid metadata that is no target is ignored and logged once', () => {
  const invalid = { ...web.pod(), spec: { containers: 'app' } }
  const { outcome, entries } = run(
    [
      at(1, web.creating, allSynced),
      at(2, added(invalid)),
      at(3, modified(invalid)),
      at(60, modified(web.deployment(complete())), web.done),
    ],
    { targets: [web.target] },
  )
  expect(outcome).toBe('ready')
  const text = 'pod/web-1-a is ignored: its object is invalid: spec.containers has the wrong type'
  expect(entries.filter((entry) => entry.includes('ignored'))).toEqual([`2 note ${text}`])
})
