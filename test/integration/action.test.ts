import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventObject, Pod } from '../../src/cluster/objects.ts'
import { reportSchema } from '../../src/gate/report-schema.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { contractViolations } from '../cluster/contract.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'
import { folder } from '../support/fresh-folder.ts'
import { startInProcess } from '../support/in-process-action.ts'
import { namespaceOf, openRecording, playAll } from '../support/play-recording.ts'
import { programPath } from '../support/program.ts'
import { recordingPath, replayRecording } from '../support/recordings.ts'
import { type ActionRun, type StartedAction, startAction } from '../support/runner.ts'
import { testWithSignals } from '../support/signals.ts'

const token = 'sesame-open-0123456789'
let server: ApiServer

async function serve(options: ApiServerOptions = {}): Promise<void> {
  await server?.close()
  server = await startApiServer(options)
}

beforeEach(async () => {
  await serve()
})

afterEach(async () => {
  await server.close()
})

/** Starts the action in this process. */
function start(inputs: Record<string, string>, env: NodeJS.ProcessEnv = {}): StartedAction {
  const defaults = { kubeconfig: server.kubeconfig({ token }), resources: 'deployment/web' }
  return startInProcess(folder, { ...defaults, ...inputs }, { env: { NO_COLOR: '1', ...env } })
}

/** Starts the action as the runner does. */
function startProcess(inputs: Record<string, string>): StartedAction {
  const defaults = { kubeconfig: server.kubeconfig({ token }), resources: 'deployment/web' }
  return startAction(programPath('index.js'), folder, { ...defaults, ...inputs }, { env: { NO_COLOR: '1' } })
}

/** Runs the action to its end, and checks the rules for every run. */
async function run(inputs: Record<string, string>, startIt = start): Promise<ActionRun> {
  return checked(await startIt(inputs).ended)
}

function checked(ended: ActionRun): ActionRun {
  expect(contractViolations(ended, [token, Buffer.from(token).toString('base64')])).toEqual([])
  const commands = ended.log.split('\n').flatMap((line) => /^\s*::([\w-]+)/.exec(line)?.[1] ?? [])
  const known = ['add-mask', 'group', 'endgroup', 'error', 'warning']
  expect(commands.filter((command) => !known.includes(command))).toEqual([])
  expect(ended.log).not.toContain('##[')
  reportSchema.parse(reportOf(ended))
  return ended
}

function reportOf({ outputs }: ActionRun): unknown {
  return JSON.parse(readFileSync(outputs['report'] ?? '', 'utf8'))
}

/** Adds a death to each container of a pod during the wait: deaths before the gate alone prove nothing. */
function dieOnceMore({ metadata: { name, namespace = '' }, status }: Pod): void {
  const finishedAt = new Date(Date.now() + server.clockOffsetMs).toISOString()
  const containerStatuses = status?.containerStatuses?.map((container) => ({
    ...container,
    restartCount: (container.restartCount ?? 0) + 1,
    lastState: { terminated: { exitCode: 3, ...container.lastState?.terminated, finishedAt } },
  }))
  server.patch({ apiVersion: 'v1', kind: 'Pod', namespace, name }, { status: { containerStatuses } })
}

/** The log without masks. */
function logOf({ log }: ActionRun): string {
  return log.replaceAll(/^::add-mask::.*\n/gm, '')
}

function outputsOf({ outputs }: ActionRun, name: string): { readonly message?: string }[] {
  return JSON.parse(outputs[name] ?? '[]')
}

function errorsOf({ log }: ActionRun): string[] {
  return [...log.matchAll(/^::error[^:]*::(.*)$/gm)].map(([, message]) => message ?? '')
}

