import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { commentMarker } from '../../src/github/comment.ts'
import { contractViolations } from '../cluster/contract.ts'
import {
  type ActionContext,
  createEventContext,
  createIssueComment,
  headSha,
  pullRequestEnvironment,
  writeEnvironment,
} from '../github/action-contexts.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { storeWrites } from '../github/stored-writes.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { startInProcess } from '../support/in-process-action.ts'
import { playAll } from '../support/play-recording.ts'
import { programPath } from '../support/program.ts'
import { type ActionRun, type StartedAction, startAction } from '../support/runner.ts'
import { testWithSignals } from '../support/signals.ts'

const token = 'ghs_sesame0123456789'
const allExtras = { 'github-token': token, 'report-to': 'commit-status, deployment, comment' }
/** Of all tests: the action reads the address of GitHub once. */
let github: GitHubServer

beforeAll(async () => {
  github = await startGitHub()
})

afterAll(() => github.close())

beforeEach(() => {
  github.reset()
  github.handlers.set('issues/list-comments', () => ({ status: 200, body: [] }))
})

afterEach(() => expect(github.breaches).toEqual([]))

/** Starts the action as the runner does for a pull request of acme/shop on an enterprise server. */
function start(inputs: Record<string, string>, env: NodeJS.ProcessEnv = {}, startIt = startInProcess): StartedAction {
  const defaults = { kubeconfig: server.kubeconfig(), resources: 'deployment/web', job: '{"id": 501}' }
  const variables = { ...pullRequestEnvironment(folder, github.url), ...env }
  return startIt(folder, { ...defaults, ...inputs }, { env: variables })
}

/** The same in a process of its own, which a signal ends. */
function startProcess(inputs: Record<string, string>): StartedAction {
  return start(inputs, {}, (...run) => startAction(programPath('index.js'), ...run))
}

/** The environment of another event, for `start`, with its checkout. */
function eventEnvironment(context: ActionContext): NodeJS.ProcessEnv {
  const workspace = mkdtempSync(join(folder, 'event-'))
  if (context.checkedOut !== undefined) {
    mkdirSync(join(workspace, '.git'))
    writeFileSync(join(workspace, '.git/HEAD'), context.checkedOut)
  }
  return { ...writeEnvironment(workspace, github.url, context), GITHUB_WORKSPACE: workspace }
}

function warningsOf({ log }: ActionRun): string[] {
  return [...log.matchAll(/^::warning[^:]*::(.*)$/gm)].map(([, message]) => message ?? '')
}

function operations(): string[] {
  return github.requests.map(({ operation }) => operation).sort()
}

test('a ready rollout is shown as a commit status, a deployment and a comment for the head of the pull request', async () => {
  const namespace = await playAll(server, 'already-finished')
  const record = join(folder, 'recording.ndjson.gz')
  const ended = await start({ ...allExtras, namespace, record }).ended
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
  expect(contractViolations(ended, [token])).toEqual([])
  expect(warningsOf(ended)).toEqual([])
  expect(ended.log).toContain(`::add-mask::${token}`)
  expect(gunzipSync(readFileSync(record)).toString()).not.toContain(token)

  const last = (operation: string) => github.requests.findLast((request) => request.operation === operation)?.body
  const logUrl = 'https://github.acme.example/acme/shop/actions/runs/77/job/501'
  expect(last('repos/create-commit-status')).toMatchObject({
    context: `Rollout of deployment/web in ${namespace} (Deploy / production)`,
    state: 'success',
    target_url: logUrl,
  })
  expect(last('repos/create-deployment')).toMatchObject({ ref: headSha, environment: `test/${namespace}` })
  expect(last('repos/create-deployment-status')).toMatchObject({ state: 'success', log_url: logUrl })
  expect({ ...last('issues/create-comment'), ...last('issues/update-comment') }['body']).toContain('✅ Rollout ready')
  expect(ended.outputs).toMatchObject({
    'comment-url': 'https://github.com/octocat/Hello-World/issues/1347#issuecomment-1',
    'deployment-id': '1',
  })
})

