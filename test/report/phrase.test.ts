import type { ProblemRecord } from '../../src/gate/timeline.ts'
import { reasonHeadline, statement, statementBelow } from '../../src/report/wording.ts'
import { createProblem, createTargetRecord, type ProblemOverrides } from './builders.ts'

function phrase(reason: ProblemRecord['reason'], overrides: ProblemOverrides = {}): string {
  return reasonHeadline(
    createTargetRecord({ outcome: 'failed', reason, problems: [createProblem({ reason, ...overrides })] }),
  )
}

it.each([
  ['crash-loop', { detail: { exitCode: 3 } }, 'container app keeps crashing (exit code 3)'],
  ['out-of-memory', {}, 'container app ran out of memory'],
  ['config-missing', { detail: { object: 'secret/db' } }, 'secret/db is missing'],
  ['config-missing', { detail: { object: 'secret/db', key: 'password' } }, 'secret/db lacks the key password'],
  ['config-missing', { detail: { object: 'secret' } }, 'a Secret, ConfigMap or key is missing'],
  [
    'init-container-failed',
    { container: 'migrate', isInit: true, detail: { exitCode: 4 } },
    'init container migrate failed (exit code 4)',
  ],
  ['readiness-failing', {}, 'container app fails its readiness probe'],
  ['readiness-gate-pending', {}, 'a readiness gate of the pods is not open'],
  ['unschedulable', {}, 'no node can take the pods'],
  ['unschedulable', { detail: { schedulingGates: ['a/b'] } }, 'the scheduling gates of the pods are not removed'],
  [
    'unschedulable',
    { cause: createProblem({ reason: 'claim-pending', subject: 'persistentvolumeclaim/data' }) },
    'persistentvolumeclaim/data, which the pods need, is not bound',
  ],
  [
    'image-not-found',
    { message: 'holds up the update until somebody deletes the pod', oldRevision: 'blocks-update' },
    'an old pod holds up the update',
  ],
] as const)('%s with %j is told as what it is about', (reason, overrides, words) => {
  expect(phrase(reason, overrides)).toBe(words)
})

it('a long image keeps its beginning and its end', () => {
  const words = phrase('image-not-found', { detail: { image: `registry.example.com/${'team/'.repeat(30)}web:v9` } })
  expect(words).toMatch(/^image registry\.example\.com\/.*….*web:v9 not found$/)
  expect(words.length).toBeLessThan(100)
})

it('without a reason the outcome is the phrase', () => {
  expect(reasonHeadline(createTargetRecord({ outcome: 'progressing', reason: '' }))).toBe('in progress')
})

it('a message becomes a sentence that can stand alone', () => {
  expect(statement('deployment/web', 'is paused, so its change is not rolled out')).toBe(
    'deployment/web is paused, so its change is not rolled out',
  )
  expect(statement('job/migrate', 'the Job failed: too late')).toBe('job/migrate: the Job failed: too late')
  expect(statementBelow('job/migrate', 'the Job failed: too late')).toBe('The Job failed: too late')
  for (const said of ['init container a of pod/web-x exited with code 1', 'replicaset/web-1 cannot create pods'])
    expect(statement('deployment/web', said).toLowerCase()).toBe(said)
})
