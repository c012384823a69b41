import { type ChildProcess, execFileSync, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Workload } from './bench-objects.ts'
import type { RolloutOrder, WriteOrder } from './bench-workers.ts'
import { table } from './markdown.ts'

/**
 * Measures the start, the reaction, a large rollout, the growth and a soak, and writes `docs/performance.md` (Linux or macOS,
 * some minutes):
 *
 *     npm run bench
 *     npm run bench -- --print   writes nothing
 *
 * Ratios are those of medians of one run in which the programs alternate, so a busy machine slows all of them.
 */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-bench-'))
const bundle = join(folder, 'dist')
const kubeconfigFile = join(folder, 'kubeconfig')
const usageFile = join(folder, 'usage')
const rounds = 21
const reactionRounds = 11
const soakHours = 30
const megabyte = 1 << 20

/** What was tried for a faster start, and the CPU or elapsed time that it saved when it was tried. */
const startNotes = [
  'What was tried for the start:',
  '',
  ...table(
    ['change', 'effect', ''],
    [
      [
        'The library client-node only for proxies and auth providers, the command line in a chunk of its own',
        'together CPU −29 ms: 310 KB less to compile',
        'kept',
      ],
      [
        'No bundled authorities if the cluster has its own',
        'elapsed −12 ms or more; Node waits for a thread that parses them',
        'kept',
      ],
      ['Only ASCII in the bundle', 'none', 'dropped'],
      ['Compile cache of V8', 'CPU −30 ms if the cache is warm; a fresh runner has none', 'dropped'],
      [
        'A larger young generation, no optimising compiler, lazy compilation',
        'CPU −15, −5 and 0 ms; an action cannot set them',
        'dropped',
      ],
    ],
  ),
  '',
  'Why the goal for the CPU time is missed: Node alone costs 30 ms, its modules for TLS and HTTP 25 ms with the thread that parses authorities, the bundle',
  'some 45 ms, kubeconfig 12 ms, discovery with three TLS handshakes 30 ms, lists and judgement 30 ms, results 15 ms.',
  'kubectl has one connection with HTTP/2 and needs no compiler.',
]

const scaleNotes = [
  'What was tried for the large rollout, and what each change gave when it was tried:',
  '',
  ...table(
    ['change', 'effect', ''],
    [
      ['Each pod is examined again only if it, its events or the time changed its state', 'CPU −25 %', 'kept'],
      [
        'Field sets are removed before JSON is parsed; equal parts of objects are shared by one own comparison',
        'CPU −20 %; less garbage',
        'kept',
      ],
      ["The heap's young generation stops at 8 MB", 'memory −110 MB, CPU +10 %', 'kept'],
      ["The heap's young generation stops at 2 MB", 'memory −120 MB, CPU +30 %', 'dropped'],
      ['V8 optimises for size', 'memory −150 MB, CPU +50 %, exit after seconds', 'dropped'],
    ],
  ),
]

interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly goal: number
}

interface Run {
  readonly wallMs: number
  readonly cpuMs: number
  readonly exitedAt: number
}

