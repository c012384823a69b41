import type { KubeObject } from '../../src/cluster/objects.ts'
import {
  apiServiceRule,
  crdRule,
  existsRule,
  hpaRule,
  namespaceRule,
  pdbRule,
  resourceQuotaRule,
} from '../../src/lifecycle/platform/condition-kinds.ts'
import type { Rule } from '../../src/lifecycle/rule.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { observeTarget } from '../../src/lifecycle/target-history.ts'
import { condition, iso, make, moment } from '../kit/objects.ts'
import { context, reported, seenTarget } from '../kit/rule.ts'

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

  it.each([
    ['since its spec was written, by that condition', 20, 'condition-false'],
    ['of the target before, by nothing yet', 5, 'not-reconciled'],
  ])('that does not observe its spec because it cannot read a scale is explained: %s', (_, transitionAt, reason) => {
    const lastTransitionTime = new Date(moment(transitionAt)).toISOString()
    const unable = condition('AbleToScale', 'False', { reason: 'FailedGetScale', lastTransitionTime })
    const managedFields = [{ manager: 'kubectl', time: new Date(moment(10)).toISOString() }]
    const status = { observedGeneration: 1, conditions: [unable, active] }
    expect(judge(hpaRule, status, { generation: 2, managedFields })).toMatchObject({
      status: 'progressing',
      problems: [{ reason, class: 'slow' }],
    })
  })

  describe('that was disabled by zero replicas', () => {
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

    it('is ready while its target has no replicas, and not once it has some: the condition is stale', () => {
      expect(judgeBeside(make.deployment({ spec: { replicas: 0 } })).status).toBe('ready')
      expect(judgeBeside(make.deployment({ spec: { replicas: 3 } })).status).toBe('progressing')
      const { replicas: _, ...spec } = make.deployment().spec as { replicas?: number }
      expect(judgeBeside({ ...make.deployment(), spec }).status).toBe('progressing')
    })

    it('is ready if its target cannot be read', () => {
      expect(judgeBeside(make.deployment({ spec: { replicas: 3 } }), ['Deployment']).status).toBe('ready')
      expect(judgeBeside(make.deployment({ metadata: { name: 'api' } })).status).toBe('ready')
    })

    it('watches its target, and is assessed again when that changes', () => {
      expect(hpaRule.relatives(autoscaler)).toEqual([{ ...scaleTargetRef, namespace: 'shop' }])
      const isConcerned = (other: KubeObject) => hpaRule.isConcernedBy?.(autoscaler, other, undefined)
      expect(isConcerned(make.deployment())).toBe(true)
      expect(isConcerned(make.deployment({ metadata: { name: 'api' } }))).toBe(false)
      expect(isConcerned(make.replicaSet({ metadata: { name: 'web' } }))).toBe(false)
    })

    it('does not watch a target of a custom kind', () => {
      const custom = { ...scaleTargetRef, apiVersion: 'example.com/v1', kind: 'Widget' }
      expect(hpaRule.relatives({ ...autoscaler, spec: { scaleTargetRef: custom } })).toEqual([])
    })
  })

  it('is not ready when it cannot read its metric, with the message of the condition', () => {
    const noMetrics = condition('ScalingActive', 'False', { reason: 'FailedGetResourceMetric', message: 'no metrics' })
    expect(judge(hpaRule, { conditions: [able, noMetrics] })).toMatchObject({
      status: 'progressing',
      problems: [
        { reason: 'condition-false', message: 'ScalingActive is False (FailedGetResourceMetric): no metrics' },
      ],
    })
  })

  it('is not reconciled before its controller has written both conditions', () => {
    expect(judge(hpaRule, undefined).problems).toMatchObject([{ reason: 'not-reconciled', class: 'slow' }])
    expect(judge(hpaRule, { conditions: [able] }).status).toBe('progressing')
  })

  it('is not ready by the conditions of an older generation', () => {
    const status = { observedGeneration: 1, conditions: [able, active] }
    expect(judge(hpaRule, status, { generation: 2 }).status).toBe('progressing')
  })

  it('of autoscaling/v1 has its conditions in an annotation', () => {
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

  it('fails when another definition has used its names for 10 s', () => {
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

  it('fails when a change of its names is refused, although the previous names are still served', () => {
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

  it('is not ready while it is being deleted', () => {
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

  it('awaits the Service that serves it', () => {
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
  return reported(rule.assess(object, context({ now: 60, history: seenTarget([0, object]) })))
}

describe('a kind that works later or elsewhere', () => {
  it('is ready once it exists', () => {
    expect(judgeObject(existsRule)).toMatchObject({ status: 'ready', message: 'exists' })
  })

  it('is not ready while it is being deleted', () => {
    expect(judgeObject(existsRule, {}, { deletionTimestamp: iso(1) }).status).toBe('progressing')
  })

  it('reports the schedule of a CronJob, and that it is suspended, which is no problem', () => {
    const cronJob = (spec: object) => judgeObject(existsRule, { kind: 'CronJob', spec })
    expect(cronJob({ schedule: '0 1 * * *' })).toMatchObject({
      status: 'ready',
      message: 'exists, runs at "0 1 * * *"',
    })
    expect(cronJob({ suspend: true })).toMatchObject({
      status: 'ready',
      message: 'exists, and is suspended',
      problems: [],
    })
  })

  it.each([
    ['batch/v1', 'CronJob'],
    ['v1', 'Secret'],
    ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
    ['networking.k8s.io/v1', 'NetworkPolicy'],
  ])('is %s %s', (apiVersion, kind) => {
    expect(ruleOf({ apiVersion, kind })).toBe(existsRule)
  })
})

describe('a Namespace', () => {
  it('is ready while it is active', () => {
    expect(judgeObject(namespaceRule, { status: { phase: 'Active' } })).toMatchObject({
      status: 'ready',
      message: 'active',
    })
  })

  it('that is terminating is never ready, and has one problem', () => {
    const status = { phase: 'Terminating' }
    expect(judgeObject(namespaceRule, { status }).problems).toMatchObject([{ reason: 'terminating' }])
    expect(judgeObject(namespaceRule, { status }, { deletionTimestamp: iso(1) }).problems).toHaveLength(1)
  })
})

describe('a ResourceQuota', () => {
  const spec = { hard: { pods: '10', 'requests.memory': '1Gi' } }
  const used = { pods: '0', 'requests.memory': '0' }

  it.each([
    ['ready when its status contains its limits', { hard: { ...spec.hard }, used }, 'ready'],
    ['ready when its limits are used up', { hard: { ...spec.hard }, used: spec.hard }, 'ready'],
    ['not ready while its previous limit is enforced', { hard: { ...spec.hard, pods: '5' }, used }, 'progressing'],
    ['not ready while a new limit is not enforced', { hard: { pods: '10' }, used }, 'progressing'],
    ['not ready while a removed limit is enforced', { hard: { ...spec.hard, secrets: '1' }, used }, 'progressing'],
  ])('is %s', (_, status, expected) => {
    expect(judgeObject(resourceQuotaRule, { spec, status })).toMatchObject({ status: expected, problems: [] })
  })

  it.each([[undefined], [{}]])('is not reconciled with the status %j: nothing is enforced', (status) => {
    expect(judgeObject(resourceQuotaRule, { spec, status })).toMatchObject({
      status: 'progressing',
      message: 'waiting for its controller: its limits are not enforced yet',
      problems: [{ reason: 'not-reconciled', class: 'slow' }],
    })
  })

  it('without limits is ready', () => {
    expect(judgeObject(resourceQuotaRule, { spec: {}, status: {} }).status).toBe('ready')
  })

  it('is not ready while it is being deleted', () => {
    const status = { hard: spec.hard, used }
    expect(judgeObject(resourceQuotaRule, { spec, status }, { deletionTimestamp: iso(1) }).status).toBe('progressing')
  })
})

describe('a PodDisruptionBudget', () => {
  it.each([
    ['ready when its controller has observed it', { observedGeneration: 2, disruptionsAllowed: 0 }, 'ready'],
    ['not ready by an older generation', { observedGeneration: 1 }, 'progressing'],
    ['not ready without a status', undefined, 'progressing'],
  ])('is %s', (_, status, expected) => {
    const rest = status === undefined ? {} : { status }
    expect(judgeObject(pdbRule, rest, { generation: 2 }).status).toBe(expected)
  })
})

describe('a PodDisruptionBudget that its controller cannot observe', () => {
  it.each([
    ['a new one, whose condition names no generation', {}, {}],
    [
      'a changed one, whose condition still names the generation before',
      { observedGeneration: 1 },
      { observedGeneration: 1 },
    ],
  ])('has the problem of the condition: %s', (_, status, rest) => {
    const conditions = [
      {
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'SyncFailed',
        message: 'found no controller ref for pod "x"',
        ...rest,
      },
    ]
    expect(judgeObject(pdbRule, { status: { ...status, conditions } }, { generation: 2 })).toMatchObject({
      status: 'progressing',
      problems: [
        {
          reason: 'condition-false',
          class: 'slow',
          message: 'DisruptionAllowed is False (SyncFailed): found no controller ref for pod "x"',
        },
      ],
    })
  })
})

describe('a CertificateSigningRequest', () => {
  const csr = (status: object): KubeObject => ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'web', uid: 'csr-uid' },
    spec: { signerName: 'acme.example/signer' },
    status,
  })
  const judgeCsr = (status: object, now = 60) => {
    const object = csr(status)
    const rule = ruleOf(object)
    return reported(
      rule.assess(
        object,
        context({ now, history: observeTarget(undefined, object, moment(0), rule.failures?.(object)) }),
      ),
    )
  }
  const approved = condition('Approved', 'True')

  it('is ready once its certificate is issued', () => {
    expect(judgeCsr({ conditions: [approved], certificate: 'LS0t' })).toMatchObject({
      status: 'ready',
      message: 'approved, and its certificate is issued',
    })
  })

  it.each([
    ['to be approved', {}, 'nobody has approved it yet'],
    [
      'for its certificate',
      { conditions: [approved] },
      'is approved, but signer acme.example/signer has not issued a certificate yet',
    ],
  ])('waits %s', (_, status, message) => {
    expect(judgeCsr(status)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'not-reconciled', class: 'slow', message }],
    })
  })

  it.each(['Denied', 'Failed'])('fails when %s is True', (type) => {
    const against = condition(type, 'True', { reason: 'NoReason', message: 'wrong names' })
    expect(judgeCsr({ conditions: [approved, against] })).toMatchObject({
      status: 'failed',
      failure: { reason: 'reported-failed', message: `${type} is True (NoReason): wrong names` },
    })
  })
})
