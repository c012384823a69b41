import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { commands } from '../../src/cli/commands.ts'
import { reportSchema } from '../../src/gate/report-schema.ts'
import { splitWords } from '../../src/plan/kubectl-output.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { type CommandOptions, runCommand } from '../support/command.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { testWithSignals } from '../support/signals.ts'
import { rolledOut, unobserved } from './objects.ts'
import { runCli, startCli } from './process.ts'
import { useWorkFolder } from './work-folder.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const token = 'sesame-open-0123456789'
useWorkFolder(() => server.kubeconfig({ token, namespace: 'shop' }))

/** Runs a command line with quotes, as a shell does. */
function wait(line: string, options: CommandOptions = {}) {
  return runCommand(['wait', ...(splitWords(line, () => {})?.map(({ text }) => text) ?? [])], options)
}

function hook(name: string, annotations: Record<string, string>) {
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name, annotations } }
}

/** The code, and what is printed and what is not, in which `…` stands for any other words; nothing on stderr by default. */
interface Expected {
  readonly code: number
  readonly stdout?: readonly string[]
  readonly stderr?: readonly string[]
  readonly lacks?: readonly string[]
}

test.each(rows<[string, readonly string[], string, string, Expected]>(data, 'runs'))(
  '%s',
  async (_, deployments, line, stdin, { code, stdout = [], stderr = [''], lacks = [] }) => {
    for (const each of deployments) server.apply(rolledOut(...(each.split(' in ') as [string, string?])))
    const run = await wait(line, { stdin })
    for (const words of stdout) expect(run.stdout).toMatch(toPattern(words))
    for (const words of stderr) expect(run.stderr).toMatch(toPattern(words))
    for (const words of lacks) expect(run.stdout).not.toContain(words)
    expect(run.code).toBe(code)
  },
)

describe('the command wait for a ready rollout', () => {
  test('prints one line of JSON to stdout with --json, and its log to stderr', async () => {
    server.apply(rolledOut())
    const { code, stdout, stderr } = await wait('deployment/web --json')
    expect(stdout).toMatch(/^[^\n]+\n$/)
    const report = reportSchema.parse(JSON.parse(stdout))
    expect(report).toMatchObject({ outcome: 'ready', targets: [{ target: 'deployment.apps/web', namespace: 'shop' }] })
    expect(code).toBe(0)
    expect(stderr).toContain('✓ Rollout ready')
  })

  test('writes the summary to the file of --summary, with a warning if that fails', async () => {
    server.apply(rolledOut())
    expect(await wait('deployment/web --summary=summary.md')).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync('summary.md', 'utf8')).toMatch(/^### ✅ Rollout ready in/)
    const { code, stderr } = await wait('deployment/web --summary=absent/summary.md')
    expect(code).toBe(0)
    expect(stderr).toMatch(/^--summary absent\/summary\.md: It cannot be written: /)
  })

  test('ignores a hook that Helm removed and the tests of the chart', async () => {
    server.apply(rolledOut())
    const objects = [
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
      hook('migrate', { 'helm.sh/hook': 'pre-upgrade', 'helm.sh/hook-delete-policy': 'hook-succeeded' }),
      hook('check', { 'helm.sh/hook': 'test' }),
    ]
    writeFileSync('rendered.yaml', objects.map((object) => JSON.stringify(object)).join('\n---\n'))
    const { code, stdout } = await wait('-f rendered.yaml -n shop')
    expect(code).toBe(0)
    expect(stdout).toContain(
      'rendered.yaml, line 5 is skipped (no deploy runs this hook: helm.sh/hook=test): job/check',
    )
    expect(stdout).toMatch(/job\/migrate +✓ ready in [\d.]+ s: does not exist: its tool removes it after success/)
  })

  test('accepts manifests in a file or on stdin', async () => {
    server.apply(rolledOut())
    const manifest = JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } })
    writeFileSync('web.yaml', manifest)
    for (const run of await Promise.all([wait('-f web.yaml -n shop'), wait('- -n shop', { stdin: manifest })])) {
      expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ Rollout ready') })
    }
  })

  test('accepts any state with --for, even for manifests', async () => {
    server.apply(unobserved())
    writeFileSync('web.yaml', JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } }))
    for (const line of ['-f web.yaml --for=create', 'deployment/web --for=create'])
      expect(await wait(line)).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ Rollout ready') })
  })

  test('records the gate with --record, including its references', async () => {
    server.apply(rolledOut())
    await wait("'deployment/web --stall-timeout=2m' --record web.ndjson --max-restarts=5")
    const { inputs, targets } = await readHeader('web.ndjson')
    expect(inputs).toEqual({ resources: ['deployment/web --stall-timeout=2m'], 'max-restarts': '5' })
    expect(targets).toMatchObject([{ kind: 'Deployment', name: 'web', clocks: { stallTimeoutMs: 120_000 } }])
  })
})

