import { getOctokit } from '@actions/github'
import type { Outcome } from '../../src/gate/outcome.ts'
import { type EndedRunRecord, openConclusion, type RunRecord } from '../../src/gate/run-record.ts'
import { comment, commentBody, commentMarker } from '../../src/github/comment.ts'
import { commitStatus } from '../../src/github/commit-status.ts'
import { deployment, environmentName } from '../../src/github/deployment-status.ts'
import type { ExtraContext, ExtraInputs, Octokit, Opened, Show } from '../../src/github/extra.ts'
import { describeFailure, readFailure } from '../../src/github/failure.ts'
import { limitedSummary } from '../../src/github/texts.ts'
import { logPage } from '../../src/github/workflow-run.ts'
import type { ExtraName } from '../../src/inputs.ts'
import type { TrackedFiles } from '../../src/workspace.ts'
import { createProblem, createRecord, createTarget, createTargetRecord } from '../report/builders.ts'
import { records } from '../report/recorded.ts'
import {
  type ActionContext,
  createContext,
  createEventContext,
  createForkRun,
  createIssueComment,
  createPullRequest,
  eventContexts,
  githubSha,
  headSha,
  readRun,
} from './action-contexts.ts'
import { type GitHubServer, startGitHub } from './github-server.ts'
import { type StoredWrites, storeWrites } from './stored-writes.ts'

const name = 'Rollout of deployment/web in shop (Deploy / production)'
const never = new AbortController().signal

let github: GitHubServer
let octokit: Octokit
let notices: string[]

beforeAll(async () => {
  github = await startGitHub()
  octokit = getOctokit('ghs_0123', { baseUrl: github.url })
})

beforeEach(() => {
  github.requests.length = 0
  github.handlers.clear()
  github.handlers.set('issues/list-comments', () => ({ status: 200, body: [] }))
  github.handlers.set('repos/list-deployments', () => ({ status: 200, body: [] }))
  github.refuse = () => undefined
  notices = []
  opened = []
})

afterEach(() => {
  expect(github.breaches.splice(0)).toEqual([])
})

afterAll(() => github.close())

const logUrl = 'https://github.com/acme/shop/actions/runs/77/job/501'
let opened: Opened[]

const tracked: TrackedFiles = new Map()

function gateOf(context: ActionContext, extra: ExtraName = 'commit-status', gate = name): ExtraContext {
  const run = readRun(context)
  const commit = run.headSha ?? ''
  const onOpened: ExtraContext['onOpened'] = ({ id = 0, url = '' } = {}) =>
    opened.push({ extra, id, url, headSha: commit, name: gate })
  return { octokit, run, commit, logUrl: logPage(run, '501'), name: gate, tracked, onOpened }
}

const settings: ExtraInputs = { environment: undefined, environmentUrl: 'https://shop.example' }

const extras = { 'commit-status': commitStatus, deployment, comment }

/** Opens an extra: returns the function that shows a record. */
const openOn = (extra: ExtraName, inputs: ExtraInputs = settings, gate = name) => {
  return (context: ActionContext): Show =>
    extras[extra].open(gateOf(context, extra, gate), inputs, (text) => notices.push(text))
}

const makers: Readonly<Record<ExtraName, (context: ActionContext) => Show>> = {
  'commit-status': openOn('commit-status'),
  deployment: openOn('deployment'),
  comment: openOn('comment'),
}
const extraNames = Object.keys(makers) as ExtraName[]

function open(overrides: Partial<EndedRunRecord> = {}): RunRecord {
  return { ...createRecord(overrides), ...openConclusion }
}

function ended(outcome: Outcome): EndedRunRecord {
  const reason = outcome === 'ready' ? '' : 'no-progress'
  return createRecord({ verdict: { outcome, reason, message: 'so it ended' } })
}

function bodies(operation: string): Record<string, unknown>[] {
  return github.requests.filter((request) => request.operation === operation).map(({ body }) => body)
}

