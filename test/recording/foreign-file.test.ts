import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { unobserved } from '../cli/objects.ts'
import { useWorkFolder } from '../cli/work-folder.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { openReplay } from '../support/recordings.ts'

useWorkFolder()

const startedAt = '2026-03-01T12:00:00Z'
const synced = { at: startedAt, type: 'SYNCED', apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop' }
const added = (at: string) => ({ at, type: 'MODIFIED', object: unobserved() })

function write(inputs: object, ...lines: readonly object[]): void {
  const all = { resources: 'deployment/web', namespace: 'shop', timeout: '0', 'stall-timeout': '0', ...inputs }
  const header = { recording: 'rollout-gate/v1', startedAt, inputs: all }
  writeFileSync(
    'gate.ndjson',
    [header, added(startedAt), synced, ...lines].map((line) => JSON.stringify(line)).join('\n'),
  )
}

const commands = [
  ['replay', 'gate.ndjson'],
  ['trace', '--recording', 'gate.ndjson'],
  ['why', '--recording', 'gate.ndjson'],
  ['changes', '--recording', 'gate.ndjson'],
]

describe.each(commands)('the command %s', (...args) => {
  const inputs = [
    ['health-check-exprs', 'pipe'],
    ['health-check-exprs', '/dev/zero'],
    ['health-check-exprs', '/dev/stdin'],
    ['health-check-exprs', 'gate.ndjson'],
    ['kubeconfig', 'pipe'],
    ['manifests', 'pipe'],
    ['record', 'pipe'],
  ]

  // A named pipe without a writer blocks who opens it, and with it this test.
  test.each(inputs)('does not open the file of the recorded input %s: %s', async (name, value) => {
    if (process.platform !== 'win32') execFileSync('mkfifo', ['pipe'])
    write({ [name]: value })
    const { stderr } = await runCommand(args)
    expect(stderr).not.toContain('YAML')
    if (name === 'health-check-exprs')
      expect(stderr).toContain(
        `gate.ndjson, line 1: the recorded gate used the health checks in ${value}: pass the file`,
      )
  })

  test.each(['2027-03-01T12:00:00Z', '9999-12-31T23:59:59Z'])(
    'rejects a recorded line with the far time %s',
    async (at) => {
      write({}, added(at), added(at))
      const start = performance.now()
      const { stderr } = await runCommand(args)
      expect(stderr).toContain('gate.ndjson, line 4: its moment is more than 35 d after the start')
      expect(performance.now() - start).toBeLessThan(5_000)
    },
  )
})

const foreignEvent = { apiVersion: 'example.com/v1', kind: 'Event', metadata: { name: 'x', namespace: 'shop' } }

test.each([
  ['a failure with an object', { ...synced, type: 'ERROR', code: 500, message: 'down', object: 5 }],
  ['a list with an object', { ...synced, object: {} }],
  ['an Event of another group without text', { object: { ...foreignEvent, involvedObject: {}, message: 5 } }],
  ['an Event of another group about nothing', { object: { ...foreignEvent, involvedObject: null } }],
])('%s does not crash a command', async (_, line) => {
  write({}, line, { at: startedAt, type: 'END' })
  for (const args of commands) {
    const { code, stderr } = await runCommand(args)
    expect(stderr).not.toContain('itself failed')
    expect([0, 1, 130]).toContain(code)
  }
})

test.each(['replay', 'trace', 'why', 'changes', 'status'])(
  'a signal ends the command %s while it reads a long recording',
  async (name) => {
    write({}, ...Array.from({ length: 100_000 }, () => added('2026-03-01T12:00:01Z')))
    const file = name === 'replay' ? 'gate.ndjson' : '--recording=gate.ndjson'
    const run = startCommand([name, file])
    const started = performance.now()
    setImmediate(run.cancel)
    expect(await run.ended).toEqual({ code: 130, stdout: '', stderr: '' })
    expect(performance.now() - started).toBeLessThan(5_000)
  },
)

test('a signal ends a replay at once, even during hours without events', async () => {
  write({}, added('2026-04-04T00:00:00Z'))
  const cancelled = new AbortController()
  let entries = 0
  const onEntry = () => {
    // The first entry asks for the signal; it arrives by the event loop.
    if (entries++ === 0) setTimeout(() => cancelled.abort())
  }
  const ignore = () => {}
  const reporter = { onStart: ignore, onEntry, onLog: ignore, onWarning: ignore }
  const run = await openReplay('gate.ndjson', { cancelled: cancelled.signal, reporter })
  const gate = await run.runGate()
  expect(gate.verdict?.outcome).toBe('cancelled')
  expect(gate.record().finishedAt).toBeLessThan(Date.parse('2026-04-04T00:00:00Z'))
})
