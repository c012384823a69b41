import type { KubeObject } from '../../src/cluster/objects.ts'
import { helmRepositoryRule } from '../../src/lifecycle/custom/generic.ts'
import { existsRule, namespaceRule, pdbRule } from '../../src/lifecycle/platform/condition-kinds.ts'
import type { Rule } from '../../src/lifecycle/rule.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { context, iso, reported, seenTarget } from './builders.ts'

function judge(rule: Rule, rest: Partial<KubeObject> = {}, metadata: object = {}) {
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'Widget',
    ...rest,
    metadata: { name: 'w', uid: 'w-uid', ...metadata },
  }
  return reported(rule.assess(object, context({ now: 60, history: seenTarget([0, object]) })))
}

describe('a kind that does its work later or elsewhere', () => {
  it('is ready once it exists', () => {
    expect(judge(existsRule)).toMatchObject({ status: 'ready', message: 'exists' })
  })

  it('is not ready while it is being deleted', () => {
    expect(judge(existsRule, {}, { deletionTimestamp: iso(1) }).status).toBe('progressing')
  })

  it('tells when a CronJob runs, and that it is suspended, which is no problem', () => {
    const cronJob = (spec: object) => judge(existsRule, { kind: 'CronJob', spec })
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
    expect(judge(namespaceRule, { status: { phase: 'Active' } })).toMatchObject({ status: 'ready', message: 'active' })
  })

  it('that terminates is never ready, and says so once', () => {
    const status = { phase: 'Terminating' }
    expect(judge(namespaceRule, { status }).problems).toMatchObject([{ reason: 'terminating' }])
    expect(judge(namespaceRule, { status }, { deletionTimestamp: iso(1) }).problems).toHaveLength(1)
  })
})

describe('a PodDisruptionBudget', () => {
  it.each([
    ['ready when its controller has observed it', { observedGeneration: 2, disruptionsAllowed: 0 }, 'ready'],
    ['not ready by an older generation', { observedGeneration: 1 }, 'progressing'],
    ['not ready without a status', undefined, 'progressing'],
  ])('is %s', (_, status, expected) => {
    const rest = status === undefined ? {} : { status }
    expect(judge(pdbRule, rest, { generation: 2 }).status).toBe(expected)
  })
})

describe('a PodDisruptionBudget that its controller cannot work with', () => {
  it.each([
    ['a new one, whose condition names no generation', {}, {}],
    [
      'a changed one, whose condition still names the generation before',
      { observedGeneration: 1 },
      { observedGeneration: 1 },
    ],
  ])('says why it has not observed it: %s', (_, status, rest) => {
    const conditions = [
      {
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'SyncFailed',
        message: 'found no controller ref for pod "x"',
        ...rest,
      },
    ]
    expect(judge(pdbRule, { status: { ...status, conditions } }, { generation: 2 })).toMatchObject({
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

describe('a HelmRepository', () => {
  const status = { observedGeneration: -1 }

  it('of type oci is static, and ready once it exists', () => {
    expect(judge(helmRepositoryRule, { spec: { type: 'oci' }, status }, { generation: 1 }).status).toBe('ready')
  })

  it('of another type is ready when it says so', () => {
    const spec = { type: 'default' }
    expect(judge(helmRepositoryRule, { spec, status }, { generation: 1 }).status).toBe('progressing')
    const done = { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] }
    expect(judge(helmRepositoryRule, { spec, status: done }, { generation: 1 }).status).toBe('ready')
  })
})
