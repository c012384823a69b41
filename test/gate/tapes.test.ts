import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { viewSettings } from '../../src/gate/settings.ts'
import { loadCompiler } from '../../src/plan/expressions.ts'
import { compileEntry } from '../../src/plan/health-check-entries.ts'
import { createSettings } from '../kit/gate.ts'
import { testTapes } from '../kit/tape-cases.ts'
import { shopEntry } from './shop-entry.ts'

const compiler = await loadCompiler()
const replacing = compileEntry({ apiVersion: shopEntry.apiVersion, kind: 'Shop', current: 'false' }, compiler, {
  isUsers: true,
})
const { owns: _, ...owningNothing } = shopEntry
const workload = [compileEntry({ ...shopEntry, isWorkload: true }, compiler)]
const settings = {
  view: viewSettings(createSettings()),
  unknown: { catalogue: [] },
  operator: { catalogue: [compileEntry(shopEntry, compiler)] },
  operatorOwningNothing: { catalogue: [compileEntry(owningNothing, compiler)] },
  workload: { catalogue: workload },
  workloadOfUser: { catalogue: workload, healthChecks: [replacing] },
}

const folder = join(import.meta.dirname, 'tapes')
for (const file of readdirSync(folder)) testTapes(join(folder, file), settings)
