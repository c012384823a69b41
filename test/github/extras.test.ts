import { getOctokit } from '@actions/github'
import type { EndedTimeline, Outcome, Timeline } from '../../src/gate/timeline.ts'
import { CheckRun } from '../../src/github/check-run.ts'
import { Comment, commentMarker } from '../../src/github/comment.ts'
import { DeploymentStatus } from '../../src/github/deployment-status.ts'
import type { Extra, Octokit } from '../../src/github/extra.ts'
import { describeFailure, readFailure } from '../../src/github/failure.ts'
import { originOf, type Run } from '../../src/github/origin.ts'
import { at, createProblem, createTarget, createTargetRecord, createTimeline, start } from '../report/builders.ts'
import { cases } from '../report/cases.ts'
import { type GitHubServer, startGitHub } from './github-server.ts'
import { createEventRun, createPullRequest, createRun, eventRuns, githubSha, headSha } from './runs.ts'

const name = 'Rollout of deployment/web in shop (Deploy / production)'
const never = new AbortController().signal

let github: GitHubServer
let octokit: Octokit
let notes: string[]

beforeAll(async () => {
  github = await startGitHub()
  octokit = getOctokit('ghs_0123', { baseUrl: github.url })
})

beforeEach(() => {
  github.requests.length = 0
  github.handlers.clear()
  github.handlers.set('issues/list-comments', () => ({ status: 200, body: [] }))
  github.refuse = () => undefined
  notes = []
})

afterEach(() => {
  expect(github.breaches.splice(0)).toEqual([])
})

afterAll(() => github.close())

const makers: Readonly<Record<Extra['input'], (run: Run) => Extra>> = {
  'check-run': (run) => new CheckRun(octokit, originOf(run), name),
  'deployment-status': (run) => new DeploymentStatus(octokit, originOf(run), 'https://shop.example'),
  comment: (run) => new Comment(octokit, originOf(run), name, (text) => notes.push(text)),
}
const inputs = Object.keys(makers) as Extra['input'][]

function open(overrides: Partial<Timeline> = {}): Timeline {
  const { verdict: _, ...timeline } = createTimeline(overrides)
  return timeline
}

function ended(outcome: Outcome): EndedTimeline {
  const reason = outcome === 'ready' ? '' : 'no-progress'
  return createTimeline({ verdict: { outcome, reason, message: 'so it ended' } })
}

function bodies(operation: string): Record<string, unknown>[] {
  return github.requests.filter((request) => request.operation === operation).map(({ body }) => body)
}

