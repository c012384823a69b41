import { type ChildProcess, execFileSync, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createDeployment, createPod, createReplicaSet, createWorkloads, type Workload } from './bench-objects.ts'
import type { RolloutOrder, WriteOrder } from './bench-workers.ts'
import {
  type Bounds,
  type Reaction,
  type Results,
  type Run,
  reactionRounds,
  render,
  rounds,
  type Scale,
  type Simulation,
  type Soak,
  soakHours,
} from './performance-document.ts'

/**
 * Measures the start, the reaction, a large rollout, the growth, hostile input and a soak, and writes `docs/performance.md` (Linux or macOS,
 * some minutes):
 *
 *     npm run bench
 *     npm run bench -- --print          writes nothing
 *     npm run bench -- --before COMMIT  measures the `dist` of that commit too
 *
 * Ratios are those of medians of one run in which the programs alternate, so a busy machine slows all of them.
 */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-bench-'))
const bundle = join(folder, 'dist')
const kubeconfigFile = join(folder, 'kubeconfig')
const usageFile = join(folder, 'usage')
const megabyte = 1 << 20

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
    execFileSync('bash', ['-c', 'git archive "$1" dist | tar x -C "$2"', '-', before, join(folder, 'before')], {
      cwd: root,
    })
  }
  writeFileSync(join(folder, 'usage.js'), reportUsage())
  const start = await measureStart()
  const reaction = await measureReaction()
  const scales = new Map<string, Scale>()
  for (const [name, dist] of versions)
    scales.set(name, await measureScale({ deployments: 200, pods: 5_000, durationMs: 20_000 }, dist))
  const growth = [100, 300, 1_000, 3_000, 10_000, 30_000, 50_000].map(simulate)
  const bounds = new Map<string, Bounds>()
  for (const [name, dist] of versions) bounds.set(name, await measureBounds(dist))
  const soak = runWorker('soak', soakHours) as Soak
  const [loadAfter = 0] = loadavg()
  const results: Results = { load: [loadBefore, loadAfter], start, reaction, scales, growth, bounds, soak }
  const text = render(results)
  if (process.argv.includes('--print')) console.log(text)
  else writeFileSync(join(root, 'docs/performance.md'), text)
} finally {
  rmSync(folder, { recursive: true })
}

/** A module for the measured process: writes its CPU time and largest memory when it exits. */
function reportUsage(): string {
  return `import { writeFileSync } from 'node:fs'
process.on('exit', () => writeFileSync(${JSON.stringify(usageFile)}, JSON.stringify(process.resourceUsage())))`
}

async function startServer(order: RolloutOrder): Promise<{ server: ChildProcess; workloads: readonly Workload[] }> {
  const server = fork(join(root, 'scripts/bench-workers.ts'), ['server'])
  await once(server, 'message')
  server.send(order)
  const [{ kubeconfig, workloads }] = await once(server, 'message')
  writeFileSync(kubeconfigFile, kubeconfig)
  return { server, workloads }
}

function environment(workloads: readonly Workload[]): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: folder,
    RUNNER_TEMP: folder,
    KUBECONFIG: kubeconfigFile,
    INPUT_RESOURCES: workloads.map(({ namespace, name }) => `deployment/${name} -n ${namespace}`).join('\n'),
  }
}

/** Programs that show when one finished rollout of three pods is done, and Node itself. */
async function measureStart(): Promise<ReadonlyMap<string, readonly Run[]>> {
  const { server, workloads } = await startServer({ deployments: 1, pods: 3, durationMs: 0 })
  const env = environment(workloads)
  const programs = new Map<string, readonly string[]>([
    ['kubectl rollout status', ['kubectl', 'rollout', 'status', 'deployment/app-0', '-n', 'team-0']],
    ...[...versions].map(([name, dist]) => [name, [process.execPath, join(dist, 'index.js')]] as const),
    ['Node alone', [process.execPath, '-e', '0']],
  ])
  const runs = new Map([...programs.keys()].map((name) => [name, [] as Run[]]))
  try {
    for (let round = 0; round < rounds; round += 1)
      for (const [name, command] of programs) runs.get(name)?.push(timed(command, env))
  } finally {
    server.kill()
  }
  return runs
}

/**
 * Runs a command. The shell's `time` has the CPU time of every program.
 * @param expected the exit code; another one is an error
 */
