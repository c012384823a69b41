import { viewSettings } from '../../src/gate/settings.ts'
import {
  added,
  allSynced,
  at,
  createSettings,
  createWorkload,
  deleted,
  failed,
  modified,
  runUntil,
} from '../kit/gate.ts'
import { complete, is, make, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const neverPull = podIs.unready({ state: is.waiting('ErrImageNeverPull') }, { phase: 'Pending' })
const broken = added(web.deployment({ ...complete(0), observedGeneration: 1 }), web.replicaSet, web.pod(neverPull))
const settings = viewSettings(createSettings())

describe('a gate of a view', () => {
  test('keeps a failed target open, with its problem as the reason', () => {
    expect(runUntil(30, [at(0, broken, allSynced)], { settings })).toMatchObject({
      outcome: undefined,
      targets: [{ outcome: 'progressing', reason: 'image-never-pull' }],
    })
  })

  test('sees a failed target become ready', () => {
    const mended = modified(web.pod(podIs.ready(20)), web.deployment(complete()))
    expect(runUntil(60, [at(0, broken, allSynced), at(20, mended)], { settings })).toMatchObject({
      outcome: undefined,
      targets: [{ outcome: 'ready' }],
    })
  })

  test('sees a ready target fail again', () => {
    const fallen = modified(web.pod(neverPull), web.deployment({ ...complete(0), observedGeneration: 1 }))
    expect(runUntil(60, [at(0, web.done, allSynced), at(20, fallen)], { settings }).targets).toMatchObject([
      { outcome: 'progressing', reason: 'image-never-pull' },
    ])
  })

  test('waits for a deleted target to be created again, and judges the new one', () => {
    const again = make.deployment({ metadata: { uid: 'another' }, spec: { replicas: 0 }, status: complete(0) })
    const steps = [at(0, web.done, allSynced), at(20, deleted(web.deployment(complete())))]
    expect(runUntil(60, steps, { settings }).targets).toMatchObject([
      { outcome: 'progressing', message: 'was deleted' },
    ])
    expect(runUntil(90, [...steps, at(80, added(again))], { settings }).targets).toMatchObject([{ outcome: 'ready' }])
  })

  test('judges a later template as it stands', () => {
    const template = make.template({ containers: [{ name: 'app', image: 'acme/web:v2' }] })
    const next = web.deployment(complete(), { metadata: { generation: 2 }, spec: { template } })
    expect(runUntil(30, [at(0, web.done, allSynced), at(20, modified(next))], { settings }).targets).toMatchObject([
      { outcome: 'progressing', message: expect.stringContaining('generation 2') },
    ])
  })

  test('outlasts an outage, and access that is withdrawn', () => {
    const outage = at(20, failed(0, undefined, 'connection refused'))
    expect(runUntil(3_600, [at(0, web.done, allSynced), outage], { settings }).outcome).toBeUndefined()
    const refused = at(20, failed(403, 'Deployment', 'forbidden'))
    expect(runUntil(3_600, [at(0, web.done, allSynced), refused], { settings }).outcome).toBeUndefined()
  })

  test('has no clocks, also none of a reference', () => {
    const targets = [{ ...web.target, clocks: { timeoutMs: 10_000, stallTimeoutMs: 10_000 } }]
    expect(runUntil(3_600, [at(0, allSynced)], { settings, targets }).targets).toMatchObject([
      { outcome: 'progressing', message: 'waiting for it to be created' },
    ])
  })
})
