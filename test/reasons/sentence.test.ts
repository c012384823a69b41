import { type Problem, problemSentence } from '../../src/reasons/reasons.ts'
import { joinSubject } from '../../src/reasons/spec.ts'
import { toSubject } from '../kit/subject.ts'

const problem: Problem = {
  reason: 'crash-loop',
  subject: toSubject('pod/web-x'),
  container: 'app',
  detail: { exitCode: 3 },
  count: 3,
  firstSeenAt: 0,
  proven: true,
}

describe('the sentence about a problem', () => {
  it('names container, object and problem', () => {
    expect(problemSentence(problem)).toBe('container app of pod/web-x exited with code 3, 3 times')
  })

  it('counts the pods with the problem', () => {
    expect(problemSentence({ ...problem, pods: 2 })).toMatch(/3 times \(2 pods have this problem\)$/)
  })

  it('names an init container', () => {
    expect(problemSentence({ ...problem, container: 'migrate', isInit: true })).toBe(
      'init container migrate of pod/web-x exited with code 3, 3 times',
    )
  })
})

it.each([
  ['a predicate', 'is paused', 'predicate', 'deployment/web is paused'],
  ['a clause', 'the Job failed', 'clause', 'deployment/web: the Job failed'],
  ['a complete sentence', 'pod/web-x cannot be scheduled', 'complete', 'deployment/web: pod/web-x cannot be scheduled'],
  ['an empty clause', '', 'clause', 'deployment/web'],
] as const)('%s is joined with the name of its subject', (_, text, form, sentence) => {
  expect(joinSubject('deployment/web', { text, form })).toBe(sentence)
})