describe('the command wait for a rollout that is not ready', () => {
  testWithSignals('exits with 130 after Ctrl-C, with a verdict and a report', async () => {
    server.apply(unobserved())
    const run = startCli(['wait', 'deployment/web', '--json'])
    await run.until('1 target')
    await server.until(({ openWatches }) => openWatches.length > 0)
    run.interrupt()
    const { code, stdout, stderr } = await run.ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'cancelled', targets: [{ outcome: 'progressing' }] })
    expect(stderr).toContain('! Rollout cancelled')
  })

  testWithSignals('exits after Ctrl-C while a credential plugin runs', async () => {
    const listener = createServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    // What the program starts keeps its output open.
    const connect = `require('net').connect(${(listener.address() as AddressInfo).port}, '127.0.0.1').on('end', process.exit)`
    const start = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(connect)}], { stdio: 'inherit' })`
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', start] }
    const document = JSON.parse(server.kubeconfig())
    writeFileSync('plugin.json', JSON.stringify({ ...document, users: [{ name: 'test', user: { exec } }] }))
    const run = startCli(['wait', 'deployment/web', '--kubeconfig=plugin.json'])
    const [started] = await once(listener, 'connection')
    run.interrupt()
    expect(await run.ended).toMatchObject({ code: 130 })
    started.end()
    listener.close()
  })
})

describe('mistakes of the command wait', () => {
  test('exit with 2, all at once on stderr and in the report', async () => {
    const { code, stdout, stderr } = await wait("--timeout=5 deploymentweb --timout=3 --json 'a/b --stall-timeout=x'")
    expect(code).toBe(2)
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^--timeout: "5" has no unit/),
      '--timout: There is no such flag. Did you mean --timeout?',
      expect.stringMatching(/^deploymentweb: "deploymentweb" has no name/),
      expect.stringMatching(/^a\/b --stall-timeout=x: --stall-timeout: "x" is not a duration/),
      expect.stringMatching(/^a\/b --stall-timeout=x: The server has no kind "a"/),
    ])
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'misconfigured', reason: 'input-invalid', targets: [] })
  })

  test('never print a secret of the kubeconfig', async () => {
    const condition = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: `no ${token} left` }
    const { spec, ...object } = rolledOut()
    server.apply({
      ...object,
      spec: { ...spec, replicas: 1 },
      status: { observedGeneration: 1, conditions: [condition] },
    })
    const { stdout, stderr } = await wait('deployment/web --json --timeout=2s')
    for (const printed of [stdout, stderr]) expect(printed).toContain('no *** left')
    expect(`${stdout}${stderr}`).not.toContain(token)
  })

  test('about an unknown command are explained', async () => {
    expect(await runCommand(['wiat', 'a/b'])).toMatchObject({
      code: 2,
      stderr: 'rollout-gate: There is no command "wiat". Did you mean wait?\n',
    })
    expect((await runCommand(['deployment/web'])).stderr).toContain('rollout-gate wait deployment/web')
    for (const command of ['wait', 'status', 'record']) {
      expect((await runCommand([command, ...(command === 'record' ? ['-o', 'x'] : [])])).stderr).toBe(
        `REFERENCE: No resource is named. Write one: rollout-gate ${command} deployment/web\n`,
      )
    }
  })
})

describe('the program', () => {
  test('prints its version', async () => {
    for (const argument of ['--version', 'version'])
      expect(await runCli([argument])).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
        stderr: '',
      })
  })

  test('prints help for itself and for each command, with examples', async () => {
    const { code, stdout } = await runCommand(['--help'])
    expect(code).toBe(0)
    const names = commands.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['wait', 'replay', 'record', 'trace', 'status', 'changes']))
    for (const { name, summary } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} .* ${summary}$`, 'm'))
    const helps = await Promise.all(names.map((name) => runCommand([name, '--help'])))
    for (const [index, help] of helps.entries()) {
      expect(help).toMatchObject({ code: 0, stderr: '' })
      expect(help.stdout).toContain(`Examples:\n  rollout-gate ${names[index]} `)
    }
    const wait = helps[names.indexOf('wait')]?.stdout
    for (const clock of ['timeout', 'stall-timeout', 'settle-time', 'await-change'])
      expect(wait).toContain(`--${clock}=DURATION`)
    expect(wait).toContain('Maximum time of the whole gate. Default: 10m.')
    expect(wait).toContain('Flags stand for all references, wherever they are.')
    expect(helps[names.indexOf('replay')]?.stdout).not.toContain('Flags stand for all references')
    expect(helps[names.indexOf('trace')]?.stdout).not.toContain('Default: 10m')
  })

  test('is a kubectl plugin if its name is that of one', async () => {
    const link = join(process.cwd(), 'kubectl-rollout_gate')
    symlinkSync(programPath('cli.js'), link)
    const { stdout } = await runCli(['wait', '--help'], { calledAs: link })
    expect(stdout).toMatch(/^Usage: kubectl rollout-gate wait REFERENCE/)
  })

  test('prints colours only if the user asks', async () => {
    server.apply(rolledOut())
    expect((await wait('deployment/web --color')).stdout).toContain('\x1b[1mRollout Gate\x1b[0m')
    expect((await wait('deployment/web --color=auto', { env: { FORCE_COLOR: '' } })).stdout).not.toContain('\x1b')
  })
})

/** Only root may start a process as another user. */
const testAsRoot = process.getuid?.() === 0 ? test : test.skip

testAsRoot('a container user without HOME and without an entry in /etc/passwd can run the program', async () => {
  server.apply(rolledOut())
  const args = ['wait', 'deployment/web', '--kubeconfig', server.kubeconfig({ token, namespace: 'shop' })]
  const options = { uid: 54_321, gid: 54_321, env: { PATH: process.env['PATH'] }, cwd: '/' }
  const child = spawn(process.execPath, [programPath('cli.js'), ...args], options)
  const [stderr, [code]] = await Promise.all([readAll(child.stderr), once(child, 'close')])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})
