import type { KubeObject } from '../../src/cluster/objects.ts'
import { genericRule } from '../../src/lifecycle/custom/generic.ts'
import { condition, iso, moment } from '../kit/objects.ts'
import { found, read, seenTarget } from '../kit/rule.ts'

function resource(status?: object, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2, ...metadata },
    spec: {},
    ...(status === undefined ? {} : { status }),
  }
}

function assess(object: KubeObject, now = 120) {
  return read({ now }, genericRule, object)
}

describe('a kind without a rule of its own', () => {
  it('without a signal is ready once it exists, with a message about the missing signal', () => {
    expect(assess({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', uid: 'c' } })).toMatchObject({
      status: 'ready',
      message: 'exists; it gives no readiness signal, so nothing more can be known',
    })
  })

  it('that is reconciling holds the stall clock', () => {
    expect(assess(resource({ conditions: [condition('Reconciling', 'True')] })).stallHold).toBeDefined()
    expect(assess(resource({ conditions: [condition('Ready', 'False')] })).stallHold).toBeUndefined()
  })
})

describe('a kind without a rule of its own is judged by', () => {
  it('a failure from before the last write of its spec, from its first sight: its controller may not have read it again', () => {
    const stalled = condition('Stalled', 'True', { lastTransitionTime: iso(-500) })
    const judge = (writtenAt: number, now: number, rest: object = {}) => {
      const managedFields = [{ manager: 'kubectl', operation: 'Apply', time: iso(writtenAt) }]
      const status = { observedGeneration: 2, conditions: [{ ...stalled, ...rest }] }
      return assess(resource(status, { managedFields }), now).status
    }
    expect([judge(-500, 0), judge(-1, 9), judge(-1, 10)]).toEqual(['failed', 'progressing', 'failed'])
    expect(judge(-1, 0, { observedGeneration: 2 })).toBe('failed')
  })

  it('no failure while its controller is reconciling', () => {
    const status = { conditions: [condition('Ready', 'False'), condition('Reconciling', 'True')], phase: 'Failed' }
    expect(assess(resource(status))).toMatchObject({ status: 'progressing', stallHold: expect.anything() })
  })
})

describe('an object without a status', () => {
  const judge = (object: KubeObject, declaresStatus?: boolean) =>
    read({ ...(declaresStatus === undefined ? {} : { declaresStatus }) }, genericRule, object)

  it('waits for it if the kind has one by discovery', () => {
    expect(judge(resource(), true)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'not-reconciled', class: 'slow' }],
    })
  })

  it('is ready if the kind has none by discovery', () => {
    expect(judge(resource(), false).status).toBe('ready')
  })

  it('waits, without discovery, if it is a custom object with a spec', () => {
    expect(judge(resource()).status).toBe('progressing')
    const { spec: _, ...bare } = resource()
    expect(judge(bare).status).toBe('progressing')
    expect(judge({ ...bare, provisioner: 'example.com/disk' } as KubeObject).status).toBe('ready')
  })

  it('waits if its status is empty', () => {
    expect(judge(resource({})).status).toBe('progressing')
    expect(judge(resource({ conditions: [], loadBalancer: {} })).status).toBe('progressing')
  })

  it('is ready if its kind is built in', () => {
    expect(judge({ ...resource(), apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass' }, true).status).toBe('ready')
  })

  it('is ready if it is a schedule, suspended or not', () => {
    expect(judge({ ...resource(), spec: { schedule: '0 1 * * *', suspend: true } }, true).status).toBe('ready')
    expect(judge({ ...resource(), kind: 'CronWidget' }, true).status).toBe('ready')
  })
})

describe('an object whose status contains no signal', () => {
  const begun = resource({ startTime: iso(0) })
  const judge = (now: number, ...versions: readonly (readonly [seconds: number, object: KubeObject])[]) =>
    found({ now, history: seenTarget(...versions) }, (given) =>
      genericRule.assess(versions.at(-1)?.[1] ?? begun, given),
    )

  it('is ready when no field was added to the status for the settle time', () => {
    expect(judge(9, [0, begun])).toMatchObject({ status: 'progressing', problems: [], recheckAt: moment(10) })
    expect(judge(10, [0, begun])).toMatchObject({
      status: 'ready',
      message: expect.stringContaining('no readiness signal'),
    })
  })

  it('waits again when a field is added, and when its spec changes', () => {
    const more = resource({ startTime: iso(0), endpoint: 'http://w' })
    expect(judge(10, [0, begun], [8, more])).toMatchObject({ status: 'progressing', recheckAt: moment(18) })
    const changed = { ...begun, spec: { size: 2 } }
    expect(judge(10, [0, begun], [8, changed])).toMatchObject({ status: 'progressing', recheckAt: moment(18) })
  })

  it('does not wait for values that change, such as a heartbeat', () => {
    const later = (seconds: number) => resource({ startTime: iso(0), lastSeen: iso(seconds) })
    expect(judge(10, [0, later(0)], [5, later(5)], [10, later(10)]).status).toBe('ready')
  })

  it('is ready at first sight when it was last written before the settle time', () => {
    const writtenAt = (seconds: number) =>
      resource({ startTime: iso(0) }, { managedFields: [{ manager: 'widgets', time: iso(seconds) }] })
    expect(judge(0, [0, writtenAt(-10)]).status).toBe('ready')
    expect(judge(0, [0, writtenAt(-4)])).toMatchObject({ status: 'progressing', recheckAt: moment(6) })
  })

  it('is not ready at once if its status names its generation, which many controllers write first', () => {
    const object = resource({ observedGeneration: 2 })
    expect(judge(9, [0, object]).status).toBe('progressing')
    expect(judge(10, [0, object]).status).toBe('ready')
  })

  it.each<[string, object]>([
    ['the condition of a start', { conditions: [condition('JobCreated', 'True')] }],
    ['a condition of an unknown type', { conditions: [condition('Marbled', 'True')] }],
    ['the state of a start', { state: 'Created' }],
    ['a state of an unknown word', { poolPhase: 'Marbled' }],
  ])('is ready only after three settle times with %s', (_, status) => {
    const object = resource(status)
    expect(judge(29, [0, object])).toMatchObject({ status: 'progressing', recheckAt: moment(30) })
    expect(judge(30, [0, object])).toMatchObject({
      status: 'ready',
      message: expect.stringContaining('nothing in its status shows that it is ready'),
    })
  })

  it('waits again for a state that is new', () => {
    const inPhase = (poolPhase: string) => resource({ poolPhase })
    expect(judge(40, [0, inPhase('Marbled')], [25, inPhase('Dotted')])).toMatchObject({
      status: 'progressing',
      recheckAt: moment(55),
    })
  })

  it('is ready at once if its kind is built in', () => {
    const claim = {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaim',
      metadata: resource().metadata,
      status: { reservedFor: [{ resource: 'pods', name: 'web', uid: 'u' }] },
    }
    expect(judge(0, [0, claim]).status).toBe('ready')
  })
})

describe('a ready status without a generation, older than the spec', () => {
  const ready = { conditions: [condition('Ready', 'True')] }
  const writtenAt = (spec: number, status: number, more: object = {}) => ({
    managedFields: [
      { manager: 'kubectl', operation: 'Apply', time: iso(spec) },
      { manager: 'widgets', operation: 'Update', subresource: 'status', time: iso(status) },
    ],
    ...more,
  })
  const widget = resource(ready, writtenAt(-2, -600))

  it('does not count before the settle time', () => {
    expect(assess(widget, 7)).toMatchObject({ status: 'progressing', problems: [], recheckAt: moment(8) })
  })

  it('counts when it persists after that', () => {
    expect(assess(widget, 8)).toMatchObject({ status: 'ready' })
  })

  it.each<[string, KubeObject]>([
    [
      'the condition has changed since',
      resource({ conditions: [condition('Ready', 'True', { lastTransitionTime: iso(-1) })] }, writtenAt(-2, -1)),
    ],
    ['the object is as it was created', resource(ready, writtenAt(-2, -600, { generation: 1 }))],
    ['it has no status subresource', resource(ready, { managedFields: writtenAt(-2, -600).managedFields.slice(0, 1) })],
    ['its managedFields are unknown', resource(ready)],
  ])('counts at once when %s', (_name, object) => {
    expect(assess(object, 0)).toMatchObject({ status: 'ready' })
  })

  it('counts the settle time after first sight, however often the object is written', () => {
    const busy = resource(ready, writtenAt(11, -600))
    expect(
      found({ now: 12, history: seenTarget([0, widget], [11, busy]) }, (given) => genericRule.assess(busy, given)),
    ).toMatchObject({
      status: 'ready',
    })
  })

  it('counts at once if the settle time is zero', () => {
    const options = { now: 0, history: seenTarget([0, widget]), settings: { settleTimeMs: 0 } }
    expect(found(options, (given) => genericRule.assess(widget, given))).toMatchObject({ status: 'ready' })
  })
})
