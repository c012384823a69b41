import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { loadCatalogue } from '../../src/lifecycle/custom/catalogue.ts'
import { loadCompiler } from '../../src/plan/expressions.ts'
import { compileEntry } from '../../src/plan/health-check-entries.ts'
import { complete, createDeployment, iso } from '../lifecycle/builders.ts'
import { added, at, createTarget, failed, modified, type RunOptions, run } from './builders.ts'

const group = 'operators.coreos.com/v1alpha1'
const target = createTarget({ apiVersion: group, kind: 'Subscription', name: 'web' })
const catalogue = await loadCatalogue([target])

const createObject = (kind: string, name: string, status: object, resourceVersion = '1'): KubeObject => ({
  apiVersion: group,
  kind,
  metadata: {
    name,
    namespace: 'shop',
    uid: `${name}-uid`,
    resourceVersion,
    generation: 1,
    creationTimestamp: iso(0),
  },
  spec: { channel: 'stable' },
  status,
})
const installed = (name: string) => ({ state: 'AtLatestKnown', currentCSV: name, installedCSV: name })
const subscription = (status: object, resourceVersion?: string) =>
  createObject('Subscription', 'web', status, resourceVersion)
const version = (name: string, phase: string, resourceVersion?: string, rest: object = {}) =>
  createObject('ClusterServiceVersion', name, { phase, ...rest }, resourceVersion)

const listed = (kind: string, apiVersion = group): Observation => ({
  type: 'SYNCED',
  apiVersion,
  kind,
  namespace: 'shop',
})
const all = [listed('Subscription'), listed('ClusterServiceVersion'), listed('InstallPlan'), listed('Event', 'v1')]

function verdict(steps: Parameters<typeof run>[0], options: RunOptions = {}) {
  const { outcome, seconds, message } = run(steps, {
    targets: [target],
    ...options,
    settings: { catalogue, ...options.settings },
  })
  return { verdict: `${outcome} after ${seconds} s`, message }
}

describe('a Subscription, which reports a version once its object exists', () => {
  it('is ready at once when the version has succeeded', () => {
    const steps = [at(0, added(subscription(installed('web.v1')), version('web.v1', 'Succeeded')), all)]
    expect(verdict(steps)).toMatchObject({ verdict: 'ready after 0 s' })
  })

  it('is not ready before the version has succeeded', () => {
    const steps = [
      at(0, added(subscription({ state: 'UpgradePending', currentCSV: 'web.v1' })), all),
      at(4, added(version('web.v1', 'Pending'))),
      at(5, modified(subscription(installed('web.v1'), '2'))),
      at(8, modified(version('web.v1', 'Installing', '2'))),
      at(30, modified(version('web.v1', 'Succeeded', '3'))),
    ]
    expect(verdict(steps)).toMatchObject({ verdict: 'ready after 30 s' })
  })

  it('waits for a version that is created after its report', () => {
    const steps = [
      at(0, added(subscription(installed('web.v2')), version('web.v1', 'Succeeded')), all),
      at(5, added(version('web.v2', 'Succeeded'))),
    ]
    expect(verdict(steps)).toMatchObject({ verdict: 'ready after 5 s' })
  })

  it('names what the version waits for', () => {
    const requirementStatus = [
      { kind: 'CustomResourceDefinition', name: 'widgets.test', status: 'NotPresent', message: 'CRD is not present' },
    ]
    const steps = [
      at(0, added(subscription(installed('web.v1')), version('web.v1', 'Pending', '1', { requirementStatus })), all),
    ]
    expect(verdict(steps)).toEqual({
      verdict: 'stalled after 300 s',
      message: expect.stringContaining('CustomResourceDefinition widgets.test: CRD is not present'),
    })
  })

  it('is ready by its own report when the versions cannot be read', () => {
    const refused = {
      ...failed(403),
      apiVersion: group,
      kind: 'ClusterServiceVersion',
      namespace: 'shop',
    } as Observation
    const steps = [at(0, added(subscription(installed('web.v1'))), [all[0], all[2], all[3], refused] as Observation[])]
    expect(verdict(steps)).toMatchObject({ verdict: 'ready after 0 s' })
  })

  it('is judged by its own report alone with a health check of the user', async () => {
    const entry = { apiVersion: group, kind: 'Subscription', current: 'true' }
    const healthChecks = [compileEntry(entry, await loadCompiler(), { isUsers: true })]
    const steps = [at(0, added(subscription(installed('web.v1')), version('web.v1', 'Pending')), all)]
    expect(verdict(steps, { settings: { healthChecks } })).toMatchObject({ verdict: 'ready after 0 s' })
  })
})

