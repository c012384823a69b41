import { join } from 'node:path'
import { rolledOut } from '../cli/objects.ts'
import { useWorkFolder } from '../cli/work-folder.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { server } from '../support/fresh-server.ts'

/** A control sequence, a text direction, an invisible tag and a command of the runner. */
const hostile = 'a\u009b31mb\u202ec\u{e0041}d\u061ce##[error]f'
const unsafe = /[\u009b\u202e\u061c\u{e0041}]|##\[/u
const web = {
  ...rolledOut(),
  status: {
    observedGeneration: 1,
    conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'X', message: hostile }],
  },
}

useWorkFolder(() => server.kubeconfig({ namespace: 'shop' }))

beforeEach(() => {
  server.apply(web)
})

const contains = (json: string) =>
  JSON.stringify(JSON.parse(json)).includes('a\u009b31mb\u202ec\u{e0041}d\u061ce##[error]f')

test('wait --json and replay --json escape the characters that control a terminal, and lose none', async () => {
  const record = join(process.cwd(), 'recording.ndjson')
  const flags = ['--stall-timeout=1s', '--json']
  const { stdout } = await runCommand(['wait', 'deployment/web', ...flags, `--record=${record}`])
  expect(stdout).not.toMatch(unsafe)
  expect(contains(stdout)).toBe(true)
  const replayed = await runCommand(['replay', record, '--json'])
  expect(replayed.stdout).not.toMatch(unsafe)
  expect(contains(replayed.stdout)).toBe(true)
})

test('changes -o json escapes the characters that control a terminal', async () => {
  const command = startCommand(['changes', 'deployment/web', '-o', 'json'])
  await command.stdout.until('\n')
  command.cancel()
  const { stdout } = await command.ended
  expect(stdout).not.toMatch(unsafe)
  expect(contains(stdout)).toBe(true)
})
