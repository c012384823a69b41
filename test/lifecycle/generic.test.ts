import type { KubeObject } from '../../src/cluster/objects.ts'
import { subjectOf } from '../../src/cluster/objects.ts'
import { genericRule } from '../../src/lifecycle/custom/generic.ts'
import { condition, iso, moment } from '../kit/objects.ts'
import { context, reported, seenTarget } from '../kit/rule.ts'

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
  return reported(genericRule.assess(object, context({ now, history: seenTarget([0, object]) })))
}

describe('a kind without a rule of its own', () => {
  it.each<[string, KubeObject, 'ready' | 'progressing' | 'failed']>([
    ['is ready when Ready is True', resource({ conditions: [condition('Ready', 'True')] }), 'ready'],
    ['is ready when it is available', resource({ conditions: [condition('Available', 'True')] }), 'ready'],
    ['is not ready when Ready is False', resource({ conditions: [condition('Ready', 'False')] }), 'progressing'],
    ['is not ready when Ready is Unknown', resource({ conditions: [condition('Ready', 'Unknown')] }), 'progressing'],
    [
      'is not ready when Ready is True for an older generation',
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
      'is ready when it has no errors',
      resource({ conditions: [condition('NoErrors', 'True', { lastTransitionTime: iso(1) })] }),
      'ready',
    ],
    [
      'is ready when Ready is True, whatever condition has a reason that is null',
      resource({ conditions: { Ready: { status: 'True' }, Linked: { status: 'False', reason: null, message: null } } }),
      'ready',
    ],
    [
      'is not ready when it is suspended, without a spec',
      { ...resource({ suspend: true }), spec: null as unknown as object },
      'progressing',
    ],
    [
      'is ready in the state that its spec requests',
      { ...resource({ state: 'LIT' }), spec: { state: 'lit' } },
      'ready',
    ],
    [
      'is not ready in another state, of which nothing is known',
      { ...resource({ state: 'DIM' }), spec: { state: 'lit' } },
      'progressing',
    ],
    ['is ready after a failover', resource({ phase: 'FailedOver' }), 'ready'],
    ['is not ready during a failover', resource({ phase: 'FailingOver' }), 'progressing'],
    ['is not ready by a flag that is negated', resource({ notReady: true }), 'progressing'],
    ['is not suspended by a flag that is negated', resource({ notPaused: true, ready: true }), 'ready'],
    [
      'fails when it has been stalled for 10 s',
      resource({ conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(110) })] }),
      'failed',
    ],
    [
      'does not fail when it has been stalled for less',
      resource({ conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(111) })] }),
      'progressing',
    ],
    [
      'does not fail by a condition of an older generation',
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

  it('without a signal is ready once it exists, with a message about the missing signal', () => {
    expect(assess({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', uid: 'c' } })).toMatchObject({
      status: 'ready',
      message: 'exists; it gives no readiness signal, so nothing more can be known',
    })
  })

  it('that is stalled is assessed again after 10 s', () => {
    const object = resource({ conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(115) })] })
    expect(assess(object)).toMatchObject({
      recheckAt: moment(125),
      problems: [{ reason: 'reported-failed', class: 'strike', proven: false }],
    })
  })

  it('that is not ready has a slow problem with the text of its condition', () => {
    const object = resource({ conditions: [condition('Ready', 'False', { reason: 'Pending', message: 'no issuer' })] })
    expect(assess(object).problems).toMatchObject([
      {
        reason: 'condition-false',
        class: 'slow',
        subject: subjectOf(object),
        message: 'Ready is False (Pending): no issuer',
      },
    ])
  })

  it('that is reconciling holds the stall clock', () => {
    expect(assess(resource({ conditions: [condition('Reconciling', 'True')] })).stallHold).toBeDefined()
    expect(assess(resource({ conditions: [condition('Ready', 'False')] })).stallHold).toBeUndefined()
  })

  it('ignores malformed conditions', () => {
    expect(assess(resource({ conditions: 'none' })).status).toBe('ready')
  })
})

