import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pullRequestEnvironment } from '../github/action-contexts.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { type StoredWrites, storeWrites } from '../github/stored-writes.ts'
import { make } from '../kit/objects.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { type ActionRun, startAction } from '../support/runner.ts'
import { testWithSignals } from '../support/signals.ts'

const token = 'ghs_sesame0123456789'
const extras = { 'report-to': 'commit-status, deployment, comment' }
let github: GitHubServer
let written: StoredWrites

beforeEach(async () => {
  github = await startGitHub()
  written = storeWrites(github)
  server.apply(make.deployment())
})

afterEach(async () => {
  expect(github.breaches).toEqual([])
  await github.close()
})

const inputs = () => ({
  kubeconfig: server.kubeconfig(),
  resources: 'deployment/web',
  namespace: 'shop',
  'github-token': token,
  ...extras,
})

/** Starts the action. Resolves when everything is open on GitHub. */
async function open(): Promise<ReturnType<typeof startAction>> {
  const operations = ['repos/create-commit-status', 'repos/create-deployment-status', 'issues/create-comment']
  const opened = Promise.all(operations.map((operation) => github.next(operation)))
  const action = startAction(programPath('index.js'), folder, inputs(), {
    env: pullRequestEnvironment(folder, github.url),
  })
  await Promise.all([opened, action.watching])
  // The last answer may still be on its way.
  while (action.job.state['STATE_open']?.match(/"extra"/g)?.length !== operations.length) await pause(20)
  return action
}

/** Runs the step at the end of the job, with the state that the runner kept. */
async function post(state: Record<string, string>): Promise<ActionRun> {
  const env = { ...pullRequestEnvironment(folder, github.url), ...state }
  const ended = await startAction(programPath('post.js'), join(folder, 'post'), inputs(), { env }).ended
  expect(ended.exitCode).toBe(0)
  return ended
}

const lastOf = <T>(list: readonly T[]) => list.at(-1)

testWithSignals('the post step closes what a killed process left open, with its last summary', async () => {
  const action = await open()
  action.process.kill('SIGKILL')
  const { state } = await action.ended
  expect(JSON.stringify(state)).not.toContain(token)
  expect(lastOf(written.statuses)).toMatchObject({ state: 'pending' })
  await post(state)
  expect(lastOf(written.statuses)).toMatchObject({ state: 'error' })
  expect(lastOf(written.deploymentStatuses)).toMatchObject({ state: 'error' })
  expect(written.comments).toMatchObject([
    {
      body: expect.stringMatching(/^<!-- rollout-gate \w+ -->\n> \[!WARNING\]\n> The job ended.*Rollout in progress/s),
    },
  ])
})

testWithSignals(
  'the post step ends a process that ignores the signals of the runner, and the process shows its outcome',
  async () => {
    const action = await open()
    const ended = await post(action.job.state)
    expect((await action.ended).outputs).toMatchObject({ outcome: 'cancelled' })
    expect(ended.log).not.toContain('still open')
    expect(written.statuses.map(({ state }) => state)).toEqual(['pending', 'error'])
    expect(written.deploymentStatuses.map(({ state }) => state)).toEqual(['in_progress', 'inactive'])
    expect(written.comments).toMatchObject([{ body: expect.stringContaining('Rollout cancelled') }])
  },
)

testWithSignals('the post step sends nothing and loads nothing if nothing is open', async () => {
  const action = await open()
  action.kill('SIGINT')
  const { state } = await action.ended
  github.requests.length = 0
  const startedAt = Date.now()
  await post(state)
  expect(github.requests).toEqual([])
  expect(Date.now() - startedAt).toBeLessThan(5_000)
})

testWithSignals('the post step does not fail the job if GitHub refuses to close an object', async () => {
  const action = await open()
  action.process.kill('SIGKILL')
  const { state } = await action.ended
  github.refuse = () => ({ status: 403, message: 'Resource not accessible by integration' })
  const { log } = await post(state)
  expect(log.match(/^::warning::/gm)).toHaveLength(3)
})

test('the post step ignores the state of another program', async () => {
  expect((await post({ STATE_open: '{' })).log).toContain('SyntaxError')
})
