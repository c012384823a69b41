import { isStartedBy, issueTokens, refusalOf, type WorkflowFile } from './workflow-file.ts'

const tokenOf = (job: string) => `\${{ ${job} }}`
const workflow = (fields: object, job: object = {}) =>
  ({ on: 'push', ...fields, jobs: { deploy: job } }) as WorkflowFile

describe('a workflow is started', () => {
  const pullRequest = (action: string, base = 'main') => ({
    name: 'pull_request',
    payload: { action, pull_request: { base: { ref: base } } },
  })

  it.each<[string, WorkflowFile['on'], Parameters<typeof isStartedBy>[1], boolean]>([
    ['by the event in on', 'push', { name: 'push' }, true],
    ['by one of several events in on', ['push', 'pull_request'], pullRequest('opened'), true],
    ['by no event that is missing in on', ['push'], pullRequest('opened'), false],
    ['by a push to a branch in its filter', { push: { branches: ['main'] } }, { name: 'push' }, true],
    [
      'by no push to another branch',
      { push: { branches: ['main'] } },
      { name: 'push', payload: { ref: 'refs/heads/topic' } },
      false,
    ],
    [
      'by a pull request into a branch in its filter',
      { pull_request: { branches: ['release-*'] } },
      pullRequest('opened', 'release-1'),
      true,
    ],
    [
      'by no pull request into another branch',
      { pull_request: { branches: ['release-*'] } },
      pullRequest('opened'),
      false,
    ],
    ['by no closed pull request if types is not set', { pull_request: null }, pullRequest('closed'), false],
    [
      'by a closed pull request if types contains closed',
      { pull_request: { types: ['closed'] } },
      pullRequest('closed'),
      true,
    ],
  ])('%s', (_, on, event, expected) => {
    expect(isStartedBy({ on }, event)).toBe(expected)
  })
})

describe('the token of a job', () => {
  it.each<[string, WorkflowFile, object]>([
    [
      'has the permissions of the job',
      workflow({ permissions: {} }, { permissions: { checks: 'write' } }),
      { checks: 'write' },
    ],
    [
      'has the permissions of the workflow if the job has none',
      workflow({ permissions: { checks: 'read' } }),
      { checks: 'read' },
    ],
    [
      'can read contents and packages if the workflow has no permissions',
      workflow({}),
      { contents: 'read', packages: 'read' },
    ],
  ])('%s', (_, file, permissions) => {
    expect(issueTokens({ 'deploy.yml': file }).tokens).toMatchObject([{ permissions }])
  })

  it('is the value of github.token only in its job', () => {
    const step = { with: { 'github-token': tokenOf('github.token'), other: tokenOf('secrets.GITHUB_TOKEN') } }
    const file = { on: 'push', jobs: { one: { steps: [step] }, two: { steps: [step] } } }
    const { workflows, tokens } = issueTokens({ 'deploy.yml': file })
    const used = Object.values(workflows['deploy.yml']?.jobs ?? {}).map((job) => JSON.stringify(job))
    expect(tokens).toHaveLength(2)
    expect(used.map((text) => text.match(/vars\.\w+/g))).toEqual(
      tokens.map(({ variable }) => [`vars.${variable}`, `vars.${variable}`]),
    )
  })

  describe('of a called workflow', () => {
    const path = '.github/workflows/gate.yml'
    const issue = (caller: object, called: object) =>
      issueTokens({
        'deploy.yml': workflow({}, { uses: `./${path}`, ...caller }),
        [path]: { on: { workflow_call: null }, jobs: { gate: called } },
      }).tokens.at(-1)?.permissions

    it('has the permissions of the caller if the job has none', () => {
      expect(issue({ permissions: { statuses: 'write' } }, {})).toEqual({ statuses: 'write' })
    })

    it('can have fewer permissions than the caller, but not more', () => {
      expect(issue({ permissions: { statuses: 'write' } }, { permissions: { statuses: 'read' } })).toEqual({
        statuses: 'read',
      })
      expect(() => issue({ permissions: { statuses: 'read' } }, { permissions: { statuses: 'write' } })).toThrow(
        /needs statuses: write/,
      )
    })
  })
})

describe('the GitHub server of the tests', () => {
  const tokens = [{ token: 'ghs_0', permissions: { statuses: 'write', checks: 'read' } }]

  it.each([
    ['accepts an operation that a permission covers', 'repos/create-commit-status', 'token ghs_0', undefined],
    ['accepts reading with a write permission', 'repos/list-commit-statuses-for-ref', 'token ghs_0', undefined],
    ['rejects writing with a read permission', 'checks/create', 'token ghs_0', 403],
    ['rejects an operation without a permission', 'issues/create-comment', 'token ghs_0', 403],
    ['rejects an unknown token', 'repos/create-commit-status', 'token ghs_1', 401],
    ['rejects a request without a token', 'repos/create-commit-status', undefined, 401],
  ])('%s', (_, operation, authorization, status) => {
    expect(refusalOf(operation, authorization, tokens)?.status).toBe(status)
  })
})
