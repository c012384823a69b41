import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { pullRequestEnvironment } from '../github/action-contexts.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { make, podIs } from '../kit/objects.ts'
import { type ApiServer, type Intercept, startApiServer } from '../support/api-server.ts'
import { startCommand } from '../support/command.ts'
import { folder } from '../support/fresh-folder.ts'
import { startInProcess } from '../support/in-process-action.ts'
import { programPath } from '../support/program.ts'
import { guessResource } from '../support/resources.ts'
import { startAction } from '../support/runner.ts'
import { leaksIn, shownBy } from '../support/shown.ts'

/** Runs the action in this process. */
async function run(inputs: Record<string, string>, env: NodeJS.ProcessEnv = {}) {
  const all = { kubeconfig: server.kubeconfig({ token: planted.kubeconfigToken }), namespace: 'shop', ...inputs }
  const ended = await startInProcess(folder, all, { env: { NO_COLOR: '1', ...env } }).ended
  const shown: Record<string, string> = { ...shownBy(ended, folder), log: masked(ended.log) }
  return { ...ended, shown }
}

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

const plantedTexts = Object.values(planted).flatMap((secret) => [secret, base64(secret)])

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

test('secrets of kubeconfig, Secrets, environment and logs are in no output', async () => {
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
  const shown: Record<string, string> = {
    ...shownBy(ended, folder),
    log: masked(ended.log),
    'what GitHub got': JSON.stringify(github.requests.map(({ body }) => body)),
  }
  // The evidence is shown, without the secrets.
  const { 'summary file': _, outputs: __, ...quoting } = shown
  for (const text of Object.values(quoting)) expect(text).toMatch(/cannot log in with \\*"\*\*\*\\*"/)
  expect(leaksIn(shown, plantedTexts)).toEqual([])
})

test('secrets that a failing credential plugin prints are in no output', async () => {
  const document = JSON.parse(server.kubeconfig())
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'sh',
    args: ['-c', 'echo "cannot log in with \\"$CLIENT_SECRET\\"" >&2; exit 1'],
    env: [{ name: 'CLIENT_SECRET', value: planted.execEnvironment }],
  }
  document.users = [{ name: 'test', user: { exec } }]
  const { outputs, shown } = await run({ kubeconfig: JSON.stringify(document), resources: 'deployment/web' })
  expect(outputs).toMatchObject({ outcome: 'misconfigured', reason: 'credentials-expired' })
  // Markdown escapes the stars.
  for (const text of Object.values(shown)) expect(text).toMatch(/(\\{0,2}\*){3}/)
  expect(leaksIn(shown, plantedTexts)).toEqual([])
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

const password = 'correct-horse-battery-1'
const quoted = `cannot log in with "${password}"`

/** A pod that has failed, with an event, a status and a log that quote the password. */
function applyFailedPod(spec: object = {}): void {
  const pod = make.barePod({
    metadata: { name: 'migrate' },
    spec: { restartPolicy: 'Never', ...spec },
    status: { ...podIs.dead(1, 0, { message: quoted }), phase: 'Failed' },
  })
  server.apply(pod)
  server.apply(make.event(pod, { container: 'app', reason: 'Failed', message: quoted }))
  server.setLog({ namespace: 'shop', pod: 'migrate', container: 'app' }, `${quoted}\n`)
}

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db', namespace: 'shop' },
  data: { password: Buffer.from(password).toString('base64') },
} as KubeObject

/** Answers requests to a path 20 ms later. */
function late(part: string): Intercept {
  return async ({ path }) => {
    await pause(path.includes(part) ? 20 : 0)
    return 'answer' as const
  }
}

const runLate = (resources: string) =>
  run({ resources, record: join(folder, 'recording.ndjson.gz'), 'stream-logs': 'pod/migrate' })

test('a password is in no output if its Secret is listed 20 ms after the event that quotes it', async () => {
  applyFailedPod()
  server.apply(secret)
  server.intercept(late('/secrets'))
  const { shown } = await runLate('pod/migrate secret/db')
  expect(leaksIn(shown, [password])).toEqual([])
  // The evidence is there, without the password.
  for (const where of ['log', 'summary', 'report', 'recording']) expect(shown[where]).toMatch(/cannot log in with/)
})

