import { getOctokit } from '@actions/github'
import type { Outcome } from '../../src/gate/outcome.ts'
import { closeExtras } from '../../src/github/extras.ts'
import type { OpenObjects } from '../../src/github/job-state.ts'
import { readWorkflowRun } from '../../src/github/workflow-run.ts'
import type { ExtraName } from '../../src/inputs.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { createContext, headSha } from './action-contexts.ts'
import { type GitHubServer, startGitHub } from './github-server.ts'
import { type StoredWrites, storeWrites } from './stored-writes.ts'

const { variables, payload } = createContext()
const run = readWorkflowRun(variables, payload)
const logUrl = 'https://github.com/acme/shop/actions/runs/77/job/501'
const name = 'Rollout'

let github: GitHubServer
let octokit: ReturnType<typeof getOctokit>
let written: StoredWrites
let closed: ExtraName[]
let warnings: string[]

beforeAll(async () => {
  github = await startGitHub()
  octokit = getOctokit('ghs_0123', { baseUrl: github.url })
})

beforeEach(async () => {
  github.requests.length = 0
  written = storeWrites(github)
  closed = []
  warnings = []
})

afterEach(() => {
  expect(github.breaches.splice(0)).toEqual([])
})

afterAll(() => github.close())

const own = { owner: 'acme', repo: 'shop' }

/** Opens everything, as a gate does. Returns what it leaves. */
async function open(): Promise<OpenObjects['open']> {
  const { issues, repos } = octokit.rest
  await repos.createCommitStatus({ ...own, sha: headSha, context: name, state: 'pending', target_url: logUrl })
  const deployment = await repos.createDeployment({ ...own, ref: headSha, environment: 'shop' })
  const { id } = deployment.data as { id: number }
  await repos.createDeploymentStatus({
    ...own,
    deployment_id: id,
    state: 'in_progress',
    log_url: logUrl,
    environment_url: 'https://shop.example',
  })
  const comment = await issues.createComment({ ...own, issue_number: 12, body: '<!-- rollout-gate open -->\nso far' })
  const opened = { url: '', headSha, name }
  return [
    { ...opened, extra: 'commit-status', id: 1 },
    { ...opened, extra: 'deployment', id },
    { ...opened, extra: 'comment', id: comment.data.id },
  ]
}

async function close(open: OpenObjects['open'], verdict?: OpenObjects['verdict']): Promise<void> {
  const log = { onClosed: (extra: ExtraName) => closed.push(extra), onWarning: (text: string) => warnings.push(text) }
  const clock = new EventLoopClock(Date.now(), 20, () => {})
  let isOver = false
  const closing = closeExtras({ open, verdict }, { octokit, run, clock }, log).finally(() => {
    isOver = true
  })
  await clock.runUntil(Number.POSITIVE_INFINITY, () => isOver)
  await closing
}

const all: ExtraName[] = ['commit-status', 'deployment', 'comment']

test.each<[Outcome | 'none', string, string]>([
  ['none', 'error', 'error'],
  ['ready', 'success', 'success'],
  ['failed', 'failure', 'failure'],
  ['unknown', 'error', 'error'],
  ['cancelled', 'error', 'inactive'],
])('what is open gets the outcome %s: status %s, deployment %s', async (outcome, status, deployment) => {
  const verdict = outcome === 'none' ? undefined : { outcome, title: 'Rollout of *web*' }
  const title = verdict?.title ?? 'The job ended before the rollout had an outcome'
  await close(await open(), verdict)
  expect(written.statuses.at(-1)).toMatchObject({
    state: status,
    context: name,
    sha: headSha,
    target_url: logUrl,
    description: title,
  })
  expect(written.deploymentStatuses.at(-1)).toMatchObject({
    state: deployment,
    log_url: logUrl,
    environment_url: 'https://shop.example',
  })
  expect(String(written.comments[0]?.['body'])).toMatch(/^<!-- rollout-gate \w+ -->\n> \[!WARNING\]\n> .*\n\nso far$/)
  expect(closed.sort()).toEqual(all.toSorted())
  expect(warnings).toEqual([])
})

test('an object on GitHub that shows an outcome is not changed', async () => {
  const left = (await open()).filter(({ extra }) => extra !== 'comment')
  await close(left, { outcome: 'ready', title: 'Rollout ready' })
  closed = []
  const before = structuredClone(written)
  await close(left)
  expect(written).toEqual(before)
  expect(closed).toEqual([])
})

test('a commit status that a later run wrote is not closed', async () => {
  const left = (await open()).filter(({ extra }) => ['commit-status', 'deployment'].includes(extra))
  const later = 'https://github.com/acme/shop/actions/runs/777/job/9'
  const { repos } = octokit.rest
  await repos.createCommitStatus({ ...own, sha: headSha, context: name, state: 'pending', target_url: later })
  await repos.createDeploymentStatus({
    ...own,
    deployment_id: Number(left[1]?.id),
    state: 'in_progress',
    log_url: later,
  })
  await close(left)
  expect(written.statuses.at(-1)).toMatchObject({ state: 'pending' })
  expect(written.deploymentStatuses.at(-1)).toMatchObject({ state: 'in_progress' })
})

test('a request with a temporary failure is retried, and any other failure is a warning', async () => {
  const left = await open()
  const refused = new Set<string>()
  github.refuse = ({ operation }) => {
    if (operation === 'repos/create-deployment-status') return { status: 403, message: 'Resource not accessible' }
    if (operation !== 'repos/create-commit-status' || refused.has(operation)) return undefined
    refused.add(operation)
    return { status: 502 }
  }
  await close(left)
  github.refuse = () => undefined
  expect(written.statuses.at(-1)).toMatchObject({ state: 'error' })
  expect(warnings).toEqual([expect.stringContaining('deployments: write')])
})
