import type { KubeObject } from '../../src/cluster/objects.ts'
import { apiServiceRule, crdRule } from '../../src/lifecycle/platform/condition-kinds.ts'
import { hpaRule } from '../../src/lifecycle/platform/hpa.ts'
import type { Rule } from '../../src/lifecycle/rule.ts'
import { observeTarget } from '../../src/lifecycle/workloads/history.ts'
import { condition, context, createDeployment, createReplicaSet, iso, moment, reported } from './builders.ts'

function judge(rule: Rule, status: object | undefined, metadata: object = {}, now = 60) {
  const object: KubeObject = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', uid: 'w-uid', generation: 1, ...metadata },
    ...(status === undefined ? {} : { status }),
  }
  const history = observeTarget(undefined, object, moment(0), rule.failures?.(object))
  return reported(rule.assess(object, context({ now, history })))
}

describe('a HorizontalPodAutoscaler', () => {
  const able = condition('AbleToScale', 'True')
  const active = condition('ScalingActive', 'True')

  it('is ready when it can scale and reads its metric', () => {
    expect(judge(hpaRule, { conditions: [able, active] })).toMatchObject({
      status: 'ready',
      message: 'AbleToScale is True, ScalingActive is True',
    })
  })

  it('is ready when zero replicas disable it', () => {
    const disabled = condition('ScalingActive', 'False', { reason: 'ScalingDisabled' })
    expect(judge(hpaRule, { conditions: [able, disabled] })).toMatchObject({
      status: 'ready',
      message: 'disabled while its target has zero replicas',
    })
  })

  describe('that zero replicas had disabled', () => {
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
    const disabled = condition('ScalingActive', 'False', { reason: 'ScalingDisabled' })
    const autoscaler: KubeObject = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web', namespace: 'shop', uid: 'hpa-uid' },
      spec: { scaleTargetRef },
      status: { conditions: [able, disabled] },
    }
    const judgeBeside = (target: KubeObject, unseen: readonly string[] = []) => {
      const history = observeTarget(undefined, autoscaler, moment(0))
      return reported(hpaRule.assess(autoscaler, context({ now: 60, history, objects: [target], unseen })))
    }

    it('is ready while its target has none, and not once it has some: the condition is older than that', () => {
      expect(judgeBeside(createDeployment({ spec: { replicas: 0 } })).status).toBe('ready')
      expect(judgeBeside(createDeployment({ spec: { replicas: 3 } })).status).toBe('progressing')
      const { replicas: _, ...spec } = createDeployment().spec as { replicas?: number }
      expect(judgeBeside({ ...createDeployment(), spec }).status).toBe('progressing')
    })

    it('is believed where its target cannot be seen', () => {
      expect(judgeBeside(createDeployment({ spec: { replicas: 3 } }), ['Deployment']).status).toBe('ready')
      expect(judgeBeside(createDeployment({ metadata: { name: 'api' } })).status).toBe('ready')
    })

    it('watches its target, and is looked at anew when that changes', () => {
      expect(hpaRule.relatives(autoscaler)).toEqual([{ ...scaleTargetRef, namespace: 'shop' }])
      const isConcerned = (other: KubeObject) => hpaRule.isConcernedBy?.(autoscaler, other, undefined)
      expect(isConcerned(createDeployment())).toBe(true)
      expect(isConcerned(createDeployment({ metadata: { name: 'api' } }))).toBe(false)
      expect(isConcerned(createReplicaSet({ metadata: { name: 'web' } }))).toBe(false)
    })

    it('does not watch a target of a custom kind, which nobody may know', () => {
      const custom = { ...scaleTargetRef, apiVersion: 'example.com/v1', kind: 'Widget' }
      expect(hpaRule.relatives({ ...autoscaler, spec: { scaleTargetRef: custom } })).toEqual([])
    })
  })

  it('is not ready, in its own words, when it cannot read its metric', () => {
    const blind = condition('ScalingActive', 'False', { reason: 'FailedGetResourceMetric', message: 'no metrics' })
    expect(judge(hpaRule, { conditions: [able, blind] })).toMatchObject({
      status: 'progressing',
      problems: [
        { reason: 'condition-false', message: 'ScalingActive is False (FailedGetResourceMetric): no metrics' },
      ],
    })
  })

  it('is not reconciled before its controller has spoken', () => {
    expect(judge(hpaRule, undefined).problems).toMatchObject([{ reason: 'not-reconciled', class: 'slow' }])
    expect(judge(hpaRule, { conditions: [able] }).status).toBe('progressing')
  })

  it('is not ready by what it said of an older generation', () => {
    const status = { observedGeneration: 1, conditions: [able, active] }
    expect(judge(hpaRule, status, { generation: 2 }).status).toBe('progressing')
  })

  it('of autoscaling/v1 carries its conditions as an annotation', () => {
    const annotated = (text: string) =>
      judge(hpaRule, { currentReplicas: 1 }, { annotations: { 'autoscaling.alpha.kubernetes.io/conditions': text } })
    expect(annotated(JSON.stringify([able, active])).status).toBe('ready')
    expect(annotated('no json').status).toBe('progressing')
    expect(annotated('{"type":1}').status).toBe('progressing')
  })
})