describe.each(eventContexts)('on $event', ({ context, sha, pullRequest, deployment }) => {
  const use =
    deployment === undefined
      ? 'a deployment is created for the commit that the event is about'
      : 'the deployment that triggered the run is updated'
  it(use, async () => {
    const show = makers.deployment(context)
    await show(open(), never)
    await show(open(), never)
    await show(createRecord(), never)
    const made = bodies('repos/create-deployment')
    expect(made).toMatchObject(
      deployment === undefined
        ? [{ ref: sha, environment: 'prod/shop', auto_merge: false, required_contexts: [] }]
        : [],
    )
    const common = {
      environment_url: 'https://shop.example',
      log_url: logUrl,
    }
    expect(bodies('repos/create-deployment-status')).toMatchObject([
      { ...common, state: 'in_progress' },
      { ...common, state: 'success', description: 'Rollout ready in 31 s · deployment/web' },
    ])
    const id = deployment ?? 1
    expect(github.requests.at(-1)?.path).toBe(`/api/v3/repos/acme/shop/deployments/${id}/statuses`)
  })

  it('the comment is created once on the right pull request, then updated', async () => {
    github.handlers.set('repos/list-pull-requests-associated-with-commit', (_, example) => {
      const pull = (example as unknown as object[])[0]
      return { status: 200, body: [{ ...pull, number: 12, state: 'open', head: { sha } }] }
    })
    const show = makers.comment(context)
    await show(open(), never)
    await show(createRecord(), never)
    const [first, second, ...others] = github.requests.filter(({ body }) => 'body' in body)
    expect(others).toEqual([])
    expect(first?.path).toBe('/api/v3/repos/acme/shop/issues/12/comments')
    expect(second?.operation).toBe('issues/update-comment')
    expect(second?.body['body']).toMatch(/^<!-- rollout-gate \w+ -->\n### ✅ Rollout ready in 31 s/)
    // Only an event that contains no pull request needs a request for it.
    expect(github.requests[0]?.operation === 'repos/list-pull-requests-associated-with-commit').toBe(
      pullRequest === undefined,
    )
    expect(new Set(github.requests.map(({ authorization }) => authorization))).toEqual(new Set(['token ghs_0123']))
  })
})

const annotations = ['rollout-gate/skip of deployment/db', 'rollout-gate/for=create of job/migrate']
const hidden = createRecord({ annotations })
const context = createEventContext('pull_request', { pull_request: createPullRequest() })
const show = (extra: ExtraName, record: RunRecord) => makers[extra](context)(record, never)

it('annotations that changed the gated objects are mentioned in the commit status and the deployment', async () => {
  const one = { ...hidden, annotations: annotations.slice(0, 1) }
  await show('commit-status', one)
  await show('deployment', one)
  for (const operation of ['repos/create-commit-status', 'repos/create-deployment-status'])
    expect(bodies(operation)[0]?.['description']).toMatch(/ · rollout-gate\/skip of deployment\/db$/)
})

it('annotations that changed the gated objects are mentioned even after the longest name and outcome', async () => {
  const targets = [createTargetRecord({ target: createTarget({ name: 'w'.repeat(253) }) })]
  await show('commit-status', { ...hidden, targets, annotations: [`rollout-gate/skip of job/${'j'.repeat(253)}`] })
  const [{ description }] = bodies('repos/create-commit-status') as [{ description: string }]
  expect(description).toMatch(/ · rollout-gate\/skip of job\/j+…$/)
  expect(description.length).toBeLessThanOrEqual(140)
})

it('annotations that changed the gated objects are mentioned in the comment even if the summary is too long', async () => {
  await show('comment', hidden)
  expect(bodies('issues/create-comment')[0]?.['body']).toContain('- rollout-gate/skip of deployment/db')
  expect(limitedSummary(hidden, gateOf(context), 300)).toContain('2 annotations change what is gated')
})

it.each<[string, Partial<EndedRunRecord>, RegExp]>([
  ['one kind', { healthCheckKinds: ['Widget'] }, / · health-check-exprs for Widget$/],
  ['several kinds', { healthCheckKinds: ['Widget', 'Shop'] }, / · health-check-exprs for 2 kinds$/],
  ['a kind beside annotations', { annotations, healthCheckKinds: ['Widget'] }, / · 3 settings change what is gated$/],
])('titles and summary mention deciding health-check-exprs of %s', async (_, fields, expected) => {
  const record = createRecord(fields)
  await show('commit-status', record)
  await show('comment', record)
  expect(bodies('repos/create-commit-status')[0]?.['description']).toMatch(expected)
  const comment = bodies('issues/create-comment')[0]?.['body']
  for (const kind of fields.healthCheckKinds ?? []) expect(comment).toContain(`- ${kind}`)
})

it.each([
  ['ready', 'success', 'success'],
  ['failed', 'failure', 'failure'],
  ['stalled', 'failure', 'failure'],
  ['timed-out', 'failure', 'failure'],
  ['superseded', 'failure', 'failure'],
  ['misconfigured', 'failure', 'failure'],
  ['cancelled', 'inactive', 'error'],
  ['unknown', 'error', 'error'],
] as const)(
  'the outcome %s sets the deployment to %s and the commit status to %s',
  async (outcome, deploymentState, commitState) => {
    for (const each of ['deployment', 'commit-status'] as const)
      await makers[each](createContext())(ended(outcome), never)
    expect(bodies('repos/create-deployment-status')).toMatchObject([{ state: deploymentState }])
    expect(bodies('repos/create-commit-status')).toMatchObject([
      { state: commitState, context: name, target_url: logUrl },
    ])
  },
)

it.each(Object.entries(records))('all extras show the test record %s', async (_, record) => {
  const context = createEventContext('pull_request', { pull_request: createPullRequest() })
  for (const each of extraNames) await makers[each](context)(record, never)
  const [comment] = bodies('issues/create-comment')
  const [status] = bodies('repos/create-deployment-status')
  expect(comment?.['body']).toContain('Rollout')
  expect(String(comment?.['body']).length).toBeLessThanOrEqual(65_536)
  expect(String(status?.['description'] ?? '').length).toBeLessThanOrEqual(140)
})

test('a record that exceeds a limit of GitHub is shortened for each extra', async () => {
  const context = createEventContext('pull_request', { pull_request: createPullRequest() })
  const text = Array.from({ length: 3_000 }, (_, line) => `line ${line} of a log that somebody wrote`).join('\n')
  const failed = createTargetRecord({
    target: createTarget({ name: 'x'.repeat(253) }),
    outcome: 'failed',
    problems: Array.from({ length: 5 }, () =>
      createProblem({ evidence: Array(3).fill({ type: 'log', title: 'Log', text }) }),
    ),
  })
  const verdict = { outcome: 'failed', reason: 'no-progress', message: 'so it ended' } as const
  for (const each of extraNames) await makers[each](context)(createRecord({ targets: [failed], verdict }), never)
  const lengths = [
    Object(bodies('issues/create-comment')[0]).body.length,
    Object(bodies('repos/create-deployment-status')[0]).description.length,
  ]
  expect(lengths[0]).toBeLessThanOrEqual(65_536)
  expect(lengths[1]).toBe(140)
})

it('the deployment has the environment of the inputs, and is transient on a pull request', async () => {
  const preview = openOn('deployment', { ...settings, environment: 'preview/pr-12' })
  const onPullRequest = createEventContext('pull_request', { pull_request: createPullRequest() })
  for (const context of [createContext(), onPullRequest]) await preview(context)(createRecord(), never)
  expect(bodies('repos/create-deployment')).toMatchObject([
    { environment: 'preview/pr-12', transient_environment: false },
    { environment: 'preview/pr-12', transient_environment: true },
  ])
})

it.each([
  ['makes the earlier one of its environment inactive', 'staging', 'inactive'],
  ['leaves the earlier one of production as it is', 'production', 'success'],
])('a deployment with success %s', async (_, environment, state) => {
  const written = storeWrites(github)
  for (const GITHUB_RUN_ID of ['77', '78'])
    await openOn('deployment', { ...settings, environment })(createContext({ GITHUB_RUN_ID }))(createRecord(), never)
  const latest = written.deployments.map(
    ({ id }) => written.deploymentStatuses.findLast((each) => each['deployment'] === id)?.['state'],
  )
  expect(latest).toEqual([state, 'success'])
})

it('no deployment is created if no cluster was reached', async () => {
  await makers.deployment(createContext())(
    { ...ended('misconfigured'), cluster: { context: '', version: '' }, targets: [] },
    never,
  )
  expect(github.requests).toEqual([])
})

it('no second deployment is created if only its status could not be written', async () => {
  const show = makers.deployment(createContext())
  github.refuse = ({ operation }) => (operation.endsWith('status') ? { status: 500 } : undefined)
  await expect(show(createRecord(), never)).rejects.toThrow()
  github.refuse = () => undefined
  await show(createRecord(), never)
  expect(bodies('repos/create-deployment')).toHaveLength(1)
})

const inNamespaces = (...namespaces: string[]) =>
  createRecord({
    targets: namespaces.map((namespace) => createTargetRecord({ target: createTarget({ namespace }) })),
  })

it.each([
  ['context and the namespace', inNamespaces('shop', 'shop'), 'prod/shop'],
  ['context alone for several namespaces', inNamespaces('shop', 'back'), 'prod'],
  ['context alone without targets', inNamespaces(), 'prod'],
  ['nothing without a context', { ...inNamespaces('shop'), cluster: { context: '', version: '' } }, ''],
  [
    'context without special characters',
    { ...inNamespaces('shop'), cluster: { context: 'ad"min,\n`x`;\\', version: '' } },
    'ad-min- -x---/shop',
  ],
])('the name of the environment is the %s', (_, record, name) => {
  expect(environmentName(record)).toBe(name)
})

describe('comments on pull requests', () => {
  it('have a marker that is different for each gate and that no name can break', () => {
    const hostile = commentMarker('--> <script>')
    expect(hostile).toMatch(/^<!-- rollout-gate [0-9a-f]{16} -->$/)
    expect(hostile).not.toBe(commentMarker('Rollout'))
    expect(hostile).toBe(commentMarker('--> <script>'))
  })

  it('begin with the marker and end with the gate and the commit', () => {
    const body = commentBody(createRecord(), gateOf(createContext(), 'comment', 'Rollout of deploy/*web*'))
    expect(body.startsWith(`${commentMarker('Rollout of deploy/*web*')}\n### ✅`)).toBe(true)
    expect(body.split('\n').at(-2)).toBe(
      '<sub>Rollout of deploy/\\*web\\* · commit [2222222](https://github.com/acme/shop/commit/2222222222222222222222222222222222222222) · [log](https://github.com/acme/shop/actions/runs/77/job/501)</sub>',
    )
  })

  const context = createEventContext('pull_request', { pull_request: createPullRequest() })

  /** The comments of the pull request; only these fields are read. */
  function setComments(...comments: readonly object[]): void {
    github.handlers.set('issues/list-comments', () => ({ status: 200, body: comments }))
  }

  it.each([
    ['of an earlier run', { user: { type: 'Bot' }, author_association: 'NONE' }],
    ["that a member's token wrote", { user: { type: 'User' }, author_association: 'MEMBER' }],
  ])('the comment %s is found by its marker', async (_, author) => {
    setComments({ id: 1, body: 'Nice!' }, { id: 2, body: `${commentMarker(name)}\nold`, ...author })
    await makers.comment(context)(createRecord(), never)
    expect(github.requests.at(-1)).toMatchObject({
      operation: 'issues/update-comment',
      path: '/api/v3/repos/acme/shop/issues/comments/2',
    })
  })

  it.each([
    ['after a full page', 100, '2'],
    ['at the end of a full page', 99, '1'],
  ])('the comment is found %s', async (_, count, page) => {
    const others = Array.from({ length: count }, (_, id) => ({ id, body: 'Nice!' }))
    const own = { id: 777, body: commentMarker(name), user: { type: 'Bot' } }
    github.handlers.set('issues/list-comments', ({ query }) => ({
      status: 200,
      body: [...(query['page'] === '1' ? others : []), ...(query['page'] === page ? [own] : [])],
    }))
    await makers.comment(context)(createRecord(), never)
    expect(github.requests.at(-1)?.path).toBe('/api/v3/repos/acme/shop/issues/comments/777')
  })

  it.each([
    ['of another gate', { body: commentMarker('another'), user: { type: 'Bot' } }],
    ['that quotes it', { body: `> ${commentMarker(name)}`, user: { type: 'Bot' } }],
    ['of a stranger', { body: commentMarker(name), user: { type: 'User' }, author_association: 'NONE' }],
    ['without an author', { body: commentMarker(name), user: null }],
    ['without a text', { user: { type: 'Bot' } }],
  ])('a comment %s is left alone', async (_, comment) => {
    setComments({ id: 2, ...comment })
    await makers.comment(context)(createRecord(), never)
    expect(github.requests.at(-1)?.operation).toBe('issues/create-comment')
  })

  it('go to the merged pull request of the commit if no pull request is open', async () => {
    const merged = { state: 'closed', head: { sha: headSha } }
    const pulls = [
      { ...merged, number: 1, merged_at: null, merge_commit_sha: githubSha },
      { ...merged, number: 2, merged_at: '2025-01-01T00:00:00Z', merge_commit_sha: githubSha },
    ]
    github.handlers.set('repos/list-pull-requests-associated-with-commit', () => ({ status: 200, body: pulls }))
    await makers.comment(createContext())(createRecord(), never)
    expect(github.requests.at(-1)?.path).toBe('/api/v3/repos/acme/shop/issues/2/comments')
  })

  it('are not written if no pull request belongs to the commit, with one notice', async () => {
    github.handlers.set('repos/list-pull-requests-associated-with-commit', () => ({ status: 200, body: [] }))
    const show = makers.comment(createContext())
    await show(open(), never)
    await show(createRecord(), never)
    expect(github.requests).toHaveLength(1)
    expect(notices).toEqual(['There is no pull request to comment on: neither in the event nor for the commit.'])
  })
})

it.each(eventContexts)(
  'the commit status on $event is written to the right commit, pending first',
  async ({ context, sha }) => {
    const show = makers['commit-status'](context)
    await show(open(), never)
    await show(createRecord(), never)
    expect(github.requests.map(({ path }) => path)).toEqual(Array(2).fill(`/api/v3/repos/acme/shop/statuses/${sha}`))
    expect(bodies('repos/create-commit-status')).toMatchObject([
      { state: 'pending', description: 'Rollout in progress for 31 s · 1 of 1 target ready' },
      { state: 'success', description: 'Rollout ready in 31 s · deployment/web' },
    ])
  },
)

const answer = (operation: string, body: unknown) => github.handlers.set(operation, () => ({ status: 200, body }))
const operations = () => github.requests.map(({ operation }) => operation)

it('a comment on an issue has no pull request', async () => {
  const context = createIssueComment(false)
  await makers.comment(context)(createRecord(), never)
  expect(github.requests).toEqual([])
  expect(notices).toHaveLength(1)
})

it.each([
  [
    'the one whose head is the commit',
    [
      { number: 7, head: { sha: githubSha } },
      { number: 12, head: { sha: headSha } },
    ],
    12,
  ],
  ['the only one, which has newer commits', [{ number: 12, head: { sha: githubSha } }], 12],
])('the pull request of a fork is found by its branch: %s', async (_, pulls, number) => {
  answer('pulls/list', pulls)
  await makers.comment(createForkRun())(createRecord(), never)
  expect(operations()).toEqual(['pulls/list', 'issues/list-comments', 'issues/create-comment'])
  expect(github.requests[0]?.query).toEqual({ head: 'jo:topic', state: 'open' })
  expect(github.requests.at(-1)?.path).toBe(`/api/v3/repos/acme/shop/issues/${number}/comments`)
})

it('the pull request of a fork is found by the commit if its branch has none', async () => {
  answer('pulls/list', [])
  answer('repos/list-pull-requests-associated-with-commit', [])
  await makers.comment(createForkRun())(createRecord(), never)
  expect(operations()).toEqual(['pulls/list', 'repos/list-pull-requests-associated-with-commit'])
  expect(notices).toHaveLength(1)
})

it('the pull request of a commit is looked up again after a temporary failure', async () => {
  const show = makers.comment(createContext())
  github.refuse = () => ({ status: 502 })
  await expect(show(createRecord(), never)).rejects.toThrow()
  github.refuse = () => undefined
  answer('repos/list-pull-requests-associated-with-commit', [{ number: 12, state: 'open', head: { sha: githubSha } }])
  await show(createRecord(), never)
  expect(github.requests.at(-1)?.path).toBe('/api/v3/repos/acme/shop/issues/12/comments')
})

it('without the job number, the link leads to the attempt of the run', () => {
  expect(logPage(readRun(createContext()), undefined)).toBe('https://github.com/acme/shop/actions/runs/77/attempts/2')
})

it('a deleted comment is created again by the second update', async () => {
  const written = storeWrites(github)
  const show = makers.comment(createEventContext('pull_request', { pull_request: createPullRequest() }))
  await show(open(), never)
  written.comments.splice(0)
  await expect(show(createRecord(), never)).rejects.toThrow('Not Found')
  await show(createRecord(), never)
  expect(written.comments).toMatchObject([{ body: expect.stringContaining('✅ Rollout ready'), issue: 12 }])
  expect(opened.map(({ id }) => id)).toEqual([1, 2])
})

describe('an object of an earlier step or attempt', () => {
  let written: StoredWrites
  const attempt = (number: number) => createContext({ GITHUB_RUN_ATTEMPT: String(number) })

  beforeEach(() => {
    written = storeWrites(github)
  })

  /** GitHub stores the object, but its response does not arrive. */
  function loseResponse(operation: string): void {
    const store = github.handlers.get(operation)
    github.handlers.set(operation, (request, example) => {
      store?.(request, example)
      return { status: 502, body: {} }
    })
  }

  it('is found if it is a deployment whose response was lost', async () => {
    const show = makers.deployment(createContext())
    const operation = 'repos/create-deployment'
    const store = github.handlers.get(operation)
    loseResponse(operation)
    await expect(show(open(), never)).rejects.toThrow()
    if (store !== undefined) github.handlers.set(operation, store)
    await show(createRecord(), never)
    expect(written.deployments).toHaveLength(1)
  })

  it('is updated if it is a deployment of this attempt', async () => {
    await makers.deployment(createContext())(open(), never)
    await makers.deployment(createContext())(createRecord(), never)
    expect(written.deployments).toHaveLength(1)
  })

  it('is not updated if it is a deployment of another run, attempt or gate', async () => {
    await makers.deployment(createContext({ GITHUB_RUN_ID: '78' }))(open(), never)
    await makers.deployment(attempt(1))(createRecord(), never)
    await openOn('deployment', settings, 'Another gate')(attempt(2))(open(), never)
    await makers.deployment(attempt(2))(createRecord(), never)
    expect(written.deployments).toHaveLength(4)
  })

  it('is ended if an earlier attempt of this run left it in progress', async () => {
    await makers.deployment(attempt(1))(open(), never)
    await makers.deployment(createContext({ GITHUB_RUN_ID: '76', GITHUB_RUN_ATTEMPT: '1' }))(open(), never)
    await makers.deployment(attempt(2))(open(), never)
    const [own, other, latest] = written.deployments.map(({ id }) => id)
    expect(written.deploymentStatuses.map(({ deployment, state }) => [deployment, state])).toEqual([
      [own, 'in_progress'],
      [other, 'in_progress'],
      [own, 'error'],
      [latest, 'in_progress'],
    ])
  })
})

describe('the objects of an extra', () => {
  const context = createEventContext('pull_request', { pull_request: createPullRequest() })

  it('are reported with each update', async () => {
    storeWrites(github)
    for (const each of extraNames) {
      const show = makers[each](context)
      await show(open(), never)
      await show(createRecord(), never)
    }
    expect(opened.map(({ extra, headSha, name }) => ({ extra, headSha, name }))).toEqual(
      extraNames.flatMap((extra) => Array(2).fill({ extra, headSha, name })),
    )
  })

  it('are reported for a comment of an earlier run and for the deployment of the event', async () => {
    storeWrites(github)
    await makers.comment(context)(createRecord(), never)
    await makers.comment(context)(createRecord(), never)
    const deployed = createEventContext('deployment', { deployment: { id: 5, sha: headSha } })
    await makers.deployment(deployed)(createRecord(), never)
    expect(opened.map(({ extra, id }) => [extra, id])).toEqual([
      ['comment', 1],
      ['comment', 1],
      ['deployment', 5],
    ])
  })
})

const now = Date.UTC(2025, 0, 1)
const permissions = {
  'commit-status': 'statuses: write',
  deployment: 'deployments: write',
  comment: 'pull-requests: write',
}

async function failureOf(name: ExtraName) {
  const error = await makers[name](createContext())(createRecord(), never).catch((error: unknown) => error)
  const failure = readFailure(error, now)
  return { ...failure, words: describeFailure(failure, name) }
}

it.each(extraNames)('a failed request for %s without the permission names the permission', async (extra) => {
  for (const status of [403, 404]) {
    github.refuse = () => ({ status, message: 'Resource not accessible by integration' })
    const failure = await failureOf(extra)
    expect(failure.type).toBe('forbidden')
    expect(failure.words).toBe(
      `The verdict stands, but the ${extra.replace('-', ' ')} could not be written: GitHub answered ${status} (Resource not accessible by integration). It needs a github-token with the permission \`${permissions[extra]}\`: write it under \`permissions:\` of the job. For a pull request from a fork, the token is read-only in any case.`,
    )
  }
})

it.each(extraNames)(
  'a failed request for %s is temporary with 5xx, rate limits and lost connections',
  async (extra) => {
    for (const status of [500, 502, 503]) {
      github.refuse = () => ({ status })
      expect(await failureOf(extra)).toMatchObject({
        type: 'temporary',
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
      expect(await failureOf(extra)).toMatchObject({
        type: 'temporary',
        cause: "GitHub's rate limit is used up",
        retryAfterMs,
      })
    }
    github.refuse = () => ({ status: 403, message: 'You have exceeded a secondary rate limit.' })
    expect(await failureOf(extra)).toMatchObject({ type: 'temporary' })
    github.refuse = () => 'cut'
    expect((await failureOf(extra)).words).toMatch(/could not be written: GitHub could not be reached \(.+\)\.$/)
  },
)

it.each(extraNames)('a failed request for %s that GitHub rejects is reported on one line', async (extra) => {
  github.refuse = () => ({ status: 422, message: 'Validation Failed\n::error::pwned' })
  const { type, words } = await failureOf(extra)
  expect(type).toBe('invalid')
  expect(words).toBe(
    `The verdict stands, but the ${extra.replace('-', ' ')} could not be written: GitHub answered 422 (Validation Failed ::error::pwned).`,
  )
})

it.each(extraNames)('a failed request for %s with a rejected token is reported without the token', async (extra) => {
  github.refuse = () => ({ status: 401, message: 'Bad credentials' })
  const { type, words } = await failureOf(extra)
  expect(type).toBe('forbidden')
  expect(words).toContain('GitHub does not accept the token')
  expect(words).not.toContain('ghs_0123')
})

it('an error that GitHub did not return is reported as an invalid request with its message', () => {
  expect(readFailure(new TypeError('x is undefined'), now)).toMatchObject({
    type: 'invalid',
    cause: 'x is undefined',
  })
  expect(readFailure('oops', now)).toMatchObject({ type: 'invalid', cause: 'oops' })
})
