import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { pullRequestEnvironment } from '../github/action-contexts.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { make, podIs } from '../kit/objects.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { folder } from '../support/fresh-folder.ts'
import { programPath } from '../support/program.ts'
import { startAction } from '../support/runner.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A different secret for each place, so that a leak names its place. */
const planted = {
  kubeconfigToken: 'sesame-kubeconfig-token-01',
  kubeconfigPassword: 'sesame-kubeconfig-password-02',
  kubeconfigKey: 'sesame-kubeconfig-key-03',
  execEnvironment: 'sesame-exec-environment-04',
  execArgument: 'sesame-exec-argument-05',
  proxyPassword: 'sesame-proxy-password-06',
  serverPassword: 'sesame-server-password-07',
  secretData: 'sesame-secret-data-08',
  secretStringData: 'sesame-secret-string-data-09',
  secretLastApplied: 'sesame-secret-last-applied-10',
  environment: 'sesame-environment-11',
  environmentBefore: 'sesame-environment-12',
  lastApplied: 'sesame-last-applied-13',
  managedField: 'sesame-managed-field-14',
  configMapData: 'sesame-config-map-data-15',
  probeHeader: 'sesame-probe-header-16',
  gitHubToken: 'ghs_sesame0123456789',
}

let server: ApiServer
let github: GitHubServer

beforeEach(async () => {
  server = await startApiServer({ tokens: [planted.kubeconfigToken] })
  github = await startGitHub()
  github.handlers.set('issues/list-comments', () => ({ status: 200, body: [] }))
})

afterEach(async () => {
  await Promise.all([server.close(), github.close()])
})

function kubeconfig(): string {
  const document = JSON.parse(server.kubeconfig({ token: planted.kubeconfigToken }))
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'login',
    args: ['--client-secret', planted.execArgument],
    env: [{ name: 'CLIENT_SECRET', value: planted.execEnvironment }],
  }
  document.users.push(
    { name: 'basic', user: { username: 'admin', password: planted.kubeconfigPassword } },
    { name: 'key', user: { 'client-key-data': base64(planted.kubeconfigKey) } },
    { name: 'exec', user: { exec } },
  )
  document.clusters.push({
    name: 'other',
    cluster: {
      server: `https://admin:${planted.serverPassword}@127.0.0.1:1`,
      'proxy-url': `http://ci:${planted.proxyPassword}@127.0.0.1:2`,
    },
  })
  return JSON.stringify(document)
}

/** All known secrets that a container could print. */
const confession = [
  planted.kubeconfigToken,
  planted.kubeconfigPassword,
  planted.kubeconfigKey,
  planted.execEnvironment,
  planted.execArgument,
  planted.proxyPassword,
  planted.serverPassword,
  planted.secretData,
  base64(planted.secretData),
  planted.secretStringData,
  planted.environment,
  planted.gitHubToken,
]
  .map((secret) => `cannot log in with "${secret}"`)
  .join('\n')

function applySecretsEverywhere(): void {
  const environment = [
    { name: 'DB_PASSWORD', value: planted.environment },
    { name: 'MODE', value: planted.environmentBefore },
  ]
  const headers = [{ name: 'Authorization', value: planted.probeHeader }]
  const container = make.container({
    args: ['--token', planted.kubeconfigToken],
    env: environment,
    readinessProbe: { httpGet: { path: '/', httpHeaders: headers } as object },
  })
  const metadata = {
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ env: planted.lastApplied }),
      'made-with': planted.kubeconfigToken,
    },
    managedFields: [{ manager: 'kubectl', fieldsV1: { 'f:spec': { [`k:${planted.managedField}`]: {} } } } as object],
  }
  const deployment = make.deployment({ metadata, spec: { template: make.template({ containers: [container] }) } })
  const before = make.container({
    args: ['--token', planted.gitHubToken],
    env: [{ name: 'DB_PASSWORD', value: 'old' }],
  })
  server.apply(deployment)
  server.apply(
    make.replicaSet(
      { metadata: { name: 'web-1', annotations: { 'deployment.kubernetes.io/revision': '2' } } },
      deployment,
    ),
  )
  server.apply(
    make.replicaSet(
      {
        metadata: { name: 'web-0', annotations: { 'deployment.kubernetes.io/revision': '1' } },
        spec: { template: make.template({ containers: [before] }) },
      },
      deployment,
    ),
  )
  const pod = make.barePod({
    metadata: { name: 'migrate', ...metadata },
    spec: { restartPolicy: 'Never', containers: [container] },
    status: { ...podIs.dead(1, 0, { message: confession }), phase: 'Failed' },
  })
  server.apply(pod)
  server.apply(make.event(pod, { container: 'app', reason: 'Failed', message: confession }))
  server.setLog({ namespace: 'shop', pod: 'migrate', container: 'app' }, `${confession}\n`)
  const copy = { 'kubectl.kubernetes.io/last-applied-configuration': planted.secretLastApplied }
  server.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'db', namespace: 'shop', annotations: copy },
    data: { password: base64(planted.secretData) },
    stringData: { other: planted.secretStringData },
  } as KubeObject)
  server.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'shop' },
    data: { url: planted.configMapData },
  } as KubeObject)
}