describe('a kind without a rule of its own is judged by', () => {
  const ready = condition('Ready', 'True')
  it.each<[string, object | undefined, 'ready' | 'progressing' | 'failed']>([
    ['a phase that is good', { phase: 'Running' }, 'ready'],
    ['a phase that is on its way', { phase: 'Provisioning' }, 'progressing'],
    ['a phase that is bad', { phase: 'Failed' }, 'progressing'],
    ['a phase that means nothing to us', { phase: 'Primary' }, 'progressing'],
    ['the name of its state', { stateName: 'CREATING' }, 'progressing'],
    ['the word for its progress', { progress: 'Installing' }, 'progressing'],
    ['its progress in percent', { progress: '40%' }, 'progressing'],
    ['a condition that only names a step', { conditions: [condition('Scheduled', 'False')] }, 'progressing'],
    [
      'a good phase beside a condition without a known meaning',
      { phase: 'Running', conditions: [condition('Turnstile', 'Unknown')] },
      'ready',
    ],
    [
      'a good phase, whatever its deletion would need',
      { phase: 'Ready', conditions: [condition('DeletionIsBlocked', 'True')] },
      'ready',
    ],
    ['a word within its status', { health: { status: 'Degraded' } }, 'progressing'],
    ['the worst of its words', { phase: 'Running', health: 'yellow' }, 'progressing'],
    [
      'how its change goes, beside its phase',
      { phase: 'Bound', lastOperation: { state: 'Processing' } },
      'progressing',
    ],
    ['its state, and not that of another time', { lastBackupState: 'Failed' }, 'ready'],
    ['its state, and not that of a part', { phase: 'Running', backup: { status: 'Failed' } }, 'ready'],
    ['the state of an object below it', { resource: { state: 'BUILDING' } }, 'progressing'],
    ['a part, where no signal is about the whole', { cluster: { status: 'PENDING' } }, 'progressing'],
    ['a flag', { ready: false }, 'progressing'],
    ['a flag in words', { ready: 'True' }, 'ready'],
    ['a ratio', { readyMembers: '1/3' }, 'progressing'],
    ['a full ratio', { scale: { statusReplicas: '3/3' } }, 'ready'],
    ['replicas that are short', { replicas: 3, readyReplicas: 1 }, 'progressing'],
    [
      'replicas that are updated, and none ready: a zero is left out',
      { replicas: 3, updatedReplicas: 3 },
      'progressing',
    ],
    [
      'replicas that are unavailable',
      { replicas: 3, updatedReplicas: 3, readyReplicas: 3, unavailableReplicas: 1 },
      'progressing',
    ],
    ['nothing but the number that another one scales by', { replicas: 3, selector: 'app=w' }, 'ready'],
    ['replicas that are all there', { replicas: 3, readyReplicas: 3, updatedReplicas: 3, state: 'OK' }, 'ready'],
    ['pairs of counts', { expectedNodes: 2, availableNodes: 1 }, 'progressing'],
    ['pods of nodes', { desiredNumberScheduled: 2, numberAvailable: 1 }, 'progressing'],
    ['Ready before all words', { conditions: [ready], phase: 'Provisioning', replicas: 2, readyReplicas: 1 }, 'ready'],
    ...['UpToDate', 'Updated', 'Stable', 'Quiesced'].map((type): [string, object, 'progressing'] => [
      `a rollout in progress, before Ready: ${type} is False`,
      { conditions: [ready, condition(type, 'False')] },
      'progressing',
    ]),
    ...['Updating', 'UpgradingVersion', 'RollingOutPods', 'Progressing'].map(
      (type): [string, object, 'progressing'] => [
        `a rollout in progress, before Ready: ${type} is True`,
        { conditions: [ready, condition(type, 'True')] },
        'progressing',
      ],
    ),
    ['Ready before the rollout of a part', { conditions: [ready, condition('ProxyUpToDate', 'False')] }, 'ready'],
    ['Ready and a finished rollout', { conditions: [ready, condition('Updating', 'False')] }, 'ready'],
    ['a phase of a rollout, before Ready', { conditions: [ready], phase: 'Upgrading' }, 'progressing'],
    ['replicas to be updated, before Ready', { conditions: [ready], replicas: 3, updatedReplicas: 1 }, 'progressing'],
    [
      'a spec that was not accepted, before Ready',
      { conditions: [ready, condition('Synced', 'False')] },
      'progressing',
    ],
    ['a contradiction, which is progressing', { conditions: [ready, condition('Degraded', 'True')] }, 'progressing'],
    [
      'Stalled before Ready',
      { conditions: [ready, condition('Stalled', 'True', { lastTransitionTime: iso(1) })] },
      'failed',
    ],
    [
      'the parts that have conditions',
      { listeners: [{ name: 'http', conditions: [condition('Accepted', 'False')] }] },
      'progressing',
    ],
    [
      'a part in a list, where no signal is about the whole',
      {
        nodes: [
          { name: 'a', state: 'Ready' },
          { name: 'b', state: 'Failed' },
        ],
      },
      'progressing',
    ],
    ['a part in a map, where no signal is about the whole', { shards: { a: { phase: 'Pending' } } }, 'progressing'],
    ['a flag of a part', { members: [{ name: 'a', ready: false }] }, 'progressing'],
    ['a condition of a part', { resources: [{ conditions: [condition('Ready', 'False')] }] }, 'progressing'],
    ['its own summary before its parts', { conditions: [ready], nodes: [{ state: 'Failed' }] }, 'ready'],
    ['its parts, and not its past', { history: [{ state: 'Failed' }], nodes: [{ state: 'Ready' }] }, 'ready'],
    [
      'a generation of its own for Ready, which wins over that of the status',
      { observedGeneration: 1, conditions: [{ ...ready, observedGeneration: 2 }] },
      'ready',
    ],
    [
      'an older generation of its own for Ready, which wins too',
      { observedGeneration: 2, conditions: [{ ...ready, observedGeneration: 1 }] },
      'progressing',
    ],
    ['parents that have not reported', { parents: [{ parentRef: { name: 'gate' }, conditions: [] }] }, 'progressing'],
    ['parents that accept it', { parents: [{ conditions: [condition('Accepted', 'True')] }] }, 'ready'],
    [
      'a condition of an older generation',
      { conditions: [condition('Ready', 'True', { observedGeneration: 1 })] },
      'progressing',
    ],
    ['generations by other names', { lastEvaluatedGeneration: 1, phase: 'Ready' }, 'progressing'],
    [
      'an older generation in a field for generations',
      { generations: { reconciled: 1 }, phase: 'Ready' },
      'progressing',
    ],
    [
      'the present generation in such a field',
      { generations: { reconciled: 2, lastError: 1 }, phase: 'Ready' },
      'ready',
    ],
    ['generations of other objects in a list', { generations: [{ name: 'a', observed: 1 }], phase: 'Ready' }, 'ready'],
    ['generations that are numbers, and not hashes', { observedGeneration: '5b9f9dd6c6', phase: 'Ready' }, 'ready'],
    ['conditions whose status is a boolean', { conditions: [{ type: 'Ready', status: false }] }, 'progressing'],
    ['good conditions whose status is a boolean', { conditions: [{ type: 'Ready', status: true }] }, 'ready'],
    ['conditions by their types', { conditions: { Ready: { status: 'False' } } }, 'progressing'],
    ['good conditions by their types', { conditions: { Ready: { status: 'True' }, Synced: 'True' } }, 'ready'],
    ['conditions by their types, as plain words', { conditions: { Ready: 'False' } }, 'progressing'],
    [
      'conditions of one type that differ, which are progressing',
      { conditions: [ready, condition('Ready', 'False')] },
      'progressing',
    ],
    [
      'the worst of several conditions of one type',
      {
        conditions: [
          condition('Ready', 'False', { lastTransitionTime: iso(9) }),
          condition('Ready', 'True', { lastTransitionTime: iso(1) }),
        ],
      },
      'progressing',
    ],
    ['a condition in small letters', { conditions: [condition('Ready', 'true')] }, 'ready'],
    ['a condition without a status', { conditions: [condition('Ready', '')] }, 'progressing'],
    [
      'a condition of the present generation beside one of an older',
      { conditions: [{ ...ready, observedGeneration: 2 }, condition('Synced', 'True', { observedGeneration: 1 })] },
      'ready',
    ],
    ['a generation that is null, which is ignored', { observedGeneration: null, conditions: [ready] }, 'ready'],
    ['a larger generation, from before it was restored', { observedGeneration: 7, conditions: [ready] }, 'ready'],
    ['a generation that was never observed', { observedGeneration: -1, conditions: [ready] }, 'progressing'],
    ['an error', { error: { message: 'no such bucket' } }, 'progressing'],
    ['no error where it is ready', { ready: true, error: 'an old one' }, 'ready'],
  ])('%s', (_, status, expected) => {
    expect(assess(resource(status)).status).toBe(expected)
  })

  it.each<[string, object]>([
    ['an error text', { error: 'no such bucket' }],
    ['a failed state', { phase: 'Failed' }],
    ['a failed condition', { conditions: [condition('Failure', 'True', { reason: 'InvalidSize' })] }],
    ['the error of an attempt', { conditions: [condition('ReconcileError', 'True', { reason: 'Failed' })] }],
    ['its health', { conditions: [condition('Degraded', 'True')] }],
    ['a bad health in a field', { phase: 'unhealthy' }],
    ['a failed state beside steps of its work', { phase: 'Failed', steps: [{ name: 'a', state: 'Failed' }] }],
  ])('%s, as a slow problem: most controllers retry', (_, status) => {
    expect(assess(resource(status), 100_000)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'condition-false', class: 'slow', proven: false }],
    })
  })

  it('the end of its controller, whatever the message names', () => {
    const stalled = condition('Stalled', 'True', { message: 'configmaps "settings" not found' })
    expect(assess(resource({ observedGeneration: 2, conditions: [stalled] }), 10).status).toBe('failed')
    expect(assess({ ...resource({ phase: 'Failed', message: 'pod not found' }), kind: 'Workflow' }, 10).status).toBe(
      'failed',
    )
  })

  it('the error that ended work at once: it is not repeated', () => {
    expect(assess({ ...resource({ phase: 'Error' }), kind: 'Workflow' }, 10).status).toBe('failed')
  })

  it.each<[string, object, string]>([
    ['beside it', { phase: 'Failed', message: 'no quota in zone b' }, 'phase is Failed: no quota in zone b'],
    [
      'as a reason',
      { updateStatus: 'failed', reason: 'no quota in zone b' },
      'updateStatus is failed: no quota in zone b',
    ],
    ['one level below', { health: { status: 'Degraded', message: 'no quota' } }, 'health.status is Degraded: no quota'],
    ['nowhere', { phase: 'Failed', message: { text: 'x' } }, 'phase is Failed'],
  ])('a failed state, with the message %s', (_, status, message) => {
    expect(assess(resource(status)).problems).toMatchObject([{ reason: 'condition-false', message }])
  })

  it('a failure that may be about an older spec, from its first sight', () => {
    const stalled = { conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(-500) })] }
    expect(assess(resource(stalled), 9).status).toBe('progressing')
    expect(assess(resource({ observedGeneration: 2, ...stalled }), 9).status).toBe('failed')
  })

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

  it('a failure that is dated in the future, from its first sight: the clock of its controller is ahead', () => {
    const conditions = [condition('Stalled', 'True', { lastTransitionTime: iso(3_600) })]
    expect(assess(resource({ observedGeneration: 2, conditions }), 9)).toMatchObject({
      status: 'progressing',
      recheckAt: moment(10),
    })
    expect(assess(resource({ observedGeneration: 2, conditions }), 10).status).toBe('failed')
  })

  it.each([
    ['Synced', 'SyncError'],
    ['Synced', 'ReconcileError'],
    ['Ready', 'SyncError'],
    ['Synced', 'Waiting'],
  ])('a condition %s that is False with the reason %s, as a slow problem', (type, reason) => {
    const status = { observedGeneration: 2, conditions: [condition(type, 'False', { reason, message: 'no bucket' })] }
    expect(assess(resource(status), 100_000)).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'condition-false', message: `${type} is False (${reason}): no bucket` }],
    })
  })

  it.each([
    [
      'the cause of a stall once',
      [
        condition('Ready', 'False', { reason: 'InstallFailed', message: 'timed out: 0 of 1 pod' }),
        condition('Released', 'False', { reason: 'InstallFailed', message: 'timed out: 0 of 1 pod' }),
        condition('Stalled', 'True', { reason: 'RetriesExceeded', message: 'gave up after 1 attempt' }),
      ],
      'Stalled is True (RetriesExceeded): gave up after 1 attempt, Ready is False (InstallFailed): timed out: 0 of 1 pod, Released is False (InstallFailed)',
    ],
    [
      'the error before the step of a retry',
      [
        condition('Reconciling', 'True', { reason: 'Retrying', message: 'fetching the sources' }),
        condition('Ready', 'False', { reason: 'FetchFailed', message: 'no such branch' }),
      ],
      'Ready is False (FetchFailed): no such branch, Reconciling is True (Retrying): fetching the sources',
    ],
  ])('%s', (_, conditions, message) => {
    expect(assess(resource({ conditions })).problems).toMatchObject([{ message }])
  })

  it('no failure while its controller is reconciling', () => {
    const status = { conditions: [condition('Ready', 'False'), condition('Reconciling', 'True')], phase: 'Failed' }
    expect(assess(resource(status))).toMatchObject({ status: 'progressing', stallHold: expect.anything() })
  })

  it('the replicas that its spec requests, if its status contains no other number', () => {
    const judged = (readyReplicas: number) =>
      assess({ ...resource({ readyReplicas }), spec: { replicas: 3 } as object }).status
    expect([judged(1), judged(3)]).toEqual(['progressing', 'ready'])
  })

  it('its suspension, before a controller wrote a status', () => {
    const object = { ...resource(), spec: { suspend: true } }
    expect(assess(object).problems).toMatchObject([{ reason: 'suspended' }])
  })

  it.each([
    ['suspended', { suspend: true }, {}],
    ['paused', { paused: true }, {}],
    ['paused', { strategy: { paused: true } }, {}],
    ['suspended', {}, { phase: 'Suspended' }],
  ])('its spec: %s', (reason, spec, status) => {
    const object = { ...resource({ observedGeneration: 2, ...status }), spec }
    expect(assess(object)).toMatchObject({ status: 'progressing', problems: [{ reason, class: 'slow' }] })
  })

  it.each([
    ['Ready', 'ready'],
    ['Pending', 'progressing'],
    ['Failed', 'progressing'],
  ])('its whole status, where that is the string %s', (status, expected) => {
    const object = { ...resource(), status: status as unknown as object }
    expect(assess(object).status).toBe(expected)
  })

  it('the first part that is not good', () => {
    const nodes = [
      { name: 'a', state: 'Ready' },
      { name: 'b', state: 'Failed' },
      { name: 'c', state: 'Failed' },
    ]
    expect(assess(resource({ nodes }))).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'condition-false', class: 'slow', message: 'nodes[b].state is Failed' }],
    })
  })

  it('its suspension, even if its status is of an older generation', () => {
    const object = { ...resource({ observedGeneration: 1, conditions: [ready] }), spec: { suspend: true } }
    expect(assess(object).problems).toMatchObject([{ reason: 'suspended' }])
  })

  it.each([
    ['not yet handled', '2025-01-15T11:00:00Z', undefined, 'progressing'],
    ['newer than the last one that was handled', '2025-01-15T11:00:00Z', '2025-01-15T10:00:00Z', 'progressing'],
    ['handled', '2025-01-15T11:00:00Z', '2025-01-15T11:00:00Z', 'ready'],
    ['of any other word, and not yet handled', 'now', 'before', 'progressing'],
  ])('a request to reconcile that is %s', (_, requestedAt, lastHandledReconcileAt, expected) => {
    const annotations = { 'reconcile.fluxcd.io/requestedAt': requestedAt }
    const status = { observedGeneration: 2, conditions: [{ ...ready, observedGeneration: 2 }] }
    const handled = lastHandledReconcileAt === undefined ? {} : { lastHandledReconcileAt }
    expect(assess(resource({ ...status, ...handled }, { annotations })).status).toBe(expected)
  })

  it('its end, if it is work that ends', () => {
    const work = (phase: string) => assess({ ...resource({ phase }), kind: 'WidgetBackup' }).status
    expect([work('Running'), work('Completed'), work('Failed')]).toEqual(['progressing', 'ready', 'failed'])
  })
})

describe('an object without a status', () => {
  const judge = (object: KubeObject, declaresStatus?: boolean) =>
    reported(
      genericRule.assess(
        object,
        context({
          now: 60,
          history: seenTarget([0, object]),
          ...(declaresStatus === undefined ? {} : { declaresStatus }),
        }),
      ),
    )

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
    reported(genericRule.assess(versions.at(-1)?.[1] ?? begun, context({ now, history: seenTarget(...versions) })))

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
      reported(genericRule.assess(busy, context({ now: 12, history: seenTarget([0, widget], [11, busy]) }))),
    ).toMatchObject({
      status: 'ready',
    })
  })

  it('counts at once if the settle time is zero', () => {
    const options = { now: 0, history: seenTarget([0, widget]), settings: { settleTimeMs: 0 } }
    expect(reported(genericRule.assess(widget, context(options)))).toMatchObject({ status: 'ready' })
  })
})
