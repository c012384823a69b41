import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildReport } from '../../src/report/json-report.ts'
import { runCli, startCli } from '../cli/process.ts'
import { contractViolations } from '../cluster/contract.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { startInProcess } from '../support/in-process-action.ts'
import { programPath } from '../support/program.ts'
import { replayRecording } from '../support/recordings.ts'
import { type StartedAction, startAction } from '../support/runner.ts'
import { testWithSignals } from '../support/signals.ts'

const token = 'sesame-open-0123456789'
const log = { namespace: 'shop', pod: 'migrate-x7k2p', container: 'app' }

/** A Job with a pod of one container. */
function applyJob(): void {
  const selector = { matchLabels: { job: 'migrate' } }
  const { metadata } = server.apply({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', namespace: 'shop' },
    spec: { selector, backoffLimit: 0 },
    status: { active: 1, startTime: server.now().toISOString() },
  })
  server.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: log.pod,
      namespace: 'shop',
      labels: selector.matchLabels,
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: 'migrate', uid: metadata.uid ?? '', controller: true },
      ],
    },
    spec: { restartPolicy: 'Never', nodeName: 'node', containers: [{ name: 'app', image: 'app' }] },
    status: {
      phase: 'Running',
      containerStatuses: [
        { name: 'app', restartCount: 0, state: { running: { startedAt: server.now().toISOString() } } },
      ],
    },
  })
}

/** The container ends, and the Job with it. */
function end(condition: 'Complete' | 'Failed'): void {
  const exitCode = condition === 'Complete' ? 0 : 3
  const finishedAt = server.now().toISOString()
  const pod = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: log.pod }
  server.patch(pod, {
    status: {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [{ name: 'app', restartCount: 0, state: { terminated: { exitCode, finishedAt } } }],
    },
  })
  server.patch(
    { apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop', name: 'migrate' },
    {
      status: {
        active: 0,
        [exitCode === 0 ? 'succeeded' : 'failed']: 1,
        conditions: [
          { type: condition, status: 'True', lastTransitionTime: finishedAt, reason: 'BackoffLimitExceeded' },
        ],
      },
    },
  )
}

interface Running extends StartedAction {
  /** Resolves once the log contains the text. */
  readonly until: (text: string) => Promise<void>
}

function start(inputs: Record<string, string> = {}, startIt = startInProcess): Running {
  let printed = ''
  const waiting = new Set<() => void>()
  const onText = (text: string) => {
    printed += text
    for (const look of waiting) look()
  }
  const all = { kubeconfig: server.kubeconfig({ token, namespace: 'shop' }), resources: 'job/migrate', ...inputs }
  const action = startIt(folder, { 'stream-logs': 'job/migrate', ...all }, { env: { NO_COLOR: '1' }, onText })
  const until = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (printed.includes(text)) resolve()
      }
      waiting.add(look)
      look()
      void action.ended.then(() => reject(new Error(`It ended without ${text}:\n${printed}`)))
    })
  return { ...action, until }
}

async function linesOf(action: StartedAction): Promise<{ lines: string[]; outputs: Record<string, string> }> {
  const ended = await action.ended
  expect(contractViolations(ended, [token])).toEqual([])
  return { lines: ended.log.split('\n').filter((line) => !line.startsWith('::add-mask')), outputs: ended.outputs }
}

const streamed = (lines: readonly string[]) =>
  lines.flatMap((line) => /^ +\d+:\d\d {2}job\/migrate {2}(x7k2p app [│·].*)$/.exec(line)?.[1] ?? [])