test('secrets of kubeconfig, Secrets, environment and logs are shown nowhere', async () => {
  applySecretsEverywhere()
  const record = join(folder, 'recording.ndjson.gz')
  const inputs = {
    kubeconfig: kubeconfig(),
    namespace: 'shop',
    // Secrets come first, so that their values are known when a log is read.
    resources: 'secret/db configmap/settings deployment/web pod/migrate',
    record,
    'github-token': planted.gitHubToken,
    'report-to': 'commit-status, comment, deployment',
  }
  const env = pullRequestEnvironment(folder, github.url)
  const ended = await startAction(programPath('index.js'), folder, inputs, { env }).ended
  expect(ended.outputs).toMatchObject({ outcome: 'failed', reason: 'pod-failed' })
  const read = (path: string | undefined) => readFileSync(path ?? '', 'utf8')
  const shown = {
    log: masked(ended.log),
    summary: ended.summary,
    report: read(ended.outputs['report']),
    'summary-file': read(ended.outputs['summary-file']),
    recording: gunzipSync(readFileSync(record)).toString(),
    outputs: JSON.stringify(ended.outputs),
    'what GitHub got': JSON.stringify(github.requests.map(({ body }) => body)),
  }
  // The evidence is shown, without the secrets.
  for (const text of [shown.log, shown.summary, shown.report, shown.recording, shown['what GitHub got']])
    expect(text).toMatch(/cannot log in with \\*"\*\*\*\\*"/)
  expect(leaks(shown)).toEqual([])
})

test('secrets that a program for credentials prints when it fails are shown nowhere', async () => {
  const document = JSON.parse(server.kubeconfig())
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'sh',
    args: ['-c', 'echo "cannot log in with \\"$CLIENT_SECRET\\"" >&2; exit 1'],
    env: [{ name: 'CLIENT_SECRET', value: planted.execEnvironment }],
  }
  document.users = [{ name: 'test', user: { exec } }]
  const inputs = { kubeconfig: JSON.stringify(document), resources: 'deployment/web' }
  const ended = await startAction(programPath('index.js'), folder, inputs, { env: { NO_COLOR: '1' } }).ended
  expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'credentials-expired' })
  const shown = {
    log: masked(ended.log),
    summary: ended.summary,
    report: readFileSync(ended.outputs['report'] ?? '', 'utf8'),
    outputs: JSON.stringify(ended.outputs),
  }
  // Markdown escapes the stars.
  for (const text of Object.values(shown)) expect(text).toMatch(/(\\{0,2}\*){3}/)
  expect(leaks(shown)).toEqual([])
})

/** The log as the runner shows it: it executes the masking commands, and masks their values in all later lines. */
function masked(log: string): string {
  const secrets: string[] = []
  const lines = log.split('\n').flatMap((line) => {
    const secret = /^::add-mask::(.*)$/.exec(line)?.[1]
    if (secret !== undefined) secrets.push(secret.replaceAll('%25', '%'))
    return secret === undefined ? [secrets.reduce((text, each) => text.replaceAll(each, '***'), line)] : []
  })
  return lines.join('\n')
}

function leaks(shown: Readonly<Record<string, string>>): string[] {
  return Object.entries(shown).flatMap(([where, text]) =>
    Object.entries(planted).flatMap(([what, secret]) =>
      text.includes(secret) || text.includes(base64(secret)) ? [`${what} in the ${where}`] : [],
    ),
  )
}