describe.each(eventRuns)('on $run.eventName', ({ run, sha, pullRequest, deployment }) => {
  it('the check is made of the right commit, and brought up to date in place', async () => {
    const extra = makers['check-run'](run)
    await extra.show(open(), never)
    await extra.show(open(), never)
    await extra.show(createTimeline(), never)
    expect(github.requests.map(({ operation }) => operation)).toEqual([
      'checks/create',
      'checks/update',
      'checks/update',
    ])
    expect(bodies('checks/create')).toMatchObject([{ name, head_sha: sha, status: 'in_progress' }])
    expect(bodies('checks/update')).toMatchObject([
      { status: 'in_progress', output: { title: 'Rollout in progress for 31 s · 1 of 1 target ready' } },
      { status: 'completed', conclusion: 'success', output: { title: 'Rollout ready in 31 s · deployment/web' } },
    ])
  })

  it('the deployment is the one that triggered the run, or a new one of the right commit', async () => {
    const extra = makers['deployment-status'](run)
    await extra.show(open(), never)
    await extra.show(open(), never)
    await extra.show(createTimeline(), never)
    const made = bodies('repos/create-deployment')
    expect(made).toMatchObject(
      deployment === undefined
        ? [{ ref: sha, environment: 'prod/shop', auto_merge: false, required_contexts: [] }]
        : [],
    )
    const common = {
      environment_url: 'https://shop.example',
      log_url: 'https://github.com/acme/shop/actions/runs/77/attempts/2',
    }
    expect(bodies('repos/create-deployment-status')).toMatchObject([
      { ...common, state: 'in_progress' },
      { ...common, state: 'success', description: 'Rollout ready in 31 s · deployment/web' },
    ])
    const id = deployment ?? 1
    expect(github.requests.at(-1)?.path).toBe(`/api/v3/repos/acme/shop/deployments/${id}/statuses`)
  })

  it('the comment is written once to the right pull request, and brought up to date in place', async () => {
    github.handlers.set('repos/list-pull-requests-associated-with-commit', (_, example) => {
      const pull = (example as unknown as object[])[0]
      return { status: 200, body: [{ ...pull, number: 12, state: 'open', head: { sha } }] }
    })
    const extra = makers.comment(run)
    await extra.show(open(), never)
    await extra.show(createTimeline(), never)
    const [first, second, ...others] = github.requests.filter(({ body }) => 'body' in body)
    expect(others).toEqual([])
    expect(first?.path).toBe('/api/v3/repos/acme/shop/issues/12/comments')
    expect(second?.operation).toBe('issues/update-comment')
    expect(second?.body['body']).toMatch(/^<!-- rollout-gate \w+ -->\n### ✅ Rollout ready in 31 s/)
    // Only an event that names no pull request has to ask for it.
    expect(github.requests[0]?.operation === 'repos/list-pull-requests-associated-with-commit').toBe(
      pullRequest === undefined,
    )
    expect(new Set(github.requests.map(({ authorization }) => authorization))).toEqual(new Set(['token ghs_0123']))
  })
})

describe('the check', () => {
  it.each([
    ['ready', 'success'],
    ['cancelled', 'cancelled'],
    ['failed', 'failure'],
    ['stalled', 'failure'],
    ['timed-out', 'failure'],
    ['superseded', 'failure'],
    ['misconfigured', 'failure'],
    ['unknown', 'failure'],
  ] as const)('of a gate that ended as %s concludes as %s', async (outcome, conclusion) => {
    await makers['check-run'](createRun()).show(ended(outcome), never)
    expect(bodies('checks/create')).toMatchObject([
      {
        status: 'completed',
        conclusion,
        started_at: new Date(start).toISOString(),
        completed_at: new Date(at(31)).toISOString(),
        details_url: 'https://github.com/acme/shop/actions/runs/77/attempts/2',
      },
    ])
  })

  it('has an annotation on the manifest of each target that failed, in batches of 50, after its conclusion', async () => {
    const targets = Array.from({ length: 120 }, (_, index) =>
      createTargetRecord({
        target: createTarget({ name: `web-${index}`, source: { file: 'k8s/web.yaml', line: index + 1 } }),
        outcome: 'failed',
        reason: 'image-not-found',
        message: 'the registry has no such image',
      }),
    )
    const elsewhere = createTargetRecord({
      target: createTarget({ name: 'api', source: { file: 'resources', line: 1 } }),
      outcome: 'failed',
    })
    await makers['check-run'](createRun()).show(createTimeline({ targets: [...targets, elsewhere] }), never)
    const batches = bodies('checks/update').map(({ output }) => (output as { annotations: object[] }).annotations)
    expect(bodies('checks/create')).toMatchObject([{ status: 'completed' }])
    expect(batches.map((batch) => batch.length)).toEqual([50, 50, 20])
    expect(batches[2]?.at(-1)).toEqual({
      path: 'k8s/web.yaml',
      start_line: 120,
      end_line: 120,
      annotation_level: 'failure',
      title: 'deployment/web-119: image not found',
      message: 'deployment/web-119: the registry has no such image',
    })
  })

  it('is not annotated twice when a batch has to be repeated', async () => {
    const targets = Array.from({ length: 60 }, (_, index) =>
      createTargetRecord({ target: createTarget({ source: { file: 'a.yaml', line: index + 1 } }), outcome: 'failed' }),
    )
    const extra = makers['check-run'](createRun())
    github.refuse = ({ body }) =>
      (body['output'] as { annotations?: object[] }).annotations?.length === 10 ? { status: 502 } : undefined
    await expect(extra.show(createTimeline({ targets }), never)).rejects.toThrow()
    github.refuse = () => undefined
    github.requests.length = 0
    await extra.show(createTimeline({ targets }), never)
    const sizes = bodies('checks/update').map(
      ({ output }) => (output as { annotations?: object[] }).annotations?.length ?? 0,
    )
    expect(sizes).toEqual([0, 10])
  })
})

describe('every timeline of the reports', () => {
  it.each(Object.entries(cases))('%s is shown by all three', async (_, timeline) => {
    const run = createEventRun('pull_request', { pull_request: createPullRequest() })
    for (const input of inputs) await makers[input](run).show(timeline, never)
    const [check] = bodies('checks/create')
    const [comment] = bodies('issues/create-comment')
    const [status] = bodies('repos/create-deployment-status')
    const summary = String(Object(check?.['output']).summary)
    expect(summary.length).toBeLessThanOrEqual(65_535)
    expect(summary).toContain('Rollout')
    expect(summary).not.toContain('```mermaid')
    expect(String(comment?.['body']).length).toBeLessThanOrEqual(65_536)
    expect(String(status?.['description'] ?? '').length).toBeLessThanOrEqual(140)
  })
})

test('a timeline that is larger than GitHub takes is cut for each of the three', async () => {
  const run = createEventRun('pull_request', { pull_request: createPullRequest() })
  const text = Array.from({ length: 3_000 }, (_, line) => `line ${line} of a log that somebody wrote`).join('\n')
  const failed = createTargetRecord({
    target: createTarget({ name: 'x'.repeat(253) }),
    outcome: 'failed',
    problems: Array.from({ length: 5 }, () =>
      createProblem({ evidence: Array(3).fill({ type: 'log', title: 'Log', text }) }),
    ),
  })
  const verdict = { outcome: 'failed', reason: 'no-progress', message: 'so it ended' } as const
  for (const input of inputs) await makers[input](run).show(createTimeline({ targets: [failed], verdict }), never)
  const lengths = [
    Object(bodies('checks/create')[0]?.['output']).summary.length,
    Object(bodies('issues/create-comment')[0]).body.length,
    Object(bodies('repos/create-deployment-status')[0]).description.length,
  ]
  expect(lengths[0]).toBeLessThanOrEqual(65_535)
  expect(lengths[1]).toBeLessThanOrEqual(65_536)
  expect(lengths[2]).toBe(140)
})

describe('the deployment', () => {
  it.each([
    ['ready', 'success'],
    ['failed', 'failure'],
    ['cancelled', 'failure'],
    ['unknown', 'failure'],
  ] as const)('of a gate that ended as %s has the state %s', async (outcome, state) => {
    await makers['deployment-status'](createRun()).show(ended(outcome), never)
    expect(bodies('repos/create-deployment-status')).toMatchObject([{ state }])
  })

  it('is not made where no cluster was reached', async () => {
    await makers['deployment-status'](createRun()).show({ ...ended('misconfigured'), context: '', targets: [] }, never)
    expect(github.requests).toEqual([])
  })

  it('is not made twice when only its status could not be written', async () => {
    const extra = makers['deployment-status'](createRun())
    github.refuse = ({ operation }) => (operation.endsWith('status') ? { status: 500 } : undefined)
    await expect(extra.show(createTimeline(), never)).rejects.toThrow()
    github.refuse = () => undefined
    await extra.show(createTimeline(), never)
    expect(bodies('repos/create-deployment')).toHaveLength(1)
  })
})

describe('the comment', () => {
  const run = createEventRun('pull_request', { pull_request: createPullRequest() })

  /** The comments of the pull request; only these fields are read. */
  function setComments(...comments: readonly object[]): void {
    github.handlers.set('issues/list-comments', () => ({ status: 200, body: comments }))
  }

  it.each([
    ['of an earlier run', { user: { type: 'Bot' }, author_association: 'NONE' }],
    ['that a token of a member wrote', { user: { type: 'User' }, author_association: 'MEMBER' }],
  ])('%s is found by its marker', async (_, author) => {
    setComments({ id: 1, body: 'Nice!' }, { id: 2, body: `${commentMarker(name)}\nold`, ...author })
    await makers.comment(run).show(createTimeline(), never)
    expect(github.requests.at(-1)).toMatchObject({
      operation: 'issues/update-comment',
      path: '/api/v3/repos/acme/shop/issues/comments/2',
    })
  })

  it('is found on any page', async () => {
    const others = Array.from({ length: 100 }, (_, id) => ({ id, body: 'Nice!' }))
    const own = { id: 777, body: commentMarker(name), user: { type: 'Bot' } }
    github.handlers.set('issues/list-comments', ({ query }) => ({
      status: 200,
      body: query['page'] === '2' ? [own] : others,
    }))
    await makers.comment(run).show(createTimeline(), never)
    expect(github.requests.at(-1)?.path).toBe('/api/v3/repos/acme/shop/issues/comments/777')
  })

  it.each([
    ['of another gate', { body: commentMarker('another'), user: { type: 'Bot' } }],
    ['that quotes it', { body: `> ${commentMarker(name)}`, user: { type: 'Bot' } }],
    ['of a stranger', { body: commentMarker(name), user: { type: 'User' }, author_association: 'NONE' }],
    ['without an author', { body: commentMarker(name), user: null }],
    ['without a text', { user: { type: 'Bot' } }],
  ])('%s is left alone', async (_, comment) => {
    setComments({ id: 2, ...comment })
    await makers.comment(run).show(createTimeline(), never)
    expect(github.requests.at(-1)?.operation).toBe('issues/create-comment')
  })

  it('goes to the pull request that was merged as the commit, when none is open', async () => {
    const merged = { state: 'closed', head: { sha: headSha } }
    const pulls = [
      { ...merged, number: 1, merged_at: null, merge_commit_sha: githubSha },
      { ...merged, number: 2, merged_at: '2025-01-01T00:00:00Z', merge_commit_sha: githubSha },
    ]
    github.handlers.set('repos/list-pull-requests-associated-with-commit', () => ({ status: 200, body: pulls }))
    await makers.comment(createRun()).show(createTimeline(), never)
    expect(github.requests.at(-1)?.path).toBe('/api/v3/repos/acme/shop/issues/2/comments')
  })

  it('is not written where no pull request belongs to the commit, which is told once and is no failure', async () => {
    github.handlers.set('repos/list-pull-requests-associated-with-commit', () => ({ status: 200, body: [] }))
    const extra = makers.comment(createRun())
    await extra.show(open(), never)
    await extra.show(createTimeline(), never)
    expect(github.requests).toHaveLength(1)
    expect(notes).toEqual(['No pull request belongs to commit 2222222, so there is none to comment on.'])
  })
})

describe('what GitHub refuses', () => {
  const now = Date.UTC(2025, 0, 1)
  const permissions = {
    'check-run': 'checks: write',
    'deployment-status': 'deployments: write',
    comment: 'pull-requests: write',
  }

  async function failureOf(input: Extra['input'], run = createRun()) {
    const error = await makers[input](run)
      .show(createTimeline(), never)
      .catch((error: unknown) => error)
    const failure = readFailure(error, now)
    return { ...failure, words: describeFailure(failure, input, originOf(run)) }
  }

  it.each(inputs)('is told of %s with the permission that it lacks', async (input) => {
    for (const status of [403, 404]) {
      github.refuse = () => ({ status, message: 'Resource not accessible by integration' })
      const failure = await failureOf(input)
      expect(failure.type).toBe('forbidden')
      expect(failure.words).toBe(
        `The verdict stands, but ${input} could not be written: GitHub answered ${status} (Resource not accessible by integration). It needs a github-token with the permission \`${permissions[input]}\`: write it under \`permissions:\` of the job.`,
      )
    }
  })

  it.each(inputs)('for a while is tried again for %s', async (input) => {
    for (const status of [500, 502, 503]) {
      github.refuse = () => ({ status })
      expect(await failureOf(input)).toMatchObject({
        type: 'passing',
        cause: `GitHub answered ${status}`,
        retryAfterMs: 0,
      })
    }
    const reset = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1_000 + 30) }
    const refusals: readonly [number, Record<string, string>, number][] = [
      [429, { 'retry-after': '7' }, 7_000],
      [429, {}, 0],
      [403, reset, 30_000],
      [403, { 'retry-after': '60' }, 60_000],
    ]
    for (const [status, headers, retryAfterMs] of refusals) {
      github.refuse = () => ({ status, headers })
      expect(await failureOf(input)).toMatchObject({
        type: 'passing',
        cause: "GitHub's rate limit is used up",
        retryAfterMs,
      })
    }
    github.refuse = () => ({ status: 403, message: 'You have exceeded a secondary rate limit.' })
    expect(await failureOf(input)).toMatchObject({ type: 'passing' })
    github.refuse = () => 'cut'
    expect((await failureOf(input)).words).toMatch(/could not be written: GitHub could not be reached \(.+\)\.$/)
  })

  it.each(inputs)('of %s itself is told in its words, on one line', async (input) => {
    github.refuse = () => ({ status: 422, message: 'Validation Failed\n::error::pwned' })
    const { type, words } = await failureOf(input)
    expect(type).toBe('refused')
    expect(words).toBe(
      `The verdict stands, but ${input} could not be written: GitHub answered 422 (Validation Failed ::error::pwned).`,
    )
  })

  it.each(inputs)('as a token, for %s, is told without it', async (input) => {
    github.refuse = () => ({ status: 401, message: 'Bad credentials' })
    const { type, words } = await failureOf(input)
    expect(type).toBe('forbidden')
    expect(words).toContain('GitHub does not accept the token')
    expect(words).not.toContain('ghs_0123')
  })

  it('of a fork or of Dependabot is told to be for that', async () => {
    github.refuse = () => ({ status: 403 })
    const fork = createEventRun('pull_request', { pull_request: createPullRequest('jo/shop') })
    expect((await failureOf('comment', fork)).words).toMatch(/pull requests from forks get a token that may only read/)
    expect((await failureOf('check-run', createRun({ actor: 'dependabot[bot]' }))).words).toMatch(/Dependabot/)
  })

  it('is no failure of GitHub when it is a mistake of ours', () => {
    expect(readFailure(new TypeError('x is undefined'), now)).toMatchObject({
      type: 'refused',
      cause: 'x is undefined',
    })
    expect(readFailure('oops', now)).toMatchObject({ type: 'refused', cause: 'oops' })
  })
})
