import type { TargetRecord } from '../../src/gate/run-record.ts'
import type { Target } from '../../src/plan/target.ts'
import { rollbackOf, wayBackOf } from '../../src/report/rollback.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { createRecord, createTarget, createTargetRecord, type RecordOverrides } from './builders.ts'

const startedAt = Date.parse('2026-01-01T13:05:00Z')
const failed = (target: Partial<Target>, overrides: RecordOverrides = {}) =>
  createTargetRecord({
    target: createTarget(target),
    outcome: 'failed',
    reason: 'crash-loop',
    undo: { revision: 6 },
    changedAt: startedAt - 60_000,
    change: 'recent',
    ...overrides,
  })
const rollback = (targets: readonly TargetRecord[], context = 'prod') =>
  rollbackOf(
    createRecord({ startedAt, context, verdict: { outcome: 'failed', reason: 'crash-loop', message: '' }, targets }),
  )
const jobRecord = (overrides: RecordOverrides) =>
  createTargetRecord({ target: createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' }), ...overrides })

test('each resource that failed has its own command, and what is healthy has none', () => {
  const { command, note } = rollback([
    failed({ name: 'web' }),
    createTargetRecord({ target: createTarget({ name: 'healthy' }) }),
    failed({ kind: 'StatefulSet', name: 'db' }),
  ])
  expect(command).toBe(
    'kubectl --context prod rollout undo deployment/web -n shop --to-revision=6 && kubectl --context prod rollout undo statefulset/db -n shop --to-revision=6',
  )
  expect(note).toBe(
    'Undoes deployment/web to revision 6 (its pod template, no ConfigMaps, Secrets or replicas), statefulset/db to revision 6 (its pod template, no ConfigMaps, Secrets or replicas).',
  )
})

test('a resource with an obstacle is not undone, and the note has the reason', () => {
  const paused = failed({ name: 'api' }, { undo: { revision: 3, obstacle: 'it is paused' } })
  expect(rollback([failed({}), paused])).toEqual({
    command: 'kubectl --context prod rollout undo deployment/web -n shop --to-revision=6',
    note: 'Undoes deployment/web to revision 6 (its pod template, no ConfigMaps, Secrets or replicas). deployment/api is not undone: it is paused.',
  })
})

test('a merged record refers to the outputs of its gates', () => {
  const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const
  expect(rollbackOf(createRecord({ verdict, targets: [failed({})], gates: [] }))).toEqual({
    command: '',
    note: 'Each gate has a rollback-command of its own.',
  })
})

test('a resource that this change did not touch is not undone', () => {
  expect(rollback([failed({}, { change: 'none' })])).toEqual({
    command: '',
    note: 'deployment/web is not undone: its version is older than this change.',
  })
})

test('after a Job of the same change there is no command, since a migration may not be undone', () => {
  expect(rollback([failed({}), jobRecord({ hasRun: true })])).toEqual({
    command: '',
    note: 'job/migrate ran: a migration may not be undone. If the older version works with what was changed: kubectl --context prod rollout undo deployment/web -n shop --to-revision=6',
  })
  const hook = { annotation: 'helm.sh/hook=pre-upgrade', removal: 'helm.sh/hook-delete-policy=hook-succeeded' }
  expect(rollback([failed({}), jobRecord({ hook })]).command).toBe('')
  expect(rollback([jobRecord({ outcome: 'failed', hasRun: true })]).note).toBe(
    'job/migrate ran: a migration may not be undone.',
  )
})

test.each(['stalled', 'timed-out', 'superseded', 'unknown', 'cancelled', 'misconfigured'] as const)(
  'the outcome %s undoes nothing',
  (outcome) => {
    const rolledBack = rollbackOf(createRecord({ targets: [failed({})], outcome, reason: 'no-progress' }))
    expect(rolledBack).toEqual({ command: '', note: `The outcome ${outcome} proves no failure of this change.` })
  },
)

test.each([
  ['name', 'web;reboot'],
  ['name', '-o'],
  ['name', 'a$(b)'],
  ['namespace', 'shop && x'],
  ['kind', 'Deployment x'],
])('a %s that a shell may read as more than a word is in no command: %s', (field, text) => {
  expect(rollback([failed({ [field]: text })]).command).toBe('')
})

const release = {
  name: 'web',
  namespace: 'shop',
  revisions: [
    { number: 5, status: 'superseded', createdAt: '2026-01-01T10:00:00Z' },
    { number: 6, status: 'failed', createdAt: '2026-01-01T11:00:00Z' },
    { number: 7, status: 'superseded', createdAt: '2026-01-01T12:00:00Z' },
    { number: 8, status: 'deployed', createdAt: '2026-01-01T13:00:00Z' },
  ],
}
/** A workload of the release: its version, and when the one before came, which is that of a revision of the release. */
const ofRelease = (name: string, changedAt: string, since?: string, undo: TargetRecord['undo'] = {}) =>
  failed(
    { name, release },
    {
      undo: { revision: 6, ...(since !== undefined && { since: Date.parse(since) }), ...undo },
      changedAt: Date.parse(changedAt),
    },
  )
const [sixth, seventh] = ['2026-01-01T11:00:02Z', '2026-01-01T12:00:02Z']
const eighth = '2026-01-01T13:00:02Z'

test('the workloads of a Helm release are undone by one helm rollback', () => {
  expect(rollback([ofRelease('web', eighth, seventh), ofRelease('api', eighth, '2026-01-01T10:00:20Z')])).toEqual({
    command: 'helm --kube-context prod rollback web 7 -n shop',
    note: 'Undoes the Helm release web to revision 7 (not what its hooks did).',
  })
})

const alone = 'kubectl --context prod rollout undo deployment/web -n shop --to-revision=6'
test.each([
  ['whose version before is of no known revision of the release', '2026-01-01T09:00:00Z'],
  ['whose version before was broken by a later revision', undefined],
  ['whose version before was set by hand, an hour after the release', '2026-01-01T11:30:00Z'],
  ['whose version before is of a revision that failed', sixth],
  ['whose version before is of the same revision', '2026-01-01T13:00:01Z'],
])('a workload %s is undone alone', (_, since) => {
  expect(rollback([ofRelease('web', eighth, since)]).command).toBe(alone)
})

test('a change of a checksum alone is undone only by the release, which restores the ConfigMap too', () => {
  const undo = { obstacle: 'its containers are the same', isOnlyRestart: true } as const
  expect(rollback([ofRelease('web', eighth, seventh, undo)]).command).toBe(
    'helm --kube-context prod rollback web 7 -n shop',
  )
  expect(rollback([ofRelease('web', eighth, undefined, undo)]).command).toBe('')
  expect(rollback([failed({}, { undo: { revision: 6, ...undo } })]).command).toBe('')
})

test.each([
  ['3 days', startedAt - 3 * 86_400_000, 'its version is more than an hour old'],
  ['61 minutes', startedAt - 61 * 60_000, 'its version is more than an hour old'],
  ['unknown', undefined, 'the age of its version is unknown'],
])('a version whose age is %s is not undone', (_, changedAt, why) => {
  const { changedAt: __, change: ___, ...record } = failed({})
  expect(rollback([{ ...record, ...(changedAt !== undefined && { changedAt }) }])).toEqual({
    command: '',
    note: `deployment/web is not undone: ${why}.`,
  })
})

test('what an operator deployed is undone there', () => {
  const deployedBy = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', namespace: 'argocd', name: 'shop' }
  expect(rollback([failed({ deployedBy })])).toEqual({
    command: '',
    note: 'deployment/web is not undone: application/shop deployed it: undo the change there.',
  })
})

test.each([
  ['arn:aws:eks:eu-west-1:123456789012:cluster/prod', ' --context arn:aws:eks:eu-west-1:123456789012:cluster/prod'],
  ['admin@prod.eksctl.io', ' --context admin@prod.eksctl.io'],
  ['in-cluster', ''],
])('the context %s is in the command, unless it is that of the cluster the gate runs in', (context, flag) => {
  expect(rollback([failed({})], context).command).toBe(
    `kubectl${flag} rollout undo deployment/web -n shop --to-revision=6`,
  )
})

test.each(['prod; reboot', '$(reboot)', '-h', 'my prod', "o'brien", 'a`b`', 'prod\nx'])(
  'a context that a shell may read as more than a word is in no command: %j',
  (context) => {
    expect(rollback([failed({})], context)).toEqual({
      command: '',
      note: 'deployment/web is not undone: the name of the context is no plain word for a shell.',
    })
  },
)

test('the summary does not undo a version of three days either, although it counts from the change', () => {
  const serving = { revision: 6, images: ['acme/web:v1'], ready: 2, wanted: 2 }
  const { change: _, ...target } = failed({}, { undo: { revision: 6, serving }, changedAt: startedAt - 259_200_000 })
  const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const
  const summary = renderSummary(createRecord({ startedAt, verdict, targets: [target] }))
  expect(summary).toContain('deployment/web is not undone: its version is more than an hour old.')
})

describe('what serves now, and the way back', () => {
  const serving = { revision: 6, images: ['acme/web:v1'], ready: 2, wanted: 2 }
  const wayBack = (targets: readonly TargetRecord[]) =>
    wayBackOf(
      createRecord({
        startedAt,
        context: 'prod',
        verdict: { outcome: 'failed', reason: 'crash-loop', message: '' },
        targets,
      }),
    )
  const command = 'kubectl --context prod rollout undo deployment/web -n shop --to-revision=6'

  test.each<[string, TargetRecord[], object | undefined]>([
    [
      'names the older revision, its image and its pods',
      [failed({}, { undo: { revision: 6, serving } })],
      { sentences: ['Revision 6 (acme/web:v1) still serves with 2 of 2 pods.'], command },
    ],
    [
      'names the target where there are several, and counts further images',
      [
        failed({}, { undo: { revision: 6, serving: { ...serving, images: ['a', 'b', 'c'], ready: 1 } } }),
        createTargetRecord({ target: createTarget({ name: 'api' }) }),
      ],
      { sentences: ['Revision 6 of deployment/web (a and 2 more) still serves with 1 of 2 pods.'], command },
    ],
    [
      'reports that nothing serves, and why it is not undone',
      [failed({}, { undo: { obstacle: 'it is paused', serving: { images: [], ready: 0, wanted: 2 } } })],
      {
        sentences: [
          'It does not serve: no pod is ready, neither of this revision nor of an older one.',
          'deployment/web is not undone: it is paused.',
        ],
        command: '',
      },
    ],
    [
      'gives the way back of a target that stalled too',
      [failed({}, { outcome: 'stalled', undo: { revision: 6, serving } })],
      { sentences: ['Revision 6 (acme/web:v1) still serves with 2 of 2 pods.'], command },
    ],
    [
      'names what has no way back beside what has one',
      [
        failed({}, { undo: { revision: 6, serving } }),
        failed({ name: 'db' }, { undo: { obstacle: 'it is paused', serving: { images: [], ready: 0, wanted: 1 } } }),
      ],
      {
        sentences: [
          'deployment/db does not serve: no pod is ready, neither of this revision nor of an older one.',
          'Revision 6 of deployment/web (acme/web:v1) still serves with 2 of 2 pods.',
          'deployment/db is not undone: it is paused.',
        ],
        command,
      },
    ],
    [
      'counts what is not named: first what does not serve',
      [
        ...['a', 'b', 'c'].map((name) => failed({ name }, { outcome: 'stalled', undo: { obstacle: 'x', serving } })),
        ...['d', 'e'].map((name) =>
          failed({ name }, { undo: { serving: { images: [], ready: 0, wanted: 1, isFirst: true } } }),
        ),
      ],
      {
        sentences: [
          'deployment/d does not serve: no pod is ready, and there is no older revision to go back to.',
          'deployment/e does not serve: no pod is ready, and there is no older revision to go back to.',
          'Revision 6 of deployment/a (acme/web:v1) still serves with 2 of 2 pods.',
          '2 more targets: pods are ready.',
          'deployment/a is not undone: x. deployment/b is not undone: x. deployment/c is not undone: x.',
        ],
        command: '',
      },
    ],
    [
      'names ready pods of the present revision, and the undo to an older one',
      [failed({}, { undo: { revision: 6, serving: { images: [], ready: 1, wanted: 2 } } })],
      { sentences: ['It has 1 of 2 pods ready, all of this revision.'], command },
    ],
    [
      'names ready pods of a first revision',
      [failed({ name: 'db' }, { undo: { serving: { images: [], ready: 1, wanted: 1, isFirst: true } } })],
      {
        sentences: ['It has 1 of 1 pod ready, all of this revision, and no older revision to go back to.'],
        command: '',
      },
    ],
    [
      'has none for a first revision',
      [failed({}, { undo: { serving: { images: [], ready: 0, wanted: 1, isFirst: true } } })],
      {
        sentences: ['It does not serve: no pod is ready, and there is no older revision to go back to.'],
        command: '',
      },
    ],
    ['is empty where nothing is known of it', [failed({})], undefined],
    [
      'is empty for a target that only waits for another one',
      [failed({}, { causedBy: 'deployment.apps/db', undo: { revision: 6, serving } })],
      undefined,
    ],
  ])('%s', (_, targets, expected) => expect(wayBack(targets)).toEqual(expected))
})
