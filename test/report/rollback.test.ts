import type { TargetRecord } from '../../src/gate/timeline.ts'
import type { Target } from '../../src/plan/target.ts'
import { rollbackOf } from '../../src/report/rollback.ts'
import { createTarget, createTargetRecord, createTimeline } from './builders.ts'

const failed = (target: Partial<Target>, overrides: Partial<TargetRecord> = {}) =>
  createTargetRecord({
    target: createTarget(target),
    outcome: 'failed',
    reason: 'crash-loop',
    undo: { revision: 6 },
    ...overrides,
  })
const rollback = (targets: readonly TargetRecord[], outcome = 'failed' as const) =>
  rollbackOf(createTimeline({ verdict: { outcome, reason: 'crash-loop', message: '' }, targets }))
const job = (overrides: Partial<TargetRecord>) =>
  createTargetRecord({ target: createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' }), ...overrides })

test('each resource that failed has its own command, and what is healthy has none', () => {
  const { command, note } = rollback([
    failed({ name: 'web' }),
    createTargetRecord({ target: createTarget({ name: 'healthy' }) }),
    failed({ kind: 'StatefulSet', name: 'db' }),
  ])
  expect(command).toBe(
    'kubectl rollout undo deployment/web -n shop --to-revision=6 && kubectl rollout undo statefulset/db -n shop --to-revision=6',
  )
  expect(note).toBe(
    'Undoes deployment/web to revision 6 (its pod template, no ConfigMaps, Secrets or replicas), statefulset/db to revision 6 (its pod template, no ConfigMaps, Secrets or replicas).',
  )
})

test('a resource with an obstacle is not undone, and the note has the reason', () => {
  const paused = failed({ name: 'api' }, { undo: { revision: 3, obstacle: 'it is paused' } })
  expect(rollback([failed({}), paused])).toEqual({
    command: 'kubectl rollout undo deployment/web -n shop --to-revision=6',
    note: 'Undoes deployment/web to revision 6 (its pod template, no ConfigMaps, Secrets or replicas). deployment/api is not undone: it is paused.',
  })
})

test('a merged timeline refers to the outputs of its gates', () => {
  const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const
  expect(rollbackOf(createTimeline({ verdict, targets: [failed({})], gates: [] }))).toEqual({
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
  expect(rollback([failed({}), job({ hasRun: true })])).toEqual({
    command: '',
    note: 'job/migrate ran: a migration may not be undone. If the older version works with what was changed: kubectl rollout undo deployment/web -n shop --to-revision=6',
  })
  expect(rollback([job({ outcome: 'failed', hasRun: true })]).note).toBe(
    'job/migrate ran: a migration may not be undone.',
  )
})

test.each(['stalled', 'timed-out', 'superseded', 'unknown', 'cancelled', 'misconfigured'] as const)(
  'the outcome %s undoes nothing',
  (outcome) => {
    const { verdict: _, ...timeline } = createTimeline({ targets: [failed({})] })
    const rolledBack = rollbackOf({ ...timeline, verdict: { outcome, reason: 'no-progress', message: '' } })
    expect(rolledBack).toEqual({ command: '', note: `The outcome ${outcome} proves no failure of this change.` })
  },
)

test.each([
  { name: 'web;reboot' },
  { name: '-o' },
  { name: 'a$(b)' },
  { namespace: 'shop && x' },
  { kind: 'Deployment x' },
])('a name that a shell may read as more than a word is in no command: %j', (target) => {
  expect(rollback([failed(target)]).command).toBe('')
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
const ofRelease = (name: string, changedAt: string | undefined, undo: TargetRecord['undo'] = { revision: 6 }) =>
  failed({ name, release }, { undo, ...(changedAt !== undefined && { changedAt: Date.parse(changedAt) }) })

test('the workloads of a Helm release are undone by one helm rollback', () => {
  const changedAt = '2026-01-01T13:00:02Z'
  expect(rollback([ofRelease('web', changedAt), ofRelease('api', changedAt)])).toEqual({
    command: 'helm rollback web 7 -n shop',
    note: 'Undoes the Helm release web to revision 7 (not what its hooks did).',
  })
})

test.each([
  [
    'that an earlier revision of the release made goes back to the one before it',
    '2026-01-01T12:00:01Z',
    'helm rollback web 5 -n shop',
  ],
  [
    'that is older than all known revisions of the release is undone alone',
    '2026-01-01T09:00:00Z',
    'kubectl rollout undo deployment/web -n shop --to-revision=6',
  ],
  ['whose time is unknown is undone alone', undefined, 'kubectl rollout undo deployment/web -n shop --to-revision=6'],
])('a failing change %s', (_, changedAt, command) => {
  expect(rollback([ofRelease('web', changedAt)]).command).toBe(command)
})

test('a change of a checksum alone is undone only by the release, which restores the ConfigMap too', () => {
  const undo = { revision: 6, obstacle: 'its containers are the same', isOnlyRestart: true } as const
  expect(rollback([ofRelease('web', '2026-01-01T13:00:02Z', undo)]).command).toBe('helm rollback web 7 -n shop')
  expect(rollback([failed({}, { undo })]).command).toBe('')
})