describe('a CustomResourceDefinition', () => {
  it('is ready when it is established', () => {
    expect(judge(crdRule, { conditions: [condition('Established', 'True')] }).status).toBe('ready')
  })

  it('is not ready while it is being installed, which is no failure', () => {
    const installing = condition('Established', 'False', { reason: 'Installing', lastTransitionTime: iso(0) })
    const accepted = condition('NamesAccepted', 'True')
    expect(judge(crdRule, { conditions: [accepted, installing] })).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'condition-false' }],
    })
  })

  it('fails when its names have been taken by another one for 10 s', () => {
    const taken = condition('NamesAccepted', 'False', { reason: 'KindConflict', lastTransitionTime: iso(50) })
    const status = { conditions: [taken] }
    expect(judge(crdRule, status, {}, 59)).toMatchObject({ status: 'progressing', recheckAt: moment(60) })
    expect(judge(crdRule, status).failure).toMatchObject({ reason: 'reported-failed', class: 'strike' })
  })

  it('waits for the certificate of its conversion webhook, which cert-manager writes later', () => {
    const established = condition('Established', 'False', { reason: 'InvalidCABundle', lastTransitionTime: iso(0) })
    expect(judge(crdRule, { conditions: [condition('NamesAccepted', 'True'), established] })).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'condition-false', class: 'slow' }],
    })
  })

  it('fails when a change of its names is refused, though the names of before are still served', () => {
    const taken = condition('NamesAccepted', 'False', { reason: 'ShortNamesConflict', lastTransitionTime: iso(0) })
    const status = { conditions: [condition('Established', 'True'), taken] }
    expect(judge(crdRule, status).failure).toMatchObject({ reason: 'reported-failed' })
  })

  it.each([
    ['long before the gate', -3_600],
    ['in the future, by a clock that is ahead', 3_600],
  ])('fails 10 s after first sight of a refusal that is dated %s', (_, seconds) => {
    const taken = condition('NamesAccepted', 'False', { reason: 'KindConflict', lastTransitionTime: iso(seconds) })
    const status = { conditions: [taken] }
    expect(judge(crdRule, status, {}, 9)).toMatchObject({ status: 'progressing', recheckAt: moment(10) })
    expect(judge(crdRule, status, {}, 10).status).toBe('failed')
  })

  it('is not ready while it is being taken down', () => {
    const status = { conditions: [condition('Established', 'True'), condition('Terminating', 'True')] }
    expect(judge(crdRule, status, { deletionTimestamp: iso(1) })).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'terminating' }],
    })
  })
})

describe('an APIService', () => {
  it.each([
    ['True', 'ready'],
    ['False', 'progressing'],
    ['Unknown', 'progressing'],
  ])('whose Available is %s is %s', (available, status) => {
    expect(judge(apiServiceRule, { conditions: [condition('Available', available)] }).status).toBe(status)
  })
})