describe('the lines of a migration', () => {
  test('are in the log while it runs, and its last lines are before the verdict', async () => {
    applyJob()
    server.setLog(log, 'migrating 1 of 2\n')
    const action = start()
    await action.until('x7k2p app │ migrating 1 of 2')
    server.appendLog(log, 'migrating 2 of 2\n')
    await action.until('x7k2p app │ migrating 2 of 2')
    server.appendLog(log, 'done\n')
    server.endLog(log)
    end('Complete')
    const { lines, outputs } = await linesOf(action)
    expect(outputs['outcome']).toBe('ready')
    expect(streamed(lines)).toEqual([
      'x7k2p app │ migrating 1 of 2',
      'x7k2p app │ migrating 2 of 2',
      'x7k2p app │ done',
    ])
    const places = ['app │ done', 'job/migrate  ✓ ready', '✓ Rollout ready'].map((text) =>
      lines.findIndex((line) => line.includes(text)),
    )
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })

  test('are printed before its failure and are also its evidence', async () => {
    applyJob()
    server.setLog(log, 'start\n')
    const action = start()
    await action.until('app │ start')
    server.appendLog(log, 'no such table\n')
    server.endLog(log)
    end('Failed')
    const { lines, outputs } = await linesOf(action)
    expect(outputs).toMatchObject({ outcome: 'failed', reason: 'job-failed' })
    const last = lines.findIndex((line) => line.includes('app │ no such table'))
    const verdict = lines.findIndex((line) => line.includes('job/migrate  ✗ failed'))
    expect([last > 0, verdict > last]).toEqual([true, true])
  })

  test('never become runner commands', async () => {
    applyJob()
    server.setLog(log, '::error::pwned\n  ::stop-commands::x\n##[error]pwned\n\x1b[2Jwiped\rover\n')
    server.endLog(log)
    end('Complete')
    const { lines } = await linesOf(start())
    expect(lines.filter((line) => /^\s*::|##\[|\x1b/.test(line))).toEqual([])
    expect(streamed(lines)).toEqual([
      'x7k2p app │ : :error::pwned',
      'x7k2p app │   : :stop-commands::x',
      'x7k2p app │ ## [error]pwned',
      'x7k2p app │ wiped over',
    ])
  })

  test('continue after a broken stream without repeating or losing a line', async () => {
    applyJob()
    server.setLog(log, 'one\ntwo\n')
    const action = start()
    await action.until('app │ two')
    server.appendLog(log, 'three\n')
    server.cutWatches()
    server.appendLog(log, 'four\n')
    await action.until('app │ four')
    server.appendLog(log, 'five\n')
    server.endLog(log)
    end('Complete')
    const { lines, outputs } = await linesOf(action)
    expect(outputs['outcome']).toBe('ready')
    expect(streamed(lines)).toEqual(['one', 'two', 'three', 'four', 'five'].map((text) => `x7k2p app │ ${text}`))
  })

  test('cause one warning and no other verdict if they cannot be read', async () => {
    applyJob()
    server.deny({ verb: 'get', resource: 'pods/log' })
    const action = start()
    await action.until('Logs require permission')
    end('Complete')
    const { lines, outputs } = await linesOf(action)
    expect(outputs['outcome']).toBe('ready')
    expect(lines.filter((line) => line.startsWith('::warning::'))).toEqual([
      expect.stringMatching(/^::warning::The log of pod migrate-x7k2p, container app cannot be shown: pods/),
    ])
  })

  testWithSignals('do not keep a cancelled job from ending if the Job never ends', async () => {
    applyJob()
    server.setLog(log, 'one\n')
    const action = start({}, (...job) => startAction(programPath('index.js'), ...job))
    await action.until('app │ one')
    const sentAt = Date.now()
    action.kill('SIGINT')
    const ended = await action.ended
    expect(ended.outputs['outcome']).toBe('cancelled')
    expect(ended.endedAt - sentAt).toBeLessThan(5_000)
  })
})

test('a recording with stream-logs contains no streamed line and replays to the same report', async () => {
  applyJob()
  server.setLog(log, 'one\n')
  const record = join(folder, 'recording.ndjson')
  const action = start({ record })
  await action.until('app │ one')
  server.endLog(log)
  end('Complete')
  const { outputs } = await linesOf(action)
  const { runRecord } = await replayRecording(record)
  expect(buildReport(runRecord)).toEqual(JSON.parse(readFileSync(outputs['report'] ?? '', 'utf8')))
  expect(readFileSync(record, 'utf8')).not.toMatch(/stream-logs|"type":"LOG"/)
})

testWithSignals('the command line shows streamed log lines even while it records', async () => {
  applyJob()
  server.setLog(log, 'one\n')
  server.endLog(log)
  end('Complete')
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig({ token, namespace: 'shop' }))
  const options = { env: { KUBECONFIG: kubeconfig, NO_COLOR: '1' } }
  const waiting = runCli(['wait', 'job/migrate', '--stream-logs', 'job/migrate'], options)
  const recording = startCli(
    [
      'record',
      'job/migrate',
      '-o',
      join(folder, 'job.ndjson'),
      '--stream-logs=deploy --all',
      '--stream-logs=job/migrate',
    ],
    options,
  )
  expect(await waiting).toMatchObject({ code: 0, stdout: expect.stringMatching(/app │ one\n.*✓ ready/) })
  // Its first flag selects Deployments, which are not gated.
  expect(await recording.ended).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^--stream-logs deploy --all: /),
  })
  const again = startCli(
    ['record', 'job/migrate', '-o', join(folder, 'job.ndjson'), '--stream-logs=job/migrate'],
    options,
  )
  await again.until('app │ one')
  again.interrupt()
  expect(await again.ended).toMatchObject({ code: 130, stdout: expect.stringContaining('Recorded') })
})

test('a line of stream-logs whose object is not gated is rejected at the start', async () => {
  applyJob()
  const { lines, outputs } = await linesOf(start({ 'stream-logs': '\njob/migrat' }))
  expect(outputs).toMatchObject({ outcome: 'misconfigured', reason: 'input-invalid' })
  expect(lines.join('\n')).toContain(
    'stream-logs, line 2: job/migrat is not among the gated resources. Name it in resources, too.',
  )
})

test('mistakes in resources and in stream-logs are reported together', async () => {
  const { lines, outputs } = await linesOf(start({ resources: 'deploymnt/web', 'stream-logs': 'jbo/migrate' }))
  expect(outputs).toMatchObject({ outcome: 'misconfigured', reason: 'kind-unknown' })
  expect(lines.join('\n')).toMatch(/resources, line 1: .*deploymnt[\s\S]*stream-logs, line 1: .*jbo/)
})
