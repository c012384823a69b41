import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pullRequestEnvironment } from '../github/action-contexts.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { type StoredWrites, storeWrites } from '../github/stored-writes.ts'
import { createDeployment } from '../lifecycle/builders.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { type ActionRun, startAction } from '../support/runner.ts'
import { testWithSignals } from '../support/signals.ts'

const token = 'ghs_sesame0123456789'
const extras = { 'report-to': 'check, commit-status, deployment, comment' }
let github: GitHubServer
let written: StoredWrites

beforeEach(async () => {
  github = await startGitHub()
  written = storeWrites(github)
  server.apply(createDeployment())
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
  const operations = [
    'checks/create',
    'repos/create-commit-status',
    'repos/create-deployment-status',
    'issues/create-comment',
  ]
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

testWithSignals('what a killed process left open is closed, with its last summary', async () => {
  const action = await open()
  action.process.kill('SIGKILL')
  const { state } = await action.ended
  expect(JSON.stringify(state)).not.toContain(token)
  expect(written.checks).toMatchObject([{ status: 'in_progress' }])
  await post(state)
  expect(written.checks).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
  expect(Object(written.checks[0]?.['output']).summary).toMatch(
    /^> \[!WARNING\]\n> The job ended before.*Rollout in progress/s,
  )
  expect(lastOf(written.statuses)).toMatchObject({ state: 'error' })
  expect(lastOf(written.deploymentStatuses)).toMatchObject({ state: 'error' })
  expect(written.comments).toMatchObject([
    {
      body: expect.stringMatching(/^<!-- rollout-gate \w+ -->\n> \[!WARNING\]\n> The job ended.*Rollout in progress/s),
    },
  ])
})

testWithSignals(
  'a process that the signals of the runner do not reach is ended, and shows its outcome itself',
  async () => {
    const action = await open()
    const ended = await post(action.job.state)
    expect((await action.ended).outputs).toMatchObject({ outcome: 'cancelled' })
    expect(ended.log).not.toContain('still open')
    expect(written.checks).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
    expect(written.statuses.map(({ state }) => state)).toEqual(['pending', 'error'])
    expect(written.deploymentStatuses.map(({ state }) => state)).toEqual(['in_progress', 'inactive'])
    expect(written.comments).toMatchObject([{ body: expect.stringContaining('Rollout cancelled') }])
  },
)

describe('start: true', () => {
  /** Runs the first step of a job, which needs no cluster. */
  const startStep = (more: Record<string, string> = {}) =>
    startAction(
      programPath('index.js'),
      join(folder, 'start'),
      { 'github-token': token, ...extras, resources: 'deployment/web', namespace: 'shop', start: 'true', ...more },
      { env: pullRequestEnvironment(folder, github.url) },
    ).ended

  test('shows everywhere that the rollout has not started, and the end of the job closes it if no gate follows', async () => {
    const { exitCode, outputs, state, log } = await startStep({ environment: 'preview' })
    expect([exitCode, log.match(/^::warning/gm)]).toEqual([0, null])
    expect(outputs['outcome']).toBeUndefined()
    expect(outputs['check-run-url']).not.toBe('')
    expect(written.checks).toMatchObject([{ status: 'in_progress', output: { title: 'Rollout not started yet' } }])
    expect(lastOf(written.statuses)).toMatchObject({ state: 'pending', description: 'Rollout not started yet' })
    expect(lastOf(written.deploymentStatuses)).toMatchObject({ state: 'in_progress' })
    expect(written.comments).toMatchObject([{ body: expect.stringContaining('Rollout not started yet') }])
    await post(state)
    expect(written.checks).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
    expect(lastOf(written.statuses)).toMatchObject({ state: 'error' })
    expect(lastOf(written.deploymentStatuses)).toMatchObject({ state: 'error' })
    expect(written.comments).toMatchObject([{ body: expect.stringContaining('The job ended before') }])
  })

  testWithSignals('leaves to the gate of the job what the gate goes on with', async () => {
    const { state } = await startStep()
    const opened = github.next('checks/update')
    const action = startAction(programPath('index.js'), folder, inputs(), {
      env: pullRequestEnvironment(folder, github.url),
    })
    await Promise.all([opened, action.watching])
    action.kill('SIGINT')
    expect((await action.ended).outputs).toMatchObject({ outcome: 'cancelled' })
    const last = lastOf(written.statuses)
    await post(state)
    expect(written.checks).toMatchObject([{ output: { title: expect.stringContaining('Rollout cancelled') } }])
    expect(lastOf(written.statuses)).toBe(last)
    expect(written.comments).toMatchObject([{ body: expect.not.stringContaining('The job ended before') }])
  })

  test('is a mistake without report-to', async () => {
    const { exitCode, log } = await startStep({ 'report-to': '' })
    expect(exitCode).toBe(1)
    expect(log).toContain('start: It shows nothing without')
  })
})

testWithSignals('a job that left nothing open sends nothing, and loads nothing', async () => {
  const action = await open()
  action.kill('SIGINT')
  const { state } = await action.ended
  github.requests.length = 0
  const startedAt = Date.now()
  await post(state)
  expect(github.requests).toEqual([])
  expect(Date.now() - startedAt).toBeLessThan(5_000)
})

testWithSignals('what GitHub refuses to close does not fail the job', async () => {
  const action = await open()
  action.process.kill('SIGKILL')
  const { state } = await action.ended
  github.refuse = () => ({ status: 403, message: 'Resource not accessible by integration' })
  const { log } = await post(state)
  expect(log.match(/^::warning::/gm)).toHaveLength(4)
})

test('a state of another program does not fail the job', async () => {
  expect((await post({ STATE_open: '{' })).log).toContain('SyntaxError')
})
