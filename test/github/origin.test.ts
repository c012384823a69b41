import { originOf } from '../../src/github/origin.ts'
import { createEventRun, createPullRequest, createRun, eventRuns, githubSha } from './runs.ts'

describe('originOf', () => {
  it.each(eventRuns.map((each) => [each.run.eventName, each] as const))(
    'takes the commit and pull request of %s from where the event has them',
    (_, { run, sha, pullRequest, deployment }) => {
      const origin = originOf(run)
      expect(origin).toMatchObject({ owner: 'acme', repo: 'shop', headSha: sha })
      expect(origin.pullRequest).toBe(pullRequest)
      expect(origin.deploymentId).toBe(deployment)
    },
  )

  it('falls back to GITHUB_SHA where an event lacks what its documentation promises', () => {
    for (const { run } of eventRuns) expect(originOf(createEventRun(run.eventName)).headSha).toBe(githubSha)
  })

  it('takes the commit of a review from its pull request', () => {
    const run = createEventRun('pull_request_review', { pull_request: createPullRequest() })
    expect(originOf(run)).toMatchObject({ headSha: createPullRequest().head.sha, pullRequest: 12 })
  })

  it('points to this attempt of the run, on the server that the run is on', () => {
    const run = createRun({ serverUrl: 'https://github.acme.example' })
    expect(originOf(run)).toMatchObject({
      repositoryUrl: 'https://github.acme.example/acme/shop',
      runUrl: 'https://github.acme.example/acme/shop/actions/runs/77/attempts/2',
    })
    expect(originOf(createRun({ runAttempt: Number.NaN })).runUrl).toBe('https://github.com/acme/shop/actions/runs/77')
  })

  it.each([
    ['a fork', createEventRun('pull_request', { pull_request: createPullRequest('jo/shop') }), 'fork'],
    ['a fork that is gone', createEventRun('pull_request', { pull_request: createPullRequest(null) }), 'fork'],
    ['a branch of the repository', createEventRun('pull_request', { pull_request: createPullRequest() }), undefined],
    [
      'a fork, in the context of the base',
      createEventRun('pull_request_target', { pull_request: createPullRequest('jo/shop') }),
      undefined,
    ],
    ['Dependabot', createRun({ actor: 'dependabot[bot]' }), 'dependabot'],
    ['a push', createRun(), undefined],
  ])('knows whether the token of %s may only read', (_, run, readsOnly) => {
    expect(originOf(run).readsOnly).toBe(readsOnly)
  })

  it('says which variable is missing outside of a run', () => {
    expect(() => originOf(createRun({ sha: '' }))).toThrow('GITHUB_SHA is not set.')
  })
})