describe('a rollout that becomes ready', () => {
  test('passes the job, with its timeline in the log and the summary', async () => {
    const namespace = await namespaceOf('update')
    const player = await openRecording(server, recordingPath('update'), { shiftTimes: true })
    await player.stepUntil(({ type }) => type === 'SYNCED')
    for (let rest = 3; rest > 0; rest--) await player.stepUntil(({ type }) => type === 'SYNCED')
    const action = startProcess({ namespace })
    await action.watching
    await player.play({ speed: Number.POSITIVE_INFINITY })
    const ended = checked(await action.ended)
    expect(ended.exitCode).toBe(0)
    expect(ended.outputs).toMatchObject({ outcome: 'ready', reason: '', 'failed-resources': '[]' })
    expect(ended.outputs['slowest-milestone']).toMatch(/^deployment\.apps\/web \w+ [\d.]+s$/)
    const lines = logOf(ended).split('\n')
    expect(lines[0]).toMatch(/^Rollout Gate · context test · 1 target in gate-update-\w+ · timeout 10m · stall 5m$/)
    const order = ['generation 2 observed', 'available', '✓ ready in'].map((words) =>
      lines.findIndex((line) => line.includes(words)),
    )
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(order).not.toContain(-1)
    expect(errorsOf(ended)).toEqual([])
    expect(ended.summary).toBe(readFileSync(ended.outputs['summary-file'] ?? '', 'utf8'))
    expect(ended.summary).toContain('Rollout ready')
  })

  test('passes the job with a warning if another change supersedes it and on-superseded is pass', async () => {
    const namespace = await namespaceOf('second-apply')
    const player = await openRecording(server, recordingPath('second-apply'), { shiftTimes: true })
    await player.stepUntil(({ type }) => type === 'SYNCED')
    for (let rest = 3; rest > 0; rest--) await player.stepUntil(({ type }) => type === 'SYNCED')
    const action = start({ namespace, 'on-superseded': 'pass' })
    await action.watching
    await player.play({ speed: Number.POSITIVE_INFINITY })
    const ended = await action.ended
    expect(ended).toMatchObject({ exitCode: 0, outputs: { outcome: 'superseded', reason: 'superseded' } })
    expect(errorsOf(ended)).toEqual([])
    expect(ended.log).toMatch(/^::warning title=deployment\/web%3A /m)
  })

  test('passes the job with a kubeconfig in base64 and without outputs and summary', async () => {
    const namespace = await playAll(server, 'already-finished')
    const kubeconfig = Buffer.from(server.kubeconfig({ token })).toString('base64')
    const env = { GITHUB_OUTPUT: undefined, GITHUB_STEP_SUMMARY: undefined }
    const ended = await start({ namespace, kubeconfig }, env).ended
    expect(ended.exitCode).toBe(0)
    expect(logOf(ended)).not.toMatch(/^::/m)
    expect(logOf(ended)).not.toContain(token)
    expect(logOf(ended)).not.toContain(kubeconfig)
  })

  test('passes the job with a warning if the job summary cannot be written', async () => {
    const namespace = await playAll(server, 'already-finished')
    const env = { GITHUB_STEP_SUMMARY: join(folder, 'no', 'such', 'folder', 'summary.md') }
    const ended = await start({ namespace }, env).ended
    expect(ended.exitCode).toBe(0)
    expect(ended.outputs).toMatchObject({ outcome: 'ready' })
    expect(ended.log).toMatch(/^::warning::The job summary could not be written: /m)
  })

  test('writes no job summary with summary: false', async () => {
    const namespace = await playAll(server, 'already-finished')
    const ended = await start({ namespace, summary: 'false' }).ended
    expect(ended).toMatchObject({ exitCode: 0, summary: '', outputs: { outcome: 'ready' } })
    expect(readFileSync(ended.outputs['summary-file'] ?? '', 'utf8')).toContain('Rollout ready')
  })

  test('passes the job with messages if pods and events cannot be read', async () => {
    const namespace = await playAll(server, 'already-finished')
    server.deny({ verb: '*', resource: 'pods' })
    server.deny({ verb: '*', resource: 'events' })
    const ended = await run({ namespace, 'settle-time': '1s' })
    expect(ended.outputs['outcome']).toBe('ready')
    expect(logOf(ended)).toContain('Pods cannot be read: continuing with what')
    expect(logOf(ended)).toContain('Events cannot be read: continuing with what')
  })

  test('is recorded, and the replay gives the same report', async () => {
    const namespace = await namespaceOf('pod-killed')
    const player = await openRecording(server, recordingPath('pod-killed'), { shiftTimes: true })
    for (let rest = 4; rest > 0; rest--) await player.stepUntil(({ type }) => type === 'SYNCED')
    const record = join(folder, 'recording.ndjson.gz')
    const action = startProcess({ namespace, record })
    await action.watching
    for (let moment = 0; (await player.step()) !== undefined; moment++) if (moment % 20 === 0) server.cutWatches()
    const ended = checked(await action.ended)
    const { runRecord, damage } = await replayRecording(record)
    expect(damage).toEqual([])
    expect(buildReport(runRecord)).toEqual(reportOf(ended))
    expect(readFileSync(record).includes(token)).toBe(false)
  })
})