test('the commit status shows the outcome even if summary and outputs cannot be written', async () => {
  const namespace = await playAll(server, 'already-finished')
  const absent = join(folder, 'no', 'such', 'folder', 'file')
  const env = { GITHUB_STEP_SUMMARY: absent, RUNNER_TEMP: join(folder, 'outputs.txt') }
  const ended = await start({ 'github-token': token, 'report-to': 'commit-status', namespace }, env).ended
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
  const statuses = github.requests.filter(({ operation }) => operation === 'repos/create-commit-status')
  expect(statuses.at(-1)?.body).toMatchObject({ state: 'success' })
})

testWithSignals('a rollout is shown while it runs, and its end is shown in the same places', async () => {
  const namespace = await playAll(server, 'cancelled')
  const shown = Promise.all(
    ['repos/create-commit-status', 'repos/create-deployment-status', 'issues/create-comment'].map(github.next),
  )
  const action = startProcess({ ...allExtras, namespace })
  const [commit, status, comment] = await shown
  expect(commit?.body).toMatchObject({ state: 'pending' })
  expect(status?.body).toMatchObject({ state: 'in_progress' })
  expect(comment?.body['body']).toContain('⏳ Rollout in progress')
  action.kill('SIGINT')
  const ended = await action.ended
  expect(ended.outputs).toMatchObject({ outcome: 'cancelled' })
  expect(operations()).toEqual([
    'issues/create-comment',
    'issues/list-comments',
    'issues/update-comment',
    'repos/create-commit-status',
    'repos/create-commit-status',
    'repos/create-deployment',
    'repos/create-deployment-status',
    'repos/create-deployment-status',
    'repos/list-deployments',
  ])
  const statuses = github.requests.filter(({ operation }) => operation === 'repos/create-commit-status')
  expect(statuses.map(({ body }) => body['state'])).toEqual(['pending', 'error'])
})

test('a token without write permission does not change the verdict, with a warning for each permission', async () => {
  const namespace = await playAll(server, 'image-not-found')
  github.refuse = () => ({ status: 403, message: 'Resource not accessible by integration' })
  const ended = await start({ ...allExtras, namespace }).ended
  expect(ended).toMatchObject({ exitCode: 1, outputs: { outcome: 'failed', reason: 'image-not-found' } })
  expect(contractViolations(ended, [token])).toEqual([])
  const warnings = warningsOf(ended)
  expect(warnings).toHaveLength(3)
  for (const permission of ['statuses: write', 'deployments: write', 'pull-requests: write']) {
    expect(warnings.join('\n')).toContain(permission)
  }
})

testWithSignals('a GitHub server that never answers does not delay a cancelled job until it is killed', async () => {
  const namespace = await playAll(server, 'cancelled')
  github.refuse = () => 'hang'
  const asked = github.next('issues/list-comments')
  const action = startProcess({ ...allExtras, namespace })
  await asked
  const sentAt = Date.now()
  action.kill('SIGINT')
  const ended = await action.ended
  expect(ended.endedAt - sentAt).toBeLessThan(7_500)
  expect(ended.outputs).toMatchObject({ outcome: 'cancelled' })
  expect(warningsOf(ended).filter((text) => text.includes('did not answer in time'))).toHaveLength(3)
})

test('a mistake in the kubeconfig is shown as a failed commit status without a deployment', async () => {
  const ended = await start({ ...allExtras, kubeconfig: '{}' }).ended
  expect(ended.outputs).toMatchObject({ outcome: 'misconfigured' })
  expect(operations()).toEqual(['issues/create-comment', 'issues/list-comments', 'repos/create-commit-status'])
  const statuses = github.requests.filter(({ operation }) => operation === 'repos/create-commit-status')
  expect(statuses.map(({ body }) => body['state'])).toEqual(['failure'])
})

test('a rollout that a comment started is shown on the commit of the input sha', async () => {
  const namespace = await playAll(server, 'already-finished')
  const written = storeWrites(github)
  const env = eventEnvironment(createIssueComment())
  const ended = await start({ ...allExtras, namespace, sha: headSha }, env).ended
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
  expect(written.statuses.at(-1)).toMatchObject({ sha: headSha, state: 'success' })
  expect(written.comments).toMatchObject([{ issue: 12 }])
  expect(written.deployments).toMatchObject([{ ref: headSha }])
})

