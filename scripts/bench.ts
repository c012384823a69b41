import { type ChildProcess, execFileSync, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createDeployment, createPod, createReplicaSet, createWorkloads, type Workload } from './bench-objects.ts'
import type { Order } from './bench-server.ts'
import { type Bounds, type Reaction, type Run, render, type Scale } from './performance-document.ts'

/**
 * Measures the start, the reaction, a large rollout and hostile input, and writes `scripts/performance.md` (Linux or macOS, some
 * minutes):
 *
 *     npm run bench
 *     npm run bench -- --print          writes nothing
 *     npm run bench -- --small --print  few rounds, small rollouts: for a change of the bench itself
 *     npm run bench -- --before COMMIT  measures the `dist` of that commit too
 *
 * Ratios are those of medians of one run in which the programs alternate, so a busy machine slows all of them.
 */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-bench-'))
const bundle = join(folder, 'dist')
const usageFile = join(folder, 'usage')
const sizes = process.argv.includes('--small')
  ? { rounds: 3, reactions: 2, deployments: 8, durationMs: 2_000, events: 400, missing: 100 }
  : { rounds: 21, reactions: 11, deployments: 200, durationMs: 20_000, events: 4_000, missing: 1_000 }
const beforeAt = process.argv.indexOf('--before')
const before = beforeAt < 0 ? undefined : process.argv[beforeAt + 1]
/** The `dist` of each measured version. */
const versions = new Map([
  ['Rollout Gate', bundle],
  ...(before === undefined ? [] : [[`at ${before}`, join(folder, 'before/dist')] as const]),
])

const [loadBefore = 0] = loadavg()

try {
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), '--published', '--into', bundle], { stdio: 'ignore' })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  if (before !== undefined) {
    mkdirSync(join(folder, 'before'))
    const archive = ['-c', 'git archive "$1" dist | tar x -C "$2"', '-', before, join(folder, 'before')]
    execFileSync('bash', archive, { cwd: root })
  }
  // The measured process writes its CPU time and largest memory when it exits.
  const usage = `writeFileSync(${JSON.stringify(usageFile)}, JSON.stringify(process.resourceUsage()))`
  writeFileSync(join(folder, 'usage.js'), `import { writeFileSync } from 'node:fs'\nprocess.on('exit', () => ${usage})`)
  const start = await withServer(measureStart)
  const reaction = await withServer(measureReaction)
  const scales = new Map<string, Scale>()
  const bounds = new Map<string, Bounds>()
  for (const [name, dist] of versions) {
    scales.set(name, await withServer((server) => measureScale(server, dist)))
    bounds.set(name, measureBounds(dist))
  }
  const [loadAfter = 0] = loadavg()
  const text = render({ sizes, load: [loadBefore, loadAfter], start, reaction, scales, bounds })
  if (process.argv.includes('--print')) console.log(text)
  else writeFileSync(join(root, 'scripts/performance.md'), text)
} finally {
  rmSync(folder, { recursive: true })
}

async function withServer<T>(measure: (server: ChildProcess) => Promise<T>): Promise<T> {
  const server = fork(join(root, 'scripts/bench-server.ts'))
  try {
    const [{ kubeconfig }] = await once(server, 'message')
    writeFileSync(join(folder, 'kubeconfig'), kubeconfig)
    return await measure(server)
  } finally {
    server.kill()
  }
}

/** Sends an order to the server. Returns its answer. */
async function ask<T>(server: ChildProcess, order: Order): Promise<T> {
  const answer = once(server, 'message')
  server.send(order)
  const [message] = await answer
  return message
}

interface Created {
  readonly workloads: readonly Workload[]
}

function environment(workloads: readonly Workload[]): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: folder,
    RUNNER_TEMP: folder,
    KUBECONFIG: join(folder, 'kubeconfig'),
    INPUT_RESOURCES: referencesTo(workloads).join('\n'),
  }
}

function referencesTo(workloads: readonly Workload[]): readonly string[] {
  return workloads.map(({ namespace, name }) => `deployment/${name} -n ${namespace}`)
}

/** Programs that show when one finished rollout of three pods is done, kubectl if there is one, and Node itself. */
async function measureStart(server: ChildProcess): Promise<ReadonlyMap<string, readonly Run[]>> {
  const { workloads } = await ask<Created>(server, { type: 'create', deployments: 1, replicas: 3, finished: true })
  const programs = new Map<string, readonly string[]>([
    ...[...versions].map(([name, dist]) => [name, [process.execPath, join(dist, 'index.js')]] as const),
    ['kubectl rollout status', ['kubectl', 'rollout', 'status', 'deployment/app-0', '-n', 'team-0']],
    ['Node alone', [process.execPath, '-e', '0']],
  ])
  if (spawnSync('kubectl', ['version', '--client']).status !== 0) programs.delete('kubectl rollout status')
  const runs = new Map([...programs.keys()].map((name) => [name, [] as Run[]]))
  for (let round = 0; round < sizes.rounds; round += 1)
    for (const [name, command] of programs) runs.get(name)?.push(timed(command, environment(workloads)))
  return runs
}

/**
 * Runs a command. The shell's `time` has the CPU time of every program.
 * @param expected the exit code; another one is an error
 */
