import { join } from 'node:path'
import { addDiagnosis } from '../../src/diagnosis/diagnosis.ts'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import { compileEntry, loadCompiler } from '../../src/plan/health-checks.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { createGate, createTarget, report } from '../kit/gate.ts'
import type { NamedObjects } from '../kit/named-objects.ts'
import { readData } from '../kit/rows.ts'
import { tape, withParts } from '../kit/tape.ts'
import { shopEntry } from './shop-entry.ts'

interface Group {
  readonly objects: NamedObjects
  readonly tapes: Readonly<Record<string, string>>
}

const data = readData(join(import.meta.dirname, 'tapes/owned-objects.yaml')) as Group & Readonly<Record<string, Group>>

it('the problem of an object in an inventory has its ownership chain and hint, even in another namespace', async () => {
  const { 'a custom resource with an inventory': inventory } = data
  const objects = { ...data.objects, ...inventory?.objects }
  const steps = tape(withParts('$found', { ...data.tapes, ...inventory?.tapes }), objects)
  const { owns: _, ...entry } = compileEntry(shopEntry, await loadCompiler())
  const targets = [createTarget({ apiVersion: 'acme.example/v1', kind: 'Shop', name: 'web' })]
  const gate = createGate(steps, { targets, settings: { catalogue: [{ ...entry, applies: [] }] } })
  gate.handle(steps.flat())
  for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next)
  const { record } = report(gate)
  expect(record.targets[0]?.problems.map(({ subject, namespace }) => [subject, namespace])).toEqual([
    ['pod/front-1-a', 'apps'],
    ['shop/web', undefined],
  ])
  const [explained] = addDiagnosis(record, gate.store, 0).targets
  const chain = ['shop/web', 'deployment/front', 'replicaset/front-1', 'pod/front-1-a', 'container app']
  expect(explained?.problems[0]?.chain).toEqual(chain)
  expect(explained?.hint).toContain('acme/web:v1')
  const built = buildReport({ ...record, targets: explained === undefined ? [] : [explained] } as EndedRunRecord)
  expect(built.targets[0]?.problems[0]).toMatchObject({ namespace: 'apps', chain })
  expect(built.targets[0]?.problems[1]?.chain).toBeUndefined()
})
