import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reportSchema } from '../../src/gate/report-schema.ts'
import { renderReport } from '../../src/report/json-report.ts'
import { contractViolations } from '../cluster/contract.ts'
import { createEventContext, headSha, pullRequestEnvironment, writeEnvironment } from '../github/action-contexts.ts'
import { startGitHub } from '../github/github-server.ts'
import { storeWrites } from '../github/stored-writes.ts'
import { records } from '../report/recorded.ts'
import { folder } from '../support/fresh-folder.ts'
import { startInProcess } from '../support/in-process-action.ts'
import { programPath } from '../support/program.ts'
import { type ActionRun, startAction } from '../support/runner.ts'

/** Writes the reports of the cases to `reports/<name>/report.json` of the workspace. */
function writeReports(reports: Readonly<Record<string, string>>): void {
  for (const [name, key] of Object.entries(reports)) {
    const record = records[key]
    if (record === undefined) throw new Error(`no case ${key}`)
    write(`reports/${name}/report.json`, renderReport({ ...record, run: { id: '77', attempt: 1, commit: headSha } }))
  }
}

function write(path: string, text: string): void {
  const file = join(folder, 'workspace', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

async function run(inputs: Record<string, string>, env: NodeJS.ProcessEnv = {}): Promise<ActionRun> {
  const ended = await startInProcess(folder, inputs, { env: { NO_COLOR: '1', ...env }, action: 'merge' }).ended
  expect(contractViolations(ended, [])).toEqual([])
  return ended
}

function errorsOf({ log }: ActionRun): string[] {
  return [...log.matchAll(/^::error[^:]*::(.*)$/gm)].map(([, message]) => message ?? '')
}

const reports = 'prod-eu=reports/eu/report.json\nprod-us=reports/us/report.json'

it('reports of ready gates pass the job without a kubeconfig', async () => {
  writeReports({ eu: 'one-ready', us: 'all-ready' })
  const ended = await run({ reports }, { KUBECONFIG: '/nowhere' })
  expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'ready', 'duration-seconds': '31' } })
  expect(ended.log.split('\n').slice(0, 3)).toEqual([
    'Rollout Gate · 2 gates · 4 targets',
    '  prod-eu  ✓ ready in 31 s: 1 of 1 target',
    '  prod-us  ✓ ready in 31 s: 3 of 3 targets',
  ])
  expect(ended.summary).toMatch(/^### ✅ Rollout ready in 31 s · 4 targets of 2 gates\n/)
  const report = reportSchema.parse(JSON.parse(readFileSync(ended.outputs['report'] ?? '', 'utf8')))
  expect(report.gates?.map(({ name }) => name)).toEqual(['prod-eu', 'prod-us'])
})

it('a failed gate fails the job with one annotation and the resources of all gates', async () => {
  writeReports({ eu: 'missing-image', us: 'all-ready' })
  const ended = await run({ reports })
  expect(ended).toMatchObject({ exitCode: 1, outputs: { outcome: 'failed', reason: 'image-not-found' } })
  expect(ended.outputs['message']).toMatch(/^prod-eu: deployment\/web/)
  expect(errorsOf(ended)).toHaveLength(1)
  const [first] = JSON.parse(ended.outputs['failed-resources'] ?? '[]')
  expect(first).toMatchObject({ target: 'deployment.apps/web', gate: 'prod-eu' })
})

it('a missing report fails the job as unknown', async () => {
  writeReports({ eu: 'one-ready' })
  const ended = await run({ reports })
  expect(ended).toMatchObject({ exitCode: 1, outputs: { outcome: 'unknown', reason: 'report-missing' } })
})

it('a superseded gate passes the job with on-superseded: pass', async () => {
  writeReports({ eu: 'superseded', us: 'one-ready' })
  expect(await run({ reports })).toMatchObject({ exitCode: 1, outputs: { outcome: 'superseded' } })
  const passed = await startInProcess(folder, { reports, 'on-superseded': 'pass' }, { action: 'merge' }).ended
  expect(passed).toMatchObject({ exitCode: 0, outputs: { outcome: 'superseded' } })
})

it('all inputs that only a gate has are rejected at once', async () => {
  writeReports({ eu: 'one-ready', us: 'one-ready' })
  const ended = await run({ reports, resources: 'deployment/web', timeout: '5' })
  expect(ended.outputs['outcome']).toBe('misconfigured')
  const message = expect.stringMatching(/^(?:resources|timeout): This action has no input of this name\./)
  expect(errorsOf(ended)).toEqual([message, message])
})

it('the action rejects an empty input reports', async () => {
  expect(errorsOf(await run({}))).toEqual([
    'reports: No report is named. Write one path per line, like reports/prod-eu/report.json.',
  ])
})

it('the extra deployment is rejected unless a deployment triggered the workflow', async () => {
  writeReports({ eu: 'one-ready', us: 'one-ready' })
  const github = await startGitHub()
  const written = storeWrites(github)
  const inputs = { reports, 'report-to': 'deployment', 'github-token': 'ghs_sesame0123456789' }
  // The program reads the address of the API once.
  const start = (env: NodeJS.ProcessEnv) => startAction(programPath('merge.js'), folder, inputs, { env }).ended
  const refused = await start(pullRequestEnvironment(folder, github.url))
  expect(errorsOf(refused)).toEqual([
    'report-to: No deployment triggered this workflow, and a merge creates none. Write `deployment` in the gates.',
  ])
  expect(github.requests).toEqual([])
  const deployed = createEventContext('deployment', { deployment: { id: 5, sha: headSha } })
  expect(await start(writeEnvironment(folder, github.url, deployed))).toMatchObject({ exitCode: 0 })
  await github.close()
  expect(written.deployments).toEqual([])
  expect(written.deploymentStatuses).toMatchObject([{ deployment: 5, state: 'success' }])
})

it('a file that is no report is rejected with its name', async () => {
  write('reports/eu/report.json', 'kind: Config')
  const ended = await run({ reports })
  expect(ended.outputs['outcome']).toBe('misconfigured')
  expect(errorsOf(ended)).toEqual([
    'reports/eu/report.json: It is no report of this version of Rollout Gate. Name the file of the output `report`.',
  ])
})

it('the extras on GitHub show the merged outcome', async () => {
  writeReports({ eu: 'one-ready', us: 'missing-image' })
  const github = await startGitHub()
  const written = storeWrites(github)
  const extras = { 'github-token': 'ghs_sesame0123456789', 'report-to': 'commit-status, comment', name: 'All clusters' }
  const env = pullRequestEnvironment(folder, github.url)
  const ended = await startInProcess(folder, { reports, ...extras }, { env, action: 'merge' }).ended
  await github.close()
  expect(github.breaches).toEqual([])
  expect(ended.exitCode).toBe(1)
  expect(written.statuses).toMatchObject([{ context: 'All clusters', state: 'failure' }])
  expect(written.comments[0]?.['body']).toContain('deployment/web in prod-us')
})