try {
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), '--published', '--into', bundle], { stdio: 'ignore' })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'usage.js'), reportUsage())
  const start = await measureStart()
  const reaction = await measureReaction()
  const scale = await measureScale({ deployments: 200, pods: 5_000, durationMs: 20_000 })
  const growth = [100, 300, 1_000, 3_000, 10_000, 30_000, 50_000].map(simulate)
  const soak = runWorker('soak', soakHours) as Soak
  const text = render({ start, reaction, scale, growth, soak })
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
  const programs = new Map([
    ['kubectl rollout status', ['kubectl', 'rollout', 'status', 'deployment/app-0', '-n', 'team-0']],
    ['Rollout Gate', [process.execPath, join(bundle, 'index.js')]],
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

/** Runs a command. The shell's `time` has the CPU time of every program. */
function timed(command: readonly string[], env: NodeJS.ProcessEnv): Run {
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
  if (status !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`)
  const [real = wallMs / 1000, user = 0, system = 0] = stderr.trim().split(' ').map(Number)
  return { wallMs: real * 1000, cpuMs: (user + system) * 1000, exitedAt: Date.now() }
}

/** Milliseconds from a write of the API server: to the log line, and to the exit of the gate. */
interface Reaction extends Readonly<Record<'line' | 'ready' | 'failed', readonly number[]>> {}

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

interface Scale extends Readonly<Record<'rssMb' | 'cpuMs' | 'exitMs' | 'podEvents' | 'tookMs' | 'requests', number>> {}

async function measureScale(order: RolloutOrder): Promise<Scale> {
  const { server, workloads } = await startServer(order)
  try {
    const done = once(server, 'message')
    const command = ['--import', join(folder, 'usage.js'), join(bundle, 'index.js')]
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

interface Simulation {
  readonly pods: number
  readonly events: number
  readonly outcome: string
  readonly cpuMs: number
  readonly rssMb: number
}

function simulate(pods: number): Simulation {
  const simulation = runWorker('simulate', pods) as Simulation
  if (simulation.outcome !== 'ready') throw new Error(`The rollout of ${pods} pods ended ${simulation.outcome}`)
  return simulation
}

interface Soak {
  readonly requests: number
  readonly entries: number
  readonly heapMb: readonly { readonly hour: number; readonly mb: number }[]
}

/** Runs a worker to its end. Returns what it prints. */
function runWorker(task: string, size: number): unknown {
  const output = execFileSync(process.execPath, [join(root, 'scripts/bench-workers.ts'), task, String(size)])
  return JSON.parse(String(output))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

interface Results {
  readonly start: ReadonlyMap<string, readonly Run[]>
  readonly reaction: Reaction
  readonly scale: Scale
  readonly growth: readonly Simulation[]
  readonly soak: Soak
}

function render({ start, reaction, scale, growth, soak }: Results): string {
  const medians = [...start].map(([name, runs]) => ({
    name,
    wallMs: median(runs.map(({ wallMs }) => wallMs)),
    leastMs: Math.min(...runs.map(({ wallMs }) => wallMs)),
    cpuMs: median(runs.map(({ cpuMs }) => cpuMs)),
  }))
  const heapAt = (hour: number) => soak.heapMb.find((each) => each.hour === hour)?.mb ?? Number.NaN
  const [kubectl, gate] = medians
  if (kubectl === undefined || gate === undefined) throw new Error('Nothing was measured.')
  const figures: readonly Figure[] = [
    { name: 'Start: elapsed time, relative to kubectl', value: gate.wallMs / kubectl.wallMs, unit: '×', goal: 2 },
    { name: 'Start: CPU time, relative to kubectl', value: gate.cpuMs / kubectl.cpuMs, unit: '×', goal: 2 },
    { name: 'Write to log line, median', value: median(reaction.line), unit: 'ms', goal: 10 },
    { name: 'Write to exit when ready, median', value: median(reaction.ready), unit: 'ms', goal: 50 },
    { name: 'Write to exit when failed, median', value: median(reaction.failed), unit: 'ms', goal: 150 },
    { name: '5,000 pods: largest memory', value: scale.rssMb, unit: 'MB', goal: 200 },
    { name: '5,000 pods: exit after the last event', value: scale.exitMs, unit: 'ms', goal: 250 },
    {
      name: '5,000 pods: CPU time of 100 pod events',
      value: (scale.cpuMs - gate.cpuMs) / 1000 / (scale.podEvents / 100),
      unit: 's',
      goal: 0.05,
    },
    {
      name: `${soakHours} hours: growth of the heap in an hour`,
      value: (heapAt(soakHours) - heapAt(1)) / (soakHours - 1),
      unit: 'MB',
      goal: 0.1,
    },
  ]
  const [least, most] = [growth[2], growth.at(-1)]
  const perPod = (simulation: Simulation | undefined) =>
    simulation === undefined ? Number.NaN : simulation.cpuMs / simulation.pods
  return `${[
    '# Performance',
    '',
    'Written by `npm run bench`; the texts below the tables are part of `scripts/bench.ts`.',
    '',
    `Machine: ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.versions.node}. With a load above the number of cores,`,
    'elapsed times contain waiting; ratios of programs that alternate, and CPU times, are comparable.',
    '',
    ...table(
      ['figure', 'measured', 'goal', ''],
      figures.map(({ name, value, unit, goal }) => [
        name,
        `${format(value)} ${unit}`,
        `≤ ${goal} ${unit}`,
        value <= goal ? 'met' : '**missed**',
      ]),
    ),
    '',
    '## Start',
    '',
    `One finished Deployment with three pods, the same API server over TLS, ${rounds} alternating runs.`,
    '',
    ...table(
      ['program', 'median', 'fastest', 'CPU, median'],
      medians.map(({ name, wallMs, leastMs, cpuMs }) => [
        name,
        ...[wallMs, leastMs, cpuMs].map((ms) => `${format(ms)} ms`),
      ]),
    ),
    '',
    ...startNotes,
    '',
    '## Reaction',
    '',
    `Rollouts of one pod, ${2 * reactionRounds} runs: the time from the write in the API server until the log line arrives, or until the`,
    'process has ended. A failed rollout also reads its evidence.',
    '',
    ...table(
      ['from the write to', 'median', 'fastest', 'slowest'],
      [
        ['the log line', reaction.line] as const,
        ['the exit when ready', reaction.ready] as const,
        ['the exit when failed', reaction.failed] as const,
      ].map(([name, times]) => [
        name,
        ...[median(times), Math.min(...times), Math.max(...times)].map((ms) => `${ms} ms`),
      ]),
    ),
    '',
    '## Large rollout',
    '',
    `200 Deployments with 5,000 pods in ten namespaces become ready within ${format(scale.tookMs / 1000)} s: ${scale.podEvents} events of pods,`,
    `${format(scale.cpuMs / 1000)} s of CPU time, ${scale.requests} requests.`,
    '',
    ...scaleNotes,
    '',
    '## Growth',
    '',
    `Rollouts on the virtual clock, four events for each pod. From ${least?.pods} to ${most?.pods} pods, the CPU time of a pod changes from`,
    `${format(perPod(least))} to ${format(perPod(most))} ms: the cost is linear if it stays the same.`,
    '',
    ...table(
      ['pods', 'CPU', 'CPU of a pod', 'largest memory'],
      growth.map((each) => [
        String(each.pods),
        `${format(each.cpuMs / 1000)} s`,
        `${format(perPod(each))} ms`,
        `${format(each.rssMb)} MB`,
      ]),
    ),
    '',
    '```mermaid',
    'xychart-beta',
    '  title "CPU time of a rollout"',
    `  x-axis "pods" [${growth.map(({ pods }) => pods).join(', ')}]`,
    '  y-axis "seconds"',
    `  line [${growth.map(({ cpuMs }) => (cpuMs / 1000).toFixed(2)).join(', ')}]`,
    '```',
    '',
    '## Soak',
    '',
    `A rollout that does not end, ${soakHours} hours on the virtual clock, with the API server in the same process: ${soak.requests} requests,`,
    `since every watch is renewed within a minute and expires each hour. A pod changes each minute, and one is replaced each hour.`,
    `The ${soak.entries} lines of the log are kept for the summary, which is most of the growth.`,
    '',
    ...table(
      ['hour', 'heap after a garbage collection'],
      soak.heapMb
        .filter(({ hour }) => hour < 2 || hour % 5 === 0)
        .map(({ hour, mb }) => [String(hour), `${format(mb)} MB`]),
    ),
  ].join('\n')}\n`
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 3)
}