const canaryKind = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary' }
const canaryTarget = createTarget({ ...canaryKind, name: 'web' })
const canaryCatalogue = await loadCatalogue([canaryTarget])

describe('a Canary, whose controller compares its Deployment every 30 s', () => {
  const canary = (phase: string, changedAt: number, resourceVersion = '1'): KubeObject => ({
    ...canaryKind,
    metadata: { ...createObject('Canary', 'web', {}).metadata, uid: 'canary-uid', resourceVersion },
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, analysis: { interval: '30s' } },
    status: { phase, lastTransitionTime: iso(changedAt) },
  })
  const deployment = (writtenAt: number, resourceVersion = '1') =>
    createDeployment({
      metadata: { resourceVersion, managedFields: [{ manager: 'kubectl', time: iso(writtenAt) }] },
      status: complete(1),
    })
  const lists = [listed('Canary', canaryKind.apiVersion), listed('Deployment', 'apps/v1'), listed('Event', 'v1')]
  const judge = (...steps: Parameters<typeof run>[0]) =>
    verdict(steps, { targets: [canaryTarget], settings: { catalogue: canaryCatalogue } }).verdict

  it('is ready at once when the Deployment has not changed since', () => {
    expect(judge(at(0, added(canary('Succeeded', -60), deployment(-90)), lists))).toBe('ready after 0 s')
  })

  it.each(['Succeeded', 'Failed'])('is judged by the new analysis, and not by the state before: %s', (phase) => {
    const steps = [
      at(0, added(canary(phase, -60), deployment(0)), lists),
      at(25, modified(canary('Progressing', 25, '2'))),
      at(90, modified(canary('Succeeded', 90, '3'))),
    ]
    expect(judge(...steps)).toBe('ready after 90 s')
  })

  it('waits for a new state also when the Deployment changes during the wait', () => {
    const steps = [
      at(0, added(canary('Progressing', -10), deployment(-20)), lists),
      at(19, modified(deployment(19, '2'))),
      at(20, modified(canary('Succeeded', 18, '2'))),
      at(40, modified(canary('Progressing', 40, '3'))),
      at(99, modified(canary('Succeeded', 99, '4'))),
    ]
    expect(judge(...steps)).toBe('ready after 99 s')
  })

  it.each([
    ['Succeeded', 'ready after 40 s'],
    ['Failed', 'failed after 40 s'],
  ])('keeps the state %s when the change starts no analysis', (phase, expected) => {
    expect(judge(at(0, added(canary(phase, -60), deployment(0)), lists))).toBe(expected)
  })
})

const rolloutKind = { apiVersion: 'rollouts.kruise.io/v1beta1', kind: 'Rollout' }
const rolloutTarget = createTarget({ ...rolloutKind, name: 'web' })
const rolloutCatalogue = await loadCatalogue([rolloutTarget])

