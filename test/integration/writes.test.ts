import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { startInProcess } from '../support/in-process-action.ts'
import { playAll } from '../support/play-recording.ts'
import type { ActionRun } from '../support/runner.ts'

/** Gates a recorded rollout that has ended. */
async function gateEnded(
  name: string,
  inputs: Record<string, string>,
  env: NodeJS.ProcessEnv = {},
): Promise<ActionRun> {
  const namespace = await playAll(server, name)
  const all = { kubeconfig: server.kubeconfig(), resources: 'deployment/web', namespace, ...inputs }
  return startInProcess(folder, all, { env: { NO_COLOR: '1', ...env } }).ended
}

const full = '/dev/full'
const hasFullDevice = existsSync(full)
/** A disk that is full, or a folder that does not exist. */
const absent = () => join(folder, 'file', 'absent')

describe.each([
  ['the job summary', () => ({ env: { GITHUB_STEP_SUMMARY: hasFullDevice ? full : absent() } })],
  ['the report', () => ({ env: { RUNNER_TEMP: absent() } })],
  ['the report in a folder below /proc', () => ({ env: { RUNNER_TEMP: '/proc/absent/folder' } })],
  ['the recording on a full disk', () => ({ inputs: { record: hasFullDevice ? full : absent() } })],
  ['the recording in a folder that cannot be made', () => ({ inputs: { record: absent() } })],
] satisfies [string, () => { env?: NodeJS.ProcessEnv; inputs?: Record<string, string> }][])(
  'if %s cannot be written,',
  (_, where) => {
    test.each([
      ['a ready rollout', 'already-finished', 0, { outcome: 'ready', reason: '' }],
      ['a failed rollout', 'image-name-invalid', 1, { outcome: 'failed', reason: 'image-name-invalid' }],
    ])('%s keeps its outcome, with a warning', async (_title, name, exitCode, outputs) => {
      writeFileSync(join(folder, 'file'), '')
      const { env, inputs = {} } = where() as { env?: NodeJS.ProcessEnv; inputs?: Record<string, string> }
      const ended = await gateEnded(name, inputs, env)
      expect(ended).toMatchObject({ exitCode, outputs })
      expect(ended.log).toMatch(/^::warning::.*could not be written: /m)
      expect(ended.log).not.toContain('Rollout Gate itself failed')
    })
  },
)

const onLinux = hasFullDevice ? test : test.skip

onLinux('if the outputs cannot be written, the job still passes or fails by the outcome', async () => {
  const ready = await gateEnded('already-finished', {}, { GITHUB_OUTPUT: full })
  expect(ready).toMatchObject({ exitCode: 0 })
  expect(ready.log).toMatch(/^::warning::The outputs could not be written: /m)
})

const hasModes = process.platform !== 'win32' ? test : test.skip

hasModes('recording, report and summary are readable only by their owner', async () => {
  const record = join(folder, 'recording.ndjson')
  const { outputs } = await gateEnded('already-finished', { record })
  for (const path of [record, outputs['report'] ?? '', outputs['summary-file'] ?? ''])
    expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a path that leads out of the workspace by a link is rejected before it is read or written', async () => {
  const workspace = join(folder, 'workspace')
  const outside = join(folder, 'outside')
  mkdirSync(workspace, { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'checks.yaml'), 'sesame: [')
  symlinkSync(outside, join(workspace, 'link'))
  const inputs = {
    record: join(workspace, 'link', 'recording.ndjson'),
    'health-check-exprs': join(workspace, 'link', 'checks.yaml'),
  }
  const ended = await gateEnded('already-finished', inputs)
  expect(ended).toMatchObject({ exitCode: 1, outputs: { outcome: 'misconfigured' } })
  expect(ended.log).toMatch(/::error::health-check-exprs: .* leads out of the workspace by a symbolic link/)
  expect(ended.log).toMatch(/::error::record: .* leads out of the workspace by a symbolic link/)
  expect(ended.log).not.toContain('sesame')
  expect(readdirSync(outside)).toEqual(['checks.yaml'])
  expect(readFileSync(join(outside, 'checks.yaml'), 'utf8')).toBe('sesame: [')
})
