import type { KubeObject } from '../../src/cluster/objects.ts'
import { apiServiceRule, existsRule, hpaRule } from '../../src/lifecycle/platform/condition-kinds.ts'
import type { Rule } from '../../src/lifecycle/rule.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { condition, make } from '../kit/objects.ts'
import { concerns, read, requested } from '../kit/rule.ts'

describe('a HorizontalPodAutoscaler that zero replicas disabled', () => {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  const autoscaler: KubeObject = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace: 'shop', uid: 'hpa-uid' },
    spec: { scaleTargetRef },
    status: {
      conditions: [
        condition('AbleToScale', 'True'),
        condition('ScalingActive', 'False', { reason: 'ScalingDisabled' }),
      ],
    },
  }

  it('watches its target and is assessed again when the target changes', () => {
    expect(requested(hpaRule, autoscaler).needed).toEqual([{ ...scaleTargetRef, namespace: 'shop' }])
    const isConcerned = (other: KubeObject) => concerns({}, hpaRule, autoscaler, other)
    expect(isConcerned(make.deployment())).toBe(true)
    expect(isConcerned(make.deployment({ metadata: { name: 'api' } }))).toBe(false)
    expect(isConcerned(make.replicaSet({ metadata: { name: 'web' } }))).toBe(false)
  })

  it('does not watch a target of a custom kind', () => {
    const custom = { ...scaleTargetRef, apiVersion: 'example.com/v1', kind: 'Widget' }
    expect(requested(hpaRule, { ...autoscaler, spec: { scaleTargetRef: custom } }).needed).toEqual([])
  })
})

describe('an APIService', () => {
  it('awaits the Service that it names', () => {
    const service = { namespace: 'monitoring', name: 'metrics' }
    expect(judgeObject(apiServiceRule, { spec: { service } }).awaits).toEqual([
      { apiVersion: 'v1', kind: 'Service', ...service },
    ])
    expect(judgeObject(apiServiceRule, { spec: {} }).awaits ?? []).toEqual([])
  })
})

function judgeObject(rule: Rule, rest: Partial<KubeObject> = {}, metadata: object = {}) {
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'Widget',
    ...rest,
    metadata: { name: 'w', uid: 'w-uid', ...metadata },
  }
  return read({}, rule, object)
}

it.each([
  ['batch/v1', 'CronJob'],
  ['v1', 'Secret'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
  ['networking.k8s.io/v1', 'NetworkPolicy'],
])('an object of %s %s is ready once it exists', (apiVersion, kind) => {
  expect(ruleOf({ apiVersion, kind })).toBe(existsRule)
})