test.each<[string, Record<string, string>, string?]>([
  ['a clock', { timeout: '5' }],
  ['a flag of a reference', { resources: 'deployment/web --tiemout=5m' }],
  ['a file that does not exist', { manifests: 'k8s/' }, 'deployment/web, k8s/'],
  ['a secret that does not exist', { kubeconfig: '' }],
  ['a kubeconfig that is cut off', { kubeconfig: 'apiVersion: v1\nkind:' }],
  ['another extra', { 'report-to': 'commit-status, coment' }],
])('a mistake in %s replaces the green status of the run before', async (_, mistake, what = 'deployment/web') => {
  const written = storeWrites(github)
  const inputs = {
    'github-token': token,
    'report-to': 'commit-status',
    namespace: 'shop',
    ...mistake,
  }
  const ended = await start(inputs).ended
  expect(ended.outputs).toMatchObject({ outcome: 'misconfigured' })
  const name = `Rollout of ${what} in shop (Deploy / production)`
  expect(written.statuses.at(-1)).toMatchObject({ context: name, sha: headSha, state: 'failure' })
})

test.each([
  ['name', 'two\nlines'],
  ['sha', 'main'],
])('with a mistake in %s nothing is written: it would be in the wrong place', async (input, text) => {
  const ended = await start({ ...allExtras, [input]: text }).ended
  expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', 'comment-url': '' })
  expect(github.requests).toEqual([])
})

test('an extra without a token is rejected together with all other mistakes', async () => {
  const ended = await start({ 'report-to': 'commit-status' }).ended
  expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'input-invalid' })
  expect(ended.outputs['message']).toContain(`github-token: \${{ github.token }}`)
  expect(github.requests).toEqual([])
  expect(server.requests.map(({ path }) => path).toSorted()).toEqual(['/api', '/apis', '/version'])
})

test.each([
  ['outside of a workflow', { GITHUB_REPOSITORY: undefined, GITHUB_EVENT_PATH: undefined }, /GITHUB_REPOSITORY/],
  ['with an event that cannot be read', { GITHUB_EVENT_PATH: import.meta.filename }, /report-to is off: /],
])('%s the extras are off with a warning', async (_, env, words) => {
  const namespace = await playAll(server, 'already-finished')
  const ended = await start({ ...allExtras, namespace }, env).ended
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
  expect(warningsOf(ended).join('\n')).toMatch(words)
  expect(github.requests).toEqual([])
})

test('without extras, no request is sent to GitHub', async () => {
  const namespace = await playAll(server, 'already-finished')
  const ended = await start({ namespace, 'github-token': token }).ended
  expect(ended.exitCode).toBe(0)
  expect(github.requests).toEqual([])
})

describe('with the token of an app, which starts workflows', () => {
  const deployed = { deployment: { id: 5, sha: headSha }, deployment_status: { state: 'success' } }
  const comment = (body: string) => ({ issue: { number: 12, state: 'open', pull_request: {} }, comment: { body } })
  const status = (context: string) => ({ sha: headSha, context, state: 'success', branches: [] })

  it.each([
    ['the deployment is not written', 'deployment_status', deployed, 'deployment'],
    ['the commit status is not written after itself', 'status', status('Rollout'), 'commit-status'],
    ['the comment is not written after itself', 'issue_comment', comment(`${commentMarker('Rollout')}\n`), 'comment'],
    ['the commit status is written after another one', 'status', status('CI'), undefined],
    ['the comment is written after another one', 'issue_comment', comment('/deploy'), undefined],
  ])('%s on %s', async (_, event, payload, extra) => {
    const written = storeWrites(github)
    github.handlers.set('repos/list-pull-requests-associated-with-commit', () => ({
      status: 200,
      body: [{ number: 12, state: 'open', head: { sha: headSha } }],
    }))
    const namespace = await playAll(server, 'already-finished')
    const inputs = { ...allExtras, namespace, name: 'Rollout', environment: 'staging', sha: headSha }
    const env = eventEnvironment(createEventContext(event, payload))
    const run = await start(inputs, env).ended
    expect(run.exitCode).toBe(0)
    const counts = { 'commit-status': written.statuses, deployment: written.deploymentStatuses }
    const unwritten = Object.entries({ ...counts, comment: written.comments }).filter(([, each]) => each.length === 0)
    expect(unwritten.map(([each]) => each)).toEqual(extra === undefined ? [] : [extra])
    const subject = extra?.replace('-', ' ')
    const warning = `The ${subject} is not written: it started this workflow, and would start it again.`
    expect(warningsOf(run)).toEqual(extra === undefined ? [] : [warning])
  })
})
