import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { startInProcess } from '../support/in-process-action.ts'
import { playAll } from '../support/play-recording.ts'
import type { ActionRun } from '../support/runner.ts'

/** Runs the action on manifests, and on the server that a recording leaves behind. */
async function run(
  recording: string,
  files: Record<string, string>,
  manifests: string,
  env: NodeJS.ProcessEnv = {},
  { inputs = {}, live = {} }: { readonly inputs?: Record<string, string>; readonly live?: Record<string, string> } = {},
): Promise<ActionRun> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, 'workspace', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const namespace = await playAll(server, recording)
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: 'web' }
  if (Object.keys(live).length > 0) server.patch(ref, { metadata: { annotations: live } })
  const all = { kubeconfig: server.kubeconfig(), namespace, manifests, ...inputs }
  return startInProcess(folder, all, { env: { NO_COLOR: '1', ...env } }).ended
}

const web = `# The shop's front.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 7
`

test('the objects of manifests are gated, and a warning at the line names the fields in which the live object differs', async () => {
  const ended = await run('already-finished', { 'k8s/web.yaml': web }, 'k8s/')
  const { exitCode, outputs, log, summary } = ended
  expect({ exitCode, outcome: outputs['outcome'] }).toEqual({ exitCode: 0, outcome: 'ready' })
  expect(log).toMatch(
    /^::warning file=k8s\/web\.yaml,line=7::deployment\/web: the live object differs from k8s\/web\.yaml:2: spec\.replicas is \d, not 7 \(line 7\)$/m,
  )
  expect(summary).toContain('the live object differs from k8s/web.yaml:2')
})

describe('a failed rollout that an annotation excludes', () => {
  const skip = web.replace('  name: web\n', '  name: web\n  annotations: {rollout-gate/skip: "true"}\n')
  const waits = skip.replace('skip: "true"', 'for: create')

  test('of its manifest, which waits for its creation alone, passes, which is reported', async () => {
    const used = await run('image-name-invalid', { 'k8s/web.yaml': waits }, 'k8s/')
    expect(used.outputs['outcome']).toBe('ready')
    expect(used.summary).toContain('- rollout-gate/for=create of deployment/web')
    const report = JSON.parse(readFileSync(used.outputs['report'] ?? '', 'utf8'))
    expect(report.annotations).toEqual(['rollout-gate/for=create of deployment/web'])
  })

  test.each([
    ['waits for its creation alone', waits],
    ['skips it', skip],
  ])('of its manifest, which %s, fails if resources names it', async (_, text) => {
    const inputs = { resources: 'deployment/web' }
    const { outputs } = await run('image-name-invalid', { 'k8s/web.yaml': text }, 'k8s/', {}, { inputs })
    expect(outputs).toMatchObject({ outcome: 'failed', reason: 'image-name-invalid' })
  })

  test.each(['for', 'skip', 'timeout', 'stall-timeout', 'mistake'])(
    'has no effect of its live annotation rollout-gate/%s',
    async (name) => {
      const live = { [`rollout-gate/${name}`]: { for: 'create', skip: 'true' }[name] ?? '1ms' }
      const ended = await run('image-name-invalid', { 'k8s/web.yaml': web }, 'k8s/', {}, { live })
      expect(ended.outputs).toMatchObject({ outcome: 'failed', reason: 'image-name-invalid' })
      expect(ended.summary).not.toContain(`rollout-gate/${name}`)
    },
  )
})

test('a failure is annotated in the manifest', async () => {
  const { exitCode, outputs, log } = await run('image-name-invalid', { 'k8s/web.yaml': web }, 'k8s/*.yaml')
  expect({ exitCode, reason: outputs['reason'] }).toEqual({ exitCode: 1, reason: 'image-name-invalid' })
  expect(log).toMatch(/^::error title=deployment\/web[^:]*,file=k8s\/web\.yaml,line=\d+::/m)
})

test('a failure is linked to the manifest in the commit, and not to a file that a step rendered', async () => {
  const checkout = join(folder, 'workspace/src')
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: checkout })
  mkdirSync(checkout, { recursive: true })
  writeFileSync(join(checkout, 'web.yaml'), web)
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'x')
  const sha = git('rev-parse', 'HEAD').toString().trim()
  const env = { GITHUB_REPOSITORY: 'acme/shop', GITHUB_SHA: sha, GITHUB_SERVER_URL: 'https://github.example' }
  const { log, summary } = await run('image-name-invalid', {}, 'src/*.yaml', env)
  expect(log).toMatch(/^::error title=deployment\/web[^:]*,file=web\.yaml,line=\d+::/m)
  expect(summary).toMatch(`](https://github.example/acme/shop/blob/${sha}/web.yaml#L`)

  const rendered = await run('image-name-invalid', { 'src/rendered.yaml': web }, 'src/rendered.yaml', env)
  expect(rendered.log).toMatch(/^::error title=deployment\/web[^:,]*(:[^:,]+)?::.*%0Asrc\/rendered\.yaml, line \d+$/m)
  expect(rendered.summary).toMatch(/`src\/rendered\.yaml` line \d+/)
  expect(rendered.summary).not.toContain('/blob/')
})

test('mistakes in manifests are reported with file and line, together with those of the inputs', async () => {
  const files = { 'k8s/a.yaml': 'kind: [\n', 'k8s/b.yaml': `${web}---\nkind: Service\n` }
  const { exitCode, outputs, log } = await run('already-finished', files, 'k8s\nprod/*.yaml')
  expect({ exitCode, outcome: outputs['outcome'] }).toEqual({ exitCode: 1, outcome: 'misconfigured' })
  expect(log).toContain('::error::manifests, line 2: Nothing matches "prod/*.yaml" in the workspace.\n')
  expect(log).toContain('::error::k8s/a.yaml, line 2: This is not valid YAML: ')
  expect(log).toContain('::error::k8s/b.yaml, line 9: This object has no apiVersion and metadata.name.')
})
