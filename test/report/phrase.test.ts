import type { ProblemRecord } from '../../src/gate/run-record.ts'
import { messageBelowName, messageWithName, reasonHeadline } from '../../src/report/target-record.ts'
import { createProblem, createTargetRecord, type ProblemOverrides } from './builders.ts'

function phrase(reason: ProblemRecord['reason'], overrides: ProblemOverrides = {}): string {
  return reasonHeadline(
    createTargetRecord({ outcome: 'failed', reason, problems: [createProblem({ reason, ...overrides })] }),
  )
}

it('the headline of an old pod with a missing image is that it blocks the update', () => {
  const blocks = {
    message: 'blocks the update until the pod is ready or deleted',
    oldRevision: 'blocks-update',
  } as const
  expect(phrase('image-not-found', blocks)).toBe('an old pod blocks the update')
})

it('a long image name keeps its start and its end', () => {
  const words = phrase('image-not-found', { detail: { image: `registry.example.com/${'team/'.repeat(30)}web:v9` } })
  expect(words).toMatch(/^image registry\.example\.com\/.*….*web:v9 not found$/)
  expect(words.length).toBeLessThan(100)
})

it('the headline of a target without a reason is its outcome', () => {
  expect(reasonHeadline(createTargetRecord({ outcome: 'progressing', reason: '' }))).toBe('in progress')
})

it('a message becomes a complete sentence', () => {
  const paused = { message: 'is paused, so its change is not rolled out', form: 'predicate' } as const
  expect(messageWithName('deployment/web', paused)).toBe('deployment/web is paused, so its change is not rolled out')
  expect(messageBelowName('deployment/web', paused)).toBe('deployment/web is paused, so its change is not rolled out')
  const failed = { message: 'the Job failed: too late', form: 'clause' } as const
  expect(messageWithName('job/migrate', failed)).toBe('job/migrate: the Job failed: too late')
  expect(messageBelowName('job/migrate', failed)).toBe('The Job failed: too late')
  const ofPod = { message: 'init container a of pod/web-x exited with code 1', form: 'complete' } as const
  for (const render of [messageWithName, messageBelowName])
    expect(render('deployment/web', ofPod)).toBe('Init container a of pod/web-x exited with code 1')
  const ofReplicaSet = { message: 'replicaset/web-1 cannot create pods', form: 'complete' } as const
  expect(messageWithName('deployment/web', ofReplicaSet)).toBe('replicaset/web-1 cannot create pods')
})
