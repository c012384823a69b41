import type { KubeObject } from '../../src/cluster/objects.ts'
import type { Clocks } from '../../src/lifecycle/rule.ts'
import { clockWarnings } from '../../src/lifecycle/workloads/gated-revision.ts'
import { createContainer, createDeployment, createTemplate } from './builders.ts'

const clocks: Clocks = { timeoutMs: 60_000, stallTimeoutMs: 30_000, stallIsLiteral: true }

function warnings(spec: object, probes: object = {}, rest: { kind?: string; clocks?: Partial<Clocks> } = {}) {
  const template = createTemplate({ containers: [createContainer(probes)] })
  const deployment: KubeObject = createDeployment({ spec: { template, ...spec } })
  return clockWarnings({ ...deployment, kind: rest.kind ?? deployment.kind }, { ...clocks, ...rest.clocks })
}

describe('the warning of a clock that is too short for its workload', () => {
  it('is absent for a workload without time limits of its own', () => {
    expect(warnings({})).toEqual([])
  })

  it.each([
    ['minReadySeconds', { minReadySeconds: 61 }, {}, 61],
    [
      'the delays of its probes',
      {},
      { startupProbe: { initialDelaySeconds: 40 }, readinessProbe: { initialDelaySeconds: 30 } },
      70,
    ],
    ['both together', { minReadySeconds: 50 }, { readinessProbe: { initialDelaySeconds: 20 } }, 70],
  ])('names the timeout, by %s', (_, spec, probes, least) => {
    expect(warnings(spec, probes, { clocks: { stallIsLiteral: false } })).toEqual([
      `needs at least ${least} s (minReadySeconds, initialDelaySeconds), but the timeout is 1m`,
    ])
  })

  it('names the timeout when the pods of an ordered StatefulSet need it one after the other', () => {
    const of = (spec: object) => warnings({ replicas: 3, minReadySeconds: 25, ...spec }, {}, { kind: 'StatefulSet' })
    expect(of({})).toHaveLength(1)
    expect(of({ podManagementPolicy: 'Parallel' })).toEqual([])
  })

  it('names the timeout when progressDeadlineSeconds is longer, unless that is the default', () => {
    expect(warnings({ progressDeadlineSeconds: 120 })).toEqual([
      'may take 120 s (progressDeadlineSeconds), but the timeout is 1m',
    ])
    expect(warnings({ progressDeadlineSeconds: 600 })).toEqual([])
    // The greatest number stands for no deadline at all (HasProgressDeadline, pkg/controller/deployment/util).
    expect(warnings({ progressDeadlineSeconds: 2_147_483_647 })).toEqual([])
    expect(warnings({ activeDeadlineSeconds: 900 }, {}, { kind: 'Job' })).toEqual([
      'may take 900 s (activeDeadlineSeconds), but the timeout is 1m',
    ])
  })

  it.each([
    ['minReadySeconds', { minReadySeconds: 31 }, {}, 31],
    ['startup probe of container app', {}, { startupProbe: { periodSeconds: 5, failureThreshold: 20 } }, 101],
  ])('names a stall-timeout that the user wrote, by its %s', (why, spec, probes, seconds) => {
    const warning = `may make no progress for ${seconds} s (${why}), but the stall-timeout is 30s`
    expect(warnings(spec, probes)).toContain(warning)
    expect(warnings(spec, probes, { clocks: { stallIsLiteral: false } })).not.toContain(warning)
  })

  it('is absent for a clock that is off', () => {
    expect(
      warnings(
        { minReadySeconds: 600, progressDeadlineSeconds: 900 },
        {},
        { clocks: { timeoutMs: 0, stallTimeoutMs: 0 } },
      ),
    ).toEqual([])
  })
})
