import type { KubeObject } from '../../src/cluster/objects.ts'
import { genericRule } from '../../src/lifecycle/generic.ts'
import { condition, iso, moment, seenTarget, view } from './builders.ts'

function resource(status?: object, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2, ...metadata },
    spec: {},
    ...(status === undefined ? {} : { status }),
  }
}

function assess(object: KubeObject, now = 60) {
  return genericRule.assess(object, view({ now, history: seenTarget([0, object]) }))
}

describe('a kind without a rule of its own', () => {
  it.each<[string, KubeObject, 'ready' | 'progressing' | 'failed']>([
    ['is ready when it says so', resource({ conditions: [condition('Ready', 'True')] }), 'ready'],
    ['is ready when it is available', resource({ conditions: [condition('Available', 'True')] }), 'ready'],
    ['is not ready when it says so', resource({ conditions: [condition('Ready', 'False')] }), 'progressing'],
    ['is not ready when it does not know', resource({ conditions: [condition('Ready', 'Unknown')] }), 'progressing'],
    [
      'is not ready when it says so of an older generation',
      resource({ conditions: [condition('Ready', 'True', { observedGeneration: 1 })], observedGeneration: 1 }),
      'progressing',
    ],
    [
      'is not ready while the generation is not observed, which may be a string',
      resource({ observedGeneration: '1', conditions: [condition('Ready', 'True')] }),
      'progressing',
    ],
    [
      'is ready when the generation is observed, which may be a string',
      resource({ observedGeneration: '2', conditions: [condition('Ready', 'True')] }),
      'ready',
    ],
    [
      'is not ready while it reconciles',
      resource({ conditions: [condition('Ready', 'True'), condition('Reconciling', 'True')] }),
      'progressing',
    ],
    [
      'is not ready while it is being deleted',
      resource({ conditions: [condition('Ready', 'True')] }, { deletionTimestamp: iso(1) }),
      'progressing',
    ],
    [
      'fails when it has been stalled for 10 s',
      resource({ conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(50) })] }),
      'failed',
    ],
    [
      'does not fail when it has been stalled for less',
      resource({ conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(51) })] }),
      'progressing',
    ],
    [
      'does not fail by what it said of an older generation',
      resource({ observedGeneration: 1, conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(1) })] }),
      'progressing',
    ],
    [
      'does not fail by a condition of an older generation',
      resource({
        conditions: [
          condition('Stalled', 'True', { lastTransitionTime: iso(1), observedGeneration: 1 }),
          condition('Ready', 'False'),
        ],
      }),
      'progressing',
    ],
  ])('%s', (_, object, status) => {
    expect(assess(object).status).toBe(status)
  })

  it('that gives no signal is ready once it exists, and says that nothing could be known', () => {
    expect(assess({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', uid: 'c' } })).toMatchObject({
      status: 'ready',
      message: 'exists; it publishes no readiness signal',
      notes: ['no readiness signal: it exists, nothing more can be known'],
    })
  })

  it('that was stalled is looked at again when 10 s are over', () => {
    const object = resource({ conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(55) })] })
    expect(assess(object)).toMatchObject({
      recheckAt: moment(65),
      problems: [{ reason: 'reported-failed', class: 'strike', proven: false }],
    })
  })

  it('that is not ready is slow, in its own words', () => {
    const object = resource({ conditions: [condition('Ready', 'False', { reason: 'Pending', message: 'no issuer' })] })
    expect(assess(object).problems).toMatchObject([
      { reason: 'condition-false', class: 'slow', subject: 'widget/w', message: 'Ready is False (Pending): no issuer' },
    ])
  })

  it('that reconciles is given time', () => {
    expect(assess(resource({ conditions: [condition('Reconciling', 'True')] })).patience).toBeDefined()
    expect(assess(resource({ conditions: [condition('Ready', 'False')] })).patience).toBeUndefined()
  })

  it('survives conditions that are none', () => {
    expect(assess(resource({ conditions: 'none' })).status).toBe('ready')
  })
})
