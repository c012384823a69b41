import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { renderReport } from '../../src/report/json-report.ts'
import { headSha, pullRequestEnvironment } from '../github/action-contexts.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { cases } from '../report/cases.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { issueCertificates } from '../support/certificates.ts'
import { playAll } from '../support/play-recording.ts'
import { programPath } from '../support/program.ts'
import { type ActionRun, startAction } from '../support/runner.ts'

/** The cluster has an authority of its own, as in every cloud; that of GitHub is one that Node trusts by default. */
let folder: string
let server: ApiServer
let github: GitHubServer
let namespace: string
let authority: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tls-'))
  const issued = await issueCertificates({ github: {} })
  authority = join(folder, 'authority.pem')
  writeFileSync(authority, issued.authority)
  server = await startApiServer({ tls: true })
  github = await startGitHub('/api/v3', issued.github)
  namespace = await playAll(server, 'already-finished')
})

beforeEach(() => {
  github.requests.length = 0
  server.requests.length = 0
  server.acceptTokens(['clean'])
  github.handlers.set('issues/list-comments', () => ({ status: 200, body: [] }))
})

afterAll(async () => {
  await Promise.all([server.close(), github.close()])
  rmSync(folder, { recursive: true })
})

interface Started {
  readonly program?: 'index.js' | 'merge.js'
  readonly inputs?: Readonly<Record<string, string>>
  readonly env?: NodeJS.ProcessEnv
}

function run({ program = 'index.js', inputs = {}, env = {} }: Started): Promise<ActionRun> {
  const job = mkdtempSync(join(folder, 'job-'))
  mkdirSync(join(job, 'workspace'))
  if (program === 'merge.js') {
    const report = renderReport({
      ...(cases['one-ready'] as (typeof cases)[string]),
      run: { id: '77', attempt: 1, commit: headSha },
    })
    writeFileSync(join(job, 'workspace/report.json'), report)
  }
  const gate = { kubeconfig: kubeconfig(), resources: 'deployment/web', namespace, timeout: '20s' }
  const defaults = { ...(program === 'index.js' ? gate : { reports: 'report.json' }), job: '{"id": 501}' }
  const trusting = { ...pullRequestEnvironment(job, github.url), NODE_EXTRA_CA_CERTS: authority }
  return startAction(programPath(program), job, { ...defaults, ...inputs }, { env: { ...trusting, ...env } }).ended
}

/** The kubeconfig of the server, with other settings of its cluster and user. */
function kubeconfig(cluster: object = {}, user: object = { token: 'clean' }): string {
  const document = JSON.parse(server.kubeconfig())
  Object.assign(document.clusters[0].cluster, cluster)
  Object.assign(document.users[0].user, user)
  return JSON.stringify(document)
}

const withoutAuthority = { 'certificate-authority-data': undefined }
const unverified = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
const extras = { 'github-token': 'ghs_sesame0123456789' }

it.each([
  ['commit-status', 'repos/create-commit-status'],
  ['deployment', 'repos/create-deployment-status'],
  ['comment', 'issues/create-comment'],
])('%s alone reaches GitHub although the kubeconfig has an authority of its own', async (extra, operation) => {
  const ended = await run({ inputs: { ...extras, 'report-to': extra } })
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
  expect(ended.log).not.toContain('::warning')
  expect(github.requests.map((request) => request.operation)).toContain(operation)
})

it('the merge of reports reaches GitHub', async () => {
  const ended = await run({ program: 'merge.js', inputs: { ...extras, 'report-to': 'commit-status' } })
  expect(ended.exitCode).toBe(0)
  expect(github.requests.map(({ operation }) => operation)).toContain('repos/create-commit-status')
})

it('certificates of the cluster are verified even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
  const ended = await run({ inputs: { kubeconfig: kubeconfig(withoutAuthority) }, env: unverified })
  expect(ended).toMatchObject({ exitCode: 1, outputs: { outcome: 'misconfigured' } })
  expect(ended.log).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored.')
  expect(server.requests).toEqual([])
})

it('certificates of the cluster are not verified if the kubeconfig turns that off', async () => {
  const cluster = { ...withoutAuthority, 'insecure-skip-tls-verify': true }
  const ended = await run({ inputs: { kubeconfig: kubeconfig(cluster) } })
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready' } })
})

it.each(['index.js', 'merge.js'] as const)('%s always verifies the certificates of GitHub', async (program) => {
  const cluster = { ...withoutAuthority, 'insecure-skip-tls-verify': true }
  const settings: Record<string, string> = program === 'index.js' ? { kubeconfig: kubeconfig(cluster) } : {}
  const env = { ...unverified, NODE_EXTRA_CA_CERTS: undefined }
  const ended = await run({ program, inputs: { ...settings, ...extras, 'report-to': 'commit-status' }, env })
  expect(ended.exitCode).toBe(0)
  expect(ended.log).toContain('::warning')
  expect(github.requests).toEqual([])
})
