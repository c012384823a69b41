import { sentence } from '../../src/lifecycle/sentence.ts'
import { type Problem, placeOfProblem, problemSentence } from '../../src/reasons/reasons.ts'

const problem: Problem = {
  reason: 'crash-loop',
  subject: 'pod/web-x',
  container: 'app',
  detail: { exitCode: 3 },
  count: 3,
  firstSeenAt: 0,
  proven: true,
}

describe('a problem in one sentence', () => {
  it('names container, object and what happened', () => {
    expect(problemSentence(problem)).toBe('container app of pod/web-x exited with code 3, 3 times now')
  })

  it('counts the pods that have it', () => {
    expect(problemSentence({ ...problem, pods: 2 })).toMatch(/3 times now \(2 pods\)$/)
  })

  it('calls an init container one', () => {
    expect(placeOfProblem({ ...problem, container: 'migrate', isInit: true })).toBe(
      'init container migrate of pod/web-x',
    )
  })
})

it.each([
  ['is paused, so its change is not rolled out', 'deployment/web is paused, so its change is not rolled out'],
  ['does not exist', 'deployment/web does not exist'],
  ['the Job failed', 'deployment/web: the Job failed'],
  ['isolated words', 'deployment/web: isolated words'],
  ['', 'deployment/web'],
])('"%s" is said of a target', (message, words) => {
  expect(sentence('deployment/web', message)).toBe(words)
})
