import type { KubeObject } from '../../src/cluster/objects.ts'
import { waitForRule } from '../../src/lifecycle/custom/wait-for.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import type { WaitFor } from '../../src/plan/target.ts'
import { condition, iso, moment } from '../kit/objects.ts'
import { readData } from '../kit/rows.ts'
import { assessedTarget, read, seenTarget } from '../kit/rule.ts'

/** An object whose spec and status were written at these seconds after the gate's start. */
function writtenAt(spec: number, status: number) {
  return [
    { manager: 'kubectl', operation: 'Apply', time: iso(spec) },
    { manager: 'controller', operation: 'Update', subresource: 'status', time: iso(status) },
  ]
}

interface Sample {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: object
  readonly status: object
  /** Absent for kinds without a generation. */
  readonly generation?: number
  /** How long the gate waits for its controller. */
  readonly waitSeconds: number
  readonly waitFor?: WaitFor
}

interface Data {
  readonly objects: Readonly<Record<string, Sample>>
  readonly failed: Readonly<Record<string, Sample>>
  readonly 'ready before': readonly (readonly [title: string, status: object])[]
}

const data = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Data
const customSample = data.objects['a custom resource'] as Sample

function create({ apiVersion, kind, generation, spec, status }: Sample, metadata: object = {}): KubeObject {
  const own = { name: 'web', namespace: 'shop', uid: 'web-uid', creationTimestamp: iso(-3_600) }
  const dated = generation === undefined ? {} : { generation }
  return { apiVersion, kind, metadata: { ...own, ...dated, ...metadata }, spec, status }
}

describe.each(Object.entries(data.objects))('%s with a stale status', (_, sample) => {
  const { waitFor, waitSeconds } = sample
  const rule = waitFor === undefined ? ruleOf(sample) : waitForRule(waitFor)
  const assess = (object: KubeObject, now: number, history = seenTarget([0, object])) =>
    read({ now, history }, rule, object)
  const changed = create(sample, { managedFields: writtenAt(-2, -600) })

  it('is not ready before its controller has had time to reconcile', () => {
    const assessment = assess(changed, waitSeconds - 2.1)
    expect(assessment).toMatchObject({ status: 'progressing', problems: [], recheckAt: moment(waitSeconds - 2) })
    expect(assessment.message).toBe('its status may be older than its spec: waiting for its controller')
  })

  it('is ready once its controller has had time to reconcile', () => {
    expect(assess(changed, waitSeconds - 2)).toMatchObject({ status: 'ready' })
  })

  if (sample !== customSample)
    it('is ready at once if its controller has written the status since', () => {
      expect(assess(create(sample, { managedFields: writtenAt(-2, -1) }), 0)).toMatchObject({ status: 'ready' })
    })

  it('is ready at once if its spec has never changed', () => {
    const created = { creationTimestamp: iso(-2), ...(sample.generation === undefined ? {} : { generation: 1 }) }
    expect(assess(create(sample, { ...created, managedFields: writtenAt(-2, -2) }), 0)).toMatchObject({
      status: 'ready',
    })
  })

  it('waits the whole time again if its spec changes meanwhile', () => {
    const first = create(sample, { managedFields: writtenAt(-100, -50) })
    const next = sample.generation === undefined ? {} : { generation: sample.generation + 1 }
    const second = {
      ...create(sample, { ...next, managedFields: writtenAt(60, -50) }),
      spec: { ...sample.spec, changed: true },
    }
    const history = seenTarget([0, first], [60, second])
    expect(assess(second, 60 + waitSeconds - 0.1, history)).toMatchObject({ status: 'progressing' })
    expect(assess(second, 60 + waitSeconds, history)).toMatchObject({ status: 'ready' })
  })
})

describe('a changed custom resource that was Ready', () => {
  const readySince = (changedAt: number) => condition('Ready', 'True', { lastTransitionTime: iso(changedAt) })
  const assess = (status: object, now: number, metadata: object = {}) => {
    const object = create({ ...customSample, status }, { managedFields: writtenAt(-2, -1), ...metadata })
    return read({ now }, ruleOf(object), object).status
  }
  const dated = (changedAt: number) => ({ observedGeneration: 2, conditions: [readySince(changedAt)] })

  it.each(data['ready before'])('is not ready within 10 s of its change if %s', (_, status) => {
    expect([assess(status, 7.9), assess(status, 8)]).toEqual(['progressing', 'ready'])
  })

  it('is ready at once if the condition has changed since', () => {
    expect(assess(dated(-1), 0)).toBe('ready')
  })

  it('is ready at once if its spec has never changed', () => {
    expect(assess(dated(-2), 0, { generation: 1 })).toBe('ready')
  })

  it('is ready at once if its spec changed long ago', () => {
    expect(assess(dated(-3_000), 0, { managedFields: writtenAt(-600, -1) })).toBe('ready')
  })
})

describe('a failure in a stale status', () => {
  it.each(Object.entries(data.failed))('of %s fails the target only after 10 s', (_, sample) => {
    const object = create(sample, { managedFields: writtenAt(-2, -600) })
    const assess = (now: number) => read({ now }, ruleOf(object), object)
    expect(assess(9.9)).toMatchObject({ status: 'progressing', recheckAt: moment(10) })
    expect(assess(10)).toMatchObject({ status: 'failed', failure: { reason: 'reported-failed' } })
  })

  it('waits 10 s again if the spec changes meanwhile', () => {
    const failed = data.failed['a custom resource'] as Sample
    const first = create(failed, { managedFields: writtenAt(-100, -150) })
    const second = { ...create(failed, { generation: 3, managedFields: writtenAt(8, -150) }), spec: { size: 3 } }
    const seen = assessedTarget(ruleOf(second), [0, first], [8, second])
    const assess = (now: number) => read({ now, ...seen }, ruleOf(second), second)
    expect(assess(17.9)).toMatchObject({ status: 'progressing' })
    expect(assess(18)).toMatchObject({ status: 'failed' })
  })
})