test('a password is in no output if the pod template that contains it is listed 20 ms later', async () => {
  applyFailedPod()
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop', uid: 'job' },
    spec: {
      template: { spec: { containers: [make.container({ env: [{ name: 'DB_PASSWORD', value: password }] })] } },
    },
    status: { conditions: [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded', message: quoted }] },
  } as unknown as KubeObject
  server.apply(job)
  server.intercept(late('/jobs'))
  expect(leaksIn((await runLate('pod/migrate job/migrate')).shown, [password])).toEqual([])
})

test('a list that never answers does not block the log', async () => {
  applyFailedPod()
  server.apply(secret)
  server.ignore(({ path }) => path.includes('/secrets'))
  const startedAt = Date.now()
  const { shown } = await runLate('pod/migrate secret/db')
  expect(shown['log']).toContain('cannot log in with')
  expect(Date.now() - startedAt).toBeLessThan(60_000)
})

test.each(['status', 'changes', 'changes -o json'])(
  'the view %s does not show a password whose Secret is listed 20 ms later',
  async (view) => {
    applyFailedPod()
    server.apply(secret)
    server.intercept(late('/secrets'))
    writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig({ token: planted.kubeconfigToken }))
    const argv = `${view} pod/migrate secret/db -n shop --kubeconfig ${join(folder, 'kubeconfig')}`.split(' ')
    const { stdout, ended, cancel } = startCommand(argv)
    await stdout.until('cannot log in with')
    await pause(300)
    cancel()
    await ended
    expect(stdout.text).toMatch(/cannot log in with/)
    expect(stdout.text).not.toContain(password)
  },
)

/** Values of the gated Secret, each as a custom resource quotes it. */
const quotes = {
  letters: ['swordfishing', 'swordfishing'],
  blanks: ['correct horse battery', 'correct horse battery'],
  url: ['p@ss/word-01', encodeURIComponent('p@ss/word-01')],
  json: ['quoted"word-02', JSON.stringify('quoted"word-02').slice(1, -1)],
  basic: ['basic-word-03', base64('admin:basic-word-03')],
} as const
const texts = Object.values(quotes).map(([, quoted]) => quoted)
const readable = [...texts, ...Object.values(quotes).map(([value]) => value), base64('basic-word-03').slice(4, 12)]
const chartValue = 'chart-value-04'
const fieldValue = 'field-value-05'
const annotationValue = 'annotation-value-06'

test('the values of a Secret are in no output, however a custom resource quotes them', async () => {
  server.discovery.serve(guessResource('example.com/v1', 'Widget'))
  server.discovery.serve(guessResource('helm.toolkit.fluxcd.io/v2', 'HelmRelease'))
  const text = [...texts, `\x1b[32m${quotes.letters[0]}\x1b[0m`, fieldValue, annotationValue].join(' | ')
  const annotations = {
    note: JSON.stringify({ login: text }),
    copy: JSON.stringify({ spec: { login: text } }),
    settings: JSON.stringify({ apiKey: annotationValue }),
  }
  server.apply({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'shop', generation: 1, annotations },
    spec: { login: text, adminPassword: fieldValue },
    status: {
      observedGeneration: 1,
      error: text,
      reason: texts[0],
      failures: [{ cause: text }],
      conditions: [{ type: 'Ready', status: 'False', reason: 'LoginFailed', message: text }],
    },
  } as unknown as KubeObject)
  server.apply({
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: { name: 'r', namespace: 'shop', generation: 1 },
    spec: { values: { db: { password: chartValue } } },
    status: {
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'False', reason: 'InstallFailed', message: `with ${chartValue}` }],
    },
  } as unknown as KubeObject)
  const data = Object.fromEntries(Object.entries(quotes).map(([name, [value]]) => [name, base64(value)]))
  const metadata = { name: 'db', namespace: 'shop' }
  const switches = { flag: base64('true'), app: base64('web'), zone: base64('default') }
  server.apply({ apiVersion: 'v1', kind: 'Secret', metadata, data: { ...data, ...switches } } as KubeObject)
  const resources = 'widget/w helmrelease/r secret/db'
  const record = join(folder, 'recording.ndjson.gz')
  const { shown } = await run({ resources, timeout: '2s', record })
  expect(leaksIn(shown, [...readable, chartValue, fieldValue, annotationValue])).toEqual([])
  for (const where of ['log', 'summary', 'report', 'recording'] as const) expect(shown[where]).toMatch(/\*\*\*|\\\*/)
  // Common words in a Secret do not make the rest unreadable.
  expect(shown['recording']).toContain('"status":"False"')
  expect(shown['report']).toContain('"namespace": "shop"')
})