describe('a rollout that fails', () => {
  test('fails the job with the reason and the evidence', async () => {
    const namespace = await playAll(server, 'image-not-found')
    const ended = await run({ namespace }, startProcess)
    expect(ended.exitCode).toBe(1)
    expect(ended.outputs).toMatchObject({ outcome: 'failed', reason: 'image-not-found' })
    expect(JSON.parse(ended.outputs['failed-resources'] ?? '')).toMatchObject([
      { target: 'deployment.apps/web', outcome: 'failed', reason: 'image-not-found' },
    ])
    expect(errorsOf(ended).join('\n')).toContain('127.0.0.1:5995/app:v9')
    expect(logOf(ended)).toMatch(/^::group::✗ deployment\/web: evidence$/m)
    expect(logOf(ended)).toMatch(/│ .*Failed to pull image/)
  })

  test('prints one error annotation, and fails the step with exit code 1', async () => {
    const namespace = await playAll(server, 'image-not-found')
    const ended = await run({ namespace })
    expect(errorsOf(ended)).toHaveLength(1)
    expect(ended.exitCode).toBe(1)
    const sentence = outputsOf(ended, 'failed-resources')[0]?.message ?? ''
    expect(sentence).not.toBe('')
    const log = logOf(ended)
      .split('\n')
      .filter((line) => !line.startsWith('::error'))
    expect(log.filter((line) => line.includes(sentence)).length).toBeLessThanOrEqual(2)
  })

  test('ends as not-found if its name does not exist', async () => {
    const ended = await run({ resources: 'deployment/wbe', 'milestone-timeouts': 'created=1s' })
    expect(errorsOf(ended)).toHaveLength(1)
    expect(ended.outputs).toMatchObject({ outcome: 'failed', reason: 'not-found' })
    expect(errorsOf(ended).join('\n')).toContain('deployment/wbe')
  })

  test('prints hostile logs and messages without runner commands', async () => {
    const namespace = await playAll(server, 'crash-loop')
    // The rollout ended a minute ago, so no clock delays the verdict.
    server.clockOffsetMs += 60_000
    const attack =
      'first\n::error::pwned\r::set-output name=outcome::ready\n  ::add-mask::web\n##[error]pwned\n%0A::stop-commands::x\n'
    const pods = server.store.list({ group: '', plural: 'pods' }) ?? []
    for (const { metadata } of pods) {
      const log = { namespace, pod: metadata.name, container: 'app' }
      server.setLog(log, attack)
      server.setLog({ ...log, previous: true }, attack)
    }
    for (const event of (server.store.list({ group: '', plural: 'events' }) ?? []) as EventObject[]) {
      const ref = { apiVersion: 'v1', kind: 'Event', namespace, name: event.metadata.name }
      server.patch(ref, { message: `${event.message}${attack}` })
    }
    const action = start({ namespace })
    await action.watching
    for (const pod of pods as Pod[]) dieOnceMore(pod)
    const ended = checked(await action.ended)
    expect(ended.outputs).toMatchObject({ outcome: 'failed', reason: 'crash-loop' })
    expect(logOf(ended)).toMatch(/│ : :error::pwned/)
    expect(errorsOf(ended)).not.toContain('pwned')
    expect(logOf(ended)).not.toMatch(/^\s*::add-mask::web/m)
  })
})

