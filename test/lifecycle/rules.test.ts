import { explainWrongType } from '../../src/cluster/object-schema.ts'
import type { KindName, KubeObject } from '../../src/cluster/objects.ts'
import { knownKinds, loadMilestoneNames, milestonesOf, targetRule } from '../../src/lifecycle/rules.ts'
import { compileEntry, type HealthCheckEntry, loadCompiler, parseHealthChecks } from '../../src/plan/health-checks.ts'
import type { Target } from '../../src/plan/target.ts'
import { rows } from '../kit/rows.ts'
import { read } from '../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

it('the fields of every built-in kind are checked unless its rule accepts fields of any type', () => {
  const isChecked = ({ apiVersion, kind }: KindName) =>
    explainWrongType({ apiVersion, kind, metadata: { name: 'w' }, spec: 5 } as unknown as KubeObject) !== undefined
  expect(knownKinds.filter((kind) => !isChecked(kind)).map(({ kind }) => kind)).toEqual([
    'CronJob',
    'Gateway',
    'HTTPRoute',
    'GRPCRoute',
    'TLSRoute',
    'TCPRoute',
    'UDPRoute',
    'PodDisruptionBudget',
    'CustomResourceDefinition',
    'APIService',
    'CertificateSigningRequest',
  ])
})

describe('the milestones', () => {
  it.each(rows<[string, string, string]>(data, 'the milestones of a kind'))(
    'of %s %s are those of the contract',
    (apiVersion, kind, names) => {
      expect(milestonesOf({ apiVersion, kind }).join(' ')).toBe(names)
    },
  )

  it('of a Service in another group are not those of v1 Service', () => {
    expect(milestonesOf({ apiVersion: 'serving.knative.dev/v1', kind: 'Service' })).toEqual([
      'created',
      'observed',
      'ready',
    ])
  })
})

describe('the milestones of a kind in the catalogue', () => {
  const resource = (group: string, kind: string) => ({
    group,
    version: 'v1',
    kind,
    plural: '',
    namespaced: true,
    status: true,
  })
  const resources = [resource('argoproj.io', 'Rollout'), resource('cert-manager.io', 'Certificate')]

  it('contain the stages of its entry, in any version', async () => {
    const find = await loadMilestoneNames(['created', 'promoted'], resources, [])
    expect(find({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout' })).toEqual([
      'created',
      'observed',
      'updated',
      'promoted',
      'ready',
    ])
    expect(find({ apiVersion: 'apps/v1', kind: 'ReplicaSet' })).toContain('scheduled')
  })

  it('are loaded only if a name is not common to all kinds', async () => {
    expect(await loadMilestoneNames(['created', 'ready'], resources, [])).toBe(milestonesOf)
  })
})

describe('the rule of a target', () => {
  const kind = { apiVersion: 'example.com/v1', kind: 'Widget' }
  const target: Target = { ...kind, name: 'w', namespace: 'shop', clocks: {} }
  /** The general conventions find it in progress. */
  const widget: KubeObject = {
    ...kind,
    metadata: { name: 'w', namespace: 'shop', uid: 'w', generation: 1 },
    spec: {},
    status: { phase: 'Pending', byUser: true, byCatalogue: true, byFor: 'yes' },
  }
  const entry: HealthCheckEntry = {
    kind: 'Widget',
    documentation: 'https://example.com',
    current: 'status.byCatalogue',
    milestones: [{ name: 'provisioned', done: 'status.byCatalogue' }],
  }
  const waitFor = { type: 'jsonpath', path: '{.status.byFor}', value: 'yes' } as const

  const checks = async () => ({
    catalogue: [compileEntry({ ...entry, ...kind }, await loadCompiler())],
    healthChecks: await parseHealthChecks(
      '- {apiVersion: example.com/v1alpha1, kind: Widget, current: status.byUser}',
      'checks.yaml',
    ),
  })

  it.each([
    ['its `--for`', { byFor: 'no' }, { waitFor }],
    ["the user's health check of the kind", { byUser: false }, {}],
  ])('is %s, although the catalogue has an entry for the kind', async (_, missing, more) => {
    const rule = targetRule({ ...target, ...more }, await checks())
    const statusOf = (status: object) => {
      const object = { ...widget, status: { ...widget.status, ...status } }
      return read({}, rule, object).status
    }
    expect(statusOf({})).toBe('ready')
    expect(statusOf(missing)).toBe('progressing')
  })

  it("is the catalogue's entry, in any version, if the user has no health check", async () => {
    const { catalogue } = await checks()
    const rule = targetRule({ ...target, apiVersion: 'example.com/v2' }, { catalogue })
    expect(rule.milestones).toEqual(['created', 'observed', 'provisioned', 'ready'])
    expect(read({}, rule, widget).status).toBe('ready')
    expect(targetRule({ ...target, kind: 'Gadget' }, { catalogue }).milestones).toEqual([
      'created',
      'observed',
      'ready',
    ])
  })
})