function timed(command: readonly string[], env: NodeJS.ProcessEnv, expected = 0): Run {
  const startedAt = performance.now()
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-c', `TIMEFORMAT='%3R %3U %3S'; time "$@" 2>&1`, '-', ...command],
    {
      env,
      encoding: 'utf8',
    },
  )
  const wallMs = performance.now() - startedAt
  if (status !== expected) throw new Error(`${command.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  const [real = wallMs / 1000, user = 0, system = 0] = stderr.trim().split(' ').map(Number)
  return { wallMs: real * 1000, cpuMs: (user + system) * 1000 }
}

async function measureReaction(): Promise<Reaction> {
  const server = fork(join(root, 'scripts/bench-workers.ts'), ['writes'])
  const order = async (order: WriteOrder) => {
    const answer = once(server, 'message')
    server.send(order)
    return (await answer)[0] as { readonly writtenAt: number }
  }
  const [{ kubeconfig, workloads }] = await once(server, 'message')
  writeFileSync(kubeconfigFile, kubeconfig)
  const reaction = { line: [] as number[], ready: [] as number[], failed: [] as number[] }
  try {
    for (let index = 0; index < 2 * reactionRounds; index += 1) {
      const env = environment(workloads.slice(index, index + 1))
      const gate = spawn(process.execPath, [join(bundle, 'index.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      const exit = once(gate, 'exit').then(() => Date.now())
      gate.stdout.resume()
      await order({ index, state: 'created' })
      await pause(200)
      const line = once(gate.stdout, 'data').then(() => Date.now())
      const started = await order({ index, state: 'running' })
      reaction.line.push((await line) - started.writtenAt)
      await pause(100)
      const state = index % 2 === 0 ? 'ready' : 'failed'
      const { writtenAt } = await order({ index, state })
      reaction[state].push((await exit) - writtenAt)
    }
  } finally {
    server.kill()
  }
  return reaction
}

async function measureScale(order: RolloutOrder, dist: string): Promise<Scale> {
  const { server, workloads } = await startServer(order)
  try {
    const done = once(server, 'message')
    const command = ['--import', join(folder, 'usage.js'), join(dist, 'index.js')]
    const gate = spawn(process.execPath, command, { env: environment(workloads), stdio: ['ignore', 'pipe', 'inherit'] })
    let log = ''
    gate.stdout.on('data', (chunk) => {
      log += chunk
    })
    const [code] = await once(gate, 'exit')
    const exitedAt = Date.now()
    if (code !== 0) throw new Error(`The gate of the large rollout failed:\n${log.slice(-3_000)}`)
    const [{ lastWriteAt, podEvents, tookMs, requests }] = await done
    const { maxRSS, userCPUTime, systemCPUTime } = JSON.parse(readFileSync(usageFile, 'utf8'))
    const cpuMs = (userCPUTime + systemCPUTime) / 1000
    return { rssMb: (maxRSS * 1024) / megabyte, cpuMs, exitMs: exitedAt - lastWriteAt, podEvents, tookMs, requests }
  } finally {
    server.kill()
  }
}

/** What a tenant, a manifest or a slow API server may cost a gate. None of these rollouts becomes ready. */
async function measureBounds(dist: string): Promise<Bounds> {
  const replay = (lines: readonly object[]) => {
    const file = join(folder, 'bounds.ndjson')
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    return timed(
      [process.execPath, join(dist, 'cli.js'), 'replay', file],
      { PATH: process.env['PATH'], HOME: folder },
      1,
    )
  }
  const bounds = { events: replay(recordedEvents(4_000)), missing: replay(recordedAbsence(1_000)) }
  const server = fork(join(root, 'scripts/bench-workers.ts'), ['pages'])
  try {
    const [{ kubeconfig, workloads }] = await once(server, 'message')
    writeFileSync(kubeconfigFile, kubeconfig)
    const env = { ...environment(workloads), INPUT_TIMEOUT: '8s' }
    return { ...bounds, list: timed([process.execPath, join(dist, 'index.js')], env, 1) }
  } finally {
    server.kill()
  }
}

function recordedAt(ms: number): string {
  return new Date(Date.UTC(2025, 0, 15, 12) + ms).toISOString()
}

function recordingHeader(workloads: readonly Workload[]): object {
  const resources = workloads.map(({ namespace, name }) => `deployment/${name} -n ${namespace}`)
  return {
    recording: 'rollout-gate/v1',
    startedAt: recordedAt(0),
    server: 'v1.34.4',
    context: 'bench',
    inputs: { resources },
  }
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
  return [
    recordingHeader(workloads),
    ...objects.map((object) => ({ at: time, type: 'ADDED', object })),
    ...kinds.map(({ apiVersion, kind }) => ({ at: time, type: 'SYNCED', apiVersion, kind, namespace })),
    ...Array.from({ length: count }, (_, index) => ({
      at: recordedAt(index * 10),
      type: 'ADDED',
      object: event(index),
    })),
    { at: recordedAt(count * 10), type: 'END' },
  ]
}

/** A recording of Deployments that are never created, each in a namespace of its own. */
function recordedAbsence(count: number): readonly object[] {
  const workloads = createWorkloads(count, 1).map((workload, index) => ({ ...workload, namespace: `shop-${index}` }))
  const at = recordedAt(0)
  const synced = { at, type: 'SYNCED', apiVersion: 'apps/v1', kind: 'Deployment' }
  return [
    recordingHeader(workloads),
    ...workloads.map(({ namespace }) => ({ ...synced, namespace })),
    { at: recordedAt(40_000), type: 'END' },
  ]
}

function simulate(pods: number): Simulation {
  const simulation = runWorker('simulate', pods) as Simulation
  if (simulation.outcome !== 'ready') throw new Error(`The rollout of ${pods} pods ended ${simulation.outcome}`)
  return simulation
}

/** Runs a worker to its end. Returns what it prints. */
function runWorker(task: string, size: number): unknown {
  const output = execFileSync(process.execPath, [join(root, 'scripts/bench-workers.ts'), task, String(size)])
  return JSON.parse(String(output))
}
