import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { currentRun, type Payload, readWorkflowRun } from '../../src/github/workflow-run.ts'
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
} from './action-contexts.ts'

function read({ variables, payload }: ActionContext, sha?: string) {
  return readWorkflowRun(variables, payload, sha)
}

describe('the commit, the pull request and the deployment', () => {
  it.each(eventContexts)('of $event are read from the event', ({ context, sha, pullRequest, deployment }) => {
    const run = read(context)
    expect(run).toMatchObject({ owner: 'acme', repo: 'shop', headSha: sha })
    expect(run.pullRequest).toBe(pullRequest)
    expect(run.deploymentId).toBe(deployment)
    expect(run.forkBranch).toBeUndefined()
  })

  it.each(eventContexts)('of $event without its documented fields are GITHUB_SHA and none', ({ event }) => {
    expect(read(createEventContext(event))).toMatchObject({ headSha: githubSha, deploymentId: undefined })
    expect(read(createEventContext(event)).pullRequest).toBeUndefined()
  })

  it('of a comment on a pull request: the number alone, never the default branch', () => {
    expect(read(createIssueComment())).toMatchObject({ headSha: undefined, pullRequest: 12 })
  })

  it('of a comment on an issue: no pull request may be searched for', () => {
    expect(read(createIssueComment(false))).toMatchObject({ headSha: githubSha, pullRequest: 'none' })
  })

  it('of a run for a fork: the branch finds the pull request', () => {
    expect(read(createForkRun())).toMatchObject({ headSha, pullRequest: undefined, forkBranch: 'jo:topic' })
  })

  it('of a run for a deleted fork: the commit', () => {
    const workflow_run = { head_sha: headSha, head_branch: 'topic', head_repository: null, pull_requests: [] }
    const run = read(createEventContext('workflow_run', { workflow_run }))
    expect(run).toMatchObject({ headSha, pullRequest: undefined, forkBranch: undefined })
  })

  it.each([
    ...eventContexts.map(({ event, context }) => [event, context] as const),
    ['issue_comment', createIssueComment()] as const,
  ])('of %s: the input sha goes before the event', (_, context) => {
    const sha = '4'.repeat(40)
    expect(read(context, sha)).toMatchObject({ headSha: sha, pullRequest: read(context).pullRequest })
  })
})

describe('the run', () => {
  it('is on the server of the runner, with its attempt', () => {
    const context = createContext({ GITHUB_SERVER_URL: 'https://github.acme.example' })
    const repositoryUrl = 'https://github.acme.example/acme/shop'
    expect(read(context)).toMatchObject({ repositoryUrl, runId: 77, attempt: 2, runner: 'GitHub Actions 3' })
    expect(read(createContext({ GITHUB_RUN_ATTEMPT: undefined })).attempt).toBeUndefined()
  })

  const fromFork: Payload = { pull_request: createPullRequest('jo/shop') }

  it.each([
    ['a fork', createEventContext('pull_request', fromFork), 'fork'],
    ['a deleted fork', createEventContext('pull_request', { pull_request: createPullRequest(null) }), 'fork'],
    [
      'a branch of the repository',
      createEventContext('pull_request', { pull_request: createPullRequest() }),
      undefined,
    ],
    ['a fork, with pull_request_target', createEventContext('pull_request_target', fromFork), undefined],
    ['a comment', createIssueComment(), undefined],
    ['Dependabot', createContext({ GITHUB_ACTOR: 'dependabot[bot]' }), 'dependabot'],
    ['a push', createContext(), undefined],
  ])('finds out why the token of %s is read-only', (_, context, because) => {
    expect(read(context).readOnlyBecause).toBe(because)
  })

  it.each(['GITHUB_REPOSITORY', 'GITHUB_SHA'])('names the missing variable %s outside of a workflow', (name) => {
    expect(() => read(createContext({ [name]: '' }))).toThrow(`${name} is not set.`)
  })

  describe('the commit in the workspace', () => {
    const folder = mkdtempSync(join(tmpdir(), 'workspace-'))
    afterAll(() => rmSync(folder, { recursive: true }))

    const checkedOut = (files: Readonly<Record<string, string>>) => {
      const workspace = mkdtempSync(join(folder, 'checkout-'))
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(join(workspace, name, '..'), { recursive: true })
        writeFileSync(join(workspace, name), text)
      }
      const { variables } = createContext({ GITHUB_WORKSPACE: workspace })
      return currentRun(variables, undefined).checkedOut
    }

    it.each<[string, Record<string, string>, string | undefined]>([
      ['a commit', { '.git/HEAD': `${headSha}\n` }, headSha],
      ['a branch', { '.git/HEAD': 'ref: refs/heads/a/b\n', '.git/refs/heads/a/b': `${headSha}\n` }, headSha],
      ['a branch without commits', { '.git/HEAD': 'ref: refs/heads/main\n' }, undefined],
      ['a branch with a hostile name', { '.git/HEAD': 'ref: refs/heads/../../secret\n', secret: headSha }, undefined],
      ['a submodule', { '.git': 'gitdir: ../.git/modules/x\n' }, undefined],
      ['no repository', {}, undefined],
    ])('is read from the checkout of %s', (_, files, commit) => {
      expect(checkedOut(files)).toBe(commit)
    })
  })
})
