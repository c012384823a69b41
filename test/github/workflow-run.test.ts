import { boundedSummary, gateName, readWorkflowRun } from '../../src/github/workflow-run.ts'
import { parseReferences } from '../../src/plan/references.ts'
import { createTimeline } from '../report/builders.ts'
import { createContext, createEventContext, createPullRequest, eventContexts, githubSha } from './action-contexts.ts'

const workflow = { workflow: 'Deploy', job: 'production' }
const sourceBaseUrl = 'https://github.com/acme/shop/blob/1111111/'

describe('readWorkflowRun', () => {
  it.each(eventContexts.map((each) => [each.context.eventName, each] as const))(
    'reads the commit, pull request and deployment of %s from the event',
    (_, { context, sha, pullRequest, deployment }) => {
      const run = readWorkflowRun(context)
      expect(run).toMatchObject({ owner: 'acme', repo: 'shop', headSha: sha })
      expect(run.pullRequest).toBe(pullRequest)
      expect(run.deploymentId).toBe(deployment)
    },
  )

  it('falls back to GITHUB_SHA when a documented field of the event is missing', () => {
    for (const { context } of eventContexts)
      expect(readWorkflowRun(createEventContext(context.eventName)).headSha).toBe(githubSha)
  })

  it('reads the commit of a review from its pull request', () => {
    const context = createEventContext('pull_request_review', { pull_request: createPullRequest() })
    expect(readWorkflowRun(context)).toMatchObject({ headSha: createPullRequest().head.sha, pullRequest: 12 })
  })

  it('links to the attempt, on the server of the run', () => {
    const context = createContext({ serverUrl: 'https://github.acme.example' })
    expect(readWorkflowRun(context)).toMatchObject({
      repositoryUrl: 'https://github.acme.example/acme/shop',
      runUrl: 'https://github.acme.example/acme/shop/actions/runs/77/attempts/2',
    })
    expect(readWorkflowRun(createContext({ runAttempt: Number.NaN })).runUrl).toBe(
      'https://github.com/acme/shop/actions/runs/77',
    )
  })

  it.each([
    ['a fork', createEventContext('pull_request', { pull_request: createPullRequest('jo/shop') }), 'fork'],
    ['a deleted fork', createEventContext('pull_request', { pull_request: createPullRequest(null) }), 'fork'],
    [
      'a branch of the repository',
      createEventContext('pull_request', { pull_request: createPullRequest() }),
      undefined,
    ],
    [
      'a fork, with pull_request_target',
      createEventContext('pull_request_target', { pull_request: createPullRequest('jo/shop') }),
      undefined,
    ],
    ['Dependabot', createContext({ actor: 'dependabot[bot]' }), 'dependabot'],
    ['a push', createContext(), undefined],
  ])('finds out why the token of %s is read-only', (_, context, because) => {
    expect(readWorkflowRun(context).readOnlyBecause).toBe(because)
  })

  it('names the missing variable outside of a run', () => {
    expect(() => readWorkflowRun(createContext({ sha: '' }))).toThrow('GITHUB_SHA is not set.')
  })
})

describe('gateName', () => {
  const nameOf = (text: string, namespace?: string) => gateName(workflow, parseReferences(text).references, namespace)

  it.each([
    ['deployment/web', 'shop', 'Rollout of deployment/web in shop (Deploy / production)'],
    ['deployment/web', undefined, 'Rollout of deployment/web (Deploy / production)'],
    [
      'deploy/web svc/web\njob/migrate',
      'shop',
      'Rollout of deploy/web, svc/web, job/migrate in shop (Deploy / production)',
    ],
    ['deploy/a deploy/b deploy/c deploy/d', 'shop', 'Rollout in shop (Deploy / production)'],
    ['deploy -l app=shop', 'shop', 'Rollout of deploy -l app=shop in shop (Deploy / production)'],
    ['deploy --all', 'shop', 'Rollout of deploy --all in shop (Deploy / production)'],
    ['deploy/web -n shop', undefined, 'Rollout of deploy/web in shop (Deploy / production)'],
    ['deploy/web -n shop\ndeploy/api', 'back', 'Rollout of deploy/web, deploy/api (Deploy / production)'],
    ['deploy/web\n!deploy/canary', 'shop', 'Rollout of deploy/web in shop (Deploy / production)'],
  ])('of %j in %s is %j', (text, namespace, name) => {
    expect(nameOf(text, namespace)).toBe(name)
  })

  it('is the same whether kubectl created or changed the object', () => {
    expect(nameOf('deployment.apps/web created')).toBe(nameOf('deployment.apps/web unchanged'))
  })

  it('leaves out what is unknown', () => {
    expect(gateName({ workflow: '', job: '' }, [], undefined)).toBe('Rollout')
    expect(gateName({ workflow: '', job: 'deploy' }, [], 'shop')).toBe('Rollout (deploy)')
  })

  it('is one line of at most 200 characters', () => {
    const name = gateName({ workflow: `a\n${'x'.repeat(300)}`, job: 'b' }, [], undefined)
    expect(name).toHaveLength(200)
    expect(name).not.toContain('\n')
  })
})

describe('boundedSummary', () => {
  it('is the job summary when that fits', () => {
    expect(boundedSummary(createTimeline(), 65_535, { sourceBaseUrl })).toMatch(
      /^### ✅ Rollout ready in 31 s · deployment\/web\n/,
    )
  })

  it('is one sentence when nothing else fits', () => {
    const message = Array.from({ length: 2_000 }, (_, line) => `resources, line ${line}: ${'$'.repeat(50)}`).join('\n')
    const verdict = { outcome: 'misconfigured', reason: 'input-invalid', message } as const
    const text = boundedSummary(createTimeline({ targets: [], entries: [], verdict }), 65_535, { sourceBaseUrl })
    expect(text.length).toBeLessThan(500)
    expect(text).toContain('mistake in the inputs')
  })
})