function timed(command: readonly string[], env: NodeJS.ProcessEnv, expected = 0): Run {
  const script = `TIMEFORMAT='%3R %3U %3S'; time "$@" 2>&1`
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, '-', ...command], { env, encoding: 'utf8' })
  if (status !== expected) throw new Error(`${command.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  const [wall = Number.NaN, user = 0, system = 0] = stderr.trim().split(' ').map(Number)
  return { wallMs: wall * 1000, cpuMs: (user + system) * 1000 }
}

/** Rollouts of one pod, half of which fail: from each write to what the gate shows of it. */
async function measureReaction(server: ChildProcess): Promise<Reaction> {
  const deployments = 2 * sizes.reactions
  const { workloads } = await ask<Created>(server, { type: 'create', deployments, replicas: 1 })
  const write = async (index: number, state: (Order & { type: 'write' })['state']) => {
    const { writtenAt } = await ask<{ readonly writtenAt: number }>(server, { type: 'write', index, state })
    return writtenAt
  }
  const reaction = { line: [] as number[], ready: [] as number[], failed: [] as number[], end: [] as number[] }
  for (let index = 0; index < deployments; index += 1) {
    const env = environment(workloads.slice(index, index + 1))
    const gate = spawn(process.execPath, [join(bundle, 'index.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let lineAt = 0
    gate.stdout.on('data', () => {
      lineAt = Date.now()
    })
    const exit = once(gate, 'exit').then(() => Date.now())
    await write(index, 'scheduled')
    await pause(200)
    const line = once(gate.stdout, 'data').then(() => Date.now())
    const startedAt = await write(index, 'running')
    reaction.line.push((await line) - startedAt)
    await pause(100)
    const isFailed = index % 2 === 1
    const writtenAt = await write(index, isFailed ? 'failed' : 'ready')
    const exitedAt = await exit
    if (isFailed) reaction.failed.push(lineAt - writtenAt)
    reaction[isFailed ? 'end' : 'ready'].push(exitedAt - writtenAt)
  }
  return reaction
}

async function measureScale(server: ChildProcess, dist: string): Promise<Scale> {
  const { deployments, durationMs } = sizes
  const { workloads } = await ask<Created>(server, { type: 'create', deployments, replicas: 25 })
  const done = ask<Pick<Scale, 'podEvents' | 'requests'> & { readonly lastWriteAt: number }>(server, {
    type: 'roll-out',
    durationMs,
  })
  const command = ['--import', join(folder, 'usage.js'), join(dist, 'index.js')]
  const gate = spawn(process.execPath, command, { env: environment(workloads), stdio: ['ignore', 'pipe', 'inherit'] })
  let log = ''
  gate.stdout.on('data', (chunk) => {
    log += chunk
  })
  const [code] = await once(gate, 'exit')
  const exitedAt = Date.now()
  if (code !== 0) throw new Error(`The gate of the large rollout failed:\n${log.slice(-3_000)}`)
  const { lastWriteAt, podEvents, requests } = await done
  const { maxRSS, userCPUTime, systemCPUTime } = JSON.parse(readFileSync(usageFile, 'utf8'))
  const cpuMs = (userCPUTime + systemCPUTime) / 1000
  return { rssMb: maxRSS / 1024, cpuMs, exitMs: exitedAt - lastWriteAt, podEvents, requests }
}

/** What a tenant or a manifest may cost a gate: many events about one pod, and missing targets, replayed. */
function measureBounds(dist: string): Bounds {
  const replay = (lines: readonly object[]) => {
    const file = join(folder, 'bounds.ndjson')
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    return timed([process.execPath, join(dist, 'cli.js'), 'replay', file], environment([]), 1)
  }
  return { events: replay(recordedEvents(sizes.events)), missing: replay(recordedAbsence(sizes.missing)) }
}

function recordedAt(ms: number): string {
  return new Date(Date.UTC(2025, 0, 15, 12) + ms).toISOString()
}

function recordingHeader(workloads: readonly Workload[]): object {
  const inputs = { resources: referencesTo(workloads) }
  return { recording: 'rollout-gate/v1', startedAt: recordedAt(0), server: 'v1.34.4', context: 'bench', inputs }
}

/** A recording of a pod that does not start, and of events about it. */
function recordedEvents(count: number): readonly object[] {
  const workloads = createWorkloads(1, 1)
  const [workload] = workloads
  if (workload === undefined) throw new Error('There is no workload.')
  const { namespace } = workload
  const time = recordedAt(0)
  const pod = createPod(workload, 0, 'scheduled', time)
  const { name, uid } = pod.metadata
  const objects = [createDeployment(workload, 0, time), createReplicaSet(workload, time), pod]
  const kinds = [...objects, { apiVersion: 'v1', kind: 'Event' }]
  const event = (index: number) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `event-${index}`, namespace, uid: `event-${index}`, resourceVersion: `${index + 1}` },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    type: 'Warning',
    reason: 'Unhealthy',
    message: `probe ${index} failed`,
    lastTimestamp: recordedAt(index * 10),
  })
  const indexes = Array.from({ length: count }, (_, index) => index)
  return [
    recordingHeader(workloads),
    ...objects.map((object) => ({ at: time, type: 'ADDED', object })),
    ...kinds.map(({ apiVersion, kind }) => ({ at: time, type: 'SYNCED', apiVersion, kind, namespace })),
    ...indexes.map((index) => ({ at: recordedAt(index * 10), type: 'ADDED', object: event(index) })),
    { at: recordedAt(count * 10), type: 'END' },
  ]
}

/** A recording of Deployments that are never created, each in a namespace of its own. */
function recordedAbsence(count: number): readonly object[] {
  const workloads = createWorkloads(count, 1).map((workload, index) => ({ ...workload, namespace: `shop-${index}` }))
  const synced = { at: recordedAt(0), type: 'SYNCED', apiVersion: 'apps/v1', kind: 'Deployment' }
  return [
    recordingHeader(workloads),
    ...workloads.map(({ namespace }) => ({ ...synced, namespace })),
    { at: recordedAt(40_000), type: 'END' },
  ]
}
