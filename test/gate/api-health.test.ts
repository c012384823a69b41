import { gateHint } from '../../src/diagnosis/hints.ts'
import type { EndedRunRecord, JudgedTargetRecord } from '../../src/gate/run-record.ts'
import { added, allSynced, at, createTarget, createWorkload, failed, run } from '../kit/gate.ts'
import { moment, podIs } from '../kit/objects.ts'
import { createRecord, createTargetRecord } from '../report/builders.ts'

const web = createWorkload('web')

test('the hint about a kind that cannot be read contains its conversion webhook', () => {
  const widget = { apiVersion: 'acme.io/v1', kind: 'Widget', namespace: 'shop' }
  const fails = { ...failed(500, undefined, 'conversion webhook failed'), ...widget, lastSuccessAt: moment(0) }
  const steps = [at(0, { type: 'SYNCED', ...widget }, web.done, allSynced), at(5, fails)]
  const { record } = run(steps, { targets: [createTarget({ ...widget, name: 'w' }), web.target] })
  const hint = gateHint(
    createRecord({ ...(record as EndedRunRecord<JudgedTargetRecord>), targets: [createTargetRecord()] }),
  )
  expect(hint).toMatch(/^The API server answers, but cannot read Widgets: check the conversion webhook /)
})

test('a refused watch of a namespace is replaced by watches of single objects', () => {
  const pods = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
  const names = [...Array(9)].map((_, index) => `p${index}`)
  const targets = names.map((name) => createTarget({ apiVersion: 'v1', kind: 'Pod', name }))
  const barePod = (name: string) => ({ ...web.pod(podIs.ready(-60)), metadata: { name, namespace: 'shop', uid: name } })
  const steps = [
    at(1, { ...failed(403, undefined, 'pods is forbidden'), ...pods }),
    ...names.map((name) => at(2, added(barePod(name)), { type: 'SYNCED', ...pods, name } as const)),
  ]
  expect(run(steps, { targets, live: true })).toMatchObject({ outcome: 'ready', seconds: 2 })
})
