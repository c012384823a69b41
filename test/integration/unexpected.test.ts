import { jest } from '@jest/globals'
import { make } from '../kit/objects.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { type ActionRun, startAction } from '../support/runner.ts'
import { testWithSignals } from '../support/signals.ts'

const token = 'sesame-open-0123456789'
/** A message that gives the runner commands, as a server could send it. */
const hostile = `first ${token}\n::error::second\n  ##[group]third\n\x1b[2Jfourth`

const inputs = () => ({ kubeconfig: server.kubeconfig({ token }), resources: 'deployment/web', namespace: 'shop' })

function expectSafe({ exitCode, log, outputs }: ActionRun): void {
  expect(exitCode).toBe(1)
  expect(outputs).toMatchObject({ outcome: 'unknown', message: 'Rollout Gate itself failed' })
  const printed = log.split('\n').filter((line) => !line.startsWith('::add-mask::'))
  expect(printed.filter((line) => /^\s*::/.test(line))).toEqual([
    '::error::Rollout Gate itself failed. Please report it with the lines below.',
  ])
  const text = printed.join('\n')
  expect(text).toContain('first ***')
  expect(text).toContain('fourth')
  for (const words of [token, '##[', '\x1b[2J']) expect(text).not.toContain(words)
}

describe('an internal error is printed without secrets and runner commands', () => {
  test('inside the gate', async () => {
    jest.unstable_mockModule('../../src/run/live-run.ts', () => ({
      planLiveRun: () => Promise.reject(new Error(hostile)),
    }))
    const { startInProcess } = await import('../support/in-process-action.ts')
    expectSafe(await startInProcess(folder, { ...inputs(), 'github-token': token }).ended)
  })

  testWithSignals('outside of the gate', async () => {
    const thrown = `process.on('SIGUSR2', () => { throw new Error(${JSON.stringify(hostile)}) })`
    const env = { NO_COLOR: '1', NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(thrown)}"` }
    server.apply(make.deployment())
    const action = startAction(programPath('index.js'), folder, inputs(), { env })
    await action.watching
    action.process.kill('SIGUSR2')
    expectSafe(await action.ended)
  })
})