describe('a Rollout of Kruise, which follows a Deployment', () => {
  const rollout = (phase: string, observedWorkloadGeneration: number, resourceVersion = '1'): KubeObject => ({
    ...rolloutKind,
    metadata: { ...createObject('Rollout', 'web', {}).metadata, uid: 'rollout-uid', resourceVersion },
    spec: { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, strategy: { canary: {} } },
    status: { observedGeneration: 1, phase, canaryStatus: { observedWorkloadGeneration } },
  })
  const deployment = createDeployment({
    metadata: { generation: 5, managedFields: [{ manager: 'kubectl', time: iso(0) }] },
    status: complete(1),
  })
  const lists = [listed('Rollout', rolloutKind.apiVersion), listed('Deployment', 'apps/v1'), listed('Event', 'v1')]
  const judge = (...steps: Parameters<typeof run>[0]) =>
    verdict(steps, { targets: [rolloutTarget], settings: { catalogue: rolloutCatalogue } }).verdict

  it('is ready at once when its status is about the present generation of the Deployment', () => {
    expect(judge(at(0, added(rollout('Healthy', 5), deployment), lists))).toBe('ready after 0 s')
  })

  it('waits for the rollout of a changed Deployment', () => {
    const steps = [
      at(0, added(rollout('Healthy', 4), deployment), lists),
      at(2, modified(rollout('Progressing', 5, '2'))),
      at(60, modified(rollout('Healthy', 5, '3'))),
    ]
    expect(judge(...steps)).toBe('ready after 60 s')
  })

  it('is not ready while its controller does not observe the Deployment, unless it is disabled', () => {
    const disabled = { ...rollout('Disabled', 4), spec: { ...rollout('', 4).spec, disabled: true } }
    expect(judge(at(0, added(rollout('Healthy', 4), deployment), lists))).toBe('stalled after 300 s')
    expect(judge(at(0, added(disabled, deployment), lists))).toBe('ready after 0 s')
  })
})

const argoKind = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout' }
const argoTarget = createTarget({ ...argoKind, name: 'web' })
const argoCatalogue = await loadCatalogue([argoTarget])

describe('a Rollout of Argo with a workloadRef, which has the template of a Deployment', () => {
  const rollout = (phase: string, workloadObservedGeneration: string, resourceVersion = '1'): KubeObject => ({
    ...argoKind,
    metadata: {
      ...createObject('Rollout', 'web', {}).metadata,
      uid: 'rollout-uid',
      resourceVersion,
      annotations: { 'rollout.argoproj.io/workload-generation': workloadObservedGeneration },
    },
    spec: { replicas: 1, workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, strategy: {} },
    status: { observedGeneration: '1', phase, message: phase, updatedReplicas: 1, workloadObservedGeneration },
  })
  const deployment = createDeployment({
    metadata: { generation: 5, managedFields: [{ manager: 'kubectl', time: iso(0) }] },
    spec: { replicas: 0 },
    status: complete(0),
  })
  const lists = [listed('Rollout', argoKind.apiVersion), listed('Deployment', 'apps/v1'), listed('Event', 'v1')]
  const judge = (...steps: Parameters<typeof run>[0]) =>
    verdict(steps, { targets: [argoTarget], settings: { catalogue: argoCatalogue } }).verdict

  it('is ready at once when its status is about the present generation of the Deployment', () => {
    expect(judge(at(0, added(rollout('Healthy', '5'), deployment), lists))).toBe('ready after 0 s')
  })

  it.each(['Healthy', 'Degraded'])('is not judged by its state before the change of the Deployment: %s', (phase) => {
    const steps = [
      at(0, added(rollout(phase, '4'), deployment), lists),
      at(20, modified(rollout('Progressing', '5', '2'))),
      at(60, modified(rollout('Healthy', '5', '3'))),
    ]
    expect(judge(...steps)).toBe('ready after 60 s')
  })

  it('names the Deployment when its controller does not observe it', () => {
    const steps = [at(0, added(rollout('Healthy', '4'), deployment), lists)]
    expect(verdict(steps, { targets: [argoTarget], settings: { catalogue: argoCatalogue } })).toMatchObject({
      verdict: 'stalled after 300 s',
    })
  })
})