describe('invalid input', () => {
  test('is reported at once before any request to the cluster', async () => {
    const ended = await run(
      {
        timeout: 'soon',
        'max-restarts': '-1',
        resources: 'deployment/web\ndeployment/web/x y',
        kubeconfig: '/no/such/kubeconfig',
        'health-check-exprs': 'no-checks.yaml',
      },
      startProcess,
    )
    expect(ended.exitCode).toBe(1)
    expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'input-invalid' })
    const mistakes = errorsOf(ended)
    expect(new Set(mistakes).size).toBe(mistakes.length)
    const errors = mistakes.join('\n')
    const files = ['/no/such/kubeconfig', 'no-checks.yaml']
    for (const words of ['timeout', '"soon"', 'max-restarts', '"-1"', 'resources, line 2', ...files])
      expect(errors).toContain(words)
    expect(server.requests).toEqual([])
  })

  test('is a kind that the server does not have, reported with the nearest', async () => {
    const ended = await run({ resources: 'deploymnet/web' })
    expect(errorsOf(ended)).toHaveLength(1)
    expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'kind-unknown' })
    expect(errorsOf(ended).join('\n')).toMatch(/deploymnet.*deployment/)
  })

  test('is a kind that the server of ~/.kube/config lacks, after a log line that names this kubeconfig', async () => {
    const home = join(folder, 'home')
    mkdirSync(join(home, '.kube'), { recursive: true })
    writeFileSync(join(home, '.kube/config'), server.kubeconfig({ token }))
    const inputs = { kubeconfig: '', resources: 'deploymnet/web' }
    const env = { HOME: home, KUBERNETES_SERVICE_HOST: '127.0.0.1' }
    const ended = checked(await startAction(programPath('index.js'), folder, inputs, { env }).ended)
    expect(logOf(ended)).toContain('The input kubeconfig is empty, so ~/.kube/config is used.')
    expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'kind-unknown' })
  })

  test('is a token that the server refuses', async () => {
    await serve({ tokens: ['another'] })
    const ended = await run({})
    expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'credentials-expired' })
  })

  test('is a certificate that is not trusted', async () => {
    await serve({ tls: true })
    const kubeconfig = JSON.parse(server.kubeconfig({ token }))
    delete kubeconfig.clusters[0].cluster['certificate-authority-data']
    const ended = await run({ kubeconfig: JSON.stringify(kubeconfig) })
    expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'api-unreachable' })
    expect(errorsOf(ended).join('\n')).toContain('certificate-authority-data')
  })

  test('is a selector of what may not be listed', async () => {
    const namespace = await playAll(server, 'already-finished')
    server.deny({ verb: 'list', group: 'apps', resource: 'deployments' })
    const ended = await run({ namespace, resources: 'deployment -l app=web' })
    expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'forbidden' })
    const [error] = errorsOf(ended)
    expect(error).toContain(`may not list Deployment -l app=web in namespace ${namespace} on the cluster`)
    expect(error).toContain('deployments.apps is forbidden')
    expect(error).toContain(
      `kubectl create role rollout-gate-reader --verb=get,list,watch --resource=deployments.apps -n ${namespace}`,
    )
  })

  test('is a target that cannot be read', async () => {
    const namespace = await playAll(server, 'already-finished')
    server.deny({ verb: '*', group: 'apps', resource: 'deployments' })
    const ended = await run({ namespace })
    expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'forbidden' })
    expect(errorsOf(ended)).toHaveLength(1)
    expect(errorsOf(ended)[0]).toContain(
      `create role rollout-gate-reader --verb=get,list,watch --resource=deployments.apps -n ${namespace}`,
    )
  })

  test.each(['deployment/web', 'deployment -l app=web'])(
    'is missing access to %s, reported once with all permissions that the gate needs',
    async (resources) => {
      const namespace = await playAll(server, 'already-finished')
      server.deny({ verb: '*', resource: '*', namespace })
      const ended = await run({ namespace, resources })
      expect(ended.outputs).toMatchObject({ outcome: 'misconfigured', reason: 'forbidden' })
      const [error] = errorsOf(ended)
      expect(error).toContain(
        `Grant user system:serviceaccount:ci:deployer what is missing in namespace ${namespace}: ` +
          `\`kubectl create role rollout-gate-reader --verb=get,list,watch --resource=deployments.apps,replicasets.apps,pods,pods/log,events -n ${namespace}\`, ` +
          `then \`kubectl create rolebinding rollout-gate-reader --role=rollout-gate-reader --serviceaccount=ci:deployer -n ${namespace}\`.`,
      )
    },
  )

  test('is missing access, without what may be read', async () => {
    const namespace = await playAll(server, 'already-finished')
    for (const resource of ['deployments', 'events']) server.deny({ verb: '*', resource, namespace })
    const [error] = errorsOf(await run({ namespace }))
    expect(error).toContain('--resource=deployments.apps,events -n')
  })

  test('is missing access, also to logs although pods may be read', async () => {
    const namespace = await playAll(server, 'already-finished')
    for (const resource of ['deployments', 'pods/log']) server.deny({ verb: '*', resource, namespace })
    const [error] = errorsOf(await run({ namespace }))
    expect(error).toContain('--resource=deployments.apps,pods/log -n')
  })
})

describe('a job that is cancelled', () => {
  testWithSignals.each(['SIGINT', 'SIGTERM'] as const)(
    'by %s ends within 5 s, with outputs and summary',
    async (signal) => {
      const namespace = await playAll(server, 'cancelled')
      const action = startProcess({ namespace })
      await action.watching
      const sentAt = Date.now()
      action.kill(signal)
      const ended = checked(await action.ended)
      expect(ended.endedAt - sentAt).toBeLessThan(5_000)
      expect(ended.outputs).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' })
      expect(ended.exitCode).toBe(1)
      expect(errorsOf(ended)).toEqual([])
      expect(ended.summary).toContain('cancelled')
    },
  )

  testWithSignals('before it has seen anything ends as well', async () => {
    const namespace = await playAll(server, 'cancelled')
    server.hang(true)
    const action = startProcess({ namespace })
    await server.until(({ requests }) => requests.length > 0)
    action.kill('SIGINT')
    expect(checked(await action.ended).outputs).toMatchObject({ outcome: 'cancelled' })
  })
})
