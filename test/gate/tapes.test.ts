import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { settingsForPurpose } from '../../src/gate/settings.ts'
import { loadCatalogue } from '../../src/lifecycle/custom/catalogue.ts'
import { compileEntry, type HealthCheckEntry, loadCompiler } from '../../src/plan/health-checks.ts'
import { createSettings, createTarget } from '../kit/gate.ts'
import { testTapes } from '../kit/tape-cases.ts'
import { shopEntry } from './shop-entry.ts'

const compiler = await loadCompiler()
const replacing = compileEntry({ apiVersion: shopEntry.apiVersion, kind: 'Shop', current: 'false' }, compiler, {
  isUsers: true,
})
const { owns: _, ...owningNothing } = shopEntry
const workload = [compileEntry({ ...shopEntry, isWorkload: true }, compiler)]
const awaiting = {
  apiVersion: shopEntry.apiVersion,
  kind: 'Shop',
  documentation: 'https://acme.example',
  current: "status.phase == 'Running'",
  owns: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
  awaitsWorkloads: true,
} as const
const ofUser = compileEntry({ apiVersion: shopEntry.apiVersion, kind: 'Shop', current: 'true' }, compiler, {
  isUsers: true,
})
const widgets: HealthCheckEntry = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  documentation: 'https://example.com/widgets',
  current: `status.phase == 'Up'`,
  failed: `status.phase == 'Broken'`,
  suspended: `status.phase == 'Waiting'`,
  stallHold: `status.phase == 'Cooling'`,
  cause: ['status.message'],
  milestones: [
    { name: 'provisioned', done: 'has(status.id)' },
    { name: 'bound', done: 'has(status.node)' },
  ],
}
const settings = {
  widgets: { catalogue: [compileEntry(widgets, compiler)] },
  view: settingsForPurpose('view', createSettings()),
  unknown: { catalogue: [] },
  operator: { catalogue: [compileEntry(shopEntry, compiler)] },
  /** Its operator lists in the status what it has applied. */
  applying: { catalogue: [{ ...compileEntry(owningNothing, compiler), applies: [] }] },
  operatorOwningNothing: { catalogue: [compileEntry(owningNothing, compiler)] },
  awaiting: { catalogue: [compileEntry(awaiting, compiler)] },
  awaitingOfUser: { catalogue: [compileEntry(awaiting, compiler)], healthChecks: [ofUser] },
  catalogue: {
    catalogue: await loadCatalogue([
      createTarget({ apiVersion: 'monitoring.coreos.com/v1', kind: 'Prometheus' }),
      createTarget({ apiVersion: 'pxc.percona.com/v1', kind: 'PerconaXtraDBCluster' }),
      createTarget({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout' }),
      createTarget({ apiVersion: 'apps.kruise.io/v1alpha1', kind: 'UnitedDeployment' }),
      createTarget({ apiVersion: 'rollouts.kruise.io/v1beta1', kind: 'Rollout' }),
      createTarget({ apiVersion: 'flagger.app/v1beta1', kind: 'Canary' }),
      createTarget({ apiVersion: 'operators.coreos.com/v1alpha1', kind: 'Subscription' }),
      createTarget({ apiVersion: 'pool.kubevirt.io/v1beta1', kind: 'VirtualMachinePool' }),
    ]),
  },
  workload: { catalogue: workload },
  workloadOfUser: { catalogue: workload, healthChecks: [replacing] },
}

const folder = join(import.meta.dirname, 'tapes')
for (const file of readdirSync(folder)) testTapes(join(folder, file), settings)
