import { availableParallelism } from 'node:os'
import { table } from './markdown.ts'

/** `docs/performance.md`, from the results of `bench.ts`. */

export const rounds = 21
export const reactionRounds = 11
export const soakHours = 30

export interface Run {
  readonly wallMs: number
  readonly cpuMs: number
}

/** Milliseconds from a write of the API server: to the log line, and to the exit of the gate. */
export interface Reaction extends Readonly<Record<'line' | 'ready' | 'failed', readonly number[]>> {}

export interface Scale
  extends Readonly<Record<'rssMb' | 'cpuMs' | 'exitMs' | 'podEvents' | 'tookMs' | 'requests', number>> {}

/** The cost of 4,000 events about one pod, of 1,000 missing targets, and of a list that takes 90 s. */
export interface Bounds extends Readonly<Record<'events' | 'missing' | 'list', Run>> {}

export interface Simulation {
  readonly pods: number
  readonly events: number
  readonly outcome: string
  readonly cpuMs: number
  readonly rssMb: number
}

export interface Soak {
  readonly requests: number
  readonly entries: number
  readonly heapMb: readonly { readonly hour: number; readonly mb: number }[]
}

export interface Results {
  /** The load of the machine before the first measurement and after the last one. */
  readonly load: readonly [before: number, after: number]
  readonly start: ReadonlyMap<string, readonly Run[]>
  readonly reaction: Reaction
  /** By version. */
  readonly scales: ReadonlyMap<string, Scale>
  readonly growth: readonly Simulation[]
  /** By version. */
  readonly bounds: ReadonlyMap<string, Bounds>
  readonly soak: Soak
}

const startNotes = [
  'Where a goal is missed: Node alone needs 0.4 times the CPU time of kubectl, and 0.85 times with one TLS connection and one request,',
  'because it compiles its modules for TLS and HTTP, and a thread parses 150 authorities that are not used. The rest of the time, V8',
  'compiles the bundle and runs code that is not optimised yet. kubectl is compiled already.',
]

const scaleNotes = [
  'Where a goal is missed: 50 MB of the memory are pages of files, most of them shared with other processes of Node. The heap is',
  '20 MB, and 5 KB for each pod. The rest is garbage and unread events, because the API server and the gate share the cores of the',
  'machine. The gate reads these events before its exit.',
]

interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly goal: number
}

/** The document: each figure beside its goal. */
export function render({ load, start, reaction, scales, growth, bounds, soak }: Results): string {
  const medians = [...start].map(([name, runs]) => ({
    name,
    wallMs: median(runs.map(({ wallMs }) => wallMs)),
    leastMs: Math.min(...runs.map(({ wallMs }) => wallMs)),
    cpuMs: median(runs.map(({ cpuMs }) => cpuMs)),
  }))
  const heapAt = (hour: number) => soak.heapMb.find((each) => each.hour === hour)?.mb ?? Number.NaN
  const [kubectl, gate] = medians
  const [scale] = scales.values()
  if (kubectl === undefined || gate === undefined || scale === undefined) throw new Error('Nothing was measured.')
  const figures: readonly Figure[] = [
    { name: 'Start: elapsed time, relative to kubectl', value: gate.wallMs / kubectl.wallMs, unit: '×', goal: 2 },
    { name: 'Start: CPU time, relative to kubectl', value: gate.cpuMs / kubectl.cpuMs, unit: '×', goal: 2 },
    { name: 'Write to log line, median', value: median(reaction.line), unit: 'ms', goal: 10 },
    { name: 'Write to exit when ready, median', value: median(reaction.ready), unit: 'ms', goal: 50 },
    { name: 'Write to exit when failed, median', value: median(reaction.failed), unit: 'ms', goal: 400 },
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
    'Written by `npm run bench`; the texts below the tables are part of `scripts/performance-document.ts`.',
    '',
    `Machine: ${availableParallelism()} cores, Node ${process.versions.node}. Load before the run ${load[0].toFixed(1)}, after it ${load[1].toFixed(1)}. Other programs`,
    'make all times longer, and the large rollout needs more memory for unread events. Only the ratios of alternating programs can be',
    'compared.',
    '',
    '[Experiments](../scripts/performance-experiments.md) lists what was tried, and what it gave.',
    '',
    ...table(
      ['figure', 'measured', 'goal', ''],
      figures.map(({ name, value, unit, goal }) => [
        name,
        `${format(value)} ${unit}`,
        `≤ ${goal} ${unit}`,
        value <= goal ? 'met' : `**missed** by ${((value / goal - 1) * 100).toFixed(0)} %`,
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
    'process has ended. A failed rollout also reads its evidence, and its texts wait for 250 ms: an object that makes a secret known may',
    'arrive later than the event that quotes it.',
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
    ...table(
      ['version', 'largest memory', 'CPU', 'exit after the last event'],
      [...scales].map(([name, { rssMb, cpuMs, exitMs }]) => [
        name,
        `${format(rssMb)} MB`,
        `${format(cpuMs / 1000)} s`,
        `${format(exitMs)} ms`,
      ]),
    ),
    '',
    ...scaleNotes,
    '',
    '## Growth',
    '',
    `Rollouts on the virtual clock, four events for each pod. From ${least?.pods} to ${most?.pods} pods, the CPU time of a pod changes from`,
    `${format(perPod(least))} to ${format(perPod(most))} ms. A linear cost would not change it.`,
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
    '## Hostile input',
    '',
    'Rollouts that never become ready: 4,000 events about one pod and 1,000 missing targets, replayed; and `timeout: 8s` while the API',
    'server needs 90 s for a list, in pages of one second. A gate that has no list asks once more before it ends.',
    '',
    ...table(
      ['version', 'CPU for the events', 'CPU for the missing targets', 'time until the outcome without a list'],
      [...bounds].map(([name, { events, missing, list }]) => [
        name,
        ...[events.cpuMs, missing.cpuMs, list.wallMs].map((ms) => `${format(ms / 1000)} s`),
      ]),
    ),
    '',
    '## Soak',
    '',
    `A rollout that does not end, ${soakHours} hours on the virtual clock, with the API server in the same process: ${soak.requests} requests,`,
    `since every watch is renewed within a minute and expires each hour. A pod changes each minute, and one is replaced each hour.`,
    `The heap keeps the ${soak.entries} lines of the log, for the summary, and the last state of each deleted pod.`,
    '',
    ...table(
      ['hour', 'heap after a garbage collection'],
      soak.heapMb
        .filter(({ hour }) => hour < 2 || hour % 5 === 0)
        .map(({ hour, mb }) => [String(hour), `${format(mb)} MB`]),
    ),
  ].join('\n')}\n`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 3)
}
