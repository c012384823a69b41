import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { currentRun, type Payload } from '../../src/github/workflow-run.ts'
import { rows } from '../kit/rows.ts'
import {
  type ActionContext,
  createContext,
  createEventContext,
  createForkRun,
  createIssueComment,
  eventContexts,
  githubSha,
  headSha,
  readRun,
} from './action-contexts.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

it.each(eventContexts)(
  'the commit, the pull request and the deployment of $event are read from the event',
  ({ context, sha, pullRequest, deployment }) => {
    const run = readRun(context)
    expect(run).toMatchObject({ owner: 'acme', repo: 'shop', headSha: sha })
    expect(run.pullRequest).toBe(pullRequest)
    expect(run.deploymentId).toBe(deployment)
    expect(run.forkBranch).toBeUndefined()
  },
)

it.each(eventContexts)(
  'the commit, the pull request and the deployment of $event without its documented fields are GITHUB_SHA and none',
  ({ event }) => {
    expect(readRun(createEventContext(event))).toMatchObject({ headSha: githubSha, deploymentId: undefined })
    expect(readRun(createEventContext(event)).pullRequest).toBeUndefined()
  },
)

it('a run for a comment on an issue has no pull request', () => {
  expect(readRun(createIssueComment(false))).toMatchObject({ headSha: githubSha, pullRequest: 'none' })
})

it('a run for a fork has the branch of its pull request', () => {
  expect(readRun(createForkRun())).toMatchObject({ headSha, pullRequest: undefined, forkBranch: 'jo:topic' })
})

it('a run for a deleted fork has only the commit', () => {
  const workflow_run = { head_sha: headSha, head_branch: 'topic', head_repository: null, pull_requests: [] }
  const run = readRun(createEventContext('workflow_run', { workflow_run }))
  expect(run).toMatchObject({ headSha, pullRequest: undefined, forkBranch: undefined })
})

it.each([
  ...eventContexts.map(({ event, context }) => [event, context] as const),
  ['issue_comment', createIssueComment()] as const,
])('the input sha takes precedence over the commit of the event %s', (_, context) => {
  const sha = '4'.repeat(40)
  expect(readRun(context, sha)).toMatchObject({ headSha: sha, pullRequest: readRun(context).pullRequest })
})

it.each(rows<[string, string, Payload, boolean]>(data, 'open pull requests'))('%s', (_, event, payload, isOpen) => {
  expect(readRun(createEventContext(event, payload)).isOpenPullRequest).toBe(isOpen)
})

const other = '3'.repeat(40)
const contextOf = (event: string) => {
  const known = eventContexts.find((each) => each.event === event)?.context ?? createIssueComment()
  return (checkedOut: string | undefined): ActionContext => {
    const { checkedOut: _, ...context } = known
    return checkedOut === undefined ? context : { ...context, checkedOut }
  }
}

it.each(rows<[string, string | null]>(data, 'commits in the workspace that agree'))(
  'without the input sha, the checked-out commit matches the event of case %# (%s)',
  (event, checkedOut) => {
    expect(readRun(contextOf(event)(checkedOut ?? undefined)).conflict).toBeUndefined()
  },
)

it.each(rows<[string, string, string]>(data, 'commits in the workspace that contradict'))(
  'without the input sha, the checked-out commit contradicts the event %s',
  (_, event, checkedOut) => {
    expect(readRun(contextOf(event)(checkedOut)).conflict).toMatch(
      /^The workspace contains the commit [0-9a-f]{7}, but the event \w+ is about [0-9a-f]{7}\. Set the input sha/,
    )
  },
)

it.each(['check_run', 'check_suite', 'status', 'issue_comment'])('the event %s requires the input sha', (event) => {
  const issue = { number: 12, pull_request: {} }
  const run = readRun(createEventContext(event, event === 'issue_comment' ? { issue } : {}))
  expect([run.headSha, run.pullRequest]).toEqual([undefined, event === 'issue_comment' ? 12 : undefined])
  expect(run.conflict).toBe(
    `On the event ${event}, GITHUB_SHA is the last commit of the default branch. Set the input sha to the commit that was deployed.`,
  )
})

it.each(eventContexts)(
  'the commit in the workspace, if the input sha is not set is no conflict on $event if the input sha is set',
  ({ context }) => {
    const run = readRun({ ...context, checkedOut: other }, headSha)
    expect([run.headSha, run.conflict]).toEqual([headSha, undefined])
  },
)

it('the run has the server of the runner and its attempt', () => {
  const context = createContext({ GITHUB_SERVER_URL: 'https://github.acme.example' })
  const repositoryUrl = 'https://github.acme.example/acme/shop'
  expect(readRun(context)).toMatchObject({ repositoryUrl, runId: 77, attempt: 2 })
})

it.each(['GITHUB_REPOSITORY', 'GITHUB_SHA'])('the run names the missing variable %s outside of a workflow', (name) => {
  expect(() => readRun(createContext({ [name]: '' }))).toThrow(`${name} is not set.`)
})

describe('the checked-out commit of a run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'workspace-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  const event = join(folder, 'event.json')
  writeFileSync(event, '{}')

  const checkedOut = (files: Readonly<Record<string, string>>) => {
    const workspace = mkdtempSync(join(folder, 'checkout-'))
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(workspace, name, '..'), { recursive: true })
      writeFileSync(join(workspace, name), text)
    }
    const { variables } = createContext({ GITHUB_WORKSPACE: workspace })
    const { conflict } = currentRun({ ...variables, GITHUB_EVENT_NAME: 'push', GITHUB_EVENT_PATH: event }, undefined)
    return /contains the commit (\w+)/.exec(conflict ?? '')?.[1]
  }

  it.each(rows<[string, Record<string, string>, string | null]>(data, 'checkouts'))(
    'is read from the checkout of %s',
    (_, files, commit) => {
      expect(checkedOut(files)).toBe(commit ?? undefined)
    },
  )
})
